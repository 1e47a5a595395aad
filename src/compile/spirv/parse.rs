//! Parses SPIR-V words to a module in sections: entry points, decorations, globals, and functions as blocks of
//! instructions.
//!
//! Sections and blocks are ranges of one list of decoded instructions. Nothing is translated yet.

use super::capabilities;
use super::decode::{Decoded, Insts};
use super::instruction::SpirvInst;
use super::words;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::Name;
use rspirv::dr::Operand;
use smallvec::SmallVec;
use spirv::{Decoration, Op};
use std::ops::Range;

/// A decoration of an id or of a member of a struct type.
#[derive(Clone, Debug)]
pub struct Decorated {
    /// Decorated id.
    pub target: u32,
    /// Member index, for struct types.
    pub member: Option<u32>,
    /// The decoration.
    pub decoration: Decoration,
    /// Its first operand, if a number.
    pub value: Option<u32>,
    /// The built-in, for `BuiltIn`.
    pub builtin: Option<spirv::BuiltIn>,
}

impl Decorated {
    /// Sort key.
    fn key(&self) -> (u32, Option<u32>, u32) {
        (self.target, self.member, self.decoration as u32)
    }
}

/// An entry point.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint<'m> {
    /// Stage.
    pub model: spirv::ExecutionModel,
    /// Function.
    pub function: u32,
    /// Name.
    pub name: &'m str,
    /// Its `OpEntryPoint`.
    inst: SpirvInst<'m>,
}

impl<'m> EntryPoint<'m> {
    fn of(inst: SpirvInst<'m>) -> Option<Self> {
        match inst.operands {
            [Operand::ExecutionModel(model), Operand::IdRef(function), Operand::LiteralString(name), ..] => {
                Some(Self { model: *model, function: *function, name, inst })
            }
            _ => None,
        }
    }

    /// Interface variables.
    pub fn interface(&self) -> impl Iterator<Item = Result<u32>> {
        self.inst.ids_from(3)
    }
}

/// A basic block: label, then instructions, the last one a terminator.
#[derive(Clone, Debug)]
pub struct SpirvBlock {
    /// Id of its label.
    pub label: u32,
    /// Instructions without the label, by position in the module; never empty.
    insts: Range<u32>,
}

/// A function definition, with its parts by position in the module.
#[derive(Clone, Debug)]
struct FunctionRanges {
    def: u32,
    params: Range<u32>,
    /// Blocks, by position in [`Parsed::blocks`].
    blocks: Range<u32>,
}

/// A function definition.
#[derive(Clone, Copy, Debug)]
pub struct SpirvFunction<'m> {
    /// Its `OpFunction`.
    pub def: SpirvInst<'m>,
    /// Parameters.
    pub params: Insts<'m>,
    /// Blocks; the first is the entry.
    pub blocks: &'m [SpirvBlock],
    module: &'m Decoded,
}

impl<'m> SpirvFunction<'m> {
    /// The instructions of a block, without the label; never empty.
    pub fn insts_of(&self, block: &SpirvBlock) -> Insts<'m> {
        self.module.insts(&block.insts)
    }

    /// The instructions of all blocks, without the labels.
    pub fn insts(&self) -> impl Iterator<Item = SpirvInst<'m>> {
        self.blocks.iter().flat_map(|block| self.insts_of(block).iter())
    }
}

/// A module in sections.
#[derive(Debug)]
pub struct Parsed<'m> {
    /// Decoded module from which it was parsed.
    module: &'m Decoded,
    /// Bound: all ids are below.
    pub bound: u32,
    /// Declared capabilities.
    pub capabilities: List<spirv::Capability>,
    /// `OpExtInstImport`, by position in the module.
    imports: List<u32>,
    /// `OpEntryPoint`, by position in the module.
    entry_points: List<u32>,
    /// `OpExecutionMode` and `OpExecutionModeId`, by position in the module.
    modes: List<u32>,
    /// Sorted by target, member and decoration, then in file order.
    pub decorations: List<Decorated>,
    /// Types, constants, global variables, by position in the module.
    globals: List<u32>,
    functions: List<FunctionRanges>,
    /// Blocks of all functions.
    blocks: List<SpirvBlock>,
    /// Result type of each id, 0 if it has none.
    pub result_types: List<u32>,
    /// Index in `globals` plus one, by result id.
    globals_by_id: List<u32>,
    /// The decorations that occur, as bits by the last six bits of their numbers. Most kinds do not occur, and are
    /// looked up at every use.
    kinds: u64,
}

impl<'m> Parsed<'m> {
    /// The type, constant or global variable of an id.
    pub fn global(&self, id: u32) -> Option<SpirvInst<'m>> {
        let at = self.globals_by_id.get(id as usize)?.checked_sub(1)?;
        self.global_at(at as usize)
    }

    /// A type, constant or global variable, by its number.
    pub fn global_at(&self, n: usize) -> Option<SpirvInst<'m>> {
        self.module.inst(*self.globals.get(n)? as usize)
    }

    /// The instructions at these positions.
    fn at(&self, positions: &[u32]) -> impl Iterator<Item = SpirvInst<'m>> {
        positions.iter().filter_map(|n| self.module.inst(*n as usize))
    }

    /// The entry points.
    pub fn entry_points(&self) -> impl Iterator<Item = EntryPoint<'m>> {
        self.at(&self.entry_points).filter_map(EntryPoint::of)
    }

    /// `OpExecutionMode` and `OpExecutionModeId`.
    pub fn modes(&self) -> impl Iterator<Item = SpirvInst<'m>> {
        self.at(&self.modes)
    }

    /// The imports of instruction sets.
    pub fn imports(&self) -> impl Iterator<Item = SpirvInst<'m>> {
        self.at(&self.imports)
    }

    /// The name of an imported instruction set, by the number of the import.
    pub fn import(&self, n: usize) -> Option<&'m str> {
        match self.module.inst(*self.imports.get(n)? as usize)?.operands.first()? {
            Operand::LiteralString(name) => Some(name),
            _ => None,
        }
    }

    /// Types, constants, global variables.
    pub fn globals(&self) -> impl Iterator<Item = SpirvInst<'m>> {
        self.at(&self.globals)
    }

    /// A function, by its number.
    pub fn function(&self, n: usize) -> Option<SpirvFunction<'_>> {
        let ranges = self.functions.get(n)?;
        Some(SpirvFunction {
            def: self.module.inst(ranges.def as usize)?,
            params: self.module.insts(&ranges.params),
            blocks: self.blocks.get(ranges.blocks.start as usize..ranges.blocks.end as usize)?,
            module: self.module,
        })
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = SpirvFunction<'_>> {
        (0..self.functions.len()).filter_map(|n| self.function(n))
    }

    /// The decorations with a sort key.
    fn decorated<K: Ord>(&self, key: impl Fn(&Decorated) -> K, wanted: &K) -> &[Decorated] {
        let start = self.decorations.partition_point(|d| key(d) < *wanted);
        let rest = self.decorations.get(start..).unwrap_or(&[]);
        rest.get(..rest.partition_point(|d| key(d) == *wanted)).unwrap_or(&[])
    }

    /// The decorations of an id and of its members.
    pub fn decorations(&self, id: u32) -> &[Decorated] {
        self.decorated(|d| d.target, &id)
    }

    /// The decorations of an id itself, or of one of its members.
    pub fn decorations_of(&self, id: u32, member: Option<u32>) -> &[Decorated] {
        self.decorated(|d| (d.target, d.member), &(id, member))
    }

    /// All decorations of one kind on an id (not its members), in file order.
    fn of_kind(&self, id: u32, decoration: Decoration) -> &[Decorated] {
        if self.kinds & kind_bit(decoration) == 0 {
            return &[];
        }
        self.decorated(Decorated::key, &(id, None, decoration as u32))
    }

    /// Whether an id (not a member) has this decoration.
    pub fn is_decorated(&self, id: u32, decoration: Decoration) -> bool {
        !self.of_kind(id, decoration).is_empty()
    }

    /// The operand of a decoration of an id (not a member).
    pub fn decoration(&self, id: u32, decoration: Decoration) -> Option<u32> {
        self.of_kind(id, decoration).first().and_then(|d| d.value)
    }

    /// The built-in that decorates an id (not a member).
    pub fn builtin(&self, id: u32) -> Option<spirv::BuiltIn> {
        self.of_kind(id, Decoration::BuiltIn).first().and_then(|d| d.builtin)
    }

    /// The debug name of an id, empty if none.
    pub fn name(&self, id: u32) -> Name {
        let find = |m: &Decoded| {
            let n = m.names.binary_search_by_key(&id, |(n, _)| *n).ok()?;
            let inst = words::instruction(&m.words, m.names.get(n)?.1 as usize).ok()??;
            inst.get(2..).map(words::name)
        };
        find(self.module).unwrap_or_default()
    }
}

fn kind_bit(decoration: Decoration) -> u64 {
    1 << (decoration as u32 % 64)
}

/// Sorts the instructions of a module into sections.
///
/// # Errors
/// Malformed order of instructions; undecodable words.
pub fn parse(module: &Decoded) -> Result<Parsed<'_>> {
    let bound = module.bound as usize;
    let out = Parsed {
        module,
        bound: module.bound,
        capabilities: List::default(),
        imports: List::default(),
        entry_points: List::default(),
        modes: List::default(),
        decorations: List::default(),
        globals: List::default(),
        functions: List::default(),
        blocks: List::default(),
        result_types: filled(bound, 0),
        globals_by_id: filled(bound, 0),
        kinds: 0,
    };
    let mut loader = Loader { out, function: None, groups: SmallVec::new() };
    (0..module.len()).try_for_each(|n| loader.take(n))?;
    if let Some(e) = &module.failed {
        return Err(e.clone());
    }
    if loader.function.is_some() {
        return Err(Error::malformed("the last function has no OpFunctionEnd"));
    }
    let mut out = loader.out;
    out.decorations.sort_by_key(Decorated::key);
    expand_groups(&mut out, &loader.groups)?;
    // Each decoration is kept once, since repetitions would cost time wherever their target is used.
    out.decorations.dedup_by_key(|d| d.key());
    out.kinds = out.decorations.iter().fold(0, |all, d| all | kind_bit(d.decoration));
    for (at, n) in out.globals.iter().zip(1..) {
        let id = module.inst(*at as usize).and_then(|inst| inst.result_id);
        if let Some(slot) = id.and_then(|id| out.globals_by_id.get_mut(id as usize)) {
            *slot = n;
        }
    }
    Ok(out)
}

struct Loader<'m> {
    out: Parsed<'m>,
    function: Option<Open>,
    /// `OpGroupDecorate` and `OpGroupMemberDecorate`.
    groups: SmallVec<[SpirvInst<'m>; 4]>,
}

/// A function without its end.
struct Open {
    function: FunctionRanges,
    /// Label of the last block, and the index of its first instruction.
    label: Option<(u32, u32)>,
}

impl<'m> Loader<'m> {
    fn take(&mut self, n: usize) -> Result<()> {
        let Some(inst) = self.out.module.inst(n) else { return Ok(()) };
        if inst.result_id.is_some_and(|id| id == 0 || id >= self.out.bound) {
            return Err(inst.malformed(format!("result id over the bound {}", self.out.bound)));
        }
        if let (Some(id), Some(ty)) = (inst.result_id, inst.result_type) {
            match self.out.result_types.get_mut(id as usize) {
                Some(slot) if *slot == 0 => *slot = ty,
                _ => return Err(inst.malformed(format!("%{id} is defined twice"))),
            }
        }
        if self.function.is_some() || inst.op() == Op::Function {
            return self.take_in_function(inst, n as u32);
        }
        match inst.op() {
            Op::Capability => {
                let Operand::Capability(c) = *inst.operand(0)? else { return Err(inst.malformed("no capability")) };
                self.out.capabilities.push(c);
            }
            Op::ExtInstImport => {
                if !matches!(inst.operand(0)?, Operand::LiteralString(_)) {
                    return Err(inst.malformed("no name"));
                }
                inst.result()?;
                self.out.imports.push(n as u32);
            }
            Op::MemoryModel => capabilities::check_memory_model(&inst)?,
            Op::EntryPoint => {
                let point = EntryPoint::of(inst).ok_or_else(|| inst.malformed("not an entry point"))?;
                point.interface().try_for_each(|id| id.map(|_| ()))?;
                self.out.entry_points.push(n as u32);
            }
            Op::ExecutionMode | Op::ExecutionModeId => self.out.modes.push(n as u32),
            Op::Decorate | Op::DecorateId => {
                let d = decoration(&inst, inst.id(0)?, None, 1)?;
                self.out.decorations.push(d);
            }
            Op::MemberDecorate => {
                let d = decoration(&inst, inst.id(0)?, Some(inst.literal(1)?), 2)?;
                self.out.decorations.push(d);
            }
            Op::DecorationGroup => {}
            Op::GroupDecorate | Op::GroupMemberDecorate => self.groups.push(inst),
            _ => self.out.globals.push(n as u32),
        }
        Ok(())
    }

    fn take_in_function(&mut self, inst: SpirvInst<'m>, n: u32) -> Result<()> {
        let Some(open) = &mut self.function else {
            let first = self.out.blocks.len() as u32;
            let function = FunctionRanges { def: n, params: n + 1..n + 1, blocks: first..first };
            self.function = Some(Open { function, label: None });
            return Ok(());
        };
        let module = self.out.module;
        match inst.op() {
            Op::Function => return Err(inst.malformed("a function within a function")),
            Op::FunctionParameter if open.label.is_some() => return Err(inst.malformed("after a label")),
            Op::FunctionParameter => open.function.params.end = n + 1,
            Op::Label | Op::FunctionEnd => {
                if let Some((label, first)) = open.label.take() {
                    self.out.blocks.push(SpirvBlock { label, insts: first..n });
                }
                if inst.op() == Op::Label {
                    open.label = Some((inst.result()?, n + 1));
                    return Ok(());
                }
                open.function.blocks.end = self.out.blocks.len() as u32;
                let blocks = self.out.blocks.get(open.function.blocks.start as usize..).unwrap_or(&[]);
                let ends = |b: &&SpirvBlock| module.insts(&b.insts).last().is_some_and(|last| is_terminator(&last));
                if let Some(b) = blocks.iter().find(|b| !ends(b)) {
                    return Err(inst.malformed(format!("block %{} has no terminator", b.label)));
                }
                self.out.functions.extend(self.function.take().map(|open| open.function));
            }
            _ => match open.label {
                Some((_, first)) if !module.insts(&(first..n)).last().is_some_and(|last| is_terminator(&last)) => {}
                _ => return Err(inst.malformed("an instruction outside of a block")),
            },
        }
        Ok(())
    }
}

fn is_terminator(inst: &SpirvInst<'_>) -> bool {
    rspirv::grammar::reflect::is_block_terminator(inst.op())
}

fn decoration(inst: &SpirvInst<'_>, target: u32, member: Option<u32>, at: usize) -> Result<Decorated> {
    let Operand::Decoration(decoration) = *inst.operand(at)? else {
        return Err(inst.malformed("no decoration"));
    };
    let (mut value, mut builtin) = (None, None);
    match inst.operands.get(at + 1) {
        Some(Operand::LiteralBit32(x)) => value = Some(*x),
        Some(Operand::BuiltIn(b)) => builtin = Some(*b),
        Some(Operand::FPFastMathMode(m)) => value = Some(m.bits()),
        Some(Operand::FPRoundingMode(m)) => value = Some(*m as u32),
        _ => {}
    }
    Ok(Decorated { target, member, decoration, value, builtin })
}

/// Applies the decorations of groups to their targets.
fn expand_groups(out: &mut Parsed<'_>, groups: &[SpirvInst<'_>]) -> Result<()> {
    const MAX: usize = 1 << 20;
    if groups.is_empty() {
        return Ok(());
    }
    let mut all = out.decorations.clone();
    for inst in groups {
        let of_group = out.decorations(inst.id(0)?);
        let members = inst.op() == Op::GroupMemberDecorate;
        for at in (1..inst.len()).step_by(if members { 2 } else { 1 }) {
            let (target, member) = (inst.id(at)?, if members { Some(inst.literal(at + 1)?) } else { None });
            all.extend(of_group.iter().map(|d| Decorated { target, member, ..d.clone() }));
            if all.len() > MAX {
                return Err(inst.malformed("too many decorations"));
            }
        }
    }
    all.sort_by_key(Decorated::key);
    out.decorations = all;
    Ok(())
}

//! Parses SPIR-V words to a module in sections: entry points, decorations, globals, and functions as blocks of
//! instructions.
//!
//! Sections and blocks are ranges of one list of decoded instructions. Nothing is translated yet.

use super::capabilities;
use super::decode::Decoded;
use super::instruction::SpirvInst;
use super::words;
use crate::error::{Error, Result};
use crate::ir::Name;
use rspirv::dr::Operand;
use spirv::{Decoration, Op};

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
#[derive(Clone, Debug)]
pub struct EntryPoint<'m> {
    /// Stage.
    pub model: spirv::ExecutionModel,
    /// Function.
    pub function: u32,
    /// Name.
    pub name: &'m str,
    /// Interface variables.
    pub interface: Vec<u32>,
}

/// A basic block: label, then instructions, the last one a terminator.
#[derive(Clone, Debug)]
pub struct SpirvBlock<'m> {
    /// Id of its label.
    pub label: u32,
    /// Instructions without the label; never empty.
    pub insts: &'m [SpirvInst<'m>],
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct SpirvFunction<'m> {
    /// Its `OpFunction`.
    pub def: SpirvInst<'m>,
    /// Parameters.
    pub params: &'m [SpirvInst<'m>],
    /// Blocks; the first is the entry.
    pub blocks: Vec<SpirvBlock<'m>>,
}

/// A module in sections.
#[derive(Debug, Default)]
pub struct Parsed<'m> {
    /// Decoded module from which it was parsed.
    module: Option<&'m Decoded>,
    /// Bound: all ids are below.
    pub bound: u32,
    /// Declared capabilities.
    pub capabilities: Vec<spirv::Capability>,
    /// Imported instruction sets: id, name.
    pub imports: Vec<(u32, &'m str)>,
    /// Entry points.
    pub entry_points: Vec<EntryPoint<'m>>,
    /// `OpExecutionMode` and `OpExecutionModeId`.
    pub modes: Vec<SpirvInst<'m>>,
    /// Sorted by target, member and decoration, then in file order.
    pub decorations: Vec<Decorated>,
    /// Types, constants, global variables.
    pub globals: Vec<SpirvInst<'m>>,
    /// Functions.
    pub functions: Vec<SpirvFunction<'m>>,
    /// Result type of each id, 0 if it has none.
    pub result_types: Vec<u32>,
    /// Index in `globals` plus one, by result id.
    globals_by_id: Vec<u32>,
    /// The decorations that occur, as bits by the last six bits of their numbers. Most kinds do not occur, and are
    /// looked up at every use.
    kinds: u64,
}

impl<'m> Parsed<'m> {
    /// The type, constant or global variable of an id.
    pub fn global(&self, id: u32) -> Option<&SpirvInst<'m>> {
        let at = self.globals_by_id.get(id as usize)?.checked_sub(1)?;
        self.globals.get(at as usize)
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
        self.module.and_then(find).unwrap_or_default()
    }
}

fn kind_bit(decoration: Decoration) -> u64 {
    1 << (decoration as u32 % 64)
}

/// Sorts the instructions of a module into sections.
///
/// # Errors
/// Malformed order of instructions; undecodable words.
pub fn parse<'m>(module: &'m Decoded, insts: &'m [SpirvInst<'m>]) -> Result<Parsed<'m>> {
    let bound = module.bound as usize;
    let before = insts.iter().take_while(|i| i.op() != Op::Function).count();
    let out = Parsed {
        bound: module.bound,
        module: Some(module),
        result_types: vec![0; bound],
        globals: Vec::with_capacity(before),
        decorations: Vec::with_capacity(before / 2),
        capabilities: Vec::with_capacity(8),
        ..Parsed::default()
    };
    let mut loader = Loader { insts, out, function: None, groups: Vec::new() };
    (0..insts.len()).try_for_each(|n| loader.take(n))?;
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
    out.globals_by_id = vec![0; bound];
    for (inst, n) in out.globals.iter().zip(1..) {
        if let Some(slot) = inst.result_id.and_then(|id| out.globals_by_id.get_mut(id as usize)) {
            *slot = n;
        }
    }
    Ok(out)
}

struct Loader<'m> {
    insts: &'m [SpirvInst<'m>],
    out: Parsed<'m>,
    function: Option<Open<'m>>,
    /// `OpGroupDecorate` and `OpGroupMemberDecorate`.
    groups: Vec<SpirvInst<'m>>,
}

/// A function without its end.
struct Open<'m> {
    function: SpirvFunction<'m>,
    /// Index of its first instruction after `OpFunction`.
    first: usize,
    /// Label of the last block, and the index of its first instruction.
    label: Option<(u32, usize)>,
}

impl<'m> Loader<'m> {
    fn take(&mut self, n: usize) -> Result<()> {
        let Some(&inst) = self.insts.get(n) else { return Ok(()) };
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
            return self.take_in_function(inst, n);
        }
        match inst.op() {
            Op::Capability => {
                let Operand::Capability(c) = *inst.operand(0)? else { return Err(inst.malformed("no capability")) };
                self.out.capabilities.push(c);
            }
            Op::ExtInstImport => {
                let Operand::LiteralString(name) = inst.operand(0)? else { return Err(inst.malformed("no name")) };
                self.out.imports.push((inst.result()?, name));
            }
            Op::MemoryModel => capabilities::check_memory_model(&inst)?,
            Op::EntryPoint => self.entry_point(&inst)?,
            Op::ExecutionMode | Op::ExecutionModeId => self.out.modes.push(inst),
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
            _ => self.out.globals.push(inst),
        }
        Ok(())
    }

    fn entry_point(&mut self, inst: &SpirvInst<'m>) -> Result<()> {
        match inst.operands {
            [Operand::ExecutionModel(model), Operand::IdRef(function), Operand::LiteralString(name), ..] => {
                let interface = inst.ids_from(3).collect::<Result<_>>()?;
                self.out.entry_points.push(EntryPoint { model: *model, function: *function, name, interface });
                Ok(())
            }
            _ => Err(inst.malformed("not an entry point")),
        }
    }

    fn take_in_function(&mut self, inst: SpirvInst<'m>, n: usize) -> Result<()> {
        let Some(open) = &mut self.function else {
            let body = self.insts.get(n..).unwrap_or(&[]).iter().take_while(|i| i.op() != Op::FunctionEnd);
            let blocks = Vec::with_capacity(body.filter(|i| i.op() == Op::Label).count());
            let function = SpirvFunction { def: inst, params: &[], blocks };
            self.function = Some(Open { function, first: n + 1, label: None });
            return Ok(());
        };
        let between = |first: usize| self.insts.get(first..n).unwrap_or(&[]);
        match inst.op() {
            Op::Function => return Err(inst.malformed("a function within a function")),
            Op::FunctionParameter if open.label.is_some() => return Err(inst.malformed("after a label")),
            Op::FunctionParameter => open.function.params = self.insts.get(open.first..=n).unwrap_or(&[]),
            Op::Label | Op::FunctionEnd => {
                if let Some((label, first)) = open.label.take() {
                    open.function.blocks.push(SpirvBlock { label, insts: between(first) });
                }
                if inst.op() == Op::Label {
                    open.label = Some((inst.result()?, n + 1));
                    return Ok(());
                }
                if let Some(b) = open.function.blocks.iter().find(|b| !b.insts.last().is_some_and(is_terminator)) {
                    return Err(inst.malformed(format!("block %{} has no terminator", b.label)));
                }
                self.out.functions.extend(self.function.take().map(|open| open.function));
            }
            _ => match open.label {
                Some((_, first)) if !between(first).last().is_some_and(is_terminator) => {}
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

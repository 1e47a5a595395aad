//! Parses SPIR-V words into a module in sections: entry points, decorations, globals, functions as blocks of instructions.
//!
//! Words are framed here first (either byte order), so that debug instructions never reach the decoder and every
//! instruction keeps its word offset; `rspirv` decodes the operands. Nothing is translated yet.

use super::instruction::Inst;
use super::{beyond, capabilities, fold_scalar};
use crate::error::{Error, Result};
use rspirv::binary::{Consumer, DecodeError, ParseAction, ParseState};
use rspirv::dr::{self, Operand};
use spirv::{Decoration, Op};

/// Bound of ids that SPIR-V's universal limits allow.
const MAX_BOUND: u32 = 0x40_0000;
/// Words before the first instruction.
pub(super) const HEADER: usize = 5;

/// A decoration of an id or of a member of a struct type.
#[derive(Clone, Debug)]
pub struct Decorated {
    /// What it decorates.
    pub target: u32,
    /// Which member, for struct types.
    pub member: Option<u32>,
    /// Which decoration.
    pub decoration: Decoration,
    /// Its first operand, if a number.
    pub value: Option<u32>,
    /// It is a `BuiltIn`.
    pub builtin: Option<spirv::BuiltIn>,
}

impl Decorated {
    /// What they are sorted by.
    fn key(&self) -> (u32, Option<u32>, u32) {
        (self.target, self.member, self.decoration as u32)
    }
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct EntryPoint {
    /// Stage.
    pub model: spirv::ExecutionModel,
    /// Function.
    pub function: u32,
    /// Name.
    pub name: String,
    /// Interface variables.
    pub interface: Vec<u32>,
}

/// A basic block: label, then instructions, the last one a terminator.
#[derive(Clone, Debug)]
pub struct Block {
    /// Id of its label.
    pub label: u32,
    /// Instructions without the label; never empty.
    pub insts: Vec<Inst>,
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its `OpFunction`.
    pub def: Inst,
    /// Parameters.
    pub params: Vec<Inst>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A module in sections.
#[derive(Debug, Default)]
pub struct Parsed {
    /// All ids are below.
    pub bound: u32,
    /// Declared capabilities.
    pub capabilities: Vec<spirv::Capability>,
    /// Imported instruction sets: id, name.
    pub imports: Vec<(u32, String)>,
    /// Entry points.
    pub entry_points: Vec<EntryPoint>,
    /// `OpExecutionMode` and `OpExecutionModeId`.
    pub modes: Vec<Inst>,
    /// `OpName`, sorted by id.
    pub names: Vec<(u32, String)>,
    /// Sorted by target, member and decoration, then in file order.
    pub decorations: Vec<Decorated>,
    /// Types, constants, global variables.
    pub globals: Vec<Inst>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Result type of each id, 0 where it has none.
    pub result_types: Vec<u32>,
    /// Position in `globals` plus one, by result id.
    globals_by_id: Vec<u32>,
}

impl Parsed {
    /// The type, constant or global variable of an id.
    pub fn global(&self, id: u32) -> Option<&Inst> {
        let at = self.globals_by_id.get(id as usize)?.checked_sub(1)?;
        self.globals.get(at as usize)
    }

    /// The decorations of a key that they are sorted by.
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

    /// All decorations of one kind of an id (not of its members), in file order.
    fn of_kind(&self, id: u32, decoration: Decoration) -> &[Decorated] {
        self.decorated(Decorated::key, &(id, None, decoration as u32))
    }

    /// Whether an id (not a member) is decorated so.
    pub fn is_decorated(&self, id: u32, decoration: Decoration) -> bool {
        !self.of_kind(id, decoration).is_empty()
    }

    /// The number of a decoration of an id (not a member).
    pub fn decoration(&self, id: u32, decoration: Decoration) -> Option<u32> {
        self.of_kind(id, decoration).first().and_then(|d| d.value)
    }

    /// The built-in that an id (not a member) is.
    pub fn builtin(&self, id: u32) -> Option<spirv::BuiltIn> {
        self.of_kind(id, Decoration::BuiltIn).first().and_then(|d| d.builtin)
    }

    /// The debug name of an id, empty if none.
    pub fn name(&self, id: u32) -> &str {
        let found = self.names.binary_search_by_key(&id, |(n, _)| *n).ok().and_then(|n| self.names.get(n));
        found.map_or("", |(_, name)| name)
    }
}

/// Parses a module.
///
/// # Errors
/// Malformed words; unsupported opcodes, by number.
pub fn parse(bytes: &[u8]) -> Result<Parsed> {
    let Framed { native, offsets, names } = frame(bytes)?;
    let out = Parsed { names, ..Parsed::default() };
    let mut loader = Loader { offsets, next: 0, out, function: None, groups: Vec::new(), failed: None };
    let state = rspirv::binary::parse_bytes(&native, &mut loader);
    if let Some(e) = loader.failed {
        return Err(e);
    }
    let word = loader.offsets.get(loader.next).copied().unwrap_or(0);
    match state {
        Ok(()) => {}
        Err(ParseState::OpcodeUnknown(_, _, op)) => {
            return Err(Error::unsupported(format!("opcode {op}"), "").at(format!("word {word}")));
        }
        Err(ParseState::TypeUnsupported(..)) => {
            return Err(Error::unsupported("scalar type", "of an unknown width").at(format!("word {word}")));
        }
        Err(ParseState::OperandError(e)) => return Err(operand_error(&e).at(format!("word {word}"))),
        Err(e) => return Err(Error::malformed(e.to_string()).at(format!("word {word}"))),
    }
    if loader.function.is_some() {
        return Err(Error::malformed("the last function has no OpFunctionEnd"));
    }
    let mut out = loader.out;
    out.decorations.sort_by_key(Decorated::key);
    expand_groups(&mut out, &loader.groups)?;
    out.globals_by_id = vec![0; out.bound as usize];
    for (inst, n) in out.globals.iter().zip(1..) {
        if let Some(slot) = inst.raw.result_id.and_then(|id| out.globals_by_id.get_mut(id as usize)) {
            *slot = n;
        }
    }
    Ok(out)
}

/// An enumerant that the decoder does not know belongs to an extension; everything else is broken.
fn operand_error(e: &DecodeError) -> Error {
    let text = format!("{e:?}");
    match text.split_once("Unknown(") {
        Some((kind, rest)) => {
            let value = rest.rsplit(' ').next().unwrap_or_default().trim_end_matches(')');
            Error::unsupported(format!("{} {value}", kind.to_lowercase()), "an enumerant of an unknown extension")
        }
        None => Error::malformed(e.to_string()),
    }
}

/// Words in little-endian order without debug instructions, the offset of each instruction kept, and names.
struct Framed {
    native: Vec<u8>,
    offsets: Vec<u32>,
    names: Vec<(u32, String)>,
}

/// The words of a module in either byte order.
///
/// # Errors
/// Malformed: no SPIR-V, or less than a header.
pub(super) fn words(bytes: &[u8]) -> Result<Vec<u32>> {
    let swap = match bytes.first_chunk::<4>().map(|b| u32::from_le_bytes(*b)) {
        Some(spirv::MAGIC_NUMBER) => false,
        Some(m) if m.swap_bytes() == spirv::MAGIC_NUMBER => true,
        _ => return Err(Error::malformed("no SPIR-V magic number").at("word 0")),
    };
    let word = |b: &[u8; 4]| if swap { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(word).collect();
    if words.len() < HEADER { Err(Error::malformed("the header is cut off")) } else { Ok(words) }
}

/// The words of the instruction at a place; none at the end.
///
/// # Errors
/// Malformed: its length leads out of the module.
pub(super) fn instruction(words: &[u32], at: usize) -> Result<Option<&[u32]>> {
    let Some(&first) = words.get(at) else { return Ok(None) };
    let len = (first >> 16) as usize;
    let inst = if len == 0 { None } else { words.get(at..at + len) };
    inst.map(Some)
        .ok_or_else(|| Error::malformed(format!("an instruction of {len} words does not fit")).at(format!("word {at}")))
}

/// The literal string at the front of these words.
pub(super) fn string(words: &[u32]) -> String {
    let text: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

fn frame(bytes: &[u8]) -> Result<Framed> {
    let words = words(bytes)?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut offsets = Vec::with_capacity(words.len() / 4);
    let mut names = Vec::new();
    words.iter().take(HEADER).for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    let mut at = HEADER;
    while let Some(inst) = instruction(&words, at)? {
        let (first, len) = (inst.first().copied().unwrap_or_default(), inst.len());
        if first & 0xffff == Op::Name as u32 {
            if let [_, id, name @ ..] = inst {
                names.push((*id, string(name)));
            }
        } else if !is_debug(first & 0xffff) && !beyond::is_capability(inst) {
            offsets.push(at as u32);
            let mut push = |w: u32| out.extend_from_slice(&w.to_le_bytes());
            match inst {
                // The operation in a specialization constant becomes an instruction of its own: the decoder has no form
                // for those with lists of literals.
                [_, ty, id, op, rest @ ..] if first & 0xffff == Op::SpecConstantOp as u32 => {
                    if !Op::from_u32(*op).is_some_and(fold_scalar::folds) {
                        let name = Op::from_u32(*op).map_or_else(|| op.to_string(), |op| format!("{op:?}"));
                        let refused = Error::unsupported(format!("OpSpecConstantOp {name}"), super::NOT_TRANSLATED);
                        return Err(refused.at(format!("word {at}")));
                    }
                    push(((len as u32 - 1) << 16) | (op & 0xffff));
                    [ty, id].into_iter().chain(rest).for_each(|w| push(*w));
                }
                [_, rest @ ..] => {
                    let known = beyond::stand_in(first & 0xffff);
                    push(known.map_or(first, |op| (first & 0xffff_0000) | op as u32));
                    rest.iter().for_each(|w| push(*w));
                }
                [] => {}
            }
        }
        at += len;
    }
    names.sort_by_key(|(id, _)| *id);
    names.dedup_by_key(|(id, _)| *id);
    Ok(Framed { native: out, offsets, names })
}

/// Instructions that say nothing about the code.
fn is_debug(opcode: u32) -> bool {
    const DEBUG: [Op; 12] = [
        Op::Nop,
        Op::SourceContinued,
        Op::Source,
        Op::SourceExtension,
        Op::String,
        Op::MemberName,
        Op::Line,
        Op::NoLine,
        Op::ModuleProcessed,
        Op::DecorateString,
        Op::MemberDecorateString,
        Op::Extension,
    ];
    DEBUG.iter().any(|op| *op as u32 == opcode)
}

struct Loader {
    offsets: Vec<u32>,
    next: usize,
    out: Parsed,
    function: Option<Function>,
    /// `OpGroupDecorate` and `OpGroupMemberDecorate`.
    groups: Vec<Inst>,
    failed: Option<Error>,
}

impl Consumer for Loader {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, header: dr::ModuleHeader) -> ParseAction {
        self.out.bound = header.bound;
        if header.bound > MAX_BOUND {
            self.failed = Some(Error::malformed(format!("id bound {} is over {MAX_BOUND}", header.bound)).at("word 3"));
            return ParseAction::Stop;
        }
        self.out.result_types = vec![0; header.bound as usize];
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, raw: dr::Instruction) -> ParseAction {
        let word = self.offsets.get(self.next).copied().unwrap_or(0);
        match self.take(Inst { raw, word }) {
            Ok(()) => {
                self.next += 1;
                ParseAction::Continue
            }
            Err(e) => {
                self.failed = Some(e);
                ParseAction::Stop
            }
        }
    }
}

impl Loader {
    fn take(&mut self, inst: Inst) -> Result<()> {
        if inst.raw.result_id.is_some_and(|id| id == 0 || id >= self.out.bound) {
            return Err(inst.malformed(format!("result id over the bound {}", self.out.bound)));
        }
        if let (Some(id), Some(ty)) = (inst.raw.result_id, inst.raw.result_type) {
            match self.out.result_types.get_mut(id as usize) {
                Some(slot) if *slot == 0 => *slot = ty,
                _ => return Err(inst.malformed(format!("%{id} is defined twice"))),
            }
        }
        if self.function.is_some() || inst.op() == Op::Function {
            return self.take_in_function(inst);
        }
        match inst.op() {
            Op::Capability => {
                let Operand::Capability(c) = *inst.operand(0)? else { return Err(inst.malformed("no capability")) };
                self.out.capabilities.push(c);
            }
            Op::ExtInstImport => {
                let Operand::LiteralString(name) = inst.operand(0)? else { return Err(inst.malformed("no name")) };
                self.out.imports.push((inst.result()?, name.clone()));
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

    fn entry_point(&mut self, inst: &Inst) -> Result<()> {
        match (inst.operand(0)?, inst.operand(2)?) {
            (Operand::ExecutionModel(model), Operand::LiteralString(name)) => {
                self.out.entry_points.push(EntryPoint {
                    model: *model,
                    function: inst.id(1)?,
                    name: name.clone(),
                    interface: inst.ids_from(3)?,
                });
                Ok(())
            }
            _ => Err(inst.malformed("not an entry point")),
        }
    }

    fn take_in_function(&mut self, inst: Inst) -> Result<()> {
        let Some(function) = &mut self.function else {
            self.function = Some(Function { def: inst, params: Vec::new(), blocks: Vec::new() });
            return Ok(());
        };
        match inst.op() {
            Op::Function => return Err(inst.malformed("a function within a function")),
            Op::FunctionParameter => function.params.push(inst),
            Op::Label => function.blocks.push(Block { label: inst.result()?, insts: Vec::new() }),
            Op::FunctionEnd => {
                if let Some(b) = function.blocks.iter().find(|b| !b.insts.last().is_some_and(is_terminator)) {
                    return Err(inst.malformed(format!("block %{} has no terminator", b.label)));
                }
                self.out.functions.extend(self.function.take());
            }
            _ => match function.blocks.last_mut() {
                Some(b) if !b.insts.last().is_some_and(is_terminator) => b.insts.push(inst),
                _ => return Err(inst.malformed("an instruction outside of a block")),
            },
        }
        Ok(())
    }
}

fn is_terminator(inst: &Inst) -> bool {
    rspirv::grammar::reflect::is_block_terminator(inst.op())
}

fn decoration(inst: &Inst, target: u32, member: Option<u32>, at: usize) -> Result<Decorated> {
    let Operand::Decoration(decoration) = *inst.operand(at)? else {
        return Err(inst.malformed("no decoration"));
    };
    let (mut value, mut builtin) = (None, None);
    match inst.raw.operands.get(at + 1) {
        Some(Operand::LiteralBit32(x)) => value = Some(*x),
        Some(Operand::BuiltIn(b)) => builtin = Some(*b),
        Some(Operand::FPFastMathMode(m)) => value = Some(m.bits()),
        Some(Operand::FPRoundingMode(m)) => value = Some(*m as u32),
        _ => {}
    }
    Ok(Decorated { target, member, decoration, value, builtin })
}

/// Gives the decorations of groups to their targets.
fn expand_groups(out: &mut Parsed, groups: &[Inst]) -> Result<()> {
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

//! Decodes SPIR-V words to instructions: one list of instructions, and one of all operands.
//!
//! Debug instructions are left out, and every instruction keeps its word offset. Common forms are decoded here, from
//! the grammar tables of `rspirv` and without an allocation per instruction. All other forms, rare or invalid, go one
//! instruction at a time to the parser of `rspirv`, which also provides the error messages.
//!
//! To add an operand, add its kind to [`Decoder::operand`]; kinds missing there are decoded by `rspirv`.

use super::instruction::{NOT_TRANSLATED, SpirvInst};
use super::words::{self, HEADER};
use super::{beyond, fold_scalar};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_compile::operands::is_silent;
use rspirv::binary::{Consumer, DecodeError, ParseAction, ParseState};
use rspirv::dr::{self, Operand};
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction, OperandKind, OperandQuantifier};
use smallvec::SmallVec;
use spirv::{Decoration, ExecutionMode, ImageOperands, LoopControl, MemoryAccess, Op};
use std::ops::Range;
use std::sync::LazyLock;

/// SPIR-V's universal limit for the id bound.
const MAX_BOUND: u32 = 0x40_0000;

/// The instructions of a module.
#[derive(Debug, Default)]
pub struct Decoded {
    /// Bound: all ids are below.
    pub bound: u32,
    /// `OpName`: id, and the instruction's index in `words`.
    pub names: List<(u32, u32)>,
    /// The module.
    pub words: List<u32>,
    heads: List<Head>,
    operands: List<Operand>,
    /// Error in the words after the last instruction.
    pub failed: Option<Error>,
}

/// An instruction without its operands.
#[derive(Clone, Copy, Debug)]
struct Head {
    op: Op,
    result_type: Option<u32>,
    result_id: Option<u32>,
    /// Range of its operands.
    first: u32,
    end: u32,
    word: u32,
}

/// Instructions of a module in a row, without debug ones.
#[derive(Clone, Copy, Debug)]
pub struct Insts<'m> {
    module: &'m Decoded,
    first: u32,
    end: u32,
}

impl<'m> Insts<'m> {
    /// Number of instructions.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.first) as usize
    }

    /// An instruction, by its position among them.
    pub fn get(self, n: usize) -> Option<SpirvInst<'m>> {
        if n < self.len() { self.module.inst(self.first as usize + n) } else { None }
    }

    /// The last one.
    pub fn last(self) -> Option<SpirvInst<'m>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = SpirvInst<'m>> {
        (0..self.len()).filter_map(move |n| self.get(n))
    }
}

impl Decoded {
    /// Number of instructions, without debug ones.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// An instruction, by its position in the file. Debug ones do not count.
    pub fn inst(&self, n: usize) -> Option<SpirvInst<'_>> {
        let head = self.heads.get(n)?;
        Some(SpirvInst {
            op: head.op,
            result_type: head.result_type,
            result_id: head.result_id,
            operands: self.operands.get(head.first as usize..head.end as usize).unwrap_or(&[]),
            word: head.word,
        })
    }

    /// The instructions in a range of positions.
    pub fn insts(&self, range: &Range<u32>) -> Insts<'_> {
        Insts { module: self, first: range.start, end: range.end }
    }
}

/// Decodes a module, up to the first undecodable instruction.
///
/// # Errors
/// Malformed: not SPIR-V, or a header out of bounds.
pub fn decode(bytes: &[u8]) -> Result<Decoded> {
    let words = words::words(bytes)?;
    let bound = words.get(3).copied().unwrap_or(0);
    if bound > MAX_BOUND {
        return Err(Error::malformed(format!("id bound {bound} is over {MAX_BOUND}")).at("word 3"));
    }
    let out = Decoded { bound, ..Decoded::default() };
    let mut decoder = Decoder { header: words.get(..HEADER).unwrap_or(&[]), widths: filled(bound as usize, 0), out };
    let failed = decoder.all(&words).err();
    let mut out = Decoded { failed, ..decoder.out };
    out.names.sort_unstable();
    out.names.dedup_by_key(|(id, _)| *id);
    out.words = words;
    Ok(out)
}

type Grammar = &'static Instruction<'static>;

/// Grammar by opcode.
static GRAMMAR: LazyLock<Vec<Option<Grammar>>> = LazyLock::new(|| {
    let mut table = Vec::new();
    for grammar in INSTRUCTION_TABLE.iter() {
        let at = grammar.opcode as usize;
        if table.len() <= at {
            table.resize(at + 1, None);
        }
        if let Some(slot @ None) = table.get_mut(at) {
            *slot = Some(grammar);
        }
    }
    table
});

/// Width of a scalar type without literals.
const NO_LITERALS: u8 = u8::MAX;

struct Decoder<'w> {
    /// The module's header.
    header: &'w [u32],
    /// By id: bit width of the numeric type, or of the value's type; 0 if it is not known to be numeric.
    widths: List<u8>,
    out: Decoded,
}

/// Result type and result.
type Results = (Option<u32>, Option<u32>);

impl Decoder<'_> {
    fn all(&mut self, words: &[u32]) -> Result<()> {
        let mut at = HEADER;
        let mut moved = List::<u32>::default();
        let mut silent = SmallVec::<[u32; 4]>::new();
        while let Some(inst) = words::instruction(words, at)? {
            let opcode = inst.first().map_or(0, |first| first & 0xffff);
            let place = |e: Error| e.at(format!("word {at}"));
            match inst {
                [_, id, ..] if opcode == Op::Name as u32 => self.out.names.push((*id, at as u32)),
                // The operation in a specialization constant becomes an instruction of its own, because the grammar has
                // no form for operations with lists of literals.
                [_, ty, id, op, rest @ ..] if opcode == Op::SpecConstantOp as u32 => {
                    if !Op::from_u32(*op).is_some_and(fold_scalar::folds) {
                        let name = Op::from_u32(*op).map_or_else(|| op.to_string(), |op| format!("{op:?}"));
                        return Err(place(Error::unsupported(format!("OpSpecConstantOp {name}"), NOT_TRANSLATED)));
                    }
                    moved.clear();
                    moved.extend([*ty, *id]);
                    moved.extend(rest);
                    self.one(op & 0xffff, &moved, at).map_err(place)?;
                }
                [_, _, _, set, ..] if opcode == Op::ExtInst as u32 && silent.contains(set) => {}
                [_, rest @ ..] if !is_debug(opcode) && !beyond::is_capability(inst) => {
                    if opcode == Op::ExtInstImport as u32
                        && let [id, name @ ..] = rest
                        && is_silent(name)
                    {
                        silent.push(*id);
                    }
                    let known = beyond::stand_in(opcode).map_or(opcode, |op| op as u32);
                    self.one(known, rest, at).map_err(place)?;
                }
                _ => {}
            }
            at += inst.len();
        }
        Ok(())
    }

    /// Decodes one instruction, from its words after the first.
    fn one(&mut self, opcode: u32, words: &[u32], at: usize) -> Result<()> {
        let first = self.out.operands.len();
        let Some(grammar) = GRAMMAR.get(opcode as usize).copied().flatten() else {
            return Err(Error::unsupported(format!("opcode {opcode}"), ""));
        };
        let (op, (result_type, result_id)) = match self.common(grammar, words)? {
            Some(results) => (grammar.opcode, results),
            None => {
                self.out.operands.truncate(first);
                self.any(opcode, words)?
            }
        };
        let end = self.out.operands.len() as u32;
        self.out.heads.push(Head { op, result_type, result_id, first: first as u32, end, word: at as u32 });
        let width = match (op, self.out.operands.get(first)) {
            (Op::TypeInt, Some(Operand::LiteralBit32(bits))) => if_literals(*bits, &[8, 16, 32, 64]),
            (Op::TypeFloat, Some(Operand::LiteralBit32(bits))) => if_literals(*bits, &[16, 32, 64]),
            _ => result_type.map_or(0, |ty| self.width(ty)),
        };
        if let Some(slot) = result_id.filter(|_| width != 0).and_then(|id| self.widths.get_mut(id as usize)) {
            *slot = width;
        }
        Ok(())
    }

    fn width(&self, id: u32) -> u8 {
        self.widths.get(id as usize).copied().unwrap_or(0)
    }

    /// Adds the operands of an instruction of a common form; `None` for other forms.
    fn common(&mut self, grammar: Grammar, words: &[u32]) -> Result<Option<Results>> {
        let (mut ty, mut id) = (None, None);
        let first = self.out.operands.len();
        let mut rest = Rest(words);
        'all: for operand in grammar.operands {
            loop {
                if rest.0.is_empty() {
                    match operand.quantifier {
                        OperandQuantifier::One => return Ok(None),
                        OperandQuantifier::ZeroOrOne | OperandQuantifier::ZeroOrMore => break 'all,
                    }
                }
                let known = match operand.kind {
                    OperandKind::IdResultType => {
                        ty = rest.next();
                        Some(())
                    }
                    OperandKind::IdResult => {
                        id = rest.next();
                        Some(())
                    }
                    OperandKind::LiteralContextDependentNumber => {
                        let width = ty.map_or(0, |ty| self.width(ty));
                        self.number(width, &mut rest)?;
                        Some(())
                    }
                    OperandKind::PairLiteralIntegerIdRef => {
                        let width = match self.out.operands.get(first) {
                            Some(Operand::IdRef(selector)) => self.width(*selector),
                            _ => 0,
                        };
                        self.number(width, &mut rest)?;
                        let id = rest.next().ok_or_else(cut_off)?;
                        self.out.operands.push(Operand::IdRef(id));
                        Some(())
                    }
                    kind => self.operand(kind, &mut rest),
                };
                if known.is_none() {
                    return Ok(None);
                }
                if operand.quantifier != OperandQuantifier::ZeroOrMore {
                    break;
                }
            }
        }
        Ok(rest.0.is_empty().then_some((ty, id)))
    }

    /// A literal of this width; one word if the type is not known.
    fn number(&mut self, width: u8, rest: &mut Rest<'_>) -> Result<()> {
        let literal = match width {
            NO_LITERALS => return Err(Error::unsupported("scalar type", "of an unknown width")),
            64 => rest.next().zip(rest.next()).map(|(low, high)| u64::from(low) | u64::from(high) << 32),
            _ => rest.next().map(u64::from),
        };
        let bits = literal.ok_or_else(cut_off)?;
        let operand = if width == 64 { Operand::LiteralBit64(bits) } else { Operand::LiteralBit32(bits as u32) };
        self.out.operands.push(operand);
        Ok(())
    }

    /// One operand with its parameters; `None` if its form is not common.
    fn operand(&mut self, kind: OperandKind, rest: &mut Rest<'_>) -> Option<()> {
        use OperandKind as K;
        let word = if kind == K::LiteralString { 0 } else { rest.next()? };
        let out = &mut self.out.operands;
        out.push(match kind {
            K::IdRef | K::PairIdRefLiteralInteger | K::PairIdRefIdRef => Operand::IdRef(word),
            K::IdScope => Operand::IdScope(word),
            K::IdMemorySemantics => Operand::IdMemorySemantics(word),
            K::LiteralInteger | K::LiteralFloat => Operand::LiteralBit32(word),
            K::LiteralExtInstInteger => Operand::LiteralExtInstInteger(word),
            K::LiteralString => Operand::LiteralString(rest.string()?),
            K::Capability => Operand::Capability(spirv::Capability::from_u32(word)?),
            K::ExecutionModel => Operand::ExecutionModel(spirv::ExecutionModel::from_u32(word)?),
            K::AddressingModel => Operand::AddressingModel(spirv::AddressingModel::from_u32(word)?),
            K::MemoryModel => Operand::MemoryModel(spirv::MemoryModel::from_u32(word)?),
            K::StorageClass => Operand::StorageClass(spirv::StorageClass::from_u32(word)?),
            K::Dim => Operand::Dim(spirv::Dim::from_u32(word)?),
            K::ImageFormat => Operand::ImageFormat(spirv::ImageFormat::from_u32(word)?),
            K::PackedVectorFormat => Operand::PackedVectorFormat(spirv::PackedVectorFormat::from_u32(word)?),
            K::GroupOperation => Operand::GroupOperation(spirv::GroupOperation::from_u32(word)?),
            K::SelectionControl => Operand::SelectionControl(spirv::SelectionControl::from_bits(word)?),
            K::FunctionControl => Operand::FunctionControl(spirv::FunctionControl::from_bits(word)?),
            K::LoopControl => {
                let plain = LoopControl::UNROLL | LoopControl::DONT_UNROLL;
                Operand::LoopControl(LoopControl::from_bits(word).filter(|c| plain.contains(*c))?)
            }
            K::Decoration => Operand::Decoration(Decoration::from_u32(word)?),
            K::ExecutionMode => Operand::ExecutionMode(ExecutionMode::from_u32(word)?),
            K::MemoryAccess => Operand::MemoryAccess(MemoryAccess::from_bits(word)?),
            K::ImageOperands => Operand::ImageOperands(ImageOperands::from_bits(word)?),
            _ => return None,
        });
        match kind {
            K::PairIdRefLiteralInteger => out.push(Operand::LiteralBit32(rest.next()?)),
            K::PairIdRefIdRef => out.push(Operand::IdRef(rest.next()?)),
            K::Decoration => decoration(Decoration::from_u32(word)?, rest, out)?,
            K::ExecutionMode => execution_mode(ExecutionMode::from_u32(word)?, rest, out)?,
            K::MemoryAccess => memory_access(MemoryAccess::from_bits(word)?, rest, out)?,
            K::ImageOperands => image_operands(ImageOperands::from_bits(word)?, rest, out)?,
            _ => {}
        }
        Some(())
    }

    /// Any instruction, decoded by `rspirv`.
    fn any(&mut self, opcode: u32, words: &[u32]) -> Result<(Op, Results)> {
        let first = (words.len() as u32 + 1) << 16 | opcode;
        let all = self.header.iter().copied().chain([first]).chain(words.iter().copied());
        let bytes: List<u8> = all.flat_map(u32::to_le_bytes).collect();
        let mut one = One(None);
        match rspirv::binary::parse_bytes(&bytes[..], &mut one) {
            Ok(()) => {}
            Err(ParseState::OperandError(e)) => return Err(operand_error(&e)),
            Err(e) => return Err(Error::malformed(e.to_string())),
        }
        let Some(inst) = one.0 else { return Err(Error::malformed("an instruction without words")) };
        self.out.operands.extend(inst.operands);
        Ok((inst.class.opcode, (inst.result_type, inst.result_id)))
    }
}

fn cut_off() -> Error {
    Error::malformed("the literals are cut off")
}

/// The width, if literals can have it; else `NO_LITERALS`.
fn if_literals(bits: u32, widths: &[u32]) -> u8 {
    if widths.contains(&bits) { bits as u8 } else { NO_LITERALS }
}

/// The words of an instruction that are yet to be decoded.
struct Rest<'w>(&'w [u32]);

impl Rest<'_> {
    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn string(&mut self) -> Option<String> {
        let ends = |w: &u32| w.to_le_bytes().contains(&0);
        let len = self.0.iter().position(ends)? + 1;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        words::utf8(text)
    }
}

/// Takes `count` words as operands of one kind.
fn many(count: usize, make: fn(u32) -> Operand, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    (0..count).try_for_each(|_| {
        out.push(make(rest.next()?));
        Some(())
    })
}

fn literals(count: usize, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    many(count, Operand::LiteralBit32, rest, out)
}

fn ids(count: usize, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    many(count, Operand::IdRef, rest, out)
}

/// Operands of a decoration.
fn decoration(d: Decoration, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    use Decoration as D;
    match d {
        D::SpecId
        | D::ArrayStride
        | D::MatrixStride
        | D::Location
        | D::Component
        | D::Index
        | D::Binding
        | D::DescriptorSet
        | D::Offset
        | D::InputAttachmentIndex => literals(1, rest, out),
        D::BuiltIn => {
            out.push(Operand::BuiltIn(spirv::BuiltIn::from_u32(rest.next()?)?));
            Some(())
        }
        D::RelaxedPrecision
        | D::Block
        | D::BufferBlock
        | D::RowMajor
        | D::ColMajor
        | D::NoPerspective
        | D::Flat
        | D::Centroid
        | D::Sample
        | D::Invariant
        | D::Restrict
        | D::Aliased
        | D::Volatile
        | D::Coherent
        | D::NonWritable
        | D::NonReadable
        | D::AliasedPointer
        | D::RestrictPointer
        | D::NoContraction
        | D::NonUniform => Some(()),
        _ => None,
    }
}

/// Operands of an execution mode.
fn execution_mode(mode: ExecutionMode, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    use ExecutionMode as M;
    match mode {
        M::LocalSize => literals(3, rest, out),
        M::LocalSizeId => ids(3, rest, out),
        M::OriginUpperLeft | M::EarlyFragmentTests | M::DepthReplacing => Some(()),
        _ => None,
    }
}

/// Operands of a memory access mask.
fn memory_access(mask: MemoryAccess, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    use MemoryAccess as M;
    let known = M::VOLATILE
        | M::ALIGNED
        | M::NONTEMPORAL
        | M::MAKE_POINTER_AVAILABLE
        | M::MAKE_POINTER_VISIBLE
        | M::NON_PRIVATE_POINTER;
    if !known.contains(mask) {
        return None;
    }
    if mask.contains(M::ALIGNED) {
        literals(1, rest, out)?;
    }
    let scopes = mask & (M::MAKE_POINTER_AVAILABLE | M::MAKE_POINTER_VISIBLE);
    many(scopes.iter().count(), Operand::IdScope, rest, out)
}

/// Operands of an image operands mask.
fn image_operands(mask: ImageOperands, rest: &mut Rest<'_>, out: &mut Vec<Operand>) -> Option<()> {
    use ImageOperands as I;
    let none = I::SIGN_EXTEND | I::ZERO_EXTEND | I::NON_PRIVATE_TEXEL | I::VOLATILE_TEXEL | I::NONTEMPORAL;
    let one = I::BIAS | I::LOD | I::CONST_OFFSET | I::OFFSET | I::CONST_OFFSETS | I::SAMPLE | I::MIN_LOD;
    if !(none | one | I::GRAD).contains(mask) {
        return None;
    }
    ids((mask & one).iter().count() + if mask.contains(I::GRAD) { 2 } else { 0 }, rest, out)
}

/// An unknown enumerant belongs to an extension; any other error is malformed input.
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

/// Instructions without an effect on code.
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

/// Takes one instruction from `rspirv`.
struct One(Option<dr::Instruction>);

impl Consumer for One {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, inst: dr::Instruction) -> ParseAction {
        self.0 = Some(inst);
        ParseAction::Continue
    }
}

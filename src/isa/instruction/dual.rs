//! Two vector operations in one instruction (VOPD): both read their sources, then both write their results.

use super::{Fields, Instruction, Modifiers, VectorDst, VectorFields, VectorForm};
use crate::{Isa, Op, OpcodeRow, OperandKind, Scalar, Src, Traits, Vgpr};

/// Operands of a dual instruction, of its first and its second half. Source 2 of a select is VCC; that of an accumulation is
/// its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualFields {
    /// Row of the second half's operation; that of the first half is the instruction's.
    pub second: &'static OpcodeRow,
    /// Results: one even and one odd register.
    pub dst: [Vgpr; 2],
    /// First sources. A literal is the same for both, and as `constant`.
    pub src0: [Src; 2],
    /// Second sources that are registers, v0 where the operation has none.
    pub src1: [Vgpr; 2],
    /// The constant of `fmaak` and `fmamk`, the same for both halves.
    pub constant: Option<u32>,
}

/// A half of a dual instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Row of its operation.
    pub entry: &'static OpcodeRow,
    /// Result.
    pub dst: Vgpr,
    /// Values read, in the order of the row.
    pub srcs: [Option<Src>; 3],
}

impl DualFields {
    /// Both halves of an instruction whose first operation is that of this row.
    pub fn halves(&self, first: &'static OpcodeRow) -> [Half; 2] {
        [(0, first), (1, self.second)].map(|(n, entry)| {
            let [src0, src1] = [Some(self.src0[n]), Some(Src::Vgpr(self.src1[n]))];
            let constant = self.constant.map(Src::Literal);
            let srcs = match entry.src.len() {
                0 | 1 => [src0, None, None],
                _ if entry.is(Traits::CONSTANT_SECOND) => [src0, constant, src1],
                _ if entry.is(Traits::CONSTANT_THIRD) => [src0, src1, constant],
                _ if entry.src_kind(2) == OperandKind::Mask => [src0, src1, Some(Src::Scalar(Scalar::VccLo))],
                _ => [src0, src1, None],
            };
            Half { entry, dst: self.dst[n], srcs }
        })
    }
}

impl DualFields {
    /// Whether the first half's result goes to a register that the second half reads. Some GPUs read both before they write
    /// ([`IsaLimits::first_half_overwrites`](crate::IsaLimits)).
    pub fn first_overwrites_second(&self, first: &'static OpcodeRow) -> bool {
        let [a, b] = self.halves(first);
        b.srcs.contains(&Some(Src::Vgpr(a.dst)))
    }

    /// Why the halves cannot be in one instruction (LLVM, `AMDGPUAsmParser::validateVOPD` and `GCNVOPDUtils`).
    pub fn conflict(&self, first: &'static OpcodeRow) -> Option<String> {
        let halves = self.halves(first);
        let [a, b] = &halves;
        if a.dst.0 & 1 == b.dst.0 & 1 {
            return Some(format!("results: {} and {} are not one even and one odd", a.dst, b.dst));
        }
        let surplus = (0..2).find(|n| halves[*n].entry.src.len() < 2 && self.src1[*n] != Vgpr(0));
        if let Some(n) = surplus {
            return Some(format!("source 1: {} has none", halves[n].entry.mnemonic));
        }
        if self.constant.is_some() != halves.iter().any(Half::has_constant) {
            return Some("constant: one too many or too few".to_owned());
        }
        let literal = |src: &Src| if let Src::Literal(bits) = src { Some(*bits) } else { None };
        let mut literals = self.src0.iter().filter_map(literal).chain(self.constant);
        let one = literals.next();
        if literals.any(|other| Some(other) != one) {
            return Some("literals: one for both halves".to_owned());
        }
        let free = halves.iter().all(|half| half.entry.is(Traits::FREE_BANKS));
        if let Some(port) = Port::ALL.into_iter().find(|port| !free && port.is_shared(a, b)) {
            return Some(format!("sources: {port:?} of both halves is in one bank of registers"));
        }
        // VCC as a mask is different from VCC as an operand.
        let values = halves.iter().flat_map(|half| half.srcs.into_iter().zip(half.entry.src));
        let (mut seen, mut count) = ([None; 5], 0);
        for (value, kind) in values.filter_map(|(src, kind)| Some((src?, *kind))) {
            let scalar = matches!(value, Src::Scalar(_) | Src::Special(_) | Src::Literal(_));
            let mask = kind == OperandKind::Mask;
            let (value, null) = ((value, mask), value == Src::Scalar(Scalar::Null));
            if scalar && !null && !seen.contains(&Some(value)) {
                seen.iter_mut().skip(count).take(1).for_each(|place| *place = Some(value));
                count += 1;
            }
        }
        (count > 2).then(|| format!("sources: {count} scalar values, 2 can be read"))
    }
}

/// A way by which a half reads registers, in banks that the lowest bits of their numbers choose.
#[derive(Clone, Copy, Debug)]
enum Port {
    Source0,
    Source1,
    /// The addend of a multiplication with a constant, and the result of an accumulation.
    Addend,
}

impl Port {
    const ALL: [Self; 3] = [Self::Source0, Self::Source1, Self::Addend];

    /// Whether both halves read one bank through it.
    fn is_shared(self, a: &Half, b: &Half) -> bool {
        let mask = match self {
            Self::Source0 | Self::Source1 => 3,
            Self::Addend => 1,
        };
        matches!((self.of(a), self.of(b)), (Some(a), Some(b)) if a.0 & mask == b.0 & mask)
    }

    fn of(self, half: &Half) -> Option<Vgpr> {
        let swapped = half.entry.is(Traits::CONSTANT_SECOND);
        let src = match self {
            Self::Source0 => half.srcs[0],
            Self::Source1 if swapped => None,
            Self::Source1 => half.srcs[1],
            Self::Addend if half.entry.is(Traits::TIED) => Some(Src::Vgpr(half.dst)),
            Self::Addend => half.srcs[2],
        };
        if let Some(Src::Vgpr(v)) = src { Some(v) } else { None }
    }
}

impl Half {
    fn has_constant(&self) -> bool {
        self.entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD))
    }
}

/// Operations of halves, and the operations alone that compute the same.
const ALONE: [(Op, Op); 16] = [
    (Op::VDualFmacF32, Op::VFmacF32),
    (Op::VDualFmaakF32, Op::VFmaakF32),
    (Op::VDualFmamkF32, Op::VFmamkF32),
    (Op::VDualMulF32, Op::VMulF32),
    (Op::VDualAddF32, Op::VAddF32),
    (Op::VDualSubF32, Op::VSubF32),
    (Op::VDualSubrevF32, Op::VSubrevF32),
    (Op::VDualMulDx9ZeroF32, Op::VMulLegacyF32),
    (Op::VDualMovB32, Op::VMovB32),
    (Op::VDualCndmaskB32, Op::VCndmaskB32),
    (Op::VDualMaxF32, Op::VMaxF32),
    (Op::VDualMinF32, Op::VMinF32),
    (Op::VDualDot2accF32F16, Op::VDot2cF32F16),
    (Op::VDualAddNcU32, Op::VAddNcU32),
    (Op::VDualLshlrevB32, Op::VLshlrevB32),
    (Op::VDualAndB32, Op::VAndB32),
];

/// The half of a dual instruction that computes what an operation does alone.
pub fn half_of(alone: Op) -> Option<Op> {
    ALONE.iter().find(|(_, other)| *other == alone).map(|(half, _)| *half)
}

impl Half {
    /// The same as an instruction of its own; `None` for what is only a half.
    pub fn alone(&self, isa: &'static Isa) -> Option<Instruction> {
        let op =
            ALONE.iter().find(|(half, _)| *half == self.entry.op).map(|(_, alone)| *alone).filter(|op| isa.has(*op))?;
        let fields = VectorFields {
            dst: Some(VectorDst::Vgpr(self.dst)),
            mask: None,
            srcs: self.srcs,
            mods: Modifiers::default(),
            form: VectorForm::Short,
        };
        Some(Instruction::new(isa, op, Fields::Vector(fields)))
    }
}

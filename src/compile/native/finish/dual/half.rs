//! What an instruction is as a half of a dual instruction, and with which others it fits into one.

use crate::mir::sources::mirrored;
use dovetail_isa::instruction::{Fields, Modifiers, VectorDst, VectorFields, VectorForm, half_of};
use dovetail_isa::{Instruction, Isa, Op, OperandKind, Scalar, Src, Traits, Vgpr};
use smallvec::SmallVec;

/// An instruction that can be a half. `DualFields::conflict` of `dovetail_isa` has the rules; they are here in a form in
/// which most pairs are refused at once.
#[derive(Clone, Debug)]
pub(super) struct Half {
    /// Its result.
    pub(super) dst: Vgpr,
    /// The vector registers that it reads.
    reads: [Option<Vgpr>; 3],
    /// Ways to compute the same.
    ways: SmallVec<[Way; 2]>,
    /// The scalar value that it reads, a literal among them, and whether as a lane mask.
    scalar: Option<(Src, bool)>,
}

/// A way to compute the result of a half.
#[derive(Clone, Copy, Debug)]
struct Way {
    form: Form,
    /// Only as the second half.
    second: bool,
    /// By port: the bank that it reads.
    banks: [Option<u8>; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The instruction itself.
    Itself,
    /// With the first two sources in the other order.
    Mirrored,
    /// A copy as a sum with 0, which reads its source through the other port.
    Sum,
}

impl Half {
    /// `None` for other instructions.
    pub(super) fn of(isa: &'static Isa, inst: &Instruction) -> Option<Self> {
        let Fields::Vector(f) = &inst.fields else { return None };
        if f.mods != Modifiers::default() {
            return None;
        }
        match f.form {
            VectorForm::Short => Self::of_short(isa, inst, f),
            VectorForm::Long => {
                let made = with_literal(isa, inst)?;
                let Fields::Vector(f) = &made.fields else { return None };
                Self::of_short(isa, &made, f).filter(|_| f.form == VectorForm::Short)
            }
            _ => None,
        }
    }

    fn of_short(isa: &'static Isa, inst: &Instruction, f: &VectorFields) -> Option<Self> {
        let Some(VectorDst::Vgpr(dst)) = f.dst else { return None };
        let op = inst.entry.op;
        let row = isa.row(half_of(op)?);
        let second = row.is(Traits::SECOND_HALF);
        let bank = |src: Option<Src>, mask: u8| if let Some(Src::Vgpr(v)) = src { Some(v.0 & mask) } else { None };
        let addend = if row.is(Traits::TIED) { Some(Src::Vgpr(dst)) } else { f.srcs[2] };
        let port = if row.is(Traits::CONSTANT_SECOND) { None } else { f.srcs[1] };
        let banks = [bank(f.srcs[0], 3), bank(port, 3), bank(addend, 1)];
        let mut ways: SmallVec<[Way; 2]> = SmallVec::new();
        ways.push(Way { form: Form::Itself, second, banks });
        match f.srcs {
            [Some(Src::Vgpr(_)), Some(Src::Vgpr(_)), _] if turned(op).is_some() => {
                ways.push(Way { form: Form::Mirrored, second, banks: [banks[1], banks[0], banks[2]] });
            }
            [Some(Src::Vgpr(_)), None, _] if op == Op::VMovB32 => {
                ways.push(Way { form: Form::Sum, second: true, banks: [None, banks[0], None] });
            }
            _ => {}
        }
        let reads = f.srcs.map(|src| if let Some(Src::Vgpr(v)) = src { Some(v) } else { None });
        Some(Self { dst, reads, ways, scalar: scalar(f, row.src)? })
    }

    /// Whether both fit into one instruction, if `other` reads nothing of this one.
    pub(super) fn fits(&self, other: &Self, isa: &Isa) -> bool {
        self.dst.0 & 1 != other.dst.0 & 1 && self.ways_with(other, isa).is_some() && self.scalars_fit(other)
    }

    /// Both in one. `None` if they do not fit.
    pub(super) fn with(&self, other: &Self, isa: &'static Isa, alone: [&Instruction; 2]) -> Option<Instruction> {
        let (a, b) = self.ways_with(other, isa)?;
        let made = |way: Way, inst: &Instruction| way.made(isa, &with_literal(isa, inst).unwrap_or(*inst));
        let [first, second] = [made(a, alone[0]), made(b, alone[1])];
        let [first, second] = if a.second { [second, first] } else { [first, second] };
        Instruction::dual(isa, &first, &second).ok()
    }

    fn ways_with(&self, other: &Self, isa: &Isa) -> Option<(Way, Way)> {
        let overwritten = !isa.limits.first_half_overwrites && self.reads.contains(&Some(other.dst));
        let apart = |a: &Way, b: &Way| {
            let shared = a.banks.iter().zip(&b.banks).any(|(a, b)| a.is_some() && a == b);
            !(shared || a.second && (b.second || overwritten))
        };
        self.ways.iter().find_map(|a| Some((*a, *other.ways.iter().find(|b| apart(a, b))?)))
    }

    /// Each half reads at most one scalar value, so that only literals can be too many.
    fn scalars_fit(&self, other: &Self) -> bool {
        match (self.scalar, other.scalar) {
            (Some((a @ Src::Literal(_), _)), Some((b @ Src::Literal(_), _))) => a == b,
            _ => true,
        }
    }
}

impl Way {
    fn made(self, isa: &'static Isa, alone: &Instruction) -> Instruction {
        let Fields::Vector(f) = &alone.fields else { return *alone };
        match (self.form, f.srcs) {
            (Form::Mirrored, [Some(a), Some(b), c]) => {
                let op = turned(alone.entry.op).unwrap_or(alone.entry.op);
                let srcs: SmallVec<[Src; 3]> = [b, a].into_iter().chain(c).collect();
                Instruction::vector(isa, op, f.dst, &srcs)
            }
            (Form::Sum, [Some(a), ..]) => Instruction::vector(isa, Op::VAddNcU32, f.dst, &[Src::Int(0), a]),
            _ => *alone,
        }
    }
}

/// A sum with a product in which a constant is a literal, because the form with an inline constant is no half. Alone it is as
/// long either way.
fn with_literal(isa: &'static Isa, inst: &Instruction) -> Option<Instruction> {
    let Fields::Vector(f) = &inst.fields else { return None };
    if inst.entry.op != Op::VFmaF32 || f.mods != Modifiers::default() {
        return None;
    }
    let [Some(a), Some(b), Some(c)] = f.srcs else { return None };
    let made = |op: Op, srcs: [Src; 3]| Some(Instruction::vector(isa, op, f.dst, &srcs));
    match ([a, b, c], literal(a), literal(b), literal(c)) {
        ([_, Src::Vgpr(_), _], None, _, Some(sum)) => made(Op::VFmaakF32, [a, b, sum]),
        ([Src::Vgpr(_), _, _], _, None, Some(sum)) => made(Op::VFmaakF32, [b, a, sum]),
        ([_, Src::Vgpr(_), Src::Vgpr(_)], Some(factor), ..) => made(Op::VFmamkF32, [b, factor, c]),
        ([Src::Vgpr(_), _, Src::Vgpr(_)], _, Some(factor), _) => made(Op::VFmamkF32, [a, factor, c]),
        _ => None,
    }
}

/// An inline constant of a sum of floats as a literal.
fn literal(src: Src) -> Option<Src> {
    const FLOATS: [f32; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
    match src {
        Src::Int(small) => Some(Src::Literal(i32::from(small).cast_unsigned())),
        Src::Float(_) => {
            FLOATS.iter().map(|one| one.to_bits()).find(|bits| Src::from_bits(*bits) == src).map(Src::Literal)
        }
        _ => None,
    }
}

/// The operation that takes its first two sources in the other order.
fn turned(op: Op) -> Option<Op> {
    match op {
        // The factors of a product.
        Op::VFmacF32 | Op::VFmaakF32 | Op::VDot2cF32F16 => Some(op),
        op => mirrored(op).filter(|op| half_of(*op).is_some()),
    }
}

/// The scalar value of an operation; `None` if there are two, which Mesa takes for too many where one is a literal or a lane
/// mask (`aco_scheduler_ilp`, `get_vopd_info`) and LLVM allows.
fn scalar(f: &VectorFields, kinds: &[OperandKind]) -> Option<Option<(Src, bool)>> {
    let mut out = None;
    for (src, kind) in f.srcs.iter().zip(kinds).filter_map(|(src, kind)| Some(((*src)?, *kind))) {
        let one = Some((src, kind == OperandKind::Mask));
        let scalar = matches!(src, Src::Scalar(_) | Src::Special(_) | Src::Literal(_));
        if scalar && src != Src::Scalar(Scalar::Null) && out != one {
            if out.is_some() {
                return None;
            }
            out = one;
        }
    }
    Some(out)
}

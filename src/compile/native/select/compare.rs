//! Selects comparisons: scalar ones if both operands are uniform, otherwise vector ones.

use super::bools::Bool;
use super::{Operands, Selector, mask_run, run_of_words};
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, Value};
use dovetail_isa::Op;

/// The scalar comparison of integers.
fn scalar_op(op: AluOp) -> Option<Op> {
    use AluOp as A;
    Some(match op {
        A::IEq => Op::SCmpEqU32,
        A::INe => Op::SCmpLgU32,
        A::ULt => Op::SCmpLtU32,
        A::ULe => Op::SCmpLeU32,
        A::UGt => Op::SCmpGtU32,
        A::UGe => Op::SCmpGeU32,
        A::SLt => Op::SCmpLtI32,
        A::SLe => Op::SCmpLeI32,
        A::SGt => Op::SCmpGtI32,
        A::SGe => Op::SCmpGeI32,
        _ => return None,
    })
}

/// The vector comparison for 16, 32 and 64 bits; for equality the unsigned one.
fn vector_ops(op: AluOp) -> Option<[Op; 3]> {
    use AluOp as A;
    Some(match op {
        A::IEq => [Op::VCmpEqU16, Op::VCmpEqU32, Op::VCmpEqU64],
        A::INe => [Op::VCmpNeU16, Op::VCmpNeU32, Op::VCmpNeU64],
        A::ULt => [Op::VCmpLtU16, Op::VCmpLtU32, Op::VCmpLtU64],
        A::ULe => [Op::VCmpLeU16, Op::VCmpLeU32, Op::VCmpLeU64],
        A::UGt => [Op::VCmpGtU16, Op::VCmpGtU32, Op::VCmpGtU64],
        A::UGe => [Op::VCmpGeU16, Op::VCmpGeU32, Op::VCmpGeU64],
        A::SLt => [Op::VCmpLtI16, Op::VCmpLtI32, Op::VCmpLtI64],
        A::SLe => [Op::VCmpLeI16, Op::VCmpLeI32, Op::VCmpLeI64],
        A::SGt => [Op::VCmpGtI16, Op::VCmpGtI32, Op::VCmpGtI64],
        A::SGe => [Op::VCmpGeI16, Op::VCmpGeI32, Op::VCmpGeI64],
        A::FOEq => [Op::VCmpEqF16, Op::VCmpEqF32, Op::VCmpEqF64],
        A::FONe => [Op::VCmpLgF16, Op::VCmpLgF32, Op::VCmpLgF64],
        A::FOLt => [Op::VCmpLtF16, Op::VCmpLtF32, Op::VCmpLtF64],
        A::FOLe => [Op::VCmpLeF16, Op::VCmpLeF32, Op::VCmpLeF64],
        A::FOGt => [Op::VCmpGtF16, Op::VCmpGtF32, Op::VCmpGtF64],
        A::FOGe => [Op::VCmpGeF16, Op::VCmpGeF32, Op::VCmpGeF64],
        A::FUEq => [Op::VCmpNlgF16, Op::VCmpNlgF32, Op::VCmpNlgF64],
        A::FUNe => [Op::VCmpNeqF16, Op::VCmpNeqF32, Op::VCmpNeqF64],
        A::FULt => [Op::VCmpNgeF16, Op::VCmpNgeF32, Op::VCmpNgeF64],
        A::FULe => [Op::VCmpNgtF16, Op::VCmpNgtF32, Op::VCmpNgtF64],
        A::FUGt => [Op::VCmpNleF16, Op::VCmpNleF32, Op::VCmpNleF64],
        A::FUGe => [Op::VCmpNltF16, Op::VCmpNltF32, Op::VCmpNltF64],
        A::FOrd => [Op::VCmpOF16, Op::VCmpOF32, Op::VCmpOF64],
        A::FUno => [Op::VCmpUF16, Op::VCmpUF32, Op::VCmpUF64],
        _ => return None,
    })
}

/// Whether it compares signed integers.
const fn is_signed(op: AluOp) -> bool {
    matches!(op, AluOp::SLt | AluOp::SLe | AluOp::SGt | AluOp::SGe)
}

impl Selector<'_> {
    /// A comparison of numbers.
    pub(super) fn compare(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        let bits = self.shader.ty(args[0]).bits();
        if bits == Bits::B1 {
            return self.logic(op, args, result);
        }
        let uniform = args.iter().all(|v| self.is_scalar(*v));
        let made = match (scalar_op(op), bits) {
            (Some(scalar), Bits::B32) if uniform => Bool::Compare(scalar, self.word(args[0])?, self.word(args[1])?),
            (Some(scalar), Bits::B8 | Bits::B16) if uniform => {
                let [x, y] = [args[0], args[1]].map(|v| self.extended(v, is_signed(op)));
                Bool::Compare(scalar, x?, y?)
            }
            _ => self.compare_lanes(op, bits, args)?,
        };
        self.set_bool(result, made);
        Ok(())
    }

    fn compare_lanes(&mut self, op: AluOp, bits: Bits, args: &[Value]) -> Result<Bool> {
        let ops = vector_ops(op).ok_or_else(|| Error::bug(format!("native: {} compares nothing", op.name())))?;
        let (op, uses): (Op, Operands) = match bits {
            Bits::B8 => {
                let [x, y] = [args[0], args[1]].map(|v| self.extended(v, is_signed(op)));
                (ops[1], [x?, y?].iter().map(|word| Self::any(*word)).collect())
            }
            Bits::B64 => {
                let mut uses = Operands::new();
                for v in &args[..2] {
                    uses.extend(self.pair_operand(*v)?);
                }
                (ops[2], uses)
            }
            _ => {
                let words = [self.word(args[0])?, self.word(args[1])?];
                (if bits == Bits::B16 { ops[0] } else { ops[1] }, words.iter().map(|word| Self::any(*word)).collect())
            }
        };
        let uses = if bits == Bits::B64 { uses } else { self.fit(op, uses) };
        let mask = self.new_mask();
        self.isa(op, &mask_run(self.wave, mask), &uses, Extra::None);
        Ok(Bool::Mask(mask))
    }

    /// A 64-bit value as one operand of a vector instruction: a pair of registers of one file.
    pub(super) fn pair_operand(&mut self, v: Value) -> Result<Operands> {
        let words = self.words(v)?;
        if let [OperandValue::Const(low), OperandValue::Const(high)] = words[..]
            && let Some(small) = small_constant(low, high)
        {
            return Ok([Operand::constant(small)].into_iter().collect());
        }
        let scalar = words.iter().all(|word| matches!(word, OperandValue::Val(_)) && self.is_scalar_word(*word));
        Ok(if scalar { run_of_words(&words) } else { self.vector_run(&words) })
    }
}

/// A 64-bit integer as an inline constant, if it has one.
pub(super) fn small_constant(low: u32, high: u32) -> Option<u32> {
    let value = (i64::from(high.cast_signed()) << 32) | i64::from(low);
    (-16..=64).contains(&value).then_some(low)
}

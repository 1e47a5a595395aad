//! Float arithmetic. Only the vector unit has it: a result with uniform operands is uniform, but in a vector register.

use super::{Operands, Selector, run_of};
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, FpFlags, Type, Value};
use dovetail_isa::Op;

/// One instruction for 16, 32, 64 bits.
const fn direct(op: AluOp) -> Option<[Option<Op>; 3]> {
    use AluOp as A;
    match op {
        A::FAdd => Some([Some(Op::VAddF16), Some(Op::VAddF32), Some(Op::VAddF64)]),
        A::FSub => Some([Some(Op::VSubF16), Some(Op::VSubF32), None]),
        A::FMul => Some([Some(Op::VMulF16), Some(Op::VMulF32), Some(Op::VMulF64)]),
        A::FFma => Some([Some(Op::VFmaF16), Some(Op::VFmaF32), Some(Op::VFmaF64)]),
        A::FFloor => Some([Some(Op::VFloorF16), Some(Op::VFloorF32), Some(Op::VFloorF64)]),
        A::FCeil => Some([Some(Op::VCeilF16), Some(Op::VCeilF32), Some(Op::VCeilF64)]),
        A::FTrunc => Some([Some(Op::VTruncF16), Some(Op::VTruncF32), Some(Op::VTruncF64)]),
        A::FRoundEven => Some([Some(Op::VRndneF16), Some(Op::VRndneF32), Some(Op::VRndneF64)]),
        A::FFract => Some([Some(Op::VFractF16), Some(Op::VFractF32), Some(Op::VFractF64)]),
        A::FMin => Some([Some(Op::VMinF16), Some(Op::VMinF32), Some(Op::VMinF64)]),
        A::FMax => Some([Some(Op::VMaxF16), Some(Op::VMaxF32), Some(Op::VMaxF64)]),
        A::FSqrt => Some([Some(Op::VSqrtF16), Some(Op::VSqrtF32), None]),
        A::FRsq => Some([Some(Op::VRsqF16), Some(Op::VRsqF32), None]),
        A::FRcp => Some([Some(Op::VRcpF16), Some(Op::VRcpF32), None]),
        A::FRcpSeed => Some([None, None, Some(Op::VRcpF64)]),
        A::FRsqSeed => Some([None, None, Some(Op::VRsqF64)]),
        A::FExp2 => Some([Some(Op::VExpF16), Some(Op::VExpF32), None]),
        A::FLog2 => Some([Some(Op::VLogF16), Some(Op::VLogF32), None]),
        A::FSinTurn => Some([Some(Op::VSinF16), Some(Op::VSinF32), None]),
        A::FCosTurn => Some([Some(Op::VCosF16), Some(Op::VCosF32), None]),
        A::FMulZero => Some([None, Some(Op::VMulLegacyF32), None]),
        A::FFrexpMant => Some([Some(Op::VFrexpMantF16), Some(Op::VFrexpMantF32), Some(Op::VFrexpMantF64)]),
        A::FFrexpExp => Some([None, Some(Op::VFrexpExpI32F32), Some(Op::VFrexpExpI32F64)]),
        A::PackNorm16 => Some([None, Some(Op::VCvtPknormU16F32), None]),
        A::PackSnorm16 => Some([None, Some(Op::VCvtPknormI16F32), None]),
        A::PackHalfRtz => Some([None, Some(Op::VCvtPkrtzF16F32), None]),
        _ => None,
    }
}

impl Selector<'_> {
    /// A float operation, or a conversion from or to floats.
    pub(super) fn float(&mut self, op: AluOp, _flags: FpFlags, args: &[Value], result: Value) -> Result<()> {
        use AluOp as A;
        let (from, to) = (self.shader.ty(args[0]).bits(), self.shader.ty(result).bits());
        match op {
            A::F2S | A::F2U | A::S2F | A::U2F | A::FConv => return self.convert(op, args[0], result),
            A::FNeg | A::FAbs | A::FCopySign => return self.sign(op, args, result),
            A::FLdexp => return self.ldexp(args, result),
            A::FSub if from == Bits::B64 => return self.subtract_double(args, result),
            A::FFrexpExp if from == Bits::B16 => {
                let exponent = self.word(args[0])?;
                let half = self.v(Op::VFrexpExpI16F16, &[exponent]);
                let word =
                    self.v(Op::VBfeI32, &[OperandValue::Val(half), OperandValue::Const(0), OperandValue::Const(16)]);
                self.set_val(result, word);
                return Ok(());
            }
            _ => {}
        }
        let column = match from {
            Bits::B16 => 0,
            Bits::B32 => 1,
            Bits::B64 => 2,
            _ => return Err(Error::bug(format!("native: {} of {} bits", op.name(), from.count()))),
        };
        let Some(isa) = direct(op).and_then(|ops| ops[column]) else {
            return Err(Error::unsupported(format!("native: {} of {} bits", op.name(), from.count()), ""));
        };
        if from == Bits::B64 || to == Bits::B64 {
            return self.double(isa, args, result);
        }
        let mut words = self.only_words(args)?;
        if words.len() == 2
            && matches!(op, A::FAdd | A::FMul | A::FMin | A::FMax | A::FMulZero)
            && !self.is_scalar_word(words[0])
            && self.is_scalar_word(words[1])
        {
            words.reverse();
        }
        let val = self.v(isa, &words);
        self.set_val(result, val);
        Ok(())
    }

    /// An instruction with a 64-bit operand or result.
    pub(super) fn double(&mut self, op: Op, args: &[Value], result: Value) -> Result<()> {
        let mut uses = Operands::new();
        for &v in args {
            match self.shader.ty(v) {
                Type::B64 => uses.extend(self.double_operand(v)?),
                _ => uses.push(self.word(v).map(Self::any)?),
            }
        }
        self.double_of(op, &uses, result)
    }

    pub(super) fn double_of(&mut self, op: Op, uses: &[Operand], result: Value) -> Result<()> {
        let count = self.shader.ty(result).total_bits().div_ceil(32) as usize;
        let vals = self.vectors(count);
        self.isa(op, &run_of(&vals), uses, Extra::None);
        let words: super::Dwords = vals.iter().map(|v| OperandValue::Val(*v)).collect();
        self.set(result, &words);
        Ok(())
    }

    /// A 64-bit value in vector registers: operations differ in how they read 64-bit literals and scalars.
    fn double_operand(&mut self, v: Value) -> Result<Operands> {
        let words = self.words(v)?;
        if let [OperandValue::Const(0), OperandValue::Const(high)] = words[..]
            && is_inline(high)
        {
            return Ok([Operand::constant(high)].into_iter().collect());
        }
        Ok(self.vector_run(&words))
    }

    fn subtract_double(&mut self, args: &[Value], result: Value) -> Result<()> {
        let mut uses = self.double_operand(args[0])?;
        uses.extend(self.double_operand(args[1])?);
        let vals = self.vectors(2);
        let neg = dovetail_isa::instruction::Modifiers { neg: 2, ..super::PLAIN };
        self.isa(Op::VAddF64, &run_of(&vals), &uses, Extra::Vector(neg));
        self.set(result, &[OperandValue::Val(vals[0]), OperandValue::Val(vals[1])]);
        Ok(())
    }

    /// Operations on the sign bit only.
    fn sign(&mut self, op: AluOp, args: &[Value], result: Value) -> Result<()> {
        let bits = self.shader.ty(result).bits();
        let top = match bits {
            Bits::B16 => 0x8000,
            _ => 0x8000_0000u32,
        };
        let mut words = self.words(args[0])?;
        let last = words.len() - 1;
        let high = words[last];
        let made = match op {
            AluOp::FNeg => self.integer_of(AluOp::IXor, &[OperandValue::Const(top), high])?,
            AluOp::FAbs => self.integer_of(AluOp::IAnd, &[OperandValue::Const(top - 1), high])?,
            _ => {
                let other = *self.words(args[1])?.last().ok_or_else(|| Error::bug("native: no sign"))?;
                OperandValue::Val(self.v(Op::VBfiB32, &[OperandValue::Const(top - 1), high, other]))
            }
        };
        words[last] = made;
        self.set(result, &words);
        Ok(())
    }

    fn ldexp(&mut self, args: &[Value], result: Value) -> Result<()> {
        let bits = self.shader.ty(result).bits();
        match bits {
            Bits::B64 => self.double(Op::VLdexpF64, args, result),
            Bits::B32 => {
                let words = self.only_words(args)?;
                let val = self.v(Op::VLdexpF32, &words);
                self.set_val(result, val);
                Ok(())
            }
            _ => {
                // The exponent operand has 16 bits.
                let words = self.only_words(args)?;
                let exponent = self
                    .v(Op::VMed3I32, &[words[1], OperandValue::Const(-0x8000i32 as u32), OperandValue::Const(0x7fff)]);
                let val = self.v(Op::VLdexpF16, &[words[0], OperandValue::Val(exponent)]);
                self.set_val(result, val);
                Ok(())
            }
        }
    }

    /// Conversions between floats and integers, and between widths of floats.
    fn convert(&mut self, op: AluOp, v: Value, result: Value) -> Result<()> {
        use AluOp as A;
        use Bits::{B8, B16, B32, B64};
        let (from, to) = (self.shader.ty(v).bits(), self.shader.ty(result).bits());
        let one = |this: &mut Self, op: Op, word: OperandValue| OperandValue::Val(this.v(op, &[word]));
        let made = match (op, from, to) {
            (A::FConv, a, b) if a == b => {
                let words = self.words(v)?;
                self.set(result, &words);
                return Ok(());
            }
            (A::FConv, B16, B32) => one(self, Op::VCvtF32F16, self.word(v)?),
            (A::FConv, B32, B16) => one(self, Op::VCvtF16F32, self.word(v)?),
            (A::FConv, B64, B32) => return self.double(Op::VCvtF32F64, &[v], result),
            (A::FConv, B32, B64) => return self.double(Op::VCvtF64F32, &[v], result),
            (A::FConv, B16, B64) => {
                let single = one(self, Op::VCvtF32F16, self.word(v)?);
                return self.double_of(Op::VCvtF64F32, &[Operand::one(single)], result);
            }
            (A::F2S, B32, B8 | B16 | B32) => one(self, Op::VCvtI32F32, self.word(v)?),
            (A::F2U, B32, B8 | B16 | B32) => one(self, Op::VCvtU32F32, self.word(v)?),
            (A::F2S | A::F2U, B16, B8 | B16 | B32) => {
                let single = one(self, Op::VCvtF32F16, self.word(v)?);
                one(self, if op == A::F2S { Op::VCvtI32F32 } else { Op::VCvtU32F32 }, single)
            }
            (A::F2S | A::F2U, B64, B8 | B16 | B32) => {
                let op = if op == A::F2S { Op::VCvtI32F64 } else { Op::VCvtU32F64 };
                return self.double(op, &[v], result);
            }
            (A::S2F | A::U2F, B8 | B16 | B32, _) => {
                let signed = op == A::S2F;
                let word = match from {
                    B32 => self.word(v)?,
                    _ => self.extended(v, signed)?,
                };
                match to {
                    B64 => {
                        let op = if signed { Op::VCvtF64I32 } else { Op::VCvtF64U32 };
                        return self.double_of(op, &[Operand::one(word)], result);
                    }
                    B32 => one(self, if signed { Op::VCvtF32I32 } else { Op::VCvtF32U32 }, word),
                    _ if from != B32 => one(self, if signed { Op::VCvtF16I16 } else { Op::VCvtF16U16 }, word),
                    _ => {
                        // Exact, or beyond the largest f16.
                        let single = one(self, if signed { Op::VCvtF32I32 } else { Op::VCvtF32U32 }, word);
                        one(self, Op::VCvtF16F32, single)
                    }
                }
            }
            _ => {
                let (from, to) = (from.count(), to.count());
                return Err(Error::unsupported(format!("native: {} from {from} to {to} bits", op.name()), ""));
            }
        };
        self.set(result, &[made]);
        Ok(())
    }
}

/// Whether the double with this high half, and a low half of 0, is an inline constant.
fn is_inline(high: u32) -> bool {
    let value = f64::from_bits(u64::from(high) << 32);
    high == 0 || [0.5, 1.0, 2.0, 4.0].contains(&value.abs())
}

//! Arithmetic: the common part, conversions and comparisons. `alu_int` and `alu_float` have the rest.
//!
//! LLVM's poison (shifts past the width, conversions out of range) is stronger than "any value", and could change the
//! rest of the shader. So shift amounts are masked, and conversions are frozen.

use super::values::{Cx, Llvm};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, FpFlags, Inst, Type, Value};
use inkwell::values::{FastMathFlags, FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use std::cmp::Ordering;

impl<'c> Cx<'_, 'c> {
    /// Translates one arithmetic instruction.
    pub fn alu(&self, op: AluOp, flags: FpFlags, inst: &Inst, ty: Type) -> Result<Llvm<'c>> {
        use AluOp as A;
        let args = &inst.args[..];
        if args.len() != op.arity() {
            return Err(Error::bug(format!("{} operands for {}", args.len(), op.name())));
        }
        if let Some(predicate) = int_predicate(op) {
            let (a, b) = (self.i(args[0])?, self.i(args[1])?);
            return Ok(self.b.build_int_compare(predicate, a, b, "").built()?.into());
        }
        if let Some(predicate) = float_predicate(op) {
            let (a, b) = (self.f(args[0])?, self.f(args[1])?);
            return Ok(self.b.build_float_compare(predicate, a, b, "").built()?.into());
        }
        match op {
            A::Select => self.select(args),
            A::ZExt | A::SExt | A::Trunc => self.int_convert(op, self.i(args[0])?, ty),
            A::F2S | A::F2U | A::S2F | A::U2F | A::FConv => self.float_convert(op, args[0], ty),
            _ if op.takes_float() => self.float_op(op, flags, args),
            _ => self.int_op(op, args),
        }
    }

    /// Both sides as the same kind: floats if either is held as a float.
    fn select(&self, args: &[Value]) -> Result<Llvm<'c>> {
        let cond = self.i(args[0])?;
        let (a, b) = if self.is_float(args[1])? || self.is_float(args[2])? {
            (self.float(args[1])?, self.float(args[2])?)
        } else {
            (self.int(args[1])?, self.int(args[2])?)
        };
        self.b.build_select(cond, a, b, "").built()
    }

    fn int_convert(&self, op: AluOp, v: IntValue<'c>, ty: Type) -> Result<Llvm<'c>> {
        let (from, to) = (v.get_type().get_bit_width(), ty.bits().count());
        let target = self.int_bits(to)?;
        Ok(match op {
            _ if from == to => v.into(),
            AluOp::SExt if from < to => self.b.build_int_s_extend(v, target, "").built()?.into(),
            _ if from < to => self.b.build_int_z_extend(v, target, "").built()?.into(),
            _ => self.b.build_int_truncate(v, target, "").built()?.into(),
        })
    }

    fn float_convert(&self, op: AluOp, v: Value, ty: Type) -> Result<Llvm<'c>> {
        use AluOp as A;
        let b = self.b;
        match op {
            A::F2S | A::F2U => {
                let (x, target) = (self.f(v)?, self.int_bits(ty.bits().count())?);
                let n = if op == A::F2S {
                    b.build_float_to_signed_int(x, target, "").built()?
                } else {
                    b.build_float_to_unsigned_int(x, target, "").built()?
                };
                self.freeze(n.into())
            }
            A::S2F => Ok(b.build_signed_int_to_float(self.i(v)?, self.float_bits(ty.bits())?, "").built()?.into()),
            A::U2F => Ok(b.build_unsigned_int_to_float(self.i(v)?, self.float_bits(ty.bits())?, "").built()?.into()),
            _ => self.float_resize(self.f(v)?, ty.bits()),
        }
    }

    fn float_resize(&self, x: FloatValue<'c>, to: Bits) -> Result<Llvm<'c>> {
        let (from, target) = (x.get_type(), self.float_bits(to)?);
        Ok(match from.get_bit_width().cmp(&to.count()) {
            Ordering::Equal => x.into(),
            Ordering::Less => self.b.build_float_ext(x, target, "").built()?.into(),
            Ordering::Greater => self.b.build_float_trunc(x, target, "").built()?.into(),
        })
    }

    /// Sets fast-math flags on an instruction; a folded constant cannot have any.
    ///
    /// `NOT_NAN` and `NOT_INF` are not passed on: with them LLVM treats a NaN as poison, while SPIR-V only makes the
    /// value undefined.
    pub fn with_flags(&self, v: FloatValue<'c>, flags: FpFlags) -> Result<FloatValue<'c>> {
        let mut set = FastMathFlags::empty();
        for (flag, llvm) in [
            (FpFlags::NO_SIGNED_ZERO, FastMathFlags::NoSignedZeros),
            (FpFlags::ALLOW_RECIPROCAL, FastMathFlags::AllowReciprocal),
            (FpFlags::REASSOC, FastMathFlags::AllowReassoc),
        ] {
            set.set(llvm, flags.has(flag));
        }
        set.set(FastMathFlags::AllowContract, !flags.has(FpFlags::NO_CONTRACT));
        if let Some(inst) = v.as_instruction().filter(|i| i.can_use_fast_math_flags()) {
            inst.set_fast_math_flags(set).map_err(|e| Error::bug(format!("fast-math flags: {e}")))?;
        }
        Ok(v)
    }
}

fn int_predicate(op: AluOp) -> Option<IntPredicate> {
    use AluOp as A;
    use IntPredicate as P;
    Some(match op {
        A::IEq => P::EQ,
        A::INe => P::NE,
        A::ULt => P::ULT,
        A::ULe => P::ULE,
        A::UGt => P::UGT,
        A::UGe => P::UGE,
        A::SLt => P::SLT,
        A::SLe => P::SLE,
        A::SGt => P::SGT,
        A::SGe => P::SGE,
        _ => return None,
    })
}

fn float_predicate(op: AluOp) -> Option<FloatPredicate> {
    use AluOp as A;
    use FloatPredicate as P;
    Some(match op {
        A::FOEq => P::OEQ,
        A::FONe => P::ONE,
        A::FOLt => P::OLT,
        A::FOLe => P::OLE,
        A::FOGt => P::OGT,
        A::FOGe => P::OGE,
        A::FUEq => P::UEQ,
        A::FUNe => P::UNE,
        A::FULt => P::ULT,
        A::FULe => P::ULE,
        A::FUGt => P::UGT,
        A::FUGe => P::UGE,
        A::FOrd => P::ORD,
        A::FUno => P::UNO,
        _ => return None,
    })
}

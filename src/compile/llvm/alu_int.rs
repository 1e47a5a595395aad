//! Integer arithmetic and comparisons as LLVM instructions.

use super::values::{Cx, Llvm, as_int};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Value};
use inkwell::IntPredicate;
use inkwell::values::IntValue;

impl<'c> Cx<'_, 'c> {
    /// Translates an integer operation on scalars.
    pub fn int_op(&self, op: AluOp, args: &[Value]) -> Result<Llvm<'c>> {
        use AluOp as A;
        let b = self.b;
        let x = self.i(args[0])?;
        let ty = x.get_type();
        let width = ty.get_bit_width();
        // The second operand, if there is one; the table has the arity, so a unary operation does not use it.
        let y = match args.get(1) {
            Some(&y) => self.i(y)?,
            None => ty.const_zero(),
        };
        let amount =
            || -> Result<IntValue<'c>> { b.build_and(y, ty.const_int(u64::from(width - 1), false), "").built() };
        Ok(match op {
            A::IAdd => b.build_int_add(x, y, "").built()?.into(),
            A::ISub => b.build_int_sub(x, y, "").built()?.into(),
            A::IMul => b.build_int_mul(x, y, "").built()?.into(),
            A::UMulHigh => self.mul_high(x, y, false)?,
            A::SMulHigh => self.mul_high(x, y, true)?,
            A::INeg => b.build_int_sub(ty.const_zero(), x, "").built()?.into(),
            A::IAbs => self.call("llvm.abs", &[ty.into()], &[x.into(), self.cbool(false).into()])?,
            A::IAnd => b.build_and(x, y, "").built()?.into(),
            A::IOr => b.build_or(x, y, "").built()?.into(),
            A::IXor => b.build_xor(x, y, "").built()?.into(),
            A::INot => b.build_not(x, "").built()?.into(),
            A::Shl => b.build_left_shift(x, amount()?, "").built()?.into(),
            A::LShr => b.build_right_shift(x, amount()?, false, "").built()?.into(),
            A::AShr => b.build_right_shift(x, amount()?, true, "").built()?.into(),
            A::UMin => self.call_same("llvm.umin", &[x.into(), y.into()])?,
            A::UMax => self.call_same("llvm.umax", &[x.into(), y.into()])?,
            A::SMin => self.call_same("llvm.smin", &[x.into(), y.into()])?,
            A::SMax => self.call_same("llvm.smax", &[x.into(), y.into()])?,
            A::UAddSat => self.call_same("llvm.uadd.sat", &[x.into(), y.into()])?,
            A::SAddSat => self.call_same("llvm.sadd.sat", &[x.into(), y.into()])?,
            A::USubSat => self.call_same("llvm.usub.sat", &[x.into(), y.into()])?,
            A::SSubSat => self.call_same("llvm.ssub.sat", &[x.into(), y.into()])?,
            A::UAddCarry => self.carry("llvm.uadd.with.overflow", x, y)?,
            A::USubBorrow => self.carry("llvm.usub.with.overflow", x, y)?,
            A::BitCount => self.to_b32(as_int(self.call_same("llvm.ctpop", &[x.into()])?)?)?.into(),
            A::BitReverse => self.call_same("llvm.bitreverse", &[x.into()])?,
            A::FindILsb => {
                let n = as_int(self.call("llvm.cttz", &[ty.into()], &[x.into(), self.cbool(true).into()])?)?;
                self.found(x, n)?
            }
            A::FindUMsb => self.find_msb(x)?,
            A::UBitExtract | A::SBitExtract => {
                let name = if op == A::SBitExtract { "llvm.amdgcn.sbfe" } else { "llvm.amdgcn.ubfe" };
                let count = self.i(Self::arg(args, 2)?)?;
                self.call(name, &[ty.into()], &[x.into(), y.into(), count.into()])?
            }
            A::SDot4 | A::SDot4Sat | A::UDot4 | A::UDot4Sat => {
                let name = if matches!(op, A::SDot4 | A::SDot4Sat) { "llvm.amdgcn.sdot4" } else { "llvm.amdgcn.udot4" };
                let clamp = self.cbool(matches!(op, A::SDot4Sat | A::UDot4Sat));
                let acc = self.i(Self::arg(args, 2)?)?;
                self.call(name, &[], &[x.into(), y.into(), acc.into(), clamp.into()])?
            }
            _ => return Err(Error::bug(format!("{} is no integer operation", op.name()))),
        })
    }

    fn mul_high(&self, x: IntValue<'c>, y: IntValue<'c>, signed: bool) -> Result<Llvm<'c>> {
        let b = self.b;
        let width = x.get_type().get_bit_width();
        let wide = self.int_bits(2 * width)?;
        let extend = |v| if signed { b.build_int_s_extend(v, wide, "") } else { b.build_int_z_extend(v, wide, "") };
        let product = b.build_int_mul(extend(x).built()?, extend(y).built()?, "").built()?;
        let high = b.build_right_shift(product, wide.const_int(u64::from(width), false), false, "").built()?;
        Ok(b.build_int_truncate(high, x.get_type(), "").built()?.into())
    }

    fn carry(&self, name: &str, x: IntValue<'c>, y: IntValue<'c>) -> Result<Llvm<'c>> {
        let pair = self.call_same(name, &[x.into(), y.into()])?;
        self.b.build_extract_value(pair.into_struct_value(), 1, "").built()
    }

    /// A small number of any width as 32 bits.
    fn to_b32(&self, n: IntValue<'c>) -> Result<IntValue<'c>> {
        self.narrow(self.widen(n)?, 32)
    }

    /// `n` as 32 bits, or -1 if `x` has no set bits.
    fn found(&self, x: IntValue<'c>, n: IntValue<'c>) -> Result<Llvm<'c>> {
        let none = self.b.build_int_compare(IntPredicate::EQ, x, x.get_type().const_zero(), "").built()?;
        self.b.build_select(none, self.i32_type().const_all_ones(), self.to_b32(n)?, "").built()
    }

    fn find_msb(&self, x: IntValue<'c>) -> Result<Llvm<'c>> {
        let ty = x.get_type();
        let zeros = as_int(self.call("llvm.ctlz", &[ty.into()], &[x.into(), self.cbool(true).into()])?)?;
        let top = ty.const_int(u64::from(ty.get_bit_width() - 1), false);
        self.found(x, self.b.build_int_sub(top, zeros, "").built()?)
    }
}

//! Float arithmetic.
//!
//! Reciprocals and roots are the hardware's instructions, which the passes have already surrounded with the rest.
//! Without `NoContraction`, products and sums are marked `contract`; nothing fuses unless both are.

use super::values::{Cx, Llvm, as_vector};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Bits, FpFlags, Value};
use inkwell::values::FloatValue;

impl<'c> Cx<'_, 'c> {
    /// Translates a float operation on scalars.
    pub fn float_op(&self, op: AluOp, flags: FpFlags, args: &[Value]) -> Result<Llvm<'c>> {
        use AluOp as A;
        let b = self.b;
        let bits = self.shader.ty(args[0]).bits();
        let x = self.f(args[0])?;
        let ty = x.get_type();
        if op == A::FLdexp {
            let n = self.i(Self::arg(args, 1)?)?;
            return self.call("llvm.ldexp", &[ty.into(), self.i32_type().into()], &[x.into(), n.into()]);
        }
        // A unary operation does not use it.
        let y = match args.get(1) {
            Some(&y) => self.f(y)?,
            None => ty.const_zero(),
        };
        let unary = |name: &str| self.call_same(name, &[x.into()]);
        Ok(match op {
            A::FAdd => self.with_flags(b.build_float_add(x, y, "").built()?, flags)?.into(),
            A::FSub => self.with_flags(b.build_float_sub(x, y, "").built()?, flags)?.into(),
            A::FMul => self.with_flags(b.build_float_mul(x, y, "").built()?, flags)?.into(),
            A::FFma => self.call_same("llvm.fma", &[x.into(), y.into(), self.f(Self::arg(args, 2)?)?.into()])?,
            A::FNeg => b.build_float_neg(x, "").built()?.into(),
            A::FAbs => unary("llvm.fabs")?,
            A::FCopySign => self.call_same("llvm.copysign", &[x.into(), y.into()])?,
            A::FFloor => unary("llvm.floor")?,
            A::FCeil => unary("llvm.ceil")?,
            A::FTrunc => unary("llvm.trunc")?,
            A::FRoundEven => unary("llvm.rint")?,
            A::FFract => unary("llvm.amdgcn.fract")?,
            A::FMin => self.call_same("llvm.minnum", &[x.into(), y.into()])?,
            A::FMax => self.call_same("llvm.maxnum", &[x.into(), y.into()])?,
            A::FSqrt => unary("llvm.amdgcn.sqrt")?,
            A::FRsq | A::FRsqSeed => unary("llvm.amdgcn.rsq")?,
            A::FRcp | A::FRcpSeed => unary("llvm.amdgcn.rcp")?,
            A::FExp2 => unary("llvm.exp2")?,
            A::FLog2 => unary("llvm.log2")?,
            A::FMulZero => self.call("llvm.amdgcn.fmul.legacy", &[], &[x.into(), y.into()])?,
            A::FSinTurn => unary("llvm.amdgcn.sin")?,
            A::FCosTurn => unary("llvm.amdgcn.cos")?,
            A::FFrexpMant => unary("llvm.amdgcn.frexp.mant")?,
            A::FFrexpExp => self.exponent(x, bits)?,
            A::PackNorm16 => self.pack("llvm.amdgcn.cvt.pknorm.u16", x, y)?,
            A::PackSnorm16 => self.pack("llvm.amdgcn.cvt.pknorm.i16", x, y)?,
            A::PackHalfRtz => self.pack("llvm.amdgcn.cvt.pkrtz", x, y)?,
            _ => return Err(Error::bug(format!("{} is no float operation", op.name()))),
        })
    }

    fn exponent(&self, x: FloatValue<'c>, bits: Bits) -> Result<Llvm<'c>> {
        let int = if bits == Bits::B16 { self.ctx.i16_type() } else { self.i32_type() };
        let n = self.call("llvm.amdgcn.frexp.exp", &[int.into(), x.get_type().into()], &[x.into()])?;
        let n = super::values::as_int(n)?;
        if bits == Bits::B16 {
            Ok(self.b.build_int_s_extend(n, self.i32_type(), "").built()?.into())
        } else {
            Ok(n.into())
        }
    }

    fn pack(&self, name: &str, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<Llvm<'c>> {
        let pair = as_vector(self.call(name, &[], &[x.into(), y.into()])?)?;
        self.cast(pair.into(), self.i32_type().into())
    }
}

//! Float arithmetic, as precise as Vulkan asks and no more.
//!
//! Divisions and roots of 32 bits carry `!fpmath 2.5`, which gives the hardware's own approximation where denormals are
//! flushed. Without `NoContraction` products and sums are marked `contract`, both of them, or nothing fuses.

use super::values::{Cx, Llvm, as_float, as_vector};
use crate::error::{Error, Result};
use crate::ir::{AluOp, Bits, FpFlags, Value};
use inkwell::FloatPredicate;
use inkwell::values::FloatValue;

/// 1 / (2 pi): the hardware's sine takes revolutions.
const INV_TAU: f64 = 0.159_154_943_091_895_35;
/// Smallest normal half.
const HALF_MIN: f64 = 6.103_515_625e-5;

impl<'c> Cx<'_, 'c> {
    /// A float operation on scalars.
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
        // As for integers: a unary operation does not look at it.
        let y = match args.get(1) {
            Some(&y) => self.f(y)?,
            None => ty.const_zero(),
        };
        let unary = |name: &str| self.call_same(name, &[x.into()]);
        Ok(match op {
            A::FAdd => self.with_flags(b.build_float_add(x, y, "")?, flags)?.into(),
            A::FSub => self.with_flags(b.build_float_sub(x, y, "")?, flags)?.into(),
            A::FMul => self.with_flags(b.build_float_mul(x, y, "")?, flags)?.into(),
            A::FDiv => self.divide(x, y, flags)?.into(),
            A::FRem => self.remainder("llvm.trunc", x, y, flags)?,
            A::FMod => self.remainder("llvm.floor", x, y, flags)?,
            A::FFma => self.call_same("llvm.fma", &[x.into(), y.into(), self.f(Self::arg(args, 2)?)?.into()])?,
            A::FNeg => b.build_float_neg(x, "")?.into(),
            A::FAbs => unary("llvm.fabs")?,
            A::FSign => self.sign(x)?,
            A::FCopySign => self.call_same("llvm.copysign", &[x.into(), y.into()])?,
            A::FFloor => unary("llvm.floor")?,
            A::FCeil => unary("llvm.ceil")?,
            A::FTrunc => unary("llvm.trunc")?,
            A::FRoundEven => unary("llvm.rint")?,
            A::FFract => unary("llvm.amdgcn.fract")?,
            A::FMin => self.call_same("llvm.minnum", &[x.into(), y.into()])?,
            A::FMax => self.call_same("llvm.maxnum", &[x.into(), y.into()])?,
            A::FSqrt => self.sqrt(x)?.into(),
            A::FRsq if bits == Bits::B16 => unary("llvm.amdgcn.rsq")?,
            A::FRsq => {
                let root = self.with_flags(self.sqrt(x)?, FpFlags::NONE)?;
                self.divide(ty.const_float(1.0), root, FpFlags::NONE)?.into()
            }
            // The instruction of 64 bits is an estimate only.
            A::FRcp if bits == Bits::B64 => self.divide(ty.const_float(1.0), x, flags)?.into(),
            A::FRcp => unary("llvm.amdgcn.rcp")?,
            A::FExp2 => self.no_double(op, bits, || unary("llvm.exp2"))?,
            A::FLog2 => self.no_double(op, bits, || unary("llvm.log2"))?,
            A::FPow => self.no_double(op, bits, || self.power(x, y))?,
            A::FSin => self.no_double(op, bits, || self.turn("sin", x, bits))?,
            A::FCos => self.no_double(op, bits, || self.turn("cos", x, bits))?,
            A::FFrexpMant => unary("llvm.amdgcn.frexp.mant")?,
            A::FFrexpExp => self.exponent(x, bits)?,
            A::FQuantize16 => self.no_double(op, bits, || self.quantize(x, bits))?,
            A::FIsNan => b.build_float_compare(FloatPredicate::UNO, x, x, "")?.into(),
            A::FIsInf => {
                let infinity = self.f_infinity(bits)?;
                b.build_float_compare(FloatPredicate::OEQ, as_float(unary("llvm.fabs")?)?, infinity, "")?.into()
            }
            A::PackNorm16 => self.pack("llvm.amdgcn.cvt.pknorm.u16", x, y)?,
            A::PackSnorm16 => self.pack("llvm.amdgcn.cvt.pknorm.i16", x, y)?,
            A::PackHalfRtz => self.pack("llvm.amdgcn.cvt.pkrtz", x, y)?,
            _ => return Err(Error::bug(format!("{} is no float operation", op.name()))),
        })
    }

    /// Vulkan does not ask for these in 64 bits, the hardware does not have them, and LLVM would end the process.
    fn no_double(&self, op: AluOp, bits: Bits, f: impl FnOnce() -> Result<Llvm<'c>>) -> Result<Llvm<'c>> {
        if bits == Bits::B64 { Err(Error::unsupported(format!("{} of 64 bits", op.name()), "")) } else { f() }
    }

    /// Allows an error of 2.5 ulp in 32 bits.
    fn imprecise(&self, v: FloatValue<'c>) -> Result<FloatValue<'c>> {
        if v.get_type() == self.f32_type()
            && let Some(inst) = v.as_instruction()
        {
            let node = self.ctx.metadata_node(&[self.f32_type().const_float(2.5).into()]);
            inst.set_metadata(node, self.ctx.get_kind_id("fpmath")).map_err(|e| Error::bug(format!("fpmath: {e}")))?;
        }
        Ok(v)
    }

    fn divide(&self, x: FloatValue<'c>, y: FloatValue<'c>, flags: FpFlags) -> Result<FloatValue<'c>> {
        self.imprecise(self.with_flags(self.b.build_float_div(x, y, "")?, flags)?)
    }

    fn sqrt(&self, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        self.imprecise(as_float(self.call_same("llvm.sqrt", &[x.into()])?)?)
    }

    /// `x - y * round(x / y)`.
    fn remainder(&self, round: &str, x: FloatValue<'c>, y: FloatValue<'c>, flags: FpFlags) -> Result<Llvm<'c>> {
        let quotient = self.divide(x, y, flags)?;
        let whole = as_float(self.call_same(round, &[quotient.into()])?)?;
        let minus = self.b.build_float_neg(whole, "")?;
        self.call_same("llvm.fma", &[minus.into(), y.into(), x.into()])
    }

    fn sign(&self, x: FloatValue<'c>) -> Result<Llvm<'c>> {
        let (b, ty) = (self.b, x.get_type());
        let positive = b.build_float_compare(FloatPredicate::OGT, x, ty.const_zero(), "")?;
        let negative = b.build_float_compare(FloatPredicate::OLT, x, ty.const_zero(), "")?;
        let rest = b.build_select(negative, ty.const_float(-1.0), x, "")?.into_float_value();
        Ok(b.build_select(positive, ty.const_float(1.0), rest, "")?)
    }

    /// `exp2(y * log2(x))`, with 0 * anything = 0, so that `pow(0, 0)` and `pow(inf, 0)` are 1.
    fn power(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<Llvm<'c>> {
        let (b, single, ty) = (self.b, self.f32_type(), x.get_type());
        let half = ty != single;
        let (x, y) = if half { (b.build_float_ext(x, single, "")?, b.build_float_ext(y, single, "")?) } else { (x, y) };
        let log = self.call_same("llvm.log2", &[x.into()])?;
        let product = self.call("llvm.amdgcn.fmul.legacy", &[], &[log, y.into()])?;
        let power = self.call_same("llvm.exp2", &[product])?;
        if half { Ok(b.build_float_trunc(as_float(power)?, ty, "")?.into()) } else { Ok(power) }
    }

    /// Sine or cosine. The instruction wants its argument in revolutions and near zero.
    fn turn(&self, name: &str, x: FloatValue<'c>, bits: Bits) -> Result<Llvm<'c>> {
        if bits == Bits::B16 {
            return self.call_same(&format!("llvm.{name}"), &[x.into()]);
        }
        let revolutions = self.b.build_float_mul(x, x.get_type().const_float(INV_TAU), "")?;
        let fraction = self.call_same("llvm.amdgcn.fract", &[revolutions.into()])?;
        self.call_same(&format!("llvm.amdgcn.{name}"), &[fraction])
    }

    fn exponent(&self, x: FloatValue<'c>, bits: Bits) -> Result<Llvm<'c>> {
        let int = if bits == Bits::B16 { self.ctx.i16_type() } else { self.i32_type() };
        let n = self.call("llvm.amdgcn.frexp.exp", &[int.into(), x.get_type().into()], &[x.into()])?;
        let n = super::values::as_int(n)?;
        if bits == Bits::B16 { Ok(self.b.build_int_s_extend(n, self.i32_type(), "")?.into()) } else { Ok(n.into()) }
    }

    fn quantize(&self, x: FloatValue<'c>, bits: Bits) -> Result<Llvm<'c>> {
        let (b, ty) = (self.b, x.get_type());
        let rounded = if bits == Bits::B16 {
            x
        } else {
            b.build_float_ext(b.build_float_trunc(x, self.ctx.f16_type(), "")?, ty, "")?
        };
        let magnitude = as_float(self.call_same("llvm.fabs", &[rounded.into()])?)?;
        let small = b.build_float_compare(FloatPredicate::OLT, magnitude, ty.const_float(HALF_MIN), "")?;
        let zero = self.call_same("llvm.copysign", &[ty.const_zero().into(), rounded.into()])?;
        Ok(b.build_select(small, zero, rounded.into(), "")?)
    }

    fn f_infinity(&self, bits: Bits) -> Result<FloatValue<'c>> {
        Ok(self.float_bits(bits)?.const_float(f64::INFINITY))
    }

    fn pack(&self, name: &str, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<Llvm<'c>> {
        let pair = as_vector(self.call(name, &[], &[x.into(), y.into()])?)?;
        self.cast(pair.into(), self.i32_type().into())
    }
}

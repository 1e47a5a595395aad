//! Expands arithmetic for which the hardware needs several instructions.
//!
//! | operation | bits | becomes |
//! | --- | --- | --- |
//! | `smod` | any | the remainder, plus the divisor if the signs differ |
//! | `umul_high`, `smul_high` | 8, 16 | the upper half of a product of twice the width |
//! | likewise | 64 | products of 32-bit halves, and their carries |
//! | `ubit_extract`, `sbit_extract` | 32 | the instruction, which supports all counts but 32 |
//! | likewise | others | shifts and masks |
//! | `find_smsb` | any | `find_umsb` of the bits that differ from the sign |
//! | `frem`, `fmod` | any | `x - y * whole(x / y)`, fused |
//! | `fsign`, `fis_nan`, `fis_inf` | any | comparisons |
//! | `frcp`, `frsq` | 64 | divisions: the instructions are estimates only |
//! | `fpow` | 16, 32 | `exp2(y * log2(x))` in 32 bits, with 0 * anything = 0: `pow(0, 0)` and `pow(inf, 0)` are 1 |
//! | `fsin`, `fcos` | 16, 32 | those of revolutions, which the instruction needs near zero |
//! | `fquantize16` | 16, 32 | to f16 and back, denormals to zero |
//! | `fconv_rtz` | any | the packing instruction; from 64 bits to nearest, then one step back if needed |
//! | these, `fexp2`, `flog2` | 64 | refused: Vulkan does not require them, and the hardware lacks them |
//!
//! Division and square roots stay: a code generator expands them by what it knows of the operands and by the modes.

use crate::error::{Error, Result};
use crate::ir::rewrite::{Rewrite, rewrite};
use crate::ir::{AluOp, Bits, Builder, FpFlags, Inst, Op, Shader, Type, Value};
use crate::target::WaveSize;

/// 1 / (2 pi).
const INV_TAU: f64 = 0.159_154_943_091_895_35;
/// Smallest normal f16.
const HALF_MIN: f64 = 6.103_515_625e-5;

/// Expands the operations.
///
/// # Errors
/// Unsupported: functions of 64-bit floats.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    rewrite(shader, |b, inst| {
        let Op::Alu(op, flags) = inst.op else { return Ok(Rewrite::Keep) };
        b.fp = flags;
        let made = steps(b, op, inst);
        b.fp = FpFlags::NONE;
        Ok(made?.map_or(Rewrite::Keep, Rewrite::Value))
    })
}

/// The expansion of an operation; `None` if it stays. The builder has its flags.
fn steps(b: &mut Builder<'_>, op: AluOp, inst: &Inst) -> Result<Option<Value>> {
    use AluOp as A;
    let (Some(&x), Some(result)) = (inst.args.first(), inst.result) else {
        return Err(Error::bug("arithmetic on nothing, or for nothing"));
    };
    let arg = |n: usize| inst.args.get(n).copied().ok_or_else(|| Error::bug(format!("operand {n} is missing")));
    let (ty, to) = (b.ty(x), b.ty(result));
    let bits = ty.bits();
    Ok(Some(match op {
        A::FExp2 | A::FLog2 | A::FPow | A::FSin | A::FCos | A::FSinTurn | A::FCosTurn | A::FQuantize16
            if bits == Bits::B64 =>
        {
            return Err(Error::unsupported(format!("{} of 64 bits", op.name()), ""));
        }
        A::SMod => modulo(b, x, arg(1)?),
        A::UMulHigh | A::SMulHigh if bits == Bits::B64 => high_of_64(b, op == A::SMulHigh, x, arg(1)?),
        A::UMulHigh if bits != Bits::B32 => high_by_widening(b, A::ZExt, x, arg(1)?),
        A::SMulHigh if bits != Bits::B32 => high_by_widening(b, A::SExt, x, arg(1)?),
        A::UBitExtract | A::SBitExtract => return field(b, op, [x, arg(1)?, arg(2)?]),
        A::FindSMsb => {
            let top = b.iconst(ty, u64::from(bits.count() - 1));
            let sign = b.alu(A::AShr, &[x, top]);
            let differing = b.alu(A::IXor, &[x, sign]);
            b.alu(A::FindUMsb, &[differing])
        }
        A::FRem => remainder(b, A::FTrunc, x, arg(1)?),
        A::FMod => remainder(b, A::FFloor, x, arg(1)?),
        A::FSign => sign(b, x),
        A::FIsNan => b.alu(A::FUno, &[x, x]),
        A::FIsInf => {
            let (magnitude, infinity) = (b.alu(A::FAbs, &[x]), b.fconst(ty, f64::INFINITY));
            b.alu(A::FOEq, &[magnitude, infinity])
        }
        A::FRcp if bits == Bits::B64 => {
            let one = b.fconst(ty, 1.0);
            b.alu(A::FDiv, &[one, x])
        }
        A::FRsq if bits == Bits::B64 => {
            b.fp = FpFlags::NONE;
            let (one, root) = (b.fconst(ty, 1.0), b.alu(A::FSqrt, &[x]));
            b.alu(A::FDiv, &[one, root])
        }
        A::FPow => power(b, x, arg(1)?),
        A::FSin => turn(b, A::FSinTurn, x),
        A::FCos => turn(b, A::FCosTurn, x),
        A::FQuantize16 => quantize(b, x),
        A::FConvRtz => toward_zero(b, x, to),
        _ => return Ok(None),
    }))
}

/// The remainder with the divisor's sign.
fn modulo(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let zero = b.iconst(b.ty(x), 0);
    let rest = b.alu(AluOp::SRem, &[x, y]);
    let signs = b.alu(AluOp::IXor, &[rest, y]);
    let (differ, some) = (b.alu(AluOp::SLt, &[signs, zero]), b.alu(AluOp::INe, &[rest, zero]));
    let add = b.alu(AluOp::IAnd, &[differ, some]);
    let sum = b.alu(AluOp::IAdd, &[rest, y]);
    b.select(add, sum, rest)
}

fn high_by_widening(b: &mut Builder<'_>, extend: AluOp, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let wide = if ty == Type::B8 { Type::B16 } else { Type::B32 };
    let (x, y) = (b.convert(extend, x, wide), b.convert(extend, y, wide));
    let (product, width) = (b.alu(AluOp::IMul, &[x, y]), b.iconst(wide, u64::from(ty.bits().count())));
    let high = b.alu(AluOp::LShr, &[product, width]);
    b.convert(AluOp::Trunc, high, ty)
}

/// Schoolbook multiply of 32-bit halves. A negative factor is its bits - 2^64, so the other factor is subtracted.
fn high_of_64(b: &mut Builder<'_>, signed: bool, x: Value, y: Value) -> Value {
    let ty = Type::B64;
    let (half, low_half) = (b.iconst(ty, 32), b.iconst(ty, u64::from(u32::MAX)));
    let low = |b: &mut Builder<'_>, v| b.alu(AluOp::IAnd, &[v, low_half]);
    let high = |b: &mut Builder<'_>, v| b.alu(AluOp::LShr, &[v, half]);
    let [x0, y0] = [x, y].map(|v| low(b, v));
    let [x1, y1] = [x, y].map(|v| high(b, v));
    let [p00, p01, p10, p11] = [[x0, y0], [x0, y1], [x1, y0], [x1, y1]].map(|pair| b.alu(AluOp::IMul, &pair));
    // Neither sum can overflow: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
    let carry = high(b, p00);
    let middle = b.alu(AluOp::IAdd, &[p10, carry]);
    let rest = low(b, middle);
    let middle_high = high(b, middle);
    let other = b.alu(AluOp::IAdd, &[p01, rest]);
    let other_high = high(b, other);
    let sum = b.alu(AluOp::IAdd, &[p11, middle_high]);
    let mut result = b.alu(AluOp::IAdd, &[sum, other_high]);
    if signed {
        let zero = b.iconst(ty, 0);
        for (factor, other) in [(x, y), (y, x)] {
            let negative = b.alu(AluOp::SLt, &[factor, zero]);
            let off = b.select(negative, other, zero);
            result = b.alu(AluOp::ISub, &[result, off]);
        }
    }
    result
}

/// A field of `count` bits from `offset`; the whole value if `count` is its width.
fn field(b: &mut Builder<'_>, op: AluOp, [x, offset, count]: [Value; 3]) -> Result<Option<Value>> {
    let ty = b.ty(x);
    let width = ty.bits().count();
    let known_below = b.shader.as_const(count).is_some_and(|n| n < u64::from(width));
    if ty == Type::B32 && known_below {
        return Ok(None);
    }
    let whole = b.c32(width);
    let whole = b.alu(AluOp::UGe, &[count, whole]);
    if ty == Type::B32 {
        let part = b.alu(op, &[x, offset, count]);
        return Ok(Some(b.select(whole, x, part)));
    }
    let (one, below) = (b.iconst(ty, 1), b.iconst(ty, u64::from(width - 1)));
    let amount = |b: &mut Builder<'_>, n| {
        let n = b.zext_or_trunc(n, ty);
        b.alu(AluOp::IAnd, &[n, below])
    };
    let (offset, bits) = (amount(b, offset), amount(b, count));
    let low = b.alu(AluOp::LShr, &[x, offset]);
    let above = b.alu(AluOp::Shl, &[one, bits]);
    let mask = b.alu(AluOp::ISub, &[above, one]);
    let mut part = b.alu(AluOp::IAnd, &[low, mask]);
    if op == AluOp::SBitExtract {
        // Flipping the field's top bit and subtracting it again extends the sign. An empty field has no top bit.
        let rest = b.alu(AluOp::LShr, &[mask, one]);
        let top = b.alu(AluOp::IXor, &[mask, rest]);
        let flipped = b.alu(AluOp::IXor, &[part, top]);
        part = b.alu(AluOp::ISub, &[flipped, top]);
    }
    Ok(Some(b.select(whole, x, part)))
}

fn remainder(b: &mut Builder<'_>, round: AluOp, x: Value, y: Value) -> Value {
    let quotient = b.alu(AluOp::FDiv, &[x, y]);
    let whole = b.alu(round, &[quotient]);
    let minus = b.alu(AluOp::FNeg, &[whole]);
    b.alu(AluOp::FFma, &[minus, y, x])
}

fn sign(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let [zero, one, minus] = [0.0, 1.0, -1.0].map(|n| b.fconst(ty, n));
    let (positive, negative) = (b.alu(AluOp::FOGt, &[x, zero]), b.alu(AluOp::FOLt, &[x, zero]));
    let rest = b.select(negative, minus, x);
    b.select(positive, one, rest)
}

fn power(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let [x, y] = [x, y].map(|v| b.convert(AluOp::FConv, v, Type::B32));
    let log = b.alu(AluOp::FLog2, &[x]);
    let product = b.alu(AluOp::FMulZero, &[log, y]);
    let power = b.alu(AluOp::FExp2, &[product]);
    b.convert(AluOp::FConv, power, ty)
}

/// Sine or cosine. Vulkan only bounds results near zero; at 32 bits the fraction keeps those of larger numbers right.
fn turn(b: &mut Builder<'_>, of_revolutions: AluOp, x: Value) -> Value {
    let ty = b.ty(x);
    b.fp = FpFlags::NO_CONTRACT;
    let scale = b.fconst(ty, INV_TAU);
    let mut revolutions = b.alu(AluOp::FMul, &[x, scale]);
    if ty == Type::B32 {
        revolutions = b.alu(AluOp::FFract, &[revolutions]);
    }
    b.alu(of_revolutions, &[revolutions])
}

fn quantize(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let half = b.convert(AluOp::FConv, x, Type::B16);
    let rounded = b.convert(AluOp::FConv, half, ty);
    let (magnitude, least, zero) = (b.alu(AluOp::FAbs, &[rounded]), b.fconst(ty, HALF_MIN), b.fconst(ty, 0.0));
    let small = b.alu(AluOp::FOLt, &[magnitude, least]);
    let zero = b.alu(AluOp::FCopySign, &[zero, rounded]);
    b.select(small, zero, rounded)
}

/// A conversion to a narrower float, towards zero. Truncations can be chained.
fn toward_zero(b: &mut Builder<'_>, x: Value, to: Type) -> Value {
    let from = b.ty(x);
    if from.bits() <= to.bits() {
        return b.convert(AluOp::FConv, x, to);
    }
    let single = if from == Type::B64 { double_toward_zero(b, x) } else { x };
    if to == Type::B32 {
        return single;
    }
    let zero = b.c32(0);
    let pair = b.alu(AluOp::PackHalfRtz, &[single, zero]);
    b.convert(AluOp::Trunc, pair, to)
}

/// Decrementing the bits gives the next float towards zero.
fn double_toward_zero(b: &mut Builder<'_>, x: Value) -> Value {
    let near = b.convert(AluOp::FConv, x, Type::B32);
    let back = b.convert(AluOp::FConv, near, Type::B64);
    let (rounded, exact) = (b.alu(AluOp::FAbs, &[back]), b.alu(AluOp::FAbs, &[x]));
    let (over, one) = (b.alu(AluOp::FOGt, &[rounded, exact]), b.c32(1));
    let less = b.alu(AluOp::ISub, &[near, one]);
    b.select(over, less, near)
}

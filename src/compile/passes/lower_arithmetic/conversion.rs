//! Number conversions without an instruction: integers of 8 and 64 bits, and floats of 64 and 16 bits.

use super::wide;
use dovetail_ir::{AluOp, Builder, Type, Value};

const TWO_32: f64 = 4_294_967_296.0;

/// The expansion of a conversion; `None` if it stays.
pub(super) fn expand(b: &mut Builder<'_>, op: AluOp, x: Value, to: Type) -> Option<Value> {
    let from = b.ty(x);
    if op.has_instruction(from.bits(), to.bits()) {
        return None;
    }
    Some(match op {
        AluOp::S2F | AluOp::U2F => to_float(b, op == AluOp::S2F, x, to),
        AluOp::F2S | AluOp::F2U => to_integer(b, op, x, to),
        AluOp::FConv if to == Type::B64 => {
            let single = b.convert(AluOp::FConv, x, Type::B32);
            b.convert(AluOp::FConv, single, to)
        }
        AluOp::FConv => double_to_half(b, x),
        AluOp::FConvRtz => toward_zero(b, x, to),
        _ => return None,
    })
}

/// Numbers of more than 24 bits are infinite as f16, so rounding to 32 bits first changes nothing.
fn to_float(b: &mut Builder<'_>, signed: bool, x: Value, to: Type) -> Value {
    let (extend, op) = if signed { (AluOp::SExt, AluOp::S2F) } else { (AluOp::ZExt, AluOp::U2F) };
    if b.ty(x) != Type::B64 {
        let x = b.convert(extend, x, Type::B32);
        let wide = if to == Type::B16 { Type::B32 } else { to };
        let number = b.convert(op, x, wide);
        return b.convert(AluOp::FConv, number, to);
    }
    if to == Type::B64 {
        let [low, high] = wide::halves(b, x);
        let (high, low) = (b.convert(op, high, to), b.convert(AluOp::U2F, low, to));
        let up = b.c32(32);
        let high = b.alu(AluOp::FLdexp, &[high, up]);
        return b.alu(AluOp::FAdd, &[high, low]);
    }
    let single = if signed {
        let sign = wide::sign(b, x);
        let magnitude = wide::negate_by(b, x, sign);
        let number = rounded_once(b, magnitude);
        let [_, sign] = wide::halves(b, x);
        b.alu(AluOp::FCopySign, &[number, sign])
    } else {
        rounded_once(b, x)
    };
    b.convert(AluOp::FConv, single, to)
}

/// An unsigned 64-bit number as a 32-bit float: converts the 32 bits from the highest set bit down, with a last bit
/// that is set if any lower bit is.
fn rounded_once(b: &mut Builder<'_>, x: Value) -> Value {
    let [_, high] = wide::halves(b, x);
    let (one, top) = (b.c32(1), b.c32(31));
    let highest = b.alu(AluOp::FindUMsb, &[high]);
    // 32 if the high half is zero.
    let zeros = b.alu(AluOp::ISub, &[top, highest]);
    let by = b.convert(AluOp::ZExt, zeros, Type::B64);
    let shifted = b.alu(AluOp::Shl, &[x, by]);
    let [low, high] = wide::halves(b, shifted);
    let sticky = b.alu(AluOp::UMin, &[low, one]);
    let bits = b.alu(AluOp::IOr, &[high, sticky]);
    let number = b.convert(AluOp::U2F, bits, Type::B32);
    let width = b.c32(32);
    let exponent = b.alu(AluOp::ISub, &[width, zeros]);
    b.alu(AluOp::FLdexp, &[number, exponent])
}

/// An unsigned 64-bit number as a 32-bit float, within 2^-22: each half is rounded, and so is their sum.
pub(super) fn float_of_natural(b: &mut Builder<'_>, x: Value) -> Value {
    let [low, high] = wide::halves(b, x).map(|half| b.convert(AluOp::U2F, half, Type::B32));
    let up = b.fconst(Type::B32, TWO_32);
    b.alu(AluOp::FFma, &[high, up, low])
}

fn to_integer(b: &mut Builder<'_>, op: AluOp, x: Value, to: Type) -> Value {
    let x = if b.ty(x) == Type::B16 { b.convert(AluOp::FConv, x, Type::B32) } else { x };
    if to != Type::B64 {
        let n = b.convert(op, x, Type::B32);
        return b.convert(AluOp::Trunc, n, to);
    }
    if op == AluOp::F2U {
        return natural_of_float(b, x);
    }
    if b.ty(x) == Type::B64 {
        return halves_of_float(b, x, AluOp::F2S);
    }
    // The difference of 32-bit floats would not be exact for a negative number near zero.
    let magnitude = b.alu(AluOp::FAbs, &[x]);
    let n = natural_of_float(b, magnitude);
    let sign = wide::sign(b, x);
    let sign = b.convert(AluOp::SExt, sign, Type::B64);
    wide::negate_by(b, n, sign)
}

/// A non-negative float, truncated to an integer.
pub(super) fn natural_of_float(b: &mut Builder<'_>, x: Value) -> Value {
    halves_of_float(b, x, AluOp::F2U)
}

/// Splits a float into halves. The high half is rounded down, so the low half is never negative. Both are exact.
fn halves_of_float(b: &mut Builder<'_>, x: Value, high_to_integer: AluOp) -> Value {
    let ty = b.ty(x);
    let [down, minus] = [1.0 / TWO_32, -TWO_32].map(|n| b.fconst(ty, n));
    let whole = b.alu(AluOp::FTrunc, &[x]);
    let scaled = b.alu(AluOp::FMul, &[whole, down]);
    let high = b.alu(AluOp::FFloor, &[scaled]);
    let low = b.alu(AluOp::FFma, &[high, minus, whole]);
    let (low, high) = (b.convert(AluOp::F2U, low, Type::B32), b.convert(high_to_integer, high, Type::B32));
    wide::join(b, low, high)
}

/// Converts through 32 bits, whose last bit is set if they are not exact, so that the second rounding is correct.
fn double_to_half(b: &mut Builder<'_>, x: Value) -> Value {
    let near = b.convert(AluOp::FConv, x, Type::B32);
    let (lower, back) = double_toward_zero(b, x, near);
    let inexact = b.alu(AluOp::FUNe, &[back, x]);
    let sticky = b.convert(AluOp::ZExt, inexact, Type::B32);
    let odd = b.alu(AluOp::IOr, &[lower, sticky]);
    b.convert(AluOp::FConv, odd, Type::B16)
}

/// A conversion to a narrower float, rounded towards zero. Truncations can be chained.
fn toward_zero(b: &mut Builder<'_>, x: Value, to: Type) -> Value {
    let from = b.ty(x);
    if from.bits() <= to.bits() {
        let op = AluOp::FConv;
        return expand(b, op, x, to).unwrap_or_else(|| b.convert(op, x, to));
    }
    let single = if from == Type::B64 {
        let near = b.convert(AluOp::FConv, x, Type::B32);
        double_toward_zero(b, x, near).0
    } else {
        x
    };
    if to == Type::B32 {
        return single;
    }
    let zero = b.c32(0);
    let pair = b.alu(AluOp::PackHalfRtz, &[single, zero]);
    b.convert(AluOp::Trunc, pair, to)
}

/// The float next to a double towards zero, and the nearest float as a double. Decrementing the bits of a float gives
/// its neighbour towards zero.
fn double_toward_zero(b: &mut Builder<'_>, x: Value, near: Value) -> (Value, Value) {
    let back = b.convert(AluOp::FConv, near, Type::B64);
    let (rounded, exact) = (b.alu(AluOp::FAbs, &[back]), b.alu(AluOp::FAbs, &[x]));
    let (over, one) = (b.alu(AluOp::FOGt, &[rounded, exact]), b.c32(1));
    let less = b.alu(AluOp::ISub, &[near, one]);
    (b.select(over, less, near), back)
}

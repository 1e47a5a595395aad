//! Divides integers by means of float reciprocals.
//!
//! | bits | dividend, divisor | steps |
//! | --- | --- | --- |
//! | 32, 64 | a constant divisor | `by_constant` |
//! | 64 | both fit 32 bits | the 32-bit steps |
//! | 32 | below 2^20 | one float product, which is correct at once |
//! | 32 | others | a fixed-point reciprocal, refined once, and two corrections: 17 instructions |
//! | 64 | others | four float estimates, each of the previous one's remainder, and one correction: about 75 instructions |
//!
//! None of them branches. Division by zero gives some number. Signed division divides the magnitudes.

use super::conversion::{float_of_natural, natural_of_float};
use super::interval::Interval;
use super::{by_constant, wide};
use dovetail_ir::{AluOp, Builder, Inst, Op, Type, Value};

/// Bound on dividends for which a float product is correct: with a total error of 2^-22, (x + 1/2) / y must not reach
/// the integers on either side, which are at least 1/(2x) of it away.
const SMALL: u128 = 1 << 20;

/// Quotient and remainder of 32 or 64 bits.
pub(super) fn divide(b: &mut Builder<'_>, is_signed: bool, x: Value, y: Value) -> [Value; 2] {
    if is_signed { signed(b, x, y) } else { unsigned(b, x, y) }
}

fn unsigned(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let ty = b.ty(x);
    let largest = Interval::of(b.shader, x).largest(ty.bits().count());
    if let Some(d) = b.shader.as_const(y) {
        return match d {
            0 => [b.undef(ty), b.undef(ty)],
            d => by_constant::unsigned(b, x, d, largest),
        };
    }
    if ty == Type::B64 {
        let fits = Interval::of(b.shader, y).largest(64).max(largest) <= u64::from(u32::MAX);
        return if fits { narrowed(b, x, y) } else { wide_unsigned(b, x, y) };
    }
    if u128::from(largest) <= SMALL { small(b, false, x, y) } else { full(b, x, y) }
}

fn signed(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let ty = b.ty(x);
    let intervals = [x, y].map(|v| Interval::of(b.shader, v));
    if intervals.iter().all(|i| i.is_natural()) {
        return unsigned(b, x, y);
    }
    if let Some(bits) = b.shader.as_const(y) {
        let zero = b.iconst(ty, 0);
        return match dovetail_ir::number::signed(bits, ty.bits().count()) {
            0 => [b.undef(ty), b.undef(ty)],
            1 => [x, zero],
            -1 => [b.alu(AluOp::ISub, &[zero, x]), zero],
            d => by_constant::signed(b, x, d),
        };
    }
    if ty == Type::B32 && intervals[0].magnitude() <= SMALL {
        return small(b, true, x, y);
    }
    let signs = [x, y].map(|v| wide::sign(b, v));
    let magnitudes = [(x, signs[0]), (y, signs[1])].map(|(v, sign)| wide::negate_by(b, v, sign));
    let [q, r] = if ty == Type::B64 {
        wide_unsigned(b, magnitudes[0], magnitudes[1])
    } else {
        full(b, magnitudes[0], magnitudes[1])
    };
    let differ = b.alu(AluOp::IXor, &signs);
    [wide::negate_by(b, q, differ), wide::negate_by(b, r, signs[0])]
}

/// The low 32 bits of 64-bit numbers that fit in them.
fn narrowed(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let [x, y] = [x, y].map(|v| match b.shader.def(v) {
        Some(&Inst { op: Op::Alu(AluOp::ZExt, _), ref args, .. }) if b.ty(args[0]) == Type::B32 => args[0],
        _ => b.convert(AluOp::Trunc, v, Type::B32),
    });
    unsigned(b, x, y).map(|v| b.convert(AluOp::ZExt, v, Type::B64))
}

/// Adds a half to the dividend, away from zero, so that the product is never below an integer that it should reach.
fn small(b: &mut Builder<'_>, is_signed: bool, x: Value, y: Value) -> [Value; 2] {
    let (to_float, to_int) = if is_signed { (AluOp::S2F, AluOp::F2S) } else { (AluOp::U2F, AluOp::F2U) };
    let [fx, fy] = [x, y].map(|v| b.convert(to_float, v, Type::B32));
    let mut half = b.fconst(Type::B32, 0.5);
    if is_signed {
        half = b.alu(AluOp::FCopySign, &[half, fx]);
    }
    let sum = b.alu(AluOp::FAdd, &[fx, half]);
    let reciprocal = b.alu(AluOp::FRcp, &[fy]);
    let quotient = b.alu(AluOp::FMul, &[sum, reciprocal]);
    let q = b.convert(to_int, quotient, Type::B32);
    let r = rest(b, x, q, y);
    [q, r]
}

/// The reciprocal as a 32-bit fraction is at most the exact one, and the quotient is at most two too small.
fn full(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let zero = b.c32(0);
    // The float below 2^32, because the reciprocal may be an ulp too large.
    let scale = b.fconst(Type::B32, 4_294_966_784.0);
    let fy = b.convert(AluOp::U2F, y, Type::B32);
    let reciprocal = b.alu(AluOp::FRcp, &[fy]);
    let scaled = b.alu(AluOp::FMul, &[reciprocal, scale]);
    let z = b.convert(AluOp::F2U, scaled, Type::B32);
    // One Newton step: z + z (2^32 - y z) / 2^32.
    let minus = b.alu(AluOp::ISub, &[zero, y]);
    let error = b.alu(AluOp::IMul, &[minus, z]);
    let step = b.alu(AluOp::UMulHigh, &[z, error]);
    let z = b.alu(AluOp::IAdd, &[z, step]);
    let mut q = b.alu(AluOp::UMulHigh, &[x, z]);
    let mut r = rest(b, x, q, y);
    for _ in 0..2 {
        [q, r] = corrected(b, q, r, y);
    }
    [q, r]
}

fn rest(b: &mut Builder<'_>, x: Value, q: Value, y: Value) -> Value {
    let product = b.alu(AluOp::IMul, &[q, y]);
    b.alu(AluOp::ISub, &[x, product])
}

/// Increments the quotient if the remainder allows it.
fn corrected(b: &mut Builder<'_>, q: Value, r: Value, y: Value) -> [Value; 2] {
    let ty = b.ty(q);
    let more = b.alu(AluOp::UGe, &[r, y]);
    let less = b.alu(AluOp::ISub, &[r, y]);
    if ty == Type::B64 {
        // For 64 bits, neither adding a carry nor the minimum is a single instruction.
        let one = b.iconst(ty, 1);
        let next = b.alu(AluOp::IAdd, &[q, one]);
        return [b.select(more, next, q), b.select(more, less, r)];
    }
    let one = b.convert(AluOp::ZExt, more, ty);
    // If the remainder is smaller than the divisor, the difference wraps and is the larger of the two.
    [b.alu(AluOp::IAdd, &[q, one]), b.alu(AluOp::UMin, &[r, less])]
}

/// Each estimate is too small, by less than 2^-19 of itself plus one: the remainder of a dividend up to 2^64 is below
/// 2^45, 2^26 and 2^7 times the divisor, and then below twice the divisor.
fn wide_unsigned(b: &mut Builder<'_>, x: Value, y: Value) -> [Value; 2] {
    let fy = float_of_natural(b, y);
    let reciprocal = b.alu(AluOp::FRcp, &[fy]);
    // Conversions, reciprocal and product have a total error below 2^-20, in either direction.
    let less = b.fconst(Type::B32, 1.0 - 2f64.powi(-20));
    let reciprocal = b.alu(AluOp::FMul, &[reciprocal, less]);
    let mut q = b.iconst(Type::B64, 0);
    let mut r = x;
    for round in 0..4 {
        let fr = float_of_natural(b, r);
        let estimate = b.alu(AluOp::FMul, &[fr, reciprocal]);
        let part = if round < 2 {
            natural_of_float(b, estimate)
        } else {
            let part = b.convert(AluOp::F2U, estimate, Type::B32);
            b.convert(AluOp::ZExt, part, Type::B64)
        };
        r = rest(b, r, part, y);
        q = b.iadd(q, part);
    }
    corrected(b, q, r, y)
}

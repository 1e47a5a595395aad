//! Scalar functions of GLSL.std.450 as straight-line IR.
//!
//! Each function takes and returns scalars of one float width. Transcendental functions exist only for 16 and 32 bits
//! (as in SPIR-V), and compute 16 bits in 32. Errors stay within Vulkan's "Precision of GLSL.std.450 Instructions";
//! where that says "inherited from", the formula is the one that it names or a more exact one. To add a function, add
//! its formula here, a line in the tables of `glsl`, and a row in the tests.

use super::super::float::FloatOps;
use dovetail_ir::{AluOp, Builder, FpFlags, Op, Value};
use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};

/// Coefficients of a, a³, a⁵ … for atan(a) on [0, 1]: minimax of the relative error, 6.6e-7.
const ATAN: [f64; 7] = [
    0.999_999_347_8,
    -0.333_265_149_2,
    0.198_814_824_4,
    -0.134_871_913_6,
    0.083_871_190_65,
    -0.037_013_001_13,
    0.007_863_376_714,
];

/// Natural exponential.
pub fn exp(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let t = b.fscale(x, LOG2_E);
        b.f1(AluOp::FExp2, t)
    })
}

/// Natural logarithm.
pub fn log(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let t = b.f1(AluOp::FLog2, x);
        b.fscale(t, LN_2)
    })
}

/// An operation that is one instruction at 32 bits.
pub fn native(b: &mut Builder<'_>, op: AluOp, x: Value) -> Value {
    b.wide(x, |b, x| b.f1(op, x))
}

/// x to the power y.
pub fn pow(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    wide2(b, x, y, |b, x, y| b.alu(AluOp::FPow, &[x, y]))
}

/// Reciprocal square root.
pub fn rsq(b: &mut Builder<'_>, x: Value) -> Value {
    if b.ty(x) == dovetail_ir::Type::B64 {
        let root = b.f1(AluOp::FSqrt, x);
        let one = b.fk(x, 1.0);
        return b.fdiv(one, root);
    }
    b.f1(AluOp::FRsq, x)
}

/// Tangent.
pub fn tan(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let s = b.f1(AluOp::FSin, x);
        let c = b.f1(AluOp::FCos, x);
        b.fdiv(s, c)
    })
}

/// Arc tangent.
pub fn atan(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let one = b.fk(x, 1.0);
        let a = b.f1(AluOp::FAbs, x);
        let inverse = b.fdiv(one, a);
        let steep = b.alu(AluOp::FOGt, &[a, one]);
        let t = b.select(steep, inverse, a);
        let r = atan_steep(b, t, steep);
        coarse(b, r, x)
    })
}

/// Arc tangent of t in [0, 1], or of 1/t if `steep`.
fn atan_steep(b: &mut Builder<'_>, t: Value, steep: Value) -> Value {
    let u = b.fmul(t, t);
    let mut sum = b.fk(t, ATAN[6]);
    for k in ATAN[..6].iter().rev() {
        let k = b.fk(t, *k);
        sum = b.ffma(sum, u, k);
    }
    let r = b.fmul(sum, t);
    let right = b.fk(t, FRAC_PI_2);
    let other = b.fsub(right, r);
    b.select(steep, other, r)
}

/// An angle with the sign of x, marked as the result of a function for which Vulkan allows a larger error than its
/// steps have.
fn coarse(b: &mut Builder<'_>, angle: Value, x: Value) -> Value {
    let flags = b.fp.with(FpFlags::COARSE);
    b.value(Op::Alu(AluOp::FCopySign, flags), &[angle, x], b.ty(x))
}

/// Angle of the point (x, y). The origin gives 0 or π as in IEEE, an infinite diagonal its slope.
pub fn atan2(b: &mut Builder<'_>, y: Value, x: Value) -> Value {
    wide2(b, y, x, |b, y, x| {
        let zero = b.fk(x, 0.0);
        let one = b.fk(x, 1.0);
        let ax = b.f1(AluOp::FAbs, x);
        let ay = b.f1(AluOp::FAbs, y);
        let short = b.alu(AluOp::FMin, &[ax, ay]);
        let long = b.alu(AluOp::FMax, &[ax, ay]);
        let quotient = b.fdiv(short, long);
        // Equal operands would divide 0 by 0 or infinity by infinity.
        let origin = b.alu(AluOp::FOEq, &[long, zero]);
        let diagonal = b.alu(AluOp::FOEq, &[short, long]);
        let equal = b.select(origin, zero, one);
        let t = b.select(diagonal, equal, quotient);
        let steep = b.alu(AluOp::FOGt, &[ay, ax]);
        let r = atan_steep(b, t, steep);
        let left = b.alu(AluOp::FOLt, &[x, zero]);
        let half_turn = b.fk(x, PI);
        let beyond = b.fsub(half_turn, r);
        let r = b.select(left, beyond, r);
        coarse(b, r, y)
    })
}

/// sqrt(1 - x²); zero outside [-1, 1], so that a rounding error of the argument does not give NaN.
fn other_leg(b: &mut Builder<'_>, x: Value) -> Value {
    let one = b.fk(x, 1.0);
    let zero = b.fk(x, 0.0);
    let minus = b.fsub(one, x);
    let plus = b.fadd(one, x);
    let square = b.fmul(minus, plus);
    let square = b.alu(AluOp::FMax, &[square, zero]);
    b.f1(AluOp::FSqrt, square)
}

/// Arc sine.
pub fn asin(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let leg = other_leg(b, x);
        atan2(b, x, leg)
    })
}

/// Arc cosine.
pub fn acos(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let leg = other_leg(b, x);
        atan2(b, leg, x)
    })
}

/// (e^x / 2, e^-x / 2).
fn half_exponentials(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let scale = b.fk(x, LOG2_E);
    let minus_one = b.fk(x, -1.0);
    // Halving in the exponent keeps results near the limit finite.
    let up = b.ffma(x, scale, minus_one);
    let opposite = b.f1(AluOp::FNeg, x);
    let down = b.ffma(opposite, scale, minus_one);
    (b.f1(AluOp::FExp2, up), b.f1(AluOp::FExp2, down))
}

/// Hyperbolic sine.
pub fn sinh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let (up, down) = half_exponentials(b, x);
        b.fsub(up, down)
    })
}

/// Hyperbolic cosine.
pub fn cosh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let (up, down) = half_exponentials(b, x);
        b.fadd(up, down)
    })
}

/// Hyperbolic tangent, as ±(1 - 2 / (e^2|x| + 1)), which cannot overflow to Inf/Inf.
pub fn tanh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let one = b.fk(x, 1.0);
        let minus_two = b.fk(x, -2.0);
        let a = b.f1(AluOp::FAbs, x);
        let t = b.fscale(a, 2.0 * LOG2_E);
        let e = b.f1(AluOp::FExp2, t);
        let den = b.fadd(e, one);
        let q = b.fdiv(minus_two, den);
        let r = b.fadd(one, q);
        b.alu(AluOp::FCopySign, &[r, x])
    })
}

/// Inverse hyperbolic sine.
pub fn asinh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let one = b.fk(x, 1.0);
        let a = b.f1(AluOp::FAbs, x);
        let square = b.ffma(x, x, one);
        let root = b.f1(AluOp::FSqrt, square);
        let sum = b.fadd(a, root);
        let r = log(b, sum);
        b.alu(AluOp::FCopySign, &[r, x])
    })
}

/// Inverse hyperbolic cosine.
pub fn acosh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let minus_one = b.fk(x, -1.0);
        let square = b.ffma(x, x, minus_one);
        let root = b.f1(AluOp::FSqrt, square);
        let sum = b.fadd(x, root);
        log(b, sum)
    })
}

/// Inverse hyperbolic tangent.
pub fn atanh(b: &mut Builder<'_>, x: Value) -> Value {
    b.wide(x, |b, x| {
        let one = b.fk(x, 1.0);
        let plus = b.fadd(one, x);
        let minus = b.fsub(one, x);
        let q = b.fdiv(plus, minus);
        let l = b.f1(AluOp::FLog2, q);
        b.fscale(l, 0.5 * LN_2)
    })
}

/// min(max(x, low), high).
pub fn clamp(b: &mut Builder<'_>, min: AluOp, max: AluOp, [x, low, high]: [Value; 3]) -> Value {
    let x = b.alu(max, &[x, low]);
    b.alu(min, &[x, high])
}

/// x (1 - a) + y a, exact for a = 0 and a = 1.
pub fn mix(b: &mut Builder<'_>, x: Value, y: Value, a: Value) -> Value {
    let opposite = b.f1(AluOp::FNeg, x);
    let rest = b.ffma(opposite, a, x);
    b.ffma(y, a, rest)
}

/// 0 below the edge, otherwise 1.
pub fn step(b: &mut Builder<'_>, edge: Value, x: Value) -> Value {
    let zero = b.fk(x, 0.0);
    let one = b.fk(x, 1.0);
    let below = b.alu(AluOp::FOLt, &[x, edge]);
    b.select(below, zero, one)
}

/// Hermite interpolation between two edges.
pub fn smooth_step(b: &mut Builder<'_>, low: Value, high: Value, x: Value) -> Value {
    let offset = b.fsub(x, low);
    let range = b.fsub(high, low);
    let t = b.fdiv(offset, range);
    let t = b.fclamp(t, 0.0, 1.0);
    let minus_two = b.fk(x, -2.0);
    let three = b.fk(x, 3.0);
    let slope = b.ffma(t, minus_two, three);
    let square = b.fmul(t, t);
    b.fmul(square, slope)
}

/// Fraction and whole part, both with the sign of x.
pub fn modf(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let whole = b.f1(AluOp::FTrunc, x);
    let rest = b.fsub(x, whole);
    let infinite = b.f1(AluOp::FIsInf, x);
    let zero = b.fk(x, 0.0);
    let rest = b.select(infinite, zero, rest);
    (b.alu(AluOp::FCopySign, &[rest, x]), whole)
}

/// -1, 0 or 1.
pub fn int_sign(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let minus_one = b.iconst(ty, u64::MAX);
    let one = b.iconst(ty, 1);
    clamp(b, AluOp::SMin, AluOp::SMax, [x, minus_one, one])
}

/// `f` of two values of one width, computed in 32 bits if they have 16.
fn wide2(b: &mut Builder<'_>, x: Value, y: Value, f: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value) -> Value {
    b.wide(x, |b, x| {
        let ty = b.ty(x);
        let y = b.convert(AluOp::FConv, y, ty);
        f(b, x, y)
    })
}

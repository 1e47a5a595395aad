//! Divides floats by means of reciprocals.
//!
//! Vulkan allows 2.5 ulp ("Precision and Operation of SPIR-V Instructions") if the divisor's reciprocal is a normal
//! number. The reciprocal instruction has an error of 1 ulp and the product of half an ulp, so nothing needs scaling.
//!
//! | bits | steps |
//! | --- | --- |
//! | 16, 32 | reciprocal, product |
//! | 16, 32, by a square root | reciprocal square root, product |
//! | 16, 32, by a constant | product with the constant's reciprocal |
//! | 32, denormals are kept | the same on mantissas; exponents are subtracted |
//! | 64 | an estimate within 2^-23, refined twice, product, one correction by the product's error |
//!
//! The last step makes 64-bit quotients exact if an exact result exists, and others correctly rounded except for a few
//! divisors just below a power of two. Direct3D promises that, and shaders translated from it may rely on it.

use dovetail_ir::{AluOp, Builder, FpFlags, Inst, Op, Type, Value};

/// Smallest normal f16.
pub(super) const HALF_MIN: f64 = 6.103_515_625e-5;
/// Largest f16.
const HALF_MAX: f64 = 65504.0;

/// The quotient. The builder already has the operation's flags.
pub(super) fn divide(b: &mut Builder<'_>, x: Value, y: Value, keeps_denormals: bool) -> Value {
    let ty = b.ty(x);
    match ty {
        Type::B64 => return double(b, x, y),
        Type::B32 if keeps_denormals => return by_parts(b, x, y),
        _ => {}
    }
    let reciprocal = reciprocal_of(b, y);
    let one = b.shader.as_const(x) == Some(dovetail_ir::number::encode(1.0, ty.bits()));
    if one { reciprocal } else { b.alu(AluOp::FMul, &[x, reciprocal]) }
}

/// `frcp` of 64 bits.
pub(super) fn reciprocal(b: &mut Builder<'_>, y: Value) -> Value {
    let one = b.fconst(b.ty(y), 1.0);
    let minus = b.alu(AluOp::FNeg, &[y]);
    let seed = b.alu(AluOp::FRcpSeed, &[y]);
    let mut r = seed;
    for _ in 0..2 {
        let rest = b.alu(AluOp::FFma, &[minus, r, one]);
        r = b.alu(AluOp::FFma, &[rest, r, r]);
    }
    // Zero and infinity: the estimate is correct, and 0 * infinity is NaN.
    let special = b.alu(AluOp::FUno, &[r, r]);
    b.select(special, seed, r)
}

fn double(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let (zero, minus) = (b.fconst(b.ty(x), 0.0), b.alu(AluOp::FNeg, &[y]));
    let reciprocal = reciprocal(b, y);
    let quotient = b.alu(AluOp::FMul, &[x, reciprocal]);
    let rest = b.alu(AluOp::FFma, &[minus, quotient, x]);
    let refined = b.alu(AluOp::FFma, &[rest, reciprocal, quotient]);
    // An infinite value gives NaN, and a zero loses its sign in the sum.
    let special = b.alu(AluOp::FUEq, &[refined, zero]);
    b.select(special, quotient, refined)
}

fn reciprocal_of(b: &mut Builder<'_>, y: Value) -> Value {
    let ty = b.ty(y);
    if let Some(known) = b.shader.as_const(y).and_then(|bits| known_reciprocal(bits, ty)) {
        return b.fconst(ty, known);
    }
    let contracts = |flags: FpFlags| !flags.has(FpFlags::NO_CONTRACT);
    match b.shader.def(y) {
        Some(&Inst { op: Op::Alu(AluOp::FSqrt, flags), ref args, .. }) if contracts(flags) && contracts(b.fp) => {
            let of = args[0];
            b.alu(AluOp::FRsq, &[of])
        }
        _ => b.alu(AluOp::FRcp, &[y]),
    }
}

/// The reciprocal of a constant, if both are normal numbers of this type.
fn known_reciprocal(bits: u64, ty: Type) -> Option<f64> {
    let y = dovetail_ir::number::decode(bits, ty.bits());
    let normal = |x: f64| match ty {
        Type::B32 => (x as f32).is_normal(),
        _ => (HALF_MIN..=HALF_MAX).contains(&x.abs()),
    };
    (normal(y) && normal(1.0 / y)).then(|| 1.0 / y)
}

fn by_parts(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let [mx, my] = [x, y].map(|v| b.alu(AluOp::FFrexpMant, &[v]));
    let exponents = [x, y].map(|v| b.alu(AluOp::FFrexpExp, &[v]));
    let reciprocal = b.alu(AluOp::FRcp, &[my]);
    let mantissa = b.alu(AluOp::FMul, &[mx, reciprocal]);
    let exponent = b.alu(AluOp::ISub, &exponents);
    b.alu(AluOp::FLdexp, &[mantissa, exponent])
}

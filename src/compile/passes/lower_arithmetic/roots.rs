//! Square roots and their reciprocals.
//!
//! For 16 and 32 bits there are instructions; only if a shader keeps 32-bit denormals are the operands first scaled to
//! the range of normal numbers. For 64 bits there are estimates within 2^-23, which one step with a third-order error
//! refines to the last bits (Vulkan requires 2 ulp for the reciprocal). The square root takes one more step, so that
//! the root of a square is exact.

use dovetail_ir::{AluOp, Builder, Type, Value};

/// The expansion of `frsq` or `fsqrt`; `None` if it stays.
pub(super) fn expand(b: &mut Builder<'_>, op: AluOp, x: Value, keeps_denormals: bool) -> Option<Value> {
    match (b.ty(x), op) {
        (Type::B64, AluOp::FSqrt) => Some(root(b, x)),
        (Type::B64, _) => Some(reciprocal(b, x)),
        // The root turns 2^24 into 2^12 or 2^-12.
        (Type::B32, AluOp::FSqrt) if keeps_denormals => Some(scaled(b, op, x, 2f64.powi(-12))),
        (Type::B32, _) if keeps_denormals => Some(scaled(b, op, x, 2f64.powi(12))),
        _ => None,
    }
}

/// Applies the instruction to denormals multiplied by 2^24.
fn scaled(b: &mut Builder<'_>, op: AluOp, x: Value, back: f64) -> Value {
    let ty = b.ty(x);
    let [least, up, back, one] = [f64::from(f32::MIN_POSITIVE), 2f64.powi(24), back, 1.0].map(|n| b.fconst(ty, n));
    let small = b.alu(AluOp::FOLt, &[x, least]);
    let (by, back) = (b.select(small, up, one), b.select(small, back, one));
    let larger = b.alu(AluOp::FMul, &[x, by]);
    let root = b.alu(op, &[larger]);
    b.alu(AluOp::FMul, &[root, back])
}

/// With e = 1 - x y² for an estimate y of 1/√x: z (1 + e/2 + 3/8 e²) is z/√(1 - e), for z = y and for z = x y.
fn refine(b: &mut Builder<'_>, z: Value, e: Value) -> Value {
    let ty = b.ty(z);
    let (half, rest) = (b.fconst(ty, 0.5), b.fconst(ty, 0.375));
    let series = b.alu(AluOp::FFma, &[e, rest, half]);
    let step = b.alu(AluOp::FMul, &[z, e]);
    b.alu(AluOp::FFma, &[step, series, z])
}

/// An estimate y of 1/√x, x y, and 1 - x y².
fn estimate(b: &mut Builder<'_>, x: Value) -> [Value; 3] {
    let one = b.fconst(b.ty(x), 1.0);
    let y = b.alu(AluOp::FRsqSeed, &[x]);
    let root = b.alu(AluOp::FMul, &[x, y]);
    let minus = b.alu(AluOp::FNeg, &[root]);
    let e = b.alu(AluOp::FFma, &[minus, y, one]);
    [y, root, e]
}

fn reciprocal(b: &mut Builder<'_>, x: Value) -> Value {
    let [y, _, e] = estimate(b, x);
    let refined = refine(b, y, e);
    // Zero and infinity: the estimate is correct, and 0 * infinity is NaN.
    let special = b.alu(AluOp::FUno, &[refined, refined]);
    b.select(special, y, refined)
}

fn root(b: &mut Builder<'_>, x: Value) -> Value {
    let [y, root, e] = estimate(b, x);
    let near = refine(b, root, e);
    // Half of 1/√x times the error of the square.
    let (minus, half) = (b.alu(AluOp::FNeg, &[near]), b.fconst(b.ty(x), 0.5));
    let rest = b.alu(AluOp::FFma, &[minus, near, x]);
    let slope = b.alu(AluOp::FMul, &[y, half]);
    let refined = b.alu(AluOp::FFma, &[rest, slope, near]);
    // 1/√x of zero is infinity and vice versa; of a negative number it is NaN.
    let special = b.alu(AluOp::FUno, &[refined, refined]);
    let whole = b.alu(AluOp::FRcpSeed, &[y]);
    b.select(special, whole, refined)
}

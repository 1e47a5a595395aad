//! Square roots and their reciprocals.
//!
//! Those of 16 and 32 bits are instructions; only where a shader keeps the denormals of 32 bits are its operands
//! brought into the range of normal numbers first. 64 bits have estimates within 2^-23, which one step with an error of
//! third order makes right to the last bits (Vulkan asks for 2 ulp of the reciprocal). The square root takes one more step,
//! so that the root of a square is exact.

use crate::ir::{AluOp, Builder, Type, Value};

/// The expansion of `frsq` or `fsqrt`; `None` if it stays.
pub(super) fn expand(b: &mut Builder<'_>, op: AluOp, x: Value, keeps_denormals: bool) -> Option<Value> {
    match (b.ty(x), op) {
        (Type::B64, AluOp::FSqrt) => Some(root(b, x)),
        (Type::B64, _) => Some(reciprocal(b, x)),
        // 2^24 becomes 2^12 or 2^-12 by the root.
        (Type::B32, AluOp::FSqrt) if keeps_denormals => Some(scaled(b, op, x, 2f64.powi(-12))),
        (Type::B32, _) if keeps_denormals => Some(scaled(b, op, x, 2f64.powi(12))),
        _ => None,
    }
}

/// The instruction on denormals multiplied by 2^24.
fn scaled(b: &mut Builder<'_>, op: AluOp, x: Value, back: f64) -> Value {
    let ty = b.ty(x);
    let [least, up, back, one] = [f64::from(f32::MIN_POSITIVE), 2f64.powi(24), back, 1.0].map(|n| b.fconst(ty, n));
    let small = b.alu(AluOp::FOLt, &[x, least]);
    let (by, back) = (b.select(small, up, one), b.select(small, back, one));
    let larger = b.alu(AluOp::FMul, &[x, by]);
    let root = b.alu(op, &[larger]);
    b.alu(AluOp::FMul, &[root, back])
}

/// With e = 1 - x y² of an estimate y of 1/√x: z (1 + e/2 + 3/8 e²) is z/√(1 - e), for z = y as well as for z = x y.
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
    // Zero and infinity: the estimate is right, and 0 * infinity is not.
    let special = b.alu(AluOp::FUno, &[refined, refined]);
    b.select(special, y, refined)
}

fn root(b: &mut Builder<'_>, x: Value) -> Value {
    let [y, root, e] = estimate(b, x);
    let near = refine(b, root, e);
    // Half of 1/√x times what the square leaves.
    let (minus, half) = (b.alu(AluOp::FNeg, &[near]), b.fconst(b.ty(x), 0.5));
    let rest = b.alu(AluOp::FFma, &[minus, near, x]);
    let slope = b.alu(AluOp::FMul, &[y, half]);
    let refined = b.alu(AluOp::FFma, &[rest, slope, near]);
    // 1/√x of zero and of infinity is the other one, of less than zero it is no number.
    let special = b.alu(AluOp::FUno, &[refined, refined]);
    let whole = b.alu(AluOp::FRcpSeed, &[y]);
    b.select(special, whole, refined)
}

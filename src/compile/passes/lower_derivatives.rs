//! Turns derivatives into differences within a quad: two DPP moves and a subtraction, in whole quad mode.
//!
//! The whole quad mode marker (`Wqm`) encloses the difference; without it, helper lanes, which only fragment shaders
//! have, would not compute the operand. 16-bit values are moved in 32-bit registers and subtracted as 16 bits.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, AmdOp, Bits, Builder, DerivativeKind, LaneOp, Op, Shader, Type, Value};

/// Lowers every derivative.
///
/// # Errors
/// 64-bit operands: the hardware cannot move them between lanes in one operation.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if !shader.has(|op| matches!(op, Op::Derivative(_))) {
        return Ok(());
    }
    rewrite(shader, |b, inst| match inst.op {
        Op::Derivative(kind) => derivative(b, kind, inst.args[0]).map(Rewrite::Value),
        _ => Ok(Rewrite::Keep),
    })
}

/// A lane permutation within each quad: two bits per lane.
pub(super) const fn quad_perm(lanes: [u16; 4]) -> u16 {
    lanes[0] | lanes[1] << 2 | lanes[2] << 4 | lanes[3] << 6
}

/// The lanes of the quad (0 1 above 2 3) from which minuend and subtrahend come.
const fn lanes(kind: DerivativeKind) -> ([u16; 4], [u16; 4]) {
    match (kind.vertical, kind.fine) {
        (false, false) => ([1, 1, 1, 1], [0, 0, 0, 0]),
        (false, true) => ([1, 1, 3, 3], [0, 0, 2, 2]),
        (true, false) => ([2, 2, 2, 2], [0, 0, 0, 0]),
        (true, true) => ([2, 3, 2, 3], [0, 1, 0, 1]),
    }
}

fn derivative(b: &mut Builder<'_>, kind: DerivativeKind, v: Value) -> Result<Value> {
    let ty = b.ty(v);
    if !matches!(ty.bits(), Bits::B16 | Bits::B32) {
        return Err(Error::unsupported(format!("derivative of {ty}"), ""));
    }
    let wide = b.convert(AluOp::ZExt, v, Type::B32);
    let (first, second) = lanes(kind);
    let [first, second] = [first, second].map(|lanes| {
        let op = LaneOp::Dpp { ctrl: quad_perm(lanes), row_mask: 15, bank_mask: 15, bound_zero: true };
        let moved = b.value(Op::Target(AmdOp::Lane(op)), &[wide, wide], Type::B32);
        b.convert(AluOp::Trunc, moved, ty)
    });
    let difference = b.alu(AluOp::FSub, &[first, second]);
    let difference = b.convert(AluOp::ZExt, difference, Type::B32);
    let whole = match b.shader.stage {
        Stage::Fragment => b.value(Op::Target(AmdOp::Lane(LaneOp::Wqm)), &[difference], Type::B32),
        Stage::Vertex | Stage::Compute => difference,
    };
    Ok(b.convert(AluOp::Trunc, whole, ty))
}

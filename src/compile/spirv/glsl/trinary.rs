//! `SPV_AMD_shader_trinary_minmax`: the least, the greatest and the middle one of three numbers.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::super::operands::set_result;
use super::operands;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, Builder, Value};
use spirv::GlslStd450Op as G;

/// The name of the instruction set.
pub(super) const SET: &str = "SPV_AMD_shader_trinary_minmax";

/// Translates an instruction of the set.
///
/// # Errors
/// Malformed operands; numbers that the set does not have.
pub(super) fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let number = inst.literal(1)?;
    let f: fn(&mut Builder<'_>, AluOp, AluOp, [Value; 3]) -> Value = match number {
        1..=3 => |b, least, _, x| pairwise(b, least, x),
        4..=6 => |b, _, greatest, x| pairwise(b, greatest, x),
        7..=9 => middle,
        _ => return Err(Error::unsupported(format!("{SET} {number}"), inst.place())),
    };
    let (of_two, least, greatest) = match number % 3 {
        1 => (G::FMin, AluOp::FMin, AluOp::FMax),
        2 => (G::UMin, AluOp::UMin, AluOp::UMax),
        _ => (G::SMin, AluOp::SMin, AluOp::SMax),
    };
    let [x, y, z] = operands(cx, inst, of_two)?;
    let values: LeafValues =
        x.iter().zip(&y).zip(&z).map(|((&x, &y), &z)| f(&mut cx.b, least, greatest, [x, y, z])).collect();
    set_result(cx, inst, values)
}

fn pairwise(b: &mut Builder<'_>, op: AluOp, [x, y, z]: [Value; 3]) -> Value {
    let both = b.alu(op, &[x, y]);
    b.alu(op, &[both, z])
}

/// The middle one of three.
pub(super) fn middle(b: &mut Builder<'_>, least: AluOp, greatest: AluOp, [x, y, z]: [Value; 3]) -> Value {
    let (low, high) = (b.alu(least, &[x, y]), b.alu(greatest, &[x, y]));
    let high = b.alu(least, &[high, z]);
    b.alu(greatest, &[low, high])
}

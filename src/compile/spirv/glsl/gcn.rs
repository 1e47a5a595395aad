//! `SPV_AMD_gcn_shader`: the face of a cube that a direction hits, the coordinates on it, and the clock.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::super::float::FloatOps;
use super::super::operands::set_result;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, AmdOp, FpFlags, LaneOp, Op as IrOp, Scope, Type, Value};

/// The name of the instruction set.
pub(super) const SET: &str = "SPV_AMD_gcn_shader";

/// Translates an instruction of the set.
///
/// # Errors
/// Malformed operands; numbers that the set does not have.
pub(super) fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let results = match inst.literal(1)? {
        1 => {
            let direction = direction(cx, inst)?;
            LeafValues::from_slice(&[cube(cx, LaneOp::CubeId, &direction)])
        }
        2 => coordinates(cx, inst)?,
        // The time of the compute unit, as a clock of the subgroup.
        3 => LeafValues::from_slice(&[cx.b.value(IrOp::ReadClock(Scope::Subgroup), &[], Type::B64)]),
        number => return Err(Error::unsupported(format!("{SET} {number}"), inst.place())),
    };
    set_result(cx, inst, results)
}

/// What a texture of one face is sampled with: from 0 to 1 across the face.
fn coordinates(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<LeafValues> {
    let direction = direction(cx, inst)?;
    let major = cube(cx, LaneOp::CubeMa, &direction);
    // The hardware gives twice the major axis, with its sign. As it addresses a cube: by the reciprocal.
    let twice = cx.b.f1(AluOp::FAbs, major);
    cx.b.fp = cx.b.fp.with(FpFlags::ALLOW_RECIPROCAL);
    let half = cx.b.fk(twice, 0.5);
    Ok([LaneOp::CubeS, LaneOp::CubeT]
        .into_iter()
        .map(|axis| {
            let along = cube(cx, axis, &direction);
            let scaled = cx.b.fdiv(along, twice);
            cx.b.fadd(scaled, half)
        })
        .collect())
}

fn direction(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<LeafValues> {
    let direction = cx.values_n(inst.id(2)?, 3)?;
    if direction.iter().any(|&v| cx.b.ty(v) != Type::B32) {
        return Err(inst.malformed("a direction has three floats of 32 bits"));
    }
    Ok(direction)
}

fn cube(cx: &mut Cx<'_>, op: LaneOp, direction: &[Value]) -> Value {
    cx.b.value(IrOp::Target(AmdOp::Lane(op)), direction, Type::B32)
}

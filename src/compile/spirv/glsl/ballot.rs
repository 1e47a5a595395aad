//! `SPV_AMD_shader_ballot`: values of other lanes by fixed patterns, 0 where that lane is not active, and the number of
//! lower lanes in a mask. Its instructions with opcodes of their own are in `subgroup`.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::super::operands::{from_words, result_component, set_result};
use super::super::subgroup::{bit, built_in, lane_op};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{AluOp, BuiltIn, SubgroupOp, Type, Value};

/// The name of the instruction set.
pub(super) const SET: &str = "SPV_AMD_shader_ballot";

/// Translates an instruction of the set.
///
/// # Errors
/// Malformed operands; numbers that the set does not have.
pub(super) fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let results = match inst.literal(1)? {
        1 => {
            let offsets = pattern::<4>(cx, inst)?;
            let lane = lane_of_quad(cx, offsets);
            swizzle(cx, inst, lane, 4)?
        }
        2 => {
            let masks = pattern::<3>(cx, inst)?;
            let lane = masked_lane(cx, masks);
            swizzle(cx, inst, lane, 32)?
        }
        3 => write(cx, inst)?,
        4 => {
            let count = bits_below(cx, inst)?;
            LeafValues::from_slice(&[count])
        }
        number => return Err(Error::unsupported(format!("{SET} {number}"), inst.place())),
    };
    set_result(cx, inst, results)
}

/// The operand that says which lane is read.
fn pattern<const N: usize>(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<[Value; N]> {
    let parts = cx.values_n(inst.id(3)?, N)?;
    match <[Value; N]>::try_from(parts.as_slice()) {
        Ok(parts) if parts.iter().all(|&v| cx.b.ty(v) == Type::B32) => Ok(parts),
        _ => Err(inst.malformed(format!("not {N} integers of 32 bits"))),
    }
}

fn this_lane(cx: &mut Cx<'_>) -> Value {
    built_in(cx, BuiltIn::SubgroupLocalInvocationId, 0)
}

/// The lane of this quad that `offsets` (0 to 3) names for this lane: its n-th number is for the n-th lane of the quad.
fn lane_of_quad(cx: &mut Cx<'_>, offsets: [Value; 4]) -> Value {
    let (three, lane) = (cx.b.c32(3), this_lane(cx));
    let place = cx.b.alu(AluOp::IAnd, &[lane, three]);
    let [first, rest @ ..] = offsets;
    let chosen = rest.into_iter().zip(1..).fold(first, |chosen, (offset, n)| {
        let n = cx.b.c32(n);
        let here = cx.b.alu(AluOp::IEq, &[place, n]);
        cx.b.select(here, offset, chosen)
    });
    let within = cx.b.alu(AluOp::IAnd, &[chosen, three]);
    let quad = cx.b.alu(AluOp::ISub, &[lane, place]);
    cx.b.alu(AluOp::IOr, &[quad, within])
}

/// The lane of the same 32 whose number is made from this one's by masks of 5 bits: and, or, exclusive or.
fn masked_lane(cx: &mut Cx<'_>, [and, or, xor]: [Value; 3]) -> Value {
    let (low, lane) = (cx.b.c32(31), this_lane(cx));
    let place = cx.b.alu(AluOp::IAnd, &[lane, low]);
    let half = cx.b.alu(AluOp::ISub, &[lane, place]);
    let kept = cx.b.alu(AluOp::IAnd, &[place, and]);
    let set = cx.b.alu(AluOp::IOr, &[kept, or]);
    let turned = cx.b.alu(AluOp::IXor, &[set, xor]);
    let within = cx.b.alu(AluOp::IAnd, &[turned, low]);
    cx.b.alu(AluOp::IOr, &[half, within])
}

/// The values of another lane of the same cluster, or zeros if it is not active. A rotation whose distance differs from
/// lane to lane moves them, since it stays within clusters.
fn swizzle(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, lane: Value, cluster: u8) -> Result<LeafValues> {
    let data = cx.values(inst.id(2)?)?;
    let own = this_lane(cx);
    let distance = cx.b.alu(AluOp::ISub, &[lane, own]);
    let distance_mask = cx.b.c32(u32::from(cluster) - 1);
    let distance = cx.b.alu(AluOp::IAnd, &[distance, distance_mask]);
    let always = cx.b.cbool(true);
    let active = lane_op(cx, SubgroupOp::Ballot, &[always], Type::B64);
    let is_active = bit(cx, active, lane);
    Ok(data
        .into_iter()
        .map(|v| {
            let ty = cx.b.ty(v);
            let there = lane_op(cx, SubgroupOp::Rotate(cluster), &[v, distance], ty);
            let zero = cx.b.iconst(ty, 0);
            cx.b.select(is_active, there, zero)
        })
        .collect())
}

/// The first value, but in one lane the second.
fn write(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<LeafValues> {
    let input = cx.values(inst.id(2)?)?;
    let written = cx.values_n(inst.id(3)?, input.len())?;
    let index = cx.value(inst.id(4)?)?;
    if cx.b.ty(index) != Type::B32 {
        return Err(inst.malformed("the number of a lane has 32 bits"));
    }
    let lane = this_lane(cx);
    let here = cx.b.alu(AluOp::IEq, &[lane, index]);
    Ok(input.into_iter().zip(written).map(|(old, new)| cx.b.select(here, new, old)).collect())
}

/// How many lanes below this one a mask has. The extension gives the result 64 bits, its GLSL 32.
fn bits_below(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Value> {
    let mask = cx.value(inst.id(2)?)?;
    if cx.b.ty(mask) != Type::B64 {
        return Err(inst.malformed("a mask of lanes has 64 bits"));
    }
    let words = [0, 1].map(|word| built_in(cx, BuiltIn::SubgroupLtMask, word));
    let lower = from_words(&mut cx.b, &words);
    let both = cx.b.alu(AluOp::IAnd, &[mask, lower]);
    let count = cx.b.alu(AluOp::BitCount, &[both]);
    let ty = result_component(cx, inst)?;
    Ok(cx.b.zext_or_trunc(count, ty))
}

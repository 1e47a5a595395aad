//! Conversions between numbers, and bit casts.

use super::bfloat;
use super::cx::{Cx, LeafValues, SpirvInst};
use super::modes;
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, RoundMode, Type};
use spirv::Op;

/// Translates a conversion; false if it is not one.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let narrower = |cx: &Cx<'_>, to: Type| -> Result<bool> {
        let from = cx.types.component(cx.type_id(inst.id(0)?)?);
        Ok(from.is_some_and(|from| from.bits() > to.bits()))
    };
    let ty = match inst.op() {
        Op::Bitcast => {
            bitcast(cx, inst)?;
            return Ok(true);
        }
        Op::ConvertFToU
        | Op::ConvertFToS
        | Op::ConvertSToF
        | Op::ConvertUToF
        | Op::UConvert
        | Op::SConvert
        | Op::FConvert => {
            let ty = cx.result_type(inst)?;
            cx.types.component(ty).ok_or_else(|| inst.malformed("the result is neither scalar nor vector"))?
        }
        _ => return Ok(false),
    };
    let to_bfloat = cx.types.is_bfloat(cx.result_type(inst)?);
    // To and from bfloat16 everything goes through 32 bits.
    let ty = if to_bfloat { Type::B32 } else { ty };
    let op = match inst.op() {
        Op::ConvertFToU => AluOp::F2U,
        Op::ConvertFToS => AluOp::F2S,
        Op::ConvertSToF => AluOp::S2F,
        Op::ConvertUToF => AluOp::U2F,
        Op::UConvert | Op::SConvert if narrower(cx, ty)? => AluOp::Trunc,
        Op::UConvert => AluOp::ZExt,
        Op::SConvert => AluOp::SExt,
        // The shader's modes are applied later.
        _ => match modes::own_rounding(cx, inst)? {
            Some(RoundMode::TowardZero) => AluOp::FConvRtz,
            _ => AluOp::FConv,
        },
    };
    let count = cx.types.leaf_count(cx.result_type(inst)?)?;
    let mut from = cx.values_n(inst.id(0)?, count)?;
    if cx.types.is_bfloat(cx.type_id(inst.id(0)?)?) {
        from.iter_mut().for_each(|x| *x = bfloat::widen(&mut cx.b, *x));
    }
    if from.iter().any(|v| !cx.b.ty(*v).is_scalar() || cx.b.ty(*v) == Type::B1) {
        return Err(inst.malformed("not of numbers"));
    }
    let float = |t: Type| matches!(t, Type::B16 | Type::B32 | Type::B64);
    if op.takes_float() && !from.iter().all(|v| float(cx.b.ty(*v))) || op.gives_float() && !float(ty) {
        return Err(inst.malformed("no float has this width"));
    }
    let mut values: LeafValues = from.into_iter().map(|v| cx.b.convert(op, v, ty)).collect();
    if to_bfloat {
        let toward_zero = bfloat::rounds_toward_zero(cx, inst)?;
        values.iter_mut().for_each(|x| *x = bfloat::narrow(&mut cx.b, *x, toward_zero));
    }
    cx.set(inst.result()?, values);
    Ok(true)
}

fn bitcast(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let result = inst.result()?;
    let types = cx.types.leaf_types(cx.result_type(inst)?)?;
    let from = cx.values(inst.id(0)?)?;
    let bits = |types: &mut dyn Iterator<Item = Type>| types.map(|t| t.total_bits()).sum::<u32>();
    let (has, wants) = (bits(&mut from.iter().map(|v| cx.b.ty(*v))), bits(&mut types.iter().copied()));
    let (Some(&first), Some(&to)) = (from.first(), types.first()) else { return Err(inst.malformed("of nothing")) };
    if has != wants || !to.is_scalar() || to == Type::B1 || cx.b.ty(first) == Type::B1 {
        return Err(inst.malformed("between different numbers of bits"));
    }
    if cx.b.ty(first) == to {
        cx.set(result, from);
        return Ok(());
    }
    let Some(whole) = Type::vector(to.bits(), types.len() as u32) else { return Err(inst.malformed("of too much")) };
    let wide = cx.b.compose(&from);
    let cast = cx.b.bitcast(wide, whole);
    let values = cx.b.split(cast);
    cx.set(result, values);
    Ok(())
}

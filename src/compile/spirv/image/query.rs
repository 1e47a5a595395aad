//! Image queries: sizes, levels, samples, and the level that sampling would use.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::operands::{floats, integer};
use super::shape::{self, Sources, base, emit, image_leaf, non_uniform};
use dovetail_base::error::Result;
use dovetail_ir::{Access, AluOp, Dim, ImageOp, LodMode, Type, Value};

/// Size in texels, layers last.
///
/// # Errors
/// Malformed operands.
pub fn size(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let shape = shape::of(cx, ty)?;
    let level = match inst.opt_id(1)? {
        Some(id) => Some(integer(cx, id)?),
        None => None,
    };
    // A level known to be the first needs no operand.
    let level = level.filter(|&l| cx.b.shader.as_const(l) != Some(0));
    let descriptor = image_leaf(cx, inst, id)?;
    let source = Sources { image: Some(descriptor), level, ..Sources::default() };
    let access = Access { non_uniform: non_uniform(cx, id, &[descriptor]), ..Access::default() };
    let mut image = base(shape, ImageOp::QuerySize, access);
    image.lod = if level.is_some() { LodMode::Explicit } else { LodMode::Zero };
    let size = emit(cx, inst, image, &source, Type::DESC4)?;
    let dimensions: &[u32] = match shape.dim {
        Dim::D1 | Dim::Buffer => &[0],
        Dim::D2 | Dim::Rect | Dim::Cube | Dim::SubpassData => &[0, 1],
        Dim::D3 => &[0, 1, 2],
    };
    // Layers are third, even if the second is unused.
    let lanes = dimensions.iter().chain(shape.arrayed.then_some(&2));
    let parts: LeafValues = lanes.map(|&lane| cx.b.extract(size, lane)).collect();
    set_integers(cx, inst, &parts)
}

/// Number of levels or samples, by `op`.
///
/// # Errors
/// Malformed operands.
pub fn count(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: ImageOp) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let shape = shape::of(cx, ty)?;
    let descriptor = image_leaf(cx, inst, id)?;
    let access = Access { non_uniform: non_uniform(cx, id, &[descriptor]), ..Access::default() };
    let source = Sources { image: Some(descriptor), ..Sources::default() };
    let count = emit(cx, inst, base(shape, op, access), &source, Type::B32)?;
    set_integers(cx, inst, &[count])
}

/// Sets an integer result, in the width of its type.
fn set_integers(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, parts: &[Value]) -> Result<()> {
    let ty = cx.result_type(inst)?;
    let (count, want) = (cx.types.leaf_count(ty)?, cx.types.component(ty));
    let (Some(parts), Some(want)) = (parts.get(..count), want) else {
        return Err(inst.malformed("the result has other components than the image has dimensions"));
    };
    let parts: LeafValues = parts.iter().map(|&p| cx.b.zext_or_trunc(p, want)).collect();
    cx.set(inst.result()?, parts);
    Ok(())
}

/// The level that implicit sampling would use, clamped and not.
///
/// # Errors
/// Malformed operands.
pub fn lod(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let id = inst.id(0)?;
    let leaves = cx.values_n(id, 2)?;
    let ty = cx.type_id(id)?;
    let shape = shape::of(cx, ty)?;
    let coords = floats(cx, inst.id(1)?)?;
    let source = Sources { image: Some(leaves[0]), sampler: Some(leaves[1]), coords, ..Sources::default() };
    let access = Access { non_uniform: non_uniform(cx, id, &leaves), ..Access::default() };
    let mut image = base(shape, ImageOp::QueryLod, access);
    image.lod = LodMode::Implicit;
    let levels = emit(cx, inst, image, &source, Type::vector(Type::B32.bits(), 2).unwrap_or(Type::B32))?;
    let parts = cx.b.split(levels);
    let ty = cx.result_type(inst)?;
    let want = cx.types.component(ty).unwrap_or(Type::B32);
    let parts: LeafValues = parts.into_iter().map(|p| cx.b.convert(AluOp::FConv, p, want)).collect();
    cx.set(inst.result()?, parts);
    Ok(())
}

//! Single texels by integer coordinates: fetches, storage images, input attachments, atomics.

use super::super::cx::{Cx, LeafValues, SpirvInst, TexelPointer};
use super::super::operands::saturated;
use super::operands::{self, ImageOperands};
use super::shape::{self, Shape, Sources, base, non_uniform, read_texel, set_texel, texels};
use dovetail_base::error::Result;
use dovetail_ir::{Access, AluOp, AtomicOp, BuiltIn, Dim, ImageOp, LodMode, Op as IrOp, Type, Value};

/// Integer coordinates with layer and offsets, and the common part of fetches, reads and writes.
fn address(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    shape: &mut Shape,
    coords: LeafValues,
    extra: &ImageOperands,
) -> Result<Sources> {
    let mut source = Sources { sample: extra.sample, ..Sources::default() };
    let mut coords = coords;
    if shape.dim == Dim::SubpassData {
        let stage = cx.b.shader.stage;
        if !stage.shades_pixels() {
            return Err(inst.malformed(format!("an input attachment in a {stage} shader, which has no pixel")));
        }
        // The coordinates are relative to the pixel; otherwise it is an ordinary image.
        shape.dim = Dim::D2;
        for (component, c) in (0u8..2).zip(coords.iter_mut()) {
            let position = cx.b.value(IrOp::load_builtin(BuiltIn::FragCoord, component), &[], Type::B32);
            let pixel = cx.b.convert(AluOp::F2S, position, Type::B32);
            *c = cx.b.iadd(pixel, *c);
        }
    }
    for (c, &offset) in coords.iter_mut().zip(&extra.offsets) {
        *c = cx.b.iadd(*c, offset);
    }
    let n = shape.dim.coords();
    if coords.len() < n {
        return Err(inst.malformed(format!("{} coordinates for {:?}", coords.len(), shape.dim)));
    }
    source.layer = coords.get(n).copied();
    coords.truncate(n);
    source.coords = coords;
    source.level = extra.level;
    Ok(source)
}

fn integer_lod(extra: &ImageOperands) -> LodMode {
    if extra.level.is_some() { LodMode::Explicit } else { LodMode::Zero }
}

/// Translates fetches (with a sampled image) and reads, which return a residency code if sparse.
///
/// # Errors
/// Malformed operands.
pub fn read(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, fetch: bool, sparse: bool) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let mut shape = shape::of(cx, ty)?;
    let descriptor = cx.value(id)?;
    let coords = saturated(cx, inst.id(1)?)?;
    let extra = operands::read(cx, inst, 2, false)?;
    // A shader that reads an input attachment never writes it.
    let op = if fetch || shape.dim == Dim::SubpassData { ImageOp::Fetch } else { ImageOp::Load };
    let mut source = address(cx, inst, &mut shape, coords, &extra)?;
    source.image = Some(descriptor);
    let mut image = base(shape, op, access(cx, id, descriptor, &extra));
    image.lod = integer_lod(&extra);
    image.sparse = sparse;
    let texel = read_texel(cx, inst, image, &source, (shape, 4))?;
    set_texel(cx, inst, shape, texel)
}

/// Translates writes.
///
/// # Errors
/// Malformed operands.
pub fn write(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let mut shape = shape::of(cx, ty)?;
    let descriptor = cx.value(id)?;
    let coords = saturated(cx, inst.id(1)?)?;
    let texel = cx.values(inst.id(2)?)?;
    let extra = operands::read(cx, inst, 3, false)?;
    let mut source = address(cx, inst, &mut shape, coords, &extra)?;
    source.image = Some(descriptor);
    let ty = texels(shape, 1);
    let fits = |t: Type| if shape.float { t.can_be_float() } else { t.is_scalar() && t != Type::B1 };
    if !texel.iter().all(|&t| fits(cx.b.ty(t))) {
        return Err(inst.malformed("a texel of another kind than the image's"));
    }
    let convert = |v| if shape.float { cx.b.convert(AluOp::FConv, v, ty) } else { cx.b.zext_or_trunc(v, ty) };
    let parts: LeafValues = texel.into_iter().take(shape.channels).map(convert).collect();
    if parts.is_empty() {
        return Err(inst.malformed("a texel without components"));
    }
    source.data = Some(cx.b.compose(&parts));
    let mut image = base(shape, ImageOp::Store, access(cx, id, descriptor, &extra));
    image.lod = integer_lod(&extra);
    let args = source.args(cx, inst, &image)?;
    cx.b.effect(IrOp::Image(image), &args);
    Ok(())
}

/// Access flags of a storage image: from the operands and from the variable's decorations.
fn access(cx: &Cx<'_>, id: u32, descriptor: Value, extra: &ImageOperands) -> Access {
    let mut access = Access { non_uniform: non_uniform(cx, id, &[descriptor]), ..extra.access };
    if let Some(IrOp::Descriptor { resource, .. }) = cx.b.shader.def(descriptor).map(|i| &i.op)
        && let Some(r) = cx.b.shader.resources.get(resource.index())
    {
        let (coherent, volatile) = cx.shared_access.get(&(r.set, r.binding)).copied().unwrap_or_default();
        access.coherent |= coherent;
        access.volatile |= volatile;
    }
    access
}

/// An atomic operation on a texel, and its operands up to the data, which come last.
///
/// # Errors
/// Malformed: coordinates missing.
pub fn texel_atomic(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    texel: &TexelPointer,
    op: AtomicOp,
    access: Access,
) -> Result<(IrOp, LeafValues)> {
    let shape = shape::of(cx, texel.image_type)?;
    let n = shape.dim.coords();
    let source = Sources {
        image: Some(texel.image),
        layer: texel.coords.get(n).copied(),
        coords: texel.coords.iter().copied().collect(),
        sample: texel.sample,
        ..Sources::default()
    };
    let image = base(shape, ImageOp::Atomic(op), access);
    // A load has the address operands that all atomics share.
    let place = source.args(cx, inst, &base(shape, ImageOp::Atomic(AtomicOp::Load), access))?;
    Ok((IrOp::Image(image), place))
}

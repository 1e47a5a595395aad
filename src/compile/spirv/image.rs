//! Image instructions to [`ImageInst`]: sampling, gathers, fetches, storage images, texel atomics, queries.
//!
//! Everything that can be arithmetic is done here: projective division, offsets of integer coordinates, the pixel
//! position of input attachments, four gathers for four offsets, and the conversion of what came back to the result
//! type. [`Sources`] collects the operands by name and lays them out in the order that [`ImageInst::operands`] tells.

use super::cx::{Cx, Inst, Texel, Ty, TypeId, Values};
use super::float::FloatOps;
use super::image_operands::{self, Extra, float, floats, integer, integers};
use super::parse::Decorated;
use crate::error::{Error, Result};
use crate::ir::{
    Access, AluOp, AtomicOp, BuiltIn, Dim, ImageInst, ImageOp, ImageOperand, LodMode, Op as IrOp, Type, Value,
};
use spirv::{Decoration, Op};

/// What is known of an image from its type.
#[derive(Clone, Copy, Debug)]
struct Shape {
    dim: Dim,
    arrayed: bool,
    multisampled: bool,
    /// Type of a texel's component as SPIR-V has it.
    texel: Type,
    float: bool,
}

/// Operands by name.
#[derive(Debug, Default)]
struct Sources {
    image: Option<Value>,
    sampler: Option<Value>,
    coords: Values,
    layer: Option<Value>,
    sample: Option<Value>,
    compare: Option<Value>,
    level: Option<Value>,
    gradients: [Values; 2],
    offsets: Values,
    min_lod: Option<Value>,
    data: Option<Value>,
    atomic_compare: Option<Value>,
}

impl Sources {
    fn get(&self, operand: ImageOperand) -> Option<Value> {
        use ImageOperand as O;
        let nth = |values: &Values, n: u8| values.get(usize::from(n)).copied();
        match operand {
            O::Image => self.image,
            O::Sampler => self.sampler,
            O::Coord(n) => nth(&self.coords, n),
            O::Layer => self.layer,
            O::SampleIndex => self.sample,
            O::Compare => self.compare,
            O::Lod => self.level,
            O::GradX(n) => nth(&self.gradients[0], n),
            O::GradY(n) => nth(&self.gradients[1], n),
            O::Offset(n) => nth(&self.offsets, n),
            O::MinLod => self.min_lod,
            O::Data => self.data,
            O::AtomicCompare => self.atomic_compare,
        }
    }

    fn args(&self, inst: &Inst, image: &ImageInst) -> Result<Vec<Value>> {
        let missing = |o| inst.malformed(format!("image operand {o:?} is missing"));
        image.operands().into_iter().map(|o| self.get(o).ok_or_else(|| missing(o))).collect()
    }
}

/// A sampling instruction, taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sampling {
    gather: bool,
    compare: bool,
    projective: bool,
}

/// Translates an image instruction; false: not one.
///
/// # Errors
/// Malformed operands; unsupported: sparse residency, some rare forms.
pub fn translate(cx: &mut Cx<'_>, inst: &Inst) -> Result<bool> {
    let kind = |gather, compare, projective| Sampling { gather, compare, projective };
    match inst.op() {
        Op::SampledImage => {
            let parts = [cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?];
            cx.set(inst.result()?, Values::from_slice(&parts));
        }
        Op::Image => {
            let image = image_leaf(cx, inst, inst.id(0)?)?;
            cx.set(inst.result()?, Values::from_slice(&[image]));
        }
        Op::ImageSampleImplicitLod | Op::ImageSampleExplicitLod => sample(cx, inst, kind(false, false, false))?,
        Op::ImageSampleDrefImplicitLod | Op::ImageSampleDrefExplicitLod => sample(cx, inst, kind(false, true, false))?,
        Op::ImageSampleProjImplicitLod | Op::ImageSampleProjExplicitLod => sample(cx, inst, kind(false, false, true))?,
        Op::ImageSampleProjDrefImplicitLod | Op::ImageSampleProjDrefExplicitLod => {
            sample(cx, inst, kind(false, true, true))?;
        }
        Op::ImageGather => sample(cx, inst, kind(true, false, false))?,
        Op::ImageDrefGather => sample(cx, inst, kind(true, true, false))?,
        Op::ImageFetch | Op::ImageRead => read(cx, inst)?,
        Op::ImageWrite => write(cx, inst)?,
        Op::ImageQuerySizeLod | Op::ImageQuerySize => query_size(cx, inst)?,
        Op::ImageQueryLevels => query_count(cx, inst, ImageOp::QueryLevels)?,
        Op::ImageQuerySamples => query_count(cx, inst, ImageOp::QuerySamples)?,
        Op::ImageQueryLod => query_lod(cx, inst)?,
        op if format!("{op:?}").starts_with("ImageSparse") => return Err(inst.unsupported("sparse residency")),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The image of an image or a sampled image.
fn image_leaf(cx: &mut Cx<'_>, inst: &Inst, id: u32) -> Result<Value> {
    cx.values(id)?.first().copied().ok_or_else(|| inst.malformed("not an image"))
}

fn shape(cx: &Cx<'_>, mut ty: TypeId) -> Result<Shape> {
    if let Ty::SampledImage { image } = *cx.types.get(ty) {
        ty = image;
    }
    let Ty::Image { sampled_type, dim, arrayed, ms, .. } = *cx.types.get(ty) else {
        return Err(Error::malformed("not an image"));
    };
    let dim = match dim {
        spirv::Dim::Dim1D => Dim::D1,
        spirv::Dim::Dim2D => Dim::D2,
        spirv::Dim::Dim3D => Dim::D3,
        spirv::Dim::DimCube => Dim::Cube,
        spirv::Dim::DimRect => Dim::Rect,
        spirv::Dim::DimBuffer => Dim::Buffer,
        spirv::Dim::DimSubpassData => Dim::SubpassData,
        other => return Err(Error::unsupported(format!("image {other:?}"), "")),
    };
    let texel = cx.types.scalar(sampled_type).ok_or_else(|| Error::unsupported("image of untyped texels", ""))?;
    Ok(Shape { dim, arrayed, multisampled: ms, texel, float: cx.types.is_float(sampled_type) })
}

/// An operation on an image of this shape, to be completed.
fn base(shape: Shape, op: ImageOp, access: Access) -> ImageInst {
    ImageInst {
        op,
        dim: shape.dim,
        arrayed: shape.arrayed,
        multisampled: shape.multisampled,
        lod: LodMode::Zero,
        compare: false,
        offset: false,
        min_lod: false,
        access,
    }
}

/// Whether a descriptor may differ between lanes: the id says so, or the index it was loaded with did.
fn non_uniform(cx: &Cx<'_>, id: u32, leaves: &[Value]) -> bool {
    let indexed =
        |&v: &Value| matches!(cx.b.shader.def(v).map(|i| &i.op), Some(IrOp::Descriptor { non_uniform: true, .. }));
    cx.non_uniform(id) || leaves.iter().any(indexed)
}

fn sample(cx: &mut Cx<'_>, inst: &Inst, kind: Sampling) -> Result<()> {
    let id = inst.id(0)?;
    let leaves = cx.values_n(id, 2)?;
    let ty = cx.type_id(id)?;
    let shape = shape(cx, ty)?;
    let coordinate = floats(cx, inst.id(1)?)?;
    // The comparator or the gathered component comes third.
    let third = kind.compare || kind.gather;
    let mut compare = if kind.compare { Some(float(cx, inst.id(2)?)?) } else { None };
    let extra = image_operands::read(cx, inst, 2 + usize::from(third), true)?;
    let mut source = Sources { image: Some(leaves[0]), sampler: Some(leaves[1]), ..Sources::default() };
    let n = shape.dim.coords();
    source.coords = coordinate.iter().copied().take(n).collect();
    if kind.projective {
        let q = *coordinate.get(n).ok_or_else(|| inst.malformed("a projective coordinate ends with its divisor"))?;
        source.coords = source.coords.iter().map(|&c| cx.b.fdiv(c, q)).collect();
        compare = compare.map(|c| cx.b.fdiv(c, q));
    } else {
        source.layer = coordinate.get(n).copied();
    }
    source.compare = compare;
    let op = match (kind.gather, kind.compare) {
        (false, _) => ImageOp::Sample,
        (true, true) => ImageOp::Gather(0),
        (true, false) => match cx.const_u32(inst.id(2)?)? {
            n if n < 4 => ImageOp::Gather(n as u8),
            n => return Err(inst.malformed(format!("component {n}"))),
        },
    };
    let mut access = extra.access;
    access.non_uniform = non_uniform(cx, id, &leaves);
    let mut image = base(shape, op, access);
    image.compare = kind.compare;
    // A gather without a level takes the base level.
    let base_level = kind.gather && extra.lod == LodMode::Implicit;
    image.lod = if base_level { LodMode::Zero } else { extra.lod };
    let gather_offsets = complete(&mut image, &mut source, extra);
    let parts = if gather_offsets.is_empty() {
        let ty = texels(shape, if kind.compare && !kind.gather { 1 } else { 4 });
        let v = emit(cx, inst, image, &source, ty)?;
        cx.b.split(v)
    } else {
        // Each gather gives its own lower left texel.
        image.offset = true;
        let mut parts = Values::new();
        for offsets in gather_offsets {
            source.offsets = offsets;
            let four = emit(cx, inst, image, &source, texels(shape, 4))?;
            parts.push(cx.b.extract(four, 3));
        }
        parts
    };
    set_texel(cx, inst, shape, &parts)
}

/// Moves what the image operands said into an operation that samples; gives the offsets of separate gathers.
fn complete(image: &mut ImageInst, source: &mut Sources, extra: Extra) -> Vec<Values> {
    source.level = extra.level;
    source.gradients = extra.gradients;
    image.offset = !extra.offsets.is_empty();
    source.offsets = extra.offsets;
    image.min_lod = extra.min_lod.is_some();
    source.min_lod = extra.min_lod;
    extra.gather_offsets
}

/// `lanes` components as the operation gives them: 64 bits, or 32.
fn texels(shape: Shape, lanes: u32) -> Type {
    let bits = if shape.texel == Type::B64 { Type::B64.bits() } else { Type::B32.bits() };
    Type::vector(bits, lanes).unwrap_or(Type::scalar(bits))
}

fn emit(cx: &mut Cx<'_>, inst: &Inst, image: ImageInst, source: &Sources, ty: Type) -> Result<Value> {
    let args = source.args(inst, &image)?;
    Ok(cx.b.value(IrOp::Image(image), &args, ty))
}

/// Sets the result of an instruction to as many texel components as its type has, in their width.
fn set_texel(cx: &mut Cx<'_>, inst: &Inst, shape: Shape, parts: &[Value]) -> Result<()> {
    let ty = cx.result_type(inst)?;
    let count = cx.types.leaf_count(ty)?;
    let want = cx.types.component(ty).ok_or_else(|| inst.malformed("a texel is a scalar or vector"))?;
    let parts = parts.get(..count).ok_or_else(|| inst.malformed(format!("a texel has no {count} components")))?;
    let parts: Values = parts.iter().map(|&p| from_texel(cx, shape, p, want)).collect();
    cx.set(inst.result()?, parts);
    Ok(())
}

fn from_texel(cx: &mut Cx<'_>, shape: Shape, v: Value, want: Type) -> Value {
    if shape.float { cx.b.convert(AluOp::FConv, v, want) } else { cx.b.zext_or_trunc(v, want) }
}

/// Integer coordinates with layer and offsets, and what is common to fetches, reads and writes.
fn address(cx: &mut Cx<'_>, inst: &Inst, shape: &mut Shape, coords: Values, extra: &Extra) -> Result<Sources> {
    let mut source = Sources { sample: extra.sample, ..Sources::default() };
    let mut coords = coords;
    if shape.dim == Dim::SubpassData {
        // Relative to the pixel; from here on an ordinary image.
        shape.dim = Dim::D2;
        for (component, c) in (0u8..2).zip(coords.iter_mut()) {
            let position = cx.b.value(IrOp::LoadBuiltIn { builtin: BuiltIn::FragCoord, component }, &[], Type::B32);
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

fn integer_lod(extra: &Extra) -> LodMode {
    if extra.level.is_some() { LodMode::Explicit } else { LodMode::Zero }
}

fn read(cx: &mut Cx<'_>, inst: &Inst) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let mut shape = shape(cx, ty)?;
    let descriptor = cx.value(id)?;
    let coords = integers(cx, inst.id(1)?)?;
    let extra = image_operands::read(cx, inst, 2, false)?;
    // An input attachment is never written by whom it is read.
    let op = if inst.op() == Op::ImageFetch || shape.dim == Dim::SubpassData { ImageOp::Fetch } else { ImageOp::Load };
    let mut source = address(cx, inst, &mut shape, coords, &extra)?;
    source.image = Some(descriptor);
    let mut image = base(shape, op, access(cx, id, descriptor, &extra));
    image.lod = integer_lod(&extra);
    let texel = emit(cx, inst, image, &source, texels(shape, 4))?;
    let parts = cx.b.split(texel);
    set_texel(cx, inst, shape, &parts)
}

fn write(cx: &mut Cx<'_>, inst: &Inst) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let mut shape = shape(cx, ty)?;
    let descriptor = cx.value(id)?;
    let coords = integers(cx, inst.id(1)?)?;
    let texel = cx.values(inst.id(2)?)?;
    let extra = image_operands::read(cx, inst, 3, false)?;
    let mut source = address(cx, inst, &mut shape, coords, &extra)?;
    source.image = Some(descriptor);
    let ty = texels(shape, 1);
    let convert = |v| if shape.float { cx.b.convert(AluOp::FConv, v, ty) } else { cx.b.zext_or_trunc(v, ty) };
    let parts: Values = texel.into_iter().take(4).map(convert).collect();
    if parts.is_empty() {
        return Err(inst.malformed("a texel without components"));
    }
    source.data = Some(cx.b.compose(&parts));
    let mut image = base(shape, ImageOp::Store, access(cx, id, descriptor, &extra));
    image.lod = integer_lod(&extra);
    let args = source.args(inst, &image)?;
    cx.b.effect(IrOp::Image(image), &args);
    Ok(())
}

/// How a storage image is accessed: by the operands, and by what the variable is decorated with.
fn access(cx: &Cx<'_>, id: u32, descriptor: Value, extra: &Extra) -> Access {
    let mut access = Access { non_uniform: non_uniform(cx, id, &[descriptor]), ..extra.access };
    if let Some(IrOp::Descriptor { resource, .. }) = cx.b.shader.def(descriptor).map(|i| &i.op)
        && let Some(r) = cx.b.shader.resources.get(resource.index())
    {
        let at_binding = |d: &&Decorated| {
            d.decoration == Decoration::Binding
                && d.value == Some(r.binding)
                && cx.module.decoration(d.target, Decoration::DescriptorSet) == Some(r.set)
        };
        for variable in cx.module.decorations.iter().filter(at_binding) {
            access.coherent |= cx.module.is_decorated(variable.target, Decoration::Coherent);
            access.volatile |= cx.module.is_decorated(variable.target, Decoration::Volatile);
        }
    }
    access
}

/// An atomic operation on a texel.
///
/// # Errors
/// Malformed: coordinates missing.
pub fn texel_atomic(
    cx: &mut Cx<'_>,
    inst: &Inst,
    texel: &Texel,
    op: AtomicOp,
    access: Access,
    data: &[Value],
    ty: Type,
) -> Result<Value> {
    let shape = shape(cx, texel.image_type)?;
    let n = shape.dim.coords();
    let coords: Values = texel.coords.iter().map(|&c| image_operands::to_b32(cx, c)).collect();
    let source = Sources {
        image: Some(texel.image),
        layer: coords.get(n).copied(),
        coords,
        sample: texel.sample.map(|s| image_operands::to_b32(cx, s)),
        data: data.first().copied(),
        atomic_compare: data.get(1).copied(),
        ..Sources::default()
    };
    emit(cx, inst, base(shape, ImageOp::Atomic(op), access), &source, ty)
}

fn query_size(cx: &mut Cx<'_>, inst: &Inst) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let shape = shape(cx, ty)?;
    let level = match inst.opt_id(1)? {
        Some(id) => Some(integer(cx, id)?),
        None => None,
    };
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
    // Layers stand third, whatever is unused before them.
    let lanes = dimensions.iter().chain(shape.arrayed.then_some(&2));
    let parts: Values = lanes.map(|&lane| cx.b.extract(size, lane)).collect();
    set_integers(cx, inst, &parts)
}

fn query_count(cx: &mut Cx<'_>, inst: &Inst, op: ImageOp) -> Result<()> {
    let id = inst.id(0)?;
    let ty = cx.type_id(id)?;
    let shape = shape(cx, ty)?;
    let descriptor = image_leaf(cx, inst, id)?;
    let access = Access { non_uniform: non_uniform(cx, id, &[descriptor]), ..Access::default() };
    let source = Sources { image: Some(descriptor), ..Sources::default() };
    let count = emit(cx, inst, base(shape, op, access), &source, Type::B32)?;
    set_integers(cx, inst, &[count])
}

/// Sets a result of integers, in the width of its type.
fn set_integers(cx: &mut Cx<'_>, inst: &Inst, parts: &[Value]) -> Result<()> {
    let ty = cx.result_type(inst)?;
    let (count, want) = (cx.types.leaf_count(ty)?, cx.types.component(ty));
    let (Some(parts), Some(want)) = (parts.get(..count), want) else {
        return Err(inst.malformed("the result has other components than the image has dimensions"));
    };
    let parts: Values = parts.iter().map(|&p| cx.b.zext_or_trunc(p, want)).collect();
    cx.set(inst.result()?, parts);
    Ok(())
}

fn query_lod(cx: &mut Cx<'_>, inst: &Inst) -> Result<()> {
    let id = inst.id(0)?;
    let leaves = cx.values_n(id, 2)?;
    let ty = cx.type_id(id)?;
    let shape = shape(cx, ty)?;
    let coords = floats(cx, inst.id(1)?)?;
    let source = Sources { image: Some(leaves[0]), sampler: Some(leaves[1]), coords, ..Sources::default() };
    let access = Access { non_uniform: non_uniform(cx, id, &leaves), ..Access::default() };
    let mut image = base(shape, ImageOp::QueryLod, access);
    image.lod = LodMode::Implicit;
    let levels = emit(cx, inst, image, &source, Type::vector(Type::B32.bits(), 2).unwrap_or(Type::B32))?;
    let parts = cx.b.split(levels);
    let ty = cx.result_type(inst)?;
    let want = cx.types.component(ty).unwrap_or(Type::B32);
    let parts: Values = parts.into_iter().map(|p| cx.b.convert(AluOp::FConv, p, want)).collect();
    cx.set(inst.result()?, parts);
    Ok(())
}

//! Common parts of image instructions: the shape of an image, operands by name, and conversion between texels and
//! results.

use super::super::cx::{Cx, LeafValues, SpirvInst, Ty, TypeId};
use super::super::operands::from_words;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, AluOp, Dim, ImageInst, ImageOp, ImageOperand, LodMode, Op as IrOp, Type, Value};

/// Shape of an image, from its type.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Dimensionality.
    pub dim: Dim,
    /// Whether it has layers.
    pub arrayed: bool,
    /// Whether it has samples.
    pub multisampled: bool,
    /// Type of a texel's component in SPIR-V.
    pub texel: Type,
    /// Whether its texels are floats.
    pub float: bool,
    /// Number of channels of a storage image's format; 4 if unknown.
    pub channels: usize,
}

/// Operands by name.
#[derive(Debug, Default)]
pub struct Sources {
    /// Image descriptor.
    pub image: Option<Value>,
    /// Sampler descriptor.
    pub sampler: Option<Value>,
    /// Coordinates, one per dimension.
    pub coords: LeafValues,
    /// Array layer.
    pub layer: Option<Value>,
    /// Sample index.
    pub sample: Option<Value>,
    /// Depth comparator.
    pub compare: Option<Value>,
    /// Bias or level.
    pub level: Option<Value>,
    /// Derivatives in x, then in y.
    pub gradients: [LeafValues; 2],
    /// Texel offsets.
    pub offsets: LeafValues,
    /// Minimum level.
    pub min_lod: Option<Value>,
    /// Data to store.
    pub data: Option<Value>,
}

impl Sources {
    fn get(&self, operand: ImageOperand) -> Option<Value> {
        use ImageOperand as O;
        let nth = |values: &LeafValues, n: u8| values.get(usize::from(n)).copied();
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
            // Atomic operands follow the address operands.
            O::AtomicCompare => None,
        }
    }

    /// The operands in the order of the IR.
    ///
    /// # Errors
    /// Malformed: one is missing, the descriptor does not match, or images of this type do not allow the operation.
    pub fn args(&self, cx: &Cx<'_>, inst: &SpirvInst<'_>, image: &ImageInst) -> Result<LeafValues> {
        let buffer = image.dim == Dim::Buffer;
        let filtered = matches!(image.op, ImageOp::Sample | ImageOp::Gather(_) | ImageOp::QueryLod);
        if buffer && (filtered || matches!(image.op, ImageOp::QueryLevels | ImageOp::QuerySamples)) {
            return Err(inst.malformed("a texel buffer has neither filter nor levels nor samples"));
        }
        if filtered && image.multisampled {
            return Err(inst.malformed("an image with samples is not filtered"));
        }
        let descriptor = if buffer { Type::DESC4 } else { Type::DESC8 };
        if self.image.is_some_and(|v| cx.b.ty(v) != descriptor) || (buffer && image.lod == LodMode::Gradient) {
            return Err(inst.malformed("the image is of another kind than its type"));
        }
        let missing = |o| inst.malformed(format!("image operand {o:?} is missing"));
        image.operands().into_iter().map(|o| self.get(o).ok_or_else(|| missing(o))).collect()
    }
}

/// The image of an image or a sampled image.
///
/// # Errors
/// Malformed: it is neither.
pub fn image_leaf(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, id: u32) -> Result<Value> {
    cx.values(id)?.first().copied().ok_or_else(|| inst.malformed("not an image"))
}

/// The shape of an image type, or of a sampled image's image.
///
/// # Errors
/// Malformed: not an image; unsupported: a rare one.
pub fn of(cx: &Cx<'_>, mut ty: TypeId) -> Result<Shape> {
    if let Ty::SampledImage { image } = *cx.types.get(ty) {
        ty = image;
    }
    let Ty::Image { sampled_type, dim, arrayed, ms, format, .. } = *cx.types.get(ty) else {
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
    if dim == Dim::Buffer && (arrayed || ms) {
        return Err(Error::malformed("a texel buffer with layers or samples"));
    }
    if dim == Dim::D3 && arrayed {
        return Err(Error::malformed("an image of three dimensions with layers"));
    }
    let texel = cx.types.scalar(sampled_type).ok_or_else(|| Error::unsupported("image of untyped texels", ""))?;
    Ok(Shape {
        dim,
        arrayed,
        multisampled: ms,
        texel,
        float: cx.types.is_float(sampled_type),
        channels: channels(format),
    })
}

fn channels(format: spirv::ImageFormat) -> usize {
    use spirv::ImageFormat as F;
    match format {
        F::R32f | F::R16f | F::R32i | F::R16i | F::R8i | F::R32ui | F::R16ui | F::R8ui | F::R64i | F::R64ui => 1,
        F::R16 | F::R8 | F::R16Snorm | F::R8Snorm => 1,
        F::Rg32f | F::Rg16f | F::Rg32i | F::Rg16i | F::Rg8i | F::Rg32ui | F::Rg16ui | F::Rg8ui => 2,
        F::Rg16 | F::Rg8 | F::Rg16Snorm | F::Rg8Snorm => 2,
        _ => 4,
    }
}

/// An operation on an image of this shape, to be completed.
pub fn base(shape: Shape, op: ImageOp, access: Access) -> ImageInst {
    ImageInst {
        op,
        dim: shape.dim,
        arrayed: shape.arrayed,
        multisampled: shape.multisampled,
        lod: LodMode::Zero,
        compare: false,
        offset: false,
        min_lod: false,
        sparse: false,
        access,
    }
}

/// Whether a descriptor may differ between lanes, by the id's decoration or by the index with which it was loaded.
pub fn non_uniform(cx: &Cx<'_>, id: u32, leaves: &[Value]) -> bool {
    let indexed =
        |&v: &Value| matches!(cx.b.shader.def(v).map(|i| &i.op), Some(IrOp::Descriptor { non_uniform: true, .. }));
    cx.non_uniform(id) || leaves.iter().any(indexed)
}

/// Type of `lanes` components as the operation returns them: 64 bits each, or 32.
pub fn texels(shape: Shape, lanes: u32) -> Type {
    let bits = if shape.texel == Type::B64 { Type::B64.bits() } else { Type::B32.bits() };
    Type::vector(bits, lanes).unwrap_or(Type::scalar(bits))
}

/// A texel that was read.
pub struct TexelRead {
    /// Its components.
    pub parts: LeafValues,
    /// Residency code of a sparse operation: 0 if all of it is resident.
    pub code: Option<Value>,
}

/// Appends an operation with a result of this type.
///
/// # Errors
/// Malformed: an operand is missing.
pub fn emit(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, image: ImageInst, source: &Sources, ty: Type) -> Result<Value> {
    let args = source.args(cx, inst, &image)?;
    Ok(cx.b.value(IrOp::Image(image), &args, ty))
}

/// Appends an operation that reads `lanes` components of a texel.
///
/// # Errors
/// Malformed: an operand is missing. Unsupported: residency of filtered texels of 64 bits.
pub fn read_texel(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    image: ImageInst,
    source: &Sources,
    (shape, lanes): (Shape, u32),
) -> Result<TexelRead> {
    // One word after another, since the code has one word: a texel of 64 bits has one component.
    if image.sparse && shape.texel == Type::B64 {
        if !matches!(image.op, ImageOp::Fetch | ImageOp::Load) {
            return Err(inst.unsupported("residency of a filtered texel of 64 bits"));
        }
        let words = Type::vector(Type::B32.bits(), 3).unwrap_or(Type::B32);
        let v = emit(cx, inst, image, source, words)?;
        let mut parts: LeafValues = cx.b.split(v).into_iter().collect();
        let code = parts.pop();
        let texel = from_words(&mut cx.b, &parts);
        let (zero, one) = (cx.b.iconst(Type::B64, 0), cx.b.iconst(Type::B64, 1));
        return Ok(TexelRead { parts: [texel, zero, zero, one].into_iter().collect(), code });
    }
    let v = emit(cx, inst, image, source, texels(shape, lanes + u32::from(image.sparse)))?;
    let mut parts: LeafValues = cx.b.split(v).into_iter().collect();
    let code = if image.sparse { parts.pop() } else { None };
    Ok(TexelRead { parts, code })
}

/// Sets the result of an instruction to as many texel components as its type has, in their width; a sparse one's to a
/// structure of the code and the texel.
///
/// # Errors
/// Malformed: the result type is not that of a texel.
pub fn set_texel(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    shape: Shape,
    TexelRead { parts, code }: TexelRead,
) -> Result<()> {
    let mut ty = cx.result_type(inst)?;
    let mut first = None;
    if let Some(code) = code {
        let members = match cx.types.get(ty) {
            Ty::Struct { members, .. } => cx.types.members(*members),
            _ => &[],
        };
        let [number, texel] = members else { return Err(inst.malformed("no structure of a code and a texel")) };
        let (number, texel) = (number.ty, texel.ty);
        let number = cx.types.scalar(number).filter(|ty| *ty != Type::B1);
        let number = number.ok_or_else(|| inst.malformed("a residency code is an integer"))?;
        first = Some(cx.b.zext_or_trunc(code, number));
        ty = texel;
    }
    let count = cx.types.leaf_count(ty)?;
    let want = cx.types.component(ty).ok_or_else(|| inst.malformed("a texel is a scalar or vector"))?;
    let parts = parts.get(..count).ok_or_else(|| inst.malformed(format!("a texel has no {count} components")))?;
    let parts: LeafValues = parts.iter().map(|&p| from_texel(cx, shape, p, want)).collect();
    let all: LeafValues = first.into_iter().chain(parts).collect();
    cx.set(inst.result()?, all);
    Ok(())
}

fn from_texel(cx: &mut Cx<'_>, shape: Shape, v: Value, want: Type) -> Value {
    if shape.float { cx.b.convert(AluOp::FConv, v, want) } else { cx.b.zext_or_trunc(v, want) }
}

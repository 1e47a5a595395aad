//! The optional operands of image instructions, decoded and converted to the IR's form.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::super::operands::saturated;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, AluOp, LodMode, Type, Value};
use rspirv::dr::Operand;
use spirv::ImageOperands as Mask;

/// Operands of an image instruction besides image, coordinate and comparator.
#[derive(Debug)]
pub struct ImageOperands {
    /// Source of the level of detail.
    pub lod: LodMode,
    /// Bias or level, by `lod`.
    pub level: Option<Value>,
    /// Derivatives by `lod`.
    pub gradients: [LeafValues; 2],
    /// Texel offsets, empty if all are zero.
    pub offsets: LeafValues,
    /// One offset per texel of a gather.
    pub gather_offsets: Vec<LeafValues>,
    /// Sample index.
    pub sample: Option<Value>,
    /// Minimum level.
    pub min_lod: Option<Value>,
    /// Memory access flags.
    pub access: Access,
}

/// Reads the image operands that start at operand `at`. Levels are floats if `float_level`, else integers.
///
/// # Errors
/// Malformed: operands missing or of the wrong kind.
pub fn read(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize, float_level: bool) -> Result<ImageOperands> {
    let mut extra = ImageOperands {
        lod: LodMode::Implicit,
        level: None,
        gradients: Default::default(),
        offsets: LeafValues::new(),
        gather_offsets: Vec::new(),
        sample: None,
        min_lod: None,
        access: Access::default(),
    };
    let mask = match inst.operands.get(at) {
        Some(Operand::ImageOperands(mask)) => *mask,
        None => return Ok(extra),
        _ => return Err(inst.malformed("image operands expected")),
    };
    // Operands follow in the order of their bits.
    let mut next = at + 1;
    let mut id = || {
        next += 1;
        inst.id(next - 1)
    };
    if mask.contains(Mask::BIAS) {
        extra.lod = LodMode::Bias;
        extra.level = Some(float(cx, id()?)?);
    }
    if mask.contains(Mask::LOD) {
        let id = id()?;
        let level = if float_level { float(cx, id)? } else { integer(cx, id)? };
        // Zero has the same bits in both.
        let zero = cx.b.shader.as_const(level) == Some(0);
        (extra.lod, extra.level) = if zero { (LodMode::Zero, None) } else { (LodMode::Explicit, Some(level)) };
    }
    if mask.contains(Mask::GRAD) {
        extra.lod = LodMode::Gradient;
        extra.gradients = [floats(cx, id()?)?, floats(cx, id()?)?];
    }
    if mask.contains(Mask::CONST_OFFSET) {
        extra.offsets = offsets(cx, id()?)?;
    }
    if mask.contains(Mask::OFFSET) {
        extra.offsets = offsets(cx, id()?)?;
    }
    if mask.contains(Mask::CONST_OFFSETS) {
        extra.gather_offsets = gather_offsets(cx, inst, id()?)?;
    }
    if mask.contains(Mask::SAMPLE) {
        extra.sample = Some(integer(cx, id()?)?);
    }
    if mask.contains(Mask::MIN_LOD) {
        extra.min_lod = Some(float(cx, id()?)?);
    }
    for bit in [Mask::MAKE_TEXEL_AVAILABLE, Mask::MAKE_TEXEL_VISIBLE] {
        if mask.contains(bit) {
            id()?;
            extra.access.coherent = true;
        }
    }
    extra.access.volatile = mask.contains(Mask::VOLATILE_TEXEL);
    extra.access.nontemporal = mask.contains(Mask::NONTEMPORAL);
    if mask.contains(Mask::OFFSETS) {
        extra.gather_offsets = gather_offsets(cx, inst, id()?)?;
    }
    Ok(extra)
}

/// A float scalar in 32 bits.
///
/// # Errors
/// Malformed: not a scalar.
pub fn float(cx: &mut Cx<'_>, id: u32) -> Result<Value> {
    let v = cx.value(id)?;
    to_f32(cx, id, v)
}

/// Float components in 32 bits.
///
/// # Errors
/// Malformed: not a value.
pub fn floats(cx: &mut Cx<'_>, id: u32) -> Result<LeafValues> {
    cx.values(id)?.into_iter().map(|v| to_f32(cx, id, v)).collect()
}

fn to_f32(cx: &mut Cx<'_>, id: u32, v: Value) -> Result<Value> {
    if !cx.b.ty(v).can_be_float() {
        return Err(Error::malformed(format!("%{id} is not a float")));
    }
    Ok(cx.b.convert(AluOp::FConv, v, Type::B32))
}

/// An integer scalar in 32 bits.
///
/// # Errors
/// Malformed: not a scalar.
pub fn integer(cx: &mut Cx<'_>, id: u32) -> Result<Value> {
    match saturated(cx, id)?.as_slice() {
        [one] => Ok(*one),
        many => Err(Error::malformed(format!("%{id} has {} components where one is needed", many.len()))),
    }
}

fn offsets(cx: &mut Cx<'_>, id: u32) -> Result<LeafValues> {
    let offsets = saturated(cx, id)?;
    let none = offsets.iter().all(|&v| cx.b.shader.as_const(v) == Some(0));
    Ok(if none { LeafValues::new() } else { offsets })
}

/// An array of four two-component vectors.
fn gather_offsets(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, id: u32) -> Result<Vec<LeafValues>> {
    let all = saturated(cx, id)?;
    if all.len() != 8 {
        return Err(inst.malformed("not four offsets of two components"));
    }
    Ok(all.chunks(2).map(LeafValues::from_slice).collect())
}

//! Sampling and gathering: the image instructions that take a sampler and float coordinates.

use super::super::cx::{Cx, LeafValues, SpirvInst};
use super::super::float::FloatOps;
use super::operands::{self, ImageOperands, float, floats};
use super::shape::{self, Sources, TexelRead, base, non_uniform, read_texel, set_texel};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, ImageInst, ImageOp, LodMode};
use spirv::Capability;

/// The variant of a sampling instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SampleKind {
    /// Whether it gathers four unfiltered texels.
    pub gather: bool,
    /// Whether it has a depth comparator.
    pub compare: bool,
    /// Whether the coordinate ends with its divisor.
    pub projective: bool,
    /// Whether the result has a residency code.
    pub sparse: bool,
}

/// Translates a sampling instruction.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, kind: SampleKind) -> Result<()> {
    let id = inst.id(0)?;
    let leaves = cx.values_n(id, 2)?;
    let ty = cx.type_id(id)?;
    let shape = shape::of(cx, ty)?;
    let coordinate = floats(cx, inst.id(1)?)?;
    // The comparator or the gathered component is the third operand.
    let third = kind.compare || kind.gather;
    let mut compare = if kind.compare { Some(float(cx, inst.id(2)?)?) } else { None };
    let extra = operands::read(cx, inst, 2 + usize::from(third), true)?;
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
    image.sparse = kind.sparse;
    let base_level = kind.gather && extra.lod == LodMode::Implicit && !gathers_implicitly(cx);
    image.lod = if base_level { LodMode::Zero } else { extra.lod };
    let gather_offsets = complete(&mut image, &mut source, extra);
    if gather_offsets.is_empty() {
        let lanes = if kind.compare && !kind.gather { 1 } else { 4 };
        let texel = read_texel(cx, inst, image, &source, (shape, lanes))?;
        return set_texel(cx, inst, shape, texel);
    }
    // Each gather returns its own lower left texel.
    image.offset = true;
    let mut all = TexelRead { parts: LeafValues::new(), code: None };
    for offsets in gather_offsets {
        source.offsets = offsets;
        let one = read_texel(cx, inst, image, &source, (shape, 4))?;
        all.parts.extend(one.parts.last().copied());
        all.code = match (all.code, one.code) {
            (Some(a), Some(b)) => Some(cx.b.alu(AluOp::IOr, &[a, b])),
            (a, b) => a.or(b),
        };
    }
    set_texel(cx, inst, shape, all)
}

/// Whether gathers without a level use the implicit one, not the base level: in fragment shaders of modules with
/// `SPV_AMD_texture_gather_bias_lod`.
fn gathers_implicitly(cx: &Cx<'_>) -> bool {
    cx.b.shader.stage.shades_pixels() && cx.module.capabilities.contains(&Capability::ImageGatherBiasLodAMD)
}

/// Moves the image operands into a sampling operation; returns the offsets of separate gathers.
fn complete(image: &mut ImageInst, source: &mut Sources, extra: ImageOperands) -> Vec<LeafValues> {
    source.level = extra.level;
    source.gradients = extra.gradients;
    image.offset = !extra.offsets.is_empty();
    source.offsets = extra.offsets;
    image.min_lod = extra.min_lod.is_some();
    source.min_lod = extra.min_lod;
    extra.gather_offsets
}

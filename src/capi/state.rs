//! Conversion of the header's structs, which `raw` has copied and checked, to the types of `state`: numbers to enums, bits to
//! booleans.

use super::guard::{Answer, Failure, argument};
use super::types::*;
use dovetail_base::error::Error;
use dovetail_base::kinds::ResourceKind;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_link::Placement;
use dovetail_runtime::PipelineFlags;
use dovetail_state::{
    BindingKind, BindingLayout, ColorAttachment as Attachment, ColorState, PipelineState, PrimitiveKind, RasterState,
    VertexAttribute as Attribute, VertexBinding as Buffer, VertexInputState, VertexRate, VkFormat,
};

/// The bits of the user clip planes.
const CLIP_PLANES: u32 = 0x3f;

/// A placement; none for `DVT_AUTO`.
pub(super) fn place(number: u32) -> Option<u32> {
    (number != DVT_AUTO).then_some(number)
}

/// Checks that no bits but the known ones are set.
pub(super) fn bits(what: &str, given: u32, known: u32) -> Answer<()> {
    match given & !known {
        0 => Ok(()),
        unknown if known == 0 => argument(format!("{what} {unknown:#x} is unknown: must be 0")),
        unknown => argument(format!("{what} {unknown:#x} is unknown: bits of {known:#x} are allowed")),
    }
}

pub(super) fn target(number: u32) -> Answer<Gpu> {
    let known = || Gpu::all().map(|gpu| format!("{:#x} ({gpu})", gpu.elf_flags())).collect::<Vec<_>>().join(", ");
    Gpu::of_elf_flags(number).or_else(|_| argument(format!("target {number:#x}: {} are allowed", known())))
}

pub(super) fn stage(number: u32) -> Answer<Stage> {
    match number {
        1 => Ok(Stage::Vertex),
        16 => Ok(Stage::Fragment),
        32 => Ok(Stage::Compute),
        2 | 4 | 8 => {
            Err(Error::unsupported(format!("VkShaderStageFlagBits {number}"), "vertex, fragment, compute").into())
        }
        other => argument(format!("stage {other:#x}: 0x1, 0x10 or 0x20")),
    }
}

pub(super) fn wave(lanes: u32) -> Answer<Option<WaveSize>> {
    match lanes {
        0 => Ok(None),
        other => WaveSize::try_from(other).map(Some).or_else(|_| argument(format!("wave size {other}: 0, 32 or 64"))),
    }
}

pub(super) fn placement(number: u32) -> Answer<Placement> {
    match number {
        DVT_PLACEMENT_ADJACENT => Ok(Placement::Adjacent),
        DVT_PLACEMENT_CHAINED => Ok(Placement::Chained),
        other => argument(format!("placement {other}: 0 or 1")),
    }
}

pub(super) fn flags(given: u32) -> Answer<PipelineFlags> {
    PipelineFlags::from_bits(given).map_or_else(|| argument(format!("flags {given:#x} are unknown")), Ok)
}

/// Resource kind of a `VkDescriptorType`, and whether it is dynamic.
fn kind(descriptor_type: u32) -> Answer<(ResourceKind, bool)> {
    use ResourceKind as K;
    Ok(match descriptor_type {
        0 => (K::Sampler, false),
        1 => (K::CombinedImageSampler, false),
        2 => (K::SampledImage, false),
        3 => (K::StorageImage, false),
        4 => (K::UniformTexelBuffer, false),
        5 => (K::StorageTexelBuffer, false),
        6 => (K::UniformBuffer, false),
        7 => (K::StorageBuffer, false),
        8 => (K::UniformBuffer, true),
        9 => (K::StorageBuffer, true),
        10 => (K::InputAttachment, false),
        other => return Err(Error::unsupported(format!("VkDescriptorType {other}"), "").into()),
    })
}

/// `VK_DESCRIPTOR_TYPE_MUTABLE_EXT`.
const MUTABLE: u32 = 1_000_351_000;

pub(super) fn binding(given: &Binding, mutable_types: &[u32]) -> Answer<BindingLayout> {
    let Binding { binding, descriptor_type, count, offset, mutable_types: _, mutable_count: _, reserved } = *given;
    bits("`reserved` of a binding", reserved, 0)?;
    let (kind, dynamic) = match descriptor_type {
        MUTABLE => {
            let kinds = mutable_types.iter().map(|ty| match kind(*ty)? {
                (kind, false) => Ok(kind),
                (_, true) => argument("a dynamic type of a mutable binding"),
            });
            (BindingKind::Mutable(kinds.collect::<Answer<_>>()?), false)
        }
        ty => kind(ty).map(|(kind, dynamic)| (BindingKind::One(kind), dynamic))?,
    };
    Ok(BindingLayout { binding, kind, count, dynamic, offset: place(offset), samplers: Vec::new() })
}

/// An empty list with room for so many items.
pub(super) fn room<T>(count: usize) -> Answer<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve(count).map_err(|_| Failure::Memory(count))?;
    Ok(list)
}

/// Replaces a list's items, reusing its memory.
fn refill<T, U: Copy>(to: &mut Vec<T>, from: &[U], convert: impl Fn(U) -> Answer<T>) -> Answer<()> {
    to.clear();
    to.try_reserve(from.len()).map_err(|_| Failure::Memory(from.len()))?;
    for item in from {
        to.push(convert(*item)?);
    }
    Ok(())
}

/// Overwrites a state with that of a pipeline's info, reusing the state's memory.
pub(super) fn fill(
    state: &mut PipelineState,
    info: &PipelineInfo,
    buffers: &[VertexBinding],
    given_attributes: &[VertexAttribute],
    given_attachments: &[ColorAttachment],
) -> Answer<()> {
    // Destructured without `..`, so that a new field of the state breaks the build here. The layout is a handle of its own, and
    // the shaders hold the specialization values.
    let PipelineState { layout: _, vertex, color, raster, ngg, view_mask, specialization, device_index, symbols } =
        state;
    bits("`color_flags`", info.color_flags, 15)?;
    bits("`raster_flags`", info.raster_flags, 31)?;
    let VertexInputState { bindings, attributes } = vertex;
    refill(bindings, buffers, |VertexBinding { binding, stride, rate, divisor }| {
        let rate = match rate {
            0 => VertexRate::Vertex,
            1 => VertexRate::Instance,
            other => return argument(format!("rate {other} of vertex binding {binding}: 0 or 1")),
        };
        if rate == VertexRate::Vertex && divisor != 1 {
            return argument(format!("divisor {divisor} of vertex binding {binding}: 1 if the rate is 0"));
        }
        Ok(Buffer { binding, stride, rate, divisor })
    })?;
    refill(attributes, given_attributes, |VertexAttribute { location, binding, format, offset }| {
        Ok(Attribute { location, binding, format: VkFormat(format), offset })
    })?;
    let ColorState { attachments, alpha_to_coverage, alpha_to_one, dual_source, samples, sample_shading } = color;
    refill(attachments, given_attachments, |ColorAttachment { location, format, write_mask, flags }| {
        bits("`flags` of an attachment", flags, 3)?;
        bits("`write_mask`", write_mask, 15)?;
        Ok(Attachment {
            location,
            format: VkFormat(format),
            write_mask: (write_mask & 15) as u8,
            blend: flags & DVT_ATTACHMENT_BLEND != 0,
            blend_source_alpha: flags & DVT_ATTACHMENT_BLEND_SOURCE_ALPHA != 0,
        })
    })?;
    *alpha_to_coverage = info.color_flags & DVT_COLOR_ALPHA_TO_COVERAGE != 0;
    *alpha_to_one = info.color_flags & DVT_COLOR_ALPHA_TO_ONE != 0;
    *dual_source = info.color_flags & DVT_COLOR_DUAL_SOURCE != 0;
    *sample_shading = info.color_flags & DVT_COLOR_SAMPLE_SHADING != 0;
    *samples = info.samples;
    let RasterState { discard, clip_plane_mask, inner_coverage, primitive } = raster;
    *discard = info.raster_flags & DVT_RASTER_DISCARD != 0;
    *inner_coverage = info.raster_flags & DVT_RASTER_INNER_COVERAGE != 0;
    *primitive = match info.raster_flags & (DVT_RASTER_POINTS | DVT_RASTER_LINES) {
        0 => PrimitiveKind::Triangles,
        DVT_RASTER_POINTS => PrimitiveKind::Points,
        DVT_RASTER_LINES => PrimitiveKind::Lines,
        both => return argument(format!("`raster_flags` {both:#x}: points and lines at the same time")),
    };
    *ngg = info.raster_flags & DVT_RASTER_NGG != 0;
    bits("`clip_plane_mask`", info.clip_plane_mask, CLIP_PLANES)?;
    *clip_plane_mask = (info.clip_plane_mask & CLIP_PLANES) as u8;
    *view_mask = info.view_mask;
    *device_index = info.device_index;
    specialization.clear();
    symbols.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cbindgen` cannot evaluate expressions, so `types` repeats these numbers as literals.
    #[test]
    fn targets_have_the_numbers_of_their_elfs() {
        let numbers = [
            DVT_TARGET_GFX1030,
            DVT_TARGET_GFX1031,
            DVT_TARGET_GFX1032,
            DVT_TARGET_GFX1033,
            DVT_TARGET_GFX1034,
            DVT_TARGET_GFX1035,
            DVT_TARGET_GFX1036,
            DVT_TARGET_GFX1010,
            DVT_TARGET_GFX1011,
            DVT_TARGET_GFX1012,
            DVT_TARGET_GFX1013,
            DVT_TARGET_GFX1100,
            DVT_TARGET_GFX1101,
            DVT_TARGET_GFX1102,
            DVT_TARGET_GFX1103,
            DVT_TARGET_GFX1150,
            DVT_TARGET_GFX1151,
            DVT_TARGET_GFX1152,
            DVT_TARGET_GFX1153,
            DVT_TARGET_GFX1200,
            DVT_TARGET_GFX1201,
        ];
        assert!(Gpu::all().map(Gpu::elf_flags).eq(numbers));
    }

    #[test]
    fn flags_have_the_numbers_of_the_run_time() {
        for (number, flag) in [
            (DVT_PIPELINE_FAIL_ON_COMPILE, PipelineFlags::FAIL_ON_COMPILE),
            (DVT_PIPELINE_NO_DISK, PipelineFlags::NO_DISK),
            (DVT_PIPELINE_PREFER_OPTIMIZED, PipelineFlags::PREFER_OPTIMIZED),
            (DVT_PIPELINE_NO_OPTIMIZE, PipelineFlags::NO_OPTIMIZE),
            (DVT_PIPELINE_LINK_TIME_OPTIMIZATION, PipelineFlags::LINK_TIME_OPTIMIZATION),
            (DVT_PIPELINE_NAMED_METADATA, PipelineFlags::NAMED_METADATA),
        ] {
            assert_eq!(number, flag.bits());
        }
    }
}

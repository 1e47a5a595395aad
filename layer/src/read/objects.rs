//! Reads samplers, descriptor set layouts and pipeline layouts.

use super::next::chain;
use super::reader::{Reader, list, number};
use ash::vk;
use dovetail_capture::{Binding, Next, PipelineLayout, PushConstantRange, Sampler, SetLayout, finite, s_type};

/// # Safety
/// The info is valid.
pub unsafe fn sampler(reader: &Reader<'_>, given: &vk::SamplerCreateInfo<'_>) -> Sampler {
    Sampler {
        flags: given.flags.as_raw(),
        min_filter: number!(given.min_filter),
        mag_filter: number!(given.mag_filter),
        max_anisotropy: finite(given.max_anisotropy),
        compare_op: number!(given.compare_op),
        anisotropy_enable: given.anisotropy_enable,
        mipmap_mode: number!(given.mipmap_mode),
        address_mode_u: number!(given.address_mode_u),
        address_mode_v: number!(given.address_mode_v),
        address_mode_w: number!(given.address_mode_w),
        border_color: number!(given.border_color),
        unnormalized_coordinates: given.unnormalized_coordinates,
        compare_enable: given.compare_enable,
        mip_lod_bias: finite(given.mip_lod_bias),
        min_lod: finite(given.min_lod),
        max_lod: finite(given.max_lod),
        // SAFETY: a valid info has a valid chain.
        p_next: unsafe { chain(reader, given.p_next) },
    }
}

/// A conversion as an archive has it in the `pNext` chain of its samplers.
pub fn conversion(given: &vk::SamplerYcbcrConversionCreateInfo<'_>) -> Next {
    let mut next = Next::new(s_type::YCBCR_CONVERSION_CREATE);
    let parts = given.components;
    let parts = [parts.r, parts.g, parts.b, parts.a].map(|part| number!(part));
    next.other = [
        ("format", number!(given.format).into()),
        ("ycbcrModel", number!(given.ycbcr_model).into()),
        ("ycbcrRange", number!(given.ycbcr_range).into()),
        ("components", parts.to_vec().into()),
        ("xChromaOffset", number!(given.x_chroma_offset).into()),
        ("yChromaOffset", number!(given.y_chroma_offset).into()),
        ("chromaFilter", number!(given.chroma_filter).into()),
        ("forceExplicitReconstruction", given.force_explicit_reconstruction.into()),
    ]
    .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
    .into();
    next
}

/// # Safety
/// The info is valid.
pub unsafe fn set_layout(reader: &Reader<'_>, given: &vk::DescriptorSetLayoutCreateInfo<'_>) -> SetLayout {
    let binding = |given: &vk::DescriptorSetLayoutBinding<'_>| {
        use vk::DescriptorType as T;
        // For other types Vulkan ignores the pointer.
        let samples = matches!(given.descriptor_type, T::SAMPLER | T::COMBINED_IMAGE_SAMPLER);
        let count = if samples { given.descriptor_count } else { 0 };
        // SAFETY: a valid binding of such a type has null, or one sampler per descriptor.
        let samplers = unsafe { list(given.p_immutable_samplers, count) };
        Binding {
            descriptor_type: number!(given.descriptor_type),
            descriptor_count: given.descriptor_count,
            stage_flags: given.stage_flags.as_raw(),
            binding: given.binding,
            immutable_samplers: samplers.iter().map(|one| reader.handles.samplers.of(*one)).collect(),
        }
    };
    // SAFETY: a valid info has valid lists and chains.
    unsafe {
        SetLayout {
            flags: given.flags.as_raw(),
            bindings: list(given.p_bindings, given.binding_count).iter().map(binding).collect(),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// # Safety
/// The info is valid.
pub unsafe fn pipeline_layout(reader: &Reader<'_>, given: &vk::PipelineLayoutCreateInfo<'_>) -> PipelineLayout {
    let range = |given: &vk::PushConstantRange| PushConstantRange {
        stage_flags: given.stage_flags.as_raw(),
        size: given.size,
        offset: given.offset,
    };
    // SAFETY: a valid info has valid lists.
    unsafe {
        let sets = list(given.p_set_layouts, given.set_layout_count).iter();
        PipelineLayout {
            flags: given.flags.as_raw(),
            push_constant_ranges: list(given.p_push_constant_ranges, given.push_constant_range_count)
                .iter()
                .map(range)
                .collect(),
            set_layouts: sets.map(|one| reader.handles.set_layouts.of(*one)).collect(),
        }
    }
}

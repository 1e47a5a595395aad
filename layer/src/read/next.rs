//! Reads `pNext` chains. An unknown structure keeps its type, so that the translation can report it as unsupported.

use super::reader::{Reader, list, number};
use crate::chain::MAX_CHAIN;
use ash::vk;
use dovetail_capture::{Divisor, Next, finite, s_type};
use std::ffi::c_void;

/// Types that concern only the driver at run time, and no code.
const PASSING: &[vk::StructureType] =
    &[vk::StructureType::PIPELINE_CREATION_FEEDBACK_CREATE_INFO, vk::StructureType::SHADER_MODULE_CREATE_INFO];

/// Reads the structures of a chain.
///
/// # Safety
/// It leads to structures that Vulkan allows there.
pub(super) unsafe fn chain(reader: &Reader<'_>, mut chain: *const c_void) -> Vec<Next> {
    let mut all = Vec::new();
    for _ in 0..MAX_CHAIN {
        // SAFETY: null, or a structure, which begins with its type and its next one.
        let Some(base) = (unsafe { chain.cast::<vk::BaseInStructure<'_>>().as_ref() }) else { break };
        if !PASSING.contains(&base.s_type) {
            let mut next = Next::new(base.s_type.as_raw() as u32);
            // SAFETY: it has the type that it states.
            unsafe { fill(reader, &mut next, chain) };
            all.push(next);
        }
        chain = base.p_next.cast();
    }
    all
}

/// The first structure of a type in a chain.
///
/// # Safety
/// It leads to structures that Vulkan allows there, and `T` is the struct of that type.
pub(super) unsafe fn find<'a, T>(mut chain: *const c_void, s_type: vk::StructureType) -> Option<&'a T> {
    for _ in 0..MAX_CHAIN {
        // SAFETY: null, or a structure, which begins with its type and its next one.
        let base = unsafe { chain.cast::<vk::BaseInStructure<'_>>().as_ref() }?;
        if base.s_type == s_type {
            // SAFETY: as the caller says.
            return unsafe { chain.cast::<T>().as_ref() };
        }
        chain = base.p_next.cast();
    }
    None
}

/// Copies the members of structures that affect code, or that an archive can hold.
///
/// # Safety
/// `from` is a structure of the type of `next`.
unsafe fn fill(reader: &Reader<'_>, next: &mut Next, from: *const c_void) {
    /// The structure as a Vulkan struct.
    macro_rules! is {
        ($ty:ident) => {
            &*from.cast::<vk::$ty<'_>>()
        };
    }
    // SAFETY: the structure has the type that it states, and lists in valid structures have as many elements as they
    // state.
    unsafe {
        match next.s_type {
            s_type::VERTEX_DIVISORS => {
                let given = is!(PipelineVertexInputDivisorStateCreateInfoKHR);
                let all = list(given.p_vertex_binding_divisors, given.vertex_binding_divisor_count).iter();
                next.vertex_binding_divisors =
                    all.map(|one| Divisor { binding: one.binding, divisor: one.divisor }).collect();
                next.vertex_binding_divisor_count = Some(given.vertex_binding_divisor_count);
            }
            s_type::RENDERING => {
                let given = is!(PipelineRenderingCreateInfo);
                let formats = list(given.p_color_attachment_formats, given.color_attachment_count);
                next.color_attachment_formats = formats.iter().map(|format| number!(format)).collect();
                next.view_mask = Some(given.view_mask);
                next.depth_attachment_format = Some(number!(given.depth_attachment_format));
                next.stencil_attachment_format = Some(number!(given.stencil_attachment_format));
            }
            s_type::MULTIVIEW => {
                let given = is!(RenderPassMultiviewCreateInfo);
                next.view_masks = list(given.p_view_masks, given.subpass_count).to_vec();
                next.view_offsets = list(given.p_view_offsets, given.dependency_count).to_vec();
                next.correlation_masks = list(given.p_correlation_masks, given.correlation_mask_count).to_vec();
            }
            s_type::BINDING_FLAGS => {
                let given = is!(DescriptorSetLayoutBindingFlagsCreateInfo);
                next.binding_flags =
                    list(given.p_binding_flags, given.binding_count).iter().map(|flags| flags.as_raw()).collect();
            }
            s_type::MUTABLE_TYPES => {
                let given = is!(MutableDescriptorTypeCreateInfoEXT);
                let lists = list(given.p_mutable_descriptor_type_lists, given.mutable_descriptor_type_list_count);
                let types = |one: &vk::MutableDescriptorTypeListEXT<'_>| {
                    list(one.p_descriptor_types, one.descriptor_type_count).iter().map(|ty| number!(ty)).collect()
                };
                next.mutable_descriptor_type_lists = lists.iter().map(types).collect();
            }
            s_type::CONSERVATIVE_RASTERIZATION => {
                let given = is!(PipelineRasterizationConservativeStateCreateInfoEXT);
                next.flags = Some(given.flags.as_raw().into());
                next.conservative_rasterization_mode = Some(number!(given.conservative_rasterization_mode));
                next.extra_primitive_overestimation_size = Some(finite(given.extra_primitive_overestimation_size));
            }
            s_type::RASTERIZATION_STREAM => {
                let given = is!(PipelineRasterizationStateStreamCreateInfoEXT);
                next.flags = Some(given.flags.as_raw().into());
                next.rasterization_stream = Some(given.rasterization_stream);
            }
            s_type::DEPTH_CLIP => {
                let given = is!(PipelineRasterizationDepthClipStateCreateInfoEXT);
                next.flags = Some(given.flags.as_raw().into());
                next.depth_clip_enable = Some(given.depth_clip_enable);
            }
            s_type::DEPTH_CLIP_CONTROL => {
                next.negative_one_to_one = Some(is!(PipelineViewportDepthClipControlCreateInfoEXT).negative_one_to_one);
            }
            s_type::PROVOKING_VERTEX => {
                let given = is!(PipelineRasterizationProvokingVertexStateCreateInfoEXT);
                next.provoking_vertex_mode = Some(number!(given.provoking_vertex_mode));
            }
            s_type::LINES => {
                let given = is!(PipelineRasterizationLineStateCreateInfoKHR);
                next.line_rasterization_mode = Some(number!(given.line_rasterization_mode));
                next.stippled_line_enable = Some(given.stippled_line_enable);
                next.other = [
                    ("lineStippleFactor", given.line_stipple_factor),
                    ("lineStipplePattern", given.line_stipple_pattern.into()),
                ]
                .map(|(name, value)| (name.to_owned(), value.into()))
                .into();
            }
            s_type::SAMPLE_LOCATIONS => {
                let given = is!(PipelineSampleLocationsStateCreateInfoEXT);
                next.sample_locations_enable = Some(given.sample_locations_enable);
            }
            s_type::YCBCR_CONVERSION => {
                let made = reader.handles.conversions.get(&is!(SamplerYcbcrConversionInfo).conversion);
                made.cloned().into_iter().for_each(|made| *next = made);
            }
            s_type::SUBGROUP_SIZE => {
                let given = is!(PipelineShaderStageRequiredSubgroupSizeCreateInfo);
                next.required_subgroup_size = Some(given.required_subgroup_size);
            }
            s_type::SAMPLER_REDUCTION => {
                next.reduction_mode = Some(number!(is!(SamplerReductionModeCreateInfo).reduction_mode));
            }
            s_type::BORDER_COLOR => {
                let given = is!(SamplerCustomBorderColorCreateInfoEXT);
                // Words: whether they are floats is said by the sampler's kind of colour.
                next.border_color = Some(given.custom_border_color.uint32);
                next.other = [("format".to_owned(), number!(given.format).into())].into();
            }
            s_type::COLOR_WRITE => {
                let given = is!(PipelineColorWriteCreateInfoEXT);
                next.color_write_enables = list(given.p_color_write_enables, given.attachment_count).to_vec();
            }
            s_type::ATTACHMENT_LOCATIONS => {
                let given = is!(RenderingAttachmentLocationInfoKHR);
                next.color_attachment_locations =
                    list(given.p_color_attachment_locations, given.color_attachment_count).to_vec();
            }
            s_type::LIBRARIES => {
                let given = is!(PipelineLibraryCreateInfoKHR);
                let all = list(given.p_libraries, given.library_count).iter();
                next.libraries = Some(all.map(|one| reader.handles.pipelines.of(*one)).collect());
            }
            s_type::LIBRARY_PARTS => {
                next.flags = Some(is!(GraphicsPipelineLibraryCreateInfoEXT).flags.as_raw().into());
            }
            s_type::FLAGS_2 => {
                next.flags = Some(is!(PipelineCreateFlags2CreateInfoKHR).flags.as_raw());
            }
            s_type::DEPTH_STENCIL_RESOLVE => {
                let given = is!(SubpassDescriptionDepthStencilResolve);
                next.depth_resolve_mode = Some(number!(given.depth_resolve_mode));
                next.stencil_resolve_mode = Some(number!(given.stencil_resolve_mode));
                let attachment = given.p_depth_stencil_resolve_attachment.as_ref();
                next.depth_stencil_resolve_attachment = attachment.map(super::pass::plain_reference2);
            }
            _ => {}
        }
    }
}

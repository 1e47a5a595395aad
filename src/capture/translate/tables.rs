//! Vulkan's features by number: how the translation handles each flag, dynamic state and extending structure.

use crate::model::{Next, s_type};
use dovetail_base::error::{Error, Result};

/// How a feature is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It is translated, or contains nothing to translate.
    Read,
    /// The driver sets it; no code depends on it.
    Driver,
    /// It is an error that names it.
    Unsupported,
}

/// Dynamic states that `translate` handles.
pub(super) mod dynamic {
    pub const VERTEX_STRIDE: u32 = 1_000_267_005;
    pub const VERTEX_INPUT: u32 = 1_000_352_000;
    pub const RASTERIZER_DISCARD: u32 = 1_000_377_001;
    pub const COLOR_WRITE: u32 = 1_000_381_000;
    pub const SAMPLES: u32 = 1_000_455_005;
    pub const ALPHA_TO_COVERAGE: u32 = 1_000_455_007;
    pub const ALPHA_TO_ONE: u32 = 1_000_455_008;
    pub const BLEND_ENABLE: u32 = 1_000_455_010;
    pub const BLEND_EQUATION: u32 = 1_000_455_011;
    pub const WRITE_MASK: u32 = 1_000_455_012;
    pub const STREAM: u32 = 1_000_455_013;
    pub const CONSERVATIVE: u32 = 1_000_455_014;
    pub const LINE_MODE: u32 = 1_000_455_020;
}

type Row = (u32, &'static str, End);

/// `VkDynamicState`. The unsupported ones affect code or a register of the ELF, and their values come with the draw.
const DYNAMIC: &[Row] = &[
    (0, "VIEWPORT", End::Driver),
    (1, "SCISSOR", End::Driver),
    (2, "LINE_WIDTH", End::Driver),
    (3, "DEPTH_BIAS", End::Driver),
    (4, "BLEND_CONSTANTS", End::Driver),
    (5, "DEPTH_BOUNDS", End::Driver),
    (6, "STENCIL_COMPARE_MASK", End::Driver),
    (7, "STENCIL_WRITE_MASK", End::Driver),
    (8, "STENCIL_REFERENCE", End::Driver),
    (1_000_099_000, "DISCARD_RECTANGLE_EXT", End::Driver),
    (1_000_099_001, "DISCARD_RECTANGLE_ENABLE_EXT", End::Driver),
    (1_000_099_002, "DISCARD_RECTANGLE_MODE_EXT", End::Driver),
    (1_000_143_000, "SAMPLE_LOCATIONS_EXT", End::Driver),
    (1_000_226_000, "FRAGMENT_SHADING_RATE_KHR", End::Driver),
    (1_000_259_000, "LINE_STIPPLE_EXT", End::Driver),
    (1_000_267_000, "CULL_MODE", End::Driver),
    (1_000_267_001, "FRONT_FACE", End::Driver),
    (1_000_267_002, "PRIMITIVE_TOPOLOGY", End::Driver),
    (1_000_267_003, "VIEWPORT_WITH_COUNT", End::Driver),
    (1_000_267_004, "SCISSOR_WITH_COUNT", End::Driver),
    (dynamic::VERTEX_STRIDE, "VERTEX_INPUT_BINDING_STRIDE", End::Read),
    (1_000_267_006, "DEPTH_TEST_ENABLE", End::Driver),
    (1_000_267_007, "DEPTH_WRITE_ENABLE", End::Driver),
    (1_000_267_008, "DEPTH_COMPARE_OP", End::Driver),
    (1_000_267_009, "DEPTH_BOUNDS_TEST_ENABLE", End::Driver),
    (1_000_267_010, "STENCIL_TEST_ENABLE", End::Driver),
    (1_000_267_011, "STENCIL_OP", End::Driver),
    (dynamic::VERTEX_INPUT, "VERTEX_INPUT_EXT", End::Unsupported),
    (1_000_377_000, "PATCH_CONTROL_POINTS_EXT", End::Driver),
    (dynamic::RASTERIZER_DISCARD, "RASTERIZER_DISCARD_ENABLE", End::Unsupported),
    (1_000_377_002, "DEPTH_BIAS_ENABLE", End::Driver),
    (1_000_377_003, "LOGIC_OP_EXT", End::Driver),
    (1_000_377_004, "PRIMITIVE_RESTART_ENABLE", End::Driver),
    (dynamic::COLOR_WRITE, "COLOR_WRITE_ENABLE_EXT", End::Read),
    (1_000_455_002, "TESSELLATION_DOMAIN_ORIGIN_EXT", End::Driver),
    (1_000_455_003, "DEPTH_CLAMP_ENABLE_EXT", End::Driver),
    (1_000_455_004, "POLYGON_MODE_EXT", End::Driver),
    (dynamic::SAMPLES, "RASTERIZATION_SAMPLES_EXT", End::Unsupported),
    (1_000_455_006, "SAMPLE_MASK_EXT", End::Driver),
    (dynamic::ALPHA_TO_COVERAGE, "ALPHA_TO_COVERAGE_ENABLE_EXT", End::Unsupported),
    (dynamic::ALPHA_TO_ONE, "ALPHA_TO_ONE_ENABLE_EXT", End::Unsupported),
    (1_000_455_009, "LOGIC_OP_ENABLE_EXT", End::Driver),
    (dynamic::BLEND_ENABLE, "COLOR_BLEND_ENABLE_EXT", End::Read),
    (dynamic::BLEND_EQUATION, "COLOR_BLEND_EQUATION_EXT", End::Unsupported),
    (dynamic::WRITE_MASK, "COLOR_WRITE_MASK_EXT", End::Read),
    (dynamic::STREAM, "RASTERIZATION_STREAM_EXT", End::Unsupported),
    (dynamic::CONSERVATIVE, "CONSERVATIVE_RASTERIZATION_MODE_EXT", End::Unsupported),
    (1_000_455_015, "EXTRA_PRIMITIVE_OVERESTIMATION_SIZE_EXT", End::Driver),
    (1_000_455_016, "DEPTH_CLIP_ENABLE_EXT", End::Driver),
    (1_000_455_017, "SAMPLE_LOCATIONS_ENABLE_EXT", End::Driver),
    (1_000_455_018, "COLOR_BLEND_ADVANCED_EXT", End::Unsupported),
    (1_000_455_019, "PROVOKING_VERTEX_MODE_EXT", End::Driver),
    (dynamic::LINE_MODE, "LINE_RASTERIZATION_MODE_EXT", End::Unsupported),
    (1_000_455_021, "LINE_STIPPLE_ENABLE_EXT", End::Driver),
    (1_000_455_022, "DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT", End::Driver),
    (1_000_524_000, "ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT", End::Driver),
];

/// Structures that extend others, by `VkStructureType`, with Vulkan's names without the prefix.
const EXTENDING: &[Row] = &[
    (s_type::SHADER_MODULE, "SHADER_MODULE_CREATE_INFO", End::Read),
    (s_type::RASTERIZATION_STREAM, "PIPELINE_RASTERIZATION_STATE_STREAM_CREATE_INFO_EXT", End::Read),
    (s_type::RENDERING, "PIPELINE_RENDERING_CREATE_INFO", End::Read),
    (s_type::MULTIVIEW, "RENDER_PASS_MULTIVIEW_CREATE_INFO", End::Read),
    (s_type::ROBUSTNESS, "PIPELINE_ROBUSTNESS_CREATE_INFO_EXT", End::Driver),
    (s_type::DISCARD_RECTANGLES, "PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT", End::Driver),
    (s_type::CONSERVATIVE_RASTERIZATION, "PIPELINE_RASTERIZATION_CONSERVATIVE_STATE_CREATE_INFO_EXT", End::Read),
    (s_type::DEPTH_CLIP, "PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT", End::Driver),
    (s_type::INPUT_ATTACHMENT_ASPECTS, "RENDER_PASS_INPUT_ATTACHMENT_ASPECT_CREATE_INFO", End::Driver),
    (s_type::TESSELLATION_DOMAIN_ORIGIN, "PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO", End::Driver),
    (s_type::SAMPLER_REDUCTION, "SAMPLER_REDUCTION_MODE_CREATE_INFO", End::Driver),
    (s_type::SAMPLE_LOCATIONS, "PIPELINE_SAMPLE_LOCATIONS_STATE_CREATE_INFO_EXT", End::Driver),
    // Without an operation of the extension's, which is refused by itself, it says nothing.
    (s_type::BLEND_ADVANCED, "PIPELINE_COLOR_BLEND_ADVANCED_STATE_CREATE_INFO_EXT", End::Driver),
    // Archives have this in place of the next one, which remains only if the conversion is unknown.
    (s_type::YCBCR_CONVERSION_CREATE, "SAMPLER_YCBCR_CONVERSION_CREATE_INFO", End::Read),
    (s_type::YCBCR_CONVERSION, "SAMPLER_YCBCR_CONVERSION_INFO", End::Unsupported),
    (s_type::BINDING_FLAGS, "DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO", End::Driver),
    (s_type::VERTEX_DIVISORS, "PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_KHR", End::Read),
    (s_type::CREATION_FEEDBACK, "PIPELINE_CREATION_FEEDBACK_CREATE_INFO", End::Driver),
    (s_type::DEPTH_STENCIL_RESOLVE, "SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE", End::Driver),
    (s_type::SUBGROUP_SIZE, "PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO", End::Read),
    (s_type::SHADING_RATE_ATTACHMENT, "FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR", End::Driver),
    (s_type::SHADING_RATE, "PIPELINE_FRAGMENT_SHADING_RATE_STATE_CREATE_INFO_KHR", End::Driver),
    (s_type::ATTACHMENT_LOCATIONS, "RENDERING_ATTACHMENT_LOCATION_INFO_KHR", End::Read),
    (s_type::INPUT_ATTACHMENT_INDICES, "RENDERING_INPUT_ATTACHMENT_INDEX_INFO_KHR", End::Unsupported),
    (s_type::STENCIL_LAYOUT_REFERENCE, "ATTACHMENT_REFERENCE_STENCIL_LAYOUT", End::Driver),
    (s_type::STENCIL_LAYOUT_DESCRIPTION, "ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT", End::Driver),
    (s_type::PROVOKING_VERTEX, "PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT", End::Driver),
    (s_type::LINES, "PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_KHR", End::Read),
    (s_type::BORDER_COLOR, "SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT", End::Driver),
    (s_type::LIBRARIES, "PIPELINE_LIBRARY_CREATE_INFO_KHR", End::Read),
    (s_type::MEMORY_BARRIER_2, "MEMORY_BARRIER_2", End::Driver),
    (s_type::LIBRARY_PARTS, "GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT", End::Read),
    (s_type::MUTABLE_TYPES, "MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT", End::Read),
    (s_type::COLOR_WRITE, "PIPELINE_COLOR_WRITE_CREATE_INFO_EXT", End::Read),
    (s_type::DEPTH_CLIP_CONTROL, "PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT", End::Driver),
    (s_type::MODULE_IDENTIFIER, "PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT", End::Read),
    (s_type::FLAGS_2, "PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR", End::Read),
];

/// Bits of `VkPipelineCreateFlags2` that affect code.
const REFUSED_FLAGS: &[(u64, &str)] = &[
    (0x8, "VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT"),
    (0x4_0000, "VK_PIPELINE_CREATE_INDIRECT_BINDABLE_BIT_NV"),
    (0x40_0000, "VK_PIPELINE_CREATE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_BIT_EXT"),
];
/// All known bits, up to the last one of Vulkan 1.3.
const KNOWN_FLAGS: u64 = 0x7fff_ffff;

fn find(table: &'static [Row], number: u32) -> Option<&'static Row> {
    table.iter().find(|(row, _, _)| *row == number)
}

/// # Errors
/// Unsupported: a dynamic state that affects code, or an unknown one.
pub(super) fn dynamic_state(number: u32) -> Result<()> {
    match find(DYNAMIC, number) {
        Some((_, _, End::Read | End::Driver)) => Ok(()),
        Some((_, name, End::Unsupported)) => Err(Error::unsupported(format!("VK_DYNAMIC_STATE_{name}"), "")),
        None => Err(Error::unsupported(format!("VkDynamicState {number}"), "")),
    }
}

/// # Errors
/// Unsupported: a structure in the chain that affects code, or an unknown one.
pub(super) fn chain(chain: &[Next]) -> Result<()> {
    chain.iter().try_for_each(|next| match find(EXTENDING, next.s_type) {
        Some((_, _, End::Read | End::Driver)) => Ok(()),
        Some((_, name, End::Unsupported)) => Err(Error::unsupported(format!("VK_STRUCTURE_TYPE_{name}"), "")),
        None => Err(Error::unsupported(format!("VkStructureType {}", next.s_type), "in pNext")),
    })
}

/// # Errors
/// Unsupported: a flag that affects code, or an unknown one.
pub(super) fn pipeline_flags(flags: u64) -> Result<()> {
    if let Some((_, name)) = REFUSED_FLAGS.iter().find(|(bit, _)| flags & bit != 0) {
        return Err(Error::unsupported(*name, ""));
    }
    match flags & !KNOWN_FLAGS {
        0 => Ok(()),
        unknown => Err(Error::unsupported(format!("VkPipelineCreateFlags2 {unknown:#x}"), "")),
    }
}

/// Every number in these tables with its name, for a comparison with Vulkan's registry: dynamic states, structures.
pub fn names() -> [Vec<(u32, &'static str)>; 2] {
    [DYNAMIC, EXTENDING].map(|table| table.iter().map(|(number, name, _)| (*number, *name)).collect())
}

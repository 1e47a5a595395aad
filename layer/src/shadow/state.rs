//! The dynamic states that are followed, by `VkDynamicState` number, and the place of each value in Vulkan's structures.

use dovetail_capture::{
    ColorBlendState, DepthStencilState, FixedState, InputAssemblyState, MultisampleState, Next, RasterizationState,
    ViewportState, s_type,
};

pub const VIEWPORT: u32 = 0;
pub const SCISSOR: u32 = 1;
pub const LINE_WIDTH: u32 = 2;
pub const DEPTH_BIAS: u32 = 3;
pub const BLEND_CONSTANTS: u32 = 4;
pub const DEPTH_BOUNDS: u32 = 5;
pub const STENCIL_COMPARE_MASK: u32 = 6;
pub const STENCIL_WRITE_MASK: u32 = 7;
pub const STENCIL_REFERENCE: u32 = 8;
pub const SAMPLE_LOCATIONS: u32 = 1_000_143_000;
pub const LINE_STIPPLE: u32 = 1_000_259_000;
pub const CULL_MODE: u32 = 1_000_267_000;
pub const FRONT_FACE: u32 = 1_000_267_001;
pub const TOPOLOGY: u32 = 1_000_267_002;
pub const VIEWPORT_WITH_COUNT: u32 = 1_000_267_003;
pub const SCISSOR_WITH_COUNT: u32 = 1_000_267_004;
pub const VERTEX_STRIDE: u32 = 1_000_267_005;
pub const DEPTH_TEST: u32 = 1_000_267_006;
pub const DEPTH_WRITE: u32 = 1_000_267_007;
pub const DEPTH_COMPARE: u32 = 1_000_267_008;
pub const DEPTH_BOUNDS_TEST: u32 = 1_000_267_009;
pub const STENCIL_TEST: u32 = 1_000_267_010;
pub const STENCIL_OP: u32 = 1_000_267_011;
pub const PATCH_CONTROL_POINTS: u32 = 1_000_377_000;
pub const DEPTH_BIAS_ENABLE: u32 = 1_000_377_002;
pub const LOGIC_OP: u32 = 1_000_377_003;
pub const RESTART: u32 = 1_000_377_004;
pub const COLOR_WRITE_ENABLE: u32 = 1_000_381_000;
pub const TESSELLATION_DOMAIN_ORIGIN: u32 = 1_000_455_002;
pub const DEPTH_CLAMP: u32 = 1_000_455_003;
pub const POLYGON_MODE: u32 = 1_000_455_004;
pub const SAMPLE_MASK: u32 = 1_000_455_006;
pub const LOGIC_OP_ENABLE: u32 = 1_000_455_009;
pub const BLEND_ENABLE: u32 = 1_000_455_010;
pub const WRITE_MASK: u32 = 1_000_455_012;
pub const EXTRA_OVERESTIMATION: u32 = 1_000_455_015;
pub const DEPTH_CLIP: u32 = 1_000_455_016;
pub const SAMPLE_LOCATIONS_ENABLE: u32 = 1_000_455_017;
pub const PROVOKING_VERTEX: u32 = 1_000_455_019;
pub const LINE_STIPPLE_ENABLE: u32 = 1_000_455_021;
pub const NEGATIVE_ONE_TO_ONE: u32 = 1_000_455_022;
pub const FEEDBACK_LOOP: u32 = 1_000_524_000;

/// The place of a number.
type Place = fn(&mut FixedState) -> &mut u32;

/// States that are one number.
pub const NUMBERS: &[(u32, Place)] = &[
    (CULL_MODE, |all| &mut rasterization(all).cull_mode),
    (FRONT_FACE, |all| &mut rasterization(all).front_face),
    (TOPOLOGY, |all| &mut assembly(all).topology),
    (DEPTH_TEST, |all| &mut depth_stencil(all).depth_test_enable),
    (DEPTH_WRITE, |all| &mut depth_stencil(all).depth_write_enable),
    (DEPTH_COMPARE, |all| &mut depth_stencil(all).depth_compare_op),
    (DEPTH_BOUNDS_TEST, |all| &mut depth_stencil(all).depth_bounds_test_enable),
    (STENCIL_TEST, |all| &mut depth_stencil(all).stencil_test_enable),
    (DEPTH_BIAS_ENABLE, |all| &mut rasterization(all).depth_bias_enable),
    (LOGIC_OP, |all| &mut blend(all).logic_op),
    (RESTART, |all| &mut assembly(all).primitive_restart_enable),
    (DEPTH_CLAMP, |all| &mut rasterization(all).depth_clamp_enable),
    (POLYGON_MODE, |all| &mut rasterization(all).polygon_mode),
    (LOGIC_OP_ENABLE, |all| &mut blend(all).logic_op_enable),
    (DEPTH_CLIP, |all| of(rasterization(all), s_type::DEPTH_CLIP).depth_clip_enable.get_or_insert(0)),
    (SAMPLE_LOCATIONS_ENABLE, |all| {
        let next = Next::find_or_add(&mut multisample(all).p_next, s_type::SAMPLE_LOCATIONS);
        next.sample_locations_enable.get_or_insert(0)
    }),
    (PROVOKING_VERTEX, |all| of(rasterization(all), s_type::PROVOKING_VERTEX).provoking_vertex_mode.get_or_insert(0)),
    (LINE_STIPPLE_ENABLE, |all| of(rasterization(all), s_type::LINES).stippled_line_enable.get_or_insert(0)),
    (NEGATIVE_ONE_TO_ONE, |all| {
        let next = Next::find_or_add(&mut viewport(all).p_next, s_type::DEPTH_CLIP_CONTROL);
        next.negative_one_to_one.get_or_insert(0)
    }),
];

/// States that are more than a number.
const LISTS: [u32; 16] = [
    VIEWPORT,
    SCISSOR,
    LINE_WIDTH,
    DEPTH_BIAS,
    BLEND_CONSTANTS,
    STENCIL_COMPARE_MASK,
    STENCIL_WRITE_MASK,
    STENCIL_REFERENCE,
    STENCIL_OP,
    VIEWPORT_WITH_COUNT,
    SCISSOR_WITH_COUNT,
    VERTEX_STRIDE,
    SAMPLE_MASK,
    BLEND_ENABLE,
    WRITE_MASK,
    COLOR_WRITE_ENABLE,
];

/// States whose values are not needed: draws that they affect are refused for another reason, such as enabled depth
/// bounds. By Vulkan's rules a feedback loop reads what was there before the draw.
const UNUSED: [u32; 7] = [
    DEPTH_BOUNDS,
    SAMPLE_LOCATIONS,
    LINE_STIPPLE,
    PATCH_CONTROL_POINTS,
    TESSELLATION_DOMAIN_ORIGIN,
    EXTRA_OVERESTIMATION,
    FEEDBACK_LOOP,
];

/// Whether a state is followed; states that code depends on are those of the completed pipeline.
pub fn is_followed(number: u32) -> bool {
    NUMBERS.iter().any(|(one, _)| *one == number) || LISTS.contains(&number) || UNUSED.contains(&number)
}

// Vulkan lets an application leave out a structure if all of it is dynamic.

pub fn assembly(all: &mut FixedState) -> &mut InputAssemblyState {
    all.assembly.get_or_insert_default()
}

pub fn viewport(all: &mut FixedState) -> &mut ViewportState {
    all.viewport.get_or_insert_default()
}

pub fn rasterization(all: &mut FixedState) -> &mut RasterizationState {
    all.rasterization.get_or_insert_default()
}

pub fn multisample(all: &mut FixedState) -> &mut MultisampleState {
    all.multisample.get_or_insert_default()
}

pub fn depth_stencil(all: &mut FixedState) -> &mut DepthStencilState {
    all.depth_stencil.get_or_insert_default()
}

pub fn blend(all: &mut FixedState) -> &mut ColorBlendState {
    all.blend.get_or_insert_default()
}

fn of(state: &mut RasterizationState, s_type: u32) -> &mut Next {
    Next::find_or_add(&mut state.p_next, s_type)
}

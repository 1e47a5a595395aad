//! Hooks of commands that set dynamic state, which later draws use.

use super::{Watch, of, records};
use crate::read::{blend_equation, list};
use crate::shadow::dynamic::{Dynamic, Ops};
use crate::shadow::state;
use ash::vk;

fn set(watch: &mut Watch<'_>, commands: vk::CommandBuffer, work: impl FnOnce(&mut Dynamic)) {
    of(watch, commands, |commands| work(&mut commands.dynamic));
}

/// Hooks of functions that set one number.
macro_rules! sets {
    ($($hook:ident: $ty:ty => $state:ident, |$value:ident| $number:expr;)*) => {
        records! {$(
            $hook(commands: vk::CommandBuffer, $value: $ty);
            |watch| set(watch, commands, |dynamic| _ = dynamic.numbers.insert(state::$state, $number));
        )*}
    };
}

sets! {
    cmd_set_cull_mode: vk::CullModeFlags => CULL_MODE, |mode| mode.as_raw();
    cmd_set_front_face: vk::FrontFace => FRONT_FACE, |face| face.as_raw().cast_unsigned();
    cmd_set_primitive_topology: vk::PrimitiveTopology => TOPOLOGY, |topology| topology.as_raw().cast_unsigned();
    cmd_set_depth_test_enable: vk::Bool32 => DEPTH_TEST, |enable| enable;
    cmd_set_depth_write_enable: vk::Bool32 => DEPTH_WRITE, |enable| enable;
    cmd_set_depth_compare_op: vk::CompareOp => DEPTH_COMPARE, |compare| compare.as_raw().cast_unsigned();
    cmd_set_depth_bounds_test_enable: vk::Bool32 => DEPTH_BOUNDS_TEST, |enable| enable;
    cmd_set_stencil_test_enable: vk::Bool32 => STENCIL_TEST, |enable| enable;
    cmd_set_depth_bias_enable: vk::Bool32 => DEPTH_BIAS_ENABLE, |enable| enable;
    cmd_set_primitive_restart_enable: vk::Bool32 => RESTART, |enable| enable;
    cmd_set_logic_op: vk::LogicOp => LOGIC_OP, |op| op.as_raw().cast_unsigned();
    cmd_set_logic_op_enable: vk::Bool32 => LOGIC_OP_ENABLE, |enable| enable;
    cmd_set_depth_clamp_enable: vk::Bool32 => DEPTH_CLAMP, |enable| enable;
    cmd_set_depth_clip_enable: vk::Bool32 => DEPTH_CLIP, |enable| enable;
    cmd_set_depth_clip_negative_one_to_one: vk::Bool32 => NEGATIVE_ONE_TO_ONE, |enable| enable;
    cmd_set_polygon_mode: vk::PolygonMode => POLYGON_MODE, |mode| mode.as_raw().cast_unsigned();
    cmd_set_provoking_vertex_mode: vk::ProvokingVertexModeEXT => PROVOKING_VERTEX, |mode| mode.as_raw().cast_unsigned();
    cmd_set_line_stipple_enable: vk::Bool32 => LINE_STIPPLE_ENABLE, |enable| enable;
    cmd_set_sample_locations_enable: vk::Bool32 => SAMPLE_LOCATIONS_ENABLE, |enable| enable;
}

/// Hooks of functions that set what code depends on.
macro_rules! sets_late {
    ($($hook:ident: $ty:ty => $field:ident, |$value:ident| $number:expr;)*) => {
        records! {$(
            $hook(commands: vk::CommandBuffer, $value: $ty);
            |watch| set(watch, commands, |dynamic| dynamic.late.$field = Some($number));
        )*}
    };
}

sets_late! {
    cmd_set_rasterizer_discard_enable: vk::Bool32 => rasterizer_discard, |enable| enable;
    cmd_set_rasterization_samples: vk::SampleCountFlags => samples, |samples| samples.as_raw();
    cmd_set_alpha_to_coverage_enable: vk::Bool32 => alpha_to_coverage, |enable| enable;
    cmd_set_alpha_to_one_enable: vk::Bool32 => alpha_to_one, |enable| enable;
    cmd_set_rasterization_stream: u32 => stream, |stream| stream;
    cmd_set_conservative_rasterization_mode: vk::ConservativeRasterizationModeEXT => conservative, |mode| mode.as_raw() as u32;
    cmd_set_line_rasterization_mode: vk::LineRasterizationModeEXT => line_mode, |mode| mode.as_raw() as u32;
}

/// Hooks of functions that set something of each attachment from number `from` on.
macro_rules! sets_each {
    ($($hook:ident: $ty:ty => $($field:ident).+, |$value:ident| $each:expr;)*) => {
        records! {$(
            $hook(commands: vk::CommandBuffer, from: u32, count: u32, values: *const $ty)
            keep values = list(values, count);
            |watch| set(watch, commands, |dynamic| {
                let values = list(values, count).iter().map(|$value| $each);
                dynamic.$($field).+.extend((from..).zip(values));
            });
        )*}
    };
}

sets_each! {
    cmd_set_color_blend_enable: vk::Bool32 => blend_enables, |enable| *enable;
    cmd_set_color_write_mask: vk::ColorComponentFlags => write_masks, |mask| mask.as_raw();
    cmd_set_color_blend_equation: vk::ColorBlendEquationEXT => late.blend_equations, |equation| blend_equation(equation);
}

records! {
    cmd_set_line_width(commands: vk::CommandBuffer, width: f32);
    |watch| set(watch, commands, |dynamic| dynamic.line_width = Some(width));
    cmd_set_depth_bias(commands: vk::CommandBuffer, constant: f32, clamp: f32, slope: f32);
    |watch| set(watch, commands, |dynamic| dynamic.depth_bias = Some([constant, clamp, slope]));
    cmd_set_sample_mask(
        commands: vk::CommandBuffer,
        samples: vk::SampleCountFlags,
        mask: *const vk::SampleMask
    ) keep mask = list(mask, samples.as_raw().div_ceil(32));
    |watch| set(watch, commands, |dynamic| {
        dynamic.sample_mask = list(mask, samples.as_raw().div_ceil(32)).first().copied();
    });
    cmd_set_color_write_enable(
        commands: vk::CommandBuffer,
        count: u32,
        enables: *const vk::Bool32
    ) keep enables = list(enables, count);
    |watch| set(watch, commands, |dynamic| {
        dynamic.write_enables.extend((0..).zip(list(enables, count).iter().copied()));
    });
}

records! {
    cmd_set_viewport(commands: vk::CommandBuffer, first: u32, count: u32, viewports: *const vk::Viewport)
    keep viewports = list(viewports, count);
    |watch| set(watch, commands, |dynamic| dynamic.set_viewports(first, list(viewports, count)));
    cmd_set_scissor(commands: vk::CommandBuffer, first: u32, count: u32, scissors: *const vk::Rect2D)
    keep scissors = list(scissors, count);
    |watch| set(watch, commands, |dynamic| dynamic.set_scissors(first, list(scissors, count)));
    cmd_set_viewport_with_count(commands: vk::CommandBuffer, count: u32, viewports: *const vk::Viewport)
    keep viewports = list(viewports, count);
    |watch| set(watch, commands, |dynamic| {
        dynamic.counts[0] = Some(count);
        dynamic.set_viewports(0, list(viewports, count));
    });
    cmd_set_scissor_with_count(commands: vk::CommandBuffer, count: u32, scissors: *const vk::Rect2D)
    keep scissors = list(scissors, count);
    |watch| set(watch, commands, |dynamic| {
        dynamic.counts[1] = Some(count);
        dynamic.set_scissors(0, list(scissors, count));
    });
    cmd_set_blend_constants(commands: vk::CommandBuffer, constants: *const [f32; 4])
    keep constants = list(constants, 1);
    |watch| set(watch, commands, |dynamic| dynamic.blend_constants = constants.as_ref().copied());
    cmd_set_stencil_compare_mask(commands: vk::CommandBuffer, faces: vk::StencilFaceFlags, mask: u32);
    |watch| set(watch, commands, |dynamic| dynamic.set_stencil(faces, |face| face.compare_mask = Some(mask)));
    cmd_set_stencil_write_mask(commands: vk::CommandBuffer, faces: vk::StencilFaceFlags, mask: u32);
    |watch| set(watch, commands, |dynamic| dynamic.set_stencil(faces, |face| face.write_mask = Some(mask)));
    cmd_set_stencil_reference(commands: vk::CommandBuffer, faces: vk::StencilFaceFlags, reference: u32);
    |watch| set(watch, commands, |dynamic| dynamic.set_stencil(faces, |face| face.reference = Some(reference)));
    cmd_set_stencil_op(
        commands: vk::CommandBuffer,
        faces: vk::StencilFaceFlags,
        fail: vk::StencilOp,
        pass: vk::StencilOp,
        depth_fail: vk::StencilOp,
        compare: vk::CompareOp
    );
    |watch| set(watch, commands, |dynamic| {
        let [fail, pass, depth_fail] = [fail, pass, depth_fail].map(|op| op.as_raw().cast_unsigned());
        let ops = Ops { fail, pass, depth_fail, compare: compare.as_raw().cast_unsigned() };
        dynamic.set_stencil(faces, |face| face.ops = Some(ops));
    });
}

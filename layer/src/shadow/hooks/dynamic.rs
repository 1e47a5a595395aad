//! Hooks of commands that set dynamic state, which fixed functions of later draws use.

use super::{Watch, of, records};
use crate::read::list;
use crate::shadow::dynamic::{Dynamic, Ops};
use ash::vk;

fn set(watch: &mut Watch<'_>, commands: vk::CommandBuffer, work: impl FnOnce(&mut Dynamic)) {
    of(watch, commands, |commands| work(&mut commands.dynamic));
}

/// Hooks of functions that set one number.
macro_rules! sets {
    ($($hook:ident: $ty:ty => $field:ident, |$value:ident| $number:expr;)*) => {
        records! {$(
            $hook(commands: vk::CommandBuffer, $value: $ty);
            |watch| set(watch, commands, |dynamic| dynamic.$field = Some($number));
        )*}
    };
}

sets! {
    cmd_set_line_width: f32 => line_width, |width| width;
    cmd_set_cull_mode: vk::CullModeFlags => cull_mode, |mode| mode.as_raw();
    cmd_set_front_face: vk::FrontFace => front_face, |face| face.as_raw().cast_unsigned();
    cmd_set_primitive_topology: vk::PrimitiveTopology => topology, |topology| topology.as_raw().cast_unsigned();
    cmd_set_depth_test_enable: vk::Bool32 => depth_test, |enable| enable;
    cmd_set_depth_write_enable: vk::Bool32 => depth_write, |enable| enable;
    cmd_set_depth_compare_op: vk::CompareOp => depth_compare, |compare| compare.as_raw().cast_unsigned();
    cmd_set_depth_bounds_test_enable: vk::Bool32 => depth_bounds_test, |enable| enable;
    cmd_set_stencil_test_enable: vk::Bool32 => stencil_test, |enable| enable;
    cmd_set_depth_bias_enable: vk::Bool32 => depth_bias_enable, |enable| enable;
    cmd_set_primitive_restart_enable: vk::Bool32 => restart, |enable| enable;
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

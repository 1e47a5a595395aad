//! Hooks of commands that only logs need; the tracker does not model their effect on draws.
//!
//! Every command that is allowed in a render pass is here, in another file of hooks, or in [`PASSED`]. If an application
//! can call any other command, logs count as incomplete.

use super::{lose, of, records};
use crate::dispatch::Device;
use crate::read::{list, vertex_input_set};
use ash::vk;
use std::ffi::CStr;

/// Commands that do not affect draws, or that are not allowed in a secondary command buffer that continues a render pass.
const PASSED: &[&CStr] = &[
    c"vkCmdBeginDebugUtilsLabelEXT",
    c"vkCmdEndDebugUtilsLabelEXT",
    c"vkCmdInsertDebugUtilsLabelEXT",
    c"vkCmdDebugMarkerBeginEXT",
    c"vkCmdDebugMarkerEndEXT",
    c"vkCmdDebugMarkerInsertEXT",
    c"vkCmdSetCheckpointNV",
    c"vkCmdSetPerformanceMarkerINTEL",
    c"vkCmdSetPerformanceStreamMarkerINTEL",
    c"vkCmdNextSubpass",
    c"vkCmdNextSubpass2",
    c"vkCmdNextSubpass2KHR",
    c"vkCmdBlitImage",
    c"vkCmdBlitImage2",
    c"vkCmdBlitImage2KHR",
    c"vkCmdClearColorImage",
    c"vkCmdClearDepthStencilImage",
    c"vkCmdCopyBuffer",
    c"vkCmdCopyBuffer2",
    c"vkCmdCopyBuffer2KHR",
    c"vkCmdCopyBufferToImage",
    c"vkCmdCopyBufferToImage2",
    c"vkCmdCopyBufferToImage2KHR",
    c"vkCmdCopyImage",
    c"vkCmdCopyImage2",
    c"vkCmdCopyImage2KHR",
    c"vkCmdCopyImageToBuffer",
    c"vkCmdCopyImageToBuffer2",
    c"vkCmdCopyImageToBuffer2KHR",
    c"vkCmdCopyQueryPoolResults",
    c"vkCmdFillBuffer",
    c"vkCmdResetEvent",
    c"vkCmdResetEvent2",
    c"vkCmdResetEvent2KHR",
    c"vkCmdResetQueryPool",
    c"vkCmdResolveImage",
    c"vkCmdResolveImage2",
    c"vkCmdResolveImage2KHR",
    c"vkCmdSetEvent",
    c"vkCmdSetEvent2",
    c"vkCmdSetEvent2KHR",
    c"vkCmdUpdateBuffer",
    c"vkCmdBuildAccelerationStructuresKHR",
    c"vkCmdBuildAccelerationStructuresIndirectKHR",
    c"vkCmdCopyAccelerationStructureKHR",
    c"vkCmdCopyAccelerationStructureToMemoryKHR",
    c"vkCmdCopyMemoryToAccelerationStructureKHR",
    c"vkCmdWriteAccelerationStructuresPropertiesKHR",
    c"vkCmdSetRayTracingPipelineStackSizeKHR",
    c"vkCmdTraceRaysKHR",
    c"vkCmdTraceRaysIndirectKHR",
    c"vkCmdTraceRaysIndirect2KHR",
];

/// Notes that the application looked up a device function without a hook.
pub fn unseen(device: &Device, name: &CStr) {
    if name.to_bytes().starts_with(b"vkCmd") && !PASSED.contains(&name) {
        super::watch(device, |watch| {
            watch.state.unseen.get_or_insert_with(|| name.to_string_lossy().into_owned());
        });
    }
}

/// A list of structures without `pNext` chains; otherwise marks the command buffer's log as incomplete.
macro_rules! plain {
    ($watch:expr, $commands:expr, $name:literal, $($list:expr),+) => {
        if $($list.iter().any(|one| !one.p_next.is_null()))||+ {
            lose($watch, $commands, concat!("with extended ", $name));
        }
    };
}

records! {
    cmd_set_depth_bias2(commands: vk::CommandBuffer, info: *const vk::DepthBiasInfoEXT<'_>)
    keep info = list(info.cast::<vk::DepthBiasInfoEXT<'static>>(), 1);
    |watch| {
        let info = list(info, 1);
        plain!(watch, commands, "vkCmdSetDepthBias2EXT", info);
        of(watch, commands, |commands| {
            let bias = |info: &vk::DepthBiasInfoEXT<'_>| {
                [info.depth_bias_constant_factor, info.depth_bias_clamp, info.depth_bias_slope_factor]
            };
            commands.dynamic.depth_bias = info.first().map(bias);
        });
    };
    cmd_set_depth_bounds(commands: vk::CommandBuffer, least: f32, most: f32);
    cmd_clear_attachments(
        commands: vk::CommandBuffer,
        count: u32,
        attachments: *const vk::ClearAttachment,
        rect_count: u32,
        rects: *const vk::ClearRect
    ) keep attachments = list(attachments, count), rects = list(rects, rect_count);
    cmd_write_timestamp(commands: vk::CommandBuffer, stage: vk::PipelineStageFlags, pool: vk::QueryPool, query: u32);
    cmd_write_timestamp2(commands: vk::CommandBuffer, stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32);
    cmd_pipeline_barrier(
        commands: vk::CommandBuffer,
        from: vk::PipelineStageFlags,
        to: vk::PipelineStageFlags,
        flags: vk::DependencyFlags,
        memory_count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        buffer_count: u32,
        buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32,
        images: *const vk::ImageMemoryBarrier<'_>
    )
    keep memory = list(memory.cast::<vk::MemoryBarrier<'static>>(), memory_count),
        buffers = list(buffers.cast::<vk::BufferMemoryBarrier<'static>>(), buffer_count),
        images = list(images.cast::<vk::ImageMemoryBarrier<'static>>(), image_count);
    |watch| plain!(
        watch,
        commands,
        "vkCmdPipelineBarrier",
        list(memory, memory_count),
        list(buffers, buffer_count),
        list(images, image_count)
    );
    cmd_set_patch_control_points(commands: vk::CommandBuffer, points: u32);
    cmd_set_line_stipple(commands: vk::CommandBuffer, factor: u32, pattern: u16);
    cmd_set_tessellation_domain_origin(commands: vk::CommandBuffer, origin: vk::TessellationDomainOrigin);
    cmd_set_color_blend_advanced(
        commands: vk::CommandBuffer,
        from: u32,
        count: u32,
        advanced: *const vk::ColorBlendAdvancedEXT
    ) keep advanced = list(advanced, count);
    cmd_set_extra_primitive_overestimation_size(commands: vk::CommandBuffer, size: f32);
    cmd_set_attachment_feedback_loop_enable(commands: vk::CommandBuffer, aspects: vk::ImageAspectFlags);
    cmd_set_discard_rectangle(
        commands: vk::CommandBuffer,
        from: u32,
        count: u32,
        rectangles: *const vk::Rect2D
    ) keep rectangles = list(rectangles, count);
    cmd_set_discard_rectangle_enable(commands: vk::CommandBuffer, enable: vk::Bool32);
    cmd_set_discard_rectangle_mode(commands: vk::CommandBuffer, mode: vk::DiscardRectangleModeEXT);
    cmd_set_fragment_shading_rate(
        commands: vk::CommandBuffer,
        size: *const vk::Extent2D,
        combiners: *const [vk::FragmentShadingRateCombinerOpKHR; 2]
    ) keep size = list(size, 1), combiners = list(combiners, 1);
    cmd_set_vertex_input(
        commands: vk::CommandBuffer,
        binding_count: u32,
        bindings: *const vk::VertexInputBindingDescription2EXT<'_>,
        attribute_count: u32,
        attributes: *const vk::VertexInputAttributeDescription2EXT<'_>
    )
    keep bindings = list(bindings.cast::<vk::VertexInputBindingDescription2EXT<'static>>(), binding_count),
        attributes = list(attributes.cast::<vk::VertexInputAttributeDescription2EXT<'static>>(), attribute_count);
    |watch| {
        let (bindings, attributes) = (list(bindings, binding_count), list(attributes, attribute_count));
        plain!(watch, commands, "vkCmdSetVertexInputEXT", bindings, attributes);
        of(watch, commands, |commands| {
            commands.dynamic.late.vertex_input = Some(vertex_input_set(bindings, attributes));
            // Where strides are dynamic too, the last command that gives one counts.
            let strides = bindings.iter().map(|given| (given.binding, given.stride.into()));
            commands.dynamic.strides.extend(strides);
        });
    };
    cmd_bind_transform_feedback_buffers(
        commands: vk::CommandBuffer,
        from: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
        sizes: *const vk::DeviceSize
    ) keep buffers = list(buffers, count), offsets = list(offsets, count), sizes = list(sizes, count);
    cmd_draw_mesh_tasks(commands: vk::CommandBuffer, x: u32, y: u32, z: u32);
    cmd_draw_mesh_tasks_indirect(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count: u32,
        stride: u32
    );
    cmd_draw_mesh_tasks_indirect_count(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        counts: vk::Buffer,
        at: vk::DeviceSize,
        most: u32,
        stride: u32
    );
}

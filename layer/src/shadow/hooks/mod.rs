//! The hooks that only the shadow needs, in addition to those of `entry`.
//!
//! A hook passes its call on unchanged, and looks at it before or after. Some do more: creating buffers and images adds
//! transfer usage, render passes keep contents that they would discard, dispatches and draws get copies before and
//! after them, and a submission is followed by a fence.

mod commands;
mod descriptors;
mod dispatches;
mod draws;
mod dynamic;
mod objects;
mod pushes;
mod queues;
pub mod render_passes;
pub mod repeats;
pub mod secondary;
mod swapchains;

use super::Shadow;
use super::commands::Commands;
use super::copies::Gpu;
use super::log::Log;
use super::tracker::{State, Tracker};
use crate::dispatch::{Device, Instance};
use crate::functions::Functions;
use crate::guard::{aside, lock};
use crate::hook::{Row, hooks};
use crate::session::{self, Session};
use ash::vk;
use std::ffi::CStr;
use std::sync::Mutex;

static HOOKS: &[Row] = hooks! {
    objects:
        create_buffer,
        destroy_buffer,
        bind_buffer_memory,
        bind_buffer_memory2,
        get_device_buffer_memory_requirements,
        create_buffer_view,
        destroy_buffer_view,
        create_image,
        destroy_image,
        get_device_image_memory_requirements,
        create_image_view,
        destroy_image_view;
    descriptors:
        allocate_descriptor_sets,
        free_descriptor_sets,
        reset_descriptor_pool,
        destroy_descriptor_pool,
        update_descriptor_sets,
        create_template,
        destroy_template,
        update_template;
    commands:
        allocate_command_buffers,
        free_command_buffers,
        reset_command_pool,
        destroy_command_pool,
        reset_command_buffer,
        cmd_bind_pipeline,
        cmd_bind_shaders,
        cmd_bind_descriptor_sets,
        cmd_bind_descriptor_sets2,
        cmd_set_descriptor_buffer_offsets,
        cmd_set_descriptor_buffer_offsets2,
        cmd_begin_conditional_rendering,
        cmd_end_conditional_rendering;
    pushes:
        cmd_push_constants,
        cmd_push_constants2,
        cmd_push_descriptor_set,
        cmd_push_descriptor_set2,
        cmd_push_template,
        cmd_push_template2;
    render_passes:
        create_framebuffer,
        destroy_framebuffer,
        cmd_begin_render_pass,
        cmd_begin_render_pass2,
        cmd_end_render_pass,
        cmd_end_render_pass2,
        cmd_begin_rendering,
        cmd_end_rendering,
        cmd_begin_query,
        cmd_end_query,
        cmd_begin_query_indexed,
        cmd_end_query_indexed,
        cmd_begin_transform_feedback,
        cmd_end_transform_feedback;
    dynamic:
        cmd_set_viewport,
        cmd_set_scissor,
        cmd_set_line_width,
        cmd_set_depth_bias,
        cmd_set_blend_constants,
        cmd_set_stencil_compare_mask,
        cmd_set_stencil_write_mask,
        cmd_set_stencil_reference,
        cmd_set_cull_mode,
        cmd_set_front_face,
        cmd_set_primitive_topology,
        cmd_set_viewport_with_count,
        cmd_set_scissor_with_count,
        cmd_set_depth_test_enable,
        cmd_set_depth_write_enable,
        cmd_set_depth_compare_op,
        cmd_set_depth_bounds_test_enable,
        cmd_set_stencil_test_enable,
        cmd_set_stencil_op,
        cmd_set_depth_bias_enable,
        cmd_set_primitive_restart_enable,
        cmd_set_rasterizer_discard_enable,
        cmd_set_logic_op,
        cmd_set_depth_clamp_enable,
        cmd_set_polygon_mode,
        cmd_set_rasterization_samples,
        cmd_set_sample_mask,
        cmd_set_alpha_to_coverage_enable,
        cmd_set_alpha_to_one_enable,
        cmd_set_logic_op_enable,
        cmd_set_color_blend_enable,
        cmd_set_color_blend_equation,
        cmd_set_color_write_mask,
        cmd_set_color_write_enable,
        cmd_set_rasterization_stream,
        cmd_set_conservative_rasterization_mode,
        cmd_set_depth_clip_enable,
        cmd_set_depth_clip_negative_one_to_one,
        cmd_set_sample_locations_enable,
        cmd_set_provoking_vertex_mode,
        cmd_set_line_rasterization_mode,
        cmd_set_line_stipple_enable;
    draws:
        cmd_bind_vertex_buffers,
        cmd_bind_vertex_buffers2,
        cmd_bind_index_buffer,
        cmd_bind_index_buffer2,
        cmd_draw,
        cmd_draw_indexed,
        cmd_draw_indirect,
        cmd_draw_indexed_indirect,
        cmd_draw_indirect_count,
        cmd_draw_indexed_indirect_count,
        cmd_draw_multi,
        cmd_draw_multi_indexed,
        cmd_draw_indirect_byte_count;
    dispatches:
        cmd_dispatch,
        cmd_dispatch_base,
        cmd_dispatch_indirect;
    repeats:
        cmd_set_depth_bias2,
        cmd_set_depth_bounds,
        cmd_clear_attachments,
        cmd_write_timestamp,
        cmd_write_timestamp2,
        cmd_pipeline_barrier,
        cmd_set_patch_control_points,
        cmd_set_line_stipple,
        cmd_set_tessellation_domain_origin,
        cmd_set_color_blend_advanced,
        cmd_set_extra_primitive_overestimation_size,
        cmd_set_attachment_feedback_loop_enable,
        cmd_set_discard_rectangle,
        cmd_set_discard_rectangle_enable,
        cmd_set_discard_rectangle_mode,
        cmd_set_fragment_shading_rate,
        cmd_set_vertex_input,
        cmd_bind_transform_feedback_buffers,
        cmd_draw_mesh_tasks,
        cmd_draw_mesh_tasks_indirect,
        cmd_draw_mesh_tasks_indirect_count;
    secondary:
        begin_command_buffer,
        cmd_execute_commands,
        cmd_pipeline_barrier2,
        cmd_wait_events,
        cmd_wait_events2,
        cmd_set_device_mask;
    swapchains:
        create_swapchain,
        get_swapchain_images,
        destroy_swapchain;
    queues:
        queue_submit,
        queue_submit2,
        queue_wait_idle,
        device_wait_idle,
        wait_for_fences,
        get_fence_status,
        wait_semaphores,
        get_semaphore_counter_value;
};

/// The hook of a function, if the shadow is on.
pub fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
    let (_, hook) = HOOKS.iter().find(|(names, _)| names.contains(&name))?;
    session::get()?.shadow.as_ref()?;
    hook()
}

/// Creates the tracker of a new device, if the shadow is on.
///
/// # Safety
/// The device belongs to the physical device and this to the instance; the functions are the device's.
pub unsafe fn tracker(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    device: vk::Device,
    functions: Functions,
) -> Option<Tracker> {
    session::get()?.shadow.as_ref()?;
    let find = |name: &CStr| {
        // SAFETY: a live instance, and a name that ends with a zero.
        unsafe { (instance.get_proc)(instance.handle, name.as_ptr()) }
    };
    let mut memory = vk::PhysicalDeviceMemoryProperties::default();
    let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroups);
    // SAFETY: functions with these names have these types; the structures that they fill outlive the calls.
    let (image_formats, surface) = unsafe {
        let about_memory = find(c"vkGetPhysicalDeviceMemoryProperties")?;
        std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceMemoryProperties>(about_memory)(physical, &mut memory);
        let names = [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"];
        if let Some(about) = names.into_iter().find_map(find) {
            std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceProperties2>(about)(physical, &mut properties);
        }
        let formats = find(c"vkGetPhysicalDeviceImageFormatProperties");
        let formats =
            formats.map(|found| std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceImageFormatProperties>(found));
        let surface = find(c"vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
        let surface =
            surface.map(|found| std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR>(found));
        (formats, surface)
    };
    let strict_lines = properties.properties.limits.strict_lines != 0;
    let judge = properties.properties.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
    let gpu = Gpu { functions, device, memory };
    let lanes = subgroups.subgroup_size;
    Some(Tracker { gpu, physical, image_formats, surface, lanes, strict_lines, judge, state: Mutex::default() })
}

/// A function whose type follows from its name.
type Any = unsafe extern "system" fn();

/// Ends the tracking of a device that is being destroyed.
///
/// # Safety
/// Nothing runs on it.
pub unsafe fn close(device: &Device) {
    // SAFETY: as the caller says.
    watch(device, |watch| unsafe { watch.tracker.close(watch.shadow, watch.state) });
}

/// The state for a hook.
struct Watch<'a> {
    session: &'static Session,
    shadow: &'static Shadow,
    device: &'a Device,
    tracker: &'a Tracker,
    state: &'a mut State,
}

/// Calls `look`, if the shadow is on.
fn watch<T>(device: &Device, look: impl FnOnce(&mut Watch<'_>) -> T) -> Option<T> {
    let session = session::get()?;
    let (shadow, tracker) = session.shadow.as_ref().zip(device.shadow.as_ref())?;
    aside(|| look(&mut Watch { session, shadow, device, tracker, state: &mut lock(&tracker.state) }))
}

/// Works with what a command buffer has, if it is known.
fn of(watch: &mut Watch<'_>, commands: vk::CommandBuffer, work: impl FnOnce(&mut Commands)) {
    watch.state.commands.entry(commands).and_modify(work);
}

/// The log of a command buffer; only a secondary one that continues a render pass has one.
fn log<'a>(watch: &'a mut Watch<'_>, commands: vk::CommandBuffer) -> Option<&'a mut Log> {
    watch.state.commands.get_mut(&commands)?.log.as_mut()
}

/// Marks the log as incomplete: it lacks this command.
fn lose(watch: &mut Watch<'_>, commands: vk::CommandBuffer, why: &str) {
    log(watch, commands).into_iter().for_each(|log| log.lose(why));
}

/// Hooks of commands that are allowed in a render pass: each is inspected, added to the command buffer's log, and passed
/// on. `keep`: lists that the log copies. `in`: the pipeline layout that the command uses.
macro_rules! records {
    ($(
        $hook:ident($commands:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*)
        $(in $layout:ident)? $(keep $($list:ident = $kept:expr),+)?; $(|$watch:ident| $look:expr;)?
    )*) => {$(
        pub(super) unsafe extern "system" fn $hook($commands: $ty $(, $arg: $arg_ty)*) {
            // SAFETY: the caller's handle; the call passes on the same valid arguments; a log repeats equal ones.
            unsafe {
                let Some(device) = $crate::dispatch::device($crate::dispatch::key($commands)) else { return };
                super::watch(&device, |watch| {
                    if let Some(log) = super::log(watch, $commands) {
                        $(log.layouts.insert($layout);)?
                        $($(let $list = $kept.to_vec();)+)?
                        log.push(move |$commands| {
                            $($(let $list = $crate::shadow::log::first(&$list).cast();)+)?
                            $hook($commands $(, $arg)*);
                        });
                    }
                    $(
                        let $watch = watch;
                        $look;
                    )?
                });
                if let Some(below) = device.functions.$hook {
                    below($commands $(, $arg)*);
                }
            }
        }
    )*};
}

/// Hooks of functions without a result, which are looked at before they are passed on.
macro_rules! passes {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) $look:expr;)*) => {
        $crate::hook::looks! {$(
            $hook($first: $ty $(, $arg: $arg_ty)*) |device| super::watch(device, $look);
        )*}
    };
}

/// Hooks of functions with a result, which look at the call afterwards.
macro_rules! answers {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) $look:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook($first: $ty $(, $arg: $arg_ty)*) -> ash::vk::Result {
            // SAFETY: the caller's handle; the call passes on the same valid arguments.
            unsafe {
                let below = $crate::dispatch::below($crate::dispatch::key($first), |functions| functions.$hook);
                let Some((device, below)) = below else { return ash::vk::Result::ERROR_INITIALIZATION_FAILED };
                let result = below($first $(, $arg)*);
                let look = $look;
                super::watch(&device, |watch| look(watch, result));
                result
            }
        }
    )*};
}

/// Hooks of functions with a result, which look at the call before passing it on: objects that it frees may be reused
/// as soon as it returns.
macro_rules! takes_back {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) $look:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook($first: $ty $(, $arg: $arg_ty)*) -> ash::vk::Result {
            // SAFETY: the caller's handle; the call passes on the same valid arguments.
            unsafe {
                let below = $crate::dispatch::below($crate::dispatch::key($first), |functions| functions.$hook);
                let Some((device, below)) = below else { return ash::vk::Result::ERROR_INITIALIZATION_FAILED };
                super::watch(&device, $look);
                below($first $(, $arg)*)
            }
        }
    )*};
}

use {answers, passes, records, takes_back};

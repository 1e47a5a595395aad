//! What Vulkan's loader calls where shadow is on, besides the hooks of `entry`.
//!
//! A hook passes its call on as it came, and looks at it before or after. Three kinds do more: creating buffers and images adds
//! transfer usage, dispatches have copies before and after them, and a submission is followed by a fence.

mod commands;
mod descriptors;
mod dispatches;
mod objects;
mod queues;

use super::Shadow;
use super::copies::Gpu;
use super::tracker::{State, Tracker};
use crate::dispatch::{Device, Functions, Instance};
use crate::entry::{Hook, hook};
use crate::guard::{aside, lock};
use crate::session::{self, Session};
use ash::vk;
use std::ffi::CStr;
use std::sync::Mutex;

/// Hooks by the names of the functions that they stand for.
static HOOKS: &[(&CStr, Hook)] = &[
    (c"vkCreateBuffer", hook!(objects::create_buffer: PFN_vkCreateBuffer)),
    (c"vkDestroyBuffer", hook!(objects::destroy_buffer: PFN_vkDestroyBuffer)),
    (c"vkBindBufferMemory", hook!(objects::bind_buffer_memory: PFN_vkBindBufferMemory)),
    (c"vkBindBufferMemory2", hook!(objects::bind_buffer_memory2: PFN_vkBindBufferMemory2)),
    (c"vkBindBufferMemory2KHR", hook!(objects::bind_buffer_memory2: PFN_vkBindBufferMemory2)),
    (
        c"vkGetDeviceBufferMemoryRequirements",
        hook!(objects::get_device_buffer_memory_requirements: PFN_vkGetDeviceBufferMemoryRequirements),
    ),
    (
        c"vkGetDeviceBufferMemoryRequirementsKHR",
        hook!(objects::get_device_buffer_memory_requirements: PFN_vkGetDeviceBufferMemoryRequirements),
    ),
    (c"vkCreateBufferView", hook!(objects::create_buffer_view: PFN_vkCreateBufferView)),
    (c"vkDestroyBufferView", hook!(objects::destroy_buffer_view: PFN_vkDestroyBufferView)),
    (c"vkCreateImage", hook!(objects::create_image: PFN_vkCreateImage)),
    (c"vkDestroyImage", hook!(objects::destroy_image: PFN_vkDestroyImage)),
    (
        c"vkGetDeviceImageMemoryRequirements",
        hook!(objects::get_device_image_memory_requirements: PFN_vkGetDeviceImageMemoryRequirements),
    ),
    (
        c"vkGetDeviceImageMemoryRequirementsKHR",
        hook!(objects::get_device_image_memory_requirements: PFN_vkGetDeviceImageMemoryRequirements),
    ),
    (c"vkCreateImageView", hook!(objects::create_image_view: PFN_vkCreateImageView)),
    (c"vkDestroyImageView", hook!(objects::destroy_image_view: PFN_vkDestroyImageView)),
    (c"vkAllocateDescriptorSets", hook!(descriptors::allocate_descriptor_sets: PFN_vkAllocateDescriptorSets)),
    (c"vkFreeDescriptorSets", hook!(descriptors::free_descriptor_sets: PFN_vkFreeDescriptorSets)),
    (c"vkResetDescriptorPool", hook!(descriptors::reset_descriptor_pool: PFN_vkResetDescriptorPool)),
    (c"vkDestroyDescriptorPool", hook!(descriptors::destroy_descriptor_pool: PFN_vkDestroyDescriptorPool)),
    (c"vkUpdateDescriptorSets", hook!(descriptors::update_descriptor_sets: PFN_vkUpdateDescriptorSets)),
    (c"vkCreateDescriptorUpdateTemplate", hook!(descriptors::create_template: PFN_vkCreateDescriptorUpdateTemplate)),
    (c"vkCreateDescriptorUpdateTemplateKHR", hook!(descriptors::create_template: PFN_vkCreateDescriptorUpdateTemplate)),
    (c"vkDestroyDescriptorUpdateTemplate", hook!(descriptors::destroy_template: PFN_vkDestroyDescriptorUpdateTemplate)),
    (
        c"vkDestroyDescriptorUpdateTemplateKHR",
        hook!(descriptors::destroy_template: PFN_vkDestroyDescriptorUpdateTemplate),
    ),
    (c"vkUpdateDescriptorSetWithTemplate", hook!(descriptors::update_template: PFN_vkUpdateDescriptorSetWithTemplate)),
    (
        c"vkUpdateDescriptorSetWithTemplateKHR",
        hook!(descriptors::update_template: PFN_vkUpdateDescriptorSetWithTemplate),
    ),
    (c"vkAllocateCommandBuffers", hook!(commands::allocate_command_buffers: PFN_vkAllocateCommandBuffers)),
    (c"vkFreeCommandBuffers", hook!(commands::free_command_buffers: PFN_vkFreeCommandBuffers)),
    (c"vkResetCommandPool", hook!(commands::reset_command_pool: PFN_vkResetCommandPool)),
    (c"vkDestroyCommandPool", hook!(commands::destroy_command_pool: PFN_vkDestroyCommandPool)),
    (c"vkBeginCommandBuffer", hook!(commands::begin_command_buffer: PFN_vkBeginCommandBuffer)),
    (c"vkResetCommandBuffer", hook!(commands::reset_command_buffer: PFN_vkResetCommandBuffer)),
    (c"vkCmdBindPipeline", hook!(commands::cmd_bind_pipeline: PFN_vkCmdBindPipeline)),
    (c"vkCmdBindShadersEXT", hook!(commands::cmd_bind_shaders: PFN_vkCmdBindShadersEXT)),
    (c"vkCmdBindDescriptorSets", hook!(commands::cmd_bind_descriptor_sets: PFN_vkCmdBindDescriptorSets)),
    (c"vkCmdBindDescriptorSets2", hook!(commands::cmd_bind_descriptor_sets2: PFN_vkCmdBindDescriptorSets2KHR)),
    (c"vkCmdBindDescriptorSets2KHR", hook!(commands::cmd_bind_descriptor_sets2: PFN_vkCmdBindDescriptorSets2KHR)),
    (c"vkCmdPushConstants", hook!(commands::cmd_push_constants: PFN_vkCmdPushConstants)),
    (c"vkCmdPushConstants2", hook!(commands::cmd_push_constants2: PFN_vkCmdPushConstants2KHR)),
    (c"vkCmdPushConstants2KHR", hook!(commands::cmd_push_constants2: PFN_vkCmdPushConstants2KHR)),
    (c"vkCmdPushDescriptorSet", hook!(commands::cmd_push_descriptor_set: PFN_vkCmdPushDescriptorSetKHR)),
    (c"vkCmdPushDescriptorSetKHR", hook!(commands::cmd_push_descriptor_set: PFN_vkCmdPushDescriptorSetKHR)),
    (c"vkCmdPushDescriptorSet2", hook!(commands::cmd_push_descriptor_set2: PFN_vkCmdPushDescriptorSet2KHR)),
    (c"vkCmdPushDescriptorSet2KHR", hook!(commands::cmd_push_descriptor_set2: PFN_vkCmdPushDescriptorSet2KHR)),
    (
        c"vkCmdPushDescriptorSetWithTemplate",
        hook!(commands::cmd_push_template: PFN_vkCmdPushDescriptorSetWithTemplateKHR),
    ),
    (
        c"vkCmdPushDescriptorSetWithTemplateKHR",
        hook!(commands::cmd_push_template: PFN_vkCmdPushDescriptorSetWithTemplateKHR),
    ),
    (
        c"vkCmdPushDescriptorSetWithTemplate2",
        hook!(commands::cmd_push_template2: PFN_vkCmdPushDescriptorSetWithTemplate2KHR),
    ),
    (
        c"vkCmdPushDescriptorSetWithTemplate2KHR",
        hook!(commands::cmd_push_template2: PFN_vkCmdPushDescriptorSetWithTemplate2KHR),
    ),
    (
        c"vkCmdSetDescriptorBufferOffsetsEXT",
        hook!(commands::cmd_set_descriptor_buffer_offsets: PFN_vkCmdSetDescriptorBufferOffsetsEXT),
    ),
    (
        c"vkCmdSetDescriptorBufferOffsets2EXT",
        hook!(commands::cmd_set_descriptor_buffer_offsets2: PFN_vkCmdSetDescriptorBufferOffsets2EXT),
    ),
    (
        c"vkCmdBeginConditionalRenderingEXT",
        hook!(commands::cmd_begin_conditional_rendering: PFN_vkCmdBeginConditionalRenderingEXT),
    ),
    (
        c"vkCmdEndConditionalRenderingEXT",
        hook!(commands::cmd_end_conditional_rendering: PFN_vkCmdEndConditionalRenderingEXT),
    ),
    (c"vkCmdDispatch", hook!(dispatches::cmd_dispatch: PFN_vkCmdDispatch)),
    (c"vkCmdDispatchBase", hook!(dispatches::cmd_dispatch_base: PFN_vkCmdDispatchBase)),
    (c"vkCmdDispatchBaseKHR", hook!(dispatches::cmd_dispatch_base: PFN_vkCmdDispatchBase)),
    (c"vkCmdDispatchIndirect", hook!(dispatches::cmd_dispatch_indirect: PFN_vkCmdDispatchIndirect)),
    (c"vkQueueSubmit", hook!(queues::queue_submit: PFN_vkQueueSubmit)),
    (c"vkQueueSubmit2", hook!(queues::queue_submit2: PFN_vkQueueSubmit2)),
    (c"vkQueueSubmit2KHR", hook!(queues::queue_submit2: PFN_vkQueueSubmit2)),
    (c"vkQueueWaitIdle", hook!(queues::queue_wait_idle: PFN_vkQueueWaitIdle)),
    (c"vkDeviceWaitIdle", hook!(queues::device_wait_idle: PFN_vkDeviceWaitIdle)),
    (c"vkWaitForFences", hook!(queues::wait_for_fences: PFN_vkWaitForFences)),
    (c"vkGetFenceStatus", hook!(queues::get_fence_status: PFN_vkGetFenceStatus)),
    (c"vkWaitSemaphores", hook!(queues::wait_semaphores: PFN_vkWaitSemaphores)),
    (c"vkWaitSemaphoresKHR", hook!(queues::wait_semaphores: PFN_vkWaitSemaphores)),
    (c"vkGetSemaphoreCounterValue", hook!(queues::get_semaphore_counter_value: PFN_vkGetSemaphoreCounterValue)),
    (c"vkGetSemaphoreCounterValueKHR", hook!(queues::get_semaphore_counter_value: PFN_vkGetSemaphoreCounterValue)),
];

/// The hook of a function, where shadow is on.
pub fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
    let (_, hook) = HOOKS.iter().find(|(of, _)| *of == name)?;
    session::get()?.shadow.as_ref()?;
    hook()
}

/// What follows a new device, where shadow is on.
///
/// # Safety
/// The device is the physical device's, which is the instance's; the functions are the device's.
pub unsafe fn tracker(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    device: vk::Device,
    functions: Functions,
) -> Option<Tracker> {
    session::get()?.shadow.as_ref()?;
    let find = |name: &CStr| {
        // SAFETY: an instance that is alive, and a name that ends with a zero.
        unsafe { (instance.get_proc)(instance.handle, name.as_ptr()) }
    };
    let mut memory = vk::PhysicalDeviceMemoryProperties::default();
    let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroups);
    // SAFETY: functions of these names have these types; what they fill outlives the calls.
    let image_formats = unsafe {
        let about_memory = find(c"vkGetPhysicalDeviceMemoryProperties")?;
        std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceMemoryProperties>(about_memory)(physical, &mut memory);
        let names = [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"];
        if let Some(about) = names.into_iter().find_map(find) {
            std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceProperties2>(about)(physical, &mut properties);
        }
        let formats = find(c"vkGetPhysicalDeviceImageFormatProperties");
        formats.map(|found| std::mem::transmute::<Any, vk::PFN_vkGetPhysicalDeviceImageFormatProperties>(found))
    };
    let judge = properties.properties.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
    let gpu = Gpu { functions, device, memory };
    Some(Tracker { gpu, physical, image_formats, lanes: subgroups.subgroup_size, judge, state: Mutex::default() })
}

/// A function whose type its name tells.
type Any = unsafe extern "system" fn();

/// A device ends.
///
/// # Safety
/// Nothing runs on it.
pub unsafe fn close(device: &Device) {
    // SAFETY: as the caller says.
    watch(device, |watch| unsafe { watch.tracker.close(watch.shadow, watch.state) });
}

/// What a hook looks with.
struct Watch<'a> {
    session: &'static Session,
    shadow: &'static Shadow,
    device: &'a Device,
    tracker: &'a Tracker,
    state: &'a mut State,
}

/// Looks at a call, where shadow is on.
fn watch<T>(device: &Device, look: impl FnOnce(&mut Watch<'_>) -> T) -> Option<T> {
    let session = session::get()?;
    let (shadow, tracker) = session.shadow.as_ref().zip(device.shadow.as_ref())?;
    aside(|| look(&mut Watch { session, shadow, device, tracker, state: &mut lock(&tracker.state) }))
}

/// Hooks of functions without a result, which are looked at before they are passed on.
macro_rules! passes {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) $look:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook($first: $ty $(, $arg: $arg_ty)*) {
            // SAFETY: a handle of the caller's; the same arguments go below, and are valid.
            unsafe {
                let Some(device) = $crate::dispatch::device($crate::entry::key($first)) else { return };
                super::watch(&device, $look);
                if let Some(below) = device.functions.$hook {
                    below($first $(, $arg)*);
                }
            }
        }
    )*};
}

/// Hooks of functions with a result, which are looked at with it.
macro_rules! answers {
    ($($hook:ident($first:ident: $ty:ty $(, $arg:ident: $arg_ty:ty)*) $look:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook($first: $ty $(, $arg: $arg_ty)*) -> ash::vk::Result {
            // SAFETY: a handle of the caller's; the same arguments go below, and are valid.
            unsafe {
                let device = $crate::dispatch::device($crate::entry::key($first));
                let Some((device, below)) = device.and_then(|device| Some((device.clone(), device.functions.$hook?)))
                else {
                    return ash::vk::Result::ERROR_INITIALIZATION_FAILED;
                };
                let result = below($first $(, $arg)*);
                let look = $look;
                super::watch(&device, |watch| look(watch, result));
                result
            }
        }
    )*};
}

use {answers, passes};

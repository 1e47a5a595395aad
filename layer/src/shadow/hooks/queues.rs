//! Hooks of submissions and waits: a fence after a submission tells when its copies can be read.

use super::{Watch, answers, watch};
use crate::dispatch::{self, Device, key};
use crate::read::list;
use ash::vk;

/// Passes on a submission, followed by a fence if it contains copies.
///
/// # Safety
/// The caller may submit to the queue, and `call` does so with these command buffers.
unsafe fn submit(
    device: &Device,
    queue: vk::Queue,
    commands: &[vk::CommandBuffer],
    call: impl FnOnce() -> vk::Result,
) -> vk::Result {
    // SAFETY: the device of the caller's queue.
    watch(device, |watch| unsafe { watch.tracker.before_submission(watch.shadow, watch.state, commands) });
    let result = call();
    if result == vk::Result::SUCCESS {
        // SAFETY: as the caller says.
        watch(device, |watch| unsafe { watch.tracker.after_submission(watch.shadow, watch.state, queue, commands) });
    }
    result
}

pub(super) unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the caller's queue; the call passes on the same valid arguments.
    unsafe {
        let below = dispatch::below(key(queue), |functions| functions.queue_submit);
        let Some((device, below)) = below else { return vk::Result::ERROR_DEVICE_LOST };
        let commands = list(infos, count).iter().flat_map(|one| list(one.p_command_buffers, one.command_buffer_count));
        submit(&device, queue, &commands.copied().collect::<Vec<_>>(), || below(queue, count, infos, fence))
    }
}

pub(super) unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the caller's queue; the call passes on the same valid arguments.
    unsafe {
        let below = dispatch::below(key(queue), |functions| functions.queue_submit2);
        let Some((device, below)) = below else { return vk::Result::ERROR_DEVICE_LOST };
        let commands =
            list(infos, count).iter().flat_map(|one| list(one.p_command_buffer_infos, one.command_buffer_info_count));
        let commands: Vec<_> = commands.map(|one| one.command_buffer).collect();
        submit(&device, queue, &commands, || below(queue, count, infos, fence))
    }
}

fn poll(watch: &mut Watch<'_>) {
    // SAFETY: the application has just called a function of the device.
    unsafe { watch.tracker.poll(watch.shadow, watch.state) }
}

answers! {
    queue_wait_idle(queue: vk::Queue)
    |watch: &mut Watch<'_>, _| poll(watch);
    device_wait_idle(device: vk::Device)
    |watch: &mut Watch<'_>, _| poll(watch);
    wait_for_fences(
        device: vk::Device,
        count: u32,
        fences: *const vk::Fence,
        all: vk::Bool32,
        timeout: u64
    )
    |watch: &mut Watch<'_>, _| poll(watch);
    get_fence_status(device: vk::Device, fence: vk::Fence)
    |watch: &mut Watch<'_>, _| poll(watch);
    wait_semaphores(device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64)
    |watch: &mut Watch<'_>, _| poll(watch);
    get_semaphore_counter_value(device: vk::Device, semaphore: vk::Semaphore, value: *mut u64)
    |watch: &mut Watch<'_>, _| poll(watch);
}

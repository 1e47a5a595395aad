//! Secondary command buffers: their inherited state, their execution, and commands that need special copies or cannot be
//! kept.

use super::{Watch, log, lose, passes, takes_back, watch};
use crate::chain::MAX_CHAIN;
use crate::dispatch::{self, Device, key};
use crate::read::list;
use crate::shadow::log::Log;
use ash::vk;

takes_back! {
    begin_command_buffer(commands: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo<'_>)
    |watch| {
        watch.tracker.retire(watch.shadow, watch.state, commands);
        if let Some(commands) = watch.state.commands.get_mut(&commands).filter(|commands| commands.secondary) {
            let given = &*info;
            let mut log = Log::default();
            commands.conditional = inherit(&mut log, given);
            let continues = given.flags.contains(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE);
            commands.log = continues.then_some(log);
        }
    };
}

/// Whether a secondary command buffer inherits a condition, and state other than its render pass.
///
/// # Safety
/// The info is valid, and that of a secondary command buffer.
unsafe fn inherit(log: &mut Log, given: &vk::CommandBufferBeginInfo<'_>) -> bool {
    use vk::StructureType as S;
    // SAFETY: as the caller says: null, or structures that begin with their type and a pointer to the next.
    unsafe {
        if !given.p_next.is_null() {
            log.lose("that is begun in an extended way");
        }
        let Some(inherited) = given.p_inheritance_info.as_ref() else { return false };
        let mut conditional = false;
        let mut next = inherited.p_next.cast::<vk::BaseInStructure<'_>>();
        for _ in 0..MAX_CHAIN {
            let Some(one) = next.as_ref() else { return conditional };
            match one.s_type {
                S::COMMAND_BUFFER_INHERITANCE_RENDERING_INFO => {}
                S::COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT => {
                    let info = next.cast::<vk::CommandBufferInheritanceConditionalRenderingInfoEXT<'_>>();
                    conditional = (*info).conditional_rendering_enable != 0;
                }
                _ => log.lose("that inherits other state"),
            }
            next = one.p_next;
        }
        log.lose("that inherits other state");
        conditional
    }
}

/// Handles the destruction of a pipeline layout: commands that use it cannot be recorded again.
pub fn layout_destroyed(device: &Device, layout: vk::PipelineLayout) {
    watch(device, |watch| {
        let logs = watch.state.commands.values_mut().filter_map(|commands| commands.log.as_mut());
        logs.filter(|log| log.layouts.contains(&layout)).for_each(|log| log.lose("whose pipeline layout is destroyed"));
    });
}

pub(super) unsafe extern "system" fn cmd_execute_commands(
    commands: vk::CommandBuffer,
    count: u32,
    secondaries: *const vk::CommandBuffer,
) {
    // SAFETY: the caller's command buffers; each is executed once, or its commands are recorded instead.
    unsafe {
        let below = dispatch::below(key(commands), |functions| functions.cmd_execute_commands);
        let Some((device, below)) = below else { return };
        watch(&device, |watch| lose(watch, commands, "that executes others"));
        for secondary in list(secondaries, count) {
            let tracker = |watch: &mut Watch<'_>| watch.tracker.unroll(watch.shadow, watch.state, commands, *secondary);
            let unrolled = watch(&device, tracker).flatten();
            match &unrolled {
                Some(log) => log.iter().for_each(|command| command(commands)),
                None => below(commands, 1, secondary),
            }
            watch(&device, |watch| watch.tracker.rolled(watch.state, commands, unrolled.is_some()));
        }
    }
}

/// # Safety
/// The info is valid.
unsafe fn keep_barrier(log: &mut Log, given: &vk::DependencyInfo<'_>) {
    // SAFETY: a valid info has valid lists; the elements' `pNext` chains are not used.
    let (memory, buffers, images) = unsafe {
        (
            list(given.p_memory_barriers.cast::<vk::MemoryBarrier2<'static>>(), given.memory_barrier_count),
            list(
                given.p_buffer_memory_barriers.cast::<vk::BufferMemoryBarrier2<'static>>(),
                given.buffer_memory_barrier_count,
            ),
            list(
                given.p_image_memory_barriers.cast::<vk::ImageMemoryBarrier2<'static>>(),
                given.image_memory_barrier_count,
            ),
        )
    };
    let plain = given.p_next.is_null()
        && memory.iter().all(|one| one.p_next.is_null())
        && buffers.iter().all(|one| one.p_next.is_null())
        && images.iter().all(|one| one.p_next.is_null());
    if !plain {
        log.lose("with extended vkCmdPipelineBarrier2");
    }
    let flags = given.dependency_flags;
    let (memory, buffers, images) = (memory.to_vec(), buffers.to_vec(), images.to_vec());
    log.push(move |commands| {
        let info = vk::DependencyInfo::default()
            .dependency_flags(flags)
            .memory_barriers(&memory)
            .buffer_memory_barriers(&buffers)
            .image_memory_barriers(&images);
        // SAFETY: equal to the application's arguments.
        unsafe { cmd_pipeline_barrier2(commands, &info) }
    });
}

passes! {
    cmd_pipeline_barrier2(commands: vk::CommandBuffer, info: *const vk::DependencyInfo<'_>)
    |watch| log(watch, commands).into_iter().for_each(|log| keep_barrier(log, &*info));
    cmd_wait_events(
        commands: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        from: vk::PipelineStageFlags,
        to: vk::PipelineStageFlags,
        memory_count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        buffer_count: u32,
        buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32,
        images: *const vk::ImageMemoryBarrier<'_>
    )
    |watch| lose(watch, commands, "with vkCmdWaitEvents");
    cmd_wait_events2(
        commands: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        infos: *const vk::DependencyInfo<'_>
    )
    |watch| lose(watch, commands, "with vkCmdWaitEvents2");
    cmd_set_device_mask(commands: vk::CommandBuffer, mask: u32)
    |watch| lose(watch, commands, "with vkCmdSetDeviceMask");
}

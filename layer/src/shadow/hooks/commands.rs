//! Hooks of command buffers: allocation and reset, and the commands that bind pipelines and sets.

use super::{Watch, answers, log, lose, of, passes, records, takes_back};
use crate::read::list;
use crate::shadow::commands::Commands;
use crate::shadow::log::{Log, first};
use ash::vk;

const OK: vk::Result = vk::Result::SUCCESS;

answers! {
    allocate_command_buffers(
        device: vk::Device,
        info: *const vk::CommandBufferAllocateInfo<'_>,
        made: *mut vk::CommandBuffer
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            let given = &*info;
            let secondary = given.level == vk::CommandBufferLevel::SECONDARY;
            for commands in list(made, given.command_buffer_count) {
                watch.state.commands.insert(*commands, Commands::new(given.command_pool, secondary));
            }
        }
    };
}

takes_back! {
    reset_command_buffer(commands: vk::CommandBuffer, flags: vk::CommandBufferResetFlags)
    |watch| watch.tracker.retire(watch.shadow, watch.state, commands);
    reset_command_pool(device: vk::Device, pool: vk::CommandPool, flags: vk::CommandPoolResetFlags)
    |watch| watch.tracker.retire_pool(watch.shadow, watch.state, pool, false);
}

fn keep_sets(log: &mut Log, given: &vk::BindDescriptorSetsInfoKHR<'_>, sets: &[vk::DescriptorSet], offsets: &[u32]) {
    if !given.p_next.is_null() {
        log.lose("with extended vkCmdBindDescriptorSets2");
    }
    log.layouts.insert(given.layout);
    let (layout, number) = (given.layout, given.first_set);
    let (sets, offsets) = (sets.to_vec(), offsets.to_vec());
    let point = vk::PipelineBindPoint::GRAPHICS;
    // SAFETY: the info equals the application's in all that draws read.
    log.push(move |commands| unsafe {
        let (count, offset_count) = (sets.len() as u32, offsets.len() as u32);
        let (sets, offsets) = (first(&sets), first(&offsets));
        cmd_bind_descriptor_sets(commands, point, layout, number, count, sets, offset_count, offsets);
    });
}

passes! {
    free_command_buffers(
        device: vk::Device,
        pool: vk::CommandPool,
        count: u32,
        commands: *const vk::CommandBuffer
    )
    |watch| for one in list(commands, count) {
        watch.tracker.retire(watch.shadow, watch.state, *one);
        watch.state.commands.remove(one);
    };
    destroy_command_pool(
        device: vk::Device,
        pool: vk::CommandPool,
        allocator: *const vk::AllocationCallbacks<'_>
    )
    |watch| watch.tracker.retire_pool(watch.shadow, watch.state, pool, true);
    cmd_bind_shaders(
        commands: vk::CommandBuffer,
        count: u32,
        stages: *const vk::ShaderStageFlags,
        shaders: *const vk::ShaderEXT
    )
    |watch| {
        lose(watch, commands, "with shader objects");
        let stages = list(stages, count).iter().fold(vk::ShaderStageFlags::empty(), |all, one| all | *one);
        of(watch, commands, |commands| commands.of(stages).for_each(|bound| (bound.pipeline, bound.waiting) = (None, None)));
    };
    cmd_set_descriptor_buffer_offsets(
        commands: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        buffers: *const u32,
        offsets: *const vk::DeviceSize
    )
    |watch| {
        lose(watch, commands, "with descriptor buffers");
        of(watch, commands, |commands| {
            let gone = first..first.saturating_add(count);
            commands.at(point).into_iter().for_each(|bound| bound.sets.retain(|set, _| !gone.contains(set)));
        });
    };
    cmd_set_descriptor_buffer_offsets2(
        commands: vk::CommandBuffer,
        info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'_>
    )
    |watch| {
        lose(watch, commands, "with descriptor buffers");
        of(watch, commands, |commands| commands.of((*info).stage_flags).for_each(|bound| bound.sets.clear()));
    };
    cmd_begin_conditional_rendering(
        commands: vk::CommandBuffer,
        info: *const vk::ConditionalRenderingBeginInfoEXT<'_>
    )
    |watch| {
        lose(watch, commands, "with vkCmdBeginConditionalRenderingEXT");
        of(watch, commands, |commands| commands.conditional = true);
    };
    cmd_end_conditional_rendering(commands: vk::CommandBuffer)
    |watch| of(watch, commands, |commands| commands.conditional = false);
    cmd_bind_descriptor_sets2(commands: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfoKHR<'_>)
    |watch| {
        let given = &*info;
        let sets = list(given.p_descriptor_sets, given.descriptor_set_count);
        let offsets = list(given.p_dynamic_offsets, given.dynamic_offset_count);
        if let Some(log) = log(watch, commands) {
            keep_sets(log, given, sets, offsets);
        }
        if let Some(commands) = watch.state.commands.get_mut(&commands) {
            for bound in commands.of(given.stage_flags) {
                bound.bind(&watch.state.objects, given.first_set, sets, offsets);
            }
        }
    };
}

records! {
    cmd_bind_pipeline(commands: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline);
    |watch| {
        let name = watch.device.with(|handles| handles.pipelines.of(pipeline));
        let known = watch.shadow.pipeline(name);
        let waiting = watch.session.is_waiting(name).then_some(name);
        of(watch, commands, |commands| {
            if let Some(bound) = commands.at(point) {
                (bound.pipeline, bound.waiting, bound.completed) = (known, waiting, None);
            }
        });
    };
    cmd_bind_descriptor_sets(
        commands: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        offset_count: u32,
        offsets: *const u32
    ) in layout keep sets = list(sets, count), offsets = list(offsets, offset_count);
    |watch| if let Some(bound) = watch.state.commands.get_mut(&commands).and_then(|commands| commands.at(point)) {
        bound.bind(&watch.state.objects, first, list(sets, count), list(offsets, offset_count));
    };
}

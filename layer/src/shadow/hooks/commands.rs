//! Hooks of command buffers: allocation and reset, and the commands that bind pipelines, sets and push constants.

use super::{Watch, answers, of, passes, takes_back};
use crate::read::list;
use crate::shadow::bound::BoundSet;
use crate::shadow::commands::Commands;
use crate::shadow::descriptors;
use crate::shadow::objects::Set;
use ash::vk;
use dovetail::capture::DefinitionSource;
use std::ffi::c_void;

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
    begin_command_buffer(commands: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo<'_>)
    |watch| watch.tracker.retire(watch.shadow, watch.state, commands);
    reset_command_buffer(commands: vk::CommandBuffer, flags: vk::CommandBufferResetFlags)
    |watch| watch.tracker.retire(watch.shadow, watch.state, commands);
    reset_command_pool(device: vk::Device, pool: vk::CommandPool, flags: vk::CommandPoolResetFlags)
    |watch| watch.tracker.retire_pool(watch.shadow, watch.state, pool, false);
}

/// Writes to the set that is pushed in place of one.
///
/// # Safety
/// The layout is one of the device's.
unsafe fn pushed(
    watch: &mut Watch<'_>,
    commands: vk::CommandBuffer,
    stages: vk::ShaderStageFlags,
    (layout, number): (vk::PipelineLayout, u32),
    write: impl Fn(&mut Set),
) {
    let name = watch.device.with(|handles| handles.pipeline_layouts.of(layout));
    let layout = DefinitionSource::pipeline_layout(watch.session, name).ok();
    let layout = layout.and_then(|layout| layout.set_layouts.get(number as usize).copied());
    let layout = layout.and_then(|name| DefinitionSource::set_layout(watch.session, name).ok());
    let Some(commands) = watch.state.commands.get_mut(&commands) else { return };
    for bound in commands.of(stages) {
        match (&layout, bound.sets.get_mut(&number)) {
            // What is not pushed again stays.
            (Some(layout), Some(BoundSet::Pushed(set))) if set.layout == *layout => write(set),
            (Some(layout), _) => {
                let mut set = Set::new(layout.clone(), vk::DescriptorPool::null());
                write(&mut set);
                bound.sets.insert(number, BoundSet::Pushed(set));
            }
            (None, _) => drop(bound.sets.remove(&number)),
        }
    }
}

/// The stages of a bind point; none of others than compute and graphics.
fn stages(point: vk::PipelineBindPoint) -> vk::ShaderStageFlags {
    match point {
        vk::PipelineBindPoint::COMPUTE => vk::ShaderStageFlags::COMPUTE,
        vk::PipelineBindPoint::GRAPHICS => vk::ShaderStageFlags::ALL_GRAPHICS,
        _ => vk::ShaderStageFlags::empty(),
    }
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
    cmd_bind_pipeline(commands: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline)
    |watch| {
        let name = watch.device.with(|handles| handles.pipelines.of(pipeline));
        let known = watch.shadow.pipeline(name);
        of(watch, commands, |commands| {
            if let Some(bound) = commands.at(point) {
                bound.pipeline = known;
            }
        });
    };
    cmd_bind_shaders(
        commands: vk::CommandBuffer,
        count: u32,
        stages: *const vk::ShaderStageFlags,
        shaders: *const vk::ShaderEXT
    )
    |watch| {
        let stages = list(stages, count).iter().fold(vk::ShaderStageFlags::empty(), |all, one| all | *one);
        of(watch, commands, |commands| commands.of(stages).for_each(|bound| bound.pipeline = None));
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
    )
    |watch| if let Some(bound) = watch.state.commands.get_mut(&commands).and_then(|commands| commands.at(point)) {
        bound.bind(&watch.state.objects, first, list(sets, count), list(offsets, offset_count));
    };
    cmd_bind_descriptor_sets2(commands: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfoKHR<'_>)
    |watch| if let Some(commands) = watch.state.commands.get_mut(&commands) {
        let given = &*info;
        for bound in commands.of(given.stage_flags) {
            let sets = list(given.p_descriptor_sets, given.descriptor_set_count);
            let offsets = list(given.p_dynamic_offsets, given.dynamic_offset_count);
            bound.bind(&watch.state.objects, given.first_set, sets, offsets);
        }
    };
    cmd_push_constants(
        commands: vk::CommandBuffer,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void
    )
    |watch| {
        let values = list(values.cast(), size);
        of(watch, commands, |commands| commands.of(stages).for_each(|bound| bound.push(offset, values)));
    };
    cmd_push_constants2(commands: vk::CommandBuffer, info: *const vk::PushConstantsInfoKHR<'_>)
    |watch| {
        let given = &*info;
        let values = list(given.p_values.cast(), given.size);
        of(watch, commands, |commands| {
            commands.of(given.stage_flags).for_each(|bound| bound.push(given.offset, values));
        });
    };
    cmd_push_descriptor_set(
        commands: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet<'_>
    )
    |watch| pushed(watch, commands, stages(point), (layout, set), |set| {
        list(writes, count).iter().for_each(|write| descriptors::write(set, write));
    });
    cmd_push_descriptor_set2(commands: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfoKHR<'_>)
    |watch| {
        let given = &*info;
        pushed(watch, commands, given.stage_flags, (given.layout, given.set), |set| {
            let writes = list(given.p_descriptor_writes, given.descriptor_write_count);
            writes.iter().for_each(|write| descriptors::write(set, write));
        });
    };
    cmd_push_template(
        commands: vk::CommandBuffer,
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        set: u32,
        data: *const c_void
    )
    |watch| if let Some(template) = watch.state.objects.templates.get(&template).cloned() {
        pushed(watch, commands, stages(template.point), (layout, set), |set| {
            descriptors::write_template(set, &template.entries, data);
        });
    };
    cmd_push_template2(commands: vk::CommandBuffer, info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'_>)
    |watch| if let Some(template) = watch.state.objects.templates.get(&(*info).descriptor_update_template).cloned() {
        let given = &*info;
        pushed(watch, commands, stages(template.point), (given.layout, given.set), |set| {
            descriptors::write_template(set, &template.entries, given.p_data);
        });
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
    |watch| of(watch, commands, |commands| {
        let gone = first..first.saturating_add(count);
        commands.at(point).into_iter().for_each(|bound| bound.sets.retain(|set, _| !gone.contains(set)));
    });
    cmd_set_descriptor_buffer_offsets2(
        commands: vk::CommandBuffer,
        info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'_>
    )
    |watch| of(watch, commands, |commands| {
        commands.of((*info).stage_flags).for_each(|bound| bound.sets.clear());
    });
    cmd_begin_conditional_rendering(
        commands: vk::CommandBuffer,
        info: *const vk::ConditionalRenderingBeginInfoEXT<'_>
    )
    |watch| of(watch, commands, |commands| commands.conditional = true);
    cmd_end_conditional_rendering(commands: vk::CommandBuffer)
    |watch| of(watch, commands, |commands| commands.conditional = false);
}

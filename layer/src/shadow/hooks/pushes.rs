//! Hooks of commands that push constants or descriptors.

use super::{Watch, log, of, passes, records};
use crate::read::list;
use crate::shadow::bound::BoundSet;
use crate::shadow::descriptors::{self, Writes};
use crate::shadow::log::{Log, first};
use crate::shadow::objects::Set;
use ash::vk;
use dovetail_capture::DefinitionSource;
use std::ffi::c_void;

/// Writes pushed descriptors into the set that they replace.
fn pushed(
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
            // Descriptors that are not pushed again keep their values.
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

/// The stages of a bind point; empty except for compute and graphics.
fn stages(point: vk::PipelineBindPoint) -> vk::ShaderStageFlags {
    match point {
        vk::PipelineBindPoint::COMPUTE => vk::ShaderStageFlags::COMPUTE,
        vk::PipelineBindPoint::GRAPHICS => vk::ShaderStageFlags::ALL_GRAPHICS,
        _ => vk::ShaderStageFlags::empty(),
    }
}

/// Adds pushed descriptors to the log, as plain writes: a template may be destroyed before they are pushed again.
fn keep(log: &mut Log, point: vk::PipelineBindPoint, (layout, set): (vk::PipelineLayout, u32), writes: Option<Writes>) {
    let Some(writes) = writes else { return log.lose("with extended descriptors that are pushed") };
    log.layouts.insert(layout);
    log.push(move |commands| {
        // SAFETY: equal to the application's arguments.
        writes.with(|writes| unsafe {
            cmd_push_descriptor_set(commands, point, layout, set, writes.len() as u32, first(writes));
        });
    });
}

records! {
    cmd_push_constants(
        commands: vk::CommandBuffer,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void
    ) in layout keep values = list(values.cast::<u8>(), size);
    |watch| {
        let values = list(values.cast(), size);
        of(watch, commands, |commands| commands.of(stages).for_each(|bound| bound.push(offset, values)));
    };
}

passes! {
    cmd_push_constants2(commands: vk::CommandBuffer, info: *const vk::PushConstantsInfoKHR<'_>)
    |watch| {
        let given = &*info;
        let values = list(given.p_values.cast(), given.size);
        of(watch, commands, |commands| {
            commands.of(given.stage_flags).for_each(|bound| bound.push(given.offset, values));
        });
        if let Some(log) = log(watch, commands) {
            if !given.p_next.is_null() {
                log.lose("with extended vkCmdPushConstants2");
            }
            log.layouts.insert(given.layout);
            let (layout, stages, offset, values) = (given.layout, given.stage_flags, given.offset, values.to_vec());
            log.push(move |commands| {
                cmd_push_constants(commands, layout, stages, offset, values.len() as u32, first(&values).cast());
            });
        }
    };
    cmd_push_descriptor_set(
        commands: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet<'_>
    )
    |watch| {
        let writes = list(writes, count);
        pushed(watch, commands, stages(point), (layout, set), |set| {
            writes.iter().for_each(|write| descriptors::write(set, write));
        });
        if let Some(log) = log(watch, commands) {
            keep(log, point, (layout, set), Writes::given(writes));
        }
    };
    cmd_push_descriptor_set2(commands: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfoKHR<'_>)
    |watch| {
        let given = &*info;
        let writes = list(given.p_descriptor_writes, given.descriptor_write_count);
        pushed(watch, commands, given.stage_flags, (given.layout, given.set), |set| {
            writes.iter().for_each(|write| descriptors::write(set, write));
        });
        if let Some(log) = log(watch, commands) {
            let kept = Writes::given(writes).filter(|_| given.p_next.is_null());
            keep(log, vk::PipelineBindPoint::GRAPHICS, (given.layout, given.set), kept);
        }
    };
    cmd_push_template(
        commands: vk::CommandBuffer,
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        set: u32,
        data: *const c_void
    )
    |watch| push_template(watch, commands, template, (layout, set), data, true);
    cmd_push_template2(commands: vk::CommandBuffer, info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'_>)
    |watch| {
        let given = &*info;
        let (template, place) = (given.descriptor_update_template, (given.layout, given.set));
        push_template(watch, commands, template, place, given.p_data, given.p_next.is_null());
    };
}

/// # Safety
/// The template describes the data. `plain`: the command has no `pNext` chain.
unsafe fn push_template(
    watch: &mut Watch<'_>,
    commands: vk::CommandBuffer,
    template: vk::DescriptorUpdateTemplate,
    place: (vk::PipelineLayout, u32),
    data: *const c_void,
    plain: bool,
) {
    let template = watch.state.objects.templates.get(&template).cloned();
    if let Some(template) = &template {
        // SAFETY: as the caller says.
        pushed(watch, commands, stages(template.point), place, |set| unsafe {
            descriptors::write_template(set, &template.entries, data);
        });
    }
    if let Some(log) = log(watch, commands) {
        let template = template.filter(|_| plain);
        let point = template.as_ref().map_or(vk::PipelineBindPoint::GRAPHICS, |template| template.point);
        // SAFETY: as the caller says.
        let writes = template.and_then(|template| unsafe { Writes::of_template(&template.entries, data) });
        keep(log, point, place, writes);
    }
}

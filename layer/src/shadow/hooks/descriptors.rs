//! Hooks that follow descriptor sets: allocation, writes, copies, update templates.

use super::{Watch, answers, passes, takes_back};
use crate::read::list;
use crate::shadow::descriptors;
use crate::shadow::objects::{Objects, Set, Template};
use ash::vk;
use dovetail_capture::DefinitionSource;
use std::ffi::c_void;

const OK: vk::Result = vk::Result::SUCCESS;

fn forget_pool(objects: &mut Objects, pool: vk::DescriptorPool) {
    objects.sets.retain(|_, set| set.pool != pool);
}

answers! {
    allocate_descriptor_sets(
        device: vk::Device,
        info: *const vk::DescriptorSetAllocateInfo<'_>,
        made: *mut vk::DescriptorSet
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            let given = &*info;
            let layouts = list(given.p_set_layouts, given.descriptor_set_count);
            for (layout, set) in layouts.iter().zip(list(made, given.descriptor_set_count)) {
                let name = watch.device.with(|handles| handles.set_layouts.of(*layout));
                match DefinitionSource::set_layout(watch.session, name) {
                    Ok(layout) => watch.state.objects.sets.insert(*set, Set::new(layout, given.descriptor_pool)),
                    Err(_) => watch.state.objects.sets.remove(set),
                };
            }
        }
    };
    create_template(
        device: vk::Device,
        info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        made: *mut vk::DescriptorUpdateTemplate
    )
    |watch: &mut Watch<'_>, result: vk::Result| {
        if result == OK {
            let entries = descriptors::template(&*info).into();
            let template = Template { point: (*info).pipeline_bind_point, entries };
            watch.state.objects.templates.insert(*made, template);
        }
    };
    reset_descriptor_pool(device: vk::Device, pool: vk::DescriptorPool, flags: vk::DescriptorPoolResetFlags)
    |watch: &mut Watch<'_>, _| forget_pool(&mut watch.state.objects, pool);
}

takes_back! {
    free_descriptor_sets(
        device: vk::Device,
        pool: vk::DescriptorPool,
        count: u32,
        sets: *const vk::DescriptorSet
    )
    |watch| list(sets, count).iter().for_each(|set| drop(watch.state.objects.sets.remove(set)));
}

passes! {
    destroy_descriptor_pool(
        device: vk::Device,
        pool: vk::DescriptorPool,
        allocator: *const vk::AllocationCallbacks<'_>
    )
    |watch| forget_pool(&mut watch.state.objects, pool);
    destroy_template(
        device: vk::Device,
        template: vk::DescriptorUpdateTemplate,
        allocator: *const vk::AllocationCallbacks<'_>
    )
    |watch| { watch.state.objects.templates.remove(&template); };
    update_descriptor_sets(
        device: vk::Device,
        write_count: u32,
        writes: *const vk::WriteDescriptorSet<'_>,
        copy_count: u32,
        copies: *const vk::CopyDescriptorSet<'_>
    )
    |watch| {
        let sets = &mut watch.state.objects.sets;
        for write in list(writes, write_count) {
            if let Some(set) = sets.get_mut(&write.dst_set) {
                descriptors::write(set, write);
            }
        }
        for copy in list(copies, copy_count) {
            let from = sets.get(&copy.src_set);
            let from = from.map(|set| set.read(copy.src_binding, copy.src_array_element, copy.descriptor_count));
            if let Some((from, to)) = from.zip(sets.get_mut(&copy.dst_set)) {
                let (mut binding, mut element) = (copy.dst_binding, copy.dst_array_element);
                for one in from {
                    (binding, element) = to.put(binding, element, one);
                }
            }
        }
    };
    update_template(
        device: vk::Device,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void
    )
    |watch| {
        let Objects { sets, templates, .. } = &mut watch.state.objects;
        if let Some((set, template)) = sets.get_mut(&set).zip(templates.get(&template)) {
            descriptors::write_template(set, &template.entries, data);
        }
    };
}

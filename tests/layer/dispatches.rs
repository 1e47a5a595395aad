//! The second application: dispatches one shader in all ways that Vulkan has, and in some that a layer cannot follow.
//!
//! Each case has its own pipeline, whose specialization constant is the case's number.

use ash::vk;
use std::io::Cursor;

/// Number of values in a buffer: two workgroups.
const COUNT: u32 = 64;
/// Offset of the second half of the uniform buffer; no device requires a larger alignment.
const SECOND: u32 = 256;

struct App {
    device: ash::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    module: vk::ShaderModule,
    push: ash::khr::push_descriptor::Device,
    conditional: ash::ext::conditional_rendering::Device,
    /// The memory to which each case has written.
    results: Vec<*const u32>,
}

/// Bindings of the three buffers of a case.
struct Layout {
    set: vk::DescriptorSetLayout,
    pipeline: vk::PipelineLayout,
}

/// The buffers of a case: uniform, read-only, written.
type Buffers = [vk::DescriptorBufferInfo; 3];

const DYNAMIC: [vk::DescriptorType; 3] = [
    vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
    vk::DescriptorType::STORAGE_BUFFER,
    vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
];
const STATIC: [vk::DescriptorType; 3] =
    [vk::DescriptorType::UNIFORM_BUFFER, vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::STORAGE_BUFFER];

/// Dispatches everything; returns the values of all cases.
pub fn run(shader: &[u8]) -> Vec<Vec<u32>> {
    // SAFETY: the library is Vulkan's loader; structures outlive their calls, handles belong to this function, and
    // nothing runs any more when memory is read. Objects that are not destroyed end with the process.
    unsafe {
        let entry = ash::Entry::load().expect("Vulkan's loader");
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None);
        let instance = instance.expect("vkCreateInstance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
        let extensions = [ash::khr::push_descriptor::NAME.as_ptr(), ash::ext::conditional_rendering::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut v12)
            .push_next(&mut v13)
            .push_next(&mut conditional);
        let device = instance.create_device(physical, &info, None).expect("vkCreateDevice");
        let words = ash::util::read_spv(&mut Cursor::new(shader)).expect("SPIR-V");
        let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None);
        let flags = vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER;
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default().flags(flags), None);
        let mut app = App {
            queue: device.get_device_queue(0, 0),
            pool: pool.expect("vkCreateCommandPool"),
            module: module.expect("vkCreateShaderModule"),
            push: ash::khr::push_descriptor::Device::new(&instance, &device),
            conditional: ash::ext::conditional_rendering::Device::new(&instance, &device),
            device,
            results: Vec::new(),
        };
        app.bound();
        app.submitted();
        app.not_followed();
        app.copied();
        app.device.device_wait_idle().expect("vkDeviceWaitIdle");
        let left =
            app.results.iter().map(|first| std::slice::from_raw_parts(*first, COUNT as usize).to_vec()).collect();
        app.device.destroy_device(None);
        instance.destroy_instance(None);
        left
    }
}

/// # Safety
/// For all functions: the device is alive.
impl App {
    /// Cases with different ways to bind.
    ///
    /// # Safety
    /// As above.
    unsafe fn bound(&mut self) {
        let device = self.device.clone();
        // SAFETY: handles belong to this application; structures outlive their calls.
        unsafe {
            // 1: dynamic offsets.
            let layout = self.layout(DYNAMIC, vk::DescriptorSetLayoutCreateFlags::empty());
            let (pipeline, buffers) = (self.pipeline(&layout, 1), self.buffers());
            let set = self.set(&layout, DYNAMIC, buffers);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[SECOND, 0])));
                device.cmd_dispatch(commands, 2, 1, 1);
            });
            // 2: the size is in a buffer. 3: three dispatches, the third of which is not sampled.
            let layout = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::empty());
            let (pipeline, buffers) = (self.pipeline(&layout, 2), self.buffers());
            let set = self.set(&layout, STATIC, buffers);
            let (size, _) = self.buffer(&[9, 9, 2, 1, 1], vk::BufferUsageFlags::INDIRECT_BUFFER);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                device.cmd_dispatch_indirect(commands, size, 8);
            });
            let (pipeline, buffers) = (self.pipeline(&layout, 3), self.buffers());
            let set = self.set(&layout, STATIC, buffers);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                let barrier = [vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                    .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE)];
                let (stage, flags) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::DependencyFlags::empty());
                for _ in 0..3 {
                    device.cmd_dispatch(commands, 2, 1, 1);
                    device.cmd_pipeline_barrier(commands, stage, stage, flags, &barrier, &[], &[]);
                }
            });
            // 4: written by a template.
            let (pipeline, buffers) = (self.pipeline(&layout, 4), self.buffers());
            let set = self.allocate(&layout);
            let entry = |(binding, kind)| vk::DescriptorUpdateTemplateEntry {
                dst_binding: binding,
                descriptor_count: 1,
                descriptor_type: kind,
                offset: binding as usize * size_of::<vk::DescriptorBufferInfo>(),
                ..Default::default()
            };
            let entries: Vec<_> = (0..).zip(STATIC).map(entry).collect();
            let info = vk::DescriptorUpdateTemplateCreateInfo::default()
                .descriptor_update_entries(&entries)
                .template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET)
                .descriptor_set_layout(layout.set);
            let template = device.create_descriptor_update_template(&info, None).expect("a template");
            device.update_descriptor_set_with_template(set, template, buffers.as_ptr().cast());
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                device.cmd_dispatch(commands, 2, 1, 1);
            });
            // 5: push descriptors.
            let pushed = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR);
            let (pipeline, buffers) = (self.pipeline(&pushed, 5), self.buffers());
            self.done(|app, commands| {
                app.bind(commands, pipeline, &pushed, None);
                let writes = writes(vk::DescriptorSet::null(), STATIC, &buffers);
                app.push.cmd_push_descriptor_set(commands, vk::PipelineBindPoint::COMPUTE, pushed.pipeline, 0, &writes);
                device.cmd_dispatch(commands, 2, 1, 1);
            });
        }
    }

    /// Cases with different ways to submit.
    ///
    /// # Safety
    /// As above.
    unsafe fn submitted(&mut self) {
        // SAFETY: handles belong to this application; structures outlive their calls.
        unsafe {
            // 6: submitted twice, one after the other: the first counts. 7: twice at once: neither counts, and nothing
            // here waits for a semaphore that this thread signals later. 8: never submitted.
            let layout = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::empty());
            let six = self.plain(&layout, 6, vk::CommandBufferLevel::PRIMARY);
            for _ in 0..2 {
                self.submit(six, None);
                self.device.queue_wait_idle(self.queue).expect("vkQueueWaitIdle");
            }
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            let semaphore = self.device.create_semaphore(&info, None).expect("vkCreateSemaphore");
            let seven = self.plain(&layout, 7, vk::CommandBufferLevel::PRIMARY);
            self.submit(seven, Some(semaphore));
            self.submit(seven, Some(semaphore));
            let info = vk::SemaphoreSignalInfo::default().semaphore(semaphore).value(1);
            self.device.signal_semaphore(&info).expect("vkSignalSemaphore");
            self.device.device_wait_idle().expect("vkDeviceWaitIdle");
            let eight = self.plain(&layout, 8, vk::CommandBufferLevel::PRIMARY);
            self.device.free_command_buffers(self.pool, &[eight]);
        }
    }

    /// Cases that a layer cannot follow.
    ///
    /// # Safety
    /// As above.
    unsafe fn not_followed(&mut self) {
        let device = self.device.clone();
        // SAFETY: handles are this application's own; structures outlive their calls.
        unsafe {
            // 9: in a secondary command buffer, which is supported.
            let layout = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::empty());
            let nine = self.plain(&layout, 9, vk::CommandBufferLevel::SECONDARY);
            self.done(|_, commands| device.cmd_execute_commands(commands, &[nine]));
            // 10: what is read is what is written.
            let (pipeline, mut buffers) = (self.pipeline(&layout, 10), self.buffers());
            buffers[1] = buffers[2];
            let set = self.set(&layout, STATIC, buffers);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                device.cmd_dispatch(commands, 2, 1, 1);
            });
            // 11: not from the first workgroup.
            let (pipeline, buffers) = (self.pipeline(&layout, 11), self.buffers());
            let set = self.set(&layout, STATIC, buffers);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                device.cmd_dispatch_base(commands, 1, 0, 0, 1, 1, 1);
            });
            // 12: it depends on a value in memory.
            let (pipeline, buffers) = (self.pipeline(&layout, 12), self.buffers());
            let set = self.set(&layout, STATIC, buffers);
            let (zero, _) = self.buffer(&[0], vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &layout, Some((set, &[])));
                let info = vk::ConditionalRenderingBeginInfoEXT::default().buffer(zero);
                (app.conditional.fp().cmd_begin_conditional_rendering_ext)(commands, &info);
                device.cmd_dispatch(commands, 2, 1, 1);
                (app.conditional.fp().cmd_end_conditional_rendering_ext)(commands);
            });
            // 13: its descriptors may be written after binding; lavapipe supports that only for other types.
            let late = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL);
            let (pipeline, buffers) = (self.pipeline(&late, 13), self.buffers());
            let set = self.set(&late, STATIC, buffers);
            self.done(|app, commands| {
                app.bind(commands, pipeline, &late, Some((set, &[])));
                device.cmd_dispatch(commands, 2, 1, 1);
            });
        }
    }

    /// 14: a set copied from one whose last two bindings were written at once; submitted by the newer command.
    ///
    /// # Safety
    /// As above.
    unsafe fn copied(&mut self) {
        // SAFETY: handles belong to this application; structures outlive their calls.
        unsafe {
            let layout = self.layout(STATIC, vk::DescriptorSetLayoutCreateFlags::empty());
            let (pipeline, buffers) = (self.pipeline(&layout, 14), self.buffers());
            let [from, to] = [self.allocate(&layout), self.allocate(&layout)];
            let write = |binding, kind, buffers| {
                let write = vk::WriteDescriptorSet::default().dst_set(from).dst_binding(binding);
                write.descriptor_type(kind).buffer_info(buffers)
            };
            let writes = [write(0, STATIC[0], &buffers[..1]), write(1, STATIC[1], &buffers[1..])];
            let copy = |binding, count| {
                let copy = vk::CopyDescriptorSet::default().src_set(from).src_binding(binding);
                copy.dst_set(to).dst_binding(binding).descriptor_count(count)
            };
            self.device.update_descriptor_sets(&writes, &[]);
            self.device.update_descriptor_sets(&[], &[copy(0, 1), copy(1, 2)]);
            let commands = self.record(vk::CommandBufferLevel::PRIMARY, |app, commands| {
                app.bind(commands, pipeline, &layout, Some((to, &[])));
                app.device.cmd_dispatch(commands, 2, 1, 1);
            });
            let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
            let submit = [vk::SubmitInfo2::default().command_buffer_infos(&commands)];
            self.device.queue_submit2(self.queue, &submit, vk::Fence::null()).expect("vkQueueSubmit2");
        }
    }

    /// # Safety
    /// As above.
    unsafe fn layout(&self, kinds: [vk::DescriptorType; 3], flags: vk::DescriptorSetLayoutCreateFlags) -> Layout {
        let binding = |(binding, kind)| {
            let stages = vk::ShaderStageFlags::COMPUTE;
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(stages)
        };
        let bindings: Vec<_> = (0..).zip(kinds).map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).flags(flags);
        let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(4)];
        // SAFETY: the infos outlive their calls.
        unsafe {
            let set = self.device.create_descriptor_set_layout(&info, None).expect("vkCreateDescriptorSetLayout");
            let sets = [set];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
            Layout { set, pipeline: self.device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout") }
        }
    }

    /// # Safety
    /// As above.
    unsafe fn pipeline(&self, layout: &Layout, case: u32) -> vk::Pipeline {
        let entries = [vk::SpecializationMapEntry::default().constant_id(1).size(4)];
        let data = case.to_le_bytes();
        let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(self.module)
            .name(c"main")
            .specialization_info(&values);
        let flags = vk::PipelineCreateFlags::DISPATCH_BASE;
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout.pipeline).flags(flags)];
        // SAFETY: the info outlives the call.
        let made = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
        made.expect("vkCreateComputePipelines")[0]
    }

    /// A buffer with these values, and the address of its memory.
    ///
    /// # Safety
    /// As above.
    unsafe fn buffer(&self, numbers: &[u32], usage: vk::BufferUsageFlags) -> (vk::Buffer, *mut u32) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        // SAFETY: the device is alive; mapped memory is sufficiently aligned.
        let (buffer, at) = unsafe { crate::easel::mapped(&self.device, &bytes, usage) };
        (buffer, at.cast())
    }

    /// The buffers of a case, none of which has transfer-source usage.
    ///
    /// # Safety
    /// As above.
    unsafe fn buffers(&mut self) -> Buffers {
        let case = self.results.len() as u32;
        let uniform: Vec<u32> = (0..2 * SECOND / 4).map(|n| n + 1).collect();
        let numbers = |factor: u32| (0..COUNT).map(|n| n * factor + case).collect::<Vec<_>>();
        // SAFETY: as the caller says.
        unsafe {
            let (uniform, _) = self.buffer(&uniform, vk::BufferUsageFlags::UNIFORM_BUFFER);
            let (from, _) = self.buffer(&numbers(5), vk::BufferUsageFlags::STORAGE_BUFFER);
            let (to, result) = self.buffer(&numbers(7), vk::BufferUsageFlags::STORAGE_BUFFER);
            self.results.push(result);
            [(uniform, 16), (from, vk::WHOLE_SIZE), (to, u64::from(4 * COUNT))]
                .map(|(buffer, range)| vk::DescriptorBufferInfo { buffer, offset: 0, range })
        }
    }

    /// # Safety
    /// As above.
    unsafe fn allocate(&self, layout: &Layout) -> vk::DescriptorSet {
        let size = |ty| vk::DescriptorPoolSize { ty, descriptor_count: 3 };
        let sizes: Vec<_> = DYNAMIC.into_iter().chain(STATIC).map(size).collect();
        let flags = vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND;
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes).flags(flags);
        let sets = [layout.set];
        // SAFETY: the infos outlive their calls.
        unsafe {
            let pool = self.device.create_descriptor_pool(&info, None).expect("vkCreateDescriptorPool");
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&sets);
            self.device.allocate_descriptor_sets(&info).expect("vkAllocateDescriptorSets")[0]
        }
    }

    /// # Safety
    /// As above.
    unsafe fn set(&self, layout: &Layout, kinds: [vk::DescriptorType; 3], buffers: Buffers) -> vk::DescriptorSet {
        // SAFETY: the set is new, and the writes outlive the call.
        unsafe {
            let set = self.allocate(layout);
            self.device.update_descriptor_sets(&writes(set, kinds, &buffers), &[]);
            set
        }
    }

    /// # Safety
    /// As above.
    unsafe fn bind(
        &self,
        commands: vk::CommandBuffer,
        pipeline: vk::Pipeline,
        layout: &Layout,
        set: Option<(vk::DescriptorSet, &[u32])>,
    ) {
        let (device, point) = (&self.device, vk::PipelineBindPoint::COMPUTE);
        // SAFETY: the command buffer is being recorded.
        unsafe {
            device.cmd_bind_pipeline(commands, point, pipeline);
            if let Some((set, offsets)) = set {
                device.cmd_bind_descriptor_sets(commands, point, layout.pipeline, 0, &[set], offsets);
            }
            let factor = 3u32.to_le_bytes();
            device.cmd_push_constants(commands, layout.pipeline, vk::ShaderStageFlags::COMPUTE, 0, &factor);
        }
    }

    /// # Safety
    /// As above.
    unsafe fn record(
        &self,
        level: vk::CommandBufferLevel,
        work: impl FnOnce(&Self, vk::CommandBuffer),
    ) -> vk::CommandBuffer {
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1).level(level);
        let inherited = vk::CommandBufferInheritanceInfo::default();
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE)
            .inheritance_info(&inherited);
        // SAFETY: the infos outlive their calls.
        unsafe {
            let commands = self.device.allocate_command_buffers(&info).expect("vkAllocateCommandBuffers")[0];
            self.device.begin_command_buffer(commands, &begin).expect("vkBeginCommandBuffer");
            work(self, commands);
            self.device.end_command_buffer(commands).expect("vkEndCommandBuffer");
            commands
        }
    }

    /// A command buffer with the dispatch of a case.
    ///
    /// # Safety
    /// As above.
    unsafe fn plain(&mut self, layout: &Layout, case: u32, level: vk::CommandBufferLevel) -> vk::CommandBuffer {
        // SAFETY: handles belong to this application.
        unsafe {
            let (pipeline, buffers) = (self.pipeline(layout, case), self.buffers());
            let set = self.set(layout, STATIC, buffers);
            self.record(level, |app, commands| {
                app.bind(commands, pipeline, layout, Some((set, &[])));
                app.device.cmd_dispatch(commands, 2, 1, 1);
            })
        }
    }

    /// Submits a command buffer, optionally after a semaphore is 1.
    ///
    /// # Safety
    /// As above.
    unsafe fn submit(&self, commands: vk::CommandBuffer, after: Option<vk::Semaphore>) {
        let (commands, semaphores) = ([commands], [after.unwrap_or_default()]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&[1]);
        let mut info = vk::SubmitInfo::default().command_buffers(&commands);
        if after.is_some() {
            let stages = &[vk::PipelineStageFlags::ALL_COMMANDS];
            info = info.wait_semaphores(&semaphores).wait_dst_stage_mask(stages).push_next(&mut timeline);
        }
        // SAFETY: the submitted command buffer is recorded, and outlives its execution.
        unsafe { self.device.queue_submit(self.queue, &[info], vk::Fence::null()) }.expect("vkQueueSubmit");
    }

    /// Records, submits and waits.
    ///
    /// # Safety
    /// As above.
    unsafe fn done(&self, work: impl FnOnce(&Self, vk::CommandBuffer)) {
        // SAFETY: as the caller says.
        unsafe {
            let commands = self.record(vk::CommandBufferLevel::PRIMARY, work);
            self.submit(commands, None);
            self.device.queue_wait_idle(self.queue).expect("vkQueueWaitIdle");
        }
    }
}

fn writes(
    set: vk::DescriptorSet,
    kinds: [vk::DescriptorType; 3],
    buffers: &Buffers,
) -> Vec<vk::WriteDescriptorSet<'_>> {
    let write = |((binding, kind), info)| {
        vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding)
            .descriptor_type(kind)
            .buffer_info(std::slice::from_ref(info))
    };
    (0..).zip(kinds).zip(buffers).map(write).collect()
}

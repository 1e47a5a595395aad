//! A small application in a process of its own: creates pipelines of many kinds, computes, and prints the results.
//!
//! Pointers that Vulkan ignores are set to an invalid address.

use ash::vk;
use std::ffi::CStr;
use std::io::Cursor;

/// The SPIR-V of its pipelines.
pub struct Shaders {
    pub vertex: Vec<u8>,
    pub fragment: Vec<u8>,
    pub compute: Vec<u8>,
}

/// An invalid address.
fn nowhere<T>() -> *const T {
    std::ptr::without_provenance(0x10)
}

struct App {
    device: ash::Device,
    queue: vk::Queue,
}

/// Creates everything; returns the computed values.
pub fn run(shaders: &Shaders) -> Vec<u32> {
    // SAFETY: the library is Vulkan's loader; structures outlive their calls, handles belong to this function, and
    // nothing runs any more when memory is read. Objects that are not destroyed end with the process.
    unsafe {
        let entry = ash::Entry::load().expect("Vulkan's loader");
        let app = vk::ApplicationInfo::default().application_name(c"layer test").api_version(vk::API_VERSION_1_3);
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None);
        let instance = instance.expect("vkCreateInstance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut dynamic =
            vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default().vertex_input_dynamic_state(true);
        let extensions = [ash::ext::vertex_input_dynamic_state::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut v13)
            .push_next(&mut dynamic);
        let device = instance.create_device(physical, &info, None).expect("vkCreateDevice");
        let queue = device.get_device_queue(0, 0);
        let app = App { device, queue };
        app.graphics(shaders);
        let numbers = app.compute(&shaders.compute);
        app.device.destroy_device(None);
        instance.destroy_instance(None);
        numbers
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    ash::util::read_spv(&mut Cursor::new(bytes)).expect("SPIR-V")
}

const MAIN: &CStr = c"main";

impl App {
    /// # Safety
    /// The bytes are SPIR-V.
    unsafe fn module(&self, bytes: &[u8]) -> vk::ShaderModule {
        let words = words(bytes);
        // SAFETY: the info outlives the call.
        let made =
            unsafe { self.device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None) };
        made.expect("vkCreateShaderModule")
    }

    /// A set with an immutable sampler, and push constants.
    ///
    /// # Safety
    /// The device is alive.
    unsafe fn layout(&self) -> (vk::PipelineLayout, vk::DescriptorSetLayout) {
        // SAFETY: infos outlive their calls; Vulkan ignores the samplers of a buffer.
        unsafe {
            let info = vk::SamplerCreateInfo::default().max_lod(f32::INFINITY).mag_filter(vk::Filter::LINEAR);
            let samplers = [self.device.create_sampler(&info, None).expect("vkCreateSampler")];
            let mut bindings = [
                vk::DescriptorSetLayoutBinding::default()
                    .binding(2)
                    .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::FRAGMENT)
                    .immutable_samplers(&samplers),
                vk::DescriptorSetLayoutBinding::default()
                    .binding(5)
                    .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::VERTEX),
            ];
            bindings[1].p_immutable_samplers = nowhere();
            let set = |info: &vk::DescriptorSetLayoutCreateInfo<'_>| {
                self.device.create_descriptor_set_layout(info, None).expect("vkCreateDescriptorSetLayout")
            };
            let empty = set(&vk::DescriptorSetLayoutCreateInfo::default());
            let full = set(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings));
            let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(8)];
            let sets = [empty, full];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
            (self.device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout"), full)
        }
    }

    /// A pass whose only subpass draws to the second of two attachments.
    ///
    /// # Safety
    /// The device is alive.
    unsafe fn render_pass(&self) -> vk::RenderPass {
        let attachment = |format| {
            vk::AttachmentDescription::default()
                .format(format)
                .samples(vk::SampleCountFlags::TYPE_1)
                .final_layout(vk::ImageLayout::GENERAL)
        };
        let attachments = [attachment(vk::Format::R32G32_SFLOAT), attachment(vk::Format::R8G8B8A8_UNORM)];
        let colors = [vk::AttachmentReference::default().attachment(1).layout(vk::ImageLayout::GENERAL)];
        let subpasses = [vk::SubpassDescription::default().color_attachments(&colors)];
        let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
        // SAFETY: the info outlives the call.
        unsafe { self.device.create_render_pass(&info, None) }.expect("vkCreateRenderPass")
    }

    /// Three pipelines: in a render pass, with dynamic rendering and inline modules, and with dynamic vertex input,
    /// which cannot be linked from separately compiled parts.
    ///
    /// # Safety
    /// The shaders are SPIR-V.
    unsafe fn graphics(&self, shaders: &Shaders) {
        // SAFETY: infos outlive their calls; Vulkan ignores the invalid pointers.
        unsafe {
            let (layout, _) = self.layout();
            let pass = self.render_pass();
            let modules = [self.module(&shaders.vertex), self.module(&shaders.fragment)];
            let entries = [vk::SpecializationMapEntry::default().constant_id(3).size(4)];
            let data = 1u32.to_le_bytes();
            let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
            let stage =
                |stage, module| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(MAIN);
            let stages = [
                stage(vk::ShaderStageFlags::VERTEX, modules[0]),
                stage(vk::ShaderStageFlags::FRAGMENT, modules[1]).specialization_info(&values),
            ];
            let code = [words(&shaders.vertex), words(&shaders.fragment)];
            let mut inline = code.each_ref().map(|code| vk::ShaderModuleCreateInfo::default().code(code));
            let [vertex, fragment] = &mut inline;
            let inline_stages = [
                stage(vk::ShaderStageFlags::VERTEX, vk::ShaderModule::null()).push_next(vertex),
                stage(vk::ShaderStageFlags::FRAGMENT, vk::ShaderModule::null()).push_next(fragment),
            ];
            let bindings = [
                vk::VertexInputBindingDescription::default().stride(8),
                vk::VertexInputBindingDescription::default()
                    .binding(1)
                    .stride(4)
                    .input_rate(vk::VertexInputRate::INSTANCE),
            ];
            let attributes = [
                vk::VertexInputAttributeDescription::default().format(vk::Format::R32G32_SFLOAT),
                vk::VertexInputAttributeDescription::default()
                    .location(1)
                    .binding(1)
                    .format(vk::Format::R8G8B8A8_UNORM),
            ];
            let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
                .vertex_binding_descriptions(&bindings)
                .vertex_attribute_descriptions(&attributes);
            let assembly =
                vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
            // Both are dynamic state.
            let mut viewports = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
            (viewports.p_viewports, viewports.p_scissors) = (nowhere(), nowhere());
            let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
            let samples =
                vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
            let blend = [vk::PipelineColorBlendAttachmentState::default()
                .blend_enable(true)
                .src_color_blend_factor(vk::BlendFactor::SRC_ALPHA)
                .color_write_mask(vk::ColorComponentFlags::RGBA)];
            let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blend);
            let states = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR, vk::DynamicState::VERTEX_INPUT_EXT];
            let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states[..2]);
            let with_vertex_input = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
            let mut in_pass = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .viewport_state(&viewports)
                .rasterization_state(&raster)
                .multisample_state(&samples)
                .color_blend_state(&blend)
                .dynamic_state(&dynamic)
                .layout(layout)
                .render_pass(pass);
            // There is no tessellation, and no depth attachment.
            (in_pass.p_tessellation_state, in_pass.p_depth_stencil_state) = (nowhere(), nowhere());
            let formats = [vk::Format::B8G8R8A8_SRGB];
            let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
            let rendered = in_pass.stages(&inline_stages).render_pass(vk::RenderPass::null()).push_next(&mut rendering);
            let mut unknown = in_pass.dynamic_state(&with_vertex_input);
            unknown.p_vertex_input_state = nowhere();
            let infos = [in_pass, rendered, unknown];
            let made = self.device.create_graphics_pipelines(vk::PipelineCache::null(), &infos, None);
            let made = made.expect("vkCreateGraphicsPipelines");
            // The same info again: it counts as one pipeline.
            let again = self.device.create_graphics_pipelines(vk::PipelineCache::null(), &infos[..1], None);
            for pipeline in made.into_iter().chain(again.expect("vkCreateGraphicsPipelines")) {
                self.device.destroy_pipeline(pipeline, None);
            }
        }
    }

    /// Multiplies 64 numbers.
    ///
    /// # Safety
    /// The shader is the one in `testdata/layer`.
    unsafe fn compute(&self, shader: &[u8]) -> Vec<u32> {
        let device = &self.device;
        // SAFETY: infos outlive their calls; lavapipe's only memory type is number 0 and can be mapped.
        unsafe {
            let binding = [vk::DescriptorSetLayoutBinding::default()
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)];
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&binding);
            let sets = [device.create_descriptor_set_layout(&info, None).expect("vkCreateDescriptorSetLayout")];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout");
            let entry = |constant_id, offset| vk::SpecializationMapEntry { constant_id, offset, size: 4 };
            let entries = [entry(7, 0), entry(1, 4), entry(99, 4)];
            let data = [64u32.to_le_bytes(), 3u32.to_le_bytes()].concat();
            let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(self.module(shader))
                .name(MAIN)
                .specialization_info(&values);
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let pipeline = device.create_compute_pipelines(vk::PipelineCache::null(), &info, None);
            let pipeline = pipeline.expect("vkCreateComputePipelines")[0];

            let info = vk::BufferCreateInfo::default().size(256).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
            let buffer = device.create_buffer(&info, None).expect("vkCreateBuffer");
            let memory = device.allocate_memory(&vk::MemoryAllocateInfo::default().allocation_size(256), None);
            let memory = memory.expect("vkAllocateMemory");
            device.bind_buffer_memory(buffer, memory, 0).expect("vkBindBufferMemory");
            let mapped = device.map_memory(memory, 0, 256, vk::MemoryMapFlags::empty()).expect("vkMapMemory");
            let numbers = std::slice::from_raw_parts_mut(mapped.cast::<u32>(), 64);
            (0..).zip(numbers.iter_mut()).for_each(|(index, number)| *number = index);
            let sizes = [vk::DescriptorPoolSize::default().ty(vk::DescriptorType::STORAGE_BUFFER).descriptor_count(1)];
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&info, None).expect("vkCreateDescriptorPool");
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&sets);
            let set = device.allocate_descriptor_sets(&info).expect("vkAllocateDescriptorSets");
            let info = [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set[0])
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&info);
            device.update_descriptor_sets(&[write], &[]);
            let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).expect("a pool");
            let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let commands = device.allocate_command_buffers(&info).expect("vkAllocateCommandBuffers");
            device.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default()).expect("begin");
            device.cmd_bind_pipeline(commands[0], vk::PipelineBindPoint::COMPUTE, pipeline);
            device.cmd_bind_descriptor_sets(commands[0], vk::PipelineBindPoint::COMPUTE, layout, 0, &set, &[]);
            device.cmd_dispatch(commands[0], 1, 1, 1);
            device.end_command_buffer(commands[0]).expect("vkEndCommandBuffer");
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            device.queue_submit(self.queue, &submit, vk::Fence::null()).expect("vkQueueSubmit");
            device.device_wait_idle().expect("vkDeviceWaitIdle");
            numbers.to_vec()
        }
    }
}

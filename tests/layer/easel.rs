//! Vulkan objects of the application in `draw_application.rs`: pipelines, attachments, passes, and command buffers.

use ash::vk;
use std::collections::BTreeMap;

/// Width and height of attachments: odd numbers that are not powers of two.
pub const SIZE: [u32; 2] = [45, 27];
/// The clear colour of images, as a texel.
pub const CLEAR: [u8; 4] = [51, 102, 153, 255];
/// The push constants: a factor for colours.
pub const FACTOR: [f32; 4] = [0.75, 0.5, 0.5, 1.0];
/// The format of colour attachments.
pub const COLOR: vk::Format = vk::Format::R8G8B8A8_UNORM;
/// The layout of all images outside render passes.
pub const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

/// The application.
pub struct App {
    pub device: ash::Device,
    pub multi: ash::ext::multi_draw::Device,
    pub input: ash::ext::vertex_input_dynamic_state::Device,
    pub second: ash::ext::extended_dynamic_state2::Device,
    pub third: ash::ext::extended_dynamic_state3::Device,
    pub write: ash::ext::color_write_enable::Device,
    pub lines: ash::ext::line_rasterization::Device,
    pub feedback: ash::ext::transform_feedback::Device,
    pub queue: vk::Queue,
    pub pool: vk::CommandPool,
    /// Vertex and fragment shaders, by [`Shaders`].
    pub modules: [[vk::ShaderModule; 2]; 4],
    pub layout: vk::PipelineLayout,
    /// The set layouts of the pipeline layout.
    pub sets: [vk::DescriptorSetLayout; 1],
    pub set: vk::DescriptorSet,
    /// The picture of that set, of four by four texels.
    pub picture: vk::ImageView,
    /// The buffers of each set.
    pub buffers: [vk::Buffer; 2],
    pub vertices: [vk::Buffer; 2],
    pub indices: vk::Buffer,
    pub pictures: BTreeMap<u32, Vec<u8>>,
}

/// A pipeline of one case.
pub struct Case<'a> {
    pub number: u32,
    pub topology: vk::PrimitiveTopology,
    pub restart: bool,
    pub depth: Option<vk::PipelineDepthStencilStateCreateInfo<'a>>,
    pub depth_format: vk::Format,
    pub blend: vk::PipelineColorBlendAttachmentState,
    pub raster: vk::PipelineRasterizationStateCreateInfo<'a>,
    pub dynamic: &'a [vk::DynamicState],
    pub samples: vk::SampleCountFlags,
    pub sample_mask: &'a [u32],
    pub alpha_to_one: bool,
    pub logic_op: Option<vk::LogicOp>,
    /// Enables or disables writing of the colour by the extension's state.
    pub color_write: Option<bool>,
    pub shaders: Shaders,
    pub pass: Option<(vk::RenderPass, u32)>,
}

/// The shaders of a pipeline.
#[derive(Clone, Copy)]
pub enum Shaders {
    Usual,
    /// They take a colour from one vertex.
    Flat,
    /// They read integers from the picture.
    Integers,
    /// They compare the picture's depths.
    Compared,
}

/// An attachment.
#[derive(Clone, Copy)]
pub struct Target {
    pub image: vk::Image,
    pub view: vk::ImageView,
    pub format: vk::Format,
}

/// A pipeline that only draws triangles.
pub fn case<'a>(number: u32) -> Case<'a> {
    Case {
        number,
        topology: vk::PrimitiveTopology::TRIANGLE_LIST,
        restart: false,
        depth: None,
        depth_format: vk::Format::UNDEFINED,
        blend: vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA),
        raster: vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0),
        dynamic: &[],
        samples: vk::SampleCountFlags::TYPE_1,
        sample_mask: &[],
        alpha_to_one: false,
        logic_op: None,
        color_write: None,
        shaders: Shaders::Usual,
        pass: None,
    }
}

/// `source * from op destination * to` for colour and alpha.
pub fn blending(from: vk::BlendFactor, to: vk::BlendFactor) -> vk::PipelineColorBlendAttachmentState {
    vk::PipelineColorBlendAttachmentState::default()
        .blend_enable(true)
        .src_color_blend_factor(from)
        .dst_color_blend_factor(to)
        .src_alpha_blend_factor(vk::BlendFactor::ONE)
        .dst_alpha_blend_factor(vk::BlendFactor::ZERO)
        .color_write_mask(vk::ColorComponentFlags::R | vk::ColorComponentFlags::G | vk::ColorComponentFlags::A)
}

/// A depth test that writes.
pub fn tested(compare: vk::CompareOp) -> vk::PipelineDepthStencilStateCreateInfo<'static> {
    vk::PipelineDepthStencilStateCreateInfo::default()
        .depth_test_enable(true)
        .depth_write_enable(true)
        .depth_compare_op(compare)
}

/// The whole area of an attachment.
pub fn area() -> vk::Rect2D {
    vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width: SIZE[0], height: SIZE[1] } }
}

/// The first level of an image.
pub fn layers(aspect: vk::ImageAspectFlags) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers::default().aspect_mask(aspect).layer_count(1)
}

/// An attachment that is cleared and stored.
pub fn attach(target: Target) -> vk::RenderingAttachmentInfo<'static> {
    let color = vk::ClearColorValue { float32: CLEAR.map(|x| f32::from(x) / 255.0) };
    vk::RenderingAttachmentInfo::default()
        .image_view(target.view)
        .image_layout(GENERAL)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .clear_value(vk::ClearValue { color })
}

/// A buffer with these bytes and without transfer-source usage, and the address of its memory.
///
/// # Safety
/// The device is alive.
pub unsafe fn mapped(device: &ash::Device, bytes: &[u8], usage: vk::BufferUsageFlags) -> (vk::Buffer, *mut u8) {
    let info = vk::BufferCreateInfo::default().size(bytes.len() as u64).usage(usage);
    // SAFETY: lavapipe's only memory type is number 0 and can be mapped; the copy stays inside the allocation.
    unsafe {
        let buffer = device.create_buffer(&info, None).expect("vkCreateBuffer");
        let size = device.get_buffer_memory_requirements(buffer).size;
        let memory = device.allocate_memory(&vk::MemoryAllocateInfo::default().allocation_size(size), None);
        let memory = memory.expect("vkAllocateMemory");
        device.bind_buffer_memory(buffer, memory, 0).expect("vkBindBufferMemory");
        let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
        let mapped = mapped.expect("vkMapMemory").cast::<u8>();
        mapped.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        (buffer, mapped)
    }
}

/// # Safety
/// For all functions: the device is alive, handles belong to this application, and structures outlive their calls.
impl App {
    /// As [`mapped`].
    ///
    /// # Safety
    /// As above.
    pub unsafe fn buffer(&self, bytes: &[u8], usage: vk::BufferUsageFlags) -> (vk::Buffer, *mut u8) {
        // SAFETY: as above.
        unsafe { mapped(&self.device, bytes, usage) }
    }

    /// An image of one level, and a view of it.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn image(
        &self,
        format: vk::Format,
        [width, height]: [u32; 2],
        samples: vk::SampleCountFlags,
        usage: vk::ImageUsageFlags,
    ) -> Target {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(samples)
            .usage(usage);
        // SAFETY: as above.
        unsafe {
            let image = self.device.create_image(&info, None).expect("vkCreateImage");
            let size = self.device.get_image_memory_requirements(image).size;
            let memory = self.device.allocate_memory(&vk::MemoryAllocateInfo::default().allocation_size(size), None);
            self.device.bind_image_memory(image, memory.expect("vkAllocateMemory"), 0).expect("vkBindImageMemory");
            let made = Target { image, view: vk::ImageView::null(), format };
            Target { view: self.view(made, aspects(format)), ..made }
        }
    }

    /// A view of some aspects of an image.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn view(&self, of: Target, aspects: vk::ImageAspectFlags) -> vk::ImageView {
        let info = vk::ImageViewCreateInfo::default()
            .image(of.image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(of.format)
            .subresource_range(range(aspects));
        // SAFETY: as above.
        unsafe { self.device.create_image_view(&info, None) }.expect("vkCreateImageView")
    }

    /// A colour attachment.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn color(&self) -> Target {
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        // SAFETY: as above.
        unsafe { self.image(COLOR, SIZE, vk::SampleCountFlags::TYPE_1, usage) }
    }

    /// A depth attachment without transfer-source usage.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn depth(&self, format: vk::Format) -> Target {
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        // SAFETY: as above.
        unsafe { self.image(format, SIZE, vk::SampleCountFlags::TYPE_1, usage) }
    }

    /// A pass with a colour and a depth attachment: the first pass clears both and does not store the depth, a later
    /// one loads them.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn pass(&self, again: bool, subpasses: usize) -> vk::RenderPass {
        let attachment = |format, after, store| {
            let load = if again { vk::AttachmentLoadOp::LOAD } else { vk::AttachmentLoadOp::CLEAR };
            vk::AttachmentDescription::default()
                .format(format)
                .samples(vk::SampleCountFlags::TYPE_1)
                .load_op(load)
                .store_op(store)
                .initial_layout(if again { after } else { vk::ImageLayout::UNDEFINED })
                .final_layout(after)
        };
        let depth_layout = vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
        let mut attachments = [
            attachment(COLOR, vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::AttachmentStoreOp::STORE),
            attachment(vk::Format::D16_UNORM, depth_layout, vk::AttachmentStoreOp::DONT_CARE),
        ];
        if again {
            (attachments[1].load_op, attachments[1].initial_layout) =
                (vk::AttachmentLoadOp::CLEAR, vk::ImageLayout::UNDEFINED);
        }
        let color = vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL };
        let (colors, depth) = ([color], vk::AttachmentReference { attachment: 1, layout: depth_layout });
        let subpass = vk::SubpassDescription::default().color_attachments(&colors).depth_stencil_attachment(&depth);
        let all = vec![subpass; subpasses];
        let (stages, access) =
            (vk::PipelineStageFlags::ALL_GRAPHICS, vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
        let one_after_the_other = vk::SubpassDependency::default()
            .dst_subpass(1)
            .src_stage_mask(stages)
            .dst_stage_mask(stages)
            .src_access_mask(access)
            .dst_access_mask(access);
        let dependencies = vec![one_after_the_other; subpasses - 1];
        let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&all);
        let info = info.dependencies(&dependencies);
        // SAFETY: as above.
        unsafe { self.device.create_render_pass(&info, None) }.expect("vkCreateRenderPass")
    }

    /// # Safety
    /// As above.
    pub unsafe fn framebuffer(&self, pass: vk::RenderPass, targets: [Target; 2]) -> vk::Framebuffer {
        let views = targets.map(|target| target.view);
        let info = vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&views);
        let info = info.width(SIZE[0]).height(SIZE[1]).layers(1);
        // SAFETY: as above.
        unsafe { self.device.create_framebuffer(&info, None) }.expect("vkCreateFramebuffer")
    }

    /// The pipeline of a case.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn pipeline(&self, case: &Case<'_>) -> vk::Pipeline {
        let entries = [vk::SpecializationMapEntry::default().constant_id(1).size(4)];
        let data = case.number.to_le_bytes();
        let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let stage =
            |stage, module| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main");
        let [vertex, fragment] = self.modules[case.shaders as usize];
        let stages = [
            stage(vk::ShaderStageFlags::VERTEX, vertex),
            stage(vk::ShaderStageFlags::FRAGMENT, fragment).specialization_info(&values),
        ];
        let rates = [vk::VertexInputRate::VERTEX, vk::VertexInputRate::INSTANCE];
        let bindings = [(0, 16), (1, 8)].map(|(binding, stride)| vk::VertexInputBindingDescription {
            binding,
            stride,
            input_rate: rates[binding as usize],
        });
        let attribute = |location, binding, format, offset| vk::VertexInputAttributeDescription {
            location,
            binding,
            format,
            offset,
        };
        let attributes = [
            attribute(0, 0, vk::Format::R32G32B32_SFLOAT, 0),
            attribute(1, 0, vk::Format::R8G8B8A8_UNORM, 12),
            attribute(2, 1, vk::Format::R32G32_SFLOAT, 0),
        ];
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(case.topology)
            .primitive_restart_enable(case.restart);
        let [width, height] = SIZE.map(|n| n as f32);
        let views = [vk::Viewport { x: 0.0, y: 0.0, width, height, min_depth: 0.0, max_depth: 1.0 }];
        let scissors = [area()];
        let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&views).scissors(&scissors);
        let mut samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(case.samples)
            .alpha_to_one_enable(case.alpha_to_one);
        if !case.sample_mask.is_empty() {
            samples = samples.sample_mask(case.sample_mask);
        }
        let blends = [case.blend];
        let mut blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let enables = [case.color_write.unwrap_or(true).into()];
        let mut enables = vk::PipelineColorWriteCreateInfoEXT::default().color_write_enables(&enables);
        if case.color_write.is_some() {
            blend = blend.push_next(&mut enables);
        }
        if let Some(op) = case.logic_op {
            blend = blend.logic_op_enable(true).logic_op(op);
        }
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(case.dynamic);
        let depth = case.depth.unwrap_or_default();
        let formats = [COLOR];
        let [depth_format, stencil_format] = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL]
            .map(|one| if aspects(case.depth_format).contains(one) { case.depth_format } else { Default::default() });
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&formats)
            .depth_attachment_format(depth_format)
            .stencil_attachment_format(stencil_format);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&case.raster)
            .multisample_state(&samples)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(self.layout);
        info = match case.pass {
            Some((pass, subpass)) => info.render_pass(pass).subpass(subpass),
            None => info.push_next(&mut rendering),
        };
        // SAFETY: as above.
        let made = unsafe { self.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
        made.expect("vkCreateGraphicsPipelines")[0]
    }

    /// Binds a pipeline and everything that it reads.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn bind(&self, commands: vk::CommandBuffer, pipeline: vk::Pipeline) {
        let (device, point) = (&self.device, vk::PipelineBindPoint::GRAPHICS);
        let factor: Vec<u8> = FACTOR.iter().flat_map(|x| x.to_le_bytes()).collect();
        // SAFETY: the command buffer is being recorded.
        unsafe {
            device.cmd_bind_pipeline(commands, point, pipeline);
            device.cmd_bind_descriptor_sets(commands, point, self.layout, 0, &[self.set], &[]);
            device.cmd_bind_vertex_buffers(commands, 0, &self.vertices, &[0, 0]);
            device.cmd_push_constants(commands, self.layout, vk::ShaderStageFlags::VERTEX, 0, &factor);
        }
    }

    /// Transitions an image to its layout.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn ready(&self, commands: vk::CommandBuffer, image: vk::Image, aspects: vk::ImageAspectFlags) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let access = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = [vk::ImageMemoryBarrier::default()
            .image(image)
            .new_layout(GENERAL)
            .dst_access_mask(access)
            .subresource_range(range(aspects))];
        // SAFETY: as above.
        unsafe {
            self.device.cmd_pipeline_barrier(commands, all, all, vk::DependencyFlags::empty(), &[], &[], &barrier);
        }
    }

    /// Begins a dynamic rendering of a case, which clears its attachments and stores its colours.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn render(
        &mut self,
        number: u32,
        color: Target,
        depth: Option<Target>,
        draw: impl FnOnce(&Self, vk::CommandBuffer),
    ) {
        // SAFETY: as above.
        unsafe { self.render_and(vk::AttachmentStoreOp::DONT_CARE, number, color, depth, draw) }
    }

    /// [`Self::render`], with what becomes of depth and stencil.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn render_and(
        &mut self,
        store: vk::AttachmentStoreOp,
        number: u32,
        color: Target,
        depth: Option<Target>,
        draw: impl FnOnce(&Self, vk::CommandBuffer),
    ) {
        let cleared = vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 0.6, stencil: 65 } };
        // SAFETY: as above.
        unsafe {
            self.done(|app, commands| {
                app.ready(commands, color.image, vk::ImageAspectFlags::COLOR);
                depth.iter().for_each(|depth| app.ready(commands, depth.image, aspects(depth.format)));
                let colors = [attach(color)];
                let [depth, stencil] = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL].map(|aspect| {
                    let there = depth.filter(|depth| aspects(depth.format).contains(aspect));
                    there.map(attach).unwrap_or_default().clear_value(cleared).store_op(store)
                });
                let info = vk::RenderingInfo::default().render_area(area()).layer_count(1).color_attachments(&colors);
                let info = info.depth_attachment(&depth).stencil_attachment(&stencil);
                app.device.cmd_begin_rendering(commands, &info);
                draw(app, commands);
                app.device.cmd_end_rendering(commands);
                app.ready_to_copy(commands, color);
            });
            self.keep(number, color);
        }
    }

    /// Transitions from the layout of renderings to that of copies, as the end of a pass does.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn ready_to_copy(&self, commands: vk::CommandBuffer, target: Target) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let barrier = [vk::ImageMemoryBarrier::default()
            .image(target.image)
            .old_layout(GENERAL)
            .new_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ)
            .subresource_range(range(vk::ImageAspectFlags::COLOR))];
        // SAFETY: as above.
        unsafe {
            self.device.cmd_pipeline_barrier(commands, all, all, vk::DependencyFlags::empty(), &[], &[], &barrier);
        }
    }

    /// Stores the image of a case.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn keep(&mut self, number: u32, target: Target) {
        let bytes = (SIZE[0] * SIZE[1] * 4) as usize;
        // SAFETY: as above; nothing runs any more when memory is read.
        unsafe {
            let (buffer, mapped) = self.buffer(&vec![0; bytes], vk::BufferUsageFlags::TRANSFER_DST);
            self.done(|app, commands| {
                let whole = vk::BufferImageCopy::default()
                    .image_subresource(layers(vk::ImageAspectFlags::COLOR))
                    .image_extent(vk::Extent3D { width: SIZE[0], height: SIZE[1], depth: 1 });
                let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                app.device.cmd_copy_image_to_buffer(commands, target.image, layout, buffer, &[whole]);
            });
            self.pictures.insert(number, std::slice::from_raw_parts(mapped, bytes).to_vec());
        }
    }

    /// A command buffer; secondary if inheritance is given: a render pass, dynamic rendering, or neither.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn record(
        &self,
        inherited: Option<&vk::CommandBufferInheritanceInfo<'_>>,
        work: impl FnOnce(&Self, vk::CommandBuffer),
    ) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        let (info, begin) = match inherited {
            Some(inherited) => (
                info.level(vk::CommandBufferLevel::SECONDARY),
                vk::CommandBufferBeginInfo::default()
                    .flags(match inherited.render_pass == vk::RenderPass::null() && inherited.p_next.is_null() {
                        true => vk::CommandBufferUsageFlags::empty(),
                        false => vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE,
                    })
                    .inheritance_info(inherited),
            ),
            None => (info, vk::CommandBufferBeginInfo::default()),
        };
        // SAFETY: as above.
        unsafe {
            let commands = self.device.allocate_command_buffers(&info).expect("vkAllocateCommandBuffers")[0];
            self.device.begin_command_buffer(commands, &begin).expect("vkBeginCommandBuffer");
            work(self, commands);
            self.device.end_command_buffer(commands).expect("vkEndCommandBuffer");
            commands
        }
    }

    /// Records, submits and waits.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn done(&self, work: impl FnOnce(&Self, vk::CommandBuffer)) {
        // SAFETY: as above.
        unsafe {
            let commands = [self.record(None, work)];
            let info = vk::SubmitInfo::default().command_buffers(&commands);
            self.device.queue_submit(self.queue, &[info], vk::Fence::null()).expect("vkQueueSubmit");
            self.device.queue_wait_idle(self.queue).expect("vkQueueWaitIdle");
        }
    }
}

fn aspects(format: vk::Format) -> vk::ImageAspectFlags {
    match format {
        vk::Format::D16_UNORM | vk::Format::X8_D24_UNORM_PACK32 | vk::Format::D32_SFLOAT => vk::ImageAspectFlags::DEPTH,
        vk::Format::D24_UNORM_S8_UINT | vk::Format::D32_SFLOAT_S8_UINT => {
            vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL
        }
        vk::Format::S8_UINT => vk::ImageAspectFlags::STENCIL,
        _ => vk::ImageAspectFlags::COLOR,
    }
}

fn range(aspects: vk::ImageAspectFlags) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange::default().aspect_mask(aspects).level_count(1).layer_count(1)
}

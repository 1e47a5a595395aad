//! Draws of a run on lavapipe: the pipeline, its attachments, and the recording.

use super::Run;
use super::picture::{Picture, compare, format, texel_bytes};
use ash::vk;
use dovetail::emu::inputs::{BlendEquation, BlendFactor, BlendOp, Draw, Image, InputBytes, Topology, ViewShape};
use dovetail::state::{VertexInputState, VertexRate};

/// Format of a depth attachment; with a stencil attachment both are one image.
fn depth_format(draw: &Draw) -> &'static str {
    if draw.stencil.is_some() { "D32_SFLOAT_S8_UINT" } else { "D32_SFLOAT" }
}

impl Run<'_> {
    pub(super) fn graphics_pipeline(
        &mut self,
        stages: &[vk::PipelineShaderStageCreateInfo<'_>],
        inputs: &VertexInputState,
        draw: &Draw,
    ) -> vk::Pipeline {
        let bindings = inputs.bindings.iter().map(|b| vk::VertexInputBindingDescription {
            binding: b.binding,
            stride: b.stride,
            input_rate: rate(b.rate),
        });
        let bindings: Vec<_> = bindings.collect();
        let attributes: Vec<_> = inputs
            .attributes
            .iter()
            .map(|a| vk::VertexInputAttributeDescription {
                location: a.location,
                binding: a.binding,
                format: vk::Format::from_raw(a.format.0 as i32),
                offset: a.offset,
            })
            .collect();
        let instanced = inputs.bindings.iter().filter(|b| b.rate == VertexRate::Instance);
        let divisors: Vec<_> = instanced
            .map(|b| vk::VertexInputBindingDivisorDescriptionKHR { binding: b.binding, divisor: b.divisor })
            .collect();
        let mut divisors =
            vk::PipelineVertexInputDivisorStateCreateInfoKHR::default().vertex_binding_divisors(&divisors);
        let mut vertex = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        if divisors.vertex_binding_divisor_count != 0 {
            vertex = vertex.push_next(&mut divisors);
        }
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(match draw.topology {
            Topology::PointList => vk::PrimitiveTopology::POINT_LIST,
            Topology::LineList => vk::PrimitiveTopology::LINE_LIST,
            Topology::LineStrip => vk::PrimitiveTopology::LINE_STRIP,
            Topology::TriangleList => vk::PrimitiveTopology::TRIANGLE_LIST,
            Topology::TriangleStrip => vk::PrimitiveTopology::TRIANGLE_STRIP,
            Topology::TriangleFan => vk::PrimitiveTopology::TRIANGLE_FAN,
        });
        assert!(draw.fixed.is_plain(), "fixed functions of an application");
        let [width, height] = draw.extent;
        let viewports =
            [vk::Viewport { x: 0., y: 0., width: width as f32, height: height as f32, min_depth: 0., max_depth: 1. }];
        let scissors = [area(draw)];
        let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::from_raw(draw.samples))
            .sample_shading_enable(draw.sample_shading)
            .alpha_to_one_enable(draw.alpha_to_one)
            .min_sample_shading(1.0);
        let mut depth = vk::PipelineDepthStencilStateCreateInfo::default();
        if let Some(d) = draw.depth {
            depth = depth.depth_test_enable(true).depth_write_enable(d.write).depth_compare_op(compare(d.compare));
        }
        if let Some(s) = draw.stencil {
            let face = vk::StencilOpState::default()
                .pass_op(vk::StencilOp::REPLACE)
                .compare_op(vk::CompareOp::ALWAYS)
                .write_mask(0xff)
                .reference(s.reference.into());
            depth = depth.stencil_test_enable(true).front(face).back(face);
        }
        let (blends, formats) = colors(draw);
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let of = |is_there: bool| if is_there { format(depth_format(draw)) } else { vk::Format::UNDEFINED };
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&formats)
            .depth_attachment_format(of(draw.depth.is_some()))
            .stencil_attachment_format(of(draw.stencil.is_some()));
        let info = [vk::GraphicsPipelineCreateInfo::default()
            .stages(stages)
            .vertex_input_state(&vertex)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&samples)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .layout(self.layout)
            .push_next(&mut rendering)];
        // SAFETY: every structure is a local that outlives the call; modules and layout are this run's own.
        let made = unsafe { self.vulkan.device.create_graphics_pipelines(vk::PipelineCache::null(), &info, None) };
        let pipeline = made.expect("vkCreateGraphicsPipelines")[0];
        self.owned.pipelines.push(pipeline);
        pipeline
    }

    /// Colour attachments in the order of the targets, then depth, then stencil, with the draw's number of samples.
    pub(super) fn sampled(&mut self, draw: &Draw) -> Vec<Picture> {
        self.pictures_of(draw, draw.samples)
    }

    /// The same with one sample each, which can be read back.
    pub(super) fn attachments(&mut self, draw: &Draw) -> Vec<Picture> {
        self.pictures_of(draw, 1)
    }

    fn pictures_of(&mut self, draw: &Draw, samples: u32) -> Vec<Picture> {
        assert!(samples == 1 || draw.stencil.is_none(), "a stencil attachment of several samples");
        let mut formats: Vec<&str> = draw.targets.iter().map(|t| t.format.as_str()).collect();
        let has_depth_image = draw.depth.is_some() || draw.stencil.is_some();
        formats.extend(has_depth_image.then(|| depth_format(draw)));
        let [width, height] = draw.extent;
        let pixels = width as usize * height as usize;
        let pictures = formats.into_iter().map(|name| {
            let bytes = texel_bytes(name) as usize * pixels;
            let image = Image {
                format: name.to_owned(),
                shape: ViewShape::D2,
                extent: [width, height, 1],
                layers: 1,
                arrayed: false,
                levels: 1,
                samples: 1,
                swizzle: Default::default(),
                data: InputBytes::default(),
            };
            let first = if name.starts_with('D') { vk::ImageAspectFlags::DEPTH } else { vk::ImageAspectFlags::COLOR };
            let staging = self.buffer(&vec![0; bytes]);
            let picture = self.attachment(&image, vec![region(draw, first)], staging, samples);
            self.barrier(&picture, vk::ImageLayout::UNDEFINED);
            picture
        });
        let mut pictures: Vec<Picture> = pictures.collect();
        if draw.stencil.is_some()
            && let Some(depth) = pictures.last().cloned()
        {
            let regions = vec![region(draw, vk::ImageAspectFlags::STENCIL)];
            let staging = self.buffer(&vec![0; pixels]);
            pictures.push(Picture { regions, staging, ..depth });
        }
        pictures
    }

    /// Draws to the attachments; multisampled ones are resolved into the others.
    pub(super) fn record_draw(
        &mut self,
        pipeline: vk::Pipeline,
        draw: &Draw,
        [attachments, resolved]: [&[Picture]; 2],
    ) {
        let buffers: Vec<(u32, usize)> =
            draw.vertex_buffers.iter().map(|b| (b.binding, self.buffer(&b.data.0))).collect();
        let indices: Vec<u8> = draw.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let index_buffer = (!indices.is_empty()).then(|| self.buffer(&indices));
        let attach = |picture: &Picture, clear| {
            vk::RenderingAttachmentInfo::default()
                .image_view(picture.view)
                .image_layout(vk::ImageLayout::GENERAL)
                .load_op(vk::AttachmentLoadOp::CLEAR)
                .store_op(vk::AttachmentStoreOp::STORE)
                .clear_value(clear)
        };
        // Indexed by location; a location without a target has no attachment.
        let count = draw.targets.iter().map(|t| t.location + 1).max().unwrap_or(0);
        let mut colors = vec![vk::RenderingAttachmentInfo::default(); count as usize];
        for (target, (picture, resolved)) in draw.targets.iter().zip(attachments.iter().zip(resolved)) {
            let mut color = attach(picture, clear_color(&target.format, target.clear));
            if draw.samples > 1 {
                let integer = target.format.contains("INT");
                let mode = if integer { vk::ResolveModeFlags::SAMPLE_ZERO } else { vk::ResolveModeFlags::AVERAGE };
                let layout = vk::ImageLayout::GENERAL;
                color = color.resolve_mode(mode).resolve_image_view(resolved.view).resolve_image_layout(layout);
            }
            colors[target.location as usize] = color;
        }
        let of_depth = draw.targets.len();
        let stencil = draw.stencil.zip(attachments.get(of_depth)).map(|(s, picture)| {
            let depth_stencil = vk::ClearDepthStencilValue { depth: 0.0, stencil: s.clear.into() };
            attach(picture, vk::ClearValue { depth_stencil })
        });
        let depth = draw.depth.zip(attachments.get(of_depth)).map(|(d, picture)| {
            let depth_stencil = vk::ClearDepthStencilValue { depth: d.clear, stencil: 0 };
            let depth = attach(picture, vk::ClearValue { depth_stencil });
            match resolved.get(of_depth).filter(|_| draw.samples > 1) {
                Some(resolved) => depth
                    .resolve_mode(vk::ResolveModeFlags::SAMPLE_ZERO)
                    .resolve_image_view(resolved.view)
                    .resolve_image_layout(vk::ImageLayout::GENERAL),
                None => depth,
            }
        });
        let mut info = vk::RenderingInfo::default().render_area(area(draw)).layer_count(1).color_attachments(&colors);
        if let Some(depth) = &depth {
            info = info.depth_attachment(depth);
        }
        if let Some(stencil) = &stencil {
            info = info.stencil_attachment(stencil);
        }
        // SAFETY: every handle is this run's own and alive; the command buffer is being recorded.
        unsafe {
            let (device, commands) = (&self.vulkan.device, self.commands);
            device.cmd_begin_rendering(commands, &info);
            self.bind(vk::PipelineBindPoint::GRAPHICS, pipeline);
            for (binding, n) in buffers {
                device.cmd_bind_vertex_buffers(commands, binding, &[self.owned.buffers[n].buffer], &[0]);
            }
            match index_buffer {
                Some(n) => {
                    let buffer = self.owned.buffers[n].buffer;
                    device.cmd_bind_index_buffer(commands, buffer, 0, vk::IndexType::UINT32);
                    let first = draw.first_vertex as i32;
                    device.cmd_draw_indexed(commands, draw.vertices, draw.instances, 0, first, draw.first_instance);
                }
                None => {
                    device.cmd_draw(commands, draw.vertices, draw.instances, draw.first_vertex, draw.first_instance)
                }
            }
            device.cmd_end_rendering(commands);
        }
    }
}

/// A whole attachment, one aspect of it.
fn region(draw: &Draw, aspect: vk::ImageAspectFlags) -> vk::BufferImageCopy {
    let [width, height] = draw.extent;
    let layers = vk::ImageSubresourceLayers::default().aspect_mask(aspect).layer_count(1);
    let region = vk::BufferImageCopy::default().image_subresource(layers);
    region.image_extent(vk::Extent3D { width, height, depth: 1 })
}

fn area(draw: &Draw) -> vk::Rect2D {
    let [width, height] = draw.extent;
    vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width, height } }
}

fn rate(rate: VertexRate) -> vk::VertexInputRate {
    match rate {
        VertexRate::Vertex => vk::VertexInputRate::VERTEX,
        VertexRate::Instance => vk::VertexInputRate::INSTANCE,
    }
}

/// Blending and formats by location.
fn colors(draw: &Draw) -> (Vec<vk::PipelineColorBlendAttachmentState>, Vec<vk::Format>) {
    let count = draw.targets.iter().map(|t| t.location + 1).max().unwrap_or(0) as usize;
    let mut blends = vec![vk::PipelineColorBlendAttachmentState::default(); count];
    let mut formats = vec![vk::Format::UNDEFINED; count];
    for target in &draw.targets {
        let mut state = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::from_raw(u32::from(target.write_mask)));
        if let Some(blend) = target.blend {
            let factors = |e: BlendEquation| (factor(e.source), factor(e.destination), op(e.op));
            let (source, destination, color_op) = factors(blend.color);
            state = state.blend_enable(true).color_blend_op(color_op);
            state = state.src_color_blend_factor(source).dst_color_blend_factor(destination);
            let (source, destination, alpha_op) = factors(blend.alpha);
            state = state.alpha_blend_op(alpha_op);
            state = state.src_alpha_blend_factor(source).dst_alpha_blend_factor(destination);
        }
        blends[target.location as usize] = state;
        formats[target.location as usize] = format(&target.format);
    }
    (blends, formats)
}

fn factor(f: BlendFactor) -> vk::BlendFactor {
    match f {
        BlendFactor::Zero => vk::BlendFactor::ZERO,
        BlendFactor::One => vk::BlendFactor::ONE,
        BlendFactor::SrcColor => vk::BlendFactor::SRC_COLOR,
        BlendFactor::OneMinusSrcColor => vk::BlendFactor::ONE_MINUS_SRC_COLOR,
        BlendFactor::DstColor => vk::BlendFactor::DST_COLOR,
        BlendFactor::OneMinusDstColor => vk::BlendFactor::ONE_MINUS_DST_COLOR,
        BlendFactor::SrcAlpha => vk::BlendFactor::SRC_ALPHA,
        BlendFactor::OneMinusSrcAlpha => vk::BlendFactor::ONE_MINUS_SRC_ALPHA,
        BlendFactor::DstAlpha => vk::BlendFactor::DST_ALPHA,
        BlendFactor::OneMinusDstAlpha => vk::BlendFactor::ONE_MINUS_DST_ALPHA,
        BlendFactor::Src1Color => vk::BlendFactor::SRC1_COLOR,
        BlendFactor::OneMinusSrc1Color => vk::BlendFactor::ONE_MINUS_SRC1_COLOR,
        BlendFactor::Src1Alpha => vk::BlendFactor::SRC1_ALPHA,
        BlendFactor::OneMinusSrc1Alpha => vk::BlendFactor::ONE_MINUS_SRC1_ALPHA,
        BlendFactor::ConstantColor => vk::BlendFactor::CONSTANT_COLOR,
        BlendFactor::OneMinusConstantColor => vk::BlendFactor::ONE_MINUS_CONSTANT_COLOR,
        BlendFactor::ConstantAlpha => vk::BlendFactor::CONSTANT_ALPHA,
        BlendFactor::OneMinusConstantAlpha => vk::BlendFactor::ONE_MINUS_CONSTANT_ALPHA,
        BlendFactor::SrcAlphaSaturate => vk::BlendFactor::SRC_ALPHA_SATURATE,
    }
}

fn op(op: BlendOp) -> vk::BlendOp {
    match op {
        BlendOp::Add => vk::BlendOp::ADD,
        BlendOp::Subtract => vk::BlendOp::SUBTRACT,
        BlendOp::ReverseSubtract => vk::BlendOp::REVERSE_SUBTRACT,
        BlendOp::Min => vk::BlendOp::MIN,
        BlendOp::Max => vk::BlendOp::MAX,
    }
}

fn clear_color(format: &str, clear: [f32; 4]) -> vk::ClearValue {
    let color = if format.contains("UINT") {
        vk::ClearColorValue { uint32: clear.map(|x| x as u32) }
    } else if format.contains("SINT") {
        vk::ClearColorValue { int32: clear.map(|x| x as i32) }
    } else {
        vk::ClearColorValue { float32: clear }
    };
    vk::ClearValue { color }
}

//! The draws of `draw_application.rs` that are in secondary command buffers.

use crate::easel::{App, CLEAR, COLOR, Case, area, attach, blending, case, tested};
use ash::vk;

/// # Safety
/// For all functions here: the device is alive, handles are this application's, and structures outlive their calls.
impl App {
    /// 17 and 18: two secondaries in a render pass, executed by one command. 19: in dynamic rendering, with dynamic state, a
    /// cleared rectangle and an indexed draw; executed by three primaries. 20: a secondary with a rendering of its own. 24 and
    /// 25: one draw, and one draw twice, whose infos have no bytes between them.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn secondaries(&mut self) {
        // SAFETY: as above.
        unsafe {
            self.of_a_pass();
            self.of_a_rendering();
            self.by_itself();
            self.several();
            self.not_repeated();
        }
    }

    /// # Safety
    /// As above.
    unsafe fn of_a_pass(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let pass = self.pass(false, 1);
            let (color, depth) = (self.color(), self.depth(vk::Format::D16_UNORM));
            let framebuffer = self.framebuffer(pass, [color, depth]);
            let of_pass =
                |number| Case { depth: Some(tested(vk::CompareOp::LESS)), pass: Some((pass, 0)), ..case(number) };
            let blend = blending(vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA);
            let strip = Case { topology: vk::PrimitiveTopology::TRIANGLE_STRIP, ..of_pass(17) };
            let [seventeen, eighteen] = [strip, Case { blend, ..of_pass(18) }].map(|case| self.pipeline(&case));
            // The attachments are known only at execution.
            let inherited = vk::CommandBufferInheritanceInfo::default().render_pass(pass);
            let both = [
                self.record(Some(&inherited), |app, commands| {
                    app.bind(commands, seventeen);
                    device.cmd_draw(commands, 4, 1, 0, 0);
                }),
                self.record(Some(&inherited), |app, commands| {
                    app.bind(commands, eighteen);
                    device.cmd_draw(commands, 6, 1, 4, 1);
                }),
            ];
            let clears = [
                vk::ClearValue { color: vk::ClearColorValue { float32: CLEAR.map(|x| f32::from(x) / 255.0) } },
                vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } },
            ];
            self.done(|_, commands| {
                let info = vk::RenderPassBeginInfo::default().render_pass(pass).framebuffer(framebuffer);
                let info = info.render_area(area()).clear_values(&clears);
                device.cmd_begin_render_pass(commands, &info, vk::SubpassContents::SECONDARY_COMMAND_BUFFERS);
                device.cmd_execute_commands(commands, &both);
                device.cmd_end_render_pass(commands);
            });
            self.keep(18, color);
        }
    }

    /// # Safety
    /// As above.
    unsafe fn of_a_rendering(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR, vk::DynamicState::BLEND_CONSTANTS];
            let blend = blending(vk::BlendFactor::CONSTANT_COLOR, vk::BlendFactor::ONE_MINUS_CONSTANT_ALPHA);
            let nineteen = self.pipeline(&Case { dynamic: &dynamic, blend, ..case(19) });
            let secondary = self.rendering(|app, commands| {
                let (height, depth) = (-21.5, [0.25, 1.0]);
                let view =
                    vk::Viewport { x: 3.5, y: 25.0, width: 37.25, height, min_depth: depth[0], max_depth: depth[1] };
                let mut part = area();
                (part.offset.y, part.extent.height) = (7, 13);
                let color = vk::ClearColorValue { float32: [0.25, 0.75, 0.5, 1.0] };
                let cleared = vk::ClearAttachment::default()
                    .aspect_mask(vk::ImageAspectFlags::COLOR)
                    .clear_value(vk::ClearValue { color });
                device.cmd_clear_attachments(
                    commands,
                    &[cleared],
                    &[vk::ClearRect::default().rect(part).layer_count(1)],
                );
                app.bind(commands, nineteen);
                device.cmd_set_viewport(commands, 0, &[view]);
                device.cmd_set_scissor(commands, 0, &[part]);
                device.cmd_set_blend_constants(commands, &[0.75, 0.5, 0.25, 0.125]);
                device.cmd_bind_index_buffer(commands, app.indices, 2, vk::IndexType::UINT16);
                device.cmd_draw_indexed(commands, 6, 2, 1, 0, 1);
            });
            for _ in 0..3 {
                self.execute(19, secondary);
            }
        }
    }

    /// A secondary command buffer for a dynamic rendering.
    ///
    /// # Safety
    /// As above.
    unsafe fn rendering(&self, draw: impl FnOnce(&Self, vk::CommandBuffer)) -> vk::CommandBuffer {
        let formats = [COLOR];
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .color_attachment_formats(&formats)
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let inherited = vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
        // SAFETY: as above.
        unsafe { self.record(Some(&inherited), draw) }
    }

    /// Executes such a secondary. It does not inherit the primary's viewport.
    ///
    /// # Safety
    /// As above.
    unsafe fn execute(&mut self, number: u32, secondary: vk::CommandBuffer) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let color = self.color();
            self.done(|app, commands| {
                app.ready(commands, color.image, vk::ImageAspectFlags::COLOR);
                let colors = [attach(color)];
                let info = vk::RenderingInfo::default().render_area(area()).layer_count(1).color_attachments(&colors);
                let info = info.flags(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS);
                let view = vk::Viewport { width: 5.0, height: 5.0, max_depth: 1.0, ..vk::Viewport::default() };
                device.cmd_set_viewport(commands, 0, &[view]);
                device.cmd_begin_rendering(commands, &info);
                device.cmd_execute_commands(commands, &[secondary]);
                device.cmd_end_rendering(commands);
                app.ready_to_copy(commands, color);
            });
            self.keep(number, color);
        }
    }

    /// # Safety
    /// As above.
    unsafe fn by_itself(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let (twenty, color) = (self.pipeline(&case(20)), self.color());
            let secondary = self.record(Some(&vk::CommandBufferInheritanceInfo::default()), |app, commands| {
                app.ready(commands, color.image, vk::ImageAspectFlags::COLOR);
                let colors = [attach(color)];
                let info = vk::RenderingInfo::default().render_area(area()).layer_count(1).color_attachments(&colors);
                device.cmd_begin_rendering(commands, &info);
                app.bind(commands, twenty);
                device.cmd_draw(commands, 6, 1, 4, 0);
                device.cmd_end_rendering(commands);
                app.ready_to_copy(commands, color);
            });
            self.done(|_, commands| device.cmd_execute_commands(commands, &[secondary]));
            self.keep(20, color);
        }
    }

    /// # Safety
    /// As above.
    unsafe fn several(&mut self) {
        let blend = blending(vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA);
        for (number, count) in [(24, 1), (25, 2)] {
            // SAFETY: as above; a stride of 0 repeats the only info.
            unsafe {
                let pipeline = self.pipeline(&Case { blend, ..case(number) });
                let secondary = self.rendering(|app, commands| {
                    app.bind(commands, pipeline);
                    let one = Box::new(vk::MultiDrawInfoEXT { first_vertex: 4, vertex_count: 6 });
                    (app.multi.fp().cmd_draw_multi_ext)(commands, count, &raw const *one, 1, 0, 0);
                });
                self.execute(number, secondary);
            }
        }
    }

    /// 21: contains a query. 22: waits for an event. 23: its pipeline layout is destroyed.
    ///
    /// # Safety
    /// As above.
    unsafe fn not_repeated(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
            let queries = device.create_query_pool(&info, None).expect("vkCreateQueryPool");
            self.done(|_, commands| device.cmd_reset_query_pool(commands, queries, 0, 1));
            let twenty_one = self.pipeline(&case(21));
            let secondary = self.rendering(|app, commands| {
                app.bind(commands, twenty_one);
                device.cmd_begin_query(commands, queries, 0, vk::QueryControlFlags::empty());
                device.cmd_draw(commands, 6, 1, 4, 0);
                device.cmd_end_query(commands, queries, 0);
            });
            self.execute(21, secondary);
            let info = vk::EventCreateInfo::default();
            let event = device.create_event(&info, None).expect("vkCreateEvent");
            device.set_event(event).expect("vkSetEvent");
            let twenty_two = self.pipeline(&case(22));
            let secondary = self.rendering(|app, commands| {
                app.bind(commands, twenty_two);
                let (host, all) = (vk::PipelineStageFlags::HOST, vk::PipelineStageFlags::ALL_COMMANDS);
                device.cmd_wait_events(commands, &[event], host, all, &[], &[], &[]);
                device.cmd_draw(commands, 6, 1, 4, 0);
            });
            self.execute(22, secondary);
            let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(16)];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&self.sets).push_constant_ranges(&push);
            let kept = self.layout;
            self.layout = device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout");
            let twenty_three = self.pipeline(&case(23));
            let secondary = self.rendering(|app, commands| {
                app.bind(commands, twenty_three);
                device.cmd_draw(commands, 6, 1, 4, 0);
            });
            device.destroy_pipeline_layout(self.layout, None);
            self.layout = kept;
            self.execute(23, secondary);
        }
    }
}

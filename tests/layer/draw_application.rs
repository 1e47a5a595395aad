//! The application whose draws are recorded: draws in all ways that the layer follows, and in some that it cannot.
//!
//! Each case has its own pipeline, whose specialization constant is the case's number.

use crate::easel::{App, CLEAR, COLOR, Case, GENERAL, SIZE, area, attach, blending, case, layers, tested};
use ash::vk;
use std::collections::BTreeMap;
use std::io::Cursor;

/// A corner: position, colour.
pub type Corner = ([f32; 3], [u8; 4]);
/// The vertices of all cases: a quad as a strip, then two triangles of opposite winding, one nearer than the quad, one
/// farther, and one that crosses the near and the far plane.
pub const CORNERS: [Corner; 13] = [
    ([-0.83, -0.71, 0.5], [200, 10, 30, 255]),
    ([0.77, -0.87, 0.5], [20, 180, 60, 128]),
    ([-0.91, 0.67, 0.5], [90, 40, 220, 200]),
    ([0.81, 0.73, 0.5], [130, 140, 10, 90]),
    ([-0.37, -0.53, 0.25], [255, 255, 0, 128]),
    ([0.61, -0.33, 0.25], [0, 255, 255, 128]),
    ([0.11, 0.89, 0.25], [255, 0, 255, 128]),
    ([-0.57, 0.43, 0.75], [60, 70, 80, 255]),
    ([0.93, 0.59, 0.75], [60, 170, 80, 255]),
    ([0.23, -0.79, 0.75], [160, 70, 80, 255]),
    ([-0.71, -0.61, -0.5], [30, 90, 200, 255]),
    ([0.83, -0.47, 0.5], [220, 40, 10, 180]),
    ([0.13, 0.79, 1.5], [70, 210, 120, 255]),
];
/// The offsets of instances.
pub const SHIFTS: [[f32; 2]; 3] = [[0.0, 0.0], [0.13, -0.07], [-0.21, 0.17]];
/// The descriptors of each set.
const KINDS: [vk::DescriptorType; 3] = [
    vk::DescriptorType::UNIFORM_BUFFER,
    vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
    vk::DescriptorType::STORAGE_BUFFER,
];
/// Indices of both triangles, and of the quad as a fan; the last index ends a strip.
pub const INDICES: [u16; 11] = [9, 9, 4, 5, 6, 7, 8, 9, 0, 1, u16::MAX];

/// The cases that an application draws.
pub enum Cases {
    /// Those of this file.
    Ways,
    DynamicStates,
    DepthStencil,
    Swizzles,
    Samplers,
}

/// Draws with these shaders, pairs for [`App::modules`]. Returns the resulting colours by case number.
pub fn run(shaders: [[&[u8]; 2]; 4], cases: Cases) -> BTreeMap<u32, Vec<u8>> {
    // SAFETY: the library is Vulkan's loader; structures outlive their calls, handles belong to this function, and
    // nothing runs any more when memory is read. Objects that are not destroyed end with the process.
    unsafe {
        let entry = ash::Entry::load().expect("Vulkan's loader");
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None);
        let instance = instance.expect("vkCreateInstance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let features = vk::PhysicalDeviceFeatures::default()
            .fragment_stores_and_atomics(true)
            .multi_draw_indirect(true)
            .depth_clamp(true)
            .fill_mode_non_solid(true)
            .wide_lines(true)
            .logic_op(true)
            .sampler_anisotropy(true)
            .alpha_to_one(true);
        let mut multi = vk::PhysicalDeviceMultiDrawFeaturesEXT::default().multi_draw(true);
        let mut input =
            vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default().vertex_input_dynamic_state(true);
        let mut second = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default()
            .extended_dynamic_state2_logic_op(true)
            .extended_dynamic_state2_patch_control_points(true);
        let mut third = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
            .extended_dynamic_state3_tessellation_domain_origin(true)
            .extended_dynamic_state3_depth_clamp_enable(true)
            .extended_dynamic_state3_polygon_mode(true)
            .extended_dynamic_state3_rasterization_samples(true)
            .extended_dynamic_state3_sample_mask(true)
            .extended_dynamic_state3_alpha_to_coverage_enable(true)
            .extended_dynamic_state3_alpha_to_one_enable(true)
            .extended_dynamic_state3_logic_op_enable(true)
            .extended_dynamic_state3_color_blend_enable(true)
            .extended_dynamic_state3_color_blend_equation(true)
            .extended_dynamic_state3_color_write_mask(true)
            .extended_dynamic_state3_depth_clip_enable(true)
            .extended_dynamic_state3_provoking_vertex_mode(true)
            .extended_dynamic_state3_line_rasterization_mode(true)
            .extended_dynamic_state3_line_stipple_enable(true)
            .extended_dynamic_state3_depth_clip_negative_one_to_one(true);
        let mut write = vk::PhysicalDeviceColorWriteEnableFeaturesEXT::default().color_write_enable(true);
        let mut clip = vk::PhysicalDeviceDepthClipEnableFeaturesEXT::default().depth_clip_enable(true);
        let mut control = vk::PhysicalDeviceDepthClipControlFeaturesEXT::default().depth_clip_control(true);
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default().provoking_vertex_last(true);
        let mut lines = vk::PhysicalDeviceLineRasterizationFeaturesEXT::default()
            .rectangular_lines(true)
            .bresenham_lines(true)
            .stippled_rectangular_lines(true);
        let mut borders = vk::PhysicalDeviceCustomBorderColorFeaturesEXT::default()
            .custom_border_colors(true)
            .custom_border_color_without_format(true);
        let mut cubes = vk::PhysicalDeviceNonSeamlessCubeMapFeaturesEXT::default().non_seamless_cube_map(true);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().sampler_filter_minmax(true);
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let extensions = [
            ash::ext::multi_draw::NAME,
            ash::ext::vertex_input_dynamic_state::NAME,
            ash::ext::extended_dynamic_state2::NAME,
            ash::ext::extended_dynamic_state3::NAME,
            ash::ext::color_write_enable::NAME,
            ash::ext::depth_clip_enable::NAME,
            ash::ext::depth_clip_control::NAME,
            ash::ext::provoking_vertex::NAME,
            ash::ext::line_rasterization::NAME,
            ash::ext::transform_feedback::NAME,
            ash::ext::custom_border_color::NAME,
            ash::ext::non_seamless_cube_map::NAME,
        ]
        .map(std::ffi::CStr::as_ptr);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&extensions);
        let info = info.enabled_features(&features).push_next(&mut v13).push_next(&mut multi).push_next(&mut input);
        let info = info.push_next(&mut second).push_next(&mut third).push_next(&mut write).push_next(&mut clip);
        let info = info.push_next(&mut control).push_next(&mut provoking).push_next(&mut lines);
        let info = info.push_next(&mut feedback).push_next(&mut borders).push_next(&mut cubes).push_next(&mut v12);
        let device = instance.create_device(physical, &info, None).expect("vkCreateDevice");
        let module = |code: &[u8]| {
            let words = ash::util::read_spv(&mut Cursor::new(code)).expect("SPIR-V");
            let made = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None);
            made.expect("vkCreateShaderModule")
        };
        let modules = shaders.map(|pair| pair.map(module));
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None);
        let mut app = App {
            queue: device.get_device_queue(0, 0),
            pool: pool.expect("vkCreateCommandPool"),
            modules,
            multi: ash::ext::multi_draw::Device::new(&instance, &device),
            input: ash::ext::vertex_input_dynamic_state::Device::new(&instance, &device),
            second: ash::ext::extended_dynamic_state2::Device::new(&instance, &device),
            third: ash::ext::extended_dynamic_state3::Device::new(&instance, &device),
            write: ash::ext::color_write_enable::Device::new(&instance, &device),
            lines: ash::ext::line_rasterization::Device::new(&instance, &device),
            feedback: ash::ext::transform_feedback::Device::new(&instance, &device),
            device,
            layout: vk::PipelineLayout::null(),
            sets: [vk::DescriptorSetLayout::null()],
            set: vk::DescriptorSet::null(),
            picture: vk::ImageView::null(),
            buffers: [vk::Buffer::null(); 2],
            vertices: [vk::Buffer::null(); 2],
            indices: vk::Buffer::null(),
            pictures: BTreeMap::new(),
        };
        app.prepare();
        match cases {
            Cases::Ways => {
                app.in_a_pass();
                app.rendered();
                app.with_dynamic_input();
                app.not_followed();
                app.secondaries();
            }
            Cases::DynamicStates => app.dynamic_states(),
            Cases::DepthStencil => app.depth_stencil(),
            Cases::Swizzles => app.swizzles(),
            Cases::Samplers => app.samplers(),
        }
        app.device.device_wait_idle().expect("vkDeviceWaitIdle");
        app.device.destroy_device(None);
        instance.destroy_instance(None);
        app.pictures
    }
}

/// The vertex input of all cases, as commands set it.
fn usual_input()
-> ([vk::VertexInputBindingDescription2EXT<'static>; 2], [vk::VertexInputAttributeDescription2EXT<'static>; 3]) {
    let binding = |binding, stride, input_rate| {
        let one = vk::VertexInputBindingDescription2EXT::default().binding(binding).stride(stride).divisor(1);
        one.input_rate(input_rate)
    };
    let bindings = [binding(0, 16, vk::VertexInputRate::VERTEX), binding(1, 8, vk::VertexInputRate::INSTANCE)];
    let attribute = |location, binding, format, offset| {
        let one = vk::VertexInputAttributeDescription2EXT::default().location(location).binding(binding);
        one.format(format).offset(offset)
    };
    let usual = [
        attribute(0, 0, vk::Format::R32G32B32_SFLOAT, 0),
        attribute(1, 0, vk::Format::R8G8B8A8_UNORM, 12),
        attribute(2, 1, vk::Format::R32G32_SFLOAT, 0),
    ];
    (bindings, usual)
}

/// # Safety
/// For all functions: the device is alive, handles belong to this application, and structures outlive their calls.
impl App {
    /// Buffers, a texture, and the set with them.
    ///
    /// # Safety
    /// As above.
    unsafe fn prepare(&mut self) {
        use vk::BufferUsageFlags as U;
        // SAFETY: as above.
        unsafe {
            let corner = |(at, color): &Corner| [at.map(f32::to_le_bytes).concat(), color.to_vec()].concat();
            let corners: Vec<u8> = CORNERS.iter().flat_map(corner).collect();
            let shifts: Vec<u8> = SHIFTS.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
            let indices: Vec<u8> = INDICES.iter().flat_map(|n| n.to_le_bytes()).collect();
            self.vertices = [self.buffer(&corners, U::VERTEX_BUFFER).0, self.buffer(&shifts, U::VERTEX_BUFFER).0];
            self.indices = self.buffer(&indices, U::INDEX_BUFFER).0;
            let added: Vec<u8> = [0.0625f32, 0.03125, 0.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
            let (uniform, _) = self.buffer(&added, U::UNIFORM_BUFFER);
            let (seen, _) = self.buffer(&[0; 16], U::STORAGE_BUFFER);
            let texels: Vec<u8> = (0..64).map(|n: u32| (n * 37 % 251) as u8).collect();
            let (staging, _) = self.buffer(&texels, U::TRANSFER_SRC);
            let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
            let texture = self.image(COLOR, [4, 4], vk::SampleCountFlags::TYPE_1, usage);
            self.done(|app, commands| {
                let whole = vk::BufferImageCopy::default()
                    .image_subresource(layers(vk::ImageAspectFlags::COLOR))
                    .image_extent(vk::Extent3D { width: 4, height: 4, depth: 1 });
                app.ready(commands, texture.image, vk::ImageAspectFlags::COLOR);
                app.device.cmd_copy_buffer_to_image(commands, staging, texture.image, GENERAL, &[whole]);
            });
            let sampler = vk::SamplerCreateInfo::default().mag_filter(vk::Filter::LINEAR);
            let sampler = self.device.create_sampler(&sampler, None).expect("vkCreateSampler");
            let binding = |(n, kind)| {
                let binding = vk::DescriptorSetLayoutBinding::default().binding(n).descriptor_type(kind);
                binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::FRAGMENT)
            };
            let bindings: Vec<_> = (0..).zip(KINDS).map(binding).collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = [self.device.create_descriptor_set_layout(&info, None).expect("a set layout")];
            self.sets = sets;
            let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::VERTEX).size(16)];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
            self.layout = self.device.create_pipeline_layout(&info, None).expect("vkCreatePipelineLayout");
            self.buffers = [uniform, seen];
            self.picture = texture.view;
            self.set = self.set_of(self.picture, sampler);
        }
    }

    /// A set with the buffers of all sets, and a picture.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn set_of(&self, image_view: vk::ImageView, sampler: vk::Sampler) -> vk::DescriptorSet {
        let sizes = KINDS.map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 1 });
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: as above.
        unsafe {
            let pool = self.device.create_descriptor_pool(&info, None).expect("vkCreateDescriptorPool");
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&self.sets);
            let set = self.device.allocate_descriptor_sets(&info).expect("vkAllocateDescriptorSets")[0];
            let whole = |buffer| [vk::DescriptorBufferInfo { buffer, offset: 0, range: vk::WHOLE_SIZE }];
            let buffers = self.buffers.map(whole);
            let image = [vk::DescriptorImageInfo { sampler, image_view, image_layout: GENERAL }];
            let write = |n: u32| {
                let write = vk::WriteDescriptorSet::default().dst_set(set).dst_binding(n);
                write.descriptor_type(KINDS[n as usize])
            };
            let writes =
                [write(0).buffer_info(&buffers[0]), write(1).image_info(&image), write(2).buffer_info(&buffers[1])];
            self.device.update_descriptor_sets(&writes, &[]);
            set
        }
    }

    /// 1 and 2: a quad, and two blended triangles in front of and behind it, in one render pass that clears its depth
    /// and does not store it. 3: a draw in a second pass that loads the image and covers a part of it.
    ///
    /// # Safety
    /// As above.
    unsafe fn in_a_pass(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let [clearing, going_on] = [false, true].map(|again| self.pass(again, 1));
            let color = self.color();
            let depth = self.depth(vk::Format::D16_UNORM);
            let framebuffer = self.framebuffer(clearing, [color, depth]);
            let less =
                |number, pass| Case { depth: Some(tested(vk::CompareOp::LESS)), pass: Some((pass, 0)), ..case(number) };
            let strip = Case { topology: vk::PrimitiveTopology::TRIANGLE_STRIP, ..less(1, clearing) };
            let blend = blending(vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA);
            let over = Case { blend, ..less(2, clearing) };
            let [strip, over, part] = [strip, over, less(3, going_on)].map(|case| self.pipeline(&case));
            let clears = [
                vk::ClearValue { color: vk::ClearColorValue { float32: CLEAR.map(|x| f32::from(x) / 255.0) } },
                vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } },
            ];
            let begin = |pass, part: vk::Rect2D| {
                let info = vk::RenderPassBeginInfo::default().render_pass(pass).framebuffer(framebuffer);
                info.render_area(part).clear_values(&clears)
            };
            for last in [2, 3] {
                self.done(|app, commands| {
                    if last == 2 {
                        let info = begin(clearing, area());
                        device.cmd_begin_render_pass(commands, &info, vk::SubpassContents::INLINE);
                        app.bind(commands, strip);
                        device.cmd_draw(commands, 4, 1, 0, 0);
                        app.bind(commands, over);
                        device.cmd_draw(commands, 6, 1, 4, 1);
                    } else {
                        let mut part_of_it = area();
                        (part_of_it.offset.x, part_of_it.extent.width) = (9, 22);
                        let info = begin(going_on, part_of_it);
                        device.cmd_begin_render_pass(commands, &info, vk::SubpassContents::INLINE);
                        app.bind(commands, part);
                        let one = vk::MultiDrawInfoEXT { first_vertex: 4, vertex_count: 3 };
                        (app.multi.fp().cmd_draw_multi_ext)(commands, 1, &one, 1, 2, 0);
                    }
                    device.cmd_end_render_pass(commands);
                });
                self.keep(last, color);
            }
        }
    }

    /// 4: indices, instances, a flipped viewport, and culling, in a call that could draw more. 5: counts in memory, and blend constants. 6: a stencil.
    ///
    /// # Safety
    /// As above.
    unsafe fn rendered(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            let raster = vk::PipelineRasterizationStateCreateInfo::default()
                .line_width(1.0)
                .cull_mode(vk::CullModeFlags::BACK)
                .front_face(vk::FrontFace::CLOCKWISE);
            let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
            let four = self.pipeline(&Case { raster, dynamic: &dynamic, ..case(4) });
            let color = self.color();
            self.render(4, color, None, |app, commands| {
                let (height, depth) = (-21.5, [0.25, 1.0]);
                let view =
                    vk::Viewport { x: 3.5, y: 25.0, width: 37.25, height, min_depth: depth[0], max_depth: depth[1] };
                let mut part = area();
                (part.offset.y, part.extent.height) = (7, 13);
                app.bind(commands, four);
                device.cmd_set_viewport(commands, 0, &[view]);
                device.cmd_set_scissor(commands, 0, &[part]);
                device.cmd_bind_index_buffer(commands, app.indices, 2, vk::IndexType::UINT16);
                // The offset of the call replaces the draw's own.
                let one = vk::MultiDrawIndexedInfoEXT { first_index: 1, index_count: 6, vertex_offset: 90 };
                (app.multi.fp().cmd_draw_multi_indexed_ext)(commands, 1, &one, 2, 1, 0, &0);
            });
            let blend = blending(vk::BlendFactor::CONSTANT_COLOR, vk::BlendFactor::ONE_MINUS_CONSTANT_ALPHA);
            let dynamic = [vk::DynamicState::BLEND_CONSTANTS];
            let topology = vk::PrimitiveTopology::TRIANGLE_FAN;
            let five = self.pipeline(&Case { blend, dynamic: &dynamic, topology, ..case(5) });
            let counts: Vec<u8> = [9u32, 4, 1, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
            let (counts, _) = self.buffer(&counts, vk::BufferUsageFlags::INDIRECT_BUFFER);
            let color = self.color();
            self.render(5, color, None, |app, commands| {
                app.bind(commands, five);
                device.cmd_set_blend_constants(commands, &[0.75, 0.5, 0.25, 0.125]);
                device.cmd_draw_indirect(commands, counts, 4, 1, 16);
            });
            let face = |reference, compare| {
                vk::StencilOpState::default()
                    .compare_op(compare)
                    .compare_mask(0xff)
                    .write_mask(0x3f)
                    .reference(reference)
                    .fail_op(vk::StencilOp::INVERT)
                    .depth_fail_op(vk::StencilOp::INCREMENT_AND_WRAP)
                    .pass_op(vk::StencilOp::REPLACE)
            };
            let stencil = tested(vk::CompareOp::LESS_OR_EQUAL)
                .stencil_test_enable(true)
                .front(face(3, vk::CompareOp::ALWAYS))
                .back(face(5, vk::CompareOp::NOT_EQUAL));
            let depth_format = vk::Format::D32_SFLOAT_S8_UINT;
            let dynamic = [vk::DynamicState::STENCIL_REFERENCE];
            let six = self.pipeline(&Case { depth: Some(stencil), depth_format, dynamic: &dynamic, ..case(6) });
            let (color, depth) = (self.color(), self.depth(depth_format));
            self.render(6, color, Some(depth), |app, commands| {
                app.bind(commands, six);
                device.cmd_set_stencil_reference(commands, vk::StencilFaceFlags::FRONT, 9);
                device.cmd_set_stencil_reference(commands, vk::StencilFaceFlags::BACK, 129);
                device.cmd_draw(commands, 6, 3, 4, 0);
                device.cmd_draw(commands, 3, 1, 0, 0);
            });
        }
    }

    /// 7: one pipeline with two vertex inputs, which are set by commands: as all other cases have it, and from the second
    /// corner on with half of a colour. 8: set before the pipeline is
    /// bound, and discarding too.
    ///
    /// # Safety
    /// As above.
    unsafe fn with_dynamic_input(&mut self) {
        let device = self.device.clone();
        let (bindings, usual) = usual_input();
        let mut other = usual;
        (other[0].offset, other[1].format) = (16, vk::Format::R8G8_UNORM);
        let dynamic = [vk::DynamicState::VERTEX_INPUT_EXT, vk::DynamicState::RASTERIZER_DISCARD_ENABLE];
        // SAFETY: as above.
        unsafe {
            let seven = self.pipeline(&Case { dynamic: &dynamic[..1], ..case(7) });
            let eight = self.pipeline(&Case { dynamic: &dynamic, ..case(8) });
            let color = self.color();
            self.render(7, color, None, |app, commands| {
                app.bind(commands, seven);
                for attributes in [&usual, &other] {
                    app.input.cmd_set_vertex_input(commands, &bindings, attributes);
                    device.cmd_draw(commands, 3, 1, 4, 0);
                }
            });
            let color = self.color();
            self.render(8, color, None, |app, commands| {
                app.input.cmd_set_vertex_input(commands, &bindings, &usual);
                device.cmd_set_rasterizer_discard_enable(commands, false);
                app.bind(commands, eight);
                device.cmd_draw(commands, 3, 1, 7, 1);
            });
        }
    }

    /// Sets the vertex input of all cases.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn usual_input(&self, commands: vk::CommandBuffer) {
        let (bindings, attributes) = usual_input();
        // SAFETY: the command buffer is being recorded.
        unsafe { self.input.cmd_set_vertex_input(commands, &bindings, &attributes) };
    }

    /// Cases that a layer cannot follow.
    ///
    /// # Safety
    /// As above.
    unsafe fn not_followed(&mut self) {
        let device = self.device.clone();
        // SAFETY: as above.
        unsafe {
            // 10: several samples.
            let many = vk::SampleCountFlags::TYPE_4;
            let (ten, color) = (self.pipeline(&Case { samples: many, ..case(10) }), self.color());
            let sampled = self.image(COLOR, SIZE, many, vk::ImageUsageFlags::COLOR_ATTACHMENT);
            self.done(|app, commands| {
                let attachment = attach(sampled).resolve_mode(vk::ResolveModeFlags::AVERAGE);
                let attachment = [attachment.resolve_image_view(color.view).resolve_image_layout(GENERAL)];
                let info = vk::RenderingInfo::default().render_area(area()).layer_count(1);
                app.ready(commands, sampled.image, vk::ImageAspectFlags::COLOR);
                app.ready(commands, color.image, vk::ImageAspectFlags::COLOR);
                device.cmd_begin_rendering(commands, &info.color_attachments(&attachment));
                app.bind(commands, ten);
                device.cmd_draw(commands, 6, 1, 4, 0);
                device.cmd_end_rendering(commands);
                app.ready_to_copy(commands, color);
            });
            self.keep(10, color);
            // 11: two draws in one call.
            let (eleven, color) = (self.pipeline(&case(11)), self.color());
            let counts: Vec<u8> = [3u32, 1, 4, 0, 3, 1, 7, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
            let (counts, _) = self.buffer(&counts, vk::BufferUsageFlags::INDIRECT_BUFFER);
            self.render(11, color, None, |app, commands| {
                app.bind(commands, eleven);
                device.cmd_draw_indirect(commands, counts, 0, 2, 16);
            });
            // 12: an occlusion query.
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
            let queries = device.create_query_pool(&info, None).expect("vkCreateQueryPool");
            let (twelve, color) = (self.pipeline(&case(12)), self.color());
            self.done(|_, commands| device.cmd_reset_query_pool(commands, queries, 0, 1));
            self.render(12, color, None, |app, commands| {
                app.bind(commands, twelve);
                device.cmd_begin_query(commands, queries, 0, vk::QueryControlFlags::empty());
                device.cmd_draw(commands, 6, 1, 4, 0);
                device.cmd_end_query(commands, queries, 0);
            });
            // 13: a depth bias, with which the triangle behind passes. 14: an index that ends a strip.
            let raster = vk::PipelineRasterizationStateCreateInfo::default()
                .line_width(1.0)
                .depth_bias_enable(true)
                .depth_bias_constant_factor(-7_000.0)
                .depth_bias_slope_factor(1.5);
            let (depth, depth_format) = (Some(tested(vk::CompareOp::LESS)), vk::Format::D16_UNORM);
            let biased = Case { raster, depth, depth_format, ..case(13) };
            let (thirteen, color, depth) = (self.pipeline(&biased), self.color(), self.depth(depth_format));
            self.render(13, color, Some(depth), |app, commands| {
                app.bind(commands, thirteen);
                device.cmd_draw(commands, 9, 1, 4, 0);
            });
            let topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
            let (fourteen, color) = (self.pipeline(&Case { topology, restart: true, ..case(14) }), self.color());
            self.render(14, color, None, |app, commands| {
                app.bind(commands, fourteen);
                device.cmd_bind_index_buffer(commands, app.indices, 0, vk::IndexType::UINT16);
                device.cmd_draw_indexed(commands, 9, 1, 2, 0, 0);
            });
            // 15: in the second of two subpasses. 16: in a secondary command buffer in the first.
            let pass = self.pass(false, 2);
            let (color, depth) = (self.color(), self.depth(vk::Format::D16_UNORM));
            let framebuffer = self.framebuffer(pass, [color, depth]);
            let of_pass = |number, subpass| Case {
                depth: Some(tested(vk::CompareOp::LESS)),
                pass: Some((pass, subpass)),
                ..case(number)
            };
            let [fifteen, sixteen] = [of_pass(15, 1), of_pass(16, 0)].map(|case| self.pipeline(&case));
            let inherited = vk::CommandBufferInheritanceInfo::default().render_pass(pass).framebuffer(framebuffer);
            let secondary = self.record(Some(&inherited), |app, commands| {
                app.bind(commands, sixteen);
                device.cmd_draw(commands, 4, 1, 0, 0);
            });
            self.done(|app, commands| {
                let clears = [
                    vk::ClearValue::default(),
                    vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } },
                ];
                let info = vk::RenderPassBeginInfo::default().render_pass(pass).framebuffer(framebuffer);
                let info = info.render_area(area()).clear_values(&clears);
                device.cmd_begin_render_pass(commands, &info, vk::SubpassContents::SECONDARY_COMMAND_BUFFERS);
                device.cmd_execute_commands(commands, &[secondary]);
                device.cmd_next_subpass(commands, vk::SubpassContents::INLINE);
                app.bind(commands, fifteen);
                device.cmd_draw(commands, 3, 1, 4, 0);
                device.cmd_end_render_pass(commands);
            });
            self.keep(15, color);
        }
    }
}

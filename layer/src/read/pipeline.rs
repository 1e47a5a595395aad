//! Reads pipelines. Decides which states a pipeline has, and which pointers Vulkan ignores (by the specification of
//! `VkGraphicsPipelineCreateInfo`).

use super::next::{chain, find};
use super::reader::{Reader, list, number};
use super::stage::stage;
use ash::vk;
use ash::vk::Handle;
use dovetail_capture::*;

/// # Safety
/// The info is valid.
pub unsafe fn compute(reader: &Reader<'_>, given: &vk::ComputePipelineCreateInfo<'_>) -> ComputePipeline {
    ComputePipeline {
        flags: given.flags.as_raw(),
        layout: reader.handles.pipeline_layouts.of(given.layout),
        base_pipeline_handle: base(reader, given.flags, given.base_pipeline_handle),
        base_pipeline_index: given.base_pipeline_index,
        // SAFETY: a valid info has a valid stage and chain.
        stage: unsafe { stage(reader, &given.stage) },
        // SAFETY: as above.
        p_next: unsafe { chain(reader, given.p_next) },
    }
}

fn base(reader: &Reader<'_>, flags: vk::PipelineCreateFlags, handle: vk::Pipeline) -> Hash {
    // Vulkan ignores it for other pipelines.
    match flags.contains(vk::PipelineCreateFlags::DERIVATIVE) {
        true => reader.handles.pipelines.of(handle),
        false => Hash::default(),
    }
}

/// The states that a pipeline has.
struct Has<'a> {
    stages: &'a [vk::PipelineShaderStageCreateInfo<'a>],
    vertex_input: bool,
    before_rasterization: bool,
    fragment: bool,
    output: bool,
    tessellation: bool,
    /// Something is rasterized, as far as this pipeline specifies.
    rasterizes: bool,
    depth_stencil: bool,
    colors: bool,
    dynamic: Vec<u32>,
}

impl Has<'_> {
    fn is_dynamic(&self, state: vk::DynamicState) -> bool {
        self.dynamic.contains(&number!(state))
    }
}

/// # Safety
/// The info is valid.
unsafe fn has<'a>(reader: &Reader<'_>, given: &vk::GraphicsPipelineCreateInfo<'a>) -> Has<'a> {
    use vk::GraphicsPipelineLibraryFlagsEXT as Part;
    use vk::ShaderStageFlags as Stage;
    use vk::StructureType as T;
    // SAFETY: a valid info has valid lists and chains, and valid dynamic states if it has any.
    unsafe {
        let parts = find::<vk::GraphicsPipelineLibraryCreateInfoEXT<'_>>(
            given.p_next,
            T::GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        );
        let libraries = find::<vk::PipelineLibraryCreateInfoKHR<'_>>(given.p_next, T::PIPELINE_LIBRARY_CREATE_INFO_KHR);
        let parts = match parts {
            Some(parts) => parts.flags,
            None if libraries.is_some_and(|libraries| libraries.library_count > 0) => Part::empty(),
            None => Part::from_raw(15),
        };
        // Without a part that has shaders, Vulkan ignores the list.
        let shaders = parts.intersects(Part::PRE_RASTERIZATION_SHADERS | Part::FRAGMENT_SHADER);
        let given_stages = if shaders { list(given.p_stages, given.stage_count) } else { &[] };
        let stages = given_stages.iter().fold(Stage::empty(), |all, one| all | one.stage);
        let dynamic = given.p_dynamic_state.as_ref();
        let dynamic = dynamic.map_or(&[][..], |state| list(state.p_dynamic_states, state.dynamic_state_count));
        let dynamic: Vec<u32> = dynamic.iter().map(|state| number!(state)).collect();
        let before_rasterization = parts.contains(Part::PRE_RASTERIZATION_SHADERS);
        let discards = before_rasterization
            && !dynamic.contains(&number!(vk::DynamicState::RASTERIZER_DISCARD_ENABLE))
            && given.p_rasterization_state.as_ref().is_some_and(|state| state.rasterizer_discard_enable != 0);
        let (depth_stencil, colors) = attachments(reader, given);
        Has {
            stages: given_stages,
            vertex_input: parts.contains(Part::VERTEX_INPUT_INTERFACE) && !stages.contains(Stage::MESH_EXT),
            before_rasterization,
            fragment: parts.contains(Part::FRAGMENT_SHADER),
            output: parts.contains(Part::FRAGMENT_OUTPUT_INTERFACE),
            tessellation: stages.intersects(Stage::TESSELLATION_CONTROL | Stage::TESSELLATION_EVALUATION),
            rasterizes: !discards,
            depth_stencil,
            colors,
            dynamic,
        }
    }
}

/// Whether there is a depth or stencil attachment, and whether there are colour attachments.
///
/// # Safety
/// The info is valid.
unsafe fn attachments(reader: &Reader<'_>, given: &vk::GraphicsPipelineCreateInfo<'_>) -> (bool, bool) {
    const UNUSED: u32 = vk::ATTACHMENT_UNUSED;
    if given.render_pass.is_null() {
        // SAFETY: a valid info has a valid chain.
        let rendering = unsafe {
            find::<vk::PipelineRenderingCreateInfo<'_>>(given.p_next, vk::StructureType::PIPELINE_RENDERING_CREATE_INFO)
        };
        let Some(rendering) = rendering else { return (false, false) };
        let undefined = vk::Format::UNDEFINED;
        let depth = rendering.depth_attachment_format != undefined || rendering.stencil_attachment_format != undefined;
        return (depth, rendering.color_attachment_count > 0);
    }
    // An unknown render pass may make Vulkan ignore all pointers.
    let pass = (reader.render_pass)(reader.handles.render_passes.of(given.render_pass));
    let Some(subpass) = pass.as_ref().and_then(|pass| pass.subpasses.get(given.subpass as usize)) else {
        return (false, false);
    };
    let used = |reference: &Reference| reference.attachment != UNUSED;
    (subpass.depth_stencil_attachment.as_ref().is_some_and(used), subpass.color_attachments.iter().any(used))
}

/// # Safety
/// The info is valid.
pub unsafe fn graphics(reader: &Reader<'_>, given: &vk::GraphicsPipelineCreateInfo<'_>) -> GraphicsPipeline {
    // SAFETY: a valid info has valid lists and chains, and valid states unless Vulkan ignores them.
    unsafe {
        let has = has(reader, given);
        let uses_vertex_input = has.vertex_input && !has.is_dynamic(vk::DynamicState::VERTEX_INPUT_EXT);
        let multisamples = (has.fragment || has.output) && has.rasterizes;
        let tests = has.fragment && has.rasterizes && has.depth_stencil;
        let blends = has.output && has.rasterizes && has.colors;
        /// Reads a state if it exists and Vulkan does not ignore it.
        macro_rules! state {
            ($there:expr, $from:ident, $read:expr) => {
                if $there { given.$from.as_ref().map($read) } else { None }
            };
        }
        GraphicsPipeline {
            flags: given.flags.as_raw(),
            base_pipeline_handle: base(reader, given.flags, given.base_pipeline_handle),
            base_pipeline_index: given.base_pipeline_index,
            layout: reader.handles.pipeline_layouts.of(given.layout),
            render_pass: reader.handles.render_passes.of(given.render_pass),
            subpass: given.subpass,
            tessellation_state: state!(has.before_rasterization && has.tessellation, p_tessellation_state, |state| {
                TessellationState {
                    flags: state.flags.as_raw(),
                    patch_control_points: state.patch_control_points,
                    p_next: chain(reader, state.p_next),
                }
            }),
            dynamic_state: given
                .p_dynamic_state
                .as_ref()
                .map(|state| DynamicState { flags: state.flags.as_raw(), dynamic_state: has.dynamic.clone() }),
            multisample_state: state!(multisamples, p_multisample_state, |state| multisample(reader, &has, state)),
            vertex_input_state: state!(uses_vertex_input, p_vertex_input_state, |state| vertex_input(reader, state)),
            rasterization_state: state!(has.before_rasterization, p_rasterization_state, |state| {
                rasterization(reader, state)
            }),
            input_assembly_state: state!(has.vertex_input, p_input_assembly_state, |state| InputAssemblyState {
                flags: state.flags.as_raw(),
                topology: number!(state.topology),
                primitive_restart_enable: state.primitive_restart_enable,
            }),
            color_blend_state: state!(blends, p_color_blend_state, |state| color_blend(reader, &has, state)),
            viewport_state: state!(has.before_rasterization && has.rasterizes, p_viewport_state, |state| {
                viewport(reader, &has, state)
            }),
            depth_stencil_state: state!(tests, p_depth_stencil_state, depth_stencil),
            stages: has.stages.iter().map(|one| stage(reader, one)).collect(),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// # Safety
/// The state is valid.
unsafe fn multisample(
    reader: &Reader<'_>,
    has: &Has<'_>,
    given: &vk::PipelineMultisampleStateCreateInfo<'_>,
) -> MultisampleState {
    let samples = given.rasterization_samples.as_raw();
    let masked = if has.is_dynamic(vk::DynamicState::SAMPLE_MASK_EXT) { 0 } else { samples };
    // SAFETY: a valid state has null, or one bit per sample, unless Vulkan ignores it.
    unsafe {
        MultisampleState {
            flags: given.flags.as_raw(),
            rasterization_samples: samples,
            sample_shading_enable: given.sample_shading_enable,
            min_sample_shading: finite(given.min_sample_shading),
            alpha_to_one_enable: given.alpha_to_one_enable,
            alpha_to_coverage_enable: given.alpha_to_coverage_enable,
            sample_mask: list(given.p_sample_mask, masked.div_ceil(32)).to_vec(),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// The blend equation that a command sets, without enable and write mask.
pub fn blend_equation(given: &vk::ColorBlendEquationEXT) -> BlendAttachment {
    BlendAttachment {
        dst_alpha_blend_factor: number!(given.dst_alpha_blend_factor),
        src_alpha_blend_factor: number!(given.src_alpha_blend_factor),
        dst_color_blend_factor: number!(given.dst_color_blend_factor),
        src_color_blend_factor: number!(given.src_color_blend_factor),
        alpha_blend_op: number!(given.alpha_blend_op),
        color_blend_op: number!(given.color_blend_op),
        ..BlendAttachment::default()
    }
}

/// The vertex input that a command sets.
pub fn vertex_input_set(
    bindings: &[vk::VertexInputBindingDescription2EXT<'_>],
    attributes: &[vk::VertexInputAttributeDescription2EXT<'_>],
) -> VertexInputState {
    let attribute = |given: &vk::VertexInputAttributeDescription2EXT<'_>| VertexAttribute {
        location: given.location,
        binding: given.binding,
        offset: given.offset,
        format: number!(given.format),
    };
    let binding = |given: &vk::VertexInputBindingDescription2EXT<'_>| VertexBinding {
        binding: given.binding,
        stride: given.stride,
        input_rate: number!(given.input_rate),
    };
    let divided = bindings.iter().filter(|given| given.divisor != 1);
    let divisors: Vec<_> = divided.map(|given| Divisor { binding: given.binding, divisor: given.divisor }).collect();
    let next = Next { vertex_binding_divisors: divisors, ..Next::new(s_type::VERTEX_DIVISORS) };
    VertexInputState {
        flags: 0,
        attributes: attributes.iter().map(attribute).collect(),
        bindings: bindings.iter().map(binding).collect(),
        p_next: if next.vertex_binding_divisors.is_empty() { Vec::new() } else { vec![next] },
    }
}

/// # Safety
/// The state is valid.
unsafe fn vertex_input(reader: &Reader<'_>, given: &vk::PipelineVertexInputStateCreateInfo<'_>) -> VertexInputState {
    let attribute = |given: &vk::VertexInputAttributeDescription| VertexAttribute {
        location: given.location,
        binding: given.binding,
        offset: given.offset,
        format: number!(given.format),
    };
    let binding = |given: &vk::VertexInputBindingDescription| VertexBinding {
        binding: given.binding,
        stride: given.stride,
        input_rate: number!(given.input_rate),
    };
    // SAFETY: a valid state has valid lists and chains.
    unsafe {
        let attributes = list(given.p_vertex_attribute_descriptions, given.vertex_attribute_description_count);
        let bindings = list(given.p_vertex_binding_descriptions, given.vertex_binding_description_count);
        VertexInputState {
            flags: given.flags.as_raw(),
            attributes: attributes.iter().map(attribute).collect(),
            bindings: bindings.iter().map(binding).collect(),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// # Safety
/// The state is valid.
unsafe fn rasterization(
    reader: &Reader<'_>,
    given: &vk::PipelineRasterizationStateCreateInfo<'_>,
) -> RasterizationState {
    RasterizationState {
        flags: given.flags.as_raw(),
        depth_bias_constant_factor: finite(given.depth_bias_constant_factor),
        depth_bias_slope_factor: finite(given.depth_bias_slope_factor),
        depth_bias_clamp: finite(given.depth_bias_clamp),
        depth_bias_enable: given.depth_bias_enable,
        depth_clamp_enable: given.depth_clamp_enable,
        polygon_mode: number!(given.polygon_mode),
        rasterizer_discard_enable: given.rasterizer_discard_enable,
        front_face: number!(given.front_face),
        line_width: finite(given.line_width),
        cull_mode: given.cull_mode.as_raw(),
        // SAFETY: a valid state has a valid chain.
        p_next: unsafe { chain(reader, given.p_next) },
    }
}

/// # Safety
/// The state is valid.
unsafe fn color_blend(
    reader: &Reader<'_>,
    has: &Has<'_>,
    given: &vk::PipelineColorBlendStateCreateInfo<'_>,
) -> ColorBlendState {
    use vk::DynamicState as D;
    let all = [D::COLOR_BLEND_ENABLE_EXT, D::COLOR_BLEND_EQUATION_EXT, D::COLOR_WRITE_MASK_EXT];
    let ignored = all.into_iter().all(|state| has.is_dynamic(state));
    let count = if ignored { 0 } else { given.attachment_count };
    let attachment = |given: &vk::PipelineColorBlendAttachmentState| BlendAttachment {
        dst_alpha_blend_factor: number!(given.dst_alpha_blend_factor),
        src_alpha_blend_factor: number!(given.src_alpha_blend_factor),
        dst_color_blend_factor: number!(given.dst_color_blend_factor),
        src_color_blend_factor: number!(given.src_color_blend_factor),
        color_write_mask: given.color_write_mask.as_raw(),
        alpha_blend_op: number!(given.alpha_blend_op),
        color_blend_op: number!(given.color_blend_op),
        blend_enable: given.blend_enable,
    };
    // SAFETY: a valid state has valid lists, unless Vulkan ignores them, and chains.
    unsafe {
        ColorBlendState {
            flags: given.flags.as_raw(),
            logic_op: number!(given.logic_op),
            logic_op_enable: given.logic_op_enable,
            blend_constants: given.blend_constants.map(finite),
            attachments: list(given.p_attachments, count).iter().map(attachment).collect(),
            p_next: chain(reader, given.p_next),
        }
    }
}

/// # Safety
/// The state is valid.
unsafe fn viewport(
    reader: &Reader<'_>,
    has: &Has<'_>,
    given: &vk::PipelineViewportStateCreateInfo<'_>,
) -> ViewportState {
    use vk::DynamicState as D;
    let dynamic = |states: [D; 2]| states.into_iter().any(|state| has.is_dynamic(state));
    let viewport = |given: &vk::Viewport| Viewport {
        x: finite(given.x),
        y: finite(given.y),
        width: finite(given.width),
        height: finite(given.height),
        min_depth: finite(given.min_depth),
        max_depth: finite(given.max_depth),
    };
    let rect = |given: &vk::Rect2D| Rect {
        x: given.offset.x,
        y: given.offset.y,
        width: given.extent.width,
        height: given.extent.height,
    };
    // SAFETY: a valid state has as many viewports and scissors as it states, unless they are dynamic, and a valid
    // chain.
    unsafe {
        let viewports = (!dynamic([D::VIEWPORT, D::VIEWPORT_WITH_COUNT]))
            .then(|| list(given.p_viewports, given.viewport_count).iter().map(viewport).collect());
        let scissors = (!dynamic([D::SCISSOR, D::SCISSOR_WITH_COUNT]))
            .then(|| list(given.p_scissors, given.scissor_count).iter().map(rect).collect());
        ViewportState {
            flags: given.flags.as_raw(),
            viewport_count: given.viewport_count,
            scissor_count: given.scissor_count,
            viewports,
            scissors,
            p_next: chain(reader, given.p_next),
        }
    }
}

fn depth_stencil(given: &vk::PipelineDepthStencilStateCreateInfo<'_>) -> DepthStencilState {
    let operations = |given: &vk::StencilOpState| StencilOps {
        compare_op: number!(given.compare_op),
        write_mask: given.write_mask,
        reference: given.reference,
        compare_mask: given.compare_mask,
        pass_op: number!(given.pass_op),
        fail_op: number!(given.fail_op),
        depth_fail_op: number!(given.depth_fail_op),
    };
    DepthStencilState {
        flags: given.flags.as_raw(),
        stencil_test_enable: given.stencil_test_enable,
        max_depth_bounds: finite(given.max_depth_bounds),
        min_depth_bounds: finite(given.min_depth_bounds),
        depth_bounds_test_enable: given.depth_bounds_test_enable,
        depth_write_enable: given.depth_write_enable,
        depth_test_enable: given.depth_test_enable,
        depth_compare_op: number!(given.depth_compare_op),
        front: operations(&given.front),
        back: operations(&given.back),
    }
}

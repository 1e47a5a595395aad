//! Hooks that follow dynamic state that the code depends on: each [`LateState`] that a pipeline draws with makes a
//! pipeline of its own. If the shadow is on, its hooks replace these.

use crate::dispatch::{self, Device, key};
use crate::guard::{aside, lock};
use crate::hook::{Row, hooks, looks};
use crate::read::{blend_equation, list, vertex_input_set};
use crate::session;
use ash::vk;
use dovetail_capture::{Hash, LateState};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Mutex;

static HOOKS: &[Row] = hooks! {
    self:
        begin_command_buffer,
        cmd_bind_pipeline,
        cmd_set_vertex_input,
        cmd_set_rasterizer_discard_enable,
        cmd_set_rasterization_samples,
        cmd_set_alpha_to_coverage_enable,
        cmd_set_alpha_to_one_enable,
        cmd_set_color_blend_equation,
        cmd_set_rasterization_stream,
        cmd_set_conservative_rasterization_mode,
        cmd_set_line_rasterization_mode,
        cmd_draw,
        cmd_draw_indexed,
        cmd_draw_indirect,
        cmd_draw_indexed_indirect,
        cmd_draw_indirect_count,
        cmd_draw_indexed_indirect_count,
        cmd_draw_multi,
        cmd_draw_multi_indexed,
        cmd_draw_indirect_byte_count;
};

/// The hook of a function, if pipelines are recorded or made.
pub fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
    let (_, hook) = HOOKS.iter().find(|(names, _)| names.contains(&name))?;
    session::get().filter(|session| session.recorder.is_some() || session.times.is_some())?;
    hook()
}

/// What a command buffer has bound.
#[derive(Default)]
struct Bound {
    /// The pipeline, if it waits.
    waiting: Option<Hash>,
    late: LateState,
    /// Whether this pipeline was drawn with this state.
    drawn: bool,
}

/// Command buffers, which are forgotten when they begin again. Those that have neither such a pipeline nor such a state
/// are left out.
static BOUND: Mutex<BTreeMap<vk::CommandBuffer, Bound>> = Mutex::new(BTreeMap::new());

fn bind(device: &Device, commands: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
    let is_graphics = point == vk::PipelineBindPoint::GRAPHICS;
    let Some(session) = session::get().filter(|session| is_graphics && session.has_waiting()) else { return };
    let name = device.with(|handles| handles.pipelines.of(pipeline));
    let waiting = session.is_waiting(name).then_some(name);
    let mut all = lock(&BOUND);
    if waiting.is_some() || all.contains_key(&commands) {
        let bound = all.entry(commands).or_default();
        (bound.waiting, bound.drawn) = (waiting, false);
    }
}

fn set(commands: vk::CommandBuffer, work: impl FnOnce(&mut LateState)) {
    aside(|| {
        let mut all = lock(&BOUND);
        let bound = all.entry(commands).or_default();
        work(&mut bound.late);
        bound.drawn = false;
    });
}

fn draw(commands: vk::CommandBuffer) {
    let Some(session) = session::get().filter(|session| session.has_waiting()) else { return };
    let (waiting, late) = {
        let mut all = lock(&BOUND);
        let Some(bound) = all.get_mut(&commands).filter(|bound| !bound.drawn) else { return };
        let Some(waiting) = bound.waiting else { return };
        bound.drawn = true;
        (waiting, bound.late.clone())
    };
    session.complete(waiting, &late);
}

unsafe extern "system" fn begin_command_buffer(
    commands: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    // SAFETY: a command buffer of the caller's; the same arguments go below.
    unsafe {
        let Some((_, begin)) = dispatch::below(key(commands), |functions| functions.begin_command_buffer) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        aside(|| lock(&BOUND).remove(&commands));
        begin(commands, info)
    }
}

looks! {
    cmd_bind_pipeline(commands: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline)
    |device| aside(|| bind(device, commands, point, pipeline));
    cmd_set_vertex_input(
        commands: vk::CommandBuffer,
        binding_count: u32,
        bindings: *const vk::VertexInputBindingDescription2EXT<'_>,
        attribute_count: u32,
        attributes: *const vk::VertexInputAttributeDescription2EXT<'_>
    )
    |_device| set(commands, |late| {
        late.vertex_input = Some(vertex_input_set(list(bindings, binding_count), list(attributes, attribute_count)));
    });
    cmd_set_rasterizer_discard_enable(commands: vk::CommandBuffer, enable: vk::Bool32)
    |_device| set(commands, |late| late.rasterizer_discard = Some(enable));
    cmd_set_rasterization_samples(commands: vk::CommandBuffer, samples: vk::SampleCountFlags)
    |_device| set(commands, |late| late.samples = Some(samples.as_raw()));
    cmd_set_alpha_to_coverage_enable(commands: vk::CommandBuffer, enable: vk::Bool32)
    |_device| set(commands, |late| late.alpha_to_coverage = Some(enable));
    cmd_set_alpha_to_one_enable(commands: vk::CommandBuffer, enable: vk::Bool32)
    |_device| set(commands, |late| late.alpha_to_one = Some(enable));
    cmd_set_color_blend_equation(
        commands: vk::CommandBuffer,
        from: u32,
        count: u32,
        equations: *const vk::ColorBlendEquationEXT
    )
    |_device| set(commands, |late| {
        let equations = list(equations, count).iter().map(blend_equation);
        late.blend_equations.extend((from..).zip(equations));
    });
    cmd_set_rasterization_stream(commands: vk::CommandBuffer, stream: u32)
    |_device| set(commands, |late| late.stream = Some(stream));
    cmd_set_conservative_rasterization_mode(
        commands: vk::CommandBuffer,
        mode: vk::ConservativeRasterizationModeEXT
    )
    |_device| set(commands, |late| late.conservative = Some(mode.as_raw() as u32));
    cmd_set_line_rasterization_mode(commands: vk::CommandBuffer, mode: vk::LineRasterizationModeEXT)
    |_device| set(commands, |late| late.line_mode = Some(mode.as_raw() as u32));
    cmd_draw(commands: vk::CommandBuffer, count: u32, instances: u32, vertex: u32, instance: u32)
    |_device| aside(|| draw(commands));
    cmd_draw_indexed(
        commands: vk::CommandBuffer,
        count: u32,
        instances: u32,
        index: u32,
        vertex: i32,
        instance: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_indirect(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_indexed_indirect(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_indirect_count(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        counts: vk::Buffer,
        count: vk::DeviceSize,
        most: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_indexed_indirect_count(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        counts: vk::Buffer,
        count: vk::DeviceSize,
        most: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_multi(
        commands: vk::CommandBuffer,
        count: u32,
        infos: *const vk::MultiDrawInfoEXT,
        instances: u32,
        instance: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_multi_indexed(
        commands: vk::CommandBuffer,
        count: u32,
        infos: *const vk::MultiDrawIndexedInfoEXT,
        instances: u32,
        instance: u32,
        stride: u32,
        vertex: *const i32
    )
    |_device| aside(|| draw(commands));
    cmd_draw_indirect_byte_count(
        commands: vk::CommandBuffer,
        instances: u32,
        instance: u32,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        from: u32,
        stride: u32
    )
    |_device| aside(|| draw(commands));
}

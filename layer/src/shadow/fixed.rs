//! The fixed-function state of a draw, from the pipeline's static and dynamic state, in the form of a bundle.
//!
//! Where a state comes from makes no difference: [`Dynamic::over`] gives the state of a draw as if the pipeline had it.
//! State that a bundle cannot express is refused by name, if its value matters for the draw. To support more, add a field
//! to `emu::inputs::FixedFunction`.

use super::dynamic::{Dynamic, Effective};
use super::program::Reads;
use super::reason::Reason;
use super::state;
use dovetail_capture::{
    BlendAttachment, ColorBlendState, FixedState, Next, RasterizationState, Rect, StencilOps, s_type,
};
use dovetail_emu::inputs::{
    Blend, BlendEquation, BlendFactor, BlendOp, Compare, Cull, Depth, DepthBias, Draw, FixedFunction, LogicOp,
    PolygonMode, Scissor, StencilFace, StencilOp, Topology, Viewport,
};

/// The fixed-function state of a draw.
pub struct Fixed {
    /// The draw without attachments, vertices and extent.
    pub draw: Draw,
    /// An index may end a primitive.
    pub restart: bool,
    /// The depth test, if there is one.
    pub depth: Option<Depth>,
    pub stencil: Option<[StencilFace; 2]>,
    /// Write mask and blending by location, or why they are not known.
    pub colors: Vec<Result<(u8, Option<Blend>), Reason>>,
}

/// The state of a draw; `strict_lines`: the driver's lines are rectangles.
///
/// # Errors
/// Why a bundle cannot express it.
pub fn fixed(given: &FixedState, dynamic: &Dynamic, reads: Reads, strict_lines: bool) -> Result<Fixed, Reason> {
    let all = dynamic.over(given)?;
    let raster = all.state.rasterization.as_ref().ok_or(Reason::Pipeline)?;
    if !all.state.extending.is_empty() {
        return Err(Reason::Extended);
    }
    let assembly = all.state.assembly.clone().unwrap_or_default();
    all.need(&[state::TOPOLOGY, state::RESTART])?;
    let topology = topology(assembly.topology)?;
    samples(&all)?;
    let Raster { last_provoking, depth_bias, polygon_mode, line_width, bresenham } =
        rasterized(&all, raster, topology, (reads, strict_lines))?;
    let (viewport, scissor, negative_one_to_one) = view(&all)?;
    let blend = all.state.blend.clone().unwrap_or_default();
    let mut draw = Draw::new(topology, 0, [0; 2]);
    draw.alpha_to_one = all.state.multisample.as_ref().is_some_and(|samples| samples.alpha_to_one_enable != 0);
    all.need(&[state::CULL_MODE, state::FRONT_FACE])?;
    let cull = match raster.cull_mode {
        0 => Cull::None,
        1 => Cull::Front,
        2 => Cull::Back,
        _ => Cull::All,
    };
    all.need(&[state::DEPTH_CLAMP, state::DEPTH_CLIP])?;
    draw.fixed = FixedFunction {
        viewport: Some(viewport),
        scissor: Some(scissor),
        cull,
        clockwise: raster.front_face == 1,
        depth_clamp: clamps(raster.depth_clamp_enable != 0, &raster.p_next, viewport.depth == [0.0, 1.0])?,
        polygon_mode,
        line_width,
        bresenham,
        negative_one_to_one,
        last_provoking,
        depth_bias,
        blend_constants: blend.blend_constants,
        ..FixedFunction::default()
    };
    let logic_op = logic_op(&all, &blend)?;
    draw.fixed.logic_op = logic_op;
    let color = |n| {
        let one = all.attachment(n, dynamic)?;
        Ok(((one.color_write_mask & 15) as u8, if logic_op.is_some() { None } else { equation(&one)? }))
    };
    let colors = (0..).zip(&blend.attachments).map(|(n, _)| color(n)).collect();
    let restart = assembly.primitive_restart_enable != 0;
    Ok(Fixed { draw, restart, depth: depth(&all)?, stencil: stencil(&all)?, colors })
}

/// What commands and pipelines say about samples.
fn samples(all: &Effective) -> Result<(), Reason> {
    let Some(samples) = &all.state.multisample else { return Ok(()) };
    all.need(&[state::SAMPLE_MASK, state::SAMPLE_LOCATIONS_ENABLE])?;
    let locations = Next::find(&samples.p_next, s_type::SAMPLE_LOCATIONS);
    match () {
        () if samples.rasterization_samples > 1 => Err(Reason::Samples),
        () if samples.alpha_to_coverage_enable != 0 => Err(Reason::AlphaToCoverage),
        () if samples.sample_mask.first().is_some_and(|mask| mask & 1 == 0) => Err(Reason::SampleMask),
        () if locations.is_some_and(|next| next.sample_locations_enable != Some(0)) => Err(Reason::SampleLocations),
        () => Ok(()),
    }
}

/// The rasterization of a draw's primitives.
struct Raster {
    last_provoking: bool,
    depth_bias: Option<DepthBias>,
    polygon_mode: PolygonMode,
    /// If it is not 1.
    line_width: Option<f32>,
    bresenham: bool,
}

/// What commands and pipelines say about the rasterization of these primitives.
fn rasterized(
    all: &Effective,
    raster: &RasterizationState,
    topology: Topology,
    (reads, strict_lines): (Reads, bool),
) -> Result<Raster, Reason> {
    // A stream other than 0 is refused with the shader.
    let known = [
        s_type::DEPTH_CLIP,
        s_type::RASTERIZATION_STREAM,
        s_type::CONSERVATIVE_RASTERIZATION,
        s_type::PROVOKING_VERTEX,
        s_type::LINES,
    ];
    if raster.p_next.iter().any(|next| !known.contains(&next.s_type)) {
        return Err(Reason::Extended);
    }
    let of = |s_type| Next::find(&raster.p_next, s_type);
    let is_set = |number: Option<u32>| number.is_some_and(|number| number != 0);
    if is_set(of(s_type::CONSERVATIVE_RASTERIZATION).and_then(|next| next.conservative_rasterization_mode)) {
        return Err(Reason::Conservative);
    }
    let lines = matches!(topology, Topology::LineList | Topology::LineStrip);
    let triangles = !lines && topology != Topology::PointList;
    let mut polygon_mode = PolygonMode::Fill;
    if triangles {
        all.need(&[state::POLYGON_MODE])?;
        const MODES: [PolygonMode; 3] = [PolygonMode::Fill, PolygonMode::Line, PolygonMode::Point];
        polygon_mode = MODES.get(raster.polygon_mode as usize).copied().ok_or(Reason::PolygonMode)?;
    }
    // Vulkan does not say where in a point of a polygon the coordinate is.
    if polygon_mode == PolygonMode::Point && reads.point {
        return Err(Reason::PolygonMode);
    }
    let (mut line_width, mut bresenham) = (None, false);
    if lines || polygon_mode == PolygonMode::Line {
        all.need(&[state::LINE_WIDTH, state::LINE_STIPPLE_ENABLE])?;
        let next = of(s_type::LINES);
        if is_set(next.and_then(|next| next.stippled_line_enable)) {
            return Err(Reason::LineStipple);
        }
        let mode = next.and_then(|next| next.line_rasterization_mode).unwrap_or(mode::DEFAULT);
        line_width = Some(raster.line_width).filter(|width| *width != 1.0);
        match mode {
            mode::RECTANGULAR => {}
            // Without strict lines a wide line is a parallelogram.
            mode::DEFAULT if line_width.is_none() || strict_lines => {}
            mode::DEFAULT => return Err(Reason::WideLines),
            mode::BRESENHAM => bresenham = true,
            _ => return Err(Reason::SmoothLines),
        }
    }
    let mut depth_bias = None;
    if triangles {
        all.need(&[state::DEPTH_BIAS_ENABLE])?;
        if raster.depth_bias_enable != 0 {
            all.need(&[state::DEPTH_BIAS])?;
            let [constant, slope] = [raster.depth_bias_constant_factor, raster.depth_bias_slope_factor];
            if [constant, slope] != [0.0; 2] {
                // Whether the depth that a shader reads is biased differs between drivers.
                if reads.depth {
                    return Err(Reason::DepthBias);
                }
                depth_bias = Some(DepthBias { constant, slope, clamp: raster.depth_bias_clamp });
            }
        }
    }
    let mut last_provoking = false;
    if (reads.flat || reads.per_vertex) && (lines || triangles) {
        all.need(&[state::PROVOKING_VERTEX])?;
        last_provoking = is_set(of(s_type::PROVOKING_VERTEX).and_then(|next| next.provoking_vertex_mode));
        // It may also change which vertex is which.
        if last_provoking && reads.per_vertex {
            return Err(Reason::ProvokingVertex);
        }
    }
    Ok(Raster { last_provoking, depth_bias, polygon_mode, line_width, bresenham })
}

/// `VkLineRasterizationMode`.
mod mode {
    pub const DEFAULT: u32 = 0;
    pub const RECTANGULAR: u32 = 1;
    pub const BRESENHAM: u32 = 2;
}

/// The logic operation, which replaces blending.
fn logic_op(all: &Effective, blend: &ColorBlendState) -> Result<Option<LogicOp>, Reason> {
    if blend.attachments.is_empty() {
        return Ok(None);
    }
    all.need(&[state::LOGIC_OP_ENABLE])?;
    if blend.logic_op_enable == 0 {
        return Ok(None);
    }
    all.need(&[state::LOGIC_OP])?;
    LogicOp::ALL.get(blend.logic_op as usize).copied().map(Some).ok_or(Reason::BlendOp)
}

fn topology(number: u32) -> Result<Topology, Reason> {
    const ALL: [Topology; 6] = [
        Topology::PointList,
        Topology::LineList,
        Topology::LineStrip,
        Topology::TriangleList,
        Topology::TriangleStrip,
        Topology::TriangleFan,
    ];
    ALL.get(number as usize).copied().ok_or(Reason::Topology)
}

/// Whether depths are clamped instead of clipped. `whole`: the viewport has the full depth range.
fn clamps(clamp: bool, chain: &[Next], whole: bool) -> Result<bool, Reason> {
    let clip = Next::find(chain, s_type::DEPTH_CLIP).and_then(|next| next.depth_clip_enable);
    match (clip.map_or(!clamp, |clip| clip != 0), clamp) {
        (true, false) => Ok(false),
        // Clipped depths are already in the range, except those that shaders write.
        (true, true) if whole => Ok(false),
        (false, true) => Ok(true),
        _ => Err(Reason::DepthClip),
    }
}

/// The viewport, the scissor, and whether the shader's depths go from -w to w.
fn view(all: &Effective) -> Result<(Viewport, Scissor, bool), Reason> {
    all.need(&[state::VIEWPORT, state::VIEWPORT_WITH_COUNT, state::SCISSOR, state::SCISSOR_WITH_COUNT])?;
    all.need(&[state::NEGATIVE_ONE_TO_ONE])?;
    let own = all.state.viewport.clone().unwrap_or_default();
    if own.p_next.iter().any(|next| next.s_type != s_type::DEPTH_CLIP_CONTROL) {
        return Err(Reason::Extended);
    }
    let negative_one_to_one = own.p_next.iter().any(|next| next.negative_one_to_one.is_some_and(|enable| enable != 0));
    if own.viewport_count != 1 || own.scissor_count != 1 {
        return Err(Reason::Viewports);
    }
    let first = own.viewports.and_then(|all| all.into_iter().next());
    let view = first.ok_or(Reason::Unset(state::VIEWPORT))?;
    let first = own.scissors.and_then(|all| all.into_iter().next());
    let Rect { x, y, width, height } = first.ok_or(Reason::Unset(state::SCISSOR))?;
    let from = [x, y].map(|n| u32::try_from(n).unwrap_or(0));
    let depth = [view.min_depth, view.max_depth];
    let view = Viewport { x: view.x, y: view.y, width: view.width, height: view.height, depth };
    Ok((view, Scissor { from, extent: [width, height] }, negative_one_to_one))
}

fn equation(given: &BlendAttachment) -> Result<Option<Blend>, Reason> {
    use BlendFactor as F;
    const FACTORS: [BlendFactor; 19] = [
        F::Zero,
        F::One,
        F::SrcColor,
        F::OneMinusSrcColor,
        F::DstColor,
        F::OneMinusDstColor,
        F::SrcAlpha,
        F::OneMinusSrcAlpha,
        F::DstAlpha,
        F::OneMinusDstAlpha,
        F::ConstantColor,
        F::OneMinusConstantColor,
        F::ConstantAlpha,
        F::OneMinusConstantAlpha,
        F::SrcAlphaSaturate,
        F::Src1Color,
        F::OneMinusSrc1Color,
        F::Src1Alpha,
        F::OneMinusSrc1Alpha,
    ];
    const OPS: [BlendOp; 5] = [BlendOp::Add, BlendOp::Subtract, BlendOp::ReverseSubtract, BlendOp::Min, BlendOp::Max];
    if given.blend_enable == 0 {
        return Ok(None);
    }
    let of = |source: u32, destination: u32, op: u32| {
        let factor = |n: u32| FACTORS.get(n as usize).copied().ok_or(Reason::BlendOp);
        let op = OPS.get(op as usize).copied().ok_or(Reason::BlendOp)?;
        Ok(BlendEquation { source: factor(source)?, destination: factor(destination)?, op })
    };
    Ok(Some(Blend {
        color: of(given.src_color_blend_factor, given.dst_color_blend_factor, given.color_blend_op)?,
        alpha: of(given.src_alpha_blend_factor, given.dst_alpha_blend_factor, given.alpha_blend_op)?,
    }))
}

fn compare(number: u32) -> Compare {
    const ALL: [Compare; 8] = super::views::COMPARE;
    ALL.get(number as usize).copied().unwrap_or(Compare::Always)
}

fn depth(all: &Effective) -> Result<Option<Depth>, Reason> {
    let own = all.state.depth_stencil.clone().unwrap_or_default();
    all.need(&[state::DEPTH_BOUNDS_TEST, state::DEPTH_TEST])?;
    if own.depth_bounds_test_enable != 0 {
        return Err(Reason::DepthBounds);
    }
    if own.depth_test_enable == 0 {
        return Ok(None);
    }
    all.need(&[state::DEPTH_WRITE, state::DEPTH_COMPARE])?;
    let write = own.depth_write_enable != 0;
    Ok(Some(Depth { clear: 0.0, compare: compare(own.depth_compare_op), write }))
}

fn stencil(all: &Effective) -> Result<Option<[StencilFace; 2]>, Reason> {
    let own = all.state.depth_stencil.clone().unwrap_or_default();
    all.need(&[state::STENCIL_TEST])?;
    if own.stencil_test_enable == 0 {
        return Ok(None);
    }
    all.need(&[state::STENCIL_COMPARE_MASK, state::STENCIL_WRITE_MASK, state::STENCIL_REFERENCE, state::STENCIL_OP])?;
    Ok(Some([face(&own.front), face(&own.back)]))
}

fn face(given: &StencilOps) -> StencilFace {
    let op = |number: u32| {
        const ALL: [StencilOp; 8] = [
            StencilOp::Keep,
            StencilOp::Zero,
            StencilOp::Replace,
            StencilOp::IncrementAndClamp,
            StencilOp::DecrementAndClamp,
            StencilOp::Invert,
            StencilOp::IncrementAndWrap,
            StencilOp::DecrementAndWrap,
        ];
        ALL.get(number as usize).copied().unwrap_or(StencilOp::Keep)
    };
    StencilFace {
        compare: compare(given.compare_op),
        compare_mask: given.compare_mask as u8,
        write_mask: given.write_mask as u8,
        reference: given.reference as u8,
        fail: op(given.fail_op),
        depth_fail: op(given.depth_fail_op),
        pass: op(given.pass_op),
    }
}

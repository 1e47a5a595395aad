//! The fixed-function state of a draw, from the pipeline's static and dynamic state, in the form of a bundle.
//!
//! State that a bundle cannot express is refused by name. To support more, add a field to `emu::inputs::FixedFunction`.

use super::dynamic::Dynamic;
use super::reason::Reason;
use dovetail::capture::{BlendAttachment, FixedState, Next, Rect, StencilOps, s_type};
use dovetail::emu::inputs::{
    Blend, BlendEquation, BlendFactor, BlendOp, Compare, Cull, Depth, Draw, FixedFunction, Scissor, StencilFace,
    StencilOp, Topology, Viewport,
};

/// `VkDynamicState` numbers that [`Dynamic`] holds, or that do not affect the draws followed here.
pub mod state {
    pub const VIEWPORT: u32 = 0;
    pub const SCISSOR: u32 = 1;
    pub const LINE_WIDTH: u32 = 2;
    pub const DEPTH_BIAS: u32 = 3;
    pub const BLEND_CONSTANTS: u32 = 4;
    pub const DEPTH_BOUNDS: u32 = 5;
    pub const STENCIL_COMPARE_MASK: u32 = 6;
    pub const STENCIL_WRITE_MASK: u32 = 7;
    pub const STENCIL_REFERENCE: u32 = 8;
    pub const CULL_MODE: u32 = 1_000_267_000;
    pub const FRONT_FACE: u32 = 1_000_267_001;
    pub const TOPOLOGY: u32 = 1_000_267_002;
    pub const VIEWPORT_WITH_COUNT: u32 = 1_000_267_003;
    pub const SCISSOR_WITH_COUNT: u32 = 1_000_267_004;
    pub const VERTEX_STRIDE: u32 = 1_000_267_005;
    pub const DEPTH_TEST: u32 = 1_000_267_006;
    pub const DEPTH_WRITE: u32 = 1_000_267_007;
    pub const DEPTH_COMPARE: u32 = 1_000_267_008;
    pub const DEPTH_BOUNDS_TEST: u32 = 1_000_267_009;
    pub const STENCIL_TEST: u32 = 1_000_267_010;
    pub const STENCIL_OP: u32 = 1_000_267_011;
    pub const DEPTH_BIAS_ENABLE: u32 = 1_000_377_002;
    pub const RESTART: u32 = 1_000_377_004;
    pub const ALL: [u32; 23] = [
        VIEWPORT,
        SCISSOR,
        LINE_WIDTH,
        DEPTH_BIAS,
        BLEND_CONSTANTS,
        DEPTH_BOUNDS,
        STENCIL_COMPARE_MASK,
        STENCIL_WRITE_MASK,
        STENCIL_REFERENCE,
        CULL_MODE,
        FRONT_FACE,
        TOPOLOGY,
        VIEWPORT_WITH_COUNT,
        SCISSOR_WITH_COUNT,
        VERTEX_STRIDE,
        DEPTH_TEST,
        DEPTH_WRITE,
        DEPTH_COMPARE,
        DEPTH_BOUNDS_TEST,
        STENCIL_TEST,
        STENCIL_OP,
        DEPTH_BIAS_ENABLE,
        RESTART,
    ];
}

/// The fixed-function state of a draw.
pub struct Fixed {
    /// The draw without attachments, vertices and extent.
    pub draw: Draw,
    /// An index may end a primitive.
    pub restart: bool,
    /// The depth test, if there is one.
    pub depth: Option<Depth>,
    pub stencil: Option<[StencilFace; 2]>,
    /// Write mask and blending by location.
    pub colors: Vec<(u8, Option<Blend>)>,
}

/// # Errors
/// Why a bundle cannot express it.
pub fn fixed(given: &FixedState, dynamic: &Dynamic) -> Result<Fixed, Reason> {
    if given.dynamic.iter().any(|number| !state::ALL.contains(number)) {
        return Err(Reason::Dynamic);
    }
    let is = |number| given.dynamic.contains(&number);
    let raster = given.rasterization.as_ref().ok_or(Reason::Pipeline)?;
    let assembly = given.assembly.clone().unwrap_or_default();
    let topology = topology(pick(is(state::TOPOLOGY), dynamic.topology, assembly.topology)?)?;
    if let Some(samples) = &given.multisample {
        match () {
            () if samples.rasterization_samples > 1 => return Err(Reason::Samples),
            () if samples.alpha_to_coverage_enable != 0 => return Err(Reason::AlphaToCoverage),
            () if samples.sample_mask.first().is_some_and(|mask| mask & 1 == 0) => return Err(Reason::SampleMask),
            () => {}
        }
    }
    if raster.polygon_mode != 0 {
        return Err(Reason::PolygonMode);
    }
    let lines = matches!(topology, Topology::LineList | Topology::LineStrip);
    if lines && pick(is(state::LINE_WIDTH), dynamic.line_width, raster.line_width)? != 1.0 {
        return Err(Reason::WideLines);
    }
    let triangles = !lines && topology != Topology::PointList;
    if triangles && pick(is(state::DEPTH_BIAS_ENABLE), dynamic.depth_bias_enable, raster.depth_bias_enable)? != 0 {
        return Err(Reason::DepthBias);
    }
    let (viewport, scissor) = view(given, dynamic)?;
    let blend = given.blend.clone().unwrap_or_default();
    if blend.logic_op_enable != 0 {
        return Err(Reason::LogicOp);
    }
    let mut draw = Draw::new(topology, 0, [0; 2]);
    draw.alpha_to_one = given.multisample.as_ref().is_some_and(|samples| samples.alpha_to_one_enable != 0);
    let cull = match pick(is(state::CULL_MODE), dynamic.cull_mode, raster.cull_mode)? {
        0 => Cull::None,
        1 => Cull::Front,
        2 => Cull::Back,
        _ => Cull::All,
    };
    draw.fixed = FixedFunction {
        viewport: Some(viewport),
        scissor: Some(scissor),
        cull,
        clockwise: pick(is(state::FRONT_FACE), dynamic.front_face, raster.front_face)? == 1,
        depth_clamp: clamps(raster.depth_clamp_enable != 0, &raster.p_next, viewport.depth == [0.0, 1.0])?,
        blend_constants: pick(is(state::BLEND_CONSTANTS), dynamic.blend_constants, blend.blend_constants)
            .unwrap_or_default(),
        ..FixedFunction::default()
    };
    let colors = blend.attachments.iter().map(|one| Ok(((one.color_write_mask & 15) as u8, equation(one)?)));
    let restart = pick(is(state::RESTART), dynamic.restart, assembly.primitive_restart_enable)? != 0;
    let colors = colors.collect::<Result<_, Reason>>()?;
    Ok(Fixed { draw, restart, depth: depth(given, dynamic)?, stencil: stencil(given, dynamic)?, colors })
}

/// The effective value: the dynamic one if the pipeline makes it dynamic.
fn pick<T>(is_dynamic: bool, dynamic: Option<T>, own: T) -> Result<T, Reason> {
    if is_dynamic { dynamic.ok_or(Reason::Dynamic) } else { Ok(own) }
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
    // A stream other than 0 is refused with the shader.
    let known = [s_type::DEPTH_CLIP, s_type::RASTERIZATION_STREAM];
    if chain.iter().any(|next| !known.contains(&next.s_type)) {
        return Err(Reason::Rasterization);
    }
    let clip = Next::find(chain, s_type::DEPTH_CLIP).and_then(|next| next.depth_clip_enable);
    match (clip.map_or(!clamp, |clip| clip != 0), clamp) {
        (true, false) => Ok(false),
        // Clipped depths are already in the range, except those that shaders write.
        (true, true) if whole => Ok(false),
        (false, true) => Ok(true),
        _ => Err(Reason::Rasterization),
    }
}

fn view(given: &FixedState, dynamic: &Dynamic) -> Result<(Viewport, Scissor), Reason> {
    let own = given.viewport.clone().unwrap_or_default();
    if !own.p_next.is_empty() {
        return Err(Reason::Rasterization);
    }
    let is = |number| given.dynamic.contains(&number);
    let counted = [is(state::VIEWPORT_WITH_COUNT), is(state::SCISSOR_WITH_COUNT)];
    let counts = [own.viewport_count, own.scissor_count];
    for (n, count) in counts.into_iter().enumerate() {
        if pick(counted[n], dynamic.counts[n], count)? != 1 {
            return Err(Reason::Viewports);
        }
    }
    let first = own.viewports.and_then(|all| all.into_iter().next());
    let view = if is(state::VIEWPORT) || counted[0] { dynamic.viewport.clone() } else { first };
    let view = view.ok_or(Reason::Dynamic)?;
    let first = own.scissors.and_then(|all| all.into_iter().next());
    let cut = if is(state::SCISSOR) || counted[1] { dynamic.scissor.clone() } else { first };
    let Rect { x, y, width, height } = cut.ok_or(Reason::Dynamic)?;
    let from = [x, y].map(|n| u32::try_from(n).unwrap_or(0));
    let depth = [view.min_depth, view.max_depth];
    let view = Viewport { x: view.x, y: view.y, width: view.width, height: view.height, depth };
    Ok((view, Scissor { from, extent: [width, height] }))
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
        let factor = |n: u32| FACTORS.get(n as usize).copied().ok_or(Reason::LogicOp);
        let op = OPS.get(op as usize).copied().ok_or(Reason::LogicOp)?;
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

fn depth(given: &FixedState, dynamic: &Dynamic) -> Result<Option<Depth>, Reason> {
    let is = |number| given.dynamic.contains(&number);
    let own = given.depth_stencil.clone().unwrap_or_default();
    if pick(is(state::DEPTH_BOUNDS_TEST), dynamic.depth_bounds_test, own.depth_bounds_test_enable)? != 0 {
        return Err(Reason::DepthBounds);
    }
    if pick(is(state::DEPTH_TEST), dynamic.depth_test, own.depth_test_enable)? == 0 {
        return Ok(None);
    }
    let write = pick(is(state::DEPTH_WRITE), dynamic.depth_write, own.depth_write_enable)? != 0;
    let compare = compare(pick(is(state::DEPTH_COMPARE), dynamic.depth_compare, own.depth_compare_op)?);
    Ok(Some(Depth { clear: 0.0, compare, write }))
}

fn stencil(given: &FixedState, dynamic: &Dynamic) -> Result<Option<[StencilFace; 2]>, Reason> {
    let is = |number| given.dynamic.contains(&number);
    let own = given.depth_stencil.clone().unwrap_or_default();
    if pick(is(state::STENCIL_TEST), dynamic.stencil_test, own.stencil_test_enable)? == 0 {
        return Ok(None);
    }
    let numbers = [state::STENCIL_COMPARE_MASK, state::STENCIL_WRITE_MASK, state::STENCIL_REFERENCE, state::STENCIL_OP];
    let [front, back] = &dynamic.stencil;
    let front = front.over(&own.front, numbers.map(is)).ok_or(Reason::Dynamic)?;
    let back = back.over(&own.back, numbers.map(is)).ok_or(Reason::Dynamic)?;
    Ok(Some([face(&front), face(&back)]))
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

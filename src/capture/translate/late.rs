//! Pipelines whose code depends on dynamic state, which is known only at a draw. With what commands have set, such a
//! pipeline becomes another one: the same, with the values in its state.
//!
//! Invariant: at most [`MAX_LIBRARIES`] libraries are read for one pipeline, however they refer to each other.

use super::merge::MAX_LIBRARIES;
use super::tables::dynamic;
use crate::capture::model::{
    BlendAttachment, GraphicsPipeline, Hash, Next, RasterizationState, VertexInputState, s_type,
};
use crate::capture::source::DefinitionSource;
use serde::Serialize;
use std::collections::BTreeMap;

/// Dynamic states whose values a [`LateState`] has.
const LATE: [u32; 7] = [
    dynamic::VERTEX_INPUT,
    dynamic::RASTERIZER_DISCARD,
    dynamic::SAMPLES,
    dynamic::ALPHA_TO_COVERAGE,
    dynamic::ALPHA_TO_ONE,
    dynamic::BLEND_EQUATION,
    dynamic::LINE_MODE,
];

/// Dynamic state that code depends on, as far as commands have set it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LateState {
    /// `vkCmdSetVertexInputEXT`.
    pub vertex_input: Option<VertexInputState>,
    /// `vkCmdSetRasterizerDiscardEnable`.
    pub rasterizer_discard: Option<u32>,
    /// `vkCmdSetRasterizationSamplesEXT`.
    pub samples: Option<u32>,
    /// `vkCmdSetAlphaToCoverageEnableEXT`.
    pub alpha_to_coverage: Option<u32>,
    /// `vkCmdSetAlphaToOneEnableEXT`.
    pub alpha_to_one: Option<u32>,
    /// `vkCmdSetColorBlendEquationEXT`, by attachment; without enables and write masks.
    pub blend_equations: BTreeMap<u32, BlendAttachment>,
    /// `vkCmdSetLineRasterizationModeEXT`.
    pub line_mode: Option<u32>,
}

fn is_own(pipeline: &GraphicsPipeline, state: u32) -> bool {
    pipeline.dynamic_state.iter().any(|states| states.dynamic_state.contains(&state))
}

/// Whether a pipeline waits for values of a [`LateState`], by its own state or by that of a library.
pub fn waits(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> bool {
    waits_within(pipeline, source, &mut MAX_LIBRARIES.clone())
}

fn waits_within(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource, left: &mut usize) -> bool {
    LATE.iter().any(|state| is_own(pipeline, *state))
        || Next::libraries(&pipeline.p_next).iter().any(|name| {
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            source.graphics(*name).is_ok_and(|library| waits_within(&library, source, left))
        })
}

/// The pipeline with the values that it waits for in its state. `define` adds libraries that differ from the given ones,
/// and names them. `None`: a value is not set, a library is unknown, or there are too many.
pub fn complete(
    pipeline: &GraphicsPipeline,
    late: &LateState,
    source: &dyn DefinitionSource,
    define: &mut dyn FnMut(GraphicsPipeline) -> Hash,
) -> Option<GraphicsPipeline> {
    complete_within(pipeline, late, source, define, &mut MAX_LIBRARIES.clone())
}

fn complete_within(
    pipeline: &GraphicsPipeline,
    late: &LateState,
    source: &dyn DefinitionSource,
    define: &mut dyn FnMut(GraphicsPipeline) -> Hash,
    left: &mut usize,
) -> Option<GraphicsPipeline> {
    let mut new = pipeline.clone();
    for state in LATE.into_iter().filter(|state| is_own(pipeline, *state)) {
        set(&mut new, state, late)?;
    }
    let states = new.dynamic_state.iter_mut();
    states.for_each(|states| states.dynamic_state.retain(|state| !LATE.contains(state)));
    for name in new.p_next.iter_mut().filter_map(|next| next.libraries.as_mut()).flatten() {
        *left = left.checked_sub(1)?;
        let library = source.graphics(*name).ok()?;
        let completed = complete_within(&library, late, source, define, left)?;
        if completed != *library {
            *name = define(completed);
        }
    }
    Some(new)
}

/// Sets one value; `None`: no command has set it.
fn set(pipeline: &mut GraphicsPipeline, state: u32, late: &LateState) -> Option<()> {
    let raster = pipeline.rasterization_state.as_mut();
    // Vulkan lets an application leave this state out if all of it is dynamic.
    let samples = &mut pipeline.multisample_state;
    match state {
        dynamic::VERTEX_INPUT => pipeline.vertex_input_state = Some(late.vertex_input.clone()?),
        dynamic::RASTERIZER_DISCARD => {
            let enable = late.rasterizer_discard?;
            raster.into_iter().for_each(|state| state.rasterizer_discard_enable = enable);
        }
        dynamic::LINE_MODE => {
            let mode = late.line_mode?;
            raster.into_iter().for_each(|state| set_line_mode(state, mode));
        }
        dynamic::SAMPLES => {
            let count = late.samples?;
            samples.get_or_insert_default().rasterization_samples = count;
        }
        dynamic::ALPHA_TO_COVERAGE => {
            let enable = late.alpha_to_coverage?;
            samples.get_or_insert_default().alpha_to_coverage_enable = enable;
        }
        dynamic::ALPHA_TO_ONE => {
            let enable = late.alpha_to_one?;
            samples.get_or_insert_default().alpha_to_one_enable = enable;
        }
        dynamic::BLEND_EQUATION => {
            let attachments = pipeline.color_blend_state.iter_mut().flat_map(|state| &mut state.attachments);
            for (n, attachment) in (0..).zip(attachments) {
                let BlendAttachment { blend_enable, color_write_mask, .. } = *attachment;
                let equation = late.blend_equations.get(&n)?.clone();
                *attachment = BlendAttachment { blend_enable, color_write_mask, ..equation };
            }
        }
        _ => {}
    }
    Some(())
}

fn set_line_mode(state: &mut RasterizationState, mode: u32) {
    match state.p_next.iter_mut().find(|next| next.s_type == s_type::LINES) {
        Some(lines) => lines.line_rasterization_mode = Some(mode),
        None => state.p_next.push(Next { line_rasterization_mode: Some(mode), ..Next::new(s_type::LINES) }),
    }
}

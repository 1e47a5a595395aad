//! Pipelines whose code depends on dynamic state, which is known only at a draw. With what commands have set, such a
//! pipeline becomes another one: the same, with the values in its state.
//!
//! Invariant: at most [`MAX_LIBRARIES`] libraries are read for one pipeline, however they refer to each other.

use super::merge::{self, MAX_LIBRARIES};
use super::tables::dynamic;
use crate::model::{
    BlendAttachment, ColorBlendState, GraphicsPipeline, Hash, Next, RasterizationState, VertexInputState, s_type,
};
use crate::source::DefinitionSource;
use serde::Serialize;
use std::collections::BTreeMap;

/// Attachments of a blend state that are followed; no driver has more.
const MAX_ATTACHMENTS: usize = 32;

/// Dynamic states whose values a [`LateState`] has.
const LATE: [u32; 9] = [
    dynamic::VERTEX_INPUT,
    dynamic::RASTERIZER_DISCARD,
    dynamic::SAMPLES,
    dynamic::ALPHA_TO_COVERAGE,
    dynamic::ALPHA_TO_ONE,
    dynamic::BLEND_EQUATION,
    dynamic::STREAM,
    dynamic::CONSERVATIVE,
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
    /// `vkCmdSetRasterizationStreamEXT`.
    pub stream: Option<u32>,
    /// `vkCmdSetConservativeRasterizationModeEXT`.
    pub conservative: Option<u32>,
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
    // Vulkan lets an application leave out a state if all of it is dynamic.
    let parts = merge::parts(pipeline);
    let missing = |state: u32, part: u64| parts & part != 0 && is_own(pipeline, state);
    if missing(dynamic::RASTERIZER_DISCARD, merge::BEFORE_RASTERIZATION) {
        new.rasterization_state.get_or_insert_default();
    }
    if missing(dynamic::SAMPLES, merge::OUTPUT) {
        new.multisample_state.get_or_insert_default();
    }
    if missing(dynamic::BLEND_EQUATION, merge::OUTPUT) {
        new.color_blend_state.get_or_insert_default();
    }
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
    let GraphicsPipeline { rasterization_state, multisample_state, color_blend_state, .. } = pipeline;
    match state {
        dynamic::VERTEX_INPUT => pipeline.vertex_input_state = Some(late.vertex_input.clone()?),
        dynamic::RASTERIZER_DISCARD => {
            let enable = late.rasterizer_discard?;
            rasterization_state.iter_mut().for_each(|state| state.rasterizer_discard_enable = enable);
        }
        dynamic::STREAM => {
            let stream = Some(late.stream?);
            let next = rasterization_state.iter_mut().map(|state| extending(state, s_type::RASTERIZATION_STREAM));
            next.for_each(|next| next.rasterization_stream = stream);
        }
        dynamic::CONSERVATIVE => {
            let mode = Some(late.conservative?);
            let next = rasterization_state.iter_mut().map(|state| extending(state, s_type::CONSERVATIVE_RASTERIZATION));
            next.for_each(|next| next.conservative_rasterization_mode = mode);
        }
        dynamic::LINE_MODE => {
            let mode = Some(late.line_mode?);
            let next = rasterization_state.iter_mut().map(|state| extending(state, s_type::LINES));
            next.for_each(|next| next.line_rasterization_mode = mode);
        }
        dynamic::SAMPLES => {
            let count = late.samples?;
            multisample_state.iter_mut().for_each(|state| state.rasterization_samples = count);
        }
        dynamic::ALPHA_TO_COVERAGE => {
            let enable = late.alpha_to_coverage?;
            multisample_state.iter_mut().for_each(|state| state.alpha_to_coverage_enable = enable);
        }
        dynamic::ALPHA_TO_ONE => {
            let enable = late.alpha_to_one?;
            multisample_state.iter_mut().for_each(|state| state.alpha_to_one_enable = enable);
        }
        dynamic::BLEND_EQUATION => {
            color_blend_state.as_mut().map_or(Some(()), |state| set_equations(state, &late.blend_equations))?;
        }
        _ => {}
    }
    Some(())
}

fn extending(state: &mut RasterizationState, s_type: u32) -> &mut Next {
    Next::find_or_add(&mut state.p_next, s_type)
}

/// Sets blend equations by attachment. Vulkan ignores the attachments of the state if all that they say is dynamic; then
/// there are as many as commands have set.
fn set_equations(state: &mut ColorBlendState, equations: &BTreeMap<u32, BlendAttachment>) -> Option<()> {
    if state.attachments.is_empty() {
        let count = equations.keys().next_back().map_or(0, |last| *last as usize + 1).min(MAX_ATTACHMENTS);
        state.attachments.resize(count, BlendAttachment::default());
    }
    for (n, attachment) in (0..).zip(&mut state.attachments) {
        let BlendAttachment { blend_enable, color_write_mask, .. } = *attachment;
        let equation = equations.get(&n)?.clone();
        *attachment = BlendAttachment { blend_enable, color_write_mask, ..equation };
    }
    Some(())
}

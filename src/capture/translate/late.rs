//! Pipelines whose code depends on dynamic state, which is known only at a draw. With what commands have set, such a
//! pipeline becomes another one: the same, with the values in its state.
//!
//! Invariant: at most [`MAX_LIBRARIES`] libraries are read for one pipeline, however they refer to each other.

use super::merge::MAX_LIBRARIES;
use super::tables::dynamic;
use crate::capture::model::{GraphicsPipeline, Hash, Next, VertexInputState, s_type};
use crate::capture::source::DefinitionSource;
use serde::Serialize;

/// Dynamic state that code depends on, as far as commands have set it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LateState {
    /// `vkCmdSetVertexInputEXT`.
    pub vertex_input: Option<VertexInputState>,
    /// `vkCmdSetRasterizerDiscardEnable`.
    pub rasterizer_discard: Option<u32>,
}

fn is_own(pipeline: &GraphicsPipeline, state: u32) -> bool {
    pipeline.dynamic_state.iter().any(|states| states.dynamic_state.contains(&state))
}

fn libraries(pipeline: &GraphicsPipeline) -> &[Hash] {
    Next::find(&pipeline.p_next, s_type::LIBRARIES).and_then(|next| next.libraries.as_deref()).unwrap_or(&[])
}

/// Whether a pipeline waits for values of a [`LateState`], by its own state or by that of a library.
pub fn waits(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> bool {
    waits_within(pipeline, source, &mut MAX_LIBRARIES.clone())
}

fn waits_within(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource, left: &mut usize) -> bool {
    [dynamic::VERTEX_INPUT, dynamic::RASTERIZER_DISCARD].iter().any(|state| is_own(pipeline, *state))
        || libraries(pipeline).iter().any(|name| {
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
    if is_own(pipeline, dynamic::VERTEX_INPUT) {
        new.vertex_input_state = Some(late.vertex_input.clone()?);
    }
    if is_own(pipeline, dynamic::RASTERIZER_DISCARD) {
        let enable = late.rasterizer_discard?;
        new.rasterization_state.iter_mut().for_each(|state| state.rasterizer_discard_enable = enable);
    }
    let known = [dynamic::VERTEX_INPUT, dynamic::RASTERIZER_DISCARD];
    let states = new.dynamic_state.iter_mut();
    states.for_each(|states| states.dynamic_state.retain(|state| !known.contains(state)));
    for name in new.p_next.iter_mut().filter_map(|next| next.libraries.as_mut()).flatten() {
        *left = left.checked_sub(1)?;
        let library = source.graphics(*name).ok()?;
        if waits(&library, source) {
            let library = complete_within(&library, late, source, define, left)?;
            *name = define(library);
        }
    }
    Some(new)
}

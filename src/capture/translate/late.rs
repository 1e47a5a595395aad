//! Pipelines whose vertex input is set by commands (`VK_DYNAMIC_STATE_VERTEX_INPUT_EXT`). A vertex input makes another
//! pipeline of such a one: the same, with that input in its state.
//!
//! Invariant: at most [`MAX_LIBRARIES`] libraries are read for one pipeline, however they refer to each other.

use super::merge::MAX_LIBRARIES;
use super::tables::dynamic;
use crate::capture::model::{GraphicsPipeline, Hash, Next, VertexInputState, s_type};
use crate::capture::source::DefinitionSource;

fn is_own(pipeline: &GraphicsPipeline) -> bool {
    pipeline.dynamic_state.iter().any(|state| state.dynamic_state.contains(&dynamic::VERTEX_INPUT))
}

fn libraries(pipeline: &GraphicsPipeline) -> &[Hash] {
    Next::find(&pipeline.p_next, s_type::LIBRARIES).and_then(|next| next.libraries.as_deref()).unwrap_or(&[])
}

/// Whether commands set the vertex input of a pipeline, by its own state or by that of a library.
pub fn awaits_vertex_input(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource) -> bool {
    awaits(pipeline, source, &mut MAX_LIBRARIES.clone())
}

fn awaits(pipeline: &GraphicsPipeline, source: &dyn DefinitionSource, left: &mut usize) -> bool {
    is_own(pipeline)
        || libraries(pipeline).iter().any(|name| {
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            source.graphics(*name).is_ok_and(|library| awaits(&library, source, left))
        })
}

/// The pipeline with a vertex input in its state. `define` adds libraries that differ from the given ones, and names them.
/// `None`: a library is unknown, or there are too many.
pub fn with_vertex_input(
    pipeline: &GraphicsPipeline,
    input: &VertexInputState,
    source: &dyn DefinitionSource,
    define: &mut dyn FnMut(GraphicsPipeline) -> Hash,
) -> Option<GraphicsPipeline> {
    complete(pipeline, input, source, define, &mut MAX_LIBRARIES.clone())
}

fn complete(
    pipeline: &GraphicsPipeline,
    input: &VertexInputState,
    source: &dyn DefinitionSource,
    define: &mut dyn FnMut(GraphicsPipeline) -> Hash,
    left: &mut usize,
) -> Option<GraphicsPipeline> {
    let mut new = pipeline.clone();
    if is_own(pipeline) {
        let states = new.dynamic_state.iter_mut();
        states.for_each(|state| state.dynamic_state.retain(|number| *number != dynamic::VERTEX_INPUT));
        new.vertex_input_state = Some(input.clone());
    }
    for name in new.p_next.iter_mut().filter_map(|next| next.libraries.as_mut()).flatten() {
        *left = left.checked_sub(1)?;
        let library = source.graphics(*name).ok()?;
        if awaits_vertex_input(&library, source) {
            let library = complete(&library, input, source, define, left)?;
            *name = define(library);
        }
    }
    Some(new)
}

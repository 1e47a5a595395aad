//! Prefetches: reads the beginning of every list that a link will read, before the first of them is needed.
//!
//! If a program has thousands of pipelines, the parts and the state of one are not in the processor's caches, so each
//! list costs a cache miss. Misses of loads that do not depend on each other overlap.

use super::input::Object;
use crate::metadata::interface::StageKind;
use crate::state::PipelineState;
use std::hint::black_box;

/// Reads what links of these parts and this state begin with.
pub(super) fn touch(objects: &[&Object], state: &PipelineState) {
    black_box(objects.iter().fold(0, |sum, object| sum ^ of_object(object)));
    black_box([
        state.vertex.bindings.first().map(|b| b.binding),
        state.vertex.attributes.first().map(|a| a.location),
        state.color.attachments.first().map(|a| a.location),
    ]);
}

fn of_object(object: &Object) -> u32 {
    let interface = &object.interface;
    let lists = [
        object.notes.touched(),
        object.params.first(),
        object.bounds.touched(),
        object.first.touched(),
        match &interface.kind {
            StageKind::Fragment(fragment) => fragment.inputs.first().map_or(0, |input| u32::from(input.channels)),
            StageKind::Vertex(_) | StageKind::Compute(_) => 0,
        },
    ];
    lists.iter().fold(0, |sum, word| sum ^ word)
}

//! Reads what a link needs before it needs it.
//!
//! A program that draws links pipelines now and then, and by then little of theirs is in the processor's caches. A link that
//! reads it step by step waits for one place in memory after the other. Here the places of both stages are read at once:
//! first the objects and the state, then what these refer to. Nothing is done with the values, and a processor does not
//! wait for one before it reads the next.

use super::input::Object;
use crate::abi::layout::LayoutId;
use crate::metadata::interface::StageKind;
use crate::state::PipelineState;
use std::hint::black_box;

/// Values that were read.
#[derive(Default)]
pub(super) struct Touched(usize);

impl Touched {
    /// Adds a value.
    #[inline(always)]
    pub(super) fn value(&mut self, value: usize) {
        self.0 ^= value;
    }

    /// Adds the first value of each cache line of a run.
    #[inline(always)]
    pub(super) fn run(&mut self, bytes: &[u8]) {
        bytes.iter().step_by(LINE).take(MOST_LINES).for_each(|byte| self.value((*byte).into()));
    }
}

/// Size of a cache line in bytes.
const LINE: usize = 64;
/// Lines of a run that are read: the processor itself reads ahead in a longer one.
const MOST_LINES: usize = 24;

/// Reads what a link of these objects with this state and layout needs, as far as earlier links left it.
pub(super) fn touch(objects: &[&Object], state: &PipelineState, layout: LayoutId) {
    let mut read = Touched::default();
    for object in objects {
        read.value(state.vertex.bindings.len() ^ state.color.attachments.len() ^ state.specialization.len());
        object.touch(&mut read);
    }
    for object in objects {
        object.ready.touch(layout, &mut read);
        match &object.interface.kind {
            StageKind::Vertex(_) => object.exports.touch(&mut read),
            StageKind::Fragment(fragment) => read.value(fragment.inputs.first().map_or(0, |input| input.flat.into())),
            StageKind::Compute(_) => {}
        }
    }
    read.value(state.vertex.bindings.first().map_or(0, |binding| binding.stride as usize));
    read.value(state.vertex.attributes.first().map_or(0, |attribute| attribute.offset as usize));
    read.value(state.color.attachments.first().map_or(0, |attachment| attachment.location as usize));
    for object in objects {
        object.ready.touch_runs(layout, &mut read);
    }
    black_box(read.0);
}

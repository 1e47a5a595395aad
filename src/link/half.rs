//! A vertex half: what a vertex part and the state of its stage decide, worked out once and finished with any fragment half.
//!
//! Kept are the fetch prolog and the value of every relocation of the vertex part. What the halves decide together (parameters,
//! registers, places) is left for [`VertexHalf::finish`], whose ELF is that of the [`Job`] with both: byte for byte.

use super::attach::Begun;
use super::input::{Object, Patch};
use super::plans::Joints;
use super::resolve::Values;
use super::{Job, Linked, Size};
use crate::error::{Context, Error, Result};
use crate::reloc::symbol::LinkSymbol;
use crate::state::PipelineState;
use crate::target::Stage;

/// A vertex part that waits for a fragment half. Its layout and placement are those of the job that began it.
pub struct VertexHalf<'a> {
    vertex: &'a Object,
    /// Without objects.
    job: Job<'a>,
    begun: Begun<'a>,
}

impl<'a> Job<'a> {
    /// Begins a pipeline of the one object given, a vertex part.
    ///
    /// # Errors
    /// Malformed: other objects; else as [`Job::link`], for what is wrong with the vertex part alone.
    pub fn half(&self) -> Result<VertexHalf<'a>> {
        let [vertex] = *self.objects else {
            return Err(Error::malformed(format!("{} parts begin a pipeline, not one", self.objects.len())));
        };
        if vertex.stage() != Stage::Vertex {
            return Err(Error::malformed(format!("a {} part begins no pipeline", vertex.stage())));
        }
        let at = || "vertex stage";
        let joints = Joints { source: self.glue, plans: self.plans };
        let prolog = joints.prolog(vertex, &self.state.vertex).at(at)?;
        let resolved = Values { state: self.state, layout: self.layout }.resolve(vertex).at(at)?;
        Ok(VertexHalf { vertex, job: Job { objects: &[], ..*self }, begun: Begun { prolog, resolved } })
    }
}

impl VertexHalf<'_> {
    /// Links with this fragment half, or none, into memory of the ELF's own. The state may differ from that of the vertex half
    /// in what only the fragment stage and the attachments use.
    ///
    /// # Errors
    /// Malformed: a state whose vertex stage is another. Else as [`Job::link`].
    pub fn finish(&self, fragment: Option<&Object>, state: &PipelineState) -> Result<Linked> {
        self.with(fragment, state, |job| job.link_begun(Some(&self.begun)))
    }

    /// As [`Self::finish`], into the caller's memory as [`Job::link_into`].
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn finish_into(&self, fragment: Option<&Object>, state: &PipelineState, out: &mut [u8]) -> Result<Size> {
        self.with(fragment, state, |job| job.link_begun_into(Some(&self.begun), out))
    }

    fn with<T>(
        &self,
        fragment: Option<&Object>,
        state: &PipelineState,
        link: impl FnOnce(&Job<'_>) -> Result<T>,
    ) -> Result<T> {
        self.check(state)?;
        let pair = [self.vertex, fragment.unwrap_or(self.vertex)];
        let objects = if fragment.is_some() { &pair[..] } else { &pair[..1] };
        link(&Job { objects, state, ..self.job })
    }

    /// Whether everything that was worked out is so in this state too.
    fn check(&self, state: &PipelineState) -> Result<()> {
        let begun = self.job.state;
        let interface = self.vertex.interface();
        let uses = |is: fn(&Patch) -> bool| self.vertex.patches.iter().any(is);
        let samples = uses(|p| matches!(p.symbol, LinkSymbol::NumSamples | LinkSymbol::SamplePattern));
        let shaped = interface.specialization.iter().map(|value| value.id);
        let mut ids = shaped.chain(interface.spec_operands.iter().map(|operand| operand.id));
        let value = |state: &PipelineState, id| state.specialized(Stage::Vertex, id);
        let differs = [
            ("vertex", begun.vertex != state.vertex),
            ("view_mask", begun.view_mask != state.view_mask),
            ("device_index", begun.device_index != state.device_index),
            ("symbols", begun.symbols != state.symbols),
            ("color.samples", samples && begun.color.samples != state.color.samples),
            ("specialization", ids.any(|id| value(begun, id) != value(state, id))),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            Some((item, _)) => Err(Error::malformed(format!("the vertex half was begun with another `{item}`"))),
            None => Ok(()),
        }
    }
}

//! The vertex half of a pipeline: everything that depends only on the vertex part, its layout and the vertex input
//! state. It is computed once and then linked with any number of fragment parts.
//!
//! It holds the vertex part with the layout and the fetch prolog. [`VertexHalf::finish`] adds what depends on the
//! rest of the state or on both stages (parameters, registers, offsets). Its ELF is byte for byte that of a [`Job`]
//! with both parts.

use super::attach::hardware_stage;
use super::held::Held;
use super::input::Object;
use super::plans::Joints;
use super::ready::Ready;
use super::resolve::StateValues;
use super::{Job, Linked, Size};
use dovetail_base::error::{Context, Error, Result};
use dovetail_state::PipelineState;

/// A vertex part, ready to be linked with fragment parts. Layout and placement are those of the job that made it.
pub struct VertexHalf<'a> {
    vertex: &'a Object,
    /// The job, without its objects.
    job: Job<'a>,
    ready: Held<'a, Ready>,
}

impl<'a> Job<'a> {
    /// Computes the vertex half of a pipeline. The job's only object must be a vertex part.
    ///
    /// # Errors
    /// Malformed: other objects. Otherwise the errors of [`Job::link`] that the vertex part alone causes.
    pub fn half(&self) -> Result<VertexHalf<'a>> {
        let [vertex] = *self.objects else {
            return Err(Error::malformed(format!("{} parts begin a pipeline, not one", self.objects.len())));
        };
        if !vertex.stage().feeds_the_rasterizer() {
            return Err(Error::malformed(format!("a {} part begins no pipeline", vertex.stage())));
        }
        StateValues(self.state).specialization(vertex).at(|| vertex.named())?;
        let joints = Joints { source: self.glue, plans: self.plans };
        let ready = joints.ready(&Held::Kept(vertex), hardware_stage(vertex, self.state), self.layout, self.state)?;
        Ok(VertexHalf { vertex, job: Job { objects: &[], ..*self }, ready })
    }
}

impl VertexHalf<'_> {
    /// Links with a fragment part, or without one, into newly allocated memory. The state may differ from the vertex
    /// half's in everything but `vertex` and `ngg`.
    ///
    /// # Errors
    /// Malformed: these differ. Otherwise as [`Job::link`].
    pub fn finish(&self, fragment: Option<&Object>, state: &PipelineState) -> Result<Linked> {
        self.with(fragment, state, |job| job.link_begun(Some(&self.ready)))
    }

    /// [`Self::finish`] into the caller's memory, as [`Job::link_into`].
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn finish_into(&self, fragment: Option<&Object>, state: &PipelineState, out: &mut [u8]) -> Result<Size> {
        self.with(fragment, state, |job| job.link_begun_into(Some(&self.ready), out))
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

    /// Checks that the prolog is right for this state too.
    fn check(&self, state: &PipelineState) -> Result<()> {
        let begun = self.job.state;
        if begun.vertex == state.vertex && begun.ngg == state.ngg {
            return Ok(());
        }
        Err(Error::malformed("the vertex half was begun with another `vertex` or `ngg`"))
    }
}

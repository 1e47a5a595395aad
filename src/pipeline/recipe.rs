//! The recipe of a pipeline: which parts it is made of, in which order they are obtained, and what happens without one.
//!
//! ```text
//! Part, Variant    of each shader; a variant only if the state asks for one
//!   Pair           of a vertex and a fragment shader; not if there is a variant
//!     Link ──> done
//!      │ NeedsFullCompile
//!      v
//! Constants        of a vertex and a fragment shader: the vertex part, then the fragment part if that one lists constants
//!   Whole          fragment before vertex, which then knows what the fragment stage reads
//!     LinkWhole ──> done
//! ```
//!
//! A [`Recipe`] is pure: [`Recipe::next`] says what it needs, a driver obtains that in its own way, and answers with
//! [`Recipe::give`], [`Recipe::give_pair`] or [`Recipe::refuse`]. There are three drivers: [`super::build`] looks parts up or
//! compiles them at once; the runtime looks in memory and on the disk; the service answers when a worker has finished. A
//! driver matches [`Need`] exhaustively, so that a new step does not compile until each driver says what it does there.
//!
//! Of a shader a recipe knows the stage, of a part its interface. So it does not depend on how a driver names the one and
//! holds the other, and needs neither code nor a cache in its tests.

use super::known::{everything_known, taken_constants};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::request::KnownState;
use dovetail_compile::{needs_variant, variant};
use dovetail_metadata::interface::{ParamConstant, StageInterface};
use dovetail_state::{Known, PipelineState, ResourceLayout};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Reverse;

pub use super::known::whole_request;

/// What a recipe needs next. `S` is the driver's shader, `P` its part.
#[derive(Debug)]
pub enum Need<'r, S, P> {
    /// The part of this shader that knows nothing of the pipeline.
    Part(&'r S),
    /// The variant of this shader's part that knows this, because the state does not allow to link the part itself. Without
    /// it the part stays, and the link reports why it needs a whole-pipeline compile.
    Variant(&'r S, KnownState),
    /// Parts that were compiled for each other, in place of these. Without them these are linked.
    Pair {
        /// The vertex and the fragment shader.
        shaders: [&'r S; 2],
        /// Their parts.
        parts: [&'r P; 2],
    },
    /// A link of these parts, in the order of the shaders.
    Link(&'r [P]),
    /// The part of this shader that knows nothing of the pipeline, for the constants that the vertex part lists and the
    /// fragment part reads. Without it no constant is known.
    Constants(&'r S),
    /// The part of this shader that knows this: every state item, and what is known of the other stage. Only the values of
    /// constants that are operands are left to the driver ([`whole_request`]).
    Whole(&'r S, KnownState),
    /// A link of these parts, compiled as a whole, in the order in which they were needed.
    LinkWhole(&'r [P]),
}

/// When a recipe needs the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantOrder {
    /// Each directly after its part, so that a variant that has to be obtained elsewhere is known to be missing while other
    /// parts still are.
    WithParts,
    /// After all parts, the last one's first, so that no variant is compiled for a pipeline of which a part is missing or
    /// cannot be compiled.
    AfterParts,
}

/// The order in which stages are compiled, by which shaders are sorted: fragment before vertex.
pub fn compile_order(stage: Stage) -> impl Ord {
    Reverse(stage)
}

/// A step, with the index of its shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Part(usize),
    Variant(usize),
    Pair,
    Link,
    VertexConstants,
    FragmentConstants,
    Whole(usize),
    LinkWhole,
}

/// A pipeline that is being built. See the [module](self).
#[derive(Debug)]
pub struct Recipe<'a, S, P> {
    shaders: SmallVec<[(Stage, S); 2]>,
    state: Cow<'a, PipelineState>,
    /// In place of the state's.
    layout: Option<&'a ResourceLayout>,
    variants: VariantOrder,
    step: Step,
    /// The parts obtained so far, in the order of the shaders.
    parts: SmallVec<[P; 2]>,
    /// Whether the state asks for a variant, even if there is none.
    varies: bool,
    /// The vertex part, if it lists constants that the fragment stage may read.
    vertex: Option<P>,
    constants: Known<Vec<ParamConstant>>,
    refusal: Option<Error>,
}

impl<'a, S, P: AsRef<StageInterface>> Recipe<'a, S, P> {
    /// A pipeline that is linked from parts compiled in advance, or compiled as a whole if the link is refused. Parts are
    /// needed in the order of the shaders. `layout` replaces the state's.
    pub fn linked(
        shaders: impl IntoIterator<Item = (Stage, S)>,
        state: Cow<'a, PipelineState>,
        layout: Option<&'a ResourceLayout>,
        variants: VariantOrder,
    ) -> Self {
        let mut recipe = Self {
            shaders: shaders.into_iter().collect(),
            state,
            layout,
            variants,
            step: Step::Link,
            parts: SmallVec::new(),
            varies: false,
            vertex: None,
            constants: Known::Unknown,
            refusal: None,
        };
        recipe.enter(recipe.part(0));
        recipe
    }

    /// A pipeline that is compiled as a whole even if it could be linked.
    pub fn whole(
        shaders: impl IntoIterator<Item = (Stage, S)>,
        state: Cow<'a, PipelineState>,
        layout: Option<&'a ResourceLayout>,
    ) -> Self {
        let mut recipe = Self::linked(shaders, state, layout, VariantOrder::AfterParts);
        recipe.begin_whole();
        recipe
    }

    /// The state of the pipeline.
    pub fn state(&self) -> &PipelineState {
        &self.state
    }

    /// What is needed next. The same until there is an answer.
    pub fn next(&self) -> Need<'_, S, P> {
        // Every step's shader exists, and a step that does not apply was skipped.
        self.need().unwrap_or(Need::Link(&self.parts))
    }

    fn need(&self) -> Option<Need<'_, S, P>> {
        let shader = |at: usize| self.shaders.get(at).map(|(_, shader)| shader);
        Some(match self.step {
            Step::Part(at) => Need::Part(shader(at)?),
            Step::Variant(at) => Need::Variant(shader(at)?, variant(&self.state, self.parts.get(at)?.as_ref())?),
            Step::Pair => {
                let [vertex, fragment] = self.pair()?;
                let parts = [self.parts.get(vertex)?, self.parts.get(fragment)?];
                Need::Pair { shaders: [shader(vertex)?, shader(fragment)?], parts }
            }
            Step::Link => Need::Link(&self.parts),
            Step::VertexConstants => Need::Constants(shader(self.pair()?[0])?),
            Step::FragmentConstants => Need::Constants(shader(self.pair()?[1])?),
            Step::Whole(at) => {
                let layout = self.layout.unwrap_or(&self.state.layout);
                let before = self.parts.last().map(P::as_ref);
                Need::Whole(shader(at)?, everything_known(&self.state, layout, self.constants.clone(), before))
            }
            Step::LinkWhole => Need::LinkWhole(&self.parts),
        })
    }

    /// Takes the part that is needed, or that there is none. False if there is no pipeline without it.
    pub fn give(&mut self, part: Option<P>) -> bool {
        match (self.step, part) {
            (Step::Part(_) | Step::Whole(_), Some(part)) => self.parts.push(part),
            (Step::Variant(at), Some(part)) => self.replace(at, part),
            (Step::Variant(_), None) => {}
            (Step::VertexConstants, part) => self.vertex = part,
            (Step::FragmentConstants, part) => {
                let both = self.vertex.take().zip(part);
                self.constants = both
                    .map_or(Known::Unknown, |(vertex, fragment)| taken_constants(vertex.as_ref(), fragment.as_ref()));
            }
            (Step::Part(_) | Step::Whole(_), None) | (Step::Pair | Step::Link | Step::LinkWhole, _) => return false,
        }
        self.enter(self.after(self.step));
        true
    }

    /// Takes the pair that is needed, vertex part first, or that there is none.
    pub fn give_pair(&mut self, pair: Option<[P; 2]>) {
        if self.step != Step::Pair {
            return;
        }
        for (at, part) in self.pair().into_iter().flatten().zip(pair.into_iter().flatten()) {
            self.replace(at, part);
        }
        self.enter(Step::Link);
    }

    /// Takes the error of a part or of a link: continues with a whole-pipeline compile if the error asks for that.
    ///
    /// # Errors
    /// The error itself, if there is nothing left to try. That of a whole-pipeline compile is never `NeedsFullCompile`.
    pub fn refuse(&mut self, error: Error) -> Result<()> {
        if matches!(self.step, Step::VertexConstants | Step::FragmentConstants | Step::Whole(_) | Step::LinkWhole) {
            return Err(error.of_whole_compile());
        }
        if error.full_compile().is_none() {
            return Err(error);
        }
        self.refusal = Some(error);
        self.begin_whole();
        Ok(())
    }

    /// Why a pipeline that was to be linked is compiled as a whole.
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// The same, for a caller that has no whole-pipeline compile either.
    pub fn into_refusal(self) -> Option<Error> {
        self.refusal
    }

    fn begin_whole(&mut self) {
        self.parts.clear();
        self.shaders.sort_by_key(|(stage, _)| compile_order(*stage));
        self.enter(if self.pair().is_some() { Step::VertexConstants } else { self.whole_part(0) });
    }

    /// Goes to the first step from this one on that applies.
    fn enter(&mut self, mut step: Step) {
        while !self.applies(step) {
            step = self.after(step);
        }
        self.step = step;
        self.varies |= matches!(step, Step::Variant(_));
    }

    /// The step after one that is done or does not apply.
    fn after(&self, step: Step) -> Step {
        match (step, self.variants) {
            (Step::Part(at), VariantOrder::WithParts) => Step::Variant(at),
            (Step::Variant(at), VariantOrder::WithParts) => self.part(at + 1),
            (Step::Part(at), VariantOrder::AfterParts) if at + 1 < self.shaders.len() => Step::Part(at + 1),
            (Step::Part(at), VariantOrder::AfterParts) => Step::Variant(at),
            (Step::Variant(at), VariantOrder::AfterParts) => at.checked_sub(1).map_or(Step::Pair, Step::Variant),
            (Step::Pair | Step::Link, _) => Step::Link,
            (Step::VertexConstants, _) => Step::FragmentConstants,
            (Step::FragmentConstants, _) => self.whole_part(0),
            (Step::Whole(at), _) => self.whole_part(at + 1),
            (Step::LinkWhole, _) => Step::LinkWhole,
        }
    }

    fn applies(&self, step: Step) -> bool {
        match step {
            Step::Variant(at) => self.parts.get(at).is_some_and(|part| needs_variant(&self.state, part.as_ref())),
            // A variant has no pair: pairs are of the parts that know nothing.
            Step::Pair => !self.varies && self.pair().is_some(),
            Step::FragmentConstants => self.vertex.as_ref().is_some_and(|vertex| lists_constants(vertex.as_ref())),
            Step::Part(_) | Step::Link | Step::VertexConstants | Step::Whole(_) | Step::LinkWhole => true,
        }
    }

    fn part(&self, at: usize) -> Step {
        if at < self.shaders.len() { Step::Part(at) } else { Step::Pair }
    }

    fn whole_part(&self, at: usize) -> Step {
        if at < self.shaders.len() { Step::Whole(at) } else { Step::LinkWhole }
    }

    fn replace(&mut self, at: usize, part: P) {
        if let Some(place) = self.parts.get_mut(at) {
            *place = part;
        }
    }

    /// The places of the vertex and the fragment shader, if there are no others.
    fn pair(&self) -> Option<[usize; 2]> {
        match &self.shaders[..] {
            [(a, _), (b, _)] if a.feeds_the_rasterizer() && b.reads_parameters() => Some([0, 1]),
            [(a, _), (b, _)] if b.feeds_the_rasterizer() && a.reads_parameters() => Some([1, 0]),
            _ => None,
        }
    }
}

/// Whether it is a vertex part with constant parameters.
fn lists_constants(interface: &StageInterface) -> bool {
    interface.kind.pre_rasterization().is_some_and(|last| last.constants().next().is_some())
}

#[cfg(test)]
mod tests;

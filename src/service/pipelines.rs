//! The parts of a pipeline, one stage job after another, in the order of [`pipeline::recipe`](dovetail_pipeline::recipe). Either
//! the pipeline is compiled as a whole; or its parts are compiled separately, for comparison. A whole-pipeline compile of two
//! stages begins with the parts compiled in advance that tell constants, which are mostly in the cache. If one of these parts
//! is not available, the compile continues without constants.
//!
//! Each stage of a whole-pipeline compile is a request that contains all state, cached under its own key. So pipelines share
//! the part of a stage if they differ only in state on which that stage does not depend, and a pipeline that was compiled
//! before needs no job.

use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::target::Stage;
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_compile::request::{KnownState, SpecValues, StageRequest};
use dovetail_link::Object;
use dovetail_metadata::interface::StageInterface;
use dovetail_pipeline::recipe::{Need, Recipe, VariantOrder, compile_order, whole_request};
use dovetail_state::PipelineState;
use dovetail_wire::Verdict;
use std::borrow::Cow;
use std::sync::Arc;

/// Number of stages of the largest pipeline.
const MAX_STAGES: usize = 8;

/// The parts of a pipeline, in progress.
pub(super) struct Run {
    /// Its shaders are requests without known state.
    recipe: Recipe<'static, StageRequest, Done>,
    /// Of a pipeline that is compiled as a whole.
    verdict: Option<Verdict>,
}

struct Done {
    key: Key,
    elf: Arc<StageElf>,
    object: Object,
    /// The answer must contain the ELF.
    sent: bool,
}

impl AsRef<StageInterface> for Done {
    fn as_ref(&self) -> &StageInterface {
        self.object.interface()
    }
}

impl Run {
    /// The parts of a whole-pipeline compile; `verdict` is part of the answer.
    ///
    /// # Errors
    /// Malformed: the stages do not form a pipeline.
    pub(super) fn whole(stages: &[StageRequest], state: &PipelineState, verdict: Verdict) -> Result<Self> {
        let recipe = Recipe::whole(shaders(stages)?, Cow::Owned(state.clone()), None);
        Ok(Self { recipe, verdict: Some(verdict) })
    }

    /// The parts from which a pipeline is linked.
    ///
    /// # Errors
    /// Malformed: the stages do not form a pipeline.
    pub(super) fn early(stages: &[StageRequest], state: &PipelineState) -> Result<Self> {
        let recipe = Recipe::linked(shaders(stages)?, Cow::Owned(state.clone()), None, VariantOrder::WithParts);
        Ok(Self { recipe, verdict: None })
    }

    /// The verdict for the answer; `None` for separately compiled parts.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.recipe.next(), Need::Link(_) | Need::LinkWhole(_))
    }

    /// The request for the next stage; `None` if all are complete: the client links them.
    pub(super) fn next(&self) -> Option<StageRequest> {
        match self.recipe.next() {
            Need::Part(early) | Need::Constants(early) => Some(early.clone()),
            Need::Variant(early, known) => Some(StageRequest { known, ..early.clone() }),
            Need::Whole(early, known) => Some(whole_request(early, known, operands(self.recipe.state(), early))),
            Need::Pair { .. } | Need::Link(_) | Need::LinkWhole(_) => None,
        }
    }

    /// Continues without the next stage, which failed; returns whether that is possible.
    pub(super) fn do_without(&mut self) -> bool {
        match self.recipe.next() {
            Need::Constants(_) => self.recipe.give(None),
            // Without its variant a part could not be linked, so there would be nothing to compare.
            Need::Variant(..) | Need::Part(_) | Need::Whole(..) => false,
            Need::Pair { .. } | Need::Link(_) | Need::LinkWhole(_) => false,
        }
    }

    /// Adds the next stage.
    ///
    /// # Errors
    /// The stage is invalid.
    pub(super) fn add(&mut self, key: Key, elf: Arc<StageElf>, sent: bool) -> Result<()> {
        let place = || self.next().map_or(String::new(), |next| format!("{} shader", next.stage));
        let object = Object::parse(&elf.0).at(place)?;
        self.recipe.give(Some(Done { key, elf, object, sent }));
        if matches!(self.recipe.next(), Need::Pair { .. }) {
            // The parts are compared as they are: whether a client's cache has a pair for them is not known here.
            self.recipe.give_pair(None);
        }
        Ok(())
    }

    /// Keys and ELFs in stage order, and whether they must be sent.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Key, &Arc<StageElf>, bool)> {
        let parts = match self.recipe.next() {
            Need::Link(parts) | Need::LinkWhole(parts) => parts,
            _ => &[],
        };
        // The last stage was compiled first.
        parts.iter().rev().map(|done| (done.key, &done.elf, done.sent))
    }
}

/// The stages in the order in which they are compiled, without known state.
///
/// # Errors
/// Malformed: they do not form a pipeline.
fn shaders(stages: &[StageRequest]) -> Result<Vec<(Stage, StageRequest)>> {
    let early = |stage: &StageRequest| StageRequest { known: KnownState::default(), ..stage.clone() };
    let mut shaders: Vec<_> = stages.iter().map(|stage| (stage.stage, early(stage))).collect();
    shaders.sort_by_key(|(stage, _)| compile_order(*stage));
    let twice = shaders.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
    if shaders.is_empty() || shaders.len() > MAX_STAGES || twice {
        return Err(Error::malformed(format!("a pipeline of {} stages, each once at most", shaders.len())));
    }
    Ok(shaders)
}
/// Values of a stage's specialization constants that are only operands. A client's state has values for all constants
/// of its shaders; those that shape code are in the request.
fn operands(state: &PipelineState, early: &StageRequest) -> Vec<(u32, u64)> {
    let shapes = |id| early.specialization.binary_search_by_key(&id, |(id, _)| *id).is_ok();
    let of_stage = state.specialization.iter().filter(|entry| entry.stage == Some(early.stage) && !shapes(entry.id));
    SpecValues::new(of_stage.map(|entry| (entry.id, entry.value)), &[]).shaping
}

//! The parts of a pipeline, one stage job after another. Either the pipeline is compiled as a whole, fragment stage
//! first, because the vertex stage then knows what that reads; or its parts are compiled separately, for comparison.
//!
//! Each stage of a whole-pipeline compile is a request that contains all state (`pipeline::everything_known`), cached
//! under its own key. So pipelines that differ only in state that a stage does not depend on share its part, and a
//! pipeline that was compiled before needs no job.

use crate::cache::Key;
use crate::compile::StageElf;
use crate::compile::request::{KnownState, SpecValues, StageRequest};
use crate::error::{Context as _, Error, Result};
use crate::link::Object;
use crate::pipeline::{everything_known, only_for};
use crate::state::PipelineState;
use crate::wire::Verdict;
use std::sync::Arc;

/// Number of stages of the largest pipeline.
const MAX_STAGES: usize = 8;

/// The parts of a pipeline, in progress.
pub(super) struct Run {
    /// Requests without known state, in the order in which they are compiled.
    stages: Vec<StageRequest>,
    kind: Kind,
    done: Vec<Done>,
}

enum Kind {
    /// Compiled as a whole; the verdict is part of the answer.
    Whole(Box<PipelineState>, Verdict),
    /// Compiled separately, without known state.
    Early,
}

struct Done {
    key: Key,
    elf: Arc<StageElf>,
    object: Object,
    /// The answer must contain the ELF.
    sent: bool,
}

impl Run {
    /// The parts of a whole-pipeline compile; `verdict` is part of the answer.
    ///
    /// # Errors
    /// Malformed: the stages do not form a pipeline.
    pub(super) fn whole(stages: &[StageRequest], state: &PipelineState, verdict: Verdict) -> Result<Self> {
        Self::new(stages, Kind::Whole(Box::new(state.clone()), verdict))
    }

    /// The parts from which a pipeline is linked.
    ///
    /// # Errors
    /// Malformed: the stages do not form a pipeline.
    pub(super) fn early(stages: &[StageRequest]) -> Result<Self> {
        Self::new(stages, Kind::Early)
    }

    fn new(stages: &[StageRequest], kind: Kind) -> Result<Self> {
        let mut stages = stages.to_vec();
        stages.sort_by_key(|stage| std::cmp::Reverse(stage.stage));
        let twice = stages.windows(2).any(|pair| matches!(pair, [a, b] if a.stage == b.stage));
        if stages.is_empty() || stages.len() > MAX_STAGES || twice {
            return Err(Error::malformed(format!("a pipeline of {} stages, each once at most", stages.len())));
        }
        Ok(Self { stages, kind, done: Vec::new() })
    }

    /// The verdict for the answer; `None` for separately compiled parts.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        match &self.kind {
            Kind::Whole(_, verdict) => Some(verdict),
            Kind::Early => None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.len() == self.stages.len()
    }

    /// The request for the next stage; `None` if all are complete.
    pub(super) fn next(&self) -> Option<StageRequest> {
        let early = self.stages.get(self.done.len())?;
        let known = match &self.kind {
            Kind::Early => KnownState::default(),
            Kind::Whole(state, _) => {
                let before = self.done.last().map(|done| &done.object);
                only_for(early.stage, everything_known(state, &state.layout, before), operands(state, early))
            }
        };
        Some(StageRequest { known, ..early.clone() })
    }

    /// Adds the next stage.
    ///
    /// # Errors
    /// The stage is invalid.
    pub(super) fn add(&mut self, key: Key, elf: Arc<StageElf>, sent: bool) -> Result<()> {
        let place =
            || self.stages.get(self.done.len()).map_or(String::new(), |stage| format!("{} shader", stage.stage));
        let object = Object::parse(&elf.0).at(place)?;
        self.done.push(Done { key, elf, object, sent });
        Ok(())
    }

    /// Keys and ELFs in stage order, and whether they must be sent.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Key, &Arc<StageElf>, bool)> {
        // The last stage was compiled first.
        self.done.iter().rev().map(|done| (done.key, &done.elf, done.sent))
    }
}

/// Values of a stage's specialization constants that are only operands. A client's state has values for all constants
/// of its shaders; those that shape code are in the request.
fn operands(state: &PipelineState, early: &StageRequest) -> Vec<(u32, u64)> {
    let shapes = |id| early.specialization.binary_search_by_key(&id, |(id, _)| *id).is_ok();
    let of_stage = state.specialization.iter().filter(|entry| entry.stage == Some(early.stage) && !shapes(entry.id));
    SpecValues::new(of_stage.map(|entry| (entry.id, entry.value)), &[]).shaping
}

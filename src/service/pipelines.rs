//! The parts of a pipeline, a stage job after another: compiled whole, the fragment stage first, since the vertex stage knows what
//! it reads; or as they were compiled early, to compare.
//!
//! Each stage of a whole pipeline is a request that knows everything (`pipeline::everything_known`), found and kept under its own
//! key: pipelines that differ in what a stage cannot see share its part, and a pipeline that was compiled before is found
//! without a job.

use crate::cache::Key;
use crate::compile::StageElf;
use crate::compile::request::{KnownState, SpecValues, StageRequest};
use crate::error::{Context as _, Error, Result};
use crate::link::Object;
use crate::pipeline::{everything_known, only_for};
use crate::state::PipelineState;
use crate::wire::Verdict;
use std::sync::Arc;

/// Stages of the largest pipeline.
const MAX_STAGES: usize = 8;

/// Parts of a pipeline on their way.
pub(super) struct Run {
    /// Early requests, in the order in which they are compiled.
    stages: Vec<StageRequest>,
    kind: Kind,
    done: Vec<Done>,
}

enum Kind {
    /// Compiled with everything known; the verdict goes with the answer.
    Whole(Box<PipelineState>, Verdict),
    /// Compiled with nothing known.
    Early,
}

struct Done {
    key: Key,
    elf: Arc<StageElf>,
    object: Object,
    /// Whether the ELF has to be sent.
    sent: bool,
}

impl Run {
    /// A pipeline with everything known; `verdict` goes with the answer.
    ///
    /// # Errors
    /// Malformed: no pipeline.
    pub(super) fn whole(stages: &[StageRequest], state: &PipelineState, verdict: Verdict) -> Result<Self> {
        Self::new(stages, Kind::Whole(Box::new(state.clone()), verdict))
    }

    /// The parts that a pipeline is linked of.
    ///
    /// # Errors
    /// Malformed: no pipeline.
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

    /// The verdict that goes with it; early parts have none.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        match &self.kind {
            Kind::Whole(_, verdict) => Some(verdict),
            Kind::Early => None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.len() == self.stages.len()
    }

    /// The request of the next stage; none if all are there.
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

    /// The next stage is there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn add(&mut self, key: Key, elf: Arc<StageElf>, sent: bool) -> Result<()> {
        let place =
            || self.stages.get(self.done.len()).map_or(String::new(), |stage| format!("{} shader", stage.stage));
        let object = Object::parse(&elf.0).at(place)?;
        self.done.push(Done { key, elf, object, sent });
        Ok(())
    }

    /// Keys and ELFs in the order of stages, and whether they have to be sent.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Key, &Arc<StageElf>, bool)> {
        // Compiled last stage first, each once.
        self.done.iter().rev().map(|done| (done.key, &done.elf, done.sent))
    }
}

/// Specialization values of a stage's constants that are only operands: a client's state has values of constants that its shaders
/// have, and those that shape code are in the request.
fn operands(state: &PipelineState, early: &StageRequest) -> Vec<(u32, u64)> {
    let shapes = |id| early.specialization.binary_search_by_key(&id, |(id, _)| *id).is_ok();
    let of_stage = state.specialization.iter().filter(|entry| entry.stage == Some(early.stage) && !shapes(entry.id));
    SpecValues::new(of_stage.map(|entry| (entry.id, entry.value)), &[]).shaping
}

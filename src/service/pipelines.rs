//! The parts of a pipeline, one stage job after another. Either the pipeline is compiled as a whole, fragment stage
//! first, because the vertex stage then knows what the fragment stage reads; or its parts are compiled separately, for
//! comparison. A whole-pipeline compile of two stages begins with the vertex part compiled in advance, which is mostly
//! in the cache. If this part lists constants, the fragment stage is compiled with those that its own part reads. If
//! one of these parts is not available, the compile continues without constants.
//!
//! Each stage of a whole-pipeline compile is a request that contains all state (`pipeline::everything_known`), cached
//! under its own key. So pipelines share the part of a stage if they differ only in state on which that stage does not
//! depend, and a pipeline that was compiled before needs no job.

use crate::cache::Key;
use crate::compile::request::{KnownState, SpecValues, StageRequest};
use crate::compile::{StageElf, variant};
use crate::error::{Context as _, Error, Result};
use crate::link::Object;
use crate::metadata::interface::ParamConstant;
use crate::pipeline::{everything_known, only_for, taken_constants};
use crate::state::{Known, PipelineState};
use crate::wire::Verdict;
use std::sync::Arc;

/// Number of stages of the largest pipeline.
const MAX_STAGES: usize = 8;

/// The parts of a pipeline, in progress.
pub(super) struct Run {
    /// Requests without known state, in the order in which they are compiled.
    stages: Vec<StageRequest>,
    kind: Kind,
    early: Early,
    /// The variant of the next stage that the state needs; the stage without it is there.
    variant: Option<KnownState>,
    done: Vec<Done>,
}

/// Progress of the search for constants, with which a whole-pipeline compile begins.
enum Early {
    /// Waits for the vertex part.
    Vertex,
    /// The vertex part lists constants; waits for the fragment part.
    Fragment(Box<Object>),
    /// The constants that the fragment stage knows.
    Done(Known<Vec<ParamConstant>>),
}

enum Kind {
    /// Compiled as a whole; the verdict is part of the answer.
    Whole(Box<PipelineState>, Verdict),
    /// Compiled separately, without known state, or as the variants that this state needs.
    Early(Box<PipelineState>),
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
    pub(super) fn early(stages: &[StageRequest], state: &PipelineState) -> Result<Self> {
        Self::new(stages, Kind::Early(Box::new(state.clone())))
    }

    fn new(stages: &[StageRequest], kind: Kind) -> Result<Self> {
        let mut stages = stages.to_vec();
        stages.sort_by_key(|stage| std::cmp::Reverse(stage.stage));
        let twice = stages.windows(2).any(|pair| matches!(pair, [a, b] if a.stage == b.stage));
        if stages.is_empty() || stages.len() > MAX_STAGES || twice {
            return Err(Error::malformed(format!("a pipeline of {} stages, each once at most", stages.len())));
        }
        let pair = matches!(&stages[..], [a, b] if a.stage.reads_parameters() && b.stage.feeds_the_rasterizer());
        let early = match &kind {
            Kind::Whole(..) if pair => Early::Vertex,
            _ => Early::Done(Known::Unknown),
        };
        Ok(Self { stages, kind, early, variant: None, done: Vec::new() })
    }

    /// The verdict for the answer; `None` for separately compiled parts.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        match &self.kind {
            Kind::Whole(_, verdict) => Some(verdict),
            Kind::Early(_) => None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.len() == self.stages.len()
    }

    /// The request for the next stage; `None` if all are complete.
    pub(super) fn next(&self) -> Option<StageRequest> {
        // The stages are listed in compile order: fragment, vertex.
        let (at, constants) = match &self.early {
            Early::Vertex => (1, None),
            Early::Fragment(_) => (0, None),
            Early::Done(constants) => (self.done.len(), Some(constants)),
        };
        let early = self.stages.get(at)?;
        let known = match (&self.kind, constants) {
            (Kind::Whole(state, _), Some(constants)) => {
                let before = self.done.last().map(|done| &done.object);
                let known = everything_known(state, &state.layout, constants.clone(), before);
                only_for(early.stage, known, operands(state, early))
            }
            (Kind::Early(_), _) | (_, None) => self.variant.clone().unwrap_or_default(),
        };
        Some(StageRequest { known, ..early.clone() })
    }

    /// Continues without the next stage, which failed; returns whether that is possible.
    pub(super) fn do_without(&mut self) -> bool {
        if matches!(self.early, Early::Done(_)) {
            return false;
        }
        self.early = Early::Done(Known::Unknown);
        true
    }

    /// Adds the next stage.
    ///
    /// # Errors
    /// The stage is invalid.
    pub(super) fn add(&mut self, key: Key, elf: Arc<StageElf>, sent: bool) -> Result<()> {
        let place =
            || self.stages.get(self.done.len()).map_or(String::new(), |stage| format!("{} shader", stage.stage));
        let object = Object::parse(&elf.0).at(place)?;
        match &self.early {
            Early::Vertex if object.has_constants() => self.early = Early::Fragment(Box::new(object)),
            Early::Vertex => self.early = Early::Done(Known::Unknown),
            Early::Fragment(vertex) => self.early = Early::Done(taken_constants([vertex, &object])),
            Early::Done(_) => {
                self.variant = match &self.kind {
                    Kind::Early(state) if self.variant.is_none() => variant(state, object.interface()),
                    _ => None,
                };
                if self.variant.is_none() {
                    self.done.push(Done { key, elf, object, sent });
                }
            }
        }
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

//! A pipeline compiled whole: a stage job after another, the fragment stage first, since the vertex stage knows what it reads.
//!
//! Each stage is a request that knows everything (`pipeline::everything_known`), found and kept under its own key: pipelines that
//! differ in what a stage cannot see share its part, and a pipeline that was compiled before is found without a job.

use super::broker::{Broker, What, part};
use super::jobs::Waiter;
use crate::cache::Key;
use crate::compile::StageElf;
use crate::compile::request::StageRequest;
use crate::error::{Context as _, Error, Result};
use crate::link::Object;
use crate::pipeline::{everything_known, only_for};
use crate::state::PipelineState;
use crate::wire::{PipelineAsk, Tell, Verdict};
use std::sync::Arc;

/// Stages of the largest pipeline.
const MAX_STAGES: usize = 8;

/// A pipeline on its way.
pub(super) struct Run {
    /// Early requests, in the order in which they are compiled.
    stages: Vec<StageRequest>,
    state: PipelineState,
    done: Vec<Done>,
}

struct Done {
    key: Key,
    elf: Arc<StageElf>,
    object: Object,
    /// Whether the ELF has to be sent.
    sent: bool,
}

impl Run {
    /// # Errors
    /// Malformed: no pipeline.
    pub(super) fn new(ask: &PipelineAsk) -> Result<Self> {
        let mut stages = ask.stages.clone();
        stages.sort_by_key(|stage| std::cmp::Reverse(stage.stage));
        let twice = stages.windows(2).any(|pair| matches!(pair, [a, b] if a.stage == b.stage));
        if stages.is_empty() || stages.len() > MAX_STAGES || twice {
            return Err(Error::malformed(format!("a pipeline of {} stages, each once at most", stages.len())));
        }
        Ok(Self { stages, state: ask.state.clone(), done: Vec::new() })
    }

    /// The request of the next stage; none if all are there.
    fn next(&self) -> Option<StageRequest> {
        let early = self.stages.get(self.done.len())?;
        let before = self.done.last().map(|done| &done.object);
        let known = only_for(early.stage, everything_known(&self.state, &self.state.layout, before));
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
}

impl Broker {
    /// Asks for the next stage of a pipeline, or answers.
    pub(super) fn advance(&mut self, waiter: Waiter) {
        let Some(request) = self.requests.get(&waiter) else { return };
        let What::Pipeline(run) = &request.what else { return };
        if let Some(next) = run.next() {
            let class = request.class;
            return self.want(waiter, next, class);
        }
        let mut done: Vec<&Done> = run.done.iter().collect();
        done.sort_by_key(|done| done.object.stage());
        let parts = done.into_iter().map(|done| part(done.key, &done.elf, done.sent)).collect();
        self.end(waiter);
        let verdict = Verdict::Take("compiled whole, since its parts cannot be linked".into());
        self.tell(waiter.client, Tell::Pipeline { id: waiter.id, verdict, parts });
    }
}

//! Pipelines that were linked, compiled whole when there is time for it, and told of if that is better.
//!
//! ```text
//! offer ──> journal ──> verdict known: answered at once
//!              └──> used or idle ──> whole, then its parts (`pipelines::Run`) ──> Compare ──> verdict ──> journal, all offerers
//! ```
//!
//! One pipeline at a time, the most used first; nothing while background work is held back. After an update of the compiler all
//! verdicts are old, and are made again in the same order, so never all at once.

use super::broker::{Broker, BrokerEvent, Effect, Request, What, part};
use super::jobs::{ClientId, Time, Waiter};
use super::journal::{Decided, Row};
use super::measure::Cost;
use super::pipelines::Run;
use crate::cache::Key;
use crate::compile::StageElf;
use crate::error::{Error, ErrorKind, Result};
use crate::link::{EmitGlue, Object, link_objects, verify};
use crate::wire::{PipelineAsk, Priority, Tell, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A pipeline that was drawn with so often is worth a compile at any time.
const USED: u64 = 200;
/// Without a new pipeline for so long, loading is over.
const IDLE: Duration = Duration::from_secs(2);
/// Interval at which uses are written to the journal.
const FLUSH: Duration = Duration::from_secs(5);

/// Pipelines that could be better.
#[derive(Default)]
pub(super) struct Optimizer {
    /// The waiters for a verdict, by pipeline.
    offers: BTreeMap<Key, BTreeSet<Waiter>>,
    /// On its way.
    current: Option<Current>,
    /// Something has changed that may make it time for the next: not every event is worth a look at all rows.
    pub(super) due: bool,
    /// Not tried again before somebody offers it anew, as its modules are nowhere.
    without_modules: BTreeSet<Key>,
    last_offer: Time,
    flushed: Time,
    runs: u64,
}

/// A pipeline on its way.
struct Current {
    name: Key,
    waiter: Waiter,
    /// Its parts, once both versions are there; those that were not in the cache have to be sent.
    whole: Vec<(Key, Arc<StageElf>, bool)>,
}

/// Two versions of a pipeline.
pub(super) struct Both {
    whole: Run,
    linked: Run,
}

/// Two versions of a pipeline, to be compared on another thread.
pub struct Comparison {
    name: Key,
    row: Row,
    whole: Vec<Arc<StageElf>>,
    linked: Vec<Arc<StageElf>>,
}

impl Comparison {
    /// Links both and compares what they cost.
    pub fn run(&self) -> BrokerEvent {
        BrokerEvent::Compared(self.name, self.verdict().map_err(Error::of_whole_compile))
    }

    fn verdict(&self) -> Result<Verdict> {
        let whole = self.cost(&self.whole)?;
        let linked = self.cost(&self.linked)?;
        Ok(match whole.better_than(&linked) {
            Ok(why) => Verdict::Take(why),
            Err(why) => Verdict::Keep(why),
        })
    }

    fn cost(&self, parts: &[Arc<StageElf>]) -> Result<Cost> {
        let objects = parts.iter().map(|elf| Object::parse(&elf.0)).collect::<Result<Vec<_>>>()?;
        let objects: Vec<&Object> = objects.iter().collect();
        let elf = link_objects(&objects, &self.row.state, self.row.placement, &EmitGlue)?.elf;
        let report = verify(&elf)?;
        if let Some(violation) = report.violations.first() {
            return Err(Error::bug(format!("a linked pipeline breaks a rule: {violation}")));
        }
        let target = self.row.stages.first().map(|stage| stage.target);
        Cost::of(&elf, target.ok_or_else(|| Error::bug("a pipeline without stages"))?)
    }
}

impl Both {
    /// The run that is not done yet; none if both are.
    pub(super) fn open(&mut self) -> Option<&mut Run> {
        let whole = (!self.whole.is_done()).then_some(&mut self.whole);
        whole.or_else(|| (!self.linked.is_done()).then_some(&mut self.linked))
    }
}

impl Broker {
    /// A client has linked a pipeline. Gives its name in the journal.
    ///
    /// # Errors
    /// Why it cannot be remembered.
    pub(super) fn offered(&mut self, ask: &PipelineAsk) -> Result<Key> {
        self.optimizer.last_offer = self.now;
        let name = self.journal.offer(ask)?;
        self.optimizer.without_modules.remove(&name);
        self.optimizer.due = true;
        Ok(name)
    }

    /// Answers an offer if its verdict is known, and remembers it otherwise.
    pub(super) fn consider(&mut self, waiter: Waiter, name: Key) {
        let Some(row) = self.journal.get(&name) else { return };
        match row.verdict(&self.facts.compiler).cloned() {
            None => _ = self.optimizer.offers.entry(name).or_default().insert(waiter),
            Some(Ok(keep @ Verdict::Keep(_))) => {
                self.end(waiter);
                self.tell(waiter.client, Tell::Pipeline { id: waiter.id, verdict: keep, parts: Vec::new() });
            }
            Some(Err(error)) => self.fail(waiter, error),
            // Its parts are in the cache; if they were deleted, they are made again.
            Some(Ok(take)) => match Run::whole(&row.stages, &row.state, take) {
                Ok(run) => {
                    if let Some(request) = self.requests.get_mut(&waiter) {
                        request.what = What::Pipeline(Box::new(run));
                    }
                    self.advance(waiter);
                }
                Err(error) => self.fail(waiter, error),
            },
        }
    }

    /// A client tells of draws.
    pub(super) fn used(&mut self, client: ClientId, draws: &[(u64, u64)]) {
        self.optimizer.due = true;
        for (id, draws) in draws {
            if let Some(name) = self.clients.get(&client).and_then(|client| client.offered.get(id)) {
                self.journal.used(name, *draws);
            }
        }
    }

    /// Removes an offer's waiter.
    pub(super) fn offer_ended(&mut self, waiter: Waiter, name: &Key) {
        if let Some(offers) = self.optimizer.offers.get_mut(name) {
            offers.remove(&waiter);
            if offers.is_empty() {
                self.optimizer.offers.remove(name);
            }
        }
    }

    /// Clients that can be asked for modules of what the service compiles for itself.
    pub(super) fn offerers(&self) -> impl Iterator<Item = ClientId> {
        let current = self.optimizer.current.as_ref().and_then(|current| self.optimizer.offers.get(&current.name));
        current.into_iter().flatten().map(|waiter| waiter.client)
    }

    /// Begins with the next pipeline, if it is time for one.
    pub(super) fn optimize(&mut self) {
        if self.now >= self.optimizer.flushed + FLUSH {
            self.flush_journal();
        }
        let due = std::mem::take(&mut self.optimizer.due) && self.is_calm() && !self.facts.status.draining;
        if !due || self.optimizer.current.is_some() {
            return;
        }
        let idle = self.now >= self.optimizer.last_offer + IDLE;
        let Optimizer { offers, without_modules, .. } = &self.optimizer;
        let undecided = self.journal.rows().filter(|(name, row)| {
            let wanted = row.uses >= USED || offers.contains_key(name);
            let now = idle || (row.uses >= USED && offers.contains_key(name));
            wanted && now && row.verdict(&self.facts.compiler).is_none() && !without_modules.contains(name)
        });
        let next = undecided.max_by_key(|(name, row)| (offers.contains_key(name), row.uses));
        let Some((name, row)) = next.map(|(name, row)| (*name, row.clone())) else { return };
        let runs = Run::whole(&row.stages, &row.state, Verdict::Keep(String::new()))
            .and_then(|whole| Ok(Both { whole, linked: Run::early(&row.stages)? }));
        match runs {
            Ok(both) => {
                self.optimizer.runs += 1;
                let waiter = Waiter { client: ClientId::SERVICE, id: self.optimizer.runs };
                self.optimizer.current = Some(Current { name, waiter, whole: Vec::new() });
                let what = What::Optimize(Box::new(both));
                let (class, since) = (Priority::Optimize, self.now);
                self.requests.insert(waiter, Request { class, inline: true, since, counted: false, what });
                self.advance(waiter);
            }
            Err(error) => {
                self.decide(name, Err(error));
                self.optimizer.due = true;
            }
        }
    }

    /// Both versions are there.
    pub(super) fn both_there(&mut self, waiter: Waiter, both: &Both) {
        let Some(current) = self.optimizer.current.as_mut().filter(|current| current.waiter == waiter) else { return };
        let Some(row) = self.journal.get(&current.name).cloned() else {
            self.optimizer.current = None;
            self.optimizer.due = true;
            return;
        };
        current.whole = both.whole.parts().map(|(key, elf, sent)| (key, elf.clone(), sent)).collect();
        let elfs = |run: &Run| run.parts().map(|(_, elf, _)| elf.clone()).collect();
        let (whole, linked) = (elfs(&both.whole), elfs(&both.linked));
        self.effects.push(Effect::Compare(Box::new(Comparison { name: current.name, row, whole, linked })));
    }

    /// A stage of what is compiled for the service itself cannot be had.
    pub(super) fn optimization_failed(&mut self, waiter: Waiter, error: Error) {
        let Some(current) = self.optimizer.current.take_if(|current| current.waiter == waiter) else { return };
        self.optimizer.due = true;
        if matches!(error.kind(), ErrorKind::Environment(_)) {
            // Nobody has its modules now, or workers do not start: another time.
            self.optimizer.without_modules.insert(current.name);
        } else {
            self.decide(current.name, Err(error));
        }
    }

    /// Both were compared.
    pub(super) fn compared(&mut self, name: Key, verdict: Result<Verdict>) {
        self.decide(name, verdict);
        self.optimizer.current.take_if(|current| current.name == name);
        self.optimizer.due = true;
    }

    fn decide(&mut self, name: Key, verdict: Result<Verdict>) {
        match &verdict {
            Ok(Verdict::Take(_)) => self.facts.status.optimized += 1,
            Ok(Verdict::Keep(_)) => self.facts.status.kept_linked += 1,
            Err(_) => {}
        }
        let compiler = self.facts.compiler.clone();
        self.journal.decide(&name, Decided { compiler, verdict: verdict.clone() });
        self.flush_journal();
        let whole = match &self.optimizer.current {
            Some(current) if current.name == name => current.whole.clone(),
            _ => Vec::new(),
        };
        for waiter in self.optimizer.offers.remove(&name).unwrap_or_default() {
            match verdict.clone() {
                Err(error) => self.fail(waiter, error),
                Ok(verdict) => {
                    let Some(request) = self.end(waiter) else { continue };
                    let taken = whole.iter().filter(|_| matches!(verdict, Verdict::Take(_)));
                    let parts = taken.map(|(key, elf, sent)| part(*key, elf, *sent || request.inline)).collect();
                    self.tell(waiter.client, Tell::Pipeline { id: waiter.id, verdict, parts });
                }
            }
        }
    }

    /// Writes what has changed.
    pub(super) fn flush_journal(&mut self) {
        self.optimizer.flushed = self.now;
        let changed = self.journal.take_changed();
        if !changed.is_empty() {
            self.effects.push(Effect::Remember(changed));
        }
    }
}

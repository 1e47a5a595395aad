//! Optimizes linked pipelines: compiles each as a whole when there is time, and tells the clients if the result is
//! better.
//!
//! ```text
//! offer ──> journal ──> verdict known: answered at once
//!              └──> used or idle ──> whole, then its parts (`pipelines::Run`) ──> Compare ──> verdict ──> journal, all offerers
//! ```
//!
//! Pipelines are optimized one at a time, the most used first, and none while background work is held back. After a
//! compiler update all verdicts are outdated. They are recomputed in the same way, so never all at once.

use super::broker::{Broker, Request, What};
use super::comparison::Comparison;
use super::events::{Effect, part};
use super::jobs::{ClientId, Time, Waiter};
use super::journal::{Decided, Row};
use super::pipelines::Run;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_wire::{PipelineAsk, Priority, Tell, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Number of draws after which a pipeline is compiled at any time.
const USED: u64 = 200;
/// Loading counts as finished if no pipeline was offered for this time.
const IDLE: Duration = Duration::from_secs(2);
/// Interval between searches of all rows, of which there may be thousands, and the number of pipelines that one finds.
const SEARCH: Duration = Duration::from_millis(250);
const FOUND: usize = 64;
/// Interval at which use counts are written to the journal.
const FLUSH: Duration = Duration::from_secs(5);

/// The optimization of linked pipelines.
#[derive(Default)]
pub(super) struct Optimizer {
    /// The waiters for a verdict, by pipeline.
    offers: BTreeMap<Key, BTreeSet<Waiter>>,
    /// The pipeline being optimized.
    current: Option<Current>,
    /// Something has changed, so the next pipeline may be due. This avoids a search at every event.
    pub(super) due: bool,
    /// The pipelines that the last search of all rows has found, the next one last.
    next: Vec<Key>,
    searched: Option<Time>,
    /// Pipelines whose modules cannot be had: not tried again until a client offers them again.
    without_modules: BTreeSet<Key>,
    last_offer: Time,
    flushed: Time,
    runs: u64,
}

/// A pipeline being optimized.
struct Current {
    name: Key,
    waiter: Waiter,
    /// The parts compiled as a whole, once both versions are complete; the flag: the part was not in the cache, so it
    /// must be sent.
    whole: Vec<(Key, Arc<StageElf>, bool)>,
}

/// The two versions of a pipeline, in progress.
pub(super) struct Both {
    whole: Run,
    linked: Run,
}

impl Both {
    /// The first unfinished run; `None` if both are finished.
    pub(super) fn open(&mut self) -> Option<&mut Run> {
        let whole = (!self.whole.is_done()).then_some(&mut self.whole);
        whole.or_else(|| (!self.linked.is_done()).then_some(&mut self.linked))
    }
}

impl Broker {
    /// Records that a client has linked a pipeline. Returns the pipeline's name in the journal.
    ///
    /// # Errors
    /// Why it cannot be recorded.
    pub(super) fn offered(&mut self, ask: &PipelineAsk) -> Result<Key> {
        self.optimizer.last_offer = self.now;
        let name = self.journal.offer(ask)?;
        self.optimizer.without_modules.remove(&name);
        self.optimizer.due = true;
        Ok(name)
    }

    /// Answers an offer if its verdict is known, and stores it otherwise.
    pub(super) fn consider(&mut self, waiter: Waiter, name: Key) {
        let Some(row) = self.journal.get(&name) else { return };
        match row.verdict(&self.facts.compiler).cloned() {
            None => _ = self.optimizer.offers.entry(name).or_default().insert(waiter),
            Some(Ok(keep @ Verdict::Keep(_))) => {
                self.end(waiter);
                self.tell(waiter.client, Tell::Pipeline { id: waiter.id, verdict: keep, parts: Vec::new() });
            }
            Some(Err(error)) => self.fail(waiter, error),
            // The parts are in the cache; if they were deleted, they are recompiled.
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

    /// Takes a client's report of draws.
    pub(super) fn used(&mut self, client: ClientId, draws: &[(u64, u64)]) {
        self.optimizer.due = true;
        for (id, draws) in draws {
            if let Some(name) = self.clients.get(&client).and_then(|client| client.offered.get(id)) {
                self.journal.used(name, *draws);
            }
        }
    }

    /// Removes the waiter of an offer.
    pub(super) fn offer_ended(&mut self, waiter: Waiter, name: &Key) {
        if let Some(offers) = self.optimizer.offers.get_mut(name) {
            offers.remove(&waiter);
            if offers.is_empty() {
                self.optimizer.offers.remove(name);
            }
        }
    }

    /// Clients that may have the modules of the pipeline being optimized.
    pub(super) fn offerers(&self) -> impl Iterator<Item = ClientId> {
        let current = self.optimizer.current.as_ref().and_then(|current| self.optimizer.offers.get(&current.name));
        current.into_iter().flatten().map(|waiter| waiter.client)
    }

    /// Starts with the next pipeline, if one is due.
    pub(super) fn optimize(&mut self) {
        if self.now >= self.optimizer.flushed + FLUSH {
            self.flush_journal();
        }
        let due = std::mem::take(&mut self.optimizer.due) && self.is_calm() && !self.facts.status.draining;
        if !due || self.optimizer.current.is_some() {
            return;
        }
        let Some((name, row)) = self.next_due() else { return };
        let runs = Run::whole(&row.stages, &row.state, Verdict::Keep(String::new()))
            .and_then(|whole| Ok(Both { whole, linked: Run::early(&row.stages, &row.state)? }));
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

    /// The next pipeline that is due.
    fn next_due(&mut self) -> Option<(Key, Row)> {
        if self.optimizer.searched.is_none_or(|at| self.now >= at + SEARCH) {
            self.optimizer.searched = Some(self.now);
            self.fail_forgotten_offers();
            let due = self.journal.rows().filter(|(name, row)| self.is_due(name, row));
            let offers = &self.optimizer.offers;
            let mut found: Vec<_> = due.map(|(name, row)| (offers.contains_key(name), row.uses, *name)).collect();
            found.sort_unstable();
            let least = found.len().saturating_sub(FOUND);
            self.optimizer.next = found.iter().skip(least).map(|(.., name)| *name).collect();
        } else if self.optimizer.next.is_empty() {
            // The next event that comes when a search is allowed again.
            self.optimizer.due = true;
        }
        while let Some(name) = self.optimizer.next.pop() {
            if let Some(row) = self.journal.get(&name).filter(|row| self.is_due(&name, row)) {
                return Some((name, row.clone()));
            }
        }
        None
    }

    /// Answers offers whose rows the journal has dropped: nothing will decide them.
    fn fail_forgotten_offers(&mut self) {
        let forgotten = |name: &&Key| self.journal.get(name).is_none();
        let names: Vec<Key> = self.optimizer.offers.keys().filter(forgotten).copied().collect();
        let no_room = Error::environment("the journal has no room for this pipeline");
        names.iter().for_each(|name| self.fail_offers(name, &no_room));
    }

    /// Answers all offers of a pipeline with an error.
    fn fail_offers(&mut self, name: &Key, error: &Error) {
        for waiter in self.optimizer.offers.remove(name).unwrap_or_default() {
            self.fail(waiter, error.clone());
        }
    }

    /// Whether a pipeline should be optimized now.
    fn is_due(&self, name: &Key, row: &Row) -> bool {
        let Optimizer { offers, without_modules, last_offer, .. } = &self.optimizer;
        let idle = self.now >= *last_offer + IDLE;
        let (is_used, is_offered) = (row.uses >= USED, offers.contains_key(name));
        let now = (idle && (is_used || is_offered)) || (is_used && is_offered);
        now && row.verdict(&self.facts.compiler).is_none() && !without_modules.contains(name)
    }

    /// Both versions are complete: has them compared.
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

    /// A stage of the pipeline being optimized could not be compiled.
    pub(super) fn optimization_failed(&mut self, waiter: Waiter, error: Error) {
        let Some(current) = self.optimizer.current.take_if(|current| current.waiter == waiter) else { return };
        self.optimizer.due = true;
        if error.may_pass() {
            // No connected client has its modules, or workers do not start: try again when it is offered again.
            self.optimizer.without_modules.insert(current.name);
            self.fail_offers(&current.name, &error);
        } else {
            self.decide(current.name, Err(error));
        }
    }

    /// Takes the verdict of a comparison.
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

    /// Writes the changed rows.
    pub(super) fn flush_journal(&mut self) {
        self.optimizer.flushed = self.now;
        let changed = self.journal.take_changed();
        if !changed.is_empty() {
            self.effects.push(Effect::Remember(changed));
        }
    }
}

//! Jobs without an answer that were requested from the service, or will be when it is reachable.

use super::job::ServiceJob;
use dovetail_wire::{Ask, Priority};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Instant;

struct Request {
    /// Cancelled when nobody holds it any more.
    job: Weak<dyn ServiceJob>,
    /// Whether the answer must carry its ELFs.
    inline: bool,
    /// Its priority as last sent.
    class: Priority,
}

/// A pipeline that this connection's service schedules by use, before and after its answer.
struct Drawn {
    job: Weak<dyn ServiceJob>,
    /// Draws reported to the service.
    told: u64,
}

#[derive(Default)]
pub(super) struct Requests {
    by_id: BTreeMap<u64, Request>,
    /// Requests to be repeated later because the service was busy.
    later: BTreeSet<(Instant, u64)>,
    drawn: BTreeMap<u64, Drawn>,
}

impl Requests {
    /// Adds a request; false if it exists.
    pub(super) fn add(&mut self, job: &Arc<dyn ServiceJob>) -> bool {
        let Entry::Vacant(place) = self.by_id.entry(job.id()) else { return false };
        place.insert(Request { job: Arc::downgrade(job), inline: false, class: Priority::Soon });
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.by_id.keys().copied().collect()
    }

    /// The job of a request, if it exists and is still needed.
    pub(super) fn job(&self, id: u64) -> Option<Arc<dyn ServiceJob>> {
        self.by_id.get(&id)?.job.upgrade()
    }

    /// Removes a request; true if it existed.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// Requests ELFs in the answer from now on; false if that was already so.
    pub(super) fn want_inline(&mut self, id: u64) -> bool {
        self.by_id.get_mut(&id).is_some_and(|request| !std::mem::replace(&mut request.inline, true))
    }

    /// The request message; `None` if the job is no longer needed.
    pub(super) fn ask(&mut self, id: u64, inline: bool) -> Option<Ask> {
        let request = self.by_id.get_mut(&id)?;
        let job = request.job.upgrade()?;
        request.class = job.class();
        if let Some(told) = job.draws() {
            self.drawn.insert(id, Drawn { job: request.job.clone(), told });
        }
        Some(job.ask(inline || request.inline))
    }

    /// A message with the new priority, if it has changed.
    pub(super) fn class(&mut self, id: u64) -> Option<Ask> {
        let request = self.by_id.get_mut(&id)?;
        let class = request.job.upgrade()?.class();
        (std::mem::replace(&mut request.class, class) != class).then_some(Ask::Class { id, class })
    }

    /// Postpones a request.
    pub(super) fn postpone(&mut self, id: u64, until: Instant) {
        if self.by_id.contains_key(&id) {
            self.later.insert((until, id));
        }
    }

    /// A postponed request that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<u64> {
        let first = self.later.first().filter(|(until, _)| *until <= now).copied()?;
        self.later.remove(&first);
        Some(first.1)
    }

    /// Time at which the next postponed request is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(until, _)| *until)
    }

    /// Handles a lost connection: all requests are repeated on the next one, whose service knows no draws and may share
    /// the cache.
    pub(super) fn disconnected(&mut self) {
        self.by_id.values_mut().for_each(|request| request.inline = false);
        self.later.clear();
        self.drawn.clear();
    }

    /// Counts the draws of a pipeline no more; true if they were counted.
    pub(super) fn forget_draws(&mut self, id: u64) -> bool {
        self.drawn.remove(&id).is_some()
    }

    /// Draws since the last call, by request.
    pub(super) fn draws(&mut self) -> Vec<(u64, u64)> {
        let mut new = Vec::new();
        self.drawn.retain(|id, drawn| {
            // The order to forget a dropped pipeline is on its way.
            let Some(job) = drawn.job.upgrade() else { return true };
            let Some(draws) = job.draws() else { return false };
            let since = draws.saturating_sub(std::mem::replace(&mut drawn.told, draws));
            new.extend((since > 0).then_some((*id, since)));
            true
        });
        new
    }

    /// Whether there may be draws to report.
    pub(super) fn counts_draws(&self) -> bool {
        !self.drawn.is_empty()
    }
}

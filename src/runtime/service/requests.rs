//! Jobs that the service was asked for, or will be as soon as it can be reached, and that have no answer.

use super::job::ServiceJob;
use crate::wire::{Ask, Priority};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Instant;

struct Request {
    /// Given up once nobody holds it any more.
    job: Weak<dyn ServiceJob>,
    /// The answer has to have its ELFs with it.
    inline: bool,
    /// Its priority, as it was sent last.
    class: Priority,
}

/// A pipeline that this connection's service judges by its use, before its answer and after.
struct Drawn {
    job: Weak<dyn ServiceJob>,
    /// Draws that the service was told of.
    told: u64,
}

#[derive(Default)]
pub(super) struct Requests {
    by_id: BTreeMap<u64, Request>,
    /// The requests that a busy service wants to be asked later.
    later: BTreeSet<(Instant, u64)>,
    drawn: BTreeMap<u64, Drawn>,
}

impl Requests {
    pub(super) fn add(&mut self, job: &Arc<dyn ServiceJob>) {
        let request = Request { job: Arc::downgrade(job), inline: false, class: Priority::Soon };
        self.by_id.insert(job.id(), request);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.by_id.keys().copied().collect()
    }

    /// The job of a request, if it is one and somebody still wants it.
    pub(super) fn job(&self, id: u64) -> Option<Arc<dyn ServiceJob>> {
        self.by_id.get(&id)?.job.upgrade()
    }

    /// True if it was there.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// Has the ELFs sent with the answer from now on; false if that is so already.
    pub(super) fn want_inline(&mut self, id: u64) -> bool {
        self.by_id.get_mut(&id).is_some_and(|request| !std::mem::replace(&mut request.inline, true))
    }

    /// The words for the service; none if nobody wants it any more.
    pub(super) fn ask(&mut self, id: u64, inline: bool) -> Option<Ask> {
        let request = self.by_id.get_mut(&id)?;
        let job = request.job.upgrade()?;
        request.class = job.class();
        if let Some(told) = job.draws() {
            self.drawn.insert(id, Drawn { job: request.job.clone(), told });
        }
        Some(job.ask(inline || request.inline))
    }

    /// The words for another class, if it is another one.
    pub(super) fn class(&mut self, id: u64) -> Option<Ask> {
        let request = self.by_id.get_mut(&id)?;
        let class = request.job.upgrade()?.class();
        (std::mem::replace(&mut request.class, class) != class).then_some(Ask::Class { id, class })
    }

    /// Asks again at a time.
    pub(super) fn postpone(&mut self, id: u64, until: Instant) {
        if self.by_id.contains_key(&id) {
            self.later.insert((until, id));
        }
    }

    /// A postponed request whose time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<u64> {
        let first = self.later.first().filter(|(until, _)| *until <= now).copied()?;
        self.later.remove(&first);
        Some(first.1)
    }

    /// Time at which the next postponed request is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(until, _)| *until)
    }

    /// The connection is gone: all are asked again with the next one, whose service knows of no draws.
    pub(super) fn disconnected(&mut self) {
        self.later.clear();
        self.drawn.clear();
    }

    /// Draws since they were asked for last, by request.
    pub(super) fn draws(&mut self) -> Vec<(u64, u64)> {
        let mut new = Vec::new();
        self.drawn.retain(|id, drawn| {
            let Some(draws) = drawn.job.upgrade().and_then(|job| job.draws()) else { return false };
            let since = draws.saturating_sub(std::mem::replace(&mut drawn.told, draws));
            new.extend((since > 0).then_some((*id, since)));
            true
        });
        new
    }

    /// Whether there may be draws to tell of.
    pub(super) fn counts_draws(&self) -> bool {
        !self.drawn.is_empty()
    }
}

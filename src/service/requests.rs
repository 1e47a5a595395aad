//! A request from its admission to its answer.

use super::broker::{Broker, LIMITS, Request, What};
use super::events::part;
use super::jobs::{ClientId, Waiter};
use super::pipelines::Run;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_wire::{Priority, Tell};
use std::sync::Arc;

/// Largest number of jobs of all clients. Background jobs are refused at nine tenths of it.
const MAX_JOBS: usize = 100_000;
/// Largest number of pipelines that one client may have offered.
const MAX_OFFERS: usize = 16_384;
/// Time in milliseconds after which a refused client should ask again.
const RETRY_MS: u32 = 500;

impl Broker {
    /// Admits a request, or refuses it with the reason.
    pub(super) fn admit(&mut self, waiter: Waiter, class: Priority, inline: bool, what: What) -> bool {
        self.facts.status.requests += 1;
        if self.requests.contains_key(&waiter) {
            self.close(waiter.client, "an id that another request has");
            return false;
        }
        let Some(client) = self.clients.get_mut(&waiter.client) else { return false };
        let room = if class < Priority::Optimize { MAX_JOBS } else { MAX_JOBS / 10 * 9 };
        let counted = !matches!(what, What::Offer(_));
        if client.offered.len() >= MAX_OFFERS && !counted {
            // There may never be room, and until then nobody should wait for the verdict.
            self.facts.status.refused += 1;
            let error = Error::environment(format!("limit of the service: {MAX_OFFERS} pipelines of one client"));
            self.tell(waiter.client, Tell::Failed { id: waiter.id, error });
            return false;
        }
        let limit = if counted && client.requests >= LIMITS.requests {
            format!("{} requests of one client", LIMITS.requests)
        } else if self.jobs.len() >= room {
            format!("{room} jobs")
        } else {
            client.requests += u32::from(counted);
            if let What::Offer(name) = &what {
                client.offered.insert(waiter.id, *name);
            }
            let inline = inline || client.inline;
            self.requests.insert(waiter, Request { class, inline, since: self.now, counted, what });
            return true;
        };
        self.busy(waiter, limit);
        false
    }

    /// Refuses a request for now.
    pub(super) fn busy(&mut self, waiter: Waiter, limit: String) {
        self.facts.status.refused += 1;
        self.tell(waiter.client, Tell::Busy { id: waiter.id, retry_ms: RETRY_MS, limit });
    }

    /// Removes a request and returns it; the caller sends the last message about it.
    pub(super) fn end(&mut self, waiter: Waiter) -> Option<Request> {
        let request = self.requests.remove(&waiter)?;
        if let Some(client) = self.clients.get_mut(&waiter.client) {
            client.requests = client.requests.saturating_sub(u32::from(request.counted));
        }
        Some(request)
    }

    /// Removes a request that is being answered. Times of offers, which may wait for hours, and of the service's own
    /// requests are not recorded.
    pub(super) fn answered(&mut self, waiter: Waiter) -> Option<Request> {
        let request = self.end(waiter)?;
        if request.counted && waiter.client != ClientId::SERVICE {
            self.latency.answered(request.class, request.since, self.now);
        }
        Some(request)
    }

    /// Removes a request without an answer.
    pub(super) fn give_up(&mut self, waiter: Waiter) {
        if let Some(Request { what: What::Offer(name), .. }) = self.end(waiter) {
            self.offer_ended(waiter, &name);
        }
        self.leave(waiter);
    }

    /// Answers a request with an error, unless it can continue without the stage that failed.
    pub(super) fn fail(&mut self, waiter: Waiter, error: Error) {
        let run = self.requests.get_mut(&waiter).and_then(|request| request.what.run());
        if !error.may_pass() && run.is_some_and(Run::do_without) {
            return self.advance(waiter);
        }
        if self.answered(waiter).is_some() {
            if waiter.client == ClientId::SERVICE {
                return self.optimization_failed(waiter, error);
            }
            self.facts.status.failed += 1;
            self.tell(waiter.client, Tell::Failed { id: waiter.id, error });
        }
    }

    /// Gives a request the stage that it waits for; `fresh`: the stage is not in the cache yet.
    pub(super) fn deliver(&mut self, waiter: Waiter, key: Key, elf: &Arc<StageElf>, fresh: bool) {
        let Some(request) = self.requests.get_mut(&waiter) else { return };
        match &mut request.what {
            What::Stage { .. } => {
                let part = part(key, elf, fresh || request.inline);
                self.answered(waiter);
                self.tell(waiter.client, Tell::Stage { id: waiter.id, part: Some(part) });
            }
            What::Offer(_) => {}
            What::Pipeline(run) => {
                let added = run.add(key, elf.clone(), fresh || request.inline);
                self.added(waiter, added);
            }
            What::Optimize(both) => {
                let added = both.open().map_or(Ok(()), |run| run.add(key, elf.clone(), fresh));
                self.added(waiter, added);
            }
        }
    }

    fn added(&mut self, waiter: Waiter, added: Result<()>) {
        match added {
            Ok(()) => self.advance(waiter),
            Err(error) => self.fail(waiter, error),
        }
    }

    /// Requests the next stage of a pipeline, or answers if all stages are there.
    pub(super) fn advance(&mut self, waiter: Waiter) {
        let Some(request) = self.requests.get_mut(&waiter) else { return };
        let class = request.class;
        if matches!(request.what, What::Stage { .. } | What::Offer(_)) {
            return;
        }
        if let Some(next) = request.what.run().and_then(|run| run.next()) {
            return self.want(waiter, next, class);
        }
        let Some(Request { what, .. }) = self.answered(waiter) else { return };
        match what {
            What::Optimize(both) => self.both_there(waiter, &both),
            What::Pipeline(run) => {
                let parts = run.parts().map(|(key, elf, sent)| part(key, elf, sent)).collect();
                if let Some(verdict) = run.verdict().cloned() {
                    self.tell(waiter.client, Tell::Pipeline { id: waiter.id, verdict, parts });
                }
            }
            What::Stage { .. } | What::Offer(_) => {}
        }
    }
}

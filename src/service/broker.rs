//! Turns requests into answers: the state of the service, without I/O and without a clock of its own.
//!
//! ```text
//! Ask ──> request ──> stage job: look on the disk ──> have its module ──> wait for a worker ──> compile ──> keep
//!            │                       └── hit ─────────────────────────────────────────────────────┴──> answer to all
//!            └─ of a pipeline: one stage job after another (`pipelines`), then an answer
//! ```
//!
//! [`Broker::handle`] takes a [`BrokerEvent`] and returns the [`Effect`]s for its caller to carry out, so every order
//! of events can be tested and fuzzed in one thread. Background jobs are the jobs of the classes *optimize* and
//! *populate*. Invariant: each admitted request is answered once, unless its client cancels it or disconnects.

use super::events::{BrokerConfig, BrokerEvent, Effect, HostMachine};
use super::jobs::{ClientId, Jobs, Time, Waiter};
use super::journal::Journal;
use super::latency::Latencies;
use super::modules::Modules;
use super::optimize::{Both, Optimizer};
use super::pipelines::Run;
use super::poison::Poison;
use super::stages::Stages;
use dovetail_base::error::Error;
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_compile::request::ModuleDigest;
use dovetail_wire::{Ask, ClientLimits, PipelineAsk, Priority, ServiceStatus, StageAsk, Tell, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The limits of one client.
pub const LIMITS: ClientLimits = ClientLimits { requests: 4096, module_bytes: 256 << 20 };

/// The state of the service.
pub struct Broker {
    pub(super) facts: BrokerConfig,
    pub(super) jobs: Jobs,
    /// State of each job.
    pub(super) stages: Stages,
    pub(super) modules: Modules,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) requests: BTreeMap<Waiter, Request>,
    /// Results that are being stored in the cache.
    pub(super) keeping: BTreeMap<Key, Arc<StageElf>>,
    pub(super) poison: Poison,
    pub(super) journal: Journal,
    pub(super) optimizer: Optimizer,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Time,
    pub(super) machine: HostMachine,
    pub(super) hungry_until: Time,
    pub(super) latency: Latencies,
    /// Waiters to be told their place in the queue.
    pub(super) queued: Vec<Waiter>,
}

/// A client.
#[derive(Default)]
pub(super) struct Client {
    pub(super) inline: bool,
    pub(super) requests: u32,
    /// Pipelines that it has offered, by request. Kept after the answer until the client cancels, since it reports
    /// draws.
    pub(super) offered: BTreeMap<u64, Key>,
    /// Modules that the service has requested from it and not received.
    pub(super) asked: BTreeSet<ModuleDigest>,
    /// Sizes of modules that it has sent and that a job may still need.
    pub(super) sent: BTreeMap<ModuleDigest, usize>,
}

/// An unanswered request.
pub(super) struct Request {
    pub(super) class: Priority,
    pub(super) inline: bool,
    pub(super) since: Time,
    /// It counts towards the client's limit. Offers do not, since they may wait for hours.
    pub(super) counted: bool,
    pub(super) what: What,
}

pub(super) enum What {
    Stage {
        cached_only: bool,
    },
    Pipeline(Box<Run>),
    /// An offer of a linked pipeline: answered when the verdict is known.
    Offer(Key),
    /// The service's own request, to optimize a pipeline.
    Optimize(Box<Both>),
}

impl What {
    /// The stages of a pipeline that it waits for.
    pub(super) fn run(&mut self) -> Option<&mut Run> {
        match self {
            Self::Pipeline(run) => Some(run),
            Self::Optimize(both) => both.open(),
            Self::Stage { .. } | Self::Offer(_) => None,
        }
    }
}

impl Broker {
    /// A broker without clients.
    pub fn new(facts: BrokerConfig, poison: Poison, journal: Journal) -> Self {
        Self {
            facts,
            jobs: Jobs::default(),
            stages: Stages::default(),
            modules: Modules::default(),
            clients: BTreeMap::new(),
            requests: BTreeMap::new(),
            keeping: BTreeMap::new(),
            poison,
            journal,
            optimizer: Optimizer::default(),
            effects: Vec::new(),
            now: Time::ZERO,
            machine: HostMachine::default(),
            hungry_until: Time::ZERO,
            latency: Latencies::default(),
            queued: Vec::new(),
        }
    }

    /// Handles an event, and returns the resulting actions in order.
    pub fn handle(&mut self, event: BrokerEvent, now: Time) -> Vec<Effect> {
        self.now = now;
        match event {
            BrokerEvent::Joined(client, inline) => {
                self.clients.insert(client, Client { inline, ..Client::default() });
            }
            BrokerEvent::Asked(client, ask) if self.clients.contains_key(&client) => self.ask(client, *ask),
            BrokerEvent::Module(client, module) if self.clients.contains_key(&client) => {
                self.module_sent(client, module)
            }
            BrokerEvent::Asked(..) | BrokerEvent::Module(..) => {}
            BrokerEvent::Left(client) => self.client_left(client),
            BrokerEvent::Rechecked(key, there) => self.rechecked(key, there),
            BrokerEvent::Condemned(key, written) => self.poison.written(&key, written),
            BrokerEvent::Looked(key, found) => self.looked(key, found),
            BrokerEvent::Compiled(key, compiled) => self.compiled(key, compiled),
            BrokerEvent::Kept(keys, kept) => {
                self.facts.status.unkept += if kept { 0 } else { keys.len() as u64 };
                keys.iter().for_each(|key| _ = self.keeping.remove(key));
            }
            BrokerEvent::Tick(machine) => {
                self.machine = machine;
                if self.machine.not_read_because.is_some() {
                    self.do_without_disk();
                }
                self.optimizer.due = true;
                self.modules.tidy();
                self.ask_for_overdue_modules();
            }
            BrokerEvent::Compared(name, verdict) => self.compared(name, verdict),
            BrokerEvent::Drain => self.drain(),
        }
        self.optimize();
        self.dispatch();
        std::mem::take(&mut self.effects)
    }

    /// Whether nothing is under way that a service must finish before it exits.
    pub fn is_drained(&self) -> bool {
        self.keeping.is_empty() && self.jobs.running().next().is_none()
    }

    /// Whether there are no clients and no jobs.
    pub fn is_idle(&self) -> bool {
        self.is_drained() && self.clients.is_empty() && self.jobs.is_empty()
    }

    /// The state of the service.
    pub fn status(&self) -> ServiceStatus {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        ServiceStatus {
            uptime_s: self.now.as_secs(),
            compiler: Some(self.facts.compiler.clone()),
            clients: count(self.clients.len()),
            workers: count(self.facts.workers),
            busy: count(self.jobs.running().count()),
            worker_memory: self.machine.worker_memory,
            classes: self.latency.classes(&self.jobs),
            compile: self.latency.compile(),
            paused_because: self.paused_because(),
            not_kept_because: self.machine.not_kept_because.clone(),
            not_read_because: self.machine.not_read_because.clone(),
            poisoned: self.poison.len() as u64,
            ..self.facts.status.clone()
        }
    }

    fn ask(&mut self, client: ClientId, ask: Ask) {
        let waiter = |id| Waiter { client, id };
        match ask {
            Ask::Hello(_) => self.close(client, "a second hello"),
            // The session handles these.
            Ask::Module { .. } | Ask::Ping { .. } | Ask::Bye => {}
            Ask::Stage(StageAsk { id, request, class, inline, cached_only }) => {
                if self.admit(waiter(id), class, inline, What::Stage { cached_only }) {
                    self.want(waiter(id), request, class);
                }
            }
            Ask::Pipeline(ask) => self.ask_pipeline(waiter(ask.id), &ask),
            Ask::NoModule { digest } => self.module_refused(client, digest),
            Ask::Used { draws } => self.used(client, &draws),
            Ask::Class { id, class } => {
                if let Some(request) = self.requests.get_mut(&waiter(id)) {
                    request.class = class;
                    self.jobs.reclass(waiter(id), class, self.now);
                }
            }
            Ask::Cancel { id } => {
                // Also of an offer that was answered: its draws are not counted any more.
                if let Some(client) = self.clients.get_mut(&client) {
                    client.offered.remove(&id);
                }
                if self.requests.contains_key(&waiter(id)) {
                    self.facts.status.cancelled += 1;
                    self.give_up(waiter(id));
                }
            }
            Ask::Status => {
                let status = self.status();
                self.tell(client, Tell::Status(Box::new(status)));
            }
        }
    }

    fn ask_pipeline(&mut self, waiter: Waiter, ask: &PipelineAsk) {
        let why = "compiled as a whole, because its parts cannot be linked";
        let run = match Run::whole(&ask.stages, &ask.state, Verdict::Take(why.into())) {
            Ok(run) => run,
            Err(error) => return self.tell(waiter.client, Tell::Failed { id: ask.id, error }),
        };
        if ask.class < Priority::Optimize {
            if self.admit(waiter, ask.class, ask.inline, What::Pipeline(Box::new(run))) {
                self.advance(waiter);
            }
            return;
        }
        match self.offered(ask) {
            Ok(name) => {
                if self.admit(waiter, ask.class, ask.inline, What::Offer(name)) {
                    self.consider(waiter, name);
                }
            }
            Err(error) => self.tell(waiter.client, Tell::Failed { id: ask.id, error }),
        }
    }

    fn client_left(&mut self, client: ClientId) {
        if self.clients.remove(&client).is_none() {
            return;
        }
        let all = Waiter { client, id: 0 }..=Waiter { client, id: u64::MAX };
        let waiters: Vec<Waiter> = self.requests.range(all).map(|(waiter, _)| *waiter).collect();
        for waiter in waiters {
            self.facts.status.cancelled += 1;
            self.give_up(waiter);
        }
        self.jobs.forget(client);
        self.source_left(client);
    }

    fn drain(&mut self) {
        self.facts.status.draining = true;
        self.flush_journal();
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        clients.into_iter().for_each(|client| self.tell(client, Tell::Draining));
    }

    pub(super) fn tell(&mut self, client: ClientId, tell: Tell) {
        if client != ClientId::SERVICE {
            self.effects.push(Effect::Tell(client, tell));
        }
    }

    /// Closes the connection of a client that violated the protocol.
    pub(super) fn close(&mut self, client: ClientId, what: &str) {
        self.client_left(client);
        self.effects.push(Effect::Close(client, Error::malformed(format!("protocol: {what}"))));
    }
}

#[cfg(test)]
mod tests;

//! Turns requests into answers: the state of the service, without I/O and without a clock of its own.
//!
//! ```text
//! Ask ──> request ──> stage job: look in the cache ──> find the module ──> wait for a worker ──> compile ──> keep
//!            │                       └── hit ──────────────────────────────────────────────────────┴──> answer to all
//!            └─ of a pipeline: one stage job after another (`pipelines`), then an answer
//! ```
//!
//! [`Broker::handle`] takes a [`BrokerEvent`] and returns the [`Effect`]s for its caller to carry out, so every order
//! of events can be tested and fuzzed in one thread. Background jobs are those of the classes *optimize* and
//! *populate*. Invariant: each admitted request is answered once, unless its client cancels it or disconnects.

use super::jobs::{ClientId, JobState, Jobs, Time, Waiter};
use super::journal::Journal;
use super::latency::Latencies;
use super::optimize::{Both, Comparison, Optimizer};
use super::pipelines::Run;
use super::poison::Poison;
use super::records::Batch;
use super::stages::Stages;
use crate::cache::Key;
use crate::compile::StageElf;
use crate::compile::request::{CompilerId, Module, ModuleDigest, StageRequest};
use crate::error::{Death, Error, Result};
use crate::wire::{Ask, ClientLimits, PartAnswer, PipelineAsk, Priority, ServiceStatus, StageAsk, Tell, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The limits of one client.
pub const LIMITS: ClientLimits = ClientLimits { requests: 4096, module_bytes: 256 << 20 };
/// Largest number of jobs of all clients. Background jobs are refused at nine tenths of it.
const MAX_JOBS: usize = 100_000;
/// Largest number of pipelines that one client may offer.
const MAX_OFFERS: usize = 16_384;
/// Time in milliseconds after which a refused client should ask again.
const RETRY_MS: u32 = 500;
/// A single worker abandons a *populate* compile younger than this for a job that a thread waits for.
const YOUNG: Duration = Duration::from_millis(50);
/// Time after a worker ran out of memory in which no background job is started.
const HUNGER_PAUSE: Duration = Duration::from_secs(60);

/// An event for the broker.
pub enum BrokerEvent {
    /// A client has joined; the flag: every answer to it must contain the ELF.
    Joined(ClientId, bool),
    /// A client sent a message. Modules arrive as [`BrokerEvent::Module`], already hashed.
    Asked(ClientId, Box<Ask>),
    /// A client sent a module, or something that is not a module.
    Module(ClientId, Result<Module>),
    /// A client has disconnected.
    Left(ClientId),
    /// The cache's entry for a key.
    Looked(Key, Option<StageElf>),
    /// A module that was sent earlier, if it is still stored.
    Loaded(ModuleDigest, Option<Module>),
    /// The result of a compile.
    Compiled(Key, Compiled),
    /// Whether a result was stored in the cache.
    Kept(Key, bool),
    /// The verdict on a pipeline that was compiled as a whole.
    Compared(Key, Result<Verdict>),
    /// Time has passed; the state of the machine.
    Tick(HostMachine),
    /// Start no new jobs from now on.
    Drain,
}

/// Result of a compile.
pub struct Compiled {
    /// A checked ELF, or the error.
    pub result: Result<StageElf>,
    /// Processor time.
    pub cost: Duration,
    /// Number of workers that the compile killed.
    pub deaths: u32,
}

/// State of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMachine {
    /// Resident memory of all workers, in bytes.
    pub worker_memory: u64,
    /// Why background jobs should not be started.
    pub pressure: Vec<String>,
    /// Why no results are stored in the cache.
    pub not_kept_because: Option<String>,
}

/// An action that the broker's caller must carry out.
pub enum Effect {
    /// Send a message to a client.
    Tell(ClientId, Tell),
    /// Close the connection of a client that violated the protocol, with this error.
    Close(ClientId, Error),
    /// Look in the cache.
    Look(Key),
    /// Load a module that was sent earlier.
    Load(ModuleDigest),
    /// Store a module, so that it can be loaded later.
    Save(Arc<Module>),
    /// Compile.
    Compile {
        /// The job.
        key: Key,
        /// Its request.
        request: Box<StageRequest>,
        /// Its module.
        module: Arc<Module>,
        /// The job's class.
        class: Priority,
    },
    /// Abandon a compile; the job runs again later.
    Stop(Key),
    /// Store a result in the cache.
    Keep(Key, Arc<StageElf>),
    /// Compare two versions of a pipeline.
    Compare(Box<Comparison>),
    /// Write rows of the journal.
    Remember(Batch),
    /// Log a line for people.
    Log(String),
}

/// Configuration of a broker.
pub struct BrokerConfig {
    /// The compiler whose code the service serves.
    pub compiler: CompilerId,
    /// Number of compiles that run at once.
    pub workers: usize,
    /// The fixed part of every status.
    pub status: ServiceStatus,
}

/// The state of the service.
pub struct Broker {
    pub(super) facts: BrokerConfig,
    pub(super) jobs: Jobs,
    /// State of each job.
    pub(super) stages: Stages,
    pub(super) modules: BTreeMap<ModuleDigest, Weak<Module>>,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) requests: BTreeMap<Waiter, Request>,
    /// Results that are being stored in the cache.
    pub(super) keeping: BTreeMap<Key, Arc<StageElf>>,
    pub(super) poison: Poison,
    pub(super) journal: Journal,
    pub(super) optimizer: Optimizer,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Time,
    machine: HostMachine,
    hungry_until: Time,
    latency: Latencies,
    /// Waiters to be told their place in the queue.
    pub(super) queued: Vec<Waiter>,
}

/// A client.
#[derive(Default)]
pub(super) struct Client {
    inline: bool,
    requests: u32,
    /// Pipelines that it has offered, by request. Kept after the answer, since the client reports draws as long as it
    /// is connected.
    pub(super) offered: BTreeMap<u64, Key>,
    /// Modules that the service has requested from it and not received.
    pub(super) asked: BTreeSet<ModuleDigest>,
    /// Modules that it has sent and that a request still needs.
    pub(super) sent: Vec<Weak<Module>>,
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

impl Broker {
    /// A broker without clients.
    pub fn new(facts: BrokerConfig, poison: Poison, journal: Journal) -> Self {
        Self {
            facts,
            jobs: Jobs::default(),
            stages: Stages::default(),
            modules: BTreeMap::new(),
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
            BrokerEvent::Looked(key, found) => self.looked(key, found),
            BrokerEvent::Loaded(digest, module) => self.module_loaded(digest, module),
            BrokerEvent::Compiled(key, compiled) => self.compiled(key, compiled),
            BrokerEvent::Kept(key, kept) => {
                self.keeping.remove(&key);
                self.facts.status.unkept += u64::from(!kept);
            }
            BrokerEvent::Tick(machine) => {
                self.machine = machine;
                self.optimizer.due = true;
                self.modules.retain(|_, module| module.strong_count() > 0);
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
            poisoned: self.poison.len() as u64,
            ..self.facts.status.clone()
        }
    }

    /// Why no background jobs are started.
    fn paused_because(&self) -> Vec<String> {
        let mut reasons = self.machine.pressure.clone();
        if self.now < self.hungry_until {
            let left = (self.hungry_until - self.now).as_secs() + 1;
            reasons.push(format!("a worker ran out of memory: for {left} s more"));
        }
        reasons
    }

    /// Whether background jobs may be started.
    pub(super) fn is_calm(&self) -> bool {
        self.machine.pressure.is_empty() && self.now >= self.hungry_until
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

    /// Admits a request, or refuses it with the reason.
    fn admit(&mut self, waiter: Waiter, class: Priority, inline: bool, what: What) -> bool {
        self.facts.status.requests += 1;
        if self.requests.contains_key(&waiter) {
            self.close(waiter.client, "an id that another request has");
            return false;
        }
        let Some(client) = self.clients.get_mut(&waiter.client) else { return false };
        let room = if class < Priority::Optimize { MAX_JOBS } else { MAX_JOBS / 10 * 9 };
        let counted = !matches!(what, What::Offer(_));
        let limit = if counted && client.requests >= LIMITS.requests {
            format!("{} requests of one client", LIMITS.requests)
        } else if client.offered.len() >= MAX_OFFERS && !counted {
            format!("{MAX_OFFERS} pipelines that one client has offered")
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

    /// Answers a request with an error.
    pub(super) fn fail(&mut self, waiter: Waiter, error: Error) {
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
        let next = match &mut request.what {
            What::Stage { .. } | What::Offer(_) => return,
            What::Pipeline(run) => run.next(),
            What::Optimize(both) => both.open().and_then(|run| run.next()),
        };
        if let Some(next) = next {
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

    fn compiled(&mut self, key: Key, Compiled { result, cost, deaths }: Compiled) {
        let Some(stage) = self.stages.remove(&key) else { return };
        self.facts.status.worker_deaths += u64::from(deaths);
        let served = self.jobs.finish(&key, cost);
        self.latency.compiled(cost, served.iter().map(|one| one.class));
        match result {
            Ok(elf) => {
                self.facts.status.compiled += 1;
                let elf = Arc::new(elf);
                self.keeping.insert(key, elf.clone());
                self.effects.push(Effect::Keep(key, elf.clone()));
                served.iter().for_each(|one| self.deliver(one.waiter, key, &elf, true));
            }
            Err(error) => {
                if let crate::error::ErrorKind::Quarantined { death, detail } = error.kind() {
                    if *death == Death::OutOfMemory {
                        self.hungry_until = self.now + HUNGER_PAUSE;
                    }
                    let kept = self.poison.add(key, &stage.request, *death, detail, deaths);
                    let unsaid = kept.err().map(|e| format!(" ({e})")).unwrap_or_default();
                    let shader = super::poison::describe(&stage.request);
                    self.effects.push(Effect::Log(format!("poison {key}: {shader}: {error}{unsaid}")));
                }
                served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
            }
        }
    }

    fn drain(&mut self) {
        self.facts.status.draining = true;
        self.flush_journal();
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        clients.into_iter().for_each(|client| self.tell(client, Tell::Draining));
    }

    /// Gives jobs to workers while there are both.
    fn dispatch(&mut self) {
        let calm = self.is_calm();
        // If there are several workers, one is reserved for jobs that are not background jobs.
        let background_slots = self.facts.workers.saturating_sub(1).max(1);
        while !self.facts.status.draining {
            let running: Vec<_> = self.jobs.running().collect();
            if running.len() >= self.facts.workers {
                self.make_room(&running);
                break;
            }
            let background = running.iter().filter(|(_, class, _)| *class >= Priority::Optimize).count();
            let Some((key, class)) = self.jobs.next(calm && background < background_slots, self.now) else { break };
            self.begin(key, class);
        }
        for waiter in std::mem::take(&mut self.queued) {
            if self.jobs.waits_for(waiter).and_then(|key| self.jobs.state(&key)) == Some(JobState::Ready) {
                let class = self.requests.get(&waiter).map_or(Priority::Populate, |request| request.class);
                let before = Priority::ALL.into_iter().filter(|other| *other <= class);
                let before: usize = before.map(|class| self.jobs.queued(class)).sum();
                let position = u32::try_from(before.saturating_sub(1)).unwrap_or(u32::MAX);
                self.tell(waiter.client, Tell::Queued { id: waiter.id, position });
            }
        }
    }

    /// If the only worker runs a young *populate* job and a thread waits for another job, abandons the first and starts
    /// the second.
    fn make_room(&mut self, running: &[(Key, Priority, Time)]) {
        let &[(key, Priority::Populate, since)] = running else { return };
        if self.facts.workers == 1 && self.jobs.queued(Priority::Waits) > 0 && self.now.saturating_sub(since) < YOUNG {
            self.effects.push(Effect::Stop(key));
            if !self.jobs.again(key, self.now) {
                self.stages.remove(&key);
            }
            if let Some((next, class)) = self.jobs.next(false, self.now) {
                self.begin(next, class);
            }
        }
    }

    /// Gives a job to a worker.
    fn begin(&mut self, key: Key, class: Priority) {
        if let Some(since) = self.jobs.since(&key) {
            self.latency.begun(class, since, self.now);
        }
        let stage = self.stages.get(&key);
        if let Some((request, module)) = stage.and_then(|stage| Some((stage.request.clone(), stage.module.clone()?))) {
            self.effects.push(Effect::Compile { key, request: Box::new(request), module, class });
            return;
        }
        // A job becomes ready only when it has its module.
        let error = Error::bug("a job without a module");
        let served = self.jobs.finish(&key, Duration::ZERO);
        served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
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

/// A part as it is sent to a client.
pub(super) fn part(key: Key, elf: &StageElf, sent: bool) -> PartAnswer {
    PartAnswer { key, elf: sent.then(|| crate::frame::Bytes(elf.0.clone())) }
}

#[cfg(test)]
mod tests;

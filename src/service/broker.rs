//! From requests to answers: the state of the service, without I/O and without a clock of its own.
//!
//! ```text
//! Ask ──> request ──> stage job: look in the cache ──> find the module ──> wait for a worker ──> compile ──> keep
//!            │                       └── hit ──────────────────────────────────────────────────────┴──> answer to all
//!            └─ of a pipeline: a stage job after another (`pipelines`), then an answer
//! ```
//!
//! [`Broker::handle`] takes a [`BrokerEvent`] and gives the [`Effect`]s that whoever runs it has to bring about. So every order of
//! events can be tested, and fuzzed, in one thread. Invariant: each request that was admitted is answered once, or its client
//! has cancelled it or is gone.

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
/// Jobs of all clients. Those that nobody waits for are refused a tenth earlier.
const MAX_JOBS: usize = 100_000;
/// Pipelines that one client may offer.
const MAX_OFFERS: usize = 16_384;
/// Time after which a client that was refused should ask again, in milliseconds.
const RETRY_MS: u32 = 500;
/// With one worker: largest age of a compile that nobody waits for to be ended for one that somebody waits for.
const YOUNG: Duration = Duration::from_millis(50);
/// For so long after a worker ran out of memory nothing is begun that nobody waits for.
const HUNGER_PAUSE: Duration = Duration::from_secs(60);

/// An event for the broker.
pub enum BrokerEvent {
    /// A client was welcomed; whether every answer has to carry its ELF.
    Joined(ClientId, bool),
    /// It said something. Modules, which were hashed on the way, come as [`BrokerEvent::Module`].
    Asked(ClientId, Box<Ask>),
    /// It sent a module, or something that can be none.
    Module(ClientId, Result<Module>),
    /// A client is gone.
    Left(ClientId),
    /// The cache's entry under a key.
    Looked(Key, Option<StageElf>),
    /// Whether a module was sent before, and is still there.
    Loaded(ModuleDigest, Option<Module>),
    /// Result of a compile.
    Compiled(Key, Compiled),
    /// A result is in the cache, or could not be kept.
    Kept(Key, bool),
    /// Whether a pipeline compiled whole is better than linked.
    Compared(Key, Result<Verdict>),
    /// Time has passed; what there is to know of the machine.
    Tick(HostMachine),
    /// No new jobs are begun from now on.
    Drain,
}

/// Result of a compile.
pub struct Compiled {
    /// A checked ELF, or why there is none.
    pub result: Result<StageElf>,
    /// Processor time.
    pub cost: Duration,
    /// Workers that it has killed.
    pub deaths: u32,
}

/// State of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMachine {
    /// Resident memory of all workers, in bytes.
    pub worker_memory: u64,
    /// Why background jobs should wait.
    pub pressure: Vec<String>,
    /// Why nothing is put into the cache.
    pub not_kept_because: Option<String>,
}

/// An action that the broker asks for.
pub enum Effect {
    /// Say this to a client.
    Tell(ClientId, Tell),
    /// Close a client's connection, which has broken the protocol in this way.
    Close(ClientId, Error),
    /// Look in the cache.
    Look(Key),
    /// Look for a module that was sent before.
    Load(ModuleDigest),
    /// Put a module where it can be looked for.
    Save(Arc<Module>),
    /// Compile.
    Compile {
        /// The job.
        key: Key,
        /// Its request.
        request: Box<StageRequest>,
        /// Its module.
        module: Arc<Module>,
        /// Its class.
        class: Priority,
    },
    /// End a compile; the job comes again later.
    Stop(Key),
    /// Put a result into the cache.
    Keep(Key, Arc<StageElf>),
    /// Compare two versions of a pipeline.
    Compare(Box<Comparison>),
    /// Write rows of the journal.
    Remember(Batch),
    /// Tell people.
    Log(String),
}

/// Configuration of a broker.
pub struct BrokerConfig {
    /// The compiler whose code it serves.
    pub compiler: CompilerId,
    /// Compiles at once.
    pub workers: usize,
    /// The first part of every status.
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
    /// Results on their way into the cache.
    pub(super) keeping: BTreeMap<Key, Arc<StageElf>>,
    pub(super) poison: Poison,
    pub(super) journal: Journal,
    pub(super) optimizer: Optimizer,
    pub(super) effects: Vec<Effect>,
    pub(super) now: Time,
    machine: HostMachine,
    hungry_until: Time,
    latency: Latencies,
    /// The waiters who are to be told that they wait.
    pub(super) queued: Vec<Waiter>,
}

/// A client.
#[derive(Default)]
pub(super) struct Client {
    inline: bool,
    requests: u32,
    /// Pipelines that it has offered, by request; kept after the answer, since it tells of draws for as long as it is there.
    pub(super) offered: BTreeMap<u64, Key>,
    /// Modules that it was asked for and has not sent.
    pub(super) asked: BTreeSet<ModuleDigest>,
    /// Modules that it has sent, as far as a request needs them.
    pub(super) sent: Vec<Weak<Module>>,
}

/// A request without an answer.
pub(super) struct Request {
    pub(super) class: Priority,
    pub(super) inline: bool,
    pub(super) since: Time,
    /// It counts among the requests that a client may have. Offers, which may wait for hours, do not.
    pub(super) counted: bool,
    pub(super) what: What,
}

pub(super) enum What {
    Stage {
        cached_only: bool,
    },
    Pipeline(Box<Run>),
    /// It was linked: told of when its verdict is known.
    Offer(Key),
    /// The service's own.
    Optimize(Box<Both>),
}

impl Broker {
    /// A broker that nobody knows yet.
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

    /// Handles an event at this time, and returns the actions that follow from it, in order.
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

    /// Whether nothing is under way that a service that ends would have to wait for.
    pub fn is_drained(&self) -> bool {
        self.keeping.is_empty() && self.jobs.running().next().is_none()
    }

    /// Whether there is no client and no job.
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

    /// Why jobs that nobody waits for are not begun.
    fn paused_because(&self) -> Vec<String> {
        let mut reasons = self.machine.pressure.clone();
        if self.now < self.hungry_until {
            let left = (self.hungry_until - self.now).as_secs() + 1;
            reasons.push(format!("a worker ran out of memory: for {left} s more"));
        }
        reasons
    }

    /// Whether jobs that nobody waits for are begun.
    pub(super) fn is_calm(&self) -> bool {
        self.machine.pressure.is_empty() && self.now >= self.hungry_until
    }

    fn ask(&mut self, client: ClientId, ask: Ask) {
        let waiter = |id| Waiter { client, id };
        match ask {
            Ask::Hello(_) => self.close(client, "a second hello"),
            // Taken care of before they come here.
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

    /// Takes a request in, or says why not.
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

    /// A request that is refused for now.
    pub(super) fn busy(&mut self, waiter: Waiter, limit: String) {
        self.facts.status.refused += 1;
        self.tell(waiter.client, Tell::Busy { id: waiter.id, retry_ms: RETRY_MS, limit });
    }

    /// Ends a request: nothing more is said of it after what the caller says now. Gives what it was.
    pub(super) fn end(&mut self, waiter: Waiter) -> Option<Request> {
        let request = self.requests.remove(&waiter)?;
        if let Some(client) = self.clients.get_mut(&waiter.client) {
            client.requests = client.requests.saturating_sub(u32::from(request.counted));
        }
        Some(request)
    }

    /// Ends a request by an answer. How long offers, which wait for hours, and the service's own requests take says nothing.
    pub(super) fn answered(&mut self, waiter: Waiter) -> Option<Request> {
        let request = self.end(waiter)?;
        if request.counted && waiter.client != ClientId::SERVICE {
            self.latency.answered(request.class, request.since, self.now);
        }
        Some(request)
    }

    /// Ends a request that is not answered.
    pub(super) fn give_up(&mut self, waiter: Waiter) {
        if let Some(Request { what: What::Offer(name), .. }) = self.end(waiter) {
            self.offer_ended(waiter, &name);
        }
        self.leave(waiter);
    }

    /// There will be no answer but this.
    pub(super) fn fail(&mut self, waiter: Waiter, error: Error) {
        if self.answered(waiter).is_some() {
            if waiter.client == ClientId::SERVICE {
                return self.optimization_failed(waiter, error);
            }
            self.facts.status.failed += 1;
            self.tell(waiter.client, Tell::Failed { id: waiter.id, error });
        }
    }

    /// A stage that a request waits for is there; `fresh`: it is not in the cache yet.
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

    /// Asks for the next stage of a pipeline, or answers.
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

    /// Gives jobs to workers as long as there are both.
    fn dispatch(&mut self) {
        let calm = self.is_calm();
        // Of several workers one is left for what somebody waits for.
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

    /// The only worker compiles what nobody waits for, and somebody waits: if little is lost by it, the compile is ended.
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
        // Jobs are only said to be ready with a module.
        let error = Error::bug("a job without a module");
        let served = self.jobs.finish(&key, Duration::ZERO);
        served.iter().for_each(|one| self.fail(one.waiter, error.clone()));
    }

    pub(super) fn tell(&mut self, client: ClientId, tell: Tell) {
        if client != ClientId::SERVICE {
            self.effects.push(Effect::Tell(client, tell));
        }
    }

    /// Ends the connection of a client that does not keep to the protocol.
    pub(super) fn close(&mut self, client: ClientId, what: &str) {
        self.client_left(client);
        self.effects.push(Effect::Close(client, Error::malformed(format!("protocol: {what}"))));
    }
}

/// A part as it is sent.
pub(super) fn part(key: Key, elf: &StageElf, sent: bool) -> PartAnswer {
    PartAnswer { key, elf: sent.then(|| crate::frame::Bytes(elf.0.clone())) }
}

#[cfg(test)]
mod tests;

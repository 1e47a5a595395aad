//! The service: compiles for many clients in supervised worker processes, into one cache that the clients read.
//!
//! ```text
//! socket ── listen ──> connections ── session ──> messages ─┐                            ┌─> session: answers
//!                              workers, keep: what is done ─┼─> serve ── broker, jobs ──>├─> workers: compile
//!                       budget, pressure: every half second ┘   one loop, one thread     └─> keep: put, look, save
//! ```
//!
//! [`broker::Broker`] makes all decisions and has no side effects (`requests`: from admission to answer; `dispatch`:
//! jobs to workers); [`serve`] carries out its decisions. So the difficult parts (who shares a job, who comes first,
//! who is told what) are tested without a socket, and the code with side effects is short. `docs/service.md` is the
//! manual: protocol, limits, budgets, failures.

pub mod broker;
mod budget;
pub mod comparison;
mod disk;
mod dispatch;
mod door;
pub mod events;
mod histogram;
mod jobs;
pub mod journal;
mod keep;
mod latency;
mod listen;
mod locked;
mod log;
mod measure;
mod metrics;
mod modules;
mod optimize;
mod outbox;
mod pipelines;
pub mod poison;
mod pressure;
pub mod records;
mod requests;
pub mod session;
mod stages;
mod wake;
mod workers;

pub use jobs::ClientId;

use broker::Broker;
use budget::BackgroundBudget;
use disk::Disk;
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::files;
use dovetail_cache::{Cache, Key};
use dovetail_compile::StageElf;
use dovetail_compile::request::Module;
use dovetail_pipeline::toolchain::record_compiler;
use dovetail_ship::install::leave_out_withdrawn;
use dovetail_wire::{Priority, ServiceStatus};
use dovetail_worker::{Worker, WorkerConfig};
use events::{BrokerConfig, BrokerEvent, Effect, HostMachine, Lookup};
use journal::Journal;
use keep::Keeper;
use listen::Socket;
use locked::{StoredRecords, lock};
use log::Log;
use outbox::Outbox;
use poison::Poison;
use pressure::Pressure;
use records::Records;
use session::Greeting;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use wake::Message;
use workers::Workers;

/// Configuration of a service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Path of the socket, unless systemd passes one.
    pub socket: Option<PathBuf>,
    /// Directory of its cache.
    pub cache: PathBuf,
    /// Configuration of its workers; the deadline applies to background jobs.
    pub worker: WorkerConfig,
    /// Number of worker processes.
    pub workers: usize,
    /// The machine serves only this purpose: background jobs are not held back.
    pub dedicated: bool,
    /// File that metrics are written to.
    pub metrics_file: Option<PathBuf>,
    /// Exit after this time without clients and jobs.
    pub idle_exit: Option<Duration>,
    /// Time that running jobs may take once the service is told to exit.
    pub grace: Duration,
}

/// Interval at which the machine's state is read.
const TICK: Duration = Duration::from_millis(500);
/// Interval at which metrics are written.
const METRICS: Duration = Duration::from_secs(15);
/// Capacity of the loop's message queue.
const MESSAGES: usize = 256;
/// Time for the last metrics.
const LAST_METRICS: Duration = Duration::from_secs(1);
/// Bytes that a small record takes while it waits to be written.
const RECORD: usize = 4 << 10;
/// Bytes of modules kept for later requests.
const MODULES: u64 = 256 << 20;

/// The directory of a service's poison list, inside its cache directory.
pub fn poison_dir(cache: &Path) -> PathBuf {
    cache.join("service/poison")
}

/// The directory of its journal.
pub fn journal_dir(cache: &Path) -> PathBuf {
    cache.join("service/pipelines")
}

fn modules_dir(cache: &Path) -> PathBuf {
    cache.join("service/modules")
}

/// Runs a service until it is told to exit (SIGTERM, SIGINT) or has been idle for the configured time. `log` takes
/// lines for people.
///
/// # Errors
/// Environment: the socket or the cache cannot be used, or no worker starts.
pub fn serve(config: Config, log: &dyn Fn(&str)) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(disk::THREADS).build()?;
    let ended = runtime.block_on(async {
        // The socket comes first: early clients wait, and two services never both start workers.
        let socket = Socket::open(config.socket.as_deref())?;
        let (to, messages) = mpsc::channel(MESSAGES);
        let mut service = Service::start(config, &socket, to, log).await?;
        service.run(messages).await;
        service.workers.dismiss().await;
        Ok(())
    });
    // Work that still waits for a disk is not awaited.
    runtime.shutdown_background();
    ended
}

struct Service<'a> {
    config: Config,
    log: Log<'a>,
    begun: Instant,
    broker: Broker,
    workers: Workers,
    disk: Disk,
    keeper: Keeper,
    cache: Arc<Cache>,
    greeting: Arc<Greeting>,
    /// The cache's directory is being looked at.
    looking: bool,
    poisoned: StoredRecords,
    rows: records::Writer,
    outboxes: BTreeMap<ClientId, Arc<Outbox>>,
    sessions: listen::Sessions,
    budget: BackgroundBudget,
    pressure: Pressure,
    /// Keys of running background jobs, whose cost is charged to the budget.
    background: BTreeSet<Key>,
    metrics_written: Option<Instant>,
    busy_at: Instant,
    draining_since: Option<Instant>,
    to: mpsc::Sender<Message>,
}

impl<'a> Service<'a> {
    async fn start(config: Config, socket: &Socket, to: mpsc::Sender<Message>, log: &'a dyn Fn(&str)) -> Result<Self> {
        let log = Log::new(log);
        for told in leave_out_withdrawn(&config.cache)? {
            log.say(&told);
        }
        let cache = Arc::new(dovetail_pack::open(&config.cache, Default::default())?);
        let first = Worker::start(&config.worker).await?;
        let compiler = first.compiler().clone();
        // Clients compute keys with the recorded compiler.
        record_compiler(&cache, &compiler).at(|| "the cache cannot be written")?;
        let workers = budget::workers_that_fit(config.workers, config.worker.memory_mib);
        if workers < config.workers {
            log.say(&format!("{workers} of {} workers: more do not fit half of the available memory", config.workers));
        }
        let sandbox = first.sandbox().to_owned();
        log.say(&format!("listens on {}, {workers} workers ({sandbox}), {}", socket.place(), compiler.backend));
        let status = ServiceStatus {
            pid: std::process::id(),
            cache: config.cache.display().to_string(),
            sandbox,
            ..ServiceStatus::default()
        };
        let cached = Mutex::new(session::identity(&config.cache));
        let greeting = Arc::new(Greeting { compiler: compiler.clone(), cache: cached });
        let poisoned = poison::kept(&poison_dir(&config.cache));
        let poison = Poison::new(poison::list(&poisoned), compiler.clone());
        let rows = journal::records(&journal_dir(&config.cache));
        let journal = Journal::new(rows.all());
        let sessions = Arc::new(Mutex::default());
        listen::accept(socket, greeting.clone(), to.clone(), Arc::clone(&sessions))?;
        signals(&to)?;
        tick(to.clone());
        // Without systemd nobody listens to this.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            begun: Instant::now(),
            broker: Broker::new(BrokerConfig { compiler, workers, status }, poison, journal),
            workers: Workers::new(config.worker.clone(), workers, first, to.clone()),
            disk: Disk::new(to.clone()),
            keeper: Keeper::new(
                cache.clone(),
                StoredRecords::new(Records::open(&modules_dir(&config.cache), MODULES)),
                to.clone(),
            ),
            poisoned: StoredRecords::new(poisoned),
            rows: records::Writer::start(rows)?,
            cache,
            greeting,
            looking: false,
            outboxes: BTreeMap::new(),
            sessions,
            budget: BackgroundBudget::new(processors),
            pressure: Pressure::default(),
            background: BTreeSet::new(),
            metrics_written: None,
            busy_at: Instant::now(),
            draining_since: None,
            config,
            log,
            to,
        })
    }

    async fn run(&mut self, mut messages: mpsc::Receiver<Message>) {
        while let Some(message) = messages.recv().await {
            if let Some(event) = self.event(message) {
                self.handle(event);
            }
            if self.is_over() {
                break;
            }
        }
        self.log.say_dropped();
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        if let Some(write) = self.metrics() {
            // A disk that is held up does not hold up the exit.
            let _ = tokio::time::timeout(LAST_METRICS, tokio::task::spawn_blocking(write)).await;
        }
    }

    /// Converts a message to a broker event, unless it is not for the broker.
    fn event(&mut self, message: Message) -> Option<BrokerEvent> {
        match message {
            Message::Event(event) => Some(event),
            Message::Joined(client, inline, outbox) => {
                self.outboxes.insert(client, outbox);
                Some(BrokerEvent::Joined(client, inline))
            }
            Message::Gone(client, why) => {
                self.outboxes.remove(&client);
                lock(&self.sessions).remove(&client);
                if let Some(why) = why {
                    self.log.say_of_client(self.begun.elapsed(), &format!("client {}: {why}", client.0));
                }
                Some(BrokerEvent::Left(client))
            }
            Message::Compiled(key, compiled, idle) => {
                if self.background.remove(&key) {
                    self.budget.spend(compiled.cost, self.begun.elapsed());
                }
                self.workers.done(&key, idle).then_some(BrokerEvent::Compiled(key, compiled))
            }
            Message::Refused(why) => {
                self.log.say_of_client(self.begun.elapsed(), &format!("a connection was refused: {why}"));
                None
            }
            Message::Log(line) => {
                self.log.say(&line);
                None
            }
            Message::Kept(keys, result) => {
                let kept = result.is_ok();
                if let Some(said) = self.keeper.done(result) {
                    self.log.say(&said);
                }
                Some(BrokerEvent::Kept(keys, kept))
            }
            Message::CacheSeen(made) => {
                self.looking = false;
                if let Some(made) = made {
                    self.keeper.forget_notes();
                    self.log.say(&made);
                }
                None
            }
            Message::Looked(key, found) => {
                if let Lookup::Module(module) = &found {
                    self.keeper.used(&self.disk, module.digest());
                }
                Some(BrokerEvent::Looked(key, found))
            }
            Message::Flush => {
                self.keeper.time_is_over(&self.disk);
                None
            }
            Message::Tick => Some(BrokerEvent::Tick(self.look_at_machine())),
            Message::Stop => {
                self.draining_since.get_or_insert_with(Instant::now);
                self.keeper.close(&self.disk);
                Some(BrokerEvent::Drain)
            }
        }
    }

    fn handle(&mut self, event: BrokerEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.broker.handle(event, self.begun.elapsed()) {
                events.extend(self.perform(effect));
            }
        }
    }

    /// Carries out an effect. An immediate result is returned as an event.
    fn perform(&mut self, effect: Effect) -> Option<BrokerEvent> {
        match effect {
            Effect::Tell(client, tell) => {
                if let Err(why) = self.outboxes.get(&client).map_or(Ok(()), |outbox| outbox.tell(&tell)) {
                    return self.cut_off(client, &why);
                }
            }
            Effect::Close(client, why) => {
                if let Some(outbox) = self.outboxes.get(&client) {
                    // The client may be gone.
                    let _ = outbox.tell(&dovetail_wire::Tell::Refused(why.clone()));
                }
                return self.cut_off(client, &why);
            }
            Effect::Recheck(key) => {
                let files = self.poisoned.files.clone();
                let check = move || Message::Event(BrokerEvent::Rechecked(key, files.get(&key).is_some()));
                return self.disk.read(|| BrokerEvent::Rechecked(key, true), check);
            }
            Effect::Condemn(key, record) => {
                let records = self.poisoned.all.clone();
                let write = move || {
                    let written = lock(&records).put(key, &record).is_ok();
                    Some(Message::Event(BrokerEvent::Condemned(key, written)))
                };
                if !self.disk.write(RECORD, write) {
                    return Some(BrokerEvent::Condemned(key, false));
                }
            }
            Effect::Look(key, module) => {
                let (cache, modules) = (self.cache.clone(), self.keeper.modules().clone());
                let load = move || Module::new(modules.get(&Key(module?.0))?).ok();
                let look = move || {
                    let found = cache.get(&key).map(|elf| Lookup::Part(StageElf(elf)));
                    found.or_else(|| load().map(Lookup::Module)).unwrap_or(Lookup::Nothing)
                };
                let without = || BrokerEvent::Looked(key, Lookup::Nothing);
                return self.disk.read(without, move || Message::Looked(key, look()));
            }
            Effect::Save(module) => self.keeper.save(&self.disk, module),
            Effect::Compile { key, request, module, class } => {
                if class >= Priority::Optimize {
                    self.background.insert(key);
                }
                self.keeper.note(&self.disk, &module);
                self.workers.begin(key, *request, module, class);
            }
            Effect::Stop(key) => {
                self.background.remove(&key);
                self.workers.stop(&key);
            }
            Effect::Keep(key, elf) => {
                if !self.keeper.keep(&self.disk, key, elf) {
                    return Some(BrokerEvent::Kept(vec![key], false));
                }
            }
            Effect::Compare(comparison) => {
                let to = self.to.clone();
                tokio::task::spawn_blocking(move || {
                    let (name, verdict) = comparison.run();
                    // Sending fails only if the service has ended.
                    let _ = to.blocking_send(Message::Event(BrokerEvent::Compared(name, verdict)));
                });
            }
            Effect::Remember(changed) => self.rows.write(changed),
            Effect::Log(line) => self.log.say_of_client(self.begun.elapsed(), &line),
        }
        None
    }

    fn cut_off(&mut self, client: ClientId, why: &Error) -> Option<BrokerEvent> {
        self.outboxes.remove(&client)?;
        self.log.say_of_client(self.begun.elapsed(), &format!("client {}: {why}", client.0));
        if let Some(session) = lock(&self.sessions).remove(&client) {
            session.abort();
        }
        Some(BrokerEvent::Left(client))
    }

    fn look_at_machine(&mut self) -> HostMachine {
        let now = self.begun.elapsed();
        self.log.tick(now);
        let mut pressure = Vec::new();
        if !self.config.dedicated {
            pressure = self.pressure.reasons();
            pressure.extend(self.budget.reason(now));
        }
        for notice in self.cache.notices() {
            self.log.say(&notice);
        }
        if !self.looking {
            let (cache, greeting, dir) = (self.cache.clone(), self.greeting.clone(), self.config.cache.clone());
            self.looking = self.disk.look(move || Message::CacheSeen(make_anew(&dir, &cache, &greeting)));
        }
        if self.metrics_written.is_none_or(|when| when.elapsed() >= METRICS) {
            self.write_metrics();
        }
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        HostMachine {
            worker_memory: Workers::memory(),
            pressure,
            not_kept_because: self.keeper.pause(&self.disk),
            not_read_because: self.disk.unread_because(),
        }
    }

    fn write_metrics(&mut self) {
        self.metrics_written = Some(Instant::now());
        if let Some(write) = self.metrics() {
            self.disk.write(RECORD, move || write().err().map(|e| Message::Log(format!("metrics: {e}"))));
        }
    }

    /// What writes the metrics file as of now, if there is one.
    fn metrics(&self) -> Option<impl FnOnce() -> Result<()> + Send + 'static> {
        let path = self.config.metrics_file.clone()?;
        let text = metrics::text(&self.broker.status());
        Some(move || files::write_unsynced(&path, text.as_bytes()))
    }

    fn is_over(&mut self) -> bool {
        if let Some(since) = self.draining_since {
            return self.broker.is_drained() || since.elapsed() >= self.config.grace;
        }
        if !self.broker.is_idle() {
            self.busy_at = Instant::now();
        }
        self.config.idle_exit.is_some_and(|limit| self.busy_at.elapsed() >= limit)
    }
}

/// Makes the cache anew if its directory or its store was deleted, with a line that says so. Clients that come later
/// name the new directory.
fn make_anew(dir: &Path, cache: &Cache, greeting: &Greeting) -> Option<String> {
    let known = *lock(&greeting.cache);
    if cache.identity() != 0 && session::identity(dir) == known {
        return None;
    }
    cache.reopen();
    // If it cannot be written, it is tried again, and each result that is not stored is counted.
    record_compiler(cache, &greeting.compiler).ok()?;
    *lock(&greeting.cache) = session::identity(dir);
    Some(format!("the cache {} was deleted, and is made anew", dir.display()))
}

fn signals(to: &mpsc::Sender<Message>) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let (mut signal, to) = (signal(kind)?, to.clone());
        tokio::spawn(async move { while signal.recv().await.is_some() && to.send(Message::Stop).await.is_ok() {} });
    }
    Ok(())
}

fn tick(to: mpsc::Sender<Message>) {
    tokio::spawn(async move {
        while to.send(Message::Tick).await.is_ok() {
            tokio::time::sleep(TICK).await;
        }
    });
}

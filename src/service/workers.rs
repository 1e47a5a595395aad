//! The worker processes of the service.
//!
//! A job is a task: it takes an idle worker or starts one, lets it compile, retries once on a fresh worker if the first
//! dies, checks that the answer is an unlinked ELF, and sends the outcome to the loop. Workers for background jobs run
//! at the lowest priority, which a process cannot raise again, so there are two kinds of idle workers.

use super::events::Compiled;
use super::wake::{Idle, Message};
use dovetail_base::error::{Death, Error, Result};
use dovetail_base::frame::{Bytes, frame};
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_compile::request::{Module, StageRequest};
use dovetail_link::Object;
use dovetail_wire::Priority;
use dovetail_worker::protocol::{MAX_FRAME, RequestRef, Response};
use dovetail_worker::{Attempt, TRIES_IF_KILLED, Worker, WorkerConfig, attempt};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Factor on the memory limit for the retry of a shader that ran out of memory. Only one such retry runs at a time.
const MORE_MEMORY: u64 = 4;
/// Largest processor time of jobs that are not background jobs.
const WAITED_FOR: Duration = Duration::from_secs(10);
/// Priority of workers for background jobs: the lowest (nice(2)).
const LOWEST: i32 = 19;

/// The workers of a service.
pub struct Workers {
    config: Arc<WorkerConfig>,
    count: usize,
    idle: Vec<Idle>,
    running: BTreeMap<Key, JoinHandle<()>>,
    hungry: Arc<Semaphore>,
    to: mpsc::Sender<Message>,
}

impl Workers {
    /// At most `count` workers at once; `first` is already running.
    pub fn new(config: WorkerConfig, count: usize, first: Worker, to: mpsc::Sender<Message>) -> Self {
        let idle = vec![Idle { worker: first, background: false }];
        let hungry = Arc::new(Semaphore::new(1));
        Self { config: Arc::new(config), count, idle, running: BTreeMap::new(), hungry, to }
    }

    /// Starts a job; the outcome arrives as [`Message::Compiled`].
    pub fn begin(&mut self, key: Key, request: StageRequest, module: Arc<Module>, class: Priority) {
        let background = class >= Priority::Optimize;
        let found = self.idle.iter().rposition(|idle| idle.background == background);
        let worker = found.map(|at| self.idle.swap_remove(at).worker);
        let deadline = if background { self.config.deadline } else { self.config.deadline.min(WAITED_FOR) };
        let config = WorkerConfig { deadline, ..WorkerConfig::clone(&self.config) };
        let task = Task { config, background, hungry: self.hungry.clone(), deaths: 0, cost: Duration::ZERO };
        let to = self.to.clone();
        let running = tokio::spawn(async move {
            let (compiled, idle) = task.run(worker, request, module).await;
            // Sending fails only if the service has ended.
            let _ = to.send(Message::Compiled(key, compiled, idle)).await;
        });
        self.running.insert(key, running);
    }

    /// Abandons a job with its worker; there is no outcome.
    pub fn stop(&mut self, key: &Key) {
        if let Some(task) = self.running.remove(key) {
            task.abort();
        }
    }

    /// Takes the worker of a finished job. Returns false if the job was abandoned: then its outcome is ignored.
    pub fn done(&mut self, key: &Key, idle: Option<Box<Idle>>) -> bool {
        if let Some(idle) = idle.filter(|idle| self.is_fit(&idle.worker)) {
            self.idle.push(*idle);
        }
        if self.idle.len() > self.count {
            let oldest = self.idle.remove(0);
            tokio::spawn(oldest.worker.dismiss());
        }
        self.running.remove(key).is_some()
    }

    /// Whether a worker may be used again: one that holds half of its memory limit is replaced before it runs out of
    /// memory at a shader.
    fn is_fit(&self, worker: &Worker) -> bool {
        worker.resident().is_some_and(|resident| resident < (self.config.memory_mib << 20) / 2)
    }

    /// Resident memory of all workers, in bytes.
    pub fn memory() -> u64 {
        let own = std::process::id();
        let children = std::fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(resident).sum()
    }

    /// Ends all workers.
    pub async fn dismiss(self) {
        for (_, task) in self.running {
            task.abort();
        }
        for idle in self.idle {
            idle.worker.dismiss().await;
        }
    }
}

/// Resident memory of a process in bytes, from proc(5) `statm`.
fn resident(pid: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// One job.
struct Task {
    config: WorkerConfig,
    background: bool,
    hungry: Arc<Semaphore>,
    deaths: u32,
    cost: Duration,
}

impl Task {
    async fn run(
        mut self,
        worker: Option<Worker>,
        request: StageRequest,
        module: Arc<Module>,
    ) -> (Compiled, Option<Box<Idle>>) {
        let mut slot = worker;
        let result = self.compile(&mut slot, request, &module).await;
        let background = self.background;
        let idle = slot.map(|worker| Box::new(Idle { worker, background }));
        (Compiled { result, cost: self.cost, deaths: self.deaths }, idle)
    }

    async fn compile(&mut self, slot: &mut Option<Worker>, request: StageRequest, module: &Module) -> Result<StageElf> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let module = serde_bytes::Bytes::new(module.bytes());
        let bytes = frame(&RequestRef { id, module, request: &request, also: &[] }, MAX_FRAME)?;
        let mut first = self.attempt(slot, &bytes, id).await;
        for _ in 1..TRIES_IF_KILLED {
            if matches!(first, Err(Attempt::Killed)) {
                first = self.attempt(slot, &bytes, id).await;
            }
        }
        let answer = match first {
            Err(Attempt::Died(Death::OutOfMemory, _)) => {
                // Acquiring fails only if the semaphore is closed, and it never is.
                let _one = self.hungry.clone().acquire_owned().await.ok();
                self.config.memory_mib = self.config.memory_mib.saturating_mul(MORE_MEMORY);
                let answer = self.attempt(slot, &bytes, id).await;
                // The worker's memory limit is above the normal one, so it is not used again.
                slot.take();
                answer
            }
            Err(Attempt::Died(..)) => self.attempt(slot, &bytes, id).await,
            answer => answer,
        };
        let Bytes(elf) = answer.map_err(Attempt::into_error)?.result?;
        // The compiled code may have taken over the worker: only a valid unlinked ELF is stored or sent.
        match Object::parse(&elf) {
            Ok(_) => Ok(StageElf(elf)),
            Err(e) => Err(Error::quarantined(Death::Garbled, format!("its output is not an unlinked ELF: {e}"))),
        }
    }

    async fn attempt(
        &mut self,
        slot: &mut Option<Worker>,
        request: &[u8],
        id: u64,
    ) -> std::result::Result<Response, Attempt> {
        if slot.is_none() {
            *slot = Some(self.start().await.map_err(Attempt::NoWorker)?);
        }
        let begun = Instant::now();
        let answer = attempt(&self.config, self.config.deadline, slot, request, id).await;
        // The time of a dead worker is unknown.
        self.cost += slot.as_mut().and_then(Worker::spent).unwrap_or_else(|| begun.elapsed());
        self.deaths += u32::from(matches!(answer, Err(Attempt::Died(..) | Attempt::Killed)));
        answer
    }

    async fn start(&self) -> Result<Worker> {
        let worker = Worker::start(&self.config).await?;
        if let Some(pid) = worker.pid().filter(|_| self.background) {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            // If the system refuses to lower the priority, the worker still works.
            let _ = rustix::process::setpriority_process(pid, LOWEST);
        }
        Ok(worker)
    }
}

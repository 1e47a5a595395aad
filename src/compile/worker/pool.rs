//! The parent's side: a fixed number of workers, each with a task that restarts it.
//!
//! The tasks run on one thread of their own; callers on any thread submit a job and wait for its answer. The tasks
//! handle deadlines and dead processes, so a caller gets an answer or a typed error.

use super::process::{Attempt, TRIES_IF_KILLED, Worker, WorkerConfig, attempt};
use super::protocol::{MAX_FRAME, RequestRef, Response};
use dovetail_base::error::{Error, Result};
use dovetail_base::frame::{Bytes, frame};
use dovetail_base::target::Gpu;
use dovetail_compile::request::{CompilerId, Module, StageRequest};
use dovetail_compile::{Compiler, StageElf};
use std::sync::{Arc, mpsc as std_mpsc};
use tokio::sync::{Mutex, mpsc};

/// Compiles in worker processes.
pub struct WorkerPool {
    /// Present until the pool is dropped, as is the thread.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<std::thread::JoinHandle<()>>,
    id: CompilerId,
}

struct Job {
    frame: Vec<u8>,
    id: u64,
    /// GPUs to compile for.
    targets: u32,
    answer: std_mpsc::SyncSender<Result<Response>>,
}

impl WorkerPool {
    /// Starts a pool of `workers` processes. It starts the first and waits for its hello; the others start with their
    /// first job.
    ///
    /// # Errors
    /// Environment: the program cannot be run, or sends no hello. Unsupported: another protocol version.
    pub fn start(config: WorkerConfig, workers: usize) -> Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>(workers.max(1));
        let (ready, started) = std_mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("dovetail-workers".into());
        let thread = thread.spawn(move || run(config, workers, queue, &ready))?;
        let id = started.recv().map_err(|_| Error::bug("the worker thread ended before it began"))??;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), id })
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // Without a sender of jobs, each task dismisses its worker and ends.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its workers ended with it.
            let _ = thread.join();
        }
    }
}

impl Compiler for WorkerPool {
    fn id(&self) -> &CompilerId {
        &self.id
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        self.ask(module, request, &[])?.result.map(|Bytes(elf)| StageElf(elf))
    }

    fn compile_for(&self, module: &Module, request: &StageRequest, targets: &[Gpu]) -> Vec<Result<StageElf>> {
        if let [first, also @ ..] = targets
            && !also.is_empty()
            && let Ok(Response { result, also: others, .. }) = self.ask(module, &request.for_gpu(*first), also)
            && others.len() == also.len()
        {
            return std::iter::once(result).chain(others).map(|made| made.map(|Bytes(elf)| StageElf(elf))).collect();
        }
        // A GPU whose code kills the worker costs the others nothing.
        targets.iter().map(|target| self.compile(module, &request.for_gpu(*target))).collect()
    }
}

impl WorkerPool {
    /// The answer of a worker, for the request's GPU and others.
    fn ask(&self, module: &Module, request: &StageRequest, also: &[Gpu]) -> Result<Response> {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let module = serde_bytes::Bytes::new(module.bytes());
        let frame = frame(&RequestRef { id, module, request, also }, MAX_FRAME)?;
        let (answer, wait) = std_mpsc::sync_channel(1);
        let gone = || Error::bug("the worker thread is gone");
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let targets = 1 + also.len() as u32;
        jobs.blocking_send(Job { frame, id, targets, answer }).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }
}

/// The tasks' thread: runs until every sender of jobs is dropped.
fn run(
    config: WorkerConfig,
    workers: usize,
    queue: mpsc::Receiver<Job>,
    ready: &std_mpsc::SyncSender<Result<CompilerId>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            // The receiver waits for exactly this message; if it is gone, there is nobody to tell.
            let _ = ready.send(Err(e.into()));
            return;
        }
    };
    runtime.block_on(async move {
        let first = match Worker::start(&config).await {
            Ok(worker) => worker,
            Err(e) => {
                let _ = ready.send(Err(e));
                return;
            }
        };
        let _ = ready.send(Ok(first.compiler().clone()));
        let queue = Arc::new(Mutex::new(queue));
        let config = Arc::new(config);
        let mut first = Some(first);
        let tasks: Vec<_> =
            (0..workers.max(1)).map(|_| tokio::spawn(supervise(config.clone(), queue.clone(), first.take()))).collect();
        for task in tasks {
            // A task that panicked has dropped its job's sender, so the caller already has an error.
            let _ = task.await;
        }
    });
}

async fn supervise(config: Arc<WorkerConfig>, queue: Arc<Mutex<mpsc::Receiver<Job>>>, mut worker: Option<Worker>) {
    loop {
        let Some(job) = queue.lock().await.recv().await else { break };
        let deadline = config.deadline * job.targets;
        let mut result = attempt(&config, deadline, &mut worker, &job.frame, job.id).await;
        for _ in 1..TRIES_IF_KILLED {
            if matches!(result, Err(Attempt::Killed)) {
                result = attempt(&config, deadline, &mut worker, &job.frame, job.id).await;
            }
        }
        if matches!(result, Err(Attempt::Died(..))) {
            result = attempt(&config, deadline, &mut worker, &job.frame, job.id).await;
        }
        let _ = job.answer.send(result.map_err(Attempt::into_error));
    }
    if let Some(worker) = worker {
        worker.dismiss().await;
    }
}

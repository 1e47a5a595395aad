//! The parent's side: a fixed number of workers, each watched by a task that restarts it.
//!
//! The tasks live on one thread of their own; callers on any thread hand over a job and wait for its answer. Deadlines
//! and dead processes are the tasks' business, so that a caller sees an answer or a typed error and nothing else.

use super::clock;
use super::protocol::{Hello, MAX_FRAME, PROTOCOL, Request, Response};
use crate::compile::request::{CompilerId, Module, StageRequest};
use crate::compile::{Compiler, StageElf};
use crate::error::{Death, Error, Result};
use crate::frame::{self, Bytes, frame};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, mpsc};

/// How workers are run.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The program; [`super::serve`] is what it must do.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Address space that the arguments give each process beyond its program, in MiB. Only for messages.
    pub memory_mib: u64,
    /// Processes at once.
    pub workers: usize,
    /// Longest processor time of a worker for one answer. One that waits instead of computing may do so ten times as long.
    pub deadline: Duration,
}

/// How long an idle worker may take to end once its input has ended.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a worker may take to start, at least: a busy machine must not look like a broken program.
const HELLO: Duration = Duration::from_secs(60);

/// Compiles in worker processes.
pub struct WorkerPool {
    /// There until the pool is dropped, as is the thread.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<std::thread::JoinHandle<()>>,
    id: CompilerId,
}

struct Job {
    frame: Vec<u8>,
    id: u64,
    answer: std_mpsc::SyncSender<Result<StageElf>>,
}

impl WorkerPool {
    /// Starts the first worker and waits for its hello; the others start with their first job.
    ///
    /// # Errors
    /// Environment: the program cannot be run, or does not say hello. Unsupported: another protocol version.
    pub fn start(config: PoolConfig) -> Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>(config.workers.max(1));
        let (ready, started) = std_mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("dovetail-workers".into());
        let thread = thread.spawn(move || run(config, queue, &ready))?;
        let id = started.recv().map_err(|_| Error::bug("the worker thread ended before it began"))??;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), id })
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // Without jobs to come, each task dismisses its worker and ends.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, its workers ended with it.
            let _ = thread.join();
        }
    }
}

impl Compiler for WorkerPool {
    fn id(&self) -> &CompilerId {
        &self.id
    }

    fn compile(&self, module: &Module, request: &StageRequest) -> Result<StageElf> {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let module = Bytes(module.bytes().to_vec());
        let frame = frame(&Request { id, module, request: request.clone() }, MAX_FRAME)?;
        let (answer, wait) = std_mpsc::sync_channel(1);
        let gone = || Error::bug("the worker thread is gone");
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.blocking_send(Job { frame, id, answer }).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }
}

/// The thread of the tasks: until every sender of jobs is gone.
fn run(config: PoolConfig, queue: mpsc::Receiver<Job>, ready: &std_mpsc::SyncSender<Result<CompilerId>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            // The receiver waits for exactly this message; if it is gone, nobody is left to tell.
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
        let _ = ready.send(Ok(first.compiler.clone()));
        let queue = Arc::new(Mutex::new(queue));
        let config = Arc::new(config);
        let mut first = Some(first);
        let tasks: Vec<_> = (0..config.workers.max(1))
            .map(|_| tokio::spawn(supervise(config.clone(), queue.clone(), first.take())))
            .collect();
        for task in tasks {
            // A task that panicked has dropped its job's sender: that caller got its error already.
            let _ = task.await;
        }
    });
}

async fn supervise(config: Arc<PoolConfig>, queue: Arc<Mutex<mpsc::Receiver<Job>>>, mut worker: Option<Worker>) {
    loop {
        let Some(job) = queue.lock().await.recv().await else { break };
        let mut result = attempt(&config, &mut worker, &job).await;
        if result.as_ref().is_err_and(|e| matches!(e, Attempt::Died(..))) {
            result = attempt(&config, &mut worker, &job).await;
        }
        let answer = match result {
            Ok(elf) => elf.map(|Bytes(elf)| StageElf(elf)),
            Err(Attempt::Died(death, detail)) => Err(Error::quarantined(death, detail)),
            Err(Attempt::NoWorker(e)) => Err(e),
        };
        let _ = job.answer.send(answer);
    }
    if let Some(worker) = worker {
        worker.dismiss().await;
    }
}

/// Why an attempt has no answer.
enum Attempt {
    Died(Death, String),
    NoWorker(Error),
}

async fn attempt(
    config: &PoolConfig,
    slot: &mut Option<Worker>,
    job: &Job,
) -> std::result::Result<Result<Bytes>, Attempt> {
    let mut worker = match slot.take() {
        Some(worker) => worker,
        None => Worker::start(config).await.map_err(Attempt::NoWorker)?,
    };
    let outcome = clock::watch(worker.child.id(), config.deadline, worker.ask(job)).await;
    match outcome {
        Ok(Ok(response)) if response.id == job.id => {
            *slot = Some(worker);
            Ok(response.result)
        }
        Ok(Ok(response)) => {
            worker.end().await;
            Err(Attempt::Died(Death::Garbled, format!("answer {} to request {}", response.id, job.id)))
        }
        Ok(Err(e)) => Err(worker.autopsy(e, config).await),
        Err(why) => {
            worker.end().await;
            Err(Attempt::Died(Death::TimedOut, why))
        }
    }
}

struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: tokio::task::JoinHandle<String>,
    compiler: CompilerId,
}

impl Worker {
    async fn start(config: &PoolConfig) -> Result<Self> {
        let mut child = Command::new(&config.program)
            .args(&config.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Error::environment(format!("cannot start worker {}: {e}", config.program.display())))?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::bug("a worker without pipes"));
        };
        let errors = tokio::spawn(last_words(errors));
        let mut output = BufReader::new(output);
        match hello(&mut output, clock::wait_limit(config.deadline).max(HELLO)).await {
            Ok(compiler) => Ok(Self { child, input, output, errors, compiler }),
            Err(e) => {
                let _ = child.kill().await;
                let said = tokio::time::timeout(FAREWELL, errors).await.ok().and_then(|r| r.ok()).unwrap_or_default();
                Err(if said.is_empty() { e } else { e.at(format!("the worker does not start: {said}")) })
            }
        }
    }

    async fn ask(&mut self, job: &Job) -> Result<Response> {
        self.input.write_all(&job.frame).await?;
        self.input.flush().await?;
        read(&mut self.output).await
    }

    /// Kills the process and waits for it.
    async fn end(&mut self) {
        // It fails where the process has ended and been waited for.
        let _ = self.child.kill().await;
    }

    /// Lets an idle worker go, which ends when its input does.
    async fn dismiss(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        if tokio::time::timeout(FAREWELL, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }

    /// What a worker that broke its pipe or the protocol died of.
    async fn autopsy(mut self, broken: Error, config: &PoolConfig) -> Attempt {
        let status = tokio::time::timeout(FAREWELL, self.child.wait()).await;
        self.end().await;
        let said = tokio::time::timeout(FAREWELL, self.errors).await.ok().and_then(|r| r.ok()).unwrap_or_default();
        match status {
            Ok(Ok(status)) => {
                let mut detail = describe(status);
                if !said.is_empty() {
                    detail = format!("{detail}: {said}");
                }
                if ["memory allocation of", "out of memory", "bad_alloc"].iter().any(|words| said.contains(words)) {
                    let limit = config.memory_mib;
                    let detail = format!("it needs more than {limit} MiB (--worker-memory): {detail}");
                    Attempt::Died(Death::OutOfMemory, detail)
                } else {
                    Attempt::Died(Death::Crashed, detail)
                }
            }
            _ => Attempt::Died(Death::Garbled, broken.to_string()),
        }
    }
}

/// Who compiles in a worker that has just started.
async fn hello(output: &mut BufReader<ChildStdout>, limit: Duration) -> Result<CompilerId> {
    let hello = tokio::time::timeout(limit, read::<Hello>(output)).await;
    let hello = hello.map_err(|_| Error::environment(format!("worker did not say hello in {limit:?}")))??;
    if hello.protocol != PROTOCOL {
        let ours = format!("this program speaks {PROTOCOL}");
        return Err(Error::unsupported(format!("worker protocol {}", hello.protocol), ours));
    }
    Ok(hello.compiler)
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (_, Some(code)) => format!("exit code {code}"),
        _ => "unknown end".into(),
    }
}

/// The last line or so of a worker's standard error: LLVM says there why it aborts.
async fn last_words(mut errors: impl tokio::io::AsyncRead + Unpin) -> String {
    const KEPT: usize = 4096;
    let mut tail = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(n @ 1..) = errors.read(&mut chunk).await {
        tail.extend_from_slice(&chunk[..n]);
        let excess = tail.len().saturating_sub(KEPT);
        tail.drain(..excess);
    }
    let text = String::from_utf8_lossy(&tail);
    const TELLING: [&str; 4] = ["LLVM ERROR", "panicked", "memory allocation", "out of memory"];
    let telling = text.lines().find(|line| TELLING.iter().any(|words| line.contains(words)));
    telling.or_else(|| text.lines().rfind(|l| !l.trim().is_empty())).unwrap_or_default().trim().to_owned()
}

async fn read<T: serde::de::DeserializeOwned>(from: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut head = [0; frame::HEAD];
    from.read_exact(&mut head).await?;
    let length = frame::body_length(head, MAX_FRAME)?;
    // Grows with what arrives, not with what is announced.
    let mut body = Vec::new();
    let got = from.take(length as u64).read_to_end(&mut body).await?;
    if got != length {
        return Err(Error::environment("the worker's answer is cut short"));
    }
    frame::parse(&body)
}

//! The parent's side of one worker process: starts it, sends it requests, ends it, and finds its cause of death.
//!
//! The pool and the service use only [`attempt`]: it takes a request and returns the worker's answer, or why there is
//! none. A worker that has answered stays for the next request; any other is gone.

use super::clock::{self, ProcessUsage};
use super::protocol::{MAX_FRAME, PROTOCOL, Response, WorkerHello};
use dovetail_base::error::{Death, Error, Result};
use dovetail_base::frame;
use dovetail_compile::request::CompilerId;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Settings of a worker process.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The program; it must call [`super::serve()`].
    pub program: PathBuf,
    /// Its arguments, to which `--memory-mib=N` is added.
    pub args: Vec<String>,
    /// Address space in addition to its program and libraries, in MiB.
    pub memory_mib: u64,
    /// Largest processor time for one answer. A process that waits instead of computing may take ten times as long.
    pub deadline: Duration,
}

/// Time in which an idle worker must exit after its input has ended.
const FAREWELL: Duration = Duration::from_secs(2);
/// Minimum time for a worker to start: a busy machine must not look like a broken program.
const HELLO: Duration = Duration::from_secs(60);

/// The signal that a process cannot ignore.
const KILL: i32 = 9;

/// Why an attempt gave no answer.
#[derive(Debug)]
pub enum Attempt {
    /// The worker died of the request: how, and what is known about it.
    Died(Death, String),
    /// It was killed by another process, or by the system for want of memory. A worker that reaches its own limits ends in other
    /// ways, so this says nothing about the request.
    Killed,
    /// No worker could be started.
    NoWorker(Error),
}

impl Attempt {
    /// The error for the caller.
    pub fn into_error(self) -> Error {
        match self {
            Self::Died(death, detail) => Error::quarantined(death, detail),
            Self::Killed => Error::environment("worker killed by signal 9: by another process, or for want of memory"),
            Self::NoWorker(e) => e,
        }
    }
}

/// A request is tried so often if its workers are killed from outside.
pub const TRIES_IF_KILLED: u32 = 3;

/// Sends the framed request with this id to the worker in the slot, or to a new one, and waits for the answer until the
/// deadline.
///
/// # Errors
/// Why there is no answer.
pub async fn attempt(
    config: &WorkerConfig,
    deadline: Duration,
    slot: &mut Option<Worker>,
    request: &[u8],
    id: u64,
) -> std::result::Result<Response, Attempt> {
    let mut worker = match slot.take() {
        Some(worker) => worker,
        None => Worker::start(config).await.map_err(Attempt::NoWorker)?,
    };
    let outcome = clock::watch(worker.child.id(), deadline, worker.ask(request)).await;
    match outcome {
        Ok(Ok(response)) if response.id == id => {
            *slot = Some(worker);
            Ok(response)
        }
        Ok(Ok(response)) => {
            worker.end().await;
            Err(Attempt::Died(Death::Garbled, format!("answer {} to request {id}", response.id)))
        }
        Ok(Err(e)) => Err(worker.autopsy(e, config).await),
        Err(why) => {
            worker.end().await;
            Err(Attempt::Died(Death::TimedOut, why))
        }
    }
}

/// A worker process; dropping it kills it.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: tokio::task::JoinHandle<String>,
    hello: WorkerHello,
    usage: ProcessUsage,
    /// Its processor time when [`Self::spent`] was last called.
    seen: Duration,
}

/// Bytes read from a worker at a time: most answers in one read.
const CHUNK: usize = 64 << 10;

impl Worker {
    /// Starts a worker and waits for its hello. If the worker is killed before that, as the system does when memory is
    /// short, this tries once more.
    ///
    /// # Errors
    /// Environment: the program cannot be run, or sends no hello. Unsupported: another protocol version.
    pub async fn start(config: &WorkerConfig) -> Result<Self> {
        match Self::begin(config).await {
            Err((_, true)) => Self::begin(config).await,
            begun => begun,
        }
        .map_err(|(why, _)| why)
    }

    /// Starts a worker once; an error comes with whether the worker was killed.
    async fn begin(config: &WorkerConfig) -> std::result::Result<Self, (Error, bool)> {
        let failed = |why| (why, false);
        let mut child = Command::new(&config.program)
            .args(&config.args)
            .arg(format!("--memory-mib={}", config.memory_mib))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Error::environment(format!("cannot start worker {}: {e}", config.program.display())))
            .map_err(failed)?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(Error::bug("a worker without pipes")));
        };
        let errors = tokio::spawn(last_words(errors));
        let mut output = BufReader::with_capacity(CHUNK, output);
        match hello(&mut output, clock::wait_limit(config.deadline).max(HELLO)).await {
            Ok(hello) => {
                let usage = child.id().map(ProcessUsage::of).unwrap_or_default();
                let seen = usage.processor_time().unwrap_or_default();
                Ok(Self { child, input, output, errors, hello, usage, seen })
            }
            Err(e) => {
                let ended = tokio::time::timeout(FAREWELL, child.wait()).await.ok().and_then(|status| status.ok());
                let _ = child.kill().await;
                let said = tokio::time::timeout(FAREWELL, errors).await.ok().and_then(|r| r.ok()).unwrap_or_default();
                let how = ended.map(describe).into_iter().chain((!said.is_empty()).then_some(said));
                let how = how.collect::<Vec<_>>().join(": ");
                let killed = ended.is_some_and(|status| status.signal() == Some(KILL));
                Err((e.at(format!("the worker does not start ({how})")), killed))
            }
        }
    }

    /// The identity of its compiler.
    pub fn compiler(&self) -> &CompilerId {
        &self.hello.compiler
    }

    /// The rights that it has given up, and those that the system did not let it give up, in a line for people.
    pub fn sandbox(&self) -> &str {
        &self.hello.sandbox
    }

    /// Its process id; `None` after it was seen to have ended.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Processor time since the last call, or since its hello; `None` if it is unknown.
    pub fn spent(&mut self) -> Option<Duration> {
        let now = self.usage.processor_time()?;
        Some(now.saturating_sub(std::mem::replace(&mut self.seen, now)))
    }

    /// Resident memory in bytes; `None` if it is unknown.
    pub fn resident(&self) -> Option<u64> {
        self.usage.resident()
    }

    async fn ask(&mut self, request: &[u8]) -> Result<Response> {
        self.input.write_all(request).await?;
        self.input.flush().await?;
        read(&mut self.output).await
    }

    /// Kills the process and waits for it.
    async fn end(&mut self) {
        // This fails if the process has ended and been waited for.
        let _ = self.child.kill().await;
    }

    /// Ends an idle worker by closing its input.
    pub async fn dismiss(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        if tokio::time::timeout(FAREWELL, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }

    /// Finds why a worker died that broke its pipe or violated the protocol.
    async fn autopsy(mut self, broken: Error, config: &WorkerConfig) -> Attempt {
        let status = tokio::time::timeout(FAREWELL, self.child.wait()).await;
        self.end().await;
        let said = tokio::time::timeout(FAREWELL, self.errors).await.ok().and_then(|r| r.ok()).unwrap_or_default();
        match status {
            Ok(Ok(status)) if status.signal() == Some(KILL) => Attempt::Killed,
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

/// Reads the hello of a worker that has just started: the identity of its compiler.
async fn hello(output: &mut BufReader<ChildStdout>, limit: Duration) -> Result<WorkerHello> {
    let hello = tokio::time::timeout(limit, read::<WorkerHello>(output)).await;
    let hello = hello.map_err(|_| Error::environment(format!("worker did not say hello in {limit:?}")))??;
    if hello.protocol != PROTOCOL {
        let ours = format!("this program speaks {PROTOCOL}");
        return Err(Error::unsupported(format!("worker protocol {}", hello.protocol), ours));
    }
    Ok(hello)
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (_, Some(code)) => format!("exit code {code}"),
        _ => "unknown end".into(),
    }
}

/// The last line or so of a worker's standard error, where LLVM says why it aborts.
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
    // Grows with the bytes that arrive, not with the announced size.
    let mut body = Vec::new();
    let got = from.take(length as u64).read_to_end(&mut body).await?;
    if got != length {
        return Err(Error::environment("the worker's answer is cut short"));
    }
    frame::parse(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a worker that is this script, with a file as its first argument; returns the error, and how often it was
    /// started.
    fn start(script: &str) -> (String, usize) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let script = format!("echo >> $0; {script}");
        let config = WorkerConfig {
            program: "sh".into(),
            args: vec!["-c".into(), script, file.path().display().to_string()],
            memory_mib: 64,
            deadline: Duration::from_secs(1),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let failed = runtime.block_on(Worker::start(&config)).map(|_| "a worker").unwrap_err();
        (failed.to_string(), std::fs::read_to_string(file.path()).unwrap().lines().count())
    }

    #[test]
    fn a_worker_that_is_killed_before_its_hello_is_started_once_more() {
        let (why, starts) = start("[ $(wc -l < $0) = 1 ] && kill -9 $$; echo why >&2; exit 3");
        assert!(why.contains("the worker does not start (exit code 3: why)") && starts == 2, "{starts}: {why}");
        let (why, starts) = start("kill -9 $$");
        assert!(why.contains("the worker does not start (signal 9)") && starts == 2, "{starts}: {why}");
        let (why, starts) = start("exit 1");
        assert!(why.contains("the worker does not start (exit code 1)") && starts == 1, "{starts}: {why}");
    }
}

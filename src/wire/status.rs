//! The state of a service, for display and for the metrics file.

use super::message::Priority;
use dovetail_compile::request::CompilerId;
use serde::{Deserialize, Serialize};

/// State of a service at one moment. Counters are since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceStatus {
    /// Process id.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_s: u64,
    /// The compiler whose code it serves.
    pub compiler: Option<CompilerId>,
    /// Folder of its cache.
    pub cache: String,
    /// Current connections.
    pub clients: u32,
    /// Limit of concurrent worker processes.
    pub workers: u32,
    /// Number of workers that are compiling.
    pub busy: u32,
    /// Resident memory of all workers, in bytes.
    pub worker_memory: u64,
    /// Jobs by class, the most urgent first.
    pub classes: Vec<ClassStatus>,
    /// Processor time of compiles.
    pub compile: Times,
    /// Rights that workers have dropped, and those that the kernel does not support dropping.
    pub sandbox: String,
    /// Why jobs that no client waits for are held back; empty if they are not.
    pub paused_because: Vec<String>,
    /// Requests of all kinds.
    pub requests: u64,
    /// Requests answered from the cache, without those that joined such a request: they are in `coalesced`.
    pub hits: u64,
    /// Requests that joined a running job.
    pub coalesced: u64,
    /// Stages compiled.
    pub compiled: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests cancelled by their client.
    pub cancelled: u64,
    /// Requests rejected because of a limit.
    pub refused: u64,
    /// Workers that died during a job and were replaced.
    pub worker_deaths: u64,
    /// Requests answered from the poison list.
    pub poison_hits: u64,
    /// Entries in the poison list.
    pub poisoned: u64,
    /// Results that could not be stored in the cache.
    pub unkept: u64,
    /// Why nothing is being written to the cache, or what writes wait for; `None` if they succeed.
    pub not_kept_because: Option<String>,
    /// Why the cache is not being read, so that shaders are compiled which it may have; `None` if it is.
    pub not_read_because: Option<String>,
    /// Whether the service is shutting down.
    pub draining: bool,
    /// Pipelines compiled as a whole that were better.
    pub optimized: u64,
    /// Pipelines compiled as a whole that were not better.
    pub kept_linked: u64,
}

/// Jobs of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassStatus {
    /// The class.
    pub class: Priority,
    /// Jobs waiting for a worker.
    pub queued: u32,
    /// Jobs being compiled.
    pub running: u32,
    /// Requests answered by a compile.
    pub done: u64,
    /// Time from request to answer, whether from the cache, by a compile or by a failure.
    pub answer: Times,
    /// Time from when a job could be compiled until a worker took it, in the class that it then had.
    pub queue: Times,
}

/// Durations since the service's start, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// Number of measurements.
    pub count: u64,
    /// Sum of the durations.
    pub sum_us: u64,
    /// Median, at the resolution of the bounds below.
    pub p50_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Bounds, with the number of durations up to each.
    pub buckets: Vec<(u64, u64)>,
}

//! The state of a service, for people and for the file of metrics.

use super::message::Priority;
use crate::compile::request::CompilerId;
use serde::{Deserialize, Serialize};

/// A service at one moment. Counters are since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceStatus {
    /// Its process.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_s: u64,
    /// The compiler whose code it serves.
    pub compiler: Option<CompilerId>,
    /// Folder of its cache.
    pub cache: String,
    /// Connections now.
    pub clients: u32,
    /// Worker processes that may run at once.
    pub workers: u32,
    /// The number of workers that compile now.
    pub busy: u32,
    /// Resident memory of all workers, in bytes.
    pub worker_memory: u64,
    /// Jobs by class, the most urgent first.
    pub classes: Vec<ClassStatus>,
    /// Processor time of compiles.
    pub compile: Times,
    /// The rights that workers have given up, and those that this system's kernel could not take from them.
    pub sandbox: String,
    /// Why jobs that nobody waits for are not begun at the moment; empty: they are.
    pub paused_because: Vec<String>,
    /// Requests of all kinds.
    pub requests: u64,
    /// Answered from the cache, without those that joined such a request: they are in `coalesced`.
    pub hits: u64,
    /// Requests that joined a job which another one had begun.
    pub coalesced: u64,
    /// Stages compiled.
    pub compiled: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests that their client gave up.
    pub cancelled: u64,
    /// Requests that were not taken because a limit was reached.
    pub refused: u64,
    /// Workers that ended within a job, and were replaced.
    pub worker_deaths: u64,
    /// Requests answered from the list of those that kill workers.
    pub poison_hits: u64,
    /// Entries of that list.
    pub poisoned: u64,
    /// Results that the cache could not keep.
    pub unkept: u64,
    /// Why nothing is put into the cache at the moment; none: it is.
    pub not_kept_because: Option<String>,
    /// The service is about to end.
    pub draining: bool,
    /// Pipelines that were compiled whole and are better.
    pub optimized: u64,
    /// Pipelines that were compiled whole and are not.
    pub kept_linked: u64,
}

/// Jobs of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassStatus {
    /// The class.
    pub class: Priority,
    /// Jobs that wait for a worker.
    pub queued: u32,
    /// Jobs that a worker has.
    pub running: u32,
    /// Requests that a compile has answered.
    pub done: u64,
    /// Time from request to answer, whether from the cache, by a compile or by a failure.
    pub answer: Times,
    /// From when a job could be compiled until a worker had it, in the class in which it got one.
    pub queue: Times,
}

/// Durations since the service's start, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// Number of measurements.
    pub count: u64,
    /// In total.
    pub sum_us: u64,
    /// Upper bound of half of the durations; within the bounds below.
    pub p50_us: u64,
    /// For 95 %.
    pub p95_us: u64,
    /// For 99 %.
    pub p99_us: u64,
    /// Bounds, and how many took so long or less.
    pub buckets: Vec<(u64, u64)>,
}

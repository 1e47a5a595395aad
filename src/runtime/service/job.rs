//! Jobs for a service: find a part, compile a whole pipeline, compile better code.

use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_link::Object;
use dovetail_wire::{Ask, Priority, Verdict};
use std::sync::Arc;

/// The next step of a job.
pub(crate) enum JobStep {
    /// Ask the service for it.
    Ask,
    /// Resume when the job with this id completes.
    After(u64),
    /// Nothing: it is complete, or may not be compiled.
    Nothing,
}

/// Result of a job.
pub(crate) enum JobOutcome {
    /// A part, with its key if client and service compute the same keys.
    Part(Option<Key>, Arc<Object>),
    /// A verdict, with the parts of the pipeline if it is to be used.
    Pipeline(Verdict, Vec<Arc<Object>>),
    /// It failed.
    Failed(Error),
}

/// An object as seen by the context's thread.
pub(crate) trait ServiceJob: Send + Sync {
    /// Its id, also in messages.
    fn id(&self) -> u64;

    /// Advances it as far as possible without the service. Runs on the context's thread, which may read the disk.
    fn step(&self) -> JobStep;

    /// Its priority.
    fn class(&self) -> Priority;

    /// The request message; `inline` requests ELFs in the answer.
    fn ask(&self, inline: bool) -> Ask;

    /// Draws so far, for jobs that the service schedules by use; also after the answer, because it may decide again.
    fn draws(&self) -> Option<u64>;

    /// Takes the result.
    ///
    /// # Errors
    /// Malformed: the result is of another kind.
    fn take(&self, outcome: JobOutcome) -> Result<()>;
}

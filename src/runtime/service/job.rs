//! Jobs for a service: find a part, compile a pipeline whole, make one better.

use crate::cache::Key;
use crate::error::{Error, Result};
use crate::link::Object;
use crate::wire::{Ask, Priority, Verdict};
use std::sync::Arc;

/// The next step of a job.
pub(crate) enum JobStep {
    /// Ask the service for it.
    Ask,
    /// Take it up again when the job with this id has come to its end.
    After(u64),
    /// Nothing: it has come to its end, or nothing may be compiled for it.
    Nothing,
}

/// Result of a job.
pub(crate) enum JobOutcome {
    /// A part, and its key if client and service name requests alike.
    Part(Option<Key>, Arc<Object>),
    /// A pipeline, and its parts if it is to be taken.
    Pipeline(Verdict, Vec<Arc<Object>>),
    /// There will be none.
    Failed(Error),
}

/// An object as the service's thread sees it.
pub(crate) trait ServiceJob: Send + Sync {
    /// Its id, on the socket too.
    fn id(&self) -> u64;

    /// Takes it as far as it comes without the service. On the service's thread, which may look on the disk.
    fn step(&self) -> JobStep;

    /// Its priority.
    fn class(&self) -> Priority;

    /// The words for the service; `inline` has ELFs sent with the answer.
    fn ask(&self, inline: bool) -> Ask;

    /// Draws so far, of what the service judges by its use; also after its answer, as it may judge again.
    fn draws(&self) -> Option<u64>;

    /// Takes what came of it.
    ///
    /// # Errors
    /// Malformed: this is the answer to something else.
    fn take(&self, outcome: JobOutcome) -> Result<()>;
}

//! Notification of work that ends after the call that asked for it: a queue, and a file descriptor that becomes readable.
//!
//! No callbacks: they would run under our locks or the driver's. Each shader puts at most one event here, each pipeline at most
//! one for a generation. It stays until it is taken, also after its object is gone.

use crate::error::{Context as _, Error, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A shader's part is there, or has failed.
    Shader,
    /// A pipeline has a new generation, or has failed.
    Pipeline,
    /// The service can be reached, or cannot be any more.
    Service,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its subject.
    pub kind: EventKind,
    /// The `user` value that its owner gave.
    pub user: u64,
    /// The pipeline's generation; 0 for a shader; 1 for a service that can be reached, else 0.
    pub generation: u32,
    /// Why it failed or went, if it did.
    pub failure: Option<Error>,
}

#[derive(Default)]
pub(super) struct Events {
    queue: Mutex<VecDeque<Event>>,
    /// Made when it is asked for: most callers poll generations.
    signal: OnceLock<OwnedFd>,
}

impl Events {
    /// A deque is whole after any panic between its own operations.
    fn queue(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, event: Event) {
        let mut queue = self.queue();
        queue.push_back(event);
        self.raise();
    }

    /// A full counter is readable too, so a failed write changes nothing.
    fn raise(&self) {
        if let Some(signal) = self.signal.get() {
            let _ = rustix::io::write(signal, &1u64.to_ne_bytes());
        }
    }

    pub(super) fn next(&self) -> Option<Event> {
        let mut queue = self.queue();
        let event = queue.pop_front();
        if event.is_some()
            && queue.is_empty()
            && let Some(signal) = self.signal.get()
        {
            // Under the lock, so that no event comes between; one that was not raised reads as "would block".
            let _ = rustix::io::read(signal, &mut [0; 8]);
        }
        event
    }

    /// Readable while there are events.
    pub(super) fn signal(&self) -> Result<BorrowedFd<'_>> {
        let queue = self.queue();
        if self.signal.get().is_none() {
            let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(std::io::Error::from);
            let _ = self.signal.set(made.at(|| "eventfd")?);
            if !queue.is_empty() {
                self.raise();
            }
        }
        self.signal.get().map(AsFd::as_fd).ok_or_else(|| Error::bug("the eventfd was not kept"))
    }
}

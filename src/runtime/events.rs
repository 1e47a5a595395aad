//! Notification of work that completes after the call that requested it: a queue, and a file descriptor that becomes
//! readable.
//!
//! There are no callbacks, because they would run under our locks or the driver's. Each shader adds at most one event
//! when it is found or has failed, each pipeline at most one per generation. What was pending and no longer is, without a
//! result, adds one too, so that a caller who waits for events waits for nothing that never comes. An event stays until
//! it is taken, even after its object is gone. Of too many the oldest are dropped: a caller who polls generations takes
//! none.

use dovetail_base::error::{Context as _, Error, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A shader's part was found, failed, or is no longer pending because nobody will compile it.
    Shader,
    /// A pipeline has a new generation, failed, or is no longer pending because nobody will compile it.
    Pipeline,
    /// The service became reachable or unreachable.
    Service,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its subject.
    pub kind: EventKind,
    /// The `user` value of the object.
    pub user: u64,
    /// The pipeline's generation; 0 for a shader; 1 for a service that can be reached, else 0.
    pub generation: u32,
    /// The error, if it failed, became unreachable, or needs a whole-pipeline compile that nobody does.
    pub failure: Option<Error>,
    /// Whether a part is not in the cache and nobody will compile it. The part may still come if others request it.
    pub not_cached: bool,
}

/// Most events that are kept: 3 MiB.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Events {
    queue: Mutex<VecDeque<Event>>,
    /// Number of events that were not taken in time.
    dropped: AtomicU64,
    /// Created on request, because most callers poll generations.
    signal: OnceLock<OwnedFd>,
}

impl Events {
    /// A deque is consistent after any panic between its operations.
    fn queue(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, event: Event) {
        let mut queue = self.queue();
        if queue.len() == MOST {
            queue.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        queue.push_back(event);
        self.raise();
    }

    /// Number of events that were dropped because nobody had taken them.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// A full counter is readable too, so a failed write makes no difference.
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
            // Under the lock, so that no event arrives in between; a counter that was not raised returns "would block".
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_events_the_oldest_are_dropped_and_counted() {
        let events = Events::default();
        let event = |user| Event { kind: EventKind::Shader, user, generation: 0, failure: None, not_cached: false };
        (0..MOST as u64 + 3).for_each(|user| events.push(event(user)));
        assert_eq!((events.dropped(), events.next().map(|event| event.user)), (3, Some(3)));
        events.push(event(0));
        assert_eq!(events.dropped(), 3);
        assert_eq!(std::iter::from_fn(|| events.next()).count(), MOST);
    }
}

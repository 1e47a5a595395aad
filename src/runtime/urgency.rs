//! Urgency of a request: by its priority, and by who waits for it.

use crate::wire::Priority;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct Urgency {
    priority: AtomicU32,
    /// Threads that are blocked until it is there.
    waiting: AtomicU32,
}

impl Urgency {
    pub(super) fn new(priority: u32) -> Self {
        Self { priority: AtomicU32::new(priority), waiting: AtomicU32::new(0) }
    }

    pub(super) fn set(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    pub(super) fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    /// The same, unless it is higher already.
    pub(super) fn raise(&self, priority: u32) {
        self.priority.fetch_max(priority, Ordering::Relaxed);
    }

    /// Counts one waiting thread more, or less.
    pub(super) fn waits(&self, begins: bool) {
        match begins {
            true => self.waiting.fetch_add(1, Ordering::Relaxed),
            false => self.waiting.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// The priority that a service is told. A priority above 0 is as good as a thread that waits.
    pub(super) fn class(&self) -> Priority {
        match self.priority.load(Ordering::Relaxed).max(self.waiting.load(Ordering::Relaxed)) {
            0 => Priority::Soon,
            _ => Priority::Waits,
        }
    }
}

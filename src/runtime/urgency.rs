//! Urgency of a request: by its priority and by the threads that wait for it.

use dovetail_wire::Priority;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct Urgency {
    priority: AtomicU32,
    /// Number of threads blocked on it.
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

    /// Raises the priority to this one, unless it is higher already.
    pub(super) fn raise(&self, priority: u32) {
        self.priority.fetch_max(priority, Ordering::Relaxed);
    }

    /// Adds or removes a waiting thread.
    pub(super) fn waits(&self, begins: bool) {
        match begins {
            true => self.waiting.fetch_add(1, Ordering::Relaxed),
            false => self.waiting.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// The priority sent to the service. A priority above 0 counts like a waiting thread.
    pub(super) fn class(&self) -> Priority {
        match self.priority().max(self.waiting.load(Ordering::Relaxed)) {
            0 => Priority::Soon,
            _ => Priority::Waits,
        }
    }
}

//! Keeps failures of the layer away from the application.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs work next to an application's call. A panic ends it; `None` tells the caller to count it.
pub fn aside<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Locks a mutex, even a poisoned one: the tables are changed by single insertions and removals, so they are consistent
/// after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

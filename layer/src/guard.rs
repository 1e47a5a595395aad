//! Nothing that goes wrong here reaches the application.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Does something beside the application's call; what panics in it is over, and counted by whoever looks at the result.
pub fn aside<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Locks what is whole again after any panic: the tables here are changed by single insertions and removals.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

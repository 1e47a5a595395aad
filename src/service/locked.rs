//! Data behind mutexes that several threads of the service use.

use super::records::{Files, Records};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even a poisoned one: the data are consistent after a panic between any two operations.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that one thread changes at a time, while others read their files.
pub struct StoredRecords {
    /// The records.
    pub all: Arc<Mutex<Records>>,
    /// Where they are stored.
    pub files: Files,
}

impl StoredRecords {
    /// Shares records.
    pub fn new(records: Records) -> Self {
        let files = records.files().clone();
        Self { all: Arc::new(Mutex::new(records)), files }
    }
}

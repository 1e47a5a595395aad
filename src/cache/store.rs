//! Interface of a backend: stores bytes under keys.

use super::key::Key;
use dovetail_base::error::Result;

/// Stores opaque bytes under keys. Thread-safe. Except in a memory store, the bytes survive the process once `put` has
/// returned.
pub trait Store: Send + Sync {
    /// The bytes under a key.
    ///
    /// # Errors
    /// Environment: the entry is damaged or out of reach.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Stores bytes under a key, replacing old ones. A damaged store that prevents this is set aside.
    ///
    /// # Errors
    /// Environment: the backend is full or fails, or is not writable.
    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()>;

    /// Stores several entries; a store with transactions does it in one.
    ///
    /// # Errors
    /// As [`Self::put`]; some entries may be stored.
    fn put_all(&self, entries: Vec<(Key, Vec<u8>)>) -> Result<()> {
        entries.iter().try_for_each(|(key, bytes)| self.put(key, bytes))
    }

    /// A number that changes when a new store takes the place of this one, whichever process replaces it: what the old one
    /// had is gone.
    fn identity(&self) -> u64 {
        0
    }

    /// Whether a put can be expected to succeed.
    ///
    /// # Errors
    /// Environment: the reason why it cannot.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// Opens the store again at the next use: what was deleted meanwhile is gone.
    fn reopen(&self) {}

    /// Notices about handled damage since the last call, one line each.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

//! Interface of a backend: keep bytes under keys.

use super::key::Key;
use crate::error::Result;

/// Keeps opaque bytes under keys. Safe to use from many threads; a `put` that returned survives the process, but
/// for a store in memory.
pub trait Store: Send + Sync {
    /// The bytes under a key.
    ///
    /// # Errors
    /// Environment: the entry is damaged or out of reach.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Keeps bytes under a key, replacing old ones. Damage that is in the way is set aside.
    ///
    /// # Errors
    /// Environment: the backend is full or fails, or is not writable.
    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()>;

    /// Whether a put could succeed, as far as can be told without one.
    ///
    /// # Errors
    /// Environment: the reason why not.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// Notices on handled damage since the last call, one line each.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

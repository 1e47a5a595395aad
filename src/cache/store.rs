//! What a backend must do: keep bytes under keys.

use super::key::Key;
use crate::error::Result;

/// Keeps opaque bytes under keys. Safe to use from many threads; a `put` that returned survives the process.
pub trait Store: Send + Sync {
    /// The bytes under a key.
    ///
    /// # Errors
    /// Environment: what there is cannot be read, being damaged or out of reach.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Keeps bytes under a key, replacing what was there. Damage that is in the way is set aside.
    ///
    /// # Errors
    /// Environment: the backend is full or fails, or its place cannot be written.
    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()>;

    /// Whether something could be put, as far as can be told without doing it.
    ///
    /// # Errors
    /// Environment: why not.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// What was done about damage since this was asked last: a line each, for people.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

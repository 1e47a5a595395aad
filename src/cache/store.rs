//! Interface of a backend: stores bytes under keys.

use super::entry::{self, BadEntry, Payload};
use super::key::Key;
use dovetail_base::error::{Error, Result};

/// Stores opaque bytes under keys. Thread-safe. Except in a memory store, the bytes survive the process once `put` has
/// returned.
pub trait Store: Send + Sync {
    /// The bytes under a key.
    ///
    /// # Errors
    /// Environment: the entry is damaged or out of reach.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// The payload of the entry under a key. A store whose contents are not entries checks their digests itself.
    ///
    /// # Errors
    /// As [`Self::get`].
    fn get_checked(&self, key: &Key) -> Result<Option<Result<Payload, BadEntry>>> {
        Ok(self.get(key)?.map(|bytes| entry::decode(key, bytes)))
    }

    /// The valid payloads that the layers of a store have under a key, topmost first.
    fn get_each(&self, key: &Key) -> Vec<Payload> {
        self.get_checked(key).ok().flatten().and_then(Result::ok).into_iter().collect()
    }

    /// The next keys of this store's own entries after one, in order; all of a store are read by repeating this until there are
    /// none.
    ///
    /// # Errors
    /// Environment: the store is damaged. Unsupported: it does not list its keys.
    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        let _ = last;
        Err(Error::unsupported("listing of this store", "only LMDB and memory stores list their keys"))
    }

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

//! A content-addressed store: bytes under keys, checked by digest.
//!
//! [`Key`] names what is wanted, [`entry`] wraps what is kept (version first, digest last), a [`Store`] keeps it, and
//! [`Cache`] is the three together: it never hands out a byte that its digest does not vouch for. A bad entry is a miss
//! and is counted. To add a backend: a file with a `Store`, a variant of [`StoreKind`]; `tests/stores.rs` does the rest.

pub mod entry;
mod key;
mod lmdb;
mod memory;
mod sled;
mod store;

pub use key::{Key, KeyBuilder};
pub use lmdb::{DEFAULT_MAP_BYTES, LmdbStore};
pub use memory::MemoryStore;
pub use sled::SledStore;
pub use store::{Store, StoreKind};

use crate::error::Result;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store with checked entries and counters. Shared by reference between threads.
pub struct Cache {
    store: Box<dyn Store>,
    hits: AtomicU64,
    misses: AtomicU64,
    bad: AtomicU64,
}

/// What a cache has answered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheStats {
    /// Entries found and right.
    pub hits: u64,
    /// Entries not found; bad ones included.
    pub misses: u64,
    /// Entries found and broken or of another version.
    pub bad: u64,
}

impl Cache {
    /// Around a store.
    pub fn new(store: Box<dyn Store>) -> Self {
        Self { store, hits: AtomicU64::new(0), misses: AtomicU64::new(0), bad: AtomicU64::new(0) }
    }

    /// Opens the store in a directory, made if absent.
    ///
    /// # Errors
    /// Environment: the directory cannot be made or opened, or another process holds a store that allows only one.
    pub fn open(dir: &Path, kind: StoreKind) -> Result<Self> {
        Ok(Self::new(kind.open(dir)?))
    }

    /// What is kept under a key. A broken entry is a miss.
    ///
    /// # Errors
    /// Environment: the store itself fails.
    pub fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let found = self.store.get(key)?;
        let counter = match found.as_deref().map(|bytes| entry::decode(key, bytes)) {
            Some(Ok(payload)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(payload.to_vec()));
            }
            Some(Err(_)) => {
                self.bad.fetch_add(1, Ordering::Relaxed);
                &self.misses
            }
            None => &self.misses,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }

    /// Keeps bytes under a key; an entry that is there already is replaced.
    ///
    /// # Errors
    /// Environment: the store is full or fails.
    pub fn put(&self, key: &Key, payload: &[u8]) -> Result<()> {
        self.store.put(key, &entry::encode(key, payload))
    }

    /// Counters since the cache was opened.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bad: self.bad.load(Ordering::Relaxed),
        }
    }
}

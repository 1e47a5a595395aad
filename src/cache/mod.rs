//! A content-addressed store: bytes under keys, checked by digest.
//!
//! [`Key`] names what is wanted, [`entry`] wraps what is kept (version first, digest last), a [`Store`] keeps it, and
//! [`Cache`] is the three together: it never hands out a byte that its digest does not vouch for. What is damaged is a miss
//! and is counted; `docs/cache-format.md` says what damage can do. To add a backend: a file with a `Store`, a variant of [`StoreKind`]; `tests/driver/stores.rs` does the rest.

mod aside;
mod checked;
pub mod entry;
mod key;
mod kind;
mod lmdb;
mod lmdb_store;
mod memory;
mod mmap;
mod page;
mod reader;
#[cfg(feature = "sled")]
mod sled;
mod store;

pub use key::{Key, KeyBuilder};
pub use kind::StoreKind;
pub use lmdb_store::{DEFAULT_MAP_BYTES, LmdbStore};
pub use memory::MemoryStore;
pub use mmap::file_size_limit_is_an_error;
#[cfg(feature = "sled")]
pub use sled::SledStore;
pub use store::Store;

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store with checked entries and counters. Shared by reference between threads.
pub struct Cache {
    store: Box<dyn Store>,
    hits: AtomicU64,
    misses: AtomicU64,
    bad: AtomicU64,
    unkept: AtomicU64,
    /// The first that went wrong, of reading and of keeping.
    trouble: Mutex<[Option<Error>; 2]>,
}

/// What a cache has answered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheStats {
    /// Entries found and right.
    pub hits: u64,
    /// Entries not found; bad ones included.
    pub misses: u64,
    /// Entries found and broken or of another version, or not to be reached because the store is damaged.
    pub bad: u64,
    /// Results that the store could not keep.
    pub unkept: u64,
}

impl Cache {
    /// Around a store.
    pub fn new(store: Box<dyn Store>) -> Self {
        let [hits, misses, bad, unkept] = [(); 4].map(|()| AtomicU64::new(0));
        Self { store, hits, misses, bad, unkept, trouble: Mutex::default() }
    }

    /// Opens the store in a directory. It need not be there, and need not be writable, as long as nothing is put.
    ///
    /// # Errors
    /// Environment: the directory cannot be opened, or another process holds a store that allows only one.
    pub fn open(dir: &Path, kind: StoreKind) -> Result<Self> {
        Ok(Self::new(kind.open(dir)?))
    }

    /// What is kept under a key. Whatever is damaged is a miss.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let found = self.store.get(key).unwrap_or_else(|e| {
            self.remember(0, e);
            // No entry is empty, so this is a bad one.
            Some(Vec::new())
        });
        match found.map(|bytes| entry::into_payload(key, bytes)) {
            Some(Ok(payload)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Some(payload);
            }
            Some(Err(_)) => {
                self.bad.fetch_add(1, Ordering::Relaxed);
            }
            None => {}
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Keeps bytes under a key; an entry that is there already is replaced.
    ///
    /// # Errors
    /// Environment: the store is full or fails, or cannot be written.
    pub fn put(&self, key: &Key, payload: &[u8]) -> Result<()> {
        self.store.put(key, &entry::encode(key, payload))
    }

    /// Keeps a result, if it can be kept. A result is at hand either way, so a failure is counted and remembered only.
    pub fn keep(&self, key: &Key, payload: &[u8]) {
        if let Err(e) = self.put(key, payload) {
            self.unkept.fetch_add(1, Ordering::Relaxed);
            self.remember(1, e);
        }
    }

    /// Whether something could be put, as far as can be told without doing it.
    ///
    /// # Errors
    /// Environment: why not.
    pub fn check_writable(&self) -> Result<()> {
        self.store.check_writable()
    }

    fn remember(&self, which: usize, e: Error) {
        self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[which].get_or_insert(e);
    }

    /// Why the first result that was not kept was not.
    pub fn not_kept(&self) -> Option<Error> {
        self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[1].clone()
    }

    /// What people should know of damage that was met since this was asked last: a line each.
    pub fn notices(&self) -> Vec<String> {
        let unread = self.trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[0].take();
        let done = self.store.notices();
        // What was set aside need not be told of twice.
        if done.is_empty() { unread.iter().map(|e| format!("{e}: taken for missing")).collect() } else { done }
    }

    /// Counters since the cache was opened.
    pub fn stats(&self) -> CacheStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats {
            hits: count(&self.hits),
            misses: count(&self.misses),
            bad: count(&self.bad),
            unkept: count(&self.unkept),
        }
    }
}

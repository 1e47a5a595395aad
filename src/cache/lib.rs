//! A content-addressed store: bytes under keys, checked by digest.
//!
//! [`Key`] names a result, [`entry`] wraps its bytes (version first, digest last), a [`Store`] stores them, and
//! [`Cache`] combines all three: it never returns bytes that fail their digest. A damaged entry is a miss and is
//! counted; `docs/cache-format.md` lists the effects of damage. To add a backend: a file with a `Store`, a variant of
//! [`StoreKind`], and a conformance test in `tests/driver/stores.rs`.

mod aside;
mod checked;
pub mod entry;
mod gather;
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

pub use aside::refuse_open_to_all;
pub use entry::Payload;
pub use key::{Key, KeyBuilder};
pub use kind::StoreKind;
pub use lmdb_store::{DEFAULT_MAP_BYTES, LmdbStore};
pub use memory::MemoryStore;
pub use mmap::file_size_limit_is_an_error;
#[cfg(feature = "sled")]
pub use sled::SledStore;
pub use store::Store;

use dovetail_base::error::{Error, Result};
use gather::Gathered;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A store with checked entries and counters. Shared by reference between threads.
pub struct Cache {
    store: Box<dyn Store>,
    hits: AtomicU64,
    misses: AtomicU64,
    bad: AtomicU64,
    unkept: AtomicU64,
    /// The first read error and the first write error.
    trouble: Mutex<[Option<Error>; 2]>,
    /// Why the last lookup could not read the store.
    unread: Mutex<Option<Error>>,
    /// Whether there is such a reason.
    is_unread: AtomicBool,
    /// Results to be stored together, if this cache gathers them.
    gathered: Option<Mutex<Gathered>>,
    lasting: Mutex<Lasting>,
}

/// Entries that every store has to have, also one that takes the place of a damaged one.
#[derive(Default)]
struct Lasting {
    entries: BTreeMap<Key, Vec<u8>>,
    /// The store that has them.
    store: u64,
}

/// What these locks protect is consistent after a panic at any point.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheStats {
    /// Entries found and valid.
    pub hits: u64,
    /// Entries not found; bad ones included.
    pub misses: u64,
    /// Entries that are broken, of another version, or out of reach because the store is damaged.
    pub bad: u64,
    /// Results that the store could not keep.
    pub unkept: u64,
}

impl Cache {
    /// A cache on a store.
    pub fn new(store: Box<dyn Store>) -> Self {
        let [hits, misses, bad, unkept] = [(); 4].map(|()| AtomicU64::new(0));
        let (trouble, unread, is_unread, lasting) = Default::default();
        Self { store, hits, misses, bad, unkept, trouble, unread, is_unread, gathered: None, lasting }
    }

    /// Gathers the results that it is to keep for 50 ms and stores them in one transaction, for a process that compiles much.
    /// [`Self::store_due`] has to be called from time to time: results that wait are lost if the process is killed.
    #[must_use]
    pub fn gathering(mut self) -> Self {
        self.gathered = Some(Mutex::default());
        self
    }

    /// Opens the store in a directory, which need not exist or be writable as long as nothing is put. The store alone:
    /// `dovetail_pack::open` also reads the packs below it.
    ///
    /// # Errors
    /// Environment: the directory cannot be opened, or another process holds a store that allows only one.
    pub fn open(dir: &Path, kind: StoreKind) -> Result<Self> {
        Ok(Self::new(kind.open(dir)?))
    }

    /// The bytes under a key. Damage is a miss.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.get_digested(key).map(Payload::into_vec)
    }

    /// The same, with their digest.
    pub fn get_digested(&self, key: &Key) -> Option<Payload> {
        let waiting = self.gathered.as_ref().and_then(|gathered| lock(gathered).get(key).cloned());
        let found = match waiting {
            Some(waiting) => Ok(Some(entry::decode(key, waiting))),
            None => self.store.get_checked(key),
        };
        self.note_unread(found.as_ref().err());
        match found {
            Ok(Some(Ok(payload))) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Some(payload);
            }
            Ok(Some(Err(_))) => {
                self.bad.fetch_add(1, Ordering::Relaxed);
            }
            Err(e) => {
                self.remember(0, e);
                self.bad.fetch_add(1, Ordering::Relaxed);
            }
            Ok(None) => {}
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// The valid payloads that the layers of the store have under a key, topmost first. Not counted as hits.
    pub fn get_each(&self, key: &Key) -> Vec<Payload> {
        self.store.get_each(key)
    }

    /// The next keys after one, in order, of the entries in the writable store: not those of packs below it.
    ///
    /// # Errors
    /// Environment: the store is damaged. Unsupported: it does not list its keys.
    pub fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        self.store.keys_after(last)
    }

    /// Stores bytes under a key, replacing an old entry.
    ///
    /// # Errors
    /// Environment: the store is full or fails, or cannot be written.
    pub fn put(&self, key: &Key, payload: &[u8]) -> Result<()> {
        self.store.put_all(encoded(&[(*key, payload)])?)?;
        self.restore_lasting()
    }

    /// Stores bytes that describe the cache. If its store is replaced because it is damaged, the new one gets them too.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_lasting(&self, key: &Key, payload: &[u8]) -> Result<()> {
        self.put(key, payload)?;
        let mut lasting = lock(&self.lasting);
        lasting.entries.insert(*key, entry::encode(key, payload)?);
        lasting.store = self.store.identity();
        Ok(())
    }

    /// A number that changes when the store is replaced: what it had before is gone.
    pub fn identity(&self) -> u64 {
        self.store.identity()
    }

    /// Opens the store again at the next use, and forgets what another store had. For a directory that was deleted.
    pub fn reopen(&self) {
        self.store.reopen();
        *lock(&self.lasting) = Lasting::default();
    }

    fn restore_lasting(&self) -> Result<()> {
        let mut lasting = lock(&self.lasting);
        if !lasting.entries.is_empty() && lasting.store != self.store.identity() {
            self.store.put_all(lasting.entries.iter().map(|(key, bytes)| (*key, bytes.clone())).collect())?;
            lasting.store = self.store.identity();
        }
        Ok(())
    }

    /// Stores several entries, in one transaction if the store has transactions.
    ///
    /// # Errors
    /// As [`Self::put`]; some entries may be stored.
    pub fn put_all(&self, entries: &[(Key, &[u8])]) -> Result<()> {
        self.store.put_all(encoded(entries)?)?;
        self.restore_lasting()
    }

    /// Stores a result if possible. The caller has the result anyway, so a failure is only counted and recorded.
    pub fn keep(&self, key: &Key, payload: &[u8]) {
        self.keep_all(&[(*key, payload)]);
    }

    /// The same for several results, in one transaction if the store has transactions.
    pub fn keep_all(&self, entries: &[(Key, &[u8])]) {
        let encoded = match encoded(entries) {
            Ok(encoded) => encoded,
            Err(e) => return self.unkept(entries.len() as u64, e),
        };
        let Some(gathered) = &self.gathered else {
            return self.store_results(encoded);
        };
        lock(gathered).add(encoded.into_iter());
        self.store_due();
    }

    /// Stores the results gathered so far if the first of them has waited for 50 ms, or if they are many.
    pub fn store_due(&self) {
        self.store_gathered(Gathered::is_due);
    }

    /// Stores the results gathered so far.
    pub fn flush(&self) {
        self.store_gathered(|_| true);
    }

    fn store_gathered(&self, wanted: fn(&Gathered) -> bool) {
        let Some(gathered) = &self.gathered else { return };
        let mut gathered = lock(gathered);
        if wanted(&gathered) {
            // Under the lock, so that a result is always found: among those gathered or in the store.
            self.store_results(gathered.take());
        }
    }

    fn store_results(&self, entries: Vec<(Key, Vec<u8>)>) {
        let count = entries.len() as u64;
        if count > 0
            && let Err(e) = self.store.put_all(entries).and_then(|()| self.restore_lasting())
        {
            self.unkept(count, e);
        }
    }

    /// Notes that results are lost, and why.
    fn unkept(&self, count: u64, why: Error) {
        self.unkept.fetch_add(count, Ordering::Relaxed);
        self.remember(1, why);
    }

    /// Whether a put can be expected to succeed.
    ///
    /// # Errors
    /// Environment: the reason why it cannot.
    pub fn check_writable(&self) -> Result<()> {
        self.store.check_writable()
    }

    fn note_unread(&self, why: Option<&Error>) {
        // Without the lock in the usual case.
        if why.is_some() || self.is_unread.load(Ordering::Relaxed) {
            let mut unread = lock(&self.unread);
            *unread = why.cloned();
            self.is_unread.store(unread.is_some(), Ordering::Relaxed);
        }
    }

    /// Why the last lookup could not read the store; `None` if it could.
    pub fn unread(&self) -> Option<Error> {
        lock(&self.unread).clone()
    }

    fn remember(&self, which: usize, e: Error) {
        lock(&self.trouble)[which].get_or_insert(e);
    }

    /// Error of the first result that could not be stored.
    pub fn not_kept(&self) -> Option<Error> {
        lock(&self.trouble)[1].clone()
    }

    /// Notices about damage found since the last call, one line each.
    pub fn notices(&self) -> Vec<String> {
        let unread = lock(&self.trouble)[0].take();
        let done = self.store.notices();
        // A store that was set aside needs only one notice.
        if done.is_empty() { unread.iter().map(|e| format!("{e}: treated as missing")).collect() } else { done }
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

impl Drop for Cache {
    fn drop(&mut self) {
        self.flush();
    }
}

fn encoded(entries: &[(Key, &[u8])]) -> Result<Vec<(Key, Vec<u8>)>> {
    entries.iter().map(|(key, payload)| Ok((*key, entry::encode(key, payload)?))).collect()
}

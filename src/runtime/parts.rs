//! The table of parsed parts. It is split into sixteen shards, so that threads that create shaders concurrently rarely
//! wait for each other; the budget is one for all. If parts are to be exported, it also keeps their ELFs, which doubles
//! the memory.

use dovetail_cache::Key;
use dovetail_link::Object;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

const SHARDS: usize = 16;

type Shard = BTreeMap<Key, Kept>;

/// A map is consistent after any panic between its operations, so a poisoned lock can still be used.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Parts by the keys of their requests.
pub(super) struct Parts {
    shards: [RwLock<Shard>; SHARDS],
    /// ELF bytes of all shards. Changed under the lock of the shard that changes.
    bytes: AtomicUsize,
    /// Limit of `bytes`; above it, parts that no shader holds are dropped.
    budget: usize,
    /// Size at which unused parts are next searched for, if that is more than the budget.
    sweep_at: AtomicUsize,
    /// Held by the thread that searches.
    sweeper: Mutex<()>,
    keeps_elfs: bool,
}

struct Kept {
    object: Arc<Object>,
    bytes: usize,
    elf: Option<Arc<Vec<u8>>>,
}

impl Parts {
    /// Creates a table. Above `budget` bytes of ELFs, parts that no shader holds are dropped.
    pub(super) fn new(budget: usize, keeps_elfs: bool) -> Self {
        let (shards, bytes, sweep_at, sweeper) = Default::default();
        Self { shards, bytes, budget, sweep_at, sweeper, keeps_elfs }
    }

    fn shard(&self, key: &Key) -> &RwLock<Shard> {
        let [first, ..] = key.0;
        &self.shards[usize::from(first) % SHARDS]
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        read(self.shard(key)).get(key).map(|kept| kept.object.clone())
    }

    /// Adds a part; returns the existing one if there is one, so that all shaders share it.
    pub(super) fn insert(&self, key: Key, object: Object, elf: Vec<u8>) -> Arc<Object> {
        let object = {
            let mut shard = write(self.shard(&key));
            if let Some(kept) = shard.get(&key) {
                return kept.object.clone();
            }
            let kept = self.kept(object, elf);
            let object = kept.object.clone();
            self.bytes.fetch_add(kept.bytes, Ordering::Relaxed);
            shard.insert(key, kept);
            object
        };
        self.sweep();
        object
    }

    /// Adds a part that nobody has requested yet, if the budget allows it. Returns whether it is new; `None` if it does
    /// not fit.
    pub(super) fn admit(&self, key: Key, object: Object, elf: &[u8]) -> Option<bool> {
        let mut shard = write(self.shard(&key));
        if shard.contains_key(&key) {
            return Some(false);
        }
        let with = |bytes: usize| bytes.checked_add(elf.len()).filter(|bytes| *bytes <= self.budget);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).ok()?;
        shard.insert(key, self.kept(object, elf));
        Some(true)
    }

    /// Drops parts that no shader holds, if all together are over the budget.
    fn sweep(&self) {
        let limit = || self.budget.max(self.sweep_at.load(Ordering::Relaxed));
        if self.bytes() <= limit() {
            return;
        }
        let _sweeper = match self.sweeper.try_lock() {
            Ok(sweeper) => sweeper,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            // Another thread is at it.
            Err(TryLockError::WouldBlock) => return,
        };
        if self.bytes() <= limit() {
            return;
        }
        for shard in &self.shards {
            let (mut shard, mut dropped) = (write(shard), 0);
            shard.retain(|_, kept| {
                let held = Arc::strong_count(&kept.object) > 1;
                dropped += if held { 0 } else { kept.bytes };
                held
            });
            self.bytes.fetch_sub(dropped, Ordering::Relaxed);
        }
        // If shaders hold more than the budget, a sweep at each insertion would find nothing.
        self.sweep_at.store(self.bytes().saturating_mul(2), Ordering::Relaxed);
    }

    fn kept(&self, object: Object, elf: impl AsRef<[u8]> + Into<Vec<u8>>) -> Kept {
        let bytes = elf.as_ref().len();
        Kept { object: Arc::new(object), bytes, elf: self.keeps_elfs.then(|| Arc::new(elf.into())) }
    }

    /// The ELFs of all parts in memory, by key; `None` if they are not kept.
    pub(super) fn elfs(&self) -> Option<Vec<(Key, Arc<Vec<u8>>)>> {
        if !self.keeps_elfs {
            return None;
        }
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(read(shard).iter().filter_map(|(key, kept)| Some((*key, kept.elf.clone()?))));
        }
        all.sort_unstable_by_key(|(key, _)| *key);
        Some(all)
    }

    /// Total size of the ELFs whose parts are in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

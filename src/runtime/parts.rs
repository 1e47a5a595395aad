//! The table of parsed parts. It is split into sixteen shards, so that threads that create shaders concurrently rarely
//! wait for each other. If parts are to be exported, it also keeps their ELFs, which doubles the memory.

use crate::cache::Key;
use crate::link::Object;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 16;

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
    /// Limit of ELF bytes in a shard; above it, parts that no shader holds are dropped.
    budget: usize,
    keeps_elfs: bool,
}

#[derive(Default)]
struct Shard {
    parts: BTreeMap<Key, Kept>,
    bytes: usize,
    /// Size at which unused parts are next searched for.
    sweep_at: usize,
}

impl Shard {
    fn keep(&mut self, key: Key, kept: Kept) {
        self.bytes = self.bytes.saturating_add(kept.bytes);
        self.parts.insert(key, kept);
    }
}

struct Kept {
    object: Arc<Object>,
    bytes: usize,
    elf: Option<Arc<Vec<u8>>>,
}

impl Parts {
    /// Creates a table. Above `budget` bytes of ELFs, parts that no shader holds are dropped.
    pub(super) fn new(budget: usize, keeps_elfs: bool) -> Self {
        Self { shards: Default::default(), budget: budget / SHARDS, keeps_elfs }
    }

    fn shard(&self, key: &Key) -> &RwLock<Shard> {
        let [first, ..] = key.0;
        &self.shards[usize::from(first) % SHARDS]
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        read(self.shard(key)).parts.get(key).map(|kept| kept.object.clone())
    }

    /// Adds a part; returns the existing one if there is one, so that all shaders share it.
    pub(super) fn insert(&self, key: Key, object: Object, elf: Vec<u8>) -> Arc<Object> {
        let mut shard = write(self.shard(&key));
        if let Some(kept) = shard.parts.get(&key) {
            return kept.object.clone();
        }
        let kept = self.kept(object, elf);
        let object = kept.object.clone();
        shard.keep(key, kept);
        if shard.bytes > self.budget.max(shard.sweep_at) {
            shard.parts.retain(|_, kept| Arc::strong_count(&kept.object) > 1);
            shard.bytes = shard.parts.values().map(|kept| kept.bytes).sum();
            // If shaders hold more than the budget, a sweep at each insertion would find nothing.
            shard.sweep_at = shard.bytes.saturating_mul(2);
        }
        object
    }

    /// Adds a part that nobody has requested yet, if the budget allows it. Returns whether it is new; `None` if it does
    /// not fit.
    pub(super) fn admit(&self, key: Key, object: Object, elf: &[u8]) -> Option<bool> {
        let mut shard = write(self.shard(&key));
        if shard.parts.contains_key(&key) {
            return Some(false);
        }
        if shard.bytes.saturating_add(elf.len()) > self.budget {
            return None;
        }
        shard.keep(key, self.kept(object, elf));
        Some(true)
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
            all.extend(read(shard).parts.iter().filter_map(|(key, kept)| Some((*key, kept.elf.clone()?))));
        }
        all.sort_unstable_by_key(|(key, _)| *key);
        Some(all)
    }

    /// Total size of the ELFs whose parts are in memory.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).bytes).sum()
    }
}

//! The table of parts that were read before. It is sixteen tables, so that threads which make shaders at the same time rarely
//! wait for each other. Where they are to be exported it keeps their ELFs too, which takes as much memory again.

use crate::cache::Key;
use crate::link::Object;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 16;

/// A map is whole after any panic between its own operations, so a poisoned lock is still good.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Parts by the keys of their requests.
pub(super) struct Parts {
    shards: [RwLock<Shard>; SHARDS],
    /// Bytes of ELFs in a shard past which those that no shader holds are dropped.
    budget: usize,
    keeps_elfs: bool,
}

#[derive(Default)]
struct Shard {
    parts: BTreeMap<Key, Kept>,
    bytes: usize,
    /// Size at which it is next asked which parts nobody holds.
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
    /// Past `budget` bytes of ELFs, parts that no shader holds are dropped.
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

    /// Keeps a part; gives the one that is there already, so that all shaders share one.
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
            // Where shaders hold more than the budget, sweeping at each insertion would find nothing.
            shard.sweep_at = shard.bytes.saturating_mul(2);
        }
        object
    }

    /// Keeps a part that nobody has asked for yet, if the budget has room for it: whether it was not there already; none where
    /// there is no room.
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

    /// The ELFs of all parts that are in memory, by key; none if they are not kept.
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

    /// Bytes of the ELFs whose parts are in memory.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).bytes).sum()
    }
}

//! The table of parts that were read before. It is sixteen tables, so that threads which make shaders at the same time rarely
//! wait for each other.

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
}

#[derive(Default)]
struct Shard {
    parts: BTreeMap<Key, Kept>,
    bytes: usize,
    /// Size at which it is next asked which parts nobody holds.
    sweep_at: usize,
}

struct Kept {
    object: Arc<Object>,
    bytes: usize,
}

impl Parts {
    /// Past `budget` bytes of ELFs, parts that no shader holds are dropped.
    pub(super) fn new(budget: usize) -> Self {
        Self { shards: Default::default(), budget: budget / SHARDS }
    }

    fn shard(&self, key: &Key) -> &RwLock<Shard> {
        let [first, ..] = key.0;
        &self.shards[usize::from(first) % SHARDS]
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        read(self.shard(key)).parts.get(key).map(|kept| kept.object.clone())
    }

    /// Keeps a part; gives the one that is there already, so that all shaders share one.
    pub(super) fn insert(&self, key: Key, object: Object, bytes: usize) -> Arc<Object> {
        let mut shard = write(self.shard(&key));
        if let Some(kept) = shard.parts.get(&key) {
            return kept.object.clone();
        }
        let object = Arc::new(object);
        shard.parts.insert(key, Kept { object: object.clone(), bytes });
        shard.bytes = shard.bytes.saturating_add(bytes);
        if shard.bytes > self.budget.max(shard.sweep_at) {
            shard.parts.retain(|_, kept| Arc::strong_count(&kept.object) > 1);
            shard.bytes = shard.parts.values().map(|kept| kept.bytes).sum();
            // Where shaders hold more than the budget, sweeping at each insertion would find nothing.
            shard.sweep_at = shard.bytes.saturating_mul(2);
        }
        object
    }

    /// Bytes of the ELFs whose parts are in memory.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).bytes).sum()
    }
}

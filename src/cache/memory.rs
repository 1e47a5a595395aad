//! A store that lives as long as the process.

use super::key::Key;
use super::store::Store;
use dovetail_base::error::Result;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

/// Store in memory only.
#[derive(Default)]
pub struct MemoryStore(RwLock<BTreeMap<Key, Vec<u8>>>);

impl Store for MemoryStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        // A map is consistent after any panic between its operations, so a poisoned lock can still be used.
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let after = last.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(entries.range((after, Bound::Unbounded)).map(|(key, _)| *key).take(64).collect())
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(*key, bytes.to_vec());
        Ok(())
    }
}

//! Results that wait to be stored in one transaction, because a transaction costs as much as a short compile.

use super::key::Key;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time after which results are stored.
const WAIT: Duration = Duration::from_millis(50);
/// Bytes after which they are stored at once.
const MOST_BYTES: usize = 4 << 20;

/// Encoded entries that are not stored yet.
#[derive(Default)]
pub(super) struct Gathered {
    entries: BTreeMap<Key, Vec<u8>>,
    bytes: usize,
    since: Option<Instant>,
}

impl Gathered {
    pub(super) fn get(&self, key: &Key) -> Option<&Vec<u8>> {
        self.entries.get(key)
    }

    pub(super) fn add(&mut self, entries: impl Iterator<Item = (Key, Vec<u8>)>) {
        self.since.get_or_insert_with(Instant::now);
        for (key, bytes) in entries {
            self.bytes += bytes.len();
            self.entries.insert(key, bytes);
        }
    }

    /// Whether they have to be stored now.
    pub(super) fn is_due(&self) -> bool {
        self.bytes > MOST_BYTES || self.since.is_some_and(|since| since.elapsed() > WAIT)
    }

    /// All entries, which the caller stores.
    pub(super) fn take(&mut self) -> Vec<(Key, Vec<u8>)> {
        std::mem::take(self).entries.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, MemoryStore, Store};
    use dovetail_base::error::{Error, Result};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A store that counts transactions, and fails when told to.
    #[derive(Clone, Default)]
    struct Counting {
        store: Arc<MemoryStore>,
        transactions: Arc<AtomicUsize>,
        full: Arc<AtomicBool>,
    }

    impl Store for Counting {
        fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
            self.store.get(key)
        }

        fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
            self.store.put(key, bytes)
        }

        fn put_all(&self, entries: Vec<(Key, Vec<u8>)>) -> Result<()> {
            self.transactions.fetch_add(1, Ordering::Relaxed);
            if self.full.load(Ordering::Relaxed) {
                return Err(Error::environment("the store is full"));
            }
            entries.iter().try_for_each(|(key, bytes)| self.put(key, bytes))
        }
    }

    #[test]
    fn results_are_found_before_they_are_stored_together() {
        let (store, key) = (Counting::default(), |n| Key([n; 32]));
        let cache = Cache::new(Box::new(store.clone())).gathering();
        for n in 0..3 {
            cache.keep(&key(n), &[n]);
            assert_eq!(cache.get(&key(n)), Some(vec![n]));
        }
        assert_eq!((store.transactions.load(Ordering::Relaxed), store.get(&key(0)).unwrap()), (0, None));
        // As much as is not gathered any longer.
        cache.keep(&key(3), &vec![3; MOST_BYTES + 1]);
        assert_eq!(store.transactions.load(Ordering::Relaxed), 1);
        cache.keep(&key(4), &[4]);
        drop(cache);
        assert_eq!(store.transactions.load(Ordering::Relaxed), 2);
        let cache = Cache::new(Box::new(store));
        assert!((0..5).all(|n| cache.get(&key(n)).is_some()));
    }

    #[test]
    fn a_failed_transaction_counts_all_that_it_lost() {
        let store = Counting::default();
        store.full.store(true, Ordering::Relaxed);
        let cache = Cache::new(Box::new(store)).gathering();
        (0..3).for_each(|n| cache.keep(&Key([n; 32]), &[n]));
        assert_eq!((cache.stats().unkept, cache.not_kept()), (0, None));
        cache.flush();
        assert_eq!(cache.stats().unkept, 3);
        assert!(cache.not_kept().is_some_and(|e| e.to_string().contains("full")));
    }
}

//! What a part was first linked with, kept in the part: most parts are always linked with the same. A table costs several
//! cache misses that wait for each other; these begin with the part's own, before a link needs them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Identifies the plans that links share, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlansId(u64);

impl Default for PlansId {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A value with its key, for links that share the plans of the first one.
pub(super) struct First<K, V>(OnceLock<Entry<K, V>>);

struct Entry<K, V> {
    plans: PlansId,
    key: K,
    value: Arc<V>,
}

impl<K, V> First<K, V> {
    /// The value if these plans and this key were the first.
    pub(super) fn get(&self, plans: PlansId, is: impl FnOnce(&K) -> bool) -> Option<&V> {
        self.0.get().filter(|first| first.plans == plans && is(&first.key)).map(|first| &*first.value)
    }

    /// Keeps a value unless there is one.
    pub(super) fn keep(&self, plans: PlansId, key: impl FnOnce() -> K, value: &Arc<V>) {
        self.0.get_or_init(|| Entry { plans, key: key(), value: Arc::clone(value) });
    }
}

impl<K, V> Default for First<K, V> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

/// A copy of a part starts without any.
impl<K, V> Clone for First<K, V> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<K, V> fmt::Debug for First<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("First")
    }
}

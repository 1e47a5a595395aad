//! Values that links share: each is kept in a table, or made for one link only.

use dovetail_base::error::Result;
use dovetail_base::table::SharedTable;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies the plans that links share, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlansId(u64);

impl Default for PlansId {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A value kept in a table, or made for this link only.
pub(super) enum Held<'a, T> {
    Kept(&'a T),
    Made(Arc<T>),
}

impl<T> Held<'_, T> {
    /// Another reference to the value, valid as long as this one.
    pub(super) fn again(&self) -> Held<'_, T> {
        match self {
            Self::Kept(kept) => Held::Kept(kept),
            Self::Made(made) => Held::Kept(made),
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match self {
            Self::Kept(kept) => kept,
            Self::Made(made) => made,
        }
    }
}

/// An entry of a table, or a value that it has no room for.
pub(super) enum Shared<'a, T> {
    Kept(&'a Arc<T>),
    Made(Arc<T>),
}

impl<T> Shared<'_, T> {
    /// The entry or value.
    pub(super) fn arc(&self) -> &Arc<T> {
        match self {
            Self::Kept(kept) => kept,
            Self::Made(made) => made,
        }
    }
}

impl<'a, T> From<Shared<'a, T>> for Held<'a, T> {
    fn from(shared: Shared<'a, T>) -> Self {
        match shared {
            Shared::Kept(kept) => Self::Kept(kept),
            Shared::Made(made) => Self::Made(made),
        }
    }
}

/// Finds an entry in a table, or makes it and adds it.
pub(super) fn held<'a, K: PartialEq, V, const MOST: usize>(
    table: &'a SharedTable<K, Arc<V>, MOST>,
    hash: u64,
    is: impl Fn(&K) -> bool,
    key: impl FnOnce() -> K,
    make: impl FnOnce() -> Result<Arc<V>>,
) -> Result<Shared<'a, V>> {
    if let Some(kept) = table.find(hash, is) {
        return Ok(Shared::Kept(kept));
    }
    let kept = table.keep(hash, key(), make()?);
    Ok(kept.map_or_else(Shared::Made, Shared::Kept))
}

//! Values that links share: each is kept in a table, or made for one link only.

use crate::error::Result;
use crate::table::SharedTable;
use std::ops::Deref;
use std::sync::Arc;

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

/// Finds an entry in a table, or makes it and adds it.
pub(super) fn held<'a, K: PartialEq, V, const MOST: usize>(
    table: Option<&'a SharedTable<K, Arc<V>, MOST>>,
    hash: u64,
    is: impl Fn(&K) -> bool,
    key: impl FnOnce() -> K,
    make: impl FnOnce() -> Result<Arc<V>>,
) -> Result<Held<'a, V>> {
    if let Some(kept) = table.and_then(|table| table.find(hash, is)) {
        return Ok(Held::Kept(kept));
    }
    let made = make()?;
    let kept = table.and_then(|table| table.keep(hash, key(), made.clone()));
    Ok(kept.map_or(Held::Made(made), |kept| Held::Kept(kept)))
}

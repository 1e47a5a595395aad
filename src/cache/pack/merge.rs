//! Unites packs and caches into one pack, whose bytes depend on what they hold and not on their order.

use crate::read::Pack;
use crate::write::PackWriter;
use dovetail_base::error::Result;
use dovetail_cache::{Cache, Key, Payload};
use std::collections::VecDeque;

/// Something with results that can be read in the order of their keys.
pub trait PackSource {
    /// The next keys after one, in order; none after the last.
    ///
    /// # Errors
    /// Environment, malformed: it cannot be read.
    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>>;

    /// The payload under a key; `None` if it is lost.
    ///
    /// # Errors
    /// As [`Self::keys_after`].
    fn payload(&self, key: &Key) -> Result<Option<Payload>>;
}

/// A damaged pack is refused as a whole: it can be had again.
impl PackSource for Pack {
    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        Self::keys_after(self, last)
    }

    fn payload(&self, key: &Key) -> Result<Option<Payload>> {
        self.get(key)
    }
}

/// The entries of a cache's store, without the packs below it. A damaged entry is left out.
impl PackSource for Cache {
    fn keys_after(&self, last: Option<&Key>) -> Result<Vec<Key>> {
        Self::keys_after(self, last)
    }

    fn payload(&self, key: &Key) -> Result<Option<Payload>> {
        Ok(self.get_digested(key))
    }
}

/// Chooses what is kept of the different payloads that sources have under one key, given in the order of their digests.
pub trait Resolve {
    /// The payload to keep; `None` keeps the first and counts a difference.
    ///
    /// # Errors
    /// Why the sources cannot be united.
    fn resolve(&self, key: &Key, payloads: &[Payload]) -> Result<Option<Payload>>;

    /// Whether a payload is wanted in the pack.
    fn wants(&self, key: &Key, payload: &Payload) -> bool;
}

/// What a merge did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Keys in the pack.
    pub keys: u64,
    /// Keys of several sources.
    pub doubles: u64,
    /// Keys under which sources have different payloads, of which one was kept: a compiler that is not deterministic, or a machine
    /// that does not compute.
    pub differing: u64,
    /// The first of these keys.
    pub examples: Vec<String>,
    /// Entries that could not be read.
    pub lost: u64,
}

/// Number of differing keys that are named.
const EXAMPLES: usize = 20;

/// A source, and the keys read from it so far.
struct Cursor<'a> {
    source: &'a dyn PackSource,
    keys: VecDeque<Key>,
}

impl Cursor<'_> {
    /// Goes beyond a key.
    fn pass(&mut self, key: &Key) -> Result<()> {
        if self.keys.pop_front_if(|first| *first == *key).is_some() && self.keys.is_empty() {
            self.keys = self.source.keys_after(Some(key))?.into();
        }
        Ok(())
    }
}

/// Adds everything that the sources have to a pack, each key once; `done` is told of each.
///
/// # Errors
/// Those of the sources, of the pack, and of `resolve`.
pub fn merge(
    sources: &[&dyn PackSource],
    resolve: &dyn Resolve,
    into: &mut PackWriter,
    mut done: impl FnMut(&Key, &Payload),
) -> Result<Merged> {
    let cursor = |source: &&'_ dyn PackSource| source.keys_after(None).map(VecDeque::from);
    let keys = sources.iter().map(cursor).collect::<Result<Vec<_>>>()?;
    let mut cursors: Vec<_> = sources.iter().zip(keys).map(|(source, keys)| Cursor { source: *source, keys }).collect();
    let mut merged = Merged::default();
    while let Some(key) = cursors.iter().filter_map(|cursor| cursor.keys.front()).min().copied() {
        let having = cursors.iter_mut().filter(|cursor| cursor.keys.front() == Some(&key));
        let (mut payloads, mut having_count) = (Vec::new(), 0u64);
        for cursor in having {
            having_count += 1;
            payloads.extend(cursor.source.payload(&key)?);
            cursor.pass(&key)?;
        }
        merged.lost += having_count - payloads.len() as u64;
        merged.doubles += u64::from(payloads.len() > 1);
        payloads.sort_by_key(|payload| *payload.digest());
        payloads.dedup_by_key(|payload| *payload.digest());
        if payloads.len() > 1 {
            match resolve.resolve(&key, &payloads)? {
                Some(one) => payloads = vec![one],
                None => {
                    merged.differing += 1;
                    if merged.examples.len() < EXAMPLES {
                        merged.examples.push(key.to_string());
                    }
                }
            }
        }
        if let Some(payload) = payloads.first().filter(|payload| resolve.wants(&key, payload)) {
            into.add(&key, payload)?;
            merged.keys += 1;
            done(&key, payload);
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests;

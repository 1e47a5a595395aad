//! A small table for an object that many threads share: its first entries are found by what lies beside the object's other
//! fields, further ones in a [`SharedTable`]. A lookup there reads four places in memory that wait for each other, here one.

use crate::table::SharedTable;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Number of entries found without the table.
const NEAR: usize = 8;

/// Map from keys to at most `MOST` values and [`NEAR`] more. Entries are handed out by reference and never move.
pub struct NearTable<K, V, const MOST: usize> {
    near: [Place<K, V>; NEAR],
    far: SharedTable<K, V, MOST>,
    /// Held by the thread that adds an entry.
    adding: Mutex<()>,
}

/// The place of a near entry.
struct Place<K, V> {
    /// Its tag, once it is there; 0: it is not.
    tag: AtomicU32,
    entry: OnceLock<Box<(K, V)>>,
}

impl<K, V, const MOST: usize> Default for NearTable<K, V, MOST> {
    fn default() -> Self {
        let near = [(); NEAR].map(|()| Place { tag: AtomicU32::new(0), entry: OnceLock::new() });
        Self { near, far: SharedTable::default(), adding: Mutex::new(()) }
    }
}

/// The copy of an object starts without entries.
impl<K, V, const MOST: usize> Clone for NearTable<K, V, MOST> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<K, V, const MOST: usize> fmt::Debug for NearTable<K, V, MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NearTable")
    }
}

/// A part of a key that entries share with few others, reduced to bits that decide which near entries are compared.
#[derive(Clone, Copy)]
pub struct Tag(u32);

impl Tag {
    /// Of bits that differ between keys.
    pub fn new(bits: u64) -> Self {
        Self((bits >> 32) as u32 | 1)
    }
}

impl<K: PartialEq, V, const MOST: usize> NearTable<K, V, MOST> {
    /// The near entries with this tag.
    pub fn near(&self, Tag(tag): Tag) -> impl Iterator<Item = &(K, V)> {
        let there = self.near.iter().map(|place| (place.tag.load(Ordering::Acquire), &place.entry));
        let there = there.take_while(|(tag, _)| *tag != 0);
        there.filter(move |(other, _)| *other == tag).filter_map(|(_, entry)| entry.get().map(|entry| &**entry))
    }

    /// The value of the key for which `is` returns true; its hash is only computed if it is not near.
    pub fn find(&self, tag: Tag, hash: impl FnOnce() -> u64, is: impl Fn(&K) -> bool) -> Option<&V> {
        match self.near(tag).find(|(key, _)| is(key)) {
            Some((_, value)) => Some(value),
            None => self.far.find(hash(), is),
        }
    }

    /// Stores a value; gives it back if there is no room. If another thread has stored one meanwhile, that one stays.
    pub fn keep(&self, tag: Tag, hash: u64, key: K, value: V) -> Result<&V, V> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = self.find(tag, || hash, |kept| *kept == key) {
            return Ok(there);
        }
        match self.near.iter().find(|place| place.entry.get().is_none()) {
            Some(place) => {
                let (_, value) = &**place.entry.get_or_init(|| Box::new((key, value)));
                // The entry is there before its tag.
                place.tag.store(tag.0, Ordering::Release);
                Ok(value)
            }
            None => self.far.keep(hash, key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::hash;
    use std::thread;

    fn keep<const MOST: usize>(table: &NearTable<u64, u64, MOST>, key: u64, value: u64) -> Result<u64, u64> {
        table.keep(Tag::new(hash(key)), hash(key), key, value).copied()
    }

    fn find<const MOST: usize>(table: &NearTable<u64, u64, MOST>, key: u64) -> Option<u64> {
        table.find(Tag::new(hash(key)), || hash(key), |other| *other == key).copied()
    }

    #[test]
    fn near_and_far_entries_are_found_until_there_is_no_room() {
        let table: NearTable<u64, u64, 20> = NearTable::default();
        let most = NEAR as u64 + 20;
        for key in 0..2 * most {
            assert_eq!(keep(&table, key, key + 1), if key < most { Ok(key + 1) } else { Err(key + 1) });
            let found = |key: u64| find(&table, key);
            assert!((0..2 * most).all(|other| found(other) == Some(other + 1).filter(|_| other <= key.min(most - 1))));
        }
        assert_eq!(keep(&table, 0, 9), Ok(1), "what is there stays");
        assert_eq!(keep(&table, most - 1, 9), Ok(most));
    }

    #[test]
    fn entries_of_one_tag_are_apart() {
        let table: NearTable<i32, i32, 100> = NearTable::default();
        (0..50).for_each(|key| assert_eq!(table.keep(Tag::new(7), 7, key, key), Ok(&key)));
        assert!((0..50).all(|key| table.find(Tag::new(7), || 7, |other| *other == key) == Some(&key)));
        assert_eq!(table.find(Tag::new(7), || 7, |other| *other == 50), None);
        assert_eq!(table.near(Tag::new(7)).count(), NEAR);
        assert_eq!(table.near(Tag::new(7 << 40)).count(), 0);
    }

    #[test]
    fn threads_that_keep_the_same_share_it() {
        let table: NearTable<u64, u64, 100> = NearTable::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    for key in (0..2000u64).map(|n| n % 50) {
                        assert_eq!(keep(table, key, thread).ok(), find(table, key), "{key}");
                    }
                });
            }
        });
        assert!((0..50).all(|key| find(&table, key).is_some_and(|thread| thread < 4)));
    }
}

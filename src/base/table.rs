//! A table that only grows, up to a limit. Entries are handed out by reference, and lookups write to no memory, so
//! concurrent readers do not slow each other down.
//!
//! Entries are numbered in the order in which they are added, and never move. An index leads from a hash to the numbers of its
//! entries, by linear probing with at most half of the slots used. When it is full, a new one of twice the size is filled and then
//! replaces it. So a search reads one slot of the index or a few adjacent ones, and the entry itself: two places that may be
//! outside the processor's caches, however many entries there are. Old indexes stay, since another thread may be reading them;
//! together they are no larger than the last.

use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Number of entries of the first level; each level doubles the number.
const FIRST: usize = 8;
/// Number of levels: 16,384 entries, whose numbers fit a slot.
const LEVELS: usize = 12;

/// Map from keys to at most `MOST` values.
pub struct SharedTable<K, V, const MOST: usize = ALL>(OnceLock<Box<Levels<K, V>>>);

/// The entries of all levels.
const ALL: usize = room(LEVELS - 1);

struct Levels<K, V> {
    /// The level whose index is complete.
    current: AtomicUsize,
    levels: [OnceLock<Level<K, V>>; LEVELS],
    /// Number of entries. Held by the thread that adds one.
    count: Mutex<usize>,
}

struct Level<K, V> {
    /// Slots for all entries up to the last of this level.
    index: Box<[AtomicU32]>,
    /// The entries that exceeded the level before.
    entries: Box<[OnceLock<Entry<K, V>>]>,
}

struct Entry<K, V> {
    hash: u64,
    key: K,
    value: V,
}

/// Hash under which an entry is stored and found.
pub fn hash(key: impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl<K, V, const MOST: usize> Default for SharedTable<K, V, MOST> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V, const MOST: usize> SharedTable<K, V, MOST> {
    /// An empty table.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// Number of entries up to the last of a level.
const fn room(level: usize) -> usize {
    FIRST << level
}

/// The upper half of a slot: the bits of the hash that do not select the slot.
fn tag(hash: u64) -> u32 {
    (hash >> 48) as u32
}

/// A slot's contents; 0 is an empty slot.
fn slot(hash: u64, number: usize) -> u32 {
    tag(hash) << 16 | (number + 1) as u32
}

/// The slots where an entry may be, in order.
fn places(index: &[AtomicU32], hash: u64) -> impl Iterator<Item = &AtomicU32> {
    // The number of slots is a power of two, so the mask keeps the whole position.
    let mask = index.len().wrapping_sub(1);
    (0..index.len()).filter_map(move |step| index.get((hash as usize).wrapping_add(step) & mask))
}

fn add(index: &[AtomicU32], hash: u64, number: usize) {
    if let Some(free) = places(index, hash).find(|place| place.load(Ordering::Relaxed) == 0) {
        // The entry is there before its slot.
        free.store(slot(hash, number), Ordering::Release);
    }
}

impl<K, V> Levels<K, V> {
    fn new() -> Self {
        let levels =
            Self { current: AtomicUsize::new(0), levels: [(); LEVELS].map(|()| OnceLock::new()), count: Mutex::new(0) };
        levels.start(0);
        levels
    }

    /// Makes a level with an index of all entries so far.
    fn start(&self, level: usize) {
        let (before, all) = (if level == 0 { 0 } else { room(level - 1) }, room(level));
        let index: Box<[AtomicU32]> = (0..2 * all).map(|_| AtomicU32::new(0)).collect();
        for (number, entry) in (0..before).filter_map(|number| Some((number, self.entry(number)?))) {
            add(&index, entry.hash, number);
        }
        let entries = (before..all).map(|_| OnceLock::new()).collect();
        if let Some(place) = self.levels.get(level) {
            place.get_or_init(|| Level { index, entries });
            self.current.store(level, Ordering::Release);
        }
    }

    /// The place of an entry.
    fn place(&self, number: usize) -> Option<&OnceLock<Entry<K, V>>> {
        let level = (number / FIRST).checked_ilog2().map_or(0, |above| above as usize + 1);
        let first = if level == 0 { 0 } else { room(level - 1) };
        self.levels.get(level)?.get()?.entries.get(number - first)
    }

    fn entry(&self, number: usize) -> Option<&Entry<K, V>> {
        self.place(number)?.get()
    }

    fn index(&self) -> &[AtomicU32] {
        let current = self.levels.get(self.current.load(Ordering::Acquire));
        current.and_then(OnceLock::get).map_or(&[], |level| &level.index)
    }

    fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&V> {
        let slots = places(self.index(), hash).map(|place| place.load(Ordering::Acquire)).take_while(|slot| *slot != 0);
        let mut numbers = slots.filter(|slot| slot >> 16 == tag(hash)).map(|slot| (slot & 0xffff) as usize - 1);
        let entry = numbers.find_map(|number| self.entry(number).filter(|entry| entry.hash == hash && is(&entry.key)));
        entry.map(|entry| &entry.value)
    }
}

impl<K, V, const MOST: usize> SharedTable<K, V, MOST> {
    /// The value of the key for which `is` returns true.
    pub fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&V> {
        self.0.get()?.find(hash, is)
    }
}

impl<K: PartialEq, V, const MOST: usize> SharedTable<K, V, MOST> {
    /// Stores a value; gives it back if there is no room. If another thread has stored one meanwhile, that one stays.
    pub fn keep(&self, hash: u64, key: K, value: V) -> Result<&V, V> {
        let levels = self.0.get_or_init(|| Box::new(Levels::new()));
        // An entry is added in one step, so a table is consistent after a panic.
        let mut count = levels.count.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = levels.find(hash, |kept| *kept == key) {
            return Ok(there);
        }
        let number = *count;
        if number == MOST.min(ALL) {
            return Err(value);
        }
        let current = levels.current.load(Ordering::Relaxed);
        if number == room(current) {
            levels.start(current + 1);
        }
        let Some(place) = levels.place(number) else { return Err(value) };
        let kept = place.get_or_init(|| Entry { hash, key, value });
        add(levels.index(), hash, number);
        *count += 1;
        Ok(&kept.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn what_is_kept_is_found_until_there_is_no_room() {
        let table: SharedTable<u64, u64> = SharedTable::default();
        assert_eq!(table.find(hash(1u32), |_| true), None);
        let most = room(LEVELS - 1) as u64;
        for key in 0..2 * most {
            let kept = table.keep(hash(key), key, key + 1).copied();
            assert_eq!(kept, if key < most { Ok(key + 1) } else { Err(key + 1) });
            // Also right after the index was replaced.
            assert_eq!(
                table.find(hash(key / 2), |other| *other == key / 2),
                Some(&(key / 2 + 1)).filter(|_| key / 2 < most)
            );
        }
        let found = |key: u64| table.find(hash(key), |other| *other == key);
        assert!((0..2 * most).all(|key| found(key).copied() == (key < most).then_some(key + 1)));
        assert_eq!(table.keep(hash(0u64), 0, 9), Ok(&1), "what is there stays");
    }

    #[test]
    fn a_table_has_a_limit_of_its_own() {
        let table: SharedTable<u64, u64, 10> = SharedTable::default();
        let kept = (0..40).filter(|key| table.keep(hash(key), *key, *key).is_ok()).count();
        assert_eq!(kept, 10);
        assert_eq!(table.keep(hash(3u64), 3, 9), Ok(&3));
    }

    #[test]
    fn entries_of_one_hash_are_apart() {
        let table: SharedTable<i32, i32> = SharedTable::default();
        // The last slot: the search goes on at the first.
        let kept: Vec<_> = (0..100).map(|key| table.keep(u64::MAX, key, key).ok().copied()).collect();
        let found: Vec<_> = (0..100).map(|key| table.find(u64::MAX, |other| *other == key).copied()).collect();
        assert!(kept.iter().chain(&found).zip((0..100).cycle()).all(|(value, key)| *value == Some(key)));
        assert_eq!(table.find(u64::MAX, |other| *other == 100), None);
        assert_eq!(table.find(u64::MAX - 1, |_| true), None, "another hash");
    }

    #[test]
    fn threads_that_keep_the_same_share_it() {
        let table: SharedTable<u64, u64> = SharedTable::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    for key in 0..2000u64 {
                        let kept = table.keep(key % 500, key, thread).ok();
                        let found = table.find(key % 500, |other| *other == key);
                        assert!(kept.is_some() && kept == found, "{key}: {kept:?}, {found:?}");
                    }
                });
            }
        });
        let of = |key: u64| table.find(key % 500, |other| *other == key);
        let again: Vec<_> = (0..2000u64).map(|key| table.keep(key % 500, key, 9).ok()).collect();
        assert!((0..2000u64).zip(again).all(|(key, kept)| of(key) == kept && kept != Some(&9)));
    }
}

//! A table that only grows, up to a limit. Entries are handed out by reference, and lookups write to no memory, so
//! concurrent readers do not slow each other down.
//!
//! The table consists of segments of rows of slots; the hash selects the row. The first segment has one row, because many
//! tables hold few entries; the second has eight, and each later one twice as many as the one before. An entry goes to the first
//! empty slot of its row in the first segment that has one, and stays there. So if a row has an empty slot, no later segment
//! holds the entry. The hashes of a row are stored apart from its entries, in one cache line: a search reads that line of each
//! segment, and an entry only if its hash matches.

use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of slots where an entry may be in one segment.
const ROW: usize = 8;
/// Number of slots of the second segment.
const SECOND_SEGMENT: usize = 64;
/// The table is full when a segment of this size has no room.
const LAST_SEGMENT: usize = 1 << 13;

/// Map from keys to values.
pub(crate) struct SharedTable<K, V> {
    first: Next<K, V>,
}

type Next<K, V> = OnceLock<Box<Segment<K, V>>>;

struct Segment<K, V> {
    rows: Box<[Row]>,
    /// Row by row.
    slots: Box<[OnceLock<Entry<K, V>>]>,
    next: Next<K, V>,
}

/// The hashes of a row's entries; 0 where there is none yet.
#[derive(Default)]
#[repr(align(64))]
struct Row([AtomicU64; ROW]);

struct Entry<K, V> {
    key: K,
    value: V,
}

/// Hash under which an entry is stored and found.
pub(crate) fn hash(key: impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl<K, V> Default for SharedTable<K, V> {
    fn default() -> Self {
        Self { first: OnceLock::new() }
    }
}

impl<K, V> Segment<K, V> {
    fn new(slots: usize) -> Self {
        let rows = (0..slots / ROW).map(|_| Row::default()).collect();
        Self { rows, slots: (0..slots).map(|_| OnceLock::new()).collect(), next: OnceLock::new() }
    }

    /// The hashes and the slots of a row.
    fn row(&self, hash: u64) -> impl Iterator<Item = (&AtomicU64, &OnceLock<Entry<K, V>>)> {
        // The number of rows is a power of two, so the mask keeps the whole position.
        let at = hash as usize & (self.rows.len() - 1);
        let slots = self.slots.get(at * ROW..).unwrap_or_default();
        self.rows.get(at).into_iter().flat_map(|row| &row.0).zip(slots)
    }
}

/// A hash as rows have it.
fn mark(hash: u64) -> u64 {
    hash.max(1)
}

impl<K, V> SharedTable<K, V> {
    /// The value of the key for which `is` returns true.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&V> {
        let wanted = mark(hash);
        let mut segment = self.first.get();
        while let Some(here) = segment {
            for (kept, slot) in here.row(hash) {
                // The entry was there before its hash.
                match kept.load(Ordering::Acquire) {
                    0 => return None,
                    kept if kept == wanted => match slot.get() {
                        Some(entry) if is(&entry.key) => return Some(&entry.value),
                        _ => {}
                    },
                    _ => {}
                }
            }
            segment = here.next.get();
        }
        None
    }
}

impl<K: PartialEq, V> SharedTable<K, V> {
    /// Stores a value if there is room. If another thread has stored one meanwhile, that one stays.
    pub(crate) fn keep(&self, hash: u64, key: K, value: V) -> Option<&V> {
        let mut entry = Entry { key, value };
        let (mut place, mut slots) = (&self.first, ROW);
        while slots <= LAST_SEGMENT {
            let segment = place.get_or_init(|| Box::new(Segment::new(slots)));
            for (kept, slot) in segment.row(hash) {
                let refused = slot.set(entry);
                let there = slot.get()?;
                match refused {
                    Ok(()) => {
                        kept.store(mark(hash), Ordering::Release);
                        return Some(&there.value);
                    }
                    Err(mine) if there.key == mine.key => return Some(&there.value),
                    Err(mine) => entry = mine,
                }
            }
            (place, slots) = (&segment.next, SECOND_SEGMENT.max(2 * slots));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn what_is_kept_is_found_until_there_is_no_room() {
        let table = SharedTable::default();
        assert_eq!(table.find(hash(1u32), |_| true), None::<&u64>);
        let mut kept = 0u64;
        for key in 0..4 * LAST_SEGMENT as u64 {
            kept += u64::from(table.keep(hash(key), key, key + 1).is_some());
        }
        let found = |key: u64| table.find(hash(key), |other| *other == key);
        let there = (0..4 * LAST_SEGMENT as u64).filter(|key| found(*key) == Some(&(key + 1))).count() as u64;
        assert_eq!(there, kept);
        // It must be nearly full before the first rejection, and must not exceed the limit.
        let slots = (ROW + 2 * LAST_SEGMENT - SECOND_SEGMENT) as u64;
        assert!((slots / 2..=slots).contains(&kept), "{kept} of {slots}");
        assert_eq!(table.keep(hash(0u64), 0, 9), Some(&1), "what is there stays");
    }

    #[test]
    fn threads_that_keep_the_same_share_it() {
        let table: SharedTable<u64, u64> = SharedTable::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || (0..200u64).for_each(|key| assert!(table.keep(key % 50, key, thread).is_some())));
            }
        });
        let of = |key: u64| table.find(key % 50, |other| *other == key);
        let again: Vec<_> = (0..200u64).map(|key| table.keep(key % 50, key, 9)).collect();
        assert!((0..200u64).zip(again).all(|(key, kept)| of(key) == kept && kept != Some(&9)));
    }
}

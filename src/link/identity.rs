//! The identity of a part: a hash that goes into pipelines, and an id within this process.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// Identifies a part in this process, by its ELF's bytes.
///
/// Tables that parts of several authors share are keyed by it, so nobody may be able to make a part with another's id:
/// the hash is seeded at random when the process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartId(u128);

impl PartId {
    /// The id of the part with these bytes.
    pub(super) fn of(elf: &[u8]) -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
        Self(xxh3_128_with_seed(elf, *SEED))
    }
}

/// The hash of a part that its pipelines' metadata carries; [`mod@super::pipeline_hash`] says why it need not be strong.
pub(super) fn part_hash(bytes: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(bytes);
    [hash as u64, (hash >> 64) as u64]
}

//! Ids of values by their contents, within this process: a comparison of two values that costs one of numbers.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;
use xxhash_rust::xxh3::Xxh3;

/// Identifies a value. Nobody can make two with one id, because the hash is seeded at random when the process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentId(u128);

impl ContentId {
    /// That of a value.
    pub fn of(value: impl Hash) -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
        let mut hasher = Xxh3::with_seed(*SEED);
        value.hash(&mut hasher);
        Self(hasher.digest128())
    }

    /// Some of its bits, as random as all.
    pub fn bits(self) -> u64 {
        self.0 as u64
    }
}

//! Numbers by metadata key, each in a fixed slot, so that links copy, merge and write them without allocating.

use super::schema::MetadataKey;
use dovetail_base::error::{Error, Result};
use std::fmt;
use std::ops::Index;

/// The numbers of one map of the metadata.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MetadataFields {
    /// Bit n: the key with number n is present.
    present: u32,
    /// By number of a key: its value, or 0 if it is absent.
    values: [u32; MetadataKey::COUNT],
}

impl MetadataFields {
    /// An empty set of fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a key.
    pub fn get(&self, key: MetadataKey) -> Option<u32> {
        self.contains(key).then(|| self[&key])
    }

    /// Whether the key is present.
    pub fn contains(&self, key: MetadataKey) -> bool {
        self.present >> key as u32 & 1 == 1
    }

    /// Sets the number of a key.
    pub fn insert(&mut self, key: MetadataKey, value: u32) {
        self.present |= 1 << key as u32;
        self.values[key as usize] = value;
    }

    /// All present keys, in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = (MetadataKey, u32)> {
        let mut rest = self.present;
        let keys = std::iter::from_fn(move || {
            let key = MetadataKey::from_number(rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(key)
        });
        keys.map(|key| (key, self[&key]))
    }

    /// The number of keys that are present.
    pub fn len(&self) -> usize {
        self.present.count_ones() as usize
    }

    /// Whether no key is present.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Merges the numbers of another part, by the schema's rule if both have one.
    ///
    /// # Errors
    /// Malformed: they contradict each other.
    pub(super) fn merge(&mut self, other: &[(MetadataKey, u32)]) -> Result<()> {
        for &(key, value) in other {
            let merged = self.get(key).map_or(Some(value), |own| key.merge().apply(own, value));
            let merged = merged.ok_or_else(|| Error::malformed(format!("the parts give {key} different values")))?;
            self.insert(key, merged);
        }
        Ok(())
    }
}

/// The value of a key; 0 if it is absent.
impl Index<&MetadataKey> for MetadataFields {
    type Output = u32;
    fn index(&self, key: &MetadataKey) -> &u32 {
        &self.values[*key as usize]
    }
}

impl<const N: usize> From<[(MetadataKey, u32); N]> for MetadataFields {
    fn from(numbers: [(MetadataKey, u32); N]) -> Self {
        let mut out = Self::new();
        numbers.into_iter().for_each(|(key, value)| out.insert(key, value));
        out
    }
}

impl fmt::Debug for MetadataFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_follows_its_rule_in_any_order() {
        let [a, b] = [(5, 2), (3, 9)]
            .map(|(spill, limit)| [(MetadataKey::SpillThreshold, spill), (MetadataKey::UserDataLimit, limit)]);
        for (first, second) in [(a, b), (b, a)] {
            let mut first = MetadataFields::from(first);
            first.merge(&second).unwrap();
            assert_eq!(
                first,
                MetadataFields::from([(MetadataKey::SpillThreshold, 3), (MetadataKey::UserDataLimit, 9)])
            );
        }
        let mut none = MetadataFields::new();
        none.merge(&a).unwrap();
        assert_eq!(none, MetadataFields::from(a));
        let wave = |lanes| [(MetadataKey::WavefrontSize, lanes)];
        let refused = MetadataFields::from(wave(32)).merge(&wave(64)).unwrap_err();
        assert!(refused.to_string().contains(".wavefront_size"));
    }
}

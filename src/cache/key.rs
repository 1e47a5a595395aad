//! Keys: BLAKE3 over tagged, length-framed fields.
//!
//! A field is serialized as a whole, so a new field of a request is automatically in the key: serde's derive visits
//! every field, and MessagePack's named maps contain each field's name and length. The domain and the tags separate
//! keys of different kinds.

use dovetail_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// 256 bits that name a cached result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key(pub [u8; 32]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Collects the fields of a key.
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A key of one kind; `domain` is a constant that includes a version.
    pub fn new(domain: &'static str) -> Self {
        Self(blake3::Hasher::new_derive_key(domain))
    }

    /// Adds a field: its tag, its length, its bytes.
    ///
    /// # Errors
    /// Bug: a type that cannot be serialized.
    pub fn field<T: Serialize + ?Sized>(mut self, tag: &'static str, value: &T) -> Result<Self> {
        let bytes = rmp_serde::to_vec_named(value).map_err(|e| Error::bug(format!("key field {tag}: {e}")))?;
        for part in [tag.as_bytes(), &bytes] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        Ok(self)
    }

    /// The key.
    pub fn finish(self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_lengths_and_domains_keep_keys_apart() {
        let key = |domain, fields: &[(&'static str, &str)]| {
            let mut b = KeyBuilder::new(domain);
            for (tag, value) in fields {
                b = b.field(tag, *value).unwrap();
            }
            b.finish()
        };
        let all = [
            key("a", &[("x", "12"), ("y", "3")]),
            key("a", &[("x", "1"), ("y", "23")]),
            key("a", &[("x", "12"), ("z", "3")]),
            key("a", &[("x", "12")]),
            key("b", &[("x", "12"), ("y", "3")]),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(all[0], key("a", &[("x", "12"), ("y", "3")]));
    }
}

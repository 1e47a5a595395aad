//! The hashes by which definitions refer to each other, written as 16 hexadecimal digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The name of an object: 64 bits that the recorder chooses; 0 is no object. Recordings made here use the first 64 bits
/// of the BLAKE3 hash of the object's definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub u64);

impl Hash {
    /// The name of an object made from these bytes; never 0.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = blake3::hash(bytes);
        let first = digest.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self(first.max(1))
    }

    /// Whether it is 0, the name of no object.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = digits.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| serde::de::Error::custom("a handle is 16 hexadecimal digits"))
    }
}

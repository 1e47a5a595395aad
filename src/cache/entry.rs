//! The envelope of a cached result.
//!
//! ```text
//! 0   4  "DVT\x01"        format version: another version is refused before anything else is read
//! 4   8  payload length   little-endian
//! 12  n  payload
//! ..  32 BLAKE3           keyed by the entry's key, over all bytes before: an entry under a wrong key is broken too
//! ```

use super::key::Key;

/// Largest entry, in bytes. LMDB would write pages of a larger transaction to the file early and read them back; and a
/// damaged size must not make a reader allocate more.
pub const LARGEST_ENTRY: usize = 64 << 20;

const VERSION: [u8; 4] = *b"DVT\x01";
const HEAD: usize = 12;
const DIGEST: usize = 32;

/// Reason why an entry is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEntry {
    /// Written by another version of the format.
    Version,
    /// Truncated, or longer than its length field.
    Length,
    /// Not the bytes that were written under this key.
    Digest,
}

/// Wraps a payload.
pub fn encode(key: &Key, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + payload.len() + DIGEST);
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    let digest = blake3::keyed_hash(&key.0, &out);
    out.extend_from_slice(digest.as_bytes());
    out
}

/// The payload of a complete entry.
///
/// # Errors
/// The reason why it is not usable.
pub fn decode<'a>(key: &Key, bytes: &'a [u8]) -> Result<&'a [u8], BadEntry> {
    let body = match bytes.first_chunk::<4>() {
        Some(&v) if v == VERSION => bytes.len().checked_sub(HEAD + DIGEST).ok_or(BadEntry::Length)?,
        Some(_) => return Err(BadEntry::Version),
        None => return Err(BadEntry::Length),
    };
    let (signed, digest) = bytes.split_at(HEAD + body);
    let length = signed[4..HEAD].iter().rev().fold(0u64, |n, &b| (n << 8) | u64::from(b));
    if length != body as u64 {
        return Err(BadEntry::Length);
    }
    // Hash equality is in constant time, which costs nothing here.
    let right = <[u8; DIGEST]>::try_from(digest).is_ok_and(|d| blake3::keyed_hash(&key.0, signed) == d);
    if right { Ok(&signed[HEAD..]) } else { Err(BadEntry::Digest) }
}

/// [`decode`] in place.
///
/// # Errors
/// As [`decode`].
pub fn into_payload(key: &Key, mut bytes: Vec<u8>) -> Result<Vec<u8>, BadEntry> {
    let length = decode(key, &bytes)?.len();
    bytes.truncate(HEAD + length);
    bytes.drain(..HEAD);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_byte_and_every_cut_is_seen() {
        let key = Key([7; 32]);
        let good = encode(&key, b"some code");
        assert_eq!(decode(&key, &good), Ok(&b"some code"[..]));
        assert_eq!(into_payload(&key, good.clone()), Ok(b"some code".to_vec()));
        assert_eq!(decode(&Key([8; 32]), &good), Err(BadEntry::Digest));
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1;
            assert!(decode(&key, &bad).is_err(), "byte {i}");
            assert!(decode(&key, &good[..i]).is_err(), "cut at {i}");
        }
        assert_eq!(decode(&key, b"DVT\x02"), Err(BadEntry::Version));
    }
}

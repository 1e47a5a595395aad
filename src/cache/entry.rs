//! The envelope of a cached result.
//!
//! ```text
//! 0   4  "DVT\x02"        format version: another version is refused before anything else is read
//! 4   8  payload length   little-endian
//! 12  n  payload
//! ..  32 BLAKE3           keyed by the entry's key, over the first 12 bytes and the payload's BLAKE3: an entry under a wrong key
//!                         is broken too
//! ```
//!
//! The payload is hashed only once, and a lookup returns this digest with it: the linker identifies a part by it.

use super::key::Key;
use dovetail_base::error::Result;
use dovetail_base::fallible::room;
use std::ops::Deref;

/// Largest entry, in bytes. LMDB would write pages of a larger transaction to the file early and read them back; and a
/// damaged size must not make a reader allocate more.
pub const LARGEST_ENTRY: usize = 64 << 20;

const VERSION: [u8; 4] = *b"DVT\x02";
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

/// A payload whose digest was checked.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// An entry, or the payload alone.
    bytes: Vec<u8>,
    /// Bytes before the payload.
    head: usize,
    /// Bytes after it.
    tail: usize,
    digest: [u8; DIGEST],
}

impl Payload {
    /// A payload that was just made.
    pub fn of(bytes: Vec<u8>) -> Self {
        let digest = *blake3::hash(&bytes).as_bytes();
        Self { bytes, head: 0, tail: 0, digest }
    }

    /// A payload stored without an entry, by a store that knows its digest otherwise; `None` if the digest is another.
    pub fn checked(bytes: Vec<u8>, digest: &[u8; DIGEST]) -> Option<Self> {
        Some(Self::of(bytes)).filter(|payload| payload.digest == *digest)
    }

    /// Its BLAKE3.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Its bytes alone.
    pub fn into_vec(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.truncate(bytes.len().saturating_sub(self.tail));
        bytes.drain(..self.head);
        bytes
    }
}

impl Deref for Payload {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.head..self.bytes.len().saturating_sub(self.tail)).unwrap_or_default()
    }
}

/// The digest of an entry.
fn seal(key: &Key, head: &[u8], payload: &[u8; DIGEST]) -> blake3::Hash {
    blake3::Hasher::new_keyed(&key.0).update(head).update(payload).finalize()
}

/// Wraps a payload.
///
/// # Errors
/// Memory: there is none for the copy.
pub fn encode(key: &Key, payload: &[u8]) -> Result<Vec<u8>> {
    let mut out = room(HEAD + payload.len() + DIGEST)?;
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let digest = seal(key, &out, blake3::hash(payload).as_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(digest.as_bytes());
    Ok(out)
}

/// The payload of a complete entry.
///
/// # Errors
/// The reason why it is not usable.
pub fn decode(key: &Key, entry: Vec<u8>) -> Result<Payload, BadEntry> {
    let body = match entry.first_chunk::<4>() {
        Some(&v) if v == VERSION => entry.len().checked_sub(HEAD + DIGEST).ok_or(BadEntry::Length)?,
        Some(_) => return Err(BadEntry::Version),
        None => return Err(BadEntry::Length),
    };
    let (head, rest) = entry.split_at(HEAD);
    let (payload, sealed) = rest.split_at(body);
    let length = head[4..].iter().rev().fold(0u64, |n, &b| (n << 8) | u64::from(b));
    if length != body as u64 {
        return Err(BadEntry::Length);
    }
    let digest = *blake3::hash(payload).as_bytes();
    // Hash equality is in constant time, which costs nothing here.
    let right = <[u8; DIGEST]>::try_from(sealed).is_ok_and(|sealed| seal(key, head, &digest) == sealed);
    if right { Ok(Payload { bytes: entry, head: HEAD, tail: DIGEST, digest }) } else { Err(BadEntry::Digest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_byte_and_every_cut_is_seen() {
        let key = Key([7; 32]);
        let good = encode(&key, b"some code").expect("memory");
        let decode = |key, bytes: &[u8]| decode(key, bytes.to_vec());
        let payload = decode(&key, &good).map_err(|_| ()).unwrap();
        assert_eq!((&*payload, payload.digest()), (&b"some code"[..], blake3::hash(b"some code").as_bytes()));
        assert_eq!(payload.into_vec(), b"some code");
        let digest = blake3::hash(b"some code").into();
        assert_eq!(
            Payload::checked(b"some code".to_vec(), &digest).map(Payload::into_vec),
            Some(b"some code".to_vec())
        );
        assert!(Payload::checked(b"some cods".to_vec(), &digest).is_none());
        assert_eq!(decode(&Key([8; 32]), &good).err(), Some(BadEntry::Digest));
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                assert!(decode(&key, &bad).is_err(), "byte {i}");
            }
            assert!(decode(&key, &good[..i]).is_err(), "cut at {i}");
        }
        assert_eq!(decode(&key, b"DVT\x01").err(), Some(BadEntry::Version));
    }
}

//! Messages over pipes and sockets: a 32-bit little-endian length, then MessagePack of that many bytes.
//!
//! A frame longer than the reader's limit is rejected before it is read, and a body is read in steps, so that memory
//! grows with the bytes received, not with the announced length.

use crate::error::{Error, Result};
use crate::fallible;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::ops::Deref;

/// Bytes of the length field before each message.
pub const HEAD: usize = 4;

/// Nesting limit of values in a message: real messages nest about a dozen deep, and the reader recurses.
const MAX_DEPTH: usize = 64;

/// Bytes in a message, stored by MessagePack as one binary value instead of a number for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Bytes(#[serde(with = "serde_bytes")] pub Vec<u8>);

/// Text of the error of a message for whose bytes there is no memory.
const NO_MEMORY: &str = "no memory for the bytes of a message";

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Copied;
        impl Visitor<'_> for Copied {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> std::result::Result<Bytes, E> {
                fallible::copy(bytes).map(Bytes).map_err(|_| E::custom(NO_MEMORY))
            }

            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> std::result::Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }
        from.deserialize_bytes(Copied)
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A message, preceded by its length.
///
/// # Errors
/// Bug: not serializable. Memory: none for it. Unsupported: longer than `limit` bytes.
pub fn frame<T: Serialize>(message: &T, limit: u32) -> Result<Vec<u8>> {
    let mut to = Growing { bytes: fallible::zeros(HEAD)?, failed: false };
    rmp_serde::encode::write_named(&mut to, message).map_err(|e| match to.failed {
        true => Error::memory(format!("a message of more than {} bytes", to.bytes.len())),
        false => Error::bug(format!("message: {e}")),
    })?;
    let mut out = to.bytes;
    let length = u32::try_from(out.len() - HEAD).ok().filter(|&n| n <= limit).ok_or_else(|| {
        let feature = format!("message over {} MiB", limit >> 20);
        Error::unsupported(feature, format!("{} bytes do not fit a frame", out.len()))
    })?;
    out[..HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(out)
}

/// Takes a message's bytes as long as there is memory for them.
struct Growing {
    bytes: Vec<u8>,
    /// There was none.
    failed: bool,
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // More than is asked for, so that a message of many small values is not copied for each.
        if self.bytes.try_reserve(bytes.len()).is_err() {
            self.failed = true;
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Length of the body after this head.
///
/// # Errors
/// Malformed: longer than `limit`.
pub fn body_length(head: [u8; HEAD], limit: u32) -> Result<usize> {
    let length = u32::from_le_bytes(head);
    if length > limit {
        return Err(Error::malformed(format!("frame of {length} bytes, at most {limit}")));
    }
    Ok(length as usize)
}

/// The message in a frame's body.
///
/// # Errors
/// Malformed: not such a message. Memory: none for its bytes.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(body);
    reader.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut reader).map_err(|e| match e {
        rmp_serde::decode::Error::Syntax(why) if why == NO_MEMORY => Error::memory("the bytes of a message"),
        e => Error::malformed(format!("message: {e}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_framed_is_parsed() {
        let framed = frame(&(7u32, Bytes(vec![1, 2, 3])), 100).unwrap();
        let (head, body) = framed.split_first_chunk::<HEAD>().unwrap();
        assert_eq!(body_length(*head, 100).unwrap(), body.len());
        assert_eq!(parse::<(u32, Bytes)>(body).unwrap(), (7, Bytes(vec![1, 2, 3])));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert!(frame(&Bytes(vec![0; 100]), 50).is_err());
        assert!(body_length(51u32.to_le_bytes(), 50).is_err());
    }
}

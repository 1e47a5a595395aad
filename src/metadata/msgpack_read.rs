//! A reader of msgpack for the hot path: one value after the other, borrowed from the bytes, by `rmp`'s decoders.
//!
//! Errors give the byte of the document at which a value is not what is expected.

use crate::error::{Error, Result};
use rmp::Marker;
use rmp::decode::{self, Bytes};
use serde::Deserialize;

/// Nesting limit. A real note nests six deep; a hostile one must not exhaust the stack.
pub(super) const MAX_DEPTH: usize = 32;

/// A document that is being read.
pub(super) struct Reader<'a> {
    /// Its size in bytes.
    len: usize,
    rest: Bytes<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a [u8]) -> Self {
        Self { len: document.len(), rest: Bytes::new(document) }
    }

    /// The number of entries of a map, which follow.
    pub(super) fn map(&mut self) -> Result<u32> {
        let at = self.at();
        decode::read_map_len(&mut self.rest).map_err(|_| broken(at, "a map"))
    }

    /// The number of items of an array, which follow.
    pub(super) fn array(&mut self) -> Result<u32> {
        let at = self.at();
        decode::read_array_len(&mut self.rest).map_err(|_| broken(at, "an array"))
    }

    pub(super) fn uint(&mut self) -> Result<u32> {
        let at = self.at();
        decode::read_int(&mut self.rest).map_err(|_| broken(at, "a number of 32 bits"))
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        let at = self.at();
        decode::read_bool(&mut self.rest).map_err(|_| broken(at, "a boolean"))
    }

    pub(super) fn str(&mut self) -> Result<&'a str> {
        let at = self.at();
        let len = decode::read_str_len(&mut self.rest).map_err(|_| broken(at, "a text"))?;
        let text = self.take(len as usize).ok_or_else(|| broken(at, "a text"))?;
        std::str::from_utf8(text).map_err(|_| broken(at, "a text in UTF-8"))
    }

    /// The bytes of one value of any type, except extensions.
    pub(super) fn skip(&mut self) -> Result<&'a [u8]> {
        let (at, whole) = (self.at(), self.rest.remaining_slice());
        let mut values = 1;
        while values > 0 {
            let next = self.content().ok_or_else(|| broken(at, "a value"))?;
            values = values - 1 + next;
        }
        Ok(&whole[..self.at() - at])
    }

    /// Skips a value up to the values in it, and returns their number.
    fn content(&mut self) -> Option<u64> {
        let marker = decode::read_marker(&mut self.rest).ok()?;
        let bytes = match marker {
            Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => 0,
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            Marker::FixStr(len) => len.into(),
            Marker::Str8 | Marker::Bin8 => self.number::<1>()?,
            Marker::Str16 | Marker::Bin16 => self.number::<2>()?,
            Marker::Str32 | Marker::Bin32 => self.number::<4>()?,
            Marker::FixArray(len) => return Some(len.into()),
            Marker::Array16 => return self.number::<2>(),
            Marker::Array32 => return self.number::<4>(),
            Marker::FixMap(len) => return Some(2 * u64::from(len)),
            Marker::Map16 => return Some(2 * self.number::<2>()?),
            Marker::Map32 => return Some(2 * self.number::<4>()?),
            _ => return None,
        };
        self.take(bytes as usize).map(|_| 0)
    }

    /// A big-endian number of so many bytes.
    fn number<const BYTES: usize>(&mut self) -> Option<u64> {
        Some(self.take(BYTES)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A value in its serde form, structs as arrays of their fields.
    pub(super) fn serde<T: Deserialize<'a>>(&mut self) -> Result<T> {
        let at = self.at();
        let mut value = rmp_serde::Deserializer::from_read_ref(self.skip()?);
        value.set_max_depth(MAX_DEPTH);
        T::deserialize(&mut value).map_err(|e| Error::malformed(format!("metadata: byte {at}: {e}")))
    }

    /// # Errors
    /// Malformed: the document goes on.
    pub(super) fn end(&self) -> Result<()> {
        match self.rest.remaining_slice() {
            [] => Ok(()),
            rest => Err(Error::malformed(format!("{} bytes after the metadata document", rest.len()))),
        }
    }

    /// The offset of the next byte.
    fn at(&self) -> usize {
        self.len - self.rest.remaining_slice().len()
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.remaining_slice().split_at_checked(len)?;
        self.rest = Bytes::new(rest);
        Some(taken)
    }
}

#[cold]
fn broken(at: usize, what: &str) -> Error {
    Error::malformed(format!("metadata: at byte {at} there is not {what}"))
}

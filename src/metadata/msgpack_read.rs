//! A reader of msgpack for the hot path: one value after the other, borrowed from the bytes, by `rmp`'s decoders.
//!
//! Errors give the byte of the document at which there is another value than expected.

use super::document::{MAX_DEPTH, tree};
use super::msgpack::{BYTES, FIXED_UINT_64};
use dovetail_base::error::{Error, Result};
use rmp::Marker;
use rmp::decode::{self, Bytes};
use smallvec::SmallVec;

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

    /// Begins a map; returns the number of its entries, which follow.
    pub(super) fn map(&mut self) -> Result<u32> {
        self.read("a map", decode::read_map_len)
    }

    /// Begins an array; returns the number of its items, which follow.
    pub(super) fn array(&mut self) -> Result<u32> {
        self.read("an array", decode::read_array_len)
    }

    pub(super) fn uint(&mut self) -> Result<u32> {
        self.read("a number of 32 bits", decode::read_int)
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        self.read("a boolean", decode::read_bool)
    }

    pub(super) fn str(&mut self) -> Result<&'a str> {
        let at = self.at();
        std::str::from_utf8(self.name()?).map_err(|_| broken(at, "a text in UTF-8"))
    }

    /// The bytes of a text that is only compared with others, so that it need not be valid UTF-8.
    pub(super) fn name(&mut self) -> Result<&'a [u8]> {
        let at = self.at();
        let len = match self.rest.remaining_slice().first() {
            Some(head @ 0xa0..0xc0) => {
                self.take(1);
                u32::from(head & 0x1f)
            }
            _ => self.read("a text", decode::read_str_len)?,
        };
        self.take(len as usize).ok_or_else(|| broken(at, "a text"))
    }

    /// Passes a value that nobody needs; no map in it may have a key twice.
    pub(super) fn skip(&mut self) -> Result<()> {
        match self.extent()? {
            (value, true) => tree(value).map(drop),
            (_, false) => Ok(()),
        }
    }

    /// An array of bytes, as [`super::msgpack::Writer::postcard`] writes it.
    pub(super) fn bytes(&mut self) -> Result<SmallVec<[u8; 512]>> {
        let at = self.at();
        self.words().ok_or_else(|| broken(at, "an array of bytes"))
    }

    fn words(&mut self) -> Option<SmallVec<[u8; 512]>> {
        let items = self.array().ok()? as usize;
        let len = self.uint().ok()? as usize;
        let count = len.div_ceil(BYTES);
        if items != 1 + count || count > self.rest.remaining_slice().len() {
            return None;
        }
        let mut bytes = SmallVec::from_elem(0, BYTES * count);
        for place in bytes.as_chunks_mut().0 {
            *place = match self.rest.remaining_slice().first_chunk::<{ 1 + BYTES }>() {
                Some(&[FIXED_UINT_64, ref word @ ..]) => {
                    self.take(1 + BYTES)?;
                    *word
                }
                // Another writer gives a small number in few bytes.
                _ => decode::read_int::<u64, _>(&mut self.rest).ok()?.to_be_bytes(),
            };
        }
        let padding = bytes.get(len..)?.iter().all(|byte| *byte == 0);
        bytes.truncate(len);
        padding.then_some(bytes)
    }

    /// The bytes of one value of any type except extensions, and whether it is or contains a map.
    fn extent(&mut self) -> Result<(&'a [u8], bool)> {
        let (at, whole) = (self.at(), self.rest.remaining_slice());
        let maps = self.pass(MAX_DEPTH).ok_or_else(|| broken(at, "a value"))?;
        Ok((&whole[..self.at() - at], maps))
    }

    /// Passes a value that is nested at most `depth` deep; returns whether it is or contains a map.
    fn pass(&mut self, depth: usize) -> Option<bool> {
        let (inside, mut maps) = self.content()?;
        let depth = if inside > 0 { depth.checked_sub(1)? } else { depth };
        for _ in 0..inside {
            maps |= self.pass(depth)?;
        }
        Some(maps)
    }

    /// Passes a value except for the values in it; returns the number of these, and whether it is a map.
    fn content(&mut self) -> Option<(u64, bool)> {
        let bytes = match decode::read_marker(&mut self.rest).ok()? {
            Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => 0,
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            Marker::FixStr(len) => len.into(),
            Marker::Str8 | Marker::Bin8 => self.number::<1>()?,
            Marker::Str16 | Marker::Bin16 => self.number::<2>()?,
            Marker::Str32 | Marker::Bin32 => self.number::<4>()?,
            Marker::FixArray(len) => return Some((len.into(), false)),
            Marker::Array16 => return Some((self.number::<2>()?, false)),
            Marker::Array32 => return Some((self.number::<4>()?, false)),
            Marker::FixMap(len) => return Some((2 * u64::from(len), true)),
            Marker::Map16 => return Some((2 * self.number::<2>()?, true)),
            Marker::Map32 => return Some((2 * self.number::<4>()?, true)),
            _ => return None,
        };
        self.take(bytes as usize).map(|_| (0, false))
    }

    /// A big-endian number of `BYTES` bytes.
    fn number<const BYTES: usize>(&mut self) -> Option<u64> {
        Some(self.take(BYTES)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Checks that the document ends here.
    ///
    /// # Errors
    /// Malformed: the document goes on.
    pub(super) fn end(&self) -> Result<()> {
        match self.rest.remaining_slice() {
            [] => Ok(()),
            rest => Err(Error::malformed(format!("{} bytes after the metadata document", rest.len()))),
        }
    }

    /// Reads a value with one of `rmp`'s functions; `what` names the value in errors.
    fn read<T, E>(&mut self, what: &str, by: impl FnOnce(&mut Bytes<'a>) -> Result<T, E>) -> Result<T> {
        let at = self.at();
        by(&mut self.rest).map_err(|_| broken(at, what))
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

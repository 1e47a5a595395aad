//! A writer of msgpack for the hot path: the shortest form of each value, straight into a buffer.
//!
//! Maps and arrays are written as their length followed by their items. Nothing checks the number of items; the tests
//! read everything back with another decoder.

use serde::Serialize;
use std::fmt::Display;
use std::io::Write as _;

/// Tag of a 32-bit number, stored big-endian.
pub(super) const FIXED_UINT: u8 = 0xce;
/// Tag of a 16-bit number.
pub(super) const FIXED_UINT_16: u8 = 0xcd;
/// Tag of a 64-bit number.
pub(super) const FIXED_UINT_64: u8 = 0xcf;

/// Bytes in a number of 64 bits.
pub(super) const BYTES: usize = 8;

/// A buffer that msgpack is written to.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn map(&mut self, len: usize) {
        self.container(0x80, 0xde, len);
    }

    /// Begins a map whose number of entries is not known yet. Returns its place, for [`Self::close_map`].
    pub(super) fn open_map(&mut self) -> usize {
        self.tagged(0xde, &[0; 2]);
        self.0.len() - 2
    }

    /// Ends a map of [`Self::open_map`], with fewer than 65,536 entries.
    pub(super) fn close_map(&mut self, place: usize, len: usize) {
        self.0[place..place + 2].copy_from_slice(&(len as u16).to_be_bytes());
    }

    pub(super) fn array(&mut self, len: usize) {
        self.container(0x90, 0xdc, len);
    }

    fn container(&mut self, fix: u8, wide: u8, len: usize) {
        match len {
            0..16 => self.0.push(fix | len as u8),
            16..0x1_0000 => self.tagged(wide, &(len as u16).to_be_bytes()),
            // Our maps have at most a few hundred items, the registers.
            _ => self.tagged(wide + 1, &(len as u32).to_be_bytes()),
        }
    }

    pub(super) fn str(&mut self, text: &str) {
        match text.len() {
            len @ 0..32 => self.0.push(0xa0 | len as u8),
            len @ 32..256 => self.tagged(0xd9, &[len as u8]),
            len @ 256..0x1_0000 => self.tagged(0xda, &(len as u16).to_be_bytes()),
            len => self.tagged(0xdb, &(len as u32).to_be_bytes()),
        }
        self.0.extend_from_slice(text.as_bytes());
    }

    /// A text of fewer than 32 bytes, formatted in place.
    pub(super) fn short(&mut self, text: impl Display) {
        let head = self.0.len();
        // Formatting into memory cannot fail.
        _ = write!(self.0, "\0{text}");
        let len = self.0.len() - head - 1;
        self.0[head] = 0xa0 | len as u8;
    }

    pub(super) fn uint(&mut self, value: u64) {
        match value {
            0..0x80 => self.0.push(value as u8),
            0x80..0x100 => self.tagged(0xcc, &[value as u8]),
            0x100..0x1_0000 => self.tagged(FIXED_UINT_16, &(value as u16).to_be_bytes()),
            0x1_0000..0x1_0000_0000 => self.tagged(FIXED_UINT, &(value as u32).to_be_bytes()),
            _ => self.tagged(FIXED_UINT_64, &value.to_be_bytes()),
        }
    }

    /// Writes a number as 32 bits whatever its value, so that it can be overwritten later. Returns its offset.
    pub(super) fn fixed_uint(&mut self, value: u32) -> usize {
        self.tagged(FIXED_UINT, &value.to_be_bytes());
        self.0.len() - 4
    }

    /// Writes a value as an array of numbers: the size of its postcard encoding in bytes, then the encoding in 64-bit
    /// numbers of eight bytes each, the last one padded with zeros. LLVM's tools cannot print a binary value.
    ///
    /// # Errors
    /// The value has no such form.
    pub(super) fn postcard(&mut self, value: &impl Serialize) -> Result<(), postcard::Error> {
        let bytes = postcard::to_extend(value, Vec::with_capacity(512))?;
        self.array(1 + bytes.len().div_ceil(BYTES));
        self.uint(bytes.len() as u64);
        for bytes in bytes.chunks(BYTES) {
            let mut word = [0; BYTES];
            word[..bytes.len()].copy_from_slice(bytes);
            self.tagged(FIXED_UINT_64, &word);
        }
        Ok(())
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.0.push(if value { 0xc3 } else { 0xc2 });
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value;

    #[test]
    fn the_edges_of_every_form_read_back() {
        let numbers = [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let texts: Vec<String> = [0, 31, 32, 255, 256, 70_000].iter().map(|&n| "x".repeat(n)).collect();
        for long in [0usize, 15, 16, 0x1_0000] {
            let mut out = Writer::default();
            out.array(5);
            out.array(numbers.len());
            numbers.iter().for_each(|&n| out.uint(n));
            out.array(texts.len());
            texts.iter().for_each(|t| out.str(t));
            out.array(long);
            (0..long).for_each(|_| out.bool(true));
            out.map(long);
            (0..long as u64).for_each(|i| {
                out.uint(i);
                out.bool(false);
            });
            out.array(texts.len());
            texts.iter().for_each(|t| out.postcard(t).unwrap());
            let bytes = out.finish();
            let mut rest = bytes.as_slice();
            let value = rmpv::decode::read_value(&mut rest).unwrap();
            assert!(rest.is_empty());
            assert_eq!(value[0], Value::Array(numbers.iter().map(|&n| n.into()).collect()));
            assert_eq!(value[1], Value::Array(texts.iter().map(|t| t.as_str().into()).collect()));
            assert_eq!(value[2].as_array().unwrap().len(), long);
            assert_eq!(value[3].as_map().unwrap().len(), long);
            for (text, bytes) in texts.iter().zip(value[4].as_array().unwrap()) {
                let numbers: Vec<u64> = bytes.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
                let mut bytes: Vec<u8> = numbers[1..].iter().flat_map(|n| n.to_be_bytes()).collect();
                assert!(bytes.len() - (numbers[0] as usize) < BYTES);
                bytes.truncate(numbers[0] as usize);
                assert_eq!(bytes, postcard::to_stdvec(text).unwrap());
            }
            // rmpv also writes the shortest form; the numbers of `postcard` all have the longest.
            let mut again = Vec::new();
            value.as_array().unwrap()[..4].iter().for_each(|v| rmpv::encode::write_value(&mut again, v).unwrap());
            assert!(bytes[1..].starts_with(&again), "not the bytes that rmpv writes");
        }
    }
}

//! Writes into memory of a precomputed size, such as a caller's buffer.
//!
//! Bytes that do not fit are dropped and remembered, so that only the end needs a check: a wrong size is an internal
//! error.

use crate::error::{Error, Result};

/// Memory that is filled from start to end.
pub struct FixedWriter<'a> {
    /// Not yet filled.
    rest: &'a mut [u8],
    size: usize,
    /// Something did not fit.
    short: bool,
}

impl<'a> FixedWriter<'a> {
    /// Writes from the start of `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { size: bytes.len(), rest: bytes, short: false }
    }

    /// Bytes written so far.
    pub fn at(&self) -> usize {
        self.size - self.rest.len()
    }

    /// The next bytes, to be filled by the caller.
    #[inline]
    pub fn take(&mut self, count: usize) -> &mut [u8] {
        match self.rest.split_off_mut(..count) {
            Some(next) => next,
            None => {
                self.short = true;
                &mut []
            }
        }
    }

    /// Writes bytes, if they fit.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        let next = self.take(bytes.len());
        if next.len() == bytes.len() {
            next.copy_from_slice(bytes);
        }
    }

    /// Writes a known number of bytes: a few stores instead of a call.
    #[inline]
    pub fn array<const N: usize>(&mut self, bytes: &[u8; N]) {
        if let Some(next) = self.take(N).first_chunk_mut::<N>() {
            *next = *bytes;
        }
    }

    /// Writes little-endian 32-bit words in one go.
    #[inline]
    pub fn words<const N: usize>(&mut self, words: [u32; N]) {
        let (next, _) = self.take(4 * N).as_chunks_mut::<4>();
        // The constant size compiles to a few stores instead of a call.
        if let Some(next) = next.first_chunk_mut::<N>() {
            *next = words.map(u32::to_le_bytes);
        }
    }

    /// Writes zeros up to `end`, an offset from the start.
    pub fn zeros_to(&mut self, end: usize) {
        if let Some(count @ 1..) = end.checked_sub(self.at()) {
            self.take(count).fill(0);
        }
    }

    /// # Errors
    /// Bug: the memory is not full, or was too small.
    pub fn finish(self, what: &str) -> Result<()> {
        if self.rest.is_empty() && !self.short {
            return Ok(());
        }
        Err(Error::bug(format!("{what}: {} bytes written of {}, too small: {}", self.at(), self.size, self.short)))
    }
}

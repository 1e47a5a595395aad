//! Writes into memory of a precomputed size, such as a caller's buffer.
//!
//! Bytes that do not fit are dropped and remembered, so that only the end needs a check: a wrong size is an internal
//! error.

use crate::error::{Error, Result};

/// Memory that is filled from start to end.
pub(crate) struct FixedWriter<'a> {
    bytes: &'a mut [u8],
    at: usize,
    /// Something did not fit.
    short: bool,
}

impl<'a> FixedWriter<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0, short: false }
    }

    /// Bytes written so far.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next bytes, to be filled by the caller.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &mut [u8] {
        let end = self.at.saturating_add(count);
        match self.bytes.get_mut(self.at..end) {
            Some(next) => {
                self.at = end;
                next
            }
            None => {
                self.short = true;
                &mut []
            }
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let next = self.take(bytes.len());
        if next.len() == bytes.len() {
            next.copy_from_slice(bytes);
        }
    }

    /// Writes little-endian 32-bit words in one go.
    #[inline]
    pub(crate) fn words<const N: usize>(&mut self, words: [u32; N]) {
        let (next, _) = self.take(4 * N).as_chunks_mut::<4>();
        // The constant size compiles to a few stores instead of a call.
        if let Some(next) = next.first_chunk_mut::<N>() {
            *next = words.map(u32::to_le_bytes);
        }
    }

    /// Writes zeros up to `end`, an offset from the start.
    pub(crate) fn zeros_to(&mut self, end: usize) {
        self.take(end.saturating_sub(self.at)).fill(0);
    }

    /// # Errors
    /// Bug: the memory is not full, or was too small.
    pub(crate) fn finish(self, what: &str) -> Result<()> {
        if self.at == self.bytes.len() && !self.short {
            return Ok(());
        }
        Err(Error::bug(format!("{what}: {} bytes written of {}, too small: {}", self.at, self.bytes.len(), self.short)))
    }
}

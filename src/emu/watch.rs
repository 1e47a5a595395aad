//! What waves tell each other through memory or LDS across a barrier: what a wave stored and had not waited for when it came
//! there, no other wave may read until the next one.
//!
//! Only where several waves make a workgroup; memory and LDS have one of these each.

use super::waits::{Counter, Outstanding};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes that were stored, by their addresses.
pub type Stored = Range<u64>;

/// Stores of the waves of a workgroup.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    on: bool,
    /// Of the instruction that is executed.
    log: Vec<Stored>,
    /// First byte to end, the wave, and what to say.
    unsettled: BTreeMap<u64, (u64, usize, String)>,
    /// The wave that is executed.
    wave: usize,
}

impl Watch {
    /// Begins, or ends.
    pub fn set(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    /// Another wave's turn.
    pub fn turn(&mut self, wave: usize) {
        self.wave = wave;
    }

    /// Bytes are stored.
    pub fn store(&mut self, address: u64, bytes: usize) {
        if self.on {
            self.log.push(address..address.saturating_add(bytes as u64));
        }
    }

    /// What was stored since this was last asked.
    pub fn take(&mut self) -> Vec<Stored> {
        std::mem::take(&mut self.log)
    }

    /// Bytes are loaded.
    ///
    /// # Errors
    /// Malformed: another wave had not waited for what it stored there.
    pub fn load(&self, address: u64, bytes: usize) -> Result<()> {
        if self.unsettled.is_empty() {
            return Ok(());
        }
        let end = address.saturating_add(bytes as u64);
        // Stores are of 16 bytes at most.
        let near = self.unsettled.range(address.saturating_sub(16)..end);
        match near.into_iter().find(|(_, (stored, wave, _))| *stored > address && *wave != self.wave) {
            None => Ok(()),
            Some((_, (_, wave, what))) => Err(Error::malformed(format!(
                "{bytes} bytes at {address:#x} are loaded, and wave {wave} came to the barrier before {what} was waited for"
            ))),
        }
    }

    /// At a barrier: what was unsettled before is not any more.
    pub fn settle(&mut self) {
        self.unsettled.clear();
    }

    /// What a wave brings to the barrier.
    pub fn bring(&mut self, wave: usize, counter: Counter, from: &Outstanding, stored: &[Stored]) {
        for range in stored {
            let what = format!("{} at {:#x} ({})", from.mnemonic, from.at, counter.name());
            self.unsettled.insert(range.start, (range.end, wave, what));
        }
    }
}

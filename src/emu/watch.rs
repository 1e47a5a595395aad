//! Checks data that waves exchange through memory or LDS: a store that a wave had not waited for when it reached a
//! barrier must not be read by another wave until the next barrier.
//!
//! Active only if a workgroup has several waves; memory and LDS have one watch each.

use super::waits::Outstanding;
use dovetail_base::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// Address range of stored bytes.
pub type Stored = Range<u64>;

/// Stores of the waves of a workgroup.
#[derive(Clone, Debug, Default)]
pub struct StoreWatch {
    on: bool,
    /// Stores of the current instruction.
    log: Vec<Stored>,
    /// By the first byte.
    unsettled: BTreeMap<u64, Unsettled>,
    /// The running wave.
    wave: usize,
}

/// A store that a wave had not waited for at the barrier.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    /// After the last byte.
    end: u64,
    wave: usize,
    /// The instruction and its address.
    by: (&'static str, u64),
    /// The assembler's name of the counter that counts it.
    counter: &'static str,
}

impl StoreWatch {
    /// Enables or disables the check, and clears it.
    pub fn set(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    /// Switches to another wave.
    pub fn turn(&mut self, wave: usize) {
        self.wave = wave;
    }

    /// Records a store.
    pub fn store(&mut self, address: u64, bytes: usize) {
        if self.on {
            self.log.push(address..address.saturating_add(bytes as u64));
        }
    }

    /// Stores since the last call.
    pub fn take(&mut self) -> Vec<Stored> {
        std::mem::take(&mut self.log)
    }

    /// Checks a load.
    ///
    /// # Errors
    /// Malformed: another wave stored there and had not waited for the store.
    pub fn load(&self, address: u64, bytes: usize) -> Result<()> {
        if self.unsettled.is_empty() {
            return Ok(());
        }
        let end = address.saturating_add(bytes as u64);
        // Stores are at most 16 bytes.
        let near = self.unsettled.range(address.saturating_sub(16)..end);
        match near.map(|(_, store)| store).find(|store| store.end > address && store.wave != self.wave) {
            None => Ok(()),
            Some(Unsettled { wave, by: (mnemonic, at), counter, .. }) => Err(Error::malformed(format!(
                "{bytes} bytes at {address:#x} are loaded, and wave {wave} came to the barrier before {mnemonic} at {at:#x} ({}) was waited for",
                counter
            ))),
        }
    }

    /// At a barrier: settles the stores that were unsettled before.
    pub fn settle(&mut self) {
        self.unsettled.clear();
    }

    /// Records a store that a wave has not waited for at the barrier.
    pub fn bring(&mut self, wave: usize, counter: &'static str, from: &Outstanding, stored: &[Stored]) {
        for range in stored {
            let store = Unsettled { end: range.end, wave, by: (from.mnemonic, from.at), counter };
            self.unsettled.insert(range.start, store);
        }
    }
}

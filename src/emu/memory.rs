//! The memory of the emulated GPU. All allocations are in one window of 4 GiB, so that every address has the same high
//! half as the code's, as drivers arrange it.
//!
//! There is always a gap between two allocations; an access that is not inside one allocation is an error.

use super::watch::StoreWatch;
use dovetail_base::error::{Error, Result};
use std::cell::Cell;

/// Start of the window. It is below 2^47, since descriptors hold 48 bits of an address.
const WINDOW: u64 = 0x7f12_0000_0000;
const GAP: u64 = 0x1000;
/// Alignment in bytes; enough for any descriptor.
const ALIGN: u64 = 256;

/// Allocations by address.
#[derive(Debug, Default)]
pub struct Memory {
    blocks: Vec<Block>,
    /// First and last address of each absent range.
    absent: Vec<(u64, u64)>,
    missed: Cell<bool>,
    /// The table of border colours: words of red, green, blue, alpha.
    borders: Vec<[u32; 4]>,
    /// Checks the data that the waves of a workgroup exchange.
    pub watch: StoreWatch,
}

#[derive(Debug)]
struct Block {
    address: u64,
    bytes: Vec<u8>,
}

impl Block {
    fn end(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }
}

impl Memory {
    /// High half of every address.
    pub const HIGH: u32 = (WINDOW >> 32) as u32;

    /// Allocates `bytes` zeroed bytes.
    ///
    /// # Errors
    /// Environment: the window is full.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        let after = self.blocks.last().map_or(WINDOW, Block::end);
        let address = (after + GAP).next_multiple_of(ALIGN);
        if address + bytes as u64 + GAP > WINDOW + (1 << 32) {
            return Err(Error::environment(format!("the emulator's memory has no room for {bytes} bytes")));
        }
        self.blocks.push(Block { address, bytes: vec![0; bytes] });
        Ok(address)
    }

    /// Marks a range that holds zeros as absent: an unbound page of a sparse image.
    pub fn set_absent(&mut self, address: u64, bytes: usize) {
        self.absent.push((address, address + (bytes as u64).saturating_sub(1)));
    }

    /// Adds a border colour; returns its number in the table.
    ///
    /// # Errors
    /// Unsupported: more colours than a sampler can name.
    pub fn add_border(&mut self, color: [u32; 4]) -> Result<u32> {
        let number = self.borders.iter().position(|one| *one == color).unwrap_or(self.borders.len());
        if number == self.borders.len() {
            self.borders.push(color);
        }
        u32::try_from(number).ok().filter(|n| *n < 1 << 12).ok_or_else(|| Error::unsupported("border colours", ""))
    }

    /// A border colour by its number.
    pub fn border(&self, number: u32) -> Option<[u32; 4]> {
        self.borders.get(number as usize).copied()
    }

    /// Reads the bytes of a texel; zeros if it is absent.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn texel(&self, address: u64, bytes: usize) -> Result<&[u8]> {
        if self.absent.iter().any(|(first, last)| (*first..=*last).contains(&address)) {
            self.missed.set(true);
        }
        self.read(address, bytes)
    }

    /// Whether an absent texel was read since the last call.
    pub fn take_missed(&self) -> bool {
        self.missed.take()
    }

    /// Reads a range.
    ///
    /// # Errors
    /// Malformed: the range is not inside one allocation, or another wave's store to it may not have completed.
    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8]> {
        self.watch.load(address, bytes)?;
        let found = self.block(address).and_then(|index| self.blocks.get(index));
        let range = found.and_then(|block| {
            let from = usize::try_from(address - block.address).ok()?;
            block.bytes.get(from..from.checked_add(bytes)?)
        });
        range.ok_or_else(|| Error::malformed(format!("{bytes} bytes at {address:#x} are in no allocation")))
    }

    /// Mutable bytes of a range.
    ///
    /// # Errors
    /// Malformed: the range is not inside one allocation.
    pub fn slice_mut(&mut self, address: u64, bytes: usize) -> Result<&mut [u8]> {
        self.watch.store(address, bytes);
        let found = self.block(address).and_then(|index| self.blocks.get_mut(index));
        let range = found.and_then(|block| {
            let from = usize::try_from(address - block.address).ok()?;
            block.bytes.get_mut(from..from.checked_add(bytes)?)
        });
        range.ok_or_else(|| Error::malformed(format!("{bytes} bytes at {address:#x} are in no allocation")))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Malformed: the range is not inside one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.slice_mut(address, bytes.len()).map(|to| to.copy_from_slice(bytes))
    }

    /// Reads a dword.
    pub fn dword(&self, address: u64) -> Result<u32> {
        let mut word = [0; 4];
        word.copy_from_slice(self.read(address, 4)?);
        Ok(u32::from_le_bytes(word))
    }

    /// The only block that can hold an address.
    fn block(&self, address: u64) -> Option<usize> {
        self.blocks.partition_point(|block| block.address <= address).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allocations_are_there() {
        let mut memory = Memory::default();
        let [a, b] = [memory.alloc(10).unwrap(), memory.alloc(4).unwrap()];
        assert!(a % ALIGN == 0 && b >= a + 10 + GAP);
        assert_eq!((b >> 32) as u32, Memory::HIGH);
        memory.write(a + 6, &[1, 2, 3, 4]).unwrap();
        assert_eq!(memory.dword(a + 6), Ok(0x0403_0201));
        for (address, bytes) in [(a + 7, 4), (a - 1, 1), (a + 10, 1), (0, 1), (u64::MAX, 2), (a, usize::MAX)] {
            assert!(memory.read(address, bytes).is_err(), "{address:#x}");
        }
    }
}

//! Moves the data of a memory instruction between registers and bytes, as its opcode row says: shared by buffers,
//! addresses and LDS.

use super::wave::Wave;
use dovetail_isa::{OpcodeRow, Traits, Vgpr};

/// One element of an access: registers on one side, bytes in memory on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes in memory: 1, 2, 4, or a multiple of 4.
    pub bytes: usize,
    /// Loads extend the sign.
    pub signed: bool,
    /// The half of the register that is accessed; the other is unchanged. `None`: whole registers.
    pub half: Option<RegisterHalf>,
}

/// A half of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterHalf {
    /// Bits 15:0.
    Low,
    /// Bits 31:16.
    High,
}

/// The element of a plain load or store.
pub fn element(entry: &OpcodeRow) -> Element {
    let bytes = match () {
        () if entry.is(Traits::BYTE) => 1,
        () if entry.is(Traits::HALF) => 2,
        // The operand is a load's result, or a store's data; in an LDS store the data follow the address.
        () => 4 * usize::from(entry.dst.first().or(entry.src.last()).map_or(0, |kind| kind.registers())),
    };
    let half = match () {
        () if entry.is(Traits::HIGH_HALF) => Some(RegisterHalf::High),
        () if entry.is(Traits::LOADS) && entry.is(Traits::PARTIAL) => Some(RegisterHalf::Low),
        () => None,
    };
    Element { bytes, signed: entry.is(Traits::SIGNED), half }
}

impl Element {
    /// The number of registers.
    pub fn registers(self) -> usize {
        self.bytes.div_ceil(4)
    }

    /// Writes loaded bytes to the registers of a lane.
    pub fn put(self, wave: &mut Wave, data: Vgpr, lane: usize, bytes: &[u8]) {
        for (n, part) in bytes.chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            let mut value = u32::from_le_bytes(word);
            let bits = 8 * part.len() as u32;
            if self.signed && bits < 32 {
                value = ((value << (32 - bits)).cast_signed() >> (32 - bits)).cast_unsigned();
            }
            let value = match self.half {
                None => value,
                Some(RegisterHalf::Low) => wave.vgpr(data, n, lane) & 0xffff_0000 | value & 0xffff,
                Some(RegisterHalf::High) => wave.vgpr(data, n, lane) & 0xffff | value << 16,
            };
            wave.set_vgpr(data, n, lane, value);
        }
    }

    /// The bytes that a lane stores.
    pub fn take(self, wave: &Wave, data: Vgpr, lane: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16);
        for n in 0..self.registers() {
            let value = wave.vgpr(data, n, lane);
            let value = if self.half == Some(RegisterHalf::High) { value >> 16 } else { value };
            bytes.extend(value.to_le_bytes());
        }
        bytes.truncate(self.bytes);
        bytes
    }
}

/// Reads 4 or 8 bytes as a number.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

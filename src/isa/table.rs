//! Columns of an opcode table: an instruction's encoding, its name, and the kinds of its operands.
//!
//! The tables are data, one file per encoding under `tables/`. A row lists the registers written and the values read,
//! in assembler order; memory instructions list only their data, because the format determines the other operands. Any
//! other difference between operations is a trait.

use super::{Format, Latency, MachineAtomic, Op, Traits};
use dovetail_base::target::{InstructionSet, WaveSize};

/// Kind of an operand: width, and the meaning of floats, halves and inline constants (isa-gfx10 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperandKind {
    /// 16 bits, the low or high half of a register.
    B16,
    /// 32 bits.
    B32,
    /// A pair.
    B64,
    /// Three registers.
    B96,
    /// Four registers.
    B128,
    /// Eight registers.
    B256,
    /// Sixteen registers.
    B512,
    /// f16, in the low or high half of a register.
    F16,
    /// f32.
    F32,
    /// f64.
    F64,
    /// Two 16-bit integers.
    P16,
    /// Two f16.
    PF16,
    /// One bit per lane: one scalar register in wave32, a pair in wave64.
    Mask,
    /// A matrix of 16 times 16 sums, spread over the lanes: eight registers in wave32, four in wave64.
    Tile,
    /// A matrix of half as many bits.
    HalfTile,
    /// A matrix of a quarter as many bits.
    QuarterTile,
    /// 32 registers.
    B1024,
}

impl OperandKind {
    /// Number of registers in a wave of this size.
    pub const fn registers_in(self, wave: WaveSize) -> u8 {
        match (self, wave) {
            (Self::Mask, WaveSize::W64) => 2,
            (Self::Tile | Self::HalfTile | Self::QuarterTile, WaveSize::W32) => 2 * self.registers(),
            _ => self.registers(),
        }
    }

    /// Number of registers; the least, if it depends on the wave size.
    pub const fn registers(self) -> u8 {
        match self {
            Self::B16 | Self::B32 | Self::F16 | Self::F32 | Self::P16 | Self::PF16 | Self::Mask | Self::QuarterTile => {
                1
            }
            Self::B64 | Self::F64 | Self::HalfTile => 2,
            Self::B96 => 3,
            Self::B128 | Self::Tile => 4,
            Self::B256 => 8,
            Self::B512 => 16,
            Self::B1024 => 32,
        }
    }

    /// Whether sign and size modifiers apply to floats here.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::PF16)
    }

    /// Whether it is a matrix, or a part of one.
    pub const fn is_matrix(self) -> bool {
        matches!(self, Self::Tile | Self::HalfTile | Self::QuarterTile)
    }

    /// Whether it is half a register, selected by `op_sel`.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::B16 | Self::F16)
    }
}

/// Some of the instruction sets, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Members(u32);

impl Members {
    /// All that share a table.
    pub(super) const ALL: Self = Self(u32::MAX);

    /// Of these, the ones in a list.
    pub(super) const fn only(self, sets: &[InstructionSet]) -> Self {
        let (mut bits, mut n) = (0, 0);
        while n < sets.len() {
            bits |= 1 << sets[n] as u32;
            n += 1;
        }
        Self(self.0 & bits)
    }

    /// Whether one is among them.
    pub(super) const fn has(self, set: InstructionSet) -> bool {
        self.0 >> set as u32 & 1 == 1
    }
}

/// A row of an opcode table.
#[derive(Debug)]
pub struct OpcodeRow {
    /// The operation.
    pub op: Op,
    /// Encoding format.
    pub format: Format,
    /// Opcode in the format.
    pub number: u16,
    /// The assembler's name, without the suffix of an encoding.
    pub mnemonic: &'static str,
    /// Registers written: the result, then a mask.
    pub dst: &'static [OperandKind],
    /// Values read.
    pub src: &'static [OperandKind],
    /// Latency class of the result.
    pub latency: Latency,
    /// Properties other than operands.
    pub traits: Traits,
    /// Operation of an atomic, at most one.
    pub(super) atomic: &'static [MachineAtomic],
    /// Length in dwords without literal, DPP or SDWA dword and without extra image addresses.
    pub dwords: u8,
    /// The instruction sets of the table's encoding that have it.
    pub(super) members: Members,
}

impl PartialEq for OpcodeRow {
    /// A table has one row for each operation, and an instruction set one table.
    fn eq(&self, other: &Self) -> bool {
        (self.op, self.format, self.number) == (other.op, other.format, other.number)
    }
}

impl Eq for OpcodeRow {}

impl OpcodeRow {
    /// Whether it has any of these traits.
    pub const fn is(&self, traits: Traits) -> bool {
        self.traits.any(traits)
    }

    /// Operation of an atomic on a memory cell; `None` if there is no single one.
    pub fn atomic(&self) -> Option<MachineAtomic> {
        self.atomic.first().copied()
    }

    /// Number of data registers that a memory instruction moves.
    pub fn data_registers(&self) -> u8 {
        self.dst.first().or(self.src.first()).map_or(0, |kind| kind.registers())
    }

    /// The same in a wave of this size.
    pub fn data_registers_in(&self, wave: WaveSize) -> u8 {
        self.dst.first().or(self.src.first()).map_or(0, |kind| kind.registers_in(wave))
    }

    /// For an LDS operation with two offsets: bytes of an element, and bytes per offset unit.
    pub fn two_offsets(&self) -> Option<(u32, u32)> {
        let bytes = |kind: OperandKind| 4 * u32::from(kind.registers());
        // A load's result holds both elements; each source after the address holds one.
        let each = if self.src.len() > 1 { bytes(self.src_kind(1)) } else { bytes(self.dst_kind(0)) / 2 };
        let unit = if self.is(Traits::STRIDE_64) { 64 * each } else { each };
        self.is(Traits::TWO_OFFSETS).then_some((each, unit))
    }

    /// The kind of a result, 32 bits if the row has none.
    pub fn dst_kind(&self, i: usize) -> OperandKind {
        self.dst.get(i).copied().unwrap_or(OperandKind::B32)
    }

    /// The kind of a source, 32 bits if the row has none.
    pub fn src_kind(&self, i: usize) -> OperandKind {
        self.src.get(i).copied().unwrap_or(OperandKind::B32)
    }

    /// Whether the second result is a mask, whose register replaces `abs` and `op_sel` in the long form (VOP3B).
    pub fn has_mask_result(&self) -> bool {
        self.dst.len() > 1
    }
}

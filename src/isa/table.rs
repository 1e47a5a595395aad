//! What an opcode table says about an instruction: its place in the encoding, its name, and the shape of its operands.
//!
//! The tables themselves are data, one file a generation under `tables/`. A row gives registers written and values read in
//! the order in which the assembler writes them; memory instructions give their data alone, the rest of their operands
//! follows from the format. Everything else that tells one operation from another is a trait.

use super::{AtomicOp, Format, Latency, Op, Traits};

/// How an operand is read or written: width, and what floats, halves and inline constants mean in it (isa-gfx10 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
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
    /// A half-precision float, the low or high half of a register.
    F16,
    /// A single-precision float.
    F32,
    /// A double-precision float.
    F64,
    /// Two 16-bit integers.
    P16,
    /// Two half-precision floats.
    PF16,
    /// A bit for each lane: one scalar register in wave32, a pair in wave64.
    Mask,
}

impl Kind {
    /// Registers it takes; a mask as in wave32.
    pub const fn registers(self) -> u8 {
        match self {
            Self::B16 | Self::B32 | Self::F16 | Self::F32 | Self::P16 | Self::PF16 | Self::Mask => 1,
            Self::B64 | Self::F64 => 2,
            Self::B96 => 3,
            Self::B128 => 4,
            Self::B256 => 8,
            Self::B512 => 16,
        }
    }

    /// Whether sign and size modifiers mean floats here.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::PF16)
    }

    /// Half a register, chosen by `op_sel`.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::B16 | Self::F16)
    }
}

/// A row of an opcode table.
#[derive(Debug)]
pub struct Entry {
    /// The operation.
    pub op: Op,
    /// The encoding.
    pub format: Format,
    /// The opcode in it.
    pub number: u16,
    /// The assembler's name, without the suffix of an encoding.
    pub mnemonic: &'static str,
    /// Registers written: the result, then a mask.
    pub dst: &'static [Kind],
    /// Values read.
    pub src: &'static [Kind],
    /// How long the result takes.
    pub latency: Latency,
    /// What the operands do not say.
    pub traits: Traits,
    /// What an atomic does, at most one.
    pub(super) atomic: &'static [AtomicOp],
}

impl PartialEq for Entry {
    /// A table has one row for each operation, and a generation one table.
    fn eq(&self, other: &Self) -> bool {
        (self.op, self.format, self.number) == (other.op, other.format, other.number)
    }
}

impl Eq for Entry {}

impl Entry {
    /// Whether it has any of these traits.
    pub const fn is(&self, traits: Traits) -> bool {
        self.traits.any(traits)
    }

    /// What an atomic does with a memory cell, where there is one such thing.
    pub fn atomic(&self) -> Option<AtomicOp> {
        self.atomic.first().copied()
    }

    /// Registers of the data that a memory instruction moves.
    pub fn data_registers(&self) -> u8 {
        self.dst.first().or(self.src.first()).map_or(0, |kind| kind.registers())
    }

    /// Of an LDS operation with two offsets: the bytes of an element, and of a unit of the offsets.
    pub fn two_offsets(&self) -> Option<(u32, u32)> {
        let bytes = |kind: Kind| 4 * u32::from(kind.registers());
        // A load's result holds both elements, each source after the address one.
        let each = if self.src.len() > 1 { bytes(self.src_kind(1)) } else { bytes(self.dst_kind(0)) / 2 };
        let unit = if self.is(Traits::STRIDE_64) { 64 * each } else { each };
        self.is(Traits::TWO_OFFSETS).then_some((each, unit))
    }

    /// The kind of a result, 32 bits where the row has none.
    pub fn dst_kind(&self, i: usize) -> Kind {
        self.dst.get(i).copied().unwrap_or(Kind::B32)
    }

    /// The kind of a source, 32 bits where the row has none.
    pub fn src_kind(&self, i: usize) -> Kind {
        self.src.get(i).copied().unwrap_or(Kind::B32)
    }

    /// The second result is a mask, whose register takes the place of `abs` and `op_sel` in the long form (VOP3B).
    pub fn has_mask_result(&self) -> bool {
        self.dst.len() > 1
    }
}

//! Types of values: number of bits and lanes. The operation decides what the bits mean.

use std::fmt;

/// Width of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bits {
    /// A boolean.
    B1,
    /// 8 bits.
    B8,
    /// 16 bits; as a float, f16.
    B16,
    /// 32 bits; as a float, f32.
    B32,
    /// 64 bits; as a float, f64.
    B64,
}

impl Bits {
    /// The width in bits.
    pub const fn count(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::B8 => 8,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 => 64,
        }
    }

    /// Bytes in memory. A boolean has no memory representation; it is stored as 32 bits.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::B1 | Self::B32 => 4,
            Self::B8 => 1,
            Self::B16 => 2,
            Self::B64 => 8,
        }
    }

    /// The width with this many bits.
    pub const fn from_count(n: u32) -> Option<Self> {
        Some(match n {
            1 => Self::B1,
            8 => Self::B8,
            16 => Self::B16,
            32 => Self::B32,
            64 => Self::B64,
            _ => return None,
        })
    }

    /// All ones in this width.
    pub const fn mask(self) -> u64 {
        match self {
            Self::B64 => u64::MAX,
            _ => (1 << self.count()) - 1,
        }
    }
}

/// A scalar (one lane) or a small vector. Text form: `b32`, `b32x4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    bits: Bits,
    lanes: u8,
}

impl Type {
    /// A boolean.
    pub const B1: Self = Self::scalar(Bits::B1);
    /// 8 bits.
    pub const B8: Self = Self::scalar(Bits::B8);
    /// 16 bits.
    pub const B16: Self = Self::scalar(Bits::B16);
    /// 32 bits.
    pub const B32: Self = Self::scalar(Bits::B32);
    /// 64 bits.
    pub const B64: Self = Self::scalar(Bits::B64);
    /// Two halves of a dword.
    pub const B16X2: Self = Self { bits: Bits::B16, lanes: 2 };
    /// A buffer descriptor (V#), a sampler (S#) or a texel buffer.
    pub const DESC4: Self = Self { bits: Bits::B32, lanes: 4 };
    /// An image descriptor (T#).
    pub const DESC8: Self = Self { bits: Bits::B32, lanes: 8 };

    /// A scalar of this width.
    pub const fn scalar(bits: Bits) -> Self {
        Self { bits, lanes: 1 }
    }

    /// A vector; 1 to 16 lanes, or `None`.
    pub const fn vector(bits: Bits, lanes: u32) -> Option<Self> {
        if lanes == 0 || lanes > 16 { None } else { Some(Self { bits, lanes: lanes as u8 }) }
    }

    /// Width of one lane.
    pub const fn bits(self) -> Bits {
        self.bits
    }

    /// Number of lanes; 1 is a scalar.
    pub const fn lanes(self) -> u32 {
        self.lanes as u32
    }

    /// Whether there is only one lane.
    pub const fn is_scalar(self) -> bool {
        self.lanes == 1
    }

    /// Whether it is [`Type::B16X2`].
    pub const fn is_pair(self) -> bool {
        matches!(self, Self { bits: Bits::B16, lanes: 2 })
    }

    /// Bits of all lanes together.
    pub const fn total_bits(self) -> u32 {
        self.bits.count() * self.lanes as u32
    }

    /// Bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits.bytes() * self.lanes as u32
    }

    /// One lane of this type.
    pub const fn element(self) -> Self {
        Self::scalar(self.bits)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.bits.count())?;
        if self.lanes > 1 {
            write!(f, "x{}", self.lanes)?;
        }
        Ok(())
    }
}

/// An alignment in bytes, stored as an exponent, so that it is always a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Align(u8);

impl Align {
    /// Byte-aligned.
    pub const A1: Self = Self(0);
    /// Two bytes.
    pub const A2: Self = Self(1);
    /// A dword.
    pub const A4: Self = Self(2);
    /// Two dwords.
    pub const A8: Self = Self(3);
    /// Four dwords.
    pub const A16: Self = Self(4);

    /// The largest power of two (up to 256) that divides `offset`, for example the alignment left after a constant
    /// offset.
    pub const fn of_offset(offset: u32) -> Self {
        let z = offset.trailing_zeros();
        Self(if z > 8 { 8 } else { z as u8 })
    }

    /// Exactly this many bytes; `None` unless it is a power of two up to 256.
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        if bytes.is_power_of_two() && bytes <= 256 { Some(Self(bytes.trailing_zeros() as u8)) } else { None }
    }

    /// Alignment in bytes.
    pub const fn bytes(self) -> u32 {
        1 << self.0
    }
}

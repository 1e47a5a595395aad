//! Targets of exports (MRT, depth, position, parameter), and the components that an export reads.

use super::Vgpr;
use super::instruction::ExportFields;
use std::fmt;

/// Target of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpTarget {
    /// Colour target 0 to 7.
    Mrt(u8),
    /// Depth, stencil, sample mask.
    Mrtz,
    /// No target: only ends the shader's exports.
    Null,
    /// Position vector 0 to 4.
    Pos(u8),
    /// Primitive.
    Prim,
    /// First or second colour of a blend of two, 0 or 1.
    DualSource(u8),
    /// Parameter 0 to 31.
    Param(u8),
}

impl ExpTarget {
    /// The target with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0..=7 => Self::Mrt(number),
            8 => Self::Mrtz,
            9 => Self::Null,
            12..=16 => Self::Pos(number - 12),
            20 => Self::Prim,
            21 | 22 => Self::DualSource(number - 21),
            32..=63 => Self::Param(number - 32),
            _ => return None,
        })
    }

    /// Its number; `None` if the index is too large.
    pub fn number(self) -> Option<u8> {
        let (first, index, count) = match self {
            Self::Mrt(n) => (0, n, 8),
            Self::Mrtz => (8, 0, 1),
            Self::Null => (9, 0, 1),
            Self::Pos(n) => (12, n, 5),
            Self::Prim => (20, 0, 1),
            Self::DualSource(n) => (21, n, 2),
            Self::Param(n) => (32, n, 32),
        };
        (index < count).then_some(first + index)
    }
}

impl fmt::Display for ExpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mrt(n) => write!(f, "mrt{n}"),
            Self::Mrtz => f.write_str("mrtz"),
            Self::Null => f.write_str("null"),
            Self::Pos(n) => write!(f, "pos{n}"),
            Self::Prim => f.write_str("prim"),
            Self::DualSource(n) => write!(f, "dual_src_blend{n}"),
            Self::Param(n) => write!(f, "param{n}"),
        }
    }
}

/// Sources of an export; a missing one is `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpSources {
    /// Four dwords.
    Full([Option<Vgpr>; 4]),
    /// Two dwords of two 16-bit channels each (`compr`).
    Packed([Option<Vgpr>; 2]),
}

impl ExpSources {
    /// The registers that are read, in order.
    pub fn registers(self) -> [Option<Vgpr>; 4] {
        match self {
            Self::Full(list) => list,
            Self::Packed([a, b]) => [a, b, None, None],
        }
    }
}

impl ExportFields {
    /// Sources of the export.
    pub fn sources(&self) -> ExpSources {
        let source = |i: usize, mask: u8| (self.enabled & mask != 0).then_some(self.data[i]);
        match self.compr {
            true => ExpSources::Packed([source(0, 0x3), source(1, 0xc)]),
            false => ExpSources::Full([source(0, 1), source(1, 2), source(2, 4), source(3, 8)]),
        }
    }
}

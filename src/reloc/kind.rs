//! The relocation kinds of AMDGPU objects: one table of number, name, width and meaning.
//!
//! The table has the kinds that PAL's loader applies (pal-abi 3.5), and Dovetail's own for unlinked ELFs, which only its
//! linker reads; other kinds are an error. A new kind is a line in the table, and an arm in [`super::apply`]
//! if it computes something new.

use dovetail_base::error::{Error, Result};
use std::fmt;

/// A relocation kind, by its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the ABI's own")]
pub enum RelocKind {
    Abs32Lo,
    Abs32Hi,
    Abs64,
    Rel32,
    Rel64,
    Abs32,
    Rel32Lo,
    Rel32Hi,
    Rel16,
    SmemOffset,
    Choice,
    Table,
    Join,
    Optional,
    Distance,
}

/// Value that is stored: a part of S + A, or of S + A - P.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calculation {
    /// S + A
    Absolute,
    /// S + A - P
    Relative,
    /// (S + A - P - 4) / 4: a branch's distance in instructions, from the instruction after it.
    Branch,
    /// S + A in the 20 bits of a scalar load's non-negative immediate offset. A is the offset in place.
    Offset,
    /// The first source of an `s_cselect_b32` if S is not 0, else the second, as an `s_mov_b32`.
    Choice,
    /// The address of a scalar load: that in its offset register and the next one if S is not 0, else its own. The load
    /// has no offset register after that.
    Table,
    /// Nothing: it says which instructions the code may do without.
    Nothing,
}

/// Part of the result that is stored, and the condition on the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// The low half; another relocation stores the rest.
    Low,
    /// The high half.
    High,
    /// All of it; it must fit as a signed or unsigned number.
    Either,
    /// All of it; it must fit as a signed number.
    Signed,
}

/// Lowest number of Dovetail's own kinds; AMDGPU's end at 14.
const OWN: u32 = 0xe0;

struct Row {
    kind: RelocKind,
    number: u32,
    name: &'static str,
    bytes: u32,
    calculation: Calculation,
    range: Range,
}

const fn row(
    kind: RelocKind,
    number: u32,
    name: &'static str,
    bytes: u32,
    calculation: Calculation,
    range: Range,
) -> Row {
    Row { kind, number, name, bytes, calculation, range }
}

const TABLE: [Row; 15] = {
    use Calculation::{Absolute, Branch, Choice as Chosen, Nothing, Offset, Relative, Table as Tables};
    use Range::{Either, High, Low, Signed};
    use RelocKind::{Abs32, Abs32Hi, Abs32Lo, Abs64, Choice, Distance, Join, Optional, Rel16, Rel32, Rel32Hi, Rel32Lo};
    use RelocKind::{Rel64, SmemOffset, Table};
    [
        row(Abs32Lo, 1, "R_AMDGPU_ABS32_LO", 4, Absolute, Low),
        row(Abs32Hi, 2, "R_AMDGPU_ABS32_HI", 4, Absolute, High),
        row(Abs64, 3, "R_AMDGPU_ABS64", 8, Absolute, Either),
        row(Rel32, 4, "R_AMDGPU_REL32", 4, Relative, Signed),
        row(Rel64, 5, "R_AMDGPU_REL64", 8, Relative, Signed),
        row(Abs32, 6, "R_AMDGPU_ABS32", 4, Absolute, Either),
        row(Rel32Lo, 10, "R_AMDGPU_REL32_LO", 4, Relative, Low),
        row(Rel32Hi, 11, "R_AMDGPU_REL32_HI", 4, Relative, High),
        row(Rel16, 14, "R_AMDGPU_REL16", 2, Branch, Signed),
        row(SmemOffset, OWN, "R_DOVETAIL_SMEM_OFFSET", 4, Offset, Either),
        row(Choice, OWN + 1, "R_DOVETAIL_CHOICE", 4, Chosen, Either),
        row(Table, OWN + 2, "R_DOVETAIL_TABLE", 8, Tables, Either),
        row(Join, OWN + 3, "R_DOVETAIL_JOIN", 8, Nothing, Either),
        row(Optional, OWN + 4, "R_DOVETAIL_OPTIONAL", 4, Nothing, Either),
        row(Distance, OWN + 5, "R_DOVETAIL_DISTANCE", 4, Nothing, Either),
    ]
};

impl RelocKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|r| r.kind)
    }

    /// The kind with this ELF number.
    ///
    /// # Errors
    /// Unsupported: PAL does not apply it either.
    pub fn from_number(number: u32) -> Result<Self> {
        TABLE
            .iter()
            .find(|r| r.number == number)
            .map(|r| r.kind)
            .ok_or_else(|| Error::unsupported(format!("relocation kind {number}"), "PAL applies no such kind"))
    }

    fn row(self) -> &'static Row {
        // The table is in the order of the enum, which a test checks.
        &TABLE[self as usize]
    }

    /// Whether PAL's loader applies it.
    pub fn is_loaded(self) -> bool {
        self.number() < OWN
    }

    /// ELF number.
    pub fn number(self) -> u32 {
        self.row().number
    }

    /// Number of patched bytes.
    pub fn bytes(self) -> u32 {
        self.row().bytes
    }

    /// The calculation.
    pub fn calculation(self) -> Calculation {
        self.row().calculation
    }

    /// The part that is stored.
    pub fn range(self) -> Range {
        self.row().range
    }
}

impl fmt::Display for RelocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_numbers_are_unique() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, i, "{}", row.name);
            assert_eq!(RelocKind::from_number(row.number).unwrap(), row.kind);
            assert_eq!(row.kind.to_string(), row.name);
        }
        assert!(RelocKind::from_number(7).is_err());
    }
}

//! Opcode tables, by generation, with lookup by operation and by number.

use super::Format;
use super::table::OpcodeRow;
use crate::target::{Family, Gpu};
pub use gfx1030::Op;
use std::sync::LazyLock;

/// Declares a table, and the operations in it.
macro_rules! opcodes {
    ($($op:ident $format:ident $number:literal $name:literal
       [$($dst:ident)*] [$($src:ident)*] $latency:ident [$($of:ident)*] $(=> $atomic:ident)?;)*) => {
        /// An operation, by the assembler's name for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "each is its own mnemonic")]
        pub enum Op { $($op,)* }

        /// Rows by operation.
        pub(super) static ENTRIES: &[$crate::isa::OpcodeRow] = &[$(
            $crate::isa::OpcodeRow {
                op: Op::$op,
                format: $crate::isa::Format::$format,
                number: $number,
                mnemonic: $name,
                dst: &[$($crate::isa::OperandKind::$dst,)*],
                src: &[$($crate::isa::OperandKind::$src,)*],
                latency: $crate::isa::Latency::$latency,
                traits: $crate::isa::Traits::NONE$(.or($crate::isa::Traits::$of))*,
                atomic: &[$($crate::isa::MachineAtomic::$atomic)?],
            },
        )*];
    };
}

mod gfx1030;

/// Offsets of the long forms of VOP1 and VOP2 among the opcodes of VOP3; VOPC begins at 0.
const VOP1_IN_VOP3: u16 = 384;
const VOP2_IN_VOP3: u16 = 256;

/// The rows of a family's operations.
pub const fn rows(family: Family) -> &'static [OpcodeRow] {
    match family {
        Family::Gfx103 => gfx1030::ENTRIES,
    }
}

impl Op {
    /// Its row.
    pub fn entry(self, gfx: Gpu) -> &'static OpcodeRow {
        // Rows and operations come from the same lines, so they have the same order.
        &rows(gfx.family())[self as usize]
    }
}

/// The opcode of a row in VOP3: its own, or that of its long form.
pub(super) fn long_number(entry: &OpcodeRow) -> u16 {
    match entry.format {
        Format::Vop1 => VOP1_IN_VOP3 + entry.number,
        Format::Vop2 => VOP2_IN_VOP3 + entry.number,
        _ => entry.number,
    }
}

/// Rows by format and number; a row with a long form is also listed under VOP3.
struct ByNumber(Vec<Vec<Option<&'static OpcodeRow>>>);

impl ByNumber {
    fn new(rows: &'static [OpcodeRow]) -> Self {
        let mut table = vec![Vec::new(); Format::ALL.len()];
        let mut put = |format: Format, number: u16, row| {
            let Some(numbers): Option<&mut Vec<_>> = table.get_mut(format as usize) else { return };
            let number = usize::from(number);
            numbers.resize(numbers.len().max(number + 1), None);
            numbers[number] = Some(row);
        };
        for row in rows {
            put(row.format, row.number, row);
            if row.format.is_short_vector() && !row.is(super::Traits::NO_LONG) {
                put(Format::Vop3, long_number(row), row);
            }
        }
        Self(table)
    }
}

/// The row of a number; for VOP3 also rows of the short formats that have long forms.
pub(super) fn entry(gfx: Gpu, format: Format, number: u16) -> Option<&'static OpcodeRow> {
    static GFX103: LazyLock<ByNumber> = LazyLock::new(|| ByNumber::new(rows(Family::Gfx103)));
    let ByNumber(table) = match gfx.family() {
        Family::Gfx103 => &*GFX103,
    };
    table.get(format as usize)?.get(usize::from(number)).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The table of all opcodes that the disassembler knows.
    const GFX1030: &str = include_str!("../../../testdata/isa/opcodes-gfx1030.tsv");

    fn rows() -> impl Iterator<Item = (&'static str, u16, &'static str)> {
        GFX1030.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            (columns[0], columns[1].parse().expect("a number"), columns[2])
        })
    }

    #[test]
    fn every_number_has_the_disassemblers_name() {
        for (format, number, mnemonic) in rows() {
            let format = *Format::ALL.iter().find(|f| f.name() == format).expect("a format");
            let found = entry(Gpu::Gfx1030, format, number).map(|row| row.mnemonic);
            assert_eq!(found, Some(mnemonic), "{format} {number}");
        }
    }

    #[test]
    fn rows_are_the_disassemblers_and_in_order() {
        let known: BTreeMap<(&str, u16), &str> = rows().map(|(f, n, m)| ((f, n), m)).collect();
        let rows = super::rows(Family::Gfx103);
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(known.get(&(row.format.name(), row.number)), Some(&row.mnemonic));
            assert_eq!(row.op as usize, n);
            assert_eq!(row.op.entry(Gpu::Gfx1030), row);
        }
        assert!(rows.is_sorted_by_key(|row| (row.format, row.number)));
    }
}

//! Opcode tables, by generation.

mod gfx1030;

use super::table::{Entry, Kind};
use super::{Format, Op};
use crate::target::GfxIp;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Where the VOP2 numbers begin among those of VOP3: every VOP2 instruction has its long form there.
pub(super) const VOP2_IN_VOP3: u32 = 256;

const fn row(format: Format, number: u16, mnemonic: &'static str, dst: &'static [Kind], src: &'static [Kind]) -> Entry {
    Entry { format, number, mnemonic, dst, src }
}

const fn entries(gfx: GfxIp) -> &'static [Entry] {
    match gfx {
        GfxIp::Gfx1030 => gfx1030::ENTRIES,
    }
}

/// The number of an instruction in its own format (a VOP2 number, not that of its VOP3 form).
pub const fn opcode(gfx: GfxIp, op: Op) -> u16 {
    match gfx {
        GfxIp::Gfx1030 => GFX1030_OPS[op as usize],
    }
}

/// Looked up when this crate is compiled: a name that a table does not have does not compile.
static GFX1030_OPS: [u16; Op::ALL.len()] = numbers(GfxIp::Gfx1030);

const fn numbers(gfx: GfxIp) -> [u16; Op::ALL.len()] {
    let mut numbers = [0; Op::ALL.len()];
    let rows = entries(gfx);
    let mut i = 0;
    while i < numbers.len() {
        let op = Op::ALL[i];
        let mut at = 0;
        while rows[at].format as u8 != op.format() as u8 || !same(rows[at].mnemonic, op.mnemonic()) {
            at += 1;
        }
        numbers[i] = rows[at].number;
        i += 1;
    }
    numbers
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while a.len() == b.len() && i < a.len() && a[i] == b[i] {
        i += 1;
    }
    a.len() == b.len() && i == a.len()
}

/// The row of a number; for VOP3 also those of the short formats, whose long forms it holds.
pub(super) fn entry(gfx: GfxIp, format: Format, number: u16) -> Option<&'static Entry> {
    static GFX1030: LazyLock<BTreeMap<(Format, u16), &'static Entry>> =
        LazyLock::new(|| entries(GfxIp::Gfx1030).iter().map(|row| ((row.format, row.number), row)).collect());
    let table = match gfx {
        GfxIp::Gfx1030 => &GFX1030,
    };
    let promoted = match (format, number) {
        (Format::Vop3, 0..256) => table.get(&(Format::Vopc, number)),
        (Format::Vop3, 256..320) => table.get(&(Format::Vop2, number - 256)),
        (Format::Vop3, 384..512) => table.get(&(Format::Vop1, number - 384)),
        _ => None,
    };
    promoted.or_else(|| table.get(&(format, number))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let found = entry(GfxIp::Gfx1030, format, number).map(|row| row.mnemonic);
            assert_eq!(found, Some(mnemonic), "{format} {number}");
        }
    }

    #[test]
    fn rows_are_the_disassemblers_and_in_order() {
        let known: BTreeMap<(&str, u16), &str> = rows().map(|(f, n, m)| ((f, n), m)).collect();
        for row in entries(GfxIp::Gfx1030) {
            assert_eq!(known.get(&(row.format.name(), row.number)), Some(&row.mnemonic));
        }
    }

    #[test]
    fn what_glue_says_of_operands_is_in_the_table() {
        for &op in Op::ALL {
            let number = opcode(GfxIp::Gfx1030, op);
            let row = entry(GfxIp::Gfx1030, op.format(), number).expect("a row");
            assert_eq!(row.mnemonic, op.mnemonic());
            assert_eq!(
                row.data_registers(),
                if op.data_registers() == 0 { row.data_registers() } else { op.data_registers() }
            );
        }
    }
}

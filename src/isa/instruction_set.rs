//! An instruction set as data: which operations it has, how they are encoded, and what else differs between families.
//!
//! Every place that depends on the GPU asks the [`Isa`] that it is given; none asks for a family by name.

use super::cache::{self, CacheRules};
use super::counters::{self, WaitLayout};
use super::hazards::{self, Hazard};
use super::layout::{self, Layout};
use super::link_words::LinkWords;
use super::operand_codes::OperandCodes;
use super::sampling::SamplingTable;
use super::tables::{self, ABSENT, long_number};
use super::{Format, Op, OpcodeRow, Traits};
use dovetail_base::target::{Family, FamilyFacts, Gpu};
use std::fmt;

/// No row.
const NONE: u16 = u16::MAX;
/// One more than the highest opcode of any format.
const NUMBERS: usize = 1024;

/// The instruction set of a family of GPUs.
pub struct Isa {
    family: Family,
    rows: &'static [OpcodeRow],
    /// Places of rows, by operation.
    by_op: [u16; Op::ALL.len()],
    /// Places of rows, by format and number. A row with a long form is also listed under VOP3.
    by_number: [[u16; NUMBERS]; Format::ALL.len()],
    /// What the first dword of a format begins with, by format; `None` if there is no such format.
    prefixes: [Option<u32>; Format::ALL.len()],
    pub(super) layout: &'static Layout,
    /// Numbers of operands.
    pub(super) codes: OperandCodes,
    pub(super) sampling: SamplingTable,
    /// Words that a link writes and recognises.
    pub words: LinkWords,
    /// Its limits on operands and sequences.
    pub limits: IsaLimits,
    pub(super) cache: &'static CacheRules,
    /// Sequences that it does not interlock.
    pub hazards: &'static [Hazard],
    /// Its counters of outstanding operations.
    pub waits: &'static WaitLayout,
}

/// Limits on operands and sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsaLimits {
    /// Largest constant offset of a buffer access in bytes: all bits of its field.
    pub buffer_offset: u32,
    /// Largest constant offset of a scalar load in bytes.
    pub scalar_offset: u32,
    /// Largest constant offset of an access by address in bytes.
    pub global_offset: u32,
    /// Most instructions of a clause.
    pub clause: u32,
}

/// What the tables of a family are.
struct Tables {
    family: Family,
    rows: &'static [OpcodeRow],
    layout: &'static Layout,
    codes: OperandCodes,
    waits: &'static WaitLayout,
    cache: &'static CacheRules,
    hazards: &'static [Hazard],
    /// Most instructions of a clause.
    clause: u32,
}

static GFX103: Isa = Isa::new(Tables {
    family: Family::Gfx103,
    rows: tables::GFX10,
    layout: &layout::GFX10,
    codes: OperandCodes { m0: 124, null: 125 },
    waits: &counters::GFX10,
    cache: &cache::GFX10,
    hazards: hazards::GFX103,
    clause: 63,
});

impl Isa {
    const fn new(of: Tables) -> Self {
        let Tables { family, rows, layout, codes, waits, cache, hazards, clause } = of;
        let (by_op, by_number) = index(rows);
        let mut prefixes = [None; Format::ALL.len()];
        let mut n = 0;
        while n < prefixes.len() {
            if let Some(prefix) = layout.prefix(Format::ALL[n]) {
                prefixes[n] = Some(prefix.value);
            }
            n += 1;
        }
        let sampling = SamplingTable::new(rows);
        let words = LinkWords::new(rows, layout, codes);
        let limits = IsaLimits {
            buffer_offset: layout.mubuf.offset.largest(),
            scalar_offset: layout.smem.offset.largest(),
            global_offset: layout.global.offset.largest(),
            clause,
        };
        Self { family, rows, by_op, by_number, prefixes, layout, codes, sampling, words, limits, cache, hazards, waits }
    }

    /// The instruction set of a GPU.
    pub const fn of(gpu: Gpu) -> &'static Self {
        match gpu.family() {
            Family::Gfx103 => &GFX103,
        }
    }

    /// The GPUs that have it.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The numbers of its GPUs other than those of instructions.
    pub const fn facts(&self) -> &'static FamilyFacts {
        self.family.facts()
    }

    /// The rows of all its operations.
    pub const fn rows(&self) -> &'static [OpcodeRow] {
        self.rows
    }

    /// Whether it has an operation.
    pub const fn has(&self, op: Op) -> bool {
        self.by_op[op as usize] != NONE
    }

    /// The row of an operation. One that it lacks has a row that cannot be encoded.
    pub fn row(&self, op: Op) -> &'static OpcodeRow {
        self.rows.get(usize::from(self.by_op[op as usize])).unwrap_or(&ABSENT)
    }

    /// The sampling operation with exactly these modifiers, if there is one.
    pub const fn sampling(&self, modifiers: Traits) -> Option<Op> {
        self.sampling.find(modifiers)
    }

    /// The row of an opcode; for VOP3 also rows of the short formats that have long forms.
    pub(super) fn by_number(&self, format: Format, number: u16) -> Option<&'static OpcodeRow> {
        let place = self.by_number[format as usize].get(usize::from(number))?;
        self.rows.get(usize::from(*place))
    }

    /// What the first dword of a format begins with; `None` if there is no such format here.
    pub(super) const fn prefix(&self, format: Format) -> Option<u32> {
        self.prefixes[format as usize]
    }
}

type Indices = ([u16; Op::ALL.len()], [[u16; NUMBERS]; Format::ALL.len()]);

const fn index(rows: &[OpcodeRow]) -> Indices {
    let mut by_op = [NONE; Op::ALL.len()];
    let mut by_number = [[NONE; NUMBERS]; Format::ALL.len()];
    let mut n = 0;
    while n < rows.len() {
        let row = &rows[n];
        by_op[row.op as usize] = n as u16;
        by_number[row.format as usize][row.number as usize] = n as u16;
        if row.format.is_short_vector() && !row.is(Traits::NO_LONG) {
            by_number[Format::Vop3 as usize][long_number(row) as usize] = n as u16;
        }
        n += 1;
    }
    (by_op, by_number)
}

impl PartialEq for Isa {
    /// A family has one instruction set.
    fn eq(&self, other: &Self) -> bool {
        self.family == other.family
    }
}

impl Eq for Isa {}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.family.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The table of all opcodes that the disassembler knows.
    const GFX1030: &str = include_str!("../../testdata/isa/opcodes-gfx1030.tsv");

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
            let found = GFX103.by_number(format, number).map(|row| row.mnemonic);
            assert_eq!(found, Some(mnemonic), "{format} {number}");
        }
    }

    #[test]
    fn rows_are_the_disassemblers_and_in_order() {
        let known: BTreeMap<(&str, u16), &str> = rows().map(|(f, n, m)| ((f, n), m)).collect();
        for row in GFX103.rows() {
            assert_eq!(known.get(&(row.format.name(), row.number)), Some(&row.mnemonic));
            assert_eq!(GFX103.row(row.op), row);
        }
        assert!(GFX103.rows().is_sorted_by_key(|row| (row.format, row.number)));
    }

    #[test]
    fn a_shader_that_asks_for_an_absent_operation_is_refused() {
        let inst =
            super::super::Instruction { entry: &ABSENT, ..super::super::Instruction::program(&GFX103, Op::SNop, 0) };
        let error = super::super::encode(&GFX103, dovetail_base::target::WaveSize::W32, &inst, &mut Vec::new());
        assert!(error.expect_err("no encoding").to_string().contains("no such operation"));
    }
}

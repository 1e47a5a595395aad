//! An instruction set as data: which operations it has, how they are encoded, and what else differs between families.
//!
//! Every place that depends on the GPU asks the [`Isa`] that it is given; none asks for a family by name.

use super::cache::{self, CacheRules};
use super::counters::{self, WaitLayout};
use super::hazards::{self, Hazard, RegisterHazard};
use super::instruction::Addresses;
use super::layout::{self, EncodingLayout};
use super::link_words::LinkWords;
use super::operand_codes::OperandCodes;
use super::program_names::{self, ProgramNames};
use super::sampling::SamplingTable;
use super::tables::{self, ABSENT, long_number};
use super::{Format, Op, OpcodeRow, Scalar, Src, Traits};
use dovetail_base::target::{Family, FamilyFacts, Gpu, InstructionSet};
use std::fmt;

/// No row.
const NONE: u16 = u16::MAX;
/// One more than the highest opcode of any format.
const NUMBERS: usize = 1024;

/// The instructions of some GPUs.
pub struct Isa {
    set: InstructionSet,
    rows: &'static [OpcodeRow],
    /// Places of rows, by operation.
    by_op: [u16; Op::ALL.len()],
    /// Places of rows, by format and number. A row with a long form is also listed under VOP3.
    by_number: [[u16; NUMBERS]; Format::ALL.len()],
    /// What the first dword of a format begins with, by format; `None` if there is no such format.
    prefixes: [Option<u32>; Format::ALL.len()],
    pub(super) layout: &'static EncodingLayout,
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
    /// Those that depend on registers.
    pub register_hazards: &'static [RegisterHazard],
    /// Its counters of outstanding operations.
    pub waits: &'static WaitLayout,
    pub(super) names: &'static ProgramNames,
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
    /// Most addresses of an image access in registers of their own (NSA).
    pub image_addresses: usize,
    /// An image access with its addresses in registers of their own may be in a clause.
    pub addresses_in_clauses: bool,
    /// Source 1 of the long form with source 0 from other lanes may be a scalar register.
    pub scalar_beside_lanes: bool,
    /// The first half of a dual instruction may overwrite what the second one reads (Mesa, `is_vopd_compatible`: not from gfx12
    /// on).
    pub first_half_overwrites: bool,
    /// Hardware register with the high half of a wave's clock, of which [`SHADER_CYCLES`](crate::SHADER_CYCLES) is the low half.
    /// `None`: the clock has 20 bits.
    pub cycles_high: Option<u16>,
}

/// What the tables of an instruction set are.
struct Tables {
    set: InstructionSet,
    rows: &'static [OpcodeRow],
    layout: &'static EncodingLayout,
    codes: OperandCodes,
    waits: &'static WaitLayout,
    cache: &'static CacheRules,
    hazards: &'static [Hazard],
    register_hazards: &'static [RegisterHazard],
    /// Most instructions of a clause.
    clause: u32,
    /// Most addresses of an image access in registers of their own.
    image_addresses: usize,
    /// [`IsaLimits::addresses_in_clauses`].
    addresses_in_clauses: bool,
    /// [`IsaLimits::scalar_beside_lanes`].
    scalar_beside_lanes: bool,
    /// [`IsaLimits::first_half_overwrites`].
    first_half_overwrites: bool,
    /// [`IsaLimits::cycles_high`].
    cycles_high: Option<u16>,
    /// A distance with which a branch goes astray.
    bad_distance: Option<u16>,
    names: &'static ProgramNames,
}

/// The tables of gfx10.3.
const GFX103_TABLES: Tables = Tables {
    set: InstructionSet::Gfx103,
    rows: tables::GFX10,
    layout: &layout::GFX10,
    codes: OperandCodes { m0: 124, null: 125, zero_flags: true },
    waits: &counters::GFX10,
    cache: &cache::GFX10,
    hazards: hazards::GFX103,
    register_hazards: &[],
    clause: 63,
    image_addresses: Addresses::MOST,
    addresses_in_clauses: true,
    scalar_beside_lanes: false,
    first_half_overwrites: true,
    cycles_high: None,
    bad_distance: None,
    names: &program_names::GFX10,
};

/// The instruction set of GPUs of gfx10.1. They hang with more than five separate image addresses (Mesa,
/// `aco_instruction_selection`) and with any in a clause (LLVM, `FeatureNSAClauseBug`), and take a branch of 0x3f dwords
/// for another (LLVM, `FeatureOffset3fBug`).
const fn gfx101(set: InstructionSet) -> Isa {
    Isa::new(Tables {
        set,
        hazards: hazards::GFX101,
        image_addresses: 5,
        addresses_in_clauses: false,
        bad_distance: Some(0x3f),
        ..GFX103_TABLES
    })
}
static GFX1010: Isa = gfx101(InstructionSet::Gfx1010);
static GFX1012: Isa = gfx101(InstructionSet::Gfx1012);
static GFX1013: Isa = gfx101(InstructionSet::Gfx1013);
static GFX103: Isa = Isa::new(GFX103_TABLES);

/// The tables of gfx11. Of five separate image addresses the last begins a run with the rest (Mesa, `ac_gpu_info`); clauses
/// have 32 instructions at most (LLVM, `getHardClauseMaxLength`).
const GFX11_TABLES: Tables = Tables {
    set: InstructionSet::Gfx1100,
    rows: tables::GFX11,
    layout: &layout::GFX11,
    codes: OperandCodes { m0: 125, null: 124, zero_flags: false },
    waits: &counters::GFX11,
    cache: &cache::GFX11,
    hazards: hazards::GFX11,
    register_hazards: hazards::REGISTERS_GFX11,
    clause: 32,
    image_addresses: 5,
    addresses_in_clauses: true,
    scalar_beside_lanes: false,
    first_half_overwrites: true,
    cycles_high: None,
    bad_distance: None,
    names: &program_names::GFX11,
};
static GFX1100: Isa = Isa::new(GFX11_TABLES);
static GFX1102: Isa = Isa::new(Tables { set: InstructionSet::Gfx1102, ..GFX11_TABLES });
static GFX1150: Isa = gfx115(InstructionSet::Gfx1150);
static GFX1151: Isa = gfx115(InstructionSet::Gfx1151);

/// The tables of gfx12.
static GFX1200: Isa = Isa::new(Tables {
    set: InstructionSet::Gfx1200,
    rows: tables::GFX12,
    layout: &layout::GFX12,
    waits: &counters::GFX12,
    cache: &cache::GFX12,
    hazards: hazards::GFX12,
    register_hazards: hazards::REGISTERS_GFX12,
    scalar_beside_lanes: true,
    first_half_overwrites: false,
    cycles_high: Some(program_names::SHADER_CYCLES_HI),
    names: &program_names::GFX12,
    ..GFX11_TABLES
});

const fn gfx115(set: InstructionSet) -> Isa {
    Isa::new(Tables { set, register_hazards: hazards::REGISTERS_GFX115, scalar_beside_lanes: true, ..GFX11_TABLES })
}

impl Isa {
    const fn new(of: Tables) -> Self {
        let Tables {
            set,
            rows,
            layout,
            codes,
            waits,
            cache,
            hazards,
            register_hazards,
            clause,
            image_addresses,
            addresses_in_clauses,
            scalar_beside_lanes,
            first_half_overwrites,
            cycles_high,
            bad_distance,
            names,
        } = of;
        let (by_op, by_number) = index(rows, set);
        let mut prefixes = [None; Format::ALL.len()];
        let mut n = 0;
        while n < prefixes.len() {
            if let Some(prefix) = layout.prefix(Format::ALL[n]) {
                prefixes[n] = Some(prefix.value);
            }
            n += 1;
        }
        let sampling = SamplingTable::new(rows);
        let words = LinkWords::new(rows, layout, codes, bad_distance);
        let limits = IsaLimits {
            buffer_offset: layout.mubuf.offset.largest(),
            scalar_offset: layout.smem.offset.largest(),
            global_offset: layout.global.offset.largest(),
            clause,
            image_addresses,
            addresses_in_clauses,
            scalar_beside_lanes,
            first_half_overwrites,
            cycles_high,
        };
        Self {
            set,
            rows,
            by_op,
            by_number,
            prefixes,
            layout,
            codes,
            sampling,
            words,
            limits,
            cache,
            hazards,
            register_hazards,
            waits,
            names,
        }
    }

    /// The instruction set of a GPU.
    pub const fn of(gpu: Gpu) -> &'static Self {
        match gpu.instructions() {
            InstructionSet::Gfx1010 => &GFX1010,
            InstructionSet::Gfx1012 => &GFX1012,
            InstructionSet::Gfx1013 => &GFX1013,
            InstructionSet::Gfx103 => &GFX103,
            InstructionSet::Gfx1100 => &GFX1100,
            InstructionSet::Gfx1102 => &GFX1102,
            InstructionSet::Gfx1150 => &GFX1150,
            InstructionSet::Gfx1151 => &GFX1151,
            InstructionSet::Gfx1200 => &GFX1200,
        }
    }

    /// The family of its GPUs.
    pub const fn family(&self) -> Family {
        self.set.family()
    }

    /// The numbers of its GPUs other than those of instructions.
    pub const fn facts(&self) -> &'static FamilyFacts {
        self.set.facts()
    }

    /// The rows of all its operations.
    pub fn rows(&self) -> impl Iterator<Item = &'static OpcodeRow> {
        let set = self.set;
        self.rows.iter().filter(move |row| row.members.has(set))
    }

    /// The scalar offset of a buffer access without one.
    pub const fn no_offset(&self) -> Src {
        // Some encodings have no room for constants.
        if self.layout.mubuf.soffset.largest() < 0x80 { Src::Scalar(Scalar::Null) } else { Src::Int(0) }
    }

    /// Most addresses of an image access that have registers of their own, and whether there is no other form; `samples`:
    /// of one with a sampler.
    pub fn separate_addresses(&self, samples: bool) -> (usize, bool) {
        let entry = self.row(if samples { Op::ImageSample } else { Op::ImageLoad });
        let layout = self.layout.image(entry.format);
        (self.image_addresses(entry), layout.more_addresses[0].width() != 0)
    }

    /// Whether an image access says that its coordinates are in texels; those without that bit are always so.
    pub fn says_texels(&self, entry: &OpcodeRow) -> bool {
        self.layout.image(entry.format).unorm.width() != 0
    }

    /// Most addresses of an image access that are named; the last begins a run with the rest.
    pub const fn image_addresses(&self, entry: &OpcodeRow) -> usize {
        let more = &self.layout.image(entry.format).more_addresses;
        let mut n = 0;
        while n < more.len() && more[n].width() != 0 {
            n += 1;
        }
        if n == 0 { self.limits.image_addresses } else { 1 + n }
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

const fn index(rows: &[OpcodeRow], set: InstructionSet) -> Indices {
    let mut by_op = [NONE; Op::ALL.len()];
    let mut by_number = [[NONE; NUMBERS]; Format::ALL.len()];
    let mut n = 0;
    while n < rows.len() {
        let row = &rows[n];
        if row.members.has(set) {
            by_op[row.op as usize] = n as u16;
            by_number[row.format as usize][row.number as usize] = n as u16;
            if row.format.is_short_vector() && !row.is(Traits::NO_LONG) {
                by_number[Format::Vop3 as usize][long_number(row) as usize] = n as u16;
            }
        }
        n += 1;
    }
    (by_op, by_number)
}

impl PartialEq for Isa {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl Eq for Isa {}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The tables of all opcodes that the disassembler knows.
    const TABLES: [(&str, &str); 7] = [
        ("gfx1010", include_str!("../../testdata/isa/opcodes-gfx1010.tsv")),
        ("gfx1012", include_str!("../../testdata/isa/opcodes-gfx1012.tsv")),
        ("gfx1013", include_str!("../../testdata/isa/opcodes-gfx1013.tsv")),
        ("gfx1030", include_str!("../../testdata/isa/opcodes-gfx1030.tsv")),
        ("gfx1100", include_str!("../../testdata/isa/opcodes-gfx1100.tsv")),
        ("gfx1150", include_str!("../../testdata/isa/opcodes-gfx1150.tsv")),
        ("gfx1200", include_str!("../../testdata/isa/opcodes-gfx1200.tsv")),
    ];

    fn isa(gpu: &str) -> &'static Isa {
        Isa::of(gpu.parse().expect("known"))
    }

    fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, u16, &'static str)> {
        table.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            (columns[0], columns[1].parse().expect("a number"), columns[2])
        })
    }

    /// The format of a name in the tables: both halves of a dual instruction have one list of operations, and gfx12 has
    /// another name for accesses of images without a sampler.
    fn half_format(name: &str) -> &str {
        match name {
            "VIMAGE" => "MIMG",
            _ => name.split_once('.').map_or(name, |(format, _)| format),
        }
    }

    #[test]
    fn every_number_has_the_disassemblers_name() {
        for (gpu, table) in TABLES {
            for (format, number, mnemonic) in rows(table) {
                let format = *Format::ALL.iter().find(|f| f.name() == half_format(format)).expect("a format");
                let found = isa(gpu).by_number(format, number).map(|row| row.mnemonic);
                assert_eq!(found, Some(mnemonic), "{gpu} {format} {number}");
            }
        }
    }

    #[test]
    fn rows_are_the_disassemblers_and_in_order() {
        for (gpu, table) in TABLES {
            let isa = isa(gpu);
            let known: BTreeMap<(&str, u16), &str> = rows(table).map(|(f, n, m)| ((half_format(f), n), m)).collect();
            for row in isa.rows() {
                assert_eq!(known.get(&(row.format.name(), row.number)), Some(&row.mnemonic), "{gpu}");
                assert_eq!(isa.row(row.op), row);
            }
            assert!(isa.rows().is_sorted_by_key(|row| (row.format, row.number)));
        }
    }

    #[test]
    fn a_shader_that_asks_for_an_absent_operation_is_refused() {
        let inst =
            super::super::Instruction { entry: &ABSENT, ..super::super::Instruction::program(&GFX103, Op::SNop, 0) };
        let error = super::super::encode(&GFX103, dovetail_base::target::WaveSize::W32, &inst, &mut Vec::new());
        assert!(error.expect_err("no encoding").to_string().contains("no such operation"));
    }
}

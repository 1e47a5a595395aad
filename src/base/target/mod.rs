//! Targets of code: GPU, stage, wave size. What differs between families is in the tables of `facts.rs` and `shape.rs`.

mod facts;
mod family;
mod pci;
mod shape;
mod stage;
mod wave;

pub use facts::{BufferLayout, FamilyFacts, ParameterPath, PrimitiveEntry, ScratchAccess};
pub use family::{Family, InstructionSet};
pub use shape::{MOST_HARDWARE_STAGES, PipelineShape, ShapeStage};
pub use stage::{HardwareStage, Stage, StageSet};
pub use wave::WaveSize;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A GPU that code is made for, by LLVM's processor name. To add one of a known family: a variant here, and its row. New
/// ones come last, because files have their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gpu {
    /// Navi 21.
    Gfx1030,
    /// Navi 22.
    Gfx1031,
    /// Navi 23.
    Gfx1032,
    /// Van Gogh, the Steam Deck.
    Gfx1033,
    /// Navi 24.
    Gfx1034,
    /// Rembrandt.
    Gfx1035,
    /// Raphael, Mendocino.
    Gfx1036,
    /// Navi 10.
    Gfx1010,
    /// Navi 12.
    Gfx1011,
    /// Navi 14.
    Gfx1012,
    /// Cyan Skillfish.
    Gfx1013,
    /// Navi 31.
    Gfx1100,
    /// Navi 32.
    Gfx1101,
    /// Navi 33.
    Gfx1102,
    /// Phoenix.
    Gfx1103,
    /// Strix Point.
    Gfx1150,
    /// Strix Halo.
    Gfx1151,
    /// Krackan Point.
    Gfx1152,
    /// Krackan Point 2.
    Gfx1153,
    /// Navi 44.
    Gfx1200,
    /// Navi 48.
    Gfx1201,
}

/// What distinguishes a GPU.
struct Row {
    gpu: Gpu,
    /// LLVM's processor name.
    name: &'static str,
    /// `e_flags` of its ELF files: `EF_AMDGPU_MACH` in bits 0-7, as LLVM's `AMDGPUUsage` lists them (checked against llc).
    elf_flags: u32,
    instructions: InstructionSet,
    family: Family,
}

impl Gpu {
    /// In the order of the variants.
    const ROWS: [Row; 21] = {
        const fn row(gpu: Gpu, name: &'static str, elf_flags: u32, of: InstructionSet, family: Family) -> Row {
            Row { gpu, name, elf_flags, instructions: of, family }
        }
        [
            row(Gpu::Gfx1030, "gfx1030", 0x36, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1031, "gfx1031", 0x37, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1032, "gfx1032", 0x38, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1033, "gfx1033", 0x39, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1034, "gfx1034", 0x3e, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1035, "gfx1035", 0x3d, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1036, "gfx1036", 0x45, InstructionSet::Gfx103, Family::Gfx103),
            row(Gpu::Gfx1010, "gfx1010", 0x33, InstructionSet::Gfx1010, Family::Gfx101),
            row(Gpu::Gfx1011, "gfx1011", 0x34, InstructionSet::Gfx1012, Family::Gfx101),
            row(Gpu::Gfx1012, "gfx1012", 0x35, InstructionSet::Gfx1012, Family::Gfx101),
            row(Gpu::Gfx1013, "gfx1013", 0x42, InstructionSet::Gfx1013, Family::Gfx101),
            row(Gpu::Gfx1100, "gfx1100", 0x41, InstructionSet::Gfx1100, Family::Gfx11),
            row(Gpu::Gfx1101, "gfx1101", 0x46, InstructionSet::Gfx1100, Family::Gfx11),
            row(Gpu::Gfx1102, "gfx1102", 0x47, InstructionSet::Gfx1102, Family::Gfx11),
            row(Gpu::Gfx1103, "gfx1103", 0x44, InstructionSet::Gfx1102, Family::Gfx11),
            row(Gpu::Gfx1150, "gfx1150", 0x43, InstructionSet::Gfx1150, Family::Gfx11),
            row(Gpu::Gfx1151, "gfx1151", 0x4a, InstructionSet::Gfx1151, Family::Gfx11),
            row(Gpu::Gfx1152, "gfx1152", 0x55, InstructionSet::Gfx1150, Family::Gfx11),
            row(Gpu::Gfx1153, "gfx1153", 0x58, InstructionSet::Gfx1150, Family::Gfx11),
            row(Gpu::Gfx1200, "gfx1200", 0x48, InstructionSet::Gfx1200, Family::Gfx12),
            row(Gpu::Gfx1201, "gfx1201", 0x4e, InstructionSet::Gfx1200, Family::Gfx12),
        ]
    };

    /// Every GPU.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ROWS.iter().map(|row| row.gpu)
    }

    const fn row(self) -> &'static Row {
        const ROWS: &[Row] = &Gpu::ROWS;
        &ROWS[self as usize]
    }

    /// LLVM's processor name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// `e_flags` of its ELF files.
    pub const fn elf_flags(self) -> u32 {
        self.row().elf_flags
    }

    /// Its generation.
    pub const fn family(self) -> Family {
        self.row().family
    }

    /// Its operations. GPUs that have the same ones execute the same code.
    pub const fn instructions(self) -> InstructionSet {
        self.row().instructions
    }

    /// Its numbers.
    pub const fn facts(self) -> &'static FamilyFacts {
        self.instructions().facts()
    }

    /// The hardware stage that runs an API stage.
    pub const fn hardware_stage(self, api: Stage) -> HardwareStage {
        self.family().hardware_stage(api)
    }

    fn find(wanted: impl Fn(Self) -> bool, what: impl FnOnce() -> String) -> Result<Self> {
        let known = || {
            let targets = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
            format!("known targets: {targets}; families: {}", Family::ALL.map(Family::name).join(", "))
        };
        Self::all().find(|gpu| wanted(*gpu)).ok_or_else(|| Error::unsupported(what(), known()))
    }

    /// The GPU that an ELF file is for.
    ///
    /// # Errors
    /// Unsupported: these `e_flags` are of no GPU that Dovetail knows.
    pub fn of_elf_flags(flags: u32) -> Result<Self> {
        Self::find(|gpu| gpu.elf_flags() == flags, || format!("e_flags {flags:#x}"))
    }

    /// The GPU that an ELF file is for, by its header.
    ///
    /// # Errors
    /// Malformed: it is no ELF file. Unsupported: it is for another GPU.
    pub fn of_elf(file: &[u8]) -> Result<Self> {
        const E_FLAGS: usize = 48;
        let flags =
            file.get(E_FLAGS..).and_then(|rest| rest.first_chunk::<4>()).filter(|_| file.starts_with(b"\x7fELF"));
        flags.map_or_else(
            || Err(Error::malformed("no ELF file")),
            |flags| Self::of_elf_flags(u32::from_le_bytes(*flags)),
        )
    }

    /// The GPU with this version of the graphics core (the kernel's `IP_VERSION` of `GC_HWIP`): LLVM's names are the major
    /// version in decimal, the minor version and the stepping in one hexadecimal digit each.
    pub fn of_graphics_core(major: u32, minor: u32, stepping: u32) -> Option<Self> {
        let name = format!("gfx{major}{minor:x}{stepping:x}");
        Self::ROWS.iter().find(|row| row.name == name).map(|row| row.gpu)
    }

    /// The GPUs of a name: one, by LLVM's name of it or as a PCI device (`1002:73bf`); all of a family (`rdna2`), or `all`.
    ///
    /// # Errors
    /// Unsupported: nothing known has that name.
    pub fn named(name: &str) -> Result<Vec<Self>> {
        let family = Family::ALL.into_iter().find(|family| family.name() == name);
        match (name, family) {
            ("all", _) => Ok(Self::all().collect()),
            (_, Some(family)) => Ok(Self::all().filter(|gpu| gpu.family() == family).collect()),
            (_, None) => Ok(vec![Self::of_pci_name(name).map_or_else(|| name.parse(), Ok)?]),
        }
    }
}

impl Default for Gpu {
    /// What is compiled for where nobody says.
    fn default() -> Self {
        Self::Gfx1030
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Gpu {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::find(|gpu| gpu.name() == s, || format!("target {s}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_variants_and_no_two_are_of_one_name_or_machine() {
        for (n, gpu) in Gpu::all().enumerate() {
            assert_eq!(gpu as usize, n, "{gpu}");
            assert_eq!((gpu.name().parse(), Gpu::of_elf_flags(gpu.elf_flags())), (Ok(gpu), Ok(gpu)));
            assert_eq!(serde_json::to_value(gpu).expect("a name"), gpu.name());
        }
        assert_eq!(Gpu::of_graphics_core(10, 3, 6), Some(Gpu::Gfx1036));
        assert_eq!(Gpu::of_graphics_core(9, 0, 10), None);
        assert_eq!(Gpu::named("gfx1033"), Ok(vec![Gpu::Gfx1033]));
        assert_eq!(Gpu::named("rdna1").map(|gpus| gpus.len()), Ok(4));
        assert_eq!(Gpu::named("all").map(|gpus| gpus.len()), Ok(Gpu::all().count()));
        let refused = "gfx900".parse::<Gpu>().expect_err("not known").to_string();
        assert!(refused.contains("gfx1033"), "{refused}");
    }
}

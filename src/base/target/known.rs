//! GPUs by whether Dovetail makes code for them, or only reads it.

use super::{Family, FamilyFacts, Gpu, InstructionSet};
use crate::error::{Error, Result};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A GPU whose code Dovetail reads and does not make, by LLVM's processor name. One that gets a code generator becomes a
/// [`Gpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DecodedGpu {
    /// Strix Point.
    Gfx1150,
    /// Strix Halo.
    Gfx1151,
    /// Krackan Point.
    Gfx1152,
    /// Krackan Point 2.
    Gfx1153,
}

/// What distinguishes such a GPU.
struct Row {
    gpu: DecodedGpu,
    /// LLVM's processor name.
    name: &'static str,
    /// `EF_AMDGPU_MACH` (LLVM, `AMDGPUUsage`; checked against llc-22).
    elf_flags: u32,
    instructions: InstructionSet,
}

impl DecodedGpu {
    /// In the order of the variants.
    const ROWS: [Row; 4] = {
        const fn row(gpu: DecodedGpu, name: &'static str, elf_flags: u32, of: InstructionSet) -> Row {
            Row { gpu, name, elf_flags, instructions: of }
        }
        [
            row(Self::Gfx1150, "gfx1150", 0x43, InstructionSet::Gfx1150),
            row(Self::Gfx1151, "gfx1151", 0x4a, InstructionSet::Gfx1151),
            row(Self::Gfx1152, "gfx1152", 0x55, InstructionSet::Gfx1150),
            row(Self::Gfx1153, "gfx1153", 0x58, InstructionSet::Gfx1150),
        ]
    };

    const fn row(self) -> &'static Row {
        const ROWS: &[Row] = &DecodedGpu::ROWS;
        &ROWS[self as usize]
    }

    /// What is said to whoever wants more of it than its code as text.
    fn refused(self) -> Error {
        let lacks = "Dovetail reads its code, but has no code generator, metadata or emulator for it";
        Error::unsupported(format!("target {}", self.row().name), lacks)
    }
}

/// A GPU whose code Dovetail reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KnownGpu {
    /// One that it also makes code for.
    Target(Gpu),
    /// One that it makes no code for.
    Decoded(DecodedGpu),
}

impl KnownGpu {
    /// Every GPU whose code Dovetail reads.
    pub fn all() -> impl Iterator<Item = Self> {
        Gpu::all().map(Self::Target).chain(DecodedGpu::ROWS.iter().map(|row| Self::Decoded(row.gpu)))
    }

    /// LLVM's processor name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Target(gpu) => gpu.name(),
            Self::Decoded(gpu) => gpu.row().name,
        }
    }

    /// `e_flags` of its ELF files.
    pub const fn elf_flags(self) -> u32 {
        match self {
            Self::Target(gpu) => gpu.elf_flags(),
            Self::Decoded(gpu) => gpu.row().elf_flags,
        }
    }

    /// Its operations.
    pub const fn instructions(self) -> InstructionSet {
        match self {
            Self::Target(gpu) => gpu.instructions(),
            Self::Decoded(gpu) => gpu.row().instructions,
        }
    }

    /// The numbers of its hardware.
    pub const fn facts(self) -> &'static FamilyFacts {
        self.instructions().facts()
    }

    /// The GPU that an ELF file is for.
    ///
    /// # Errors
    /// Unsupported: these `e_flags` are of no GPU that Dovetail knows.
    pub fn of_elf_flags(flags: u32) -> Result<Self> {
        Self::find(|gpu| gpu.elf_flags() == flags, || format!("e_flags {flags:#x}"))
    }

    /// The same as a target of code.
    ///
    /// # Errors
    /// Unsupported: Dovetail makes no code for it.
    pub fn target(self) -> Result<Gpu> {
        match self {
            Self::Target(gpu) => Ok(gpu),
            Self::Decoded(gpu) => Err(gpu.refused()),
        }
    }

    pub(super) fn find(wanted: impl Fn(Self) -> bool, what: impl FnOnce() -> String) -> Result<Self> {
        let known = || {
            let targets = Gpu::all().map(Gpu::name).collect::<Vec<_>>().join(", ");
            format!("known targets: {targets}; families: {}", Family::ALL.map(Family::name).join(", "))
        };
        Self::all().find(|gpu| wanted(*gpu)).ok_or_else(|| Error::unsupported(what(), known()))
    }
}

impl From<Gpu> for KnownGpu {
    fn from(gpu: Gpu) -> Self {
        Self::Target(gpu)
    }
}

impl fmt::Display for KnownGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for KnownGpu {
    /// As its name.
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl FromStr for KnownGpu {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::find(|gpu| gpu.name() == s, || format!("target {s}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_is_known_by_name_and_machine_and_is_no_target() {
        for (n, row) in DecodedGpu::ROWS.iter().enumerate() {
            let known = KnownGpu::Decoded(row.gpu);
            assert_eq!(row.gpu as usize, n, "{known}");
            assert_eq!((known.name().parse(), KnownGpu::of_elf_flags(known.elf_flags())), (Ok(known), Ok(known)));
            for refused in [known.name().parse::<Gpu>(), Gpu::of_elf_flags(known.elf_flags()), known.target()] {
                let said = refused.expect_err("no code generator").to_string();
                assert!(said.contains(known.name()) && said.contains("no code generator"), "{said}");
            }
        }
        assert!(KnownGpu::all().filter_map(|gpu| gpu.target().ok()).eq(Gpu::all()));
        let said = "gfx900".parse::<KnownGpu>().expect_err("not known").to_string();
        assert!(said.contains("gfx1033") && !said.contains("gfx1150"), "{said}");
    }

    #[test]
    fn a_large_register_file_holds_half_as_many_waves_more() {
        use crate::target::WaveSize::{W32, W64};
        let waves = |name: &str, vgprs, wave| name.parse::<KnownGpu>().expect("known").facts().waves(vgprs, wave);
        assert_eq!((waves("gfx1100", 96, W32), waves("gfx1102", 96, W32)), (16, 10));
        assert_eq!((waves("gfx1151", 97, W64), waves("gfx1150", 64, W64)), (7, 8));
    }
}

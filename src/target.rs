//! Targets of code: GPU, stage, wave size.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A GPU, by LLVM's processor name. To add one: a variant here, its ELF machine number, its opcode table in `isa`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GfxIp {
    /// RDNA2, Navi 21 (gfx10.3): hardware VS stage, no NGG.
    Gfx1030,
}

impl GfxIp {
    /// LLVM's processor name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx1030 => "gfx1030",
        }
    }

    /// `e_flags` of the ELF header: machine id in bits 0-7 (pal-abi 3.1, checked against llc-19).
    pub const fn elf_flags(self) -> u32 {
        match self {
            Self::Gfx1030 => 0x36,
        }
    }
}

/// The register files of a GPU, for register allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterFiles {
    /// SGPRs that an operand can name.
    pub sgprs: u32,
    /// SGPRs that a wave may use.
    pub usable_sgprs: u32,
    /// VGPRs that an operand can name and a wave may use.
    pub vgprs: u32,
    /// VGPRs shared by all waves of a SIMD, by wave size: 32, 64.
    pub physical_vgprs: [u32; 2],
    /// VGPR allocation granule of a wave, by wave size. RSRC1.VGPRS counts in half of it ([`WaveSize::vgpr_granule`]).
    pub vgpr_allocation: [u32; 2],
    /// Most waves per SIMD, however few registers they use.
    pub waves: u32,
}

impl GfxIp {
    /// Its register files. VGPRs and waves as in LLVM's `getTotalNumVGPRs`, `getVGPRAllocGranule` and
    /// `getMaxWavesPerEU`; 104 is the `.sgpr_limit` of PAL's pipelines.
    pub const fn registers(self) -> RegisterFiles {
        match self {
            Self::Gfx1030 => RegisterFiles {
                sgprs: 106,
                usable_sgprs: 104,
                vgprs: 256,
                physical_vgprs: [1024, 512],
                vgpr_allocation: [16, 8],
                waves: 16,
            },
        }
    }

    /// Waves per SIMD at this number of VGPRs, if nothing else limits them.
    pub fn waves(self, vgprs: u32, wave: WaveSize) -> u32 {
        let files = self.registers();
        let size = usize::from(wave == WaveSize::W64);
        let granule = files.vgpr_allocation[size];
        (files.physical_vgprs[size] / vgprs.max(1).next_multiple_of(granule)).min(files.waves)
    }

    /// The highest number of VGPRs at which this many waves fit a SIMD, up to what an instruction can address.
    pub fn vgprs_for(self, waves: u32, wave: WaveSize) -> u32 {
        let files = self.registers();
        let size = usize::from(wave == WaveSize::W64);
        let each = files.physical_vgprs[size] / waves.max(1);
        (each / files.vgpr_allocation[size] * files.vgpr_allocation[size]).min(files.vgprs)
    }
}

impl fmt::Display for GfxIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GfxIp {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "gfx1030" => Ok(Self::Gfx1030),
            _ => Err(Error::unsupported(format!("target {s}"), "known targets: gfx1030")),
        }
    }
}

/// An API stage that Dovetail compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Vertex, on the hardware VS stage.
    Vertex,
    /// Fragment, on the hardware PS stage.
    Fragment,
    /// Compute.
    Compute,
}

impl FromStr for Stage {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let all = [Self::Vertex, Self::Fragment, Self::Compute];
        let found = all.into_iter().find(|stage| stage.name() == s);
        found.ok_or_else(|| Error::malformed(format!("stage `{s}`: {}", all.map(Self::name).join(", "))))
    }
}

impl Stage {
    /// Name in messages and keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Fragment => "fragment",
            Self::Compute => "compute",
        }
    }

    /// Key of `.hardware_stages` and item of `.hardware_mapping`.
    pub const fn hardware_name(self) -> &'static str {
        match self {
            Self::Vertex => ".vs",
            Self::Fragment => ".ps",
            Self::Compute => ".cs",
        }
    }

    /// Key of `.shaders`.
    pub const fn api_key(self) -> &'static str {
        match self {
            Self::Vertex => ".vertex",
            Self::Fragment => ".pixel",
            Self::Compute => ".compute",
        }
    }

    /// Entry symbol that PAL looks up in a final ELF.
    pub const fn entry_symbol(self) -> &'static str {
        match self {
            Self::Vertex => "_amdgpu_vs_main",
            Self::Fragment => "_amdgpu_ps_main",
            Self::Compute => "_amdgpu_cs_main",
        }
    }

    /// Symbol of the body in an unlinked ELF; a vertex body needs a fetch prolog.
    pub const fn unlinked_symbol(self) -> &'static str {
        match self {
            Self::Vertex => "_amdgpu_vs_main_fetchless",
            Self::Fragment => "_amdgpu_ps_main",
            Self::Compute => "_amdgpu_cs_main",
        }
    }

    /// Number of user-data SGPRs that the hardware loads (pal-abi 2.3, 2.5).
    pub const fn max_user_sgprs(self) -> u32 {
        match self {
            Self::Vertex | Self::Fragment => 32,
            Self::Compute => 16,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Lanes per wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum WaveSize {
    /// 32 lanes.
    W32,
    /// 64 lanes.
    W64,
}

impl WaveSize {
    /// Number of lanes.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    /// Granule in which RSRC1.VGPRS counts VGPRs (pal-abi 6.2).
    pub const fn vgpr_granule(self) -> u32 {
        match self {
            Self::W32 => 8,
            Self::W64 => 4,
        }
    }
}

impl From<WaveSize> for u32 {
    fn from(w: WaveSize) -> u32 {
        w.lanes()
    }
}

impl TryFrom<u32> for WaveSize {
    type Error = Error;
    fn try_from(n: u32) -> Result<Self> {
        match n {
            32 => Ok(Self::W32),
            64 => Ok(Self::W64),
            _ => Err(Error::malformed(format!("wave size {n}: 32 or 64"))),
        }
    }
}

//! Numbers of the hardware, by family.

use super::{Family, Gpu, WaveSize};

/// What a family of GPUs has, apart from its instructions. Pairs are by wave size: 32, 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyFacts {
    /// SGPRs that an operand can name.
    pub sgprs: u32,
    /// SGPRs that a wave may use: the `.sgpr_limit` of PAL's pipelines.
    pub usable_sgprs: u32,
    /// VGPRs that an operand can name and a wave may use: the `.vgpr_limit`.
    pub vgprs: u32,
    /// VGPRs shared by all waves of a SIMD (LLVM: `getTotalNumVGPRs`).
    pub physical_vgprs: [u32; 2],
    /// VGPRs that a wave is given at a time (LLVM: `getVGPRAllocGranule`).
    pub vgpr_allocation: [u32; 2],
    /// VGPRs in a unit of RSRC1.VGPRS (LLVM: `getVGPREncodingGranule`). It can be less than `vgpr_allocation`.
    pub vgpr_unit: [u32; 2],
    /// SGPRs in a unit of RSRC1.SGPRS.
    pub sgpr_unit: u32,
    /// Most waves per SIMD, however few registers they use (LLVM: `getMaxWavesPerEU`).
    pub waves: u32,
    /// Bytes in a unit of RSRC2.LDS_SIZE and of RSRC2.EXTRA_LDS_SIZE (PAL: `Gfx9LdsDwGranularity`, 128 dwords).
    pub lds_unit: u32,
    /// Most scratch memory of a wave in bytes: what SPI_TMPRING_SIZE.WAVESIZE counts, 13 bits of KiB.
    pub wave_scratch: u64,
    /// Bytes in a line of the instruction cache (PAL: `s_code_end` lines after the code).
    pub code_line: u32,
    /// The render back ends take colours of one narrow channel in 16 bits (PAL: `rbPlus`, RB+).
    pub narrow_exports: bool,
    /// The first position export needs the mask of valid lanes (`vm`): without it a wave without lanes hangs (Mesa,
    /// `ac_nir_export_position`).
    pub masked_positions: bool,
    /// Layouts of typed buffer access.
    pub buffer_layouts: &'static [BufferLayout],
}

/// A layout of typed buffer access. Its formats are numbered one after the other, in the order of the number formats that it
/// has: UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout {
    /// Bits of each channel, the lowest first.
    pub widths: &'static [u8],
    /// Number of its first format.
    pub start: u8,
    /// Places in that order of the first and the last number format that it has.
    pub formats: (u8, u8),
}

/// Every number format; all but FLOAT; UINT, SINT and FLOAT.
const ALL: (u8, u8) = (0, 6);
const NO_FLOAT: (u8, u8) = (0, 5);
const WIDE: (u8, u8) = (4, 6);

const fn layout(widths: &'static [u8], start: u8, formats: (u8, u8)) -> BufferLayout {
    BufferLayout { widths, start, formats }
}

/// The unified formats of gfx10, as LLVM's assembler names them (`BUF_FMT_…`).
const GFX10_BUFFER_LAYOUTS: &[BufferLayout] = &[
    layout(&[8], 1, NO_FLOAT),
    layout(&[16], 7, ALL),
    layout(&[8, 8], 14, NO_FLOAT),
    layout(&[32], 20, WIDE),
    layout(&[16, 16], 23, ALL),
    layout(&[11, 11, 10], 30, ALL),
    layout(&[10, 11, 11], 37, ALL),
    layout(&[2, 10, 10, 10], 44, NO_FLOAT),
    layout(&[10, 10, 10, 2], 50, NO_FLOAT),
    layout(&[8, 8, 8, 8], 56, NO_FLOAT),
    layout(&[32, 32], 62, WIDE),
    layout(&[16, 16, 16, 16], 65, ALL),
    layout(&[32, 32, 32], 72, WIDE),
    layout(&[32, 32, 32, 32], 75, WIDE),
];

const GFX103: FamilyFacts = FamilyFacts {
    sgprs: 106,
    usable_sgprs: 104,
    vgprs: 256,
    physical_vgprs: [1024, 512],
    vgpr_allocation: [16, 8],
    vgpr_unit: [8, 4],
    sgpr_unit: 8,
    waves: 16,
    lds_unit: 512,
    wave_scratch: 8191 << 10,
    code_line: 64,
    narrow_exports: true,
    masked_positions: false,
    buffer_layouts: GFX10_BUFFER_LAYOUTS,
};

/// Mesa: half the granule of gfx10.3, 20 waves (`aco_ir.cpp`, `ac_gpu_info.c`), no RB+ (`rbplus_allowed`).
const GFX101: FamilyFacts =
    FamilyFacts { vgpr_allocation: [8, 4], waves: 20, narrow_exports: false, masked_positions: true, ..GFX103 };

impl Family {
    /// Its numbers.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Self::Gfx101 => &GFX101,
            Self::Gfx103 => &GFX103,
        }
    }
}

impl FamilyFacts {
    const fn of<T: Copy>(pair: [T; 2], wave: WaveSize) -> T {
        match wave {
            WaveSize::W32 => pair[0],
            WaveSize::W64 => pair[1],
        }
    }

    /// VGPRs in a unit of RSRC1.VGPRS.
    pub const fn vgpr_unit(&self, wave: WaveSize) -> u32 {
        Self::of(self.vgpr_unit, wave)
    }

    /// Waves per SIMD at this number of VGPRs, if nothing else limits them.
    pub fn waves(&self, vgprs: u32, wave: WaveSize) -> u32 {
        let given = vgprs.max(1).next_multiple_of(Self::of(self.vgpr_allocation, wave));
        (Self::of(self.physical_vgprs, wave) / given).min(self.waves)
    }

    /// The highest number of VGPRs at which this many waves fit a SIMD, up to what an instruction can address.
    pub fn vgprs_for(&self, waves: u32, wave: WaveSize) -> u32 {
        let granule = Self::of(self.vgpr_allocation, wave);
        let each = Self::of(self.physical_vgprs, wave) / waves.max(1);
        (each / granule * granule).min(self.vgprs)
    }
}

impl Gpu {
    /// The numbers of its family.
    pub const fn facts(self) -> &'static FamilyFacts {
        self.family().facts()
    }
}

//! Numbers of the hardware, by instruction set.

use super::family::InstructionSet;
use super::stage::HardwareStage;
use super::wave::WaveSize;

/// What the GPUs of an instruction set have, apart from instructions. Pairs are by wave size: 32, 64.
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
    /// How a lane reaches its scratch memory.
    pub scratch: ScratchAccess,
    /// A compute wave has its local ids in one VGPR, of ten bits each (LLVM: `FeaturePackedTID`).
    pub packed_local_ids: bool,
    /// User-data SGPRs that a compute or fragment wave of 32 lanes has at least: with fewer its SGPRs may begin with other values
    /// (LLVM: `FeatureUserSGPRInit16Bug`, of gfx1100 and gfx1102; the others of the family execute the same code).
    pub least_user_sgprs: u32,
    /// There are atomics for the least and greatest double by address, and for those of floats in images.
    pub all_float_atomics: bool,
    /// Bytes in a line of the instruction cache (PAL: `s_code_end` lines after the code).
    pub code_line: u32,
    /// The wave size in which fragments run best: RDNA 2 in 64 lanes; from gfx11 on waves of 32 do two operations at once
    /// (Mesa: `ps_wave_size`).
    pub fragment_wave: WaveSize,
    /// Drivers of the GPU read metadata 3.0, with names (PAL).
    pub named_metadata: bool,
    /// They read metadata 2.6 too, with the numbers of registers.
    pub numbered_metadata: bool,
    /// The render back ends take colours of one narrow channel in 16 bits (PAL: `rbPlus`, RB+).
    pub narrow_exports: bool,
    /// The first position export needs the mask of valid lanes (`vm`): without it a wave without lanes hangs (Mesa,
    /// `ac_nir_export_position`).
    pub masked_positions: bool,
    /// An export says whether its lanes are the live pixels (`vm`). Without that bit the last one with `done` has them (Mesa,
    /// `aco_assembler`, writes `valid_mask` before gfx11 only; LLVM, `EXPInstructions.td`, has no `vm` from gfx11 on).
    pub valid_mask_bit: bool,
    /// Colours of 16 bits are exported compressed (`compr`), with two enable bits for each register. Without that bit they are
    /// the first two dwords of a plain export, two channels each (Mesa, `export_fs_mrt_color`).
    pub compressed_exports: bool,
    /// There is an export target for nothing (LLVM: `hasNullExportTarget`). Without it such an export goes to a target that
    /// the shader has, with no channel.
    pub null_exports: bool,
    /// The second colour of a blend has a target of its own, the next, and coverage comes from the first colour's alpha. Else both
    /// colours have special targets, and neighbouring lanes swap them; and beside depth coverage comes from alpha in the target
    /// of depth (PAL's colour exports; Mesa, `p_dual_src_export_gfx11`).
    pub plain_dual_source: bool,
    /// Waves that export run at a raised priority, and at the lowest after each run of exports (LLVM:
    /// `FeatureRequiredExportPriority`).
    pub export_priority: bool,
    /// How parameters get to fragment waves.
    pub parameters: ParameterPath,
    /// Parameters have to be in the attribute ring before the positions are exported (Mesa: `has_attr_ring_wait_bug`).
    pub parameters_first: bool,
    /// VGPRs of a wave of primitive shaders.
    pub primitive_entry: PrimitiveEntry,
    /// Bits of an index in an exported primitive; a bit for an edge follows it.
    pub primitive_index_bits: u32,
    /// A compute wave has the ids of its workgroup in `ttmp9` and `ttmp7` (LLVM: `FeatureArchitectedSGPRs`), not in SGPRs.
    pub workgroup_ids_apart: bool,
    /// Bytes of an element of a swizzled buffer, by the two highest bits of a descriptor's second dword; 0 if it is not
    /// swizzled. gfx10 has one bit (LLVM: `SWIZZLE_ENABLE`; Mesa's register data base).
    pub swizzled_elements: [u8; 4],
    /// Constant offsets of scalar loads are listed as numbers even where they are 0, and there are no lists of register offsets alone.
    pub plain_offsets: bool,
    /// Layouts of typed buffer access.
    pub buffer_layouts: &'static [BufferLayout],
}

/// The VGPRs with which a wave of primitive shaders begins. What is exported of a primitive is in v0; the hardware sets registers
/// up to the one that the `VGPR_COMP_CNT` fields name, counted from v0 for those of a primitive, and from the vertex id for
/// those of a vertex (PAL; Mesa, `ac_shader_args`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimitiveEntry {
    /// The primitive's id.
    pub primitive_id: u8,
    /// The vertex id.
    pub vertex_id: u8,
    /// The instance id.
    pub instance_id: u8,
}

impl PrimitiveEntry {
    /// The first register above those of the hardware.
    pub const fn end(self) -> u32 {
        self.instance_id as u32 + 1
    }

    /// `GS_VGPR_COMP_CNT` with the primitive id.
    pub const fn primitive_id_count(self) -> u32 {
        self.primitive_id as u32
    }

    /// `ES_VGPR_COMP_CNT` with the instance id.
    pub const fn instance_id_count(self) -> u32 {
        (self.instance_id - self.vertex_id) as u32
    }
}

/// How a lane reaches its scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScratchAccess {
    /// Through a buffer descriptor in the global table. An SGPR after the others has the offset of the wave's memory.
    Descriptor,
    /// By instructions of their own: the hardware knows where the wave's memory is (LLVM: `FeatureArchitectedFlatScratch`).
    Base,
}

impl ScratchAccess {
    /// Bytes that a scalar offset counts for each byte of a lane: through a descriptor it is an offset in the memory of the
    /// wave, whose lanes are interleaved.
    pub const fn scalar_unit(self, wave: WaveSize) -> u32 {
        match self {
            Self::Descriptor => wave.lanes(),
            Self::Base => 1,
        }
    }
}

/// How parameters get from the last stage before the rasterizer to fragment waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPath {
    /// By exports, to a cache of the hardware.
    Exports,
    /// By stores to memory, the attribute ring, before the positions are exported (Mesa, `ac_nir_lower_ngg`; LLPC).
    Ring,
}

/// A layout of typed buffer access. Its formats are numbered one after the other, in the order of the number formats that it
/// has, of UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout {
    /// Bits of each channel, the lowest first.
    pub widths: &'static [u8],
    /// Number of its first format.
    pub start: u8,
    /// The number formats that it has, a bit for each place in that order.
    pub formats: u8,
}

impl BufferLayout {
    /// The number of a format: of the layout with the number format at this place, if it has that.
    pub const fn number(&self, place: u8) -> Option<u8> {
        let has = place < 8 && self.formats >> place & 1 == 1;
        if has { Some(self.start + (self.formats & ((1 << place) - 1)).count_ones() as u8) } else { None }
    }
}

/// Every number format; all but FLOAT; UINT, SINT and FLOAT; FLOAT; all but FLOAT and the scaled ones.
const ALL: u8 = 0b111_1111;
const NO_FLOAT: u8 = 0b011_1111;
const WIDE: u8 = 0b111_0000;
const FLOAT: u8 = 0b100_0000;
const NO_SCALED: u8 = 0b011_0011;

const fn layout(widths: &'static [u8], start: u8, formats: u8) -> BufferLayout {
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

/// The unified formats of gfx11, as LLVM's assembler names them.
const GFX11_BUFFER_LAYOUTS: &[BufferLayout] = &[
    layout(&[8], 1, NO_FLOAT),
    layout(&[16], 7, ALL),
    layout(&[8, 8], 14, NO_FLOAT),
    layout(&[32], 20, WIDE),
    layout(&[16, 16], 23, ALL),
    layout(&[11, 11, 10], 30, FLOAT),
    layout(&[10, 11, 11], 31, FLOAT),
    layout(&[2, 10, 10, 10], 32, NO_SCALED),
    layout(&[10, 10, 10, 2], 36, NO_FLOAT),
    layout(&[8, 8, 8, 8], 42, NO_FLOAT),
    layout(&[32, 32], 48, WIDE),
    layout(&[16, 16, 16, 16], 51, ALL),
    layout(&[32, 32, 32], 58, WIDE),
    layout(&[32, 32, 32, 32], 61, WIDE),
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
    scratch: ScratchAccess::Descriptor,
    packed_local_ids: false,
    least_user_sgprs: 0,
    all_float_atomics: true,
    code_line: 64,
    fragment_wave: WaveSize::W64,
    named_metadata: false,
    numbered_metadata: true,
    narrow_exports: true,
    masked_positions: false,
    valid_mask_bit: true,
    compressed_exports: true,
    null_exports: true,
    plain_dual_source: true,
    export_priority: false,
    parameters: ParameterPath::Exports,
    parameters_first: false,
    primitive_entry: PrimitiveEntry { primitive_id: 2, vertex_id: 5, instance_id: 8 },
    primitive_index_bits: 9,
    workgroup_ids_apart: false,
    swizzled_elements: [0, 0, 4, 4],
    plain_offsets: false,
    buffer_layouts: GFX10_BUFFER_LAYOUTS,
};

/// Mesa: half the granule of gfx10.3, 20 waves (`aco_ir.cpp`, `ac_gpu_info.c`), no RB+ (`rbplus_allowed`).
const GFX101: FamilyFacts =
    FamilyFacts { vgpr_allocation: [8, 4], waves: 20, narrow_exports: false, masked_positions: true, ..GFX103 };

/// Scratch in units of 256 bytes, 15 bits (LLVM: `S_00B860_WAVESIZE_GFX11Plus`); lines of 128 bytes (PAL); the rest as Mesa's
/// `ac_gpu_info.c` and `aco_ir.cpp` have it.
const GFX11: FamilyFacts = FamilyFacts {
    wave_scratch: 32767 << 8,
    scratch: ScratchAccess::Base,
    packed_local_ids: true,
    least_user_sgprs: 16,
    all_float_atomics: false,
    code_line: 128,
    fragment_wave: WaveSize::W32,
    named_metadata: true,
    valid_mask_bit: false,
    compressed_exports: false,
    null_exports: false,
    plain_dual_source: false,
    parameters: ParameterPath::Ring,
    parameters_first: true,
    swizzled_elements: [0, 4, 8, 16],
    buffer_layouts: GFX11_BUFFER_LAYOUTS,
    ..GFX103
};

/// LLVM: `FeatureISAVersion11_5_Common`.
const GFX115: FamilyFacts = FamilyFacts { least_user_sgprs: 0, export_priority: true, ..GFX11 };

/// The same with half as many VGPRs more (LLVM: `Feature1_5xVGPRs`).
const fn large(facts: FamilyFacts) -> FamilyFacts {
    FamilyFacts { physical_vgprs: [1536, 768], vgpr_allocation: [24, 12], ..facts }
}

const GFX11_LARGE: FamilyFacts = large(GFX11);
/// What PAL, LLVM and Mesa have for gfx12.
const GFX12: FamilyFacts = FamilyFacts {
    least_user_sgprs: 0,
    parameters_first: false,
    primitive_entry: PrimitiveEntry { primitive_id: 1, vertex_id: 3, instance_id: 4 },
    primitive_index_bits: 8,
    workgroup_ids_apart: true,
    numbered_metadata: false,
    plain_offsets: true,
    ..large(GFX11)
};
const GFX115_LARGE: FamilyFacts = large(GFX115);

impl InstructionSet {
    /// The numbers of its GPUs.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Self::Gfx1010 | Self::Gfx1012 | Self::Gfx1013 => &GFX101,
            Self::Gfx103 => &GFX103,
            Self::Gfx1100 => &GFX11_LARGE,
            Self::Gfx1102 => &GFX11,
            Self::Gfx1150 => &GFX115,
            Self::Gfx1151 => &GFX115_LARGE,
            Self::Gfx1200 => &GFX12,
        }
    }
}

impl FamilyFacts {
    /// User-data SGPRs that a stage has at least in waves of this size.
    pub const fn least_user_sgprs(&self, stage: HardwareStage, wave: WaveSize) -> u32 {
        match (stage, wave) {
            (HardwareStage::Ps | HardwareStage::Cs, WaveSize::W32) => self.least_user_sgprs,
            (HardwareStage::Hs | HardwareStage::Gs | HardwareStage::Vs, _) | (_, WaveSize::W64) => 0,
        }
    }

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

#[cfg(test)]
mod tests {
    use crate::target::Gpu;
    use crate::target::WaveSize::{W32, W64};

    #[test]
    fn a_large_register_file_holds_half_as_many_waves_more() {
        let waves = |name: &str, vgprs, wave| name.parse::<Gpu>().expect("known").facts().waves(vgprs, wave);
        assert_eq!((waves("gfx1100", 96, W32), waves("gfx1102", 96, W32)), (16, 10));
        assert_eq!((waves("gfx1151", 97, W64), waves("gfx1150", 64, W64)), (7, 8));
    }
}

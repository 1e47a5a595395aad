//! Where the fields of an instruction are: one table for each encoding, from which code is encoded and decoded.
//!
//! Bits are counted through the dwords of an instruction, so bit 32 is the lowest of the second dword, as the
//! instruction set documents count them. A field that an encoding lacks is [`CodeField::NONE`]: it reads as 0, and nothing
//! but 0 can be stored in it.

mod field;
mod gfx10;
mod gfx11;
mod gfx12;

use super::Format;
pub(super) use field::CodeField;
pub(super) use gfx10::GFX10;
pub(super) use gfx11::GFX11;
pub(super) use gfx12::GFX12;

/// How a format's first dword begins: the bits of `mask` are those of `value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    pub(super) format: Format,
    pub(super) mask: u32,
    pub(super) value: u32,
}

/// A format that begins with these `count` highest bits.
const fn prefix(format: Format, count: u32, value: u32) -> Prefix {
    Prefix { format, mask: u32::MAX << (32 - count), value: value << (32 - count) }
}

/// Fields of a scalar format.
#[derive(Debug)]
pub(super) struct ScalarLayout {
    pub(super) op: CodeField,
    pub(super) dst: CodeField,
    pub(super) srcs: [CodeField; 2],
    /// Constant of 16 bits.
    pub(super) imm: CodeField,
}

/// Fields of a memory access that say what it wants of the caches. An encoding has the first three or the last two.
#[derive(Debug)]
pub(super) struct CacheLayout {
    pub(super) glc: CodeField,
    pub(super) slc: CodeField,
    pub(super) dlc: CodeField,
    pub(super) scope: CodeField,
    /// Temporal hint.
    pub(super) hint: CodeField,
}

impl CacheLayout {
    const NONE: Self = {
        let none = CodeField::NONE;
        Self { glc: none, slc: none, dlc: none, scope: none, hint: none }
    };
}

/// Fields of scalar memory.
#[derive(Debug)]
pub(super) struct SmemLayout {
    pub(super) op: CodeField,
    pub(super) data: CodeField,
    /// Half of the number of the first register of address or descriptor.
    pub(super) base: CodeField,
    pub(super) offset: CodeField,
    pub(super) soffset: CodeField,
    pub(super) cache: CacheLayout,
}

/// Fields of a vector format of one dword.
#[derive(Debug)]
pub(super) struct ShortLayout {
    pub(super) op: CodeField,
    pub(super) dst: CodeField,
    /// Source 0, any operand, and source 1, a VGPR.
    pub(super) srcs: [CodeField; 2],
}

/// Fields of VOP3 and VOP3P.
#[derive(Debug)]
pub(super) struct LongLayout {
    pub(super) op: CodeField,
    pub(super) dst: CodeField,
    /// The second result, a mask, in place of `abs` and `op_sel`.
    pub(super) mask: CodeField,
    pub(super) srcs: [CodeField; 3],
    pub(super) abs: CodeField,
    pub(super) neg: CodeField,
    pub(super) neg_hi: CodeField,
    pub(super) op_sel: CodeField,
    pub(super) op_sel_hi: CodeField,
    pub(super) clamp: CodeField,
    pub(super) omod: CodeField,
}

/// Fields of the dword that selects parts of registers (SDWA).
#[derive(Debug)]
pub(super) struct SdwaLayout {
    pub(super) src0: CodeField,
    /// Of a comparison: the register of its result, and whether it is not VCC.
    pub(super) scalar_dst: CodeField,
    pub(super) has_scalar_dst: CodeField,
    pub(super) dst_sel: CodeField,
    pub(super) dst_unused: CodeField,
    pub(super) clamp: CodeField,
    pub(super) omod: CodeField,
    pub(super) srcs: [SdwaSourceLayout; 2],
}

impl SdwaLayout {
    /// Of an encoding without SDWA.
    const NONE: Self = {
        let none = CodeField::NONE;
        const SOURCE: SdwaSourceLayout = {
            let none = CodeField::NONE;
            SdwaSourceLayout { sel: none, sext: none, neg: none, abs: none, scalar: none }
        };
        Self {
            src0: none,
            scalar_dst: none,
            has_scalar_dst: none,
            dst_sel: none,
            dst_unused: none,
            clamp: none,
            omod: none,
            srcs: [SOURCE; 2],
        }
    };
}

/// Fields of a source in that dword.
#[derive(Debug)]
pub(super) struct SdwaSourceLayout {
    pub(super) sel: CodeField,
    pub(super) sext: CodeField,
    pub(super) neg: CodeField,
    pub(super) abs: CodeField,
    pub(super) scalar: CodeField,
}

/// Fields of the dword that takes source 0 from other lanes of a row (DPP16).
#[derive(Debug)]
pub(super) struct Dpp16Layout {
    pub(super) src0: CodeField,
    pub(super) ctrl: CodeField,
    pub(super) fi: CodeField,
    pub(super) bound_ctrl: CodeField,
    /// Of both sources.
    pub(super) neg: [CodeField; 2],
    pub(super) abs: [CodeField; 2],
    pub(super) bank_mask: CodeField,
    pub(super) row_mask: CodeField,
}

/// Fields of the dword that takes source 0 from other lanes of eight (DPP8).
#[derive(Debug)]
pub(super) struct Dpp8Layout {
    pub(super) src0: CodeField,
    pub(super) lanes: CodeField,
}

/// Fields of interpolation: VINTRP, and what it has of its own in VOP3.
#[derive(Debug)]
pub(super) struct InterpLayout {
    pub(super) op: CodeField,
    pub(super) dst: CodeField,
    pub(super) src: CodeField,
    pub(super) addend: CodeField,
    pub(super) attribute: CodeField,
    pub(super) channel: CodeField,
    pub(super) high: CodeField,
}

impl InterpLayout {
    /// Of an encoding without that format.
    const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, src: none, addend: none, attribute: none, channel: none, high: none }
    };
}

/// Fields of VINTERP that VOP3 does not have, or has elsewhere.
#[derive(Debug)]
pub(super) struct VinterpLayout {
    pub(super) op: CodeField,
    /// Exports and parameter loads that may be outstanding.
    pub(super) wait: CodeField,
    pub(super) op_sel: CodeField,
}

impl VinterpLayout {
    const NONE: Self = Self { op: CodeField::NONE, wait: CodeField::NONE, op_sel: CodeField::NONE };
}

/// Fields of LDSDIR.
#[derive(Debug)]
pub(super) struct LdsDirectLayout {
    pub(super) op: CodeField,
    pub(super) dst: CodeField,
    pub(super) channel: CodeField,
    pub(super) attribute: CodeField,
    /// Vector operations that may be outstanding.
    pub(super) wait: CodeField,
    /// Vector memory may still read its registers.
    pub(super) memory: CodeField,
}

impl LdsDirectLayout {
    const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, channel: none, attribute: none, wait: none, memory: none }
    };
}

/// Fields of a half of VOPD.
#[derive(Debug)]
pub(super) struct DualLayout {
    pub(super) op: CodeField,
    /// The result's register; of the second half without its lowest bit, which is the opposite of the first half's.
    pub(super) dst: CodeField,
    pub(super) srcs: [CodeField; 2],
}

impl DualLayout {
    const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, srcs: [none; 2] }
    };
}

/// Fields of DS.
#[derive(Debug)]
pub(super) struct DsLayout {
    pub(super) op: CodeField,
    pub(super) gds: CodeField,
    pub(super) offsets: [CodeField; 2],
    pub(super) addr: CodeField,
    pub(super) data: [CodeField; 2],
    pub(super) dst: CodeField,
}

/// Fields of FLAT, SCRATCH and GLOBAL.
#[derive(Debug)]
pub(super) struct FlatLayout {
    pub(super) op: CodeField,
    pub(super) offset: CodeField,
    pub(super) addr: CodeField,
    pub(super) data: CodeField,
    pub(super) saddr: CodeField,
    /// Of scratch: there is a vector address.
    pub(super) vaddr_enabled: CodeField,
    pub(super) dst: CodeField,
    pub(super) lds: CodeField,
    pub(super) cache: CacheLayout,
}

/// Fields of MUBUF and MTBUF.
#[derive(Debug)]
pub(super) struct BufferLayout {
    pub(super) op: CodeField,
    pub(super) format: CodeField,
    pub(super) offset: CodeField,
    pub(super) vaddr: CodeField,
    pub(super) data: CodeField,
    /// Number of the descriptor's first register, in units of `register_unit`.
    pub(super) resource: CodeField,
    pub(super) register_unit: u32,
    pub(super) soffset: CodeField,
    pub(super) offen: CodeField,
    pub(super) idxen: CodeField,
    pub(super) lds: CodeField,
    pub(super) tfe: CodeField,
    pub(super) cache: CacheLayout,
}

/// Fields of MIMG.
#[derive(Debug)]
pub(super) struct ImageLayout {
    pub(super) op: CodeField,
    /// The first address, and the others that have fields.
    pub(super) vaddr: CodeField,
    pub(super) more_addresses: [CodeField; 4],
    pub(super) data: CodeField,
    /// Numbers of the descriptors' first registers, in units of `register_unit`.
    pub(super) resource: CodeField,
    pub(super) sampler: CodeField,
    pub(super) register_unit: u32,
    pub(super) dim: CodeField,
    pub(super) dmask: CodeField,
    /// Number of dwords with further addresses.
    pub(super) nsa: CodeField,
    pub(super) unorm: CodeField,
    pub(super) r128: CodeField,
    pub(super) tfe: CodeField,
    pub(super) lwe: CodeField,
    pub(super) a16: CodeField,
    pub(super) d16: CodeField,
    pub(super) cache: CacheLayout,
    /// Separate addresses are groups where there is no room for each: a ray's vectors, and the last ones of other accesses.
    pub(super) groups: bool,
}

/// Fields of EXP.
#[derive(Debug)]
pub(super) struct ExportLayout {
    pub(super) enabled: CodeField,
    pub(super) target: CodeField,
    pub(super) compr: CodeField,
    pub(super) done: CodeField,
    pub(super) vm: CodeField,
    pub(super) row: CodeField,
    pub(super) data: [CodeField; 4],
    /// Numbers of the targets that exist, a bit each.
    pub(super) targets: u64,
}

/// The encoding of a group of families: the fields of every format.
#[derive(Debug)]
pub(super) struct Layout {
    /// Beginnings of the formats, a longer one before a shorter one that it also has.
    pub(super) prefixes: &'static [Prefix],
    pub(super) sop2: ScalarLayout,
    pub(super) sopk: ScalarLayout,
    pub(super) sop1: ScalarLayout,
    pub(super) sopc: ScalarLayout,
    pub(super) sopp: ScalarLayout,
    pub(super) smem: SmemLayout,
    pub(super) vop2: ShortLayout,
    pub(super) vop1: ShortLayout,
    pub(super) vopc: ShortLayout,
    pub(super) vop3: LongLayout,
    pub(super) vop3p: LongLayout,
    pub(super) sdwa: SdwaLayout,
    pub(super) dpp16: Dpp16Layout,
    pub(super) dpp8: Dpp8Layout,
    pub(super) vintrp: InterpLayout,
    pub(super) long_interp: InterpLayout,
    pub(super) vinterp: VinterpLayout,
    pub(super) ldsdir: LdsDirectLayout,
    /// Of both halves.
    pub(super) vopd: [DualLayout; 2],
    pub(super) ds: DsLayout,
    pub(super) flat: FlatLayout,
    pub(super) scratch: FlatLayout,
    pub(super) global: FlatLayout,
    pub(super) mubuf: BufferLayout,
    pub(super) mtbuf: BufferLayout,
    /// Dwords of an access of vector memory, without those of more addresses.
    pub(super) vector_memory: u8,
    pub(super) mimg: ImageLayout,
    pub(super) vsample: ImageLayout,
    pub(super) exp: ExportLayout,
    /// `saddr` of a scratch access without any address.
    pub(super) no_address: u32,
}

impl Layout {
    /// The format that a first dword is of.
    pub(super) fn format(&self, first: u32) -> Option<Format> {
        self.prefixes.iter().find(|prefix| first & prefix.mask == prefix.value).map(|prefix| prefix.format)
    }

    /// How a format begins; `None` if this encoding has no such format.
    pub(super) const fn prefix(&self, format: Format) -> Option<Prefix> {
        let mut n = 0;
        while n < self.prefixes.len() {
            if self.prefixes[n].format as usize == format as usize {
                return Some(self.prefixes[n]);
            }
            n += 1;
        }
        None
    }

    /// Fields of a scalar format; `None` for others.
    pub(super) const fn scalar(&self, format: Format) -> Option<&ScalarLayout> {
        match format {
            Format::Sop2 => Some(&self.sop2),
            Format::Sopk => Some(&self.sopk),
            Format::Sop1 => Some(&self.sop1),
            Format::Sopc => Some(&self.sopc),
            Format::Sopp => Some(&self.sopp),
            _ => None,
        }
    }

    /// Fields of a vector format of one dword.
    pub(super) const fn short(&self, format: Format) -> &ShortLayout {
        match format {
            Format::Vop1 => &self.vop1,
            Format::Vopc => &self.vopc,
            _ => &self.vop2,
        }
    }

    /// Fields of MIMG or VSAMPLE.
    pub(super) const fn image(&self, format: Format) -> &ImageLayout {
        match format {
            Format::Vsample => &self.vsample,
            _ => &self.mimg,
        }
    }

    /// Fields of FLAT, SCRATCH or GLOBAL.
    pub(super) const fn flat(&self, format: Format) -> &FlatLayout {
        match format {
            Format::Flat => &self.flat,
            Format::Scratch => &self.scratch,
            _ => &self.global,
        }
    }
}

//! The tables of fields: one type for each format.

use super::field::CodeField;
use crate::Format;

/// How a format's first dword begins: the bits of `mask` are those of `value`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    pub(crate) format: Format,
    pub(crate) mask: u32,
    pub(crate) value: u32,
}

/// A format that begins with these `count` highest bits.
pub(super) const fn prefix(format: Format, count: u32, value: u32) -> Prefix {
    Prefix { format, mask: u32::MAX << (32 - count), value: value << (32 - count) }
}

/// Fields of a scalar format.
#[derive(Debug)]
pub(crate) struct ScalarLayout {
    pub(crate) op: CodeField,
    pub(crate) dst: CodeField,
    pub(crate) srcs: [CodeField; 2],
    /// Constant of 16 bits.
    pub(crate) imm: CodeField,
}

/// Fields of a memory access that say what it wants of the caches. An encoding has the first three or the last two.
#[derive(Debug)]
pub(crate) struct CacheLayout {
    pub(crate) glc: CodeField,
    pub(crate) slc: CodeField,
    pub(crate) dlc: CodeField,
    pub(crate) scope: CodeField,
    /// Temporal hint.
    pub(crate) hint: CodeField,
}

impl CacheLayout {
    pub(super) const NONE: Self = {
        let none = CodeField::NONE;
        Self { glc: none, slc: none, dlc: none, scope: none, hint: none }
    };
}

/// Fields of scalar memory.
#[derive(Debug)]
pub(crate) struct SmemLayout {
    pub(crate) op: CodeField,
    pub(crate) data: CodeField,
    /// Half of the number of the first register of address or descriptor.
    pub(crate) base: CodeField,
    pub(crate) offset: CodeField,
    pub(crate) soffset: CodeField,
    pub(crate) cache: CacheLayout,
}

/// Fields of a vector format of one dword.
#[derive(Debug)]
pub(crate) struct ShortLayout {
    pub(crate) op: CodeField,
    pub(crate) dst: CodeField,
    /// Source 0, any operand, and source 1, a VGPR.
    pub(crate) srcs: [CodeField; 2],
}

/// Fields of VOP3 and VOP3P.
#[derive(Debug)]
pub(crate) struct LongLayout {
    pub(crate) op: CodeField,
    pub(crate) dst: CodeField,
    /// The second result, a mask, in place of `abs` and `op_sel`.
    pub(crate) mask: CodeField,
    pub(crate) srcs: [CodeField; 3],
    pub(crate) abs: CodeField,
    pub(crate) neg: CodeField,
    pub(crate) neg_hi: CodeField,
    pub(crate) op_sel: CodeField,
    pub(crate) op_sel_hi: CodeField,
    pub(crate) clamp: CodeField,
    pub(crate) omod: CodeField,
}

/// Fields of the dword that selects parts of registers (SDWA).
#[derive(Debug)]
pub(crate) struct SdwaLayout {
    pub(crate) src0: CodeField,
    /// Of a comparison: the register of its result, and whether it is not VCC.
    pub(crate) scalar_dst: CodeField,
    pub(crate) has_scalar_dst: CodeField,
    pub(crate) dst_sel: CodeField,
    pub(crate) dst_unused: CodeField,
    pub(crate) clamp: CodeField,
    pub(crate) omod: CodeField,
    pub(crate) srcs: [SdwaSourceLayout; 2],
}

impl SdwaLayout {
    /// Of an encoding without SDWA.
    pub(super) const NONE: Self = {
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
pub(crate) struct SdwaSourceLayout {
    pub(crate) sel: CodeField,
    pub(crate) sext: CodeField,
    pub(crate) neg: CodeField,
    pub(crate) abs: CodeField,
    pub(crate) scalar: CodeField,
}

/// Fields of the dword that takes source 0 from other lanes of a row (DPP16).
#[derive(Debug)]
pub(crate) struct Dpp16Layout {
    pub(crate) src0: CodeField,
    pub(crate) ctrl: CodeField,
    pub(crate) fi: CodeField,
    pub(crate) bound_ctrl: CodeField,
    /// Of both sources.
    pub(crate) neg: [CodeField; 2],
    pub(crate) abs: [CodeField; 2],
    pub(crate) bank_mask: CodeField,
    pub(crate) row_mask: CodeField,
}

/// Fields of the dword that takes source 0 from other lanes of eight (DPP8).
#[derive(Debug)]
pub(crate) struct Dpp8Layout {
    pub(crate) src0: CodeField,
    pub(crate) lanes: CodeField,
}

/// Fields of interpolation: VINTRP, and what it has of its own in VOP3.
#[derive(Debug)]
pub(crate) struct InterpLayout {
    pub(crate) op: CodeField,
    pub(crate) dst: CodeField,
    pub(crate) src: CodeField,
    pub(crate) addend: CodeField,
    pub(crate) attribute: CodeField,
    pub(crate) channel: CodeField,
    pub(crate) high: CodeField,
}

impl InterpLayout {
    /// Of an encoding without that format.
    pub(super) const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, src: none, addend: none, attribute: none, channel: none, high: none }
    };
}

/// Fields of VINTERP that VOP3 does not have, or has elsewhere.
#[derive(Debug)]
pub(crate) struct VinterpLayout {
    pub(crate) op: CodeField,
    /// Exports and parameter loads that may be outstanding.
    pub(crate) wait: CodeField,
    pub(crate) op_sel: CodeField,
}

impl VinterpLayout {
    pub(super) const NONE: Self = Self { op: CodeField::NONE, wait: CodeField::NONE, op_sel: CodeField::NONE };
}

/// Fields of LDSDIR.
#[derive(Debug)]
pub(crate) struct LdsDirectLayout {
    pub(crate) op: CodeField,
    pub(crate) dst: CodeField,
    pub(crate) channel: CodeField,
    pub(crate) attribute: CodeField,
    /// Vector operations that may be outstanding.
    pub(crate) wait: CodeField,
    /// Vector memory may still read its registers.
    pub(crate) memory: CodeField,
}

impl LdsDirectLayout {
    pub(super) const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, channel: none, attribute: none, wait: none, memory: none }
    };
}

/// Fields of a half of VOPD.
#[derive(Debug)]
pub(crate) struct DualLayout {
    pub(crate) op: CodeField,
    /// The result's register; of the second half without its lowest bit, which is the opposite of the first half's.
    pub(crate) dst: CodeField,
    pub(crate) srcs: [CodeField; 2],
}

impl DualLayout {
    pub(super) const NONE: Self = {
        let none = CodeField::NONE;
        Self { op: none, dst: none, srcs: [none; 2] }
    };
}

/// Fields of DS.
#[derive(Debug)]
pub(crate) struct DsLayout {
    pub(crate) op: CodeField,
    pub(crate) gds: CodeField,
    pub(crate) offsets: [CodeField; 2],
    pub(crate) addr: CodeField,
    pub(crate) data: [CodeField; 2],
    pub(crate) dst: CodeField,
}

/// Fields of FLAT, SCRATCH and GLOBAL.
#[derive(Debug)]
pub(crate) struct FlatLayout {
    pub(crate) op: CodeField,
    pub(crate) offset: CodeField,
    pub(crate) addr: CodeField,
    pub(crate) data: CodeField,
    pub(crate) saddr: CodeField,
    /// Of scratch: there is a vector address.
    pub(crate) vaddr_enabled: CodeField,
    pub(crate) dst: CodeField,
    pub(crate) lds: CodeField,
    pub(crate) cache: CacheLayout,
}

/// Fields of MUBUF and MTBUF.
#[derive(Debug)]
pub(crate) struct BufferAccessLayout {
    pub(crate) op: CodeField,
    pub(crate) format: CodeField,
    pub(crate) offset: CodeField,
    pub(crate) vaddr: CodeField,
    pub(crate) data: CodeField,
    /// Number of the descriptor's first register, in units of `register_unit`.
    pub(crate) resource: CodeField,
    pub(crate) register_unit: u32,
    pub(crate) soffset: CodeField,
    pub(crate) offen: CodeField,
    pub(crate) idxen: CodeField,
    pub(crate) lds: CodeField,
    pub(crate) tfe: CodeField,
    pub(crate) cache: CacheLayout,
}

/// Fields of MIMG.
#[derive(Debug)]
pub(crate) struct ImageLayout {
    pub(crate) op: CodeField,
    /// The first address, and the others that have fields.
    pub(crate) vaddr: CodeField,
    pub(crate) more_addresses: [CodeField; 4],
    pub(crate) data: CodeField,
    /// Numbers of the descriptors' first registers, in units of `register_unit`.
    pub(crate) resource: CodeField,
    pub(crate) sampler: CodeField,
    pub(crate) register_unit: u32,
    pub(crate) dim: CodeField,
    pub(crate) dmask: CodeField,
    /// Number of dwords with further addresses.
    pub(crate) nsa: CodeField,
    pub(crate) unorm: CodeField,
    pub(crate) r128: CodeField,
    pub(crate) tfe: CodeField,
    pub(crate) lwe: CodeField,
    pub(crate) a16: CodeField,
    pub(crate) d16: CodeField,
    pub(crate) cache: CacheLayout,
    /// Separate addresses are groups where there is no room for each: a ray's vectors, and the last ones of other accesses.
    pub(crate) groups: bool,
}

/// Fields of EXP.
#[derive(Debug)]
pub(crate) struct ExportLayout {
    pub(crate) enabled: CodeField,
    pub(crate) target: CodeField,
    pub(crate) compr: CodeField,
    pub(crate) done: CodeField,
    pub(crate) vm: CodeField,
    pub(crate) row: CodeField,
    pub(crate) data: [CodeField; 4],
    /// Numbers of the targets that exist, a bit each.
    pub(crate) targets: u64,
}

/// The encoding of a group of families: the fields of every format.
#[derive(Debug)]
pub(crate) struct EncodingLayout {
    /// Beginnings of the formats, a longer one before a shorter one that it also has.
    pub(crate) prefixes: &'static [Prefix],
    pub(crate) sop2: ScalarLayout,
    pub(crate) sopk: ScalarLayout,
    pub(crate) sop1: ScalarLayout,
    pub(crate) sopc: ScalarLayout,
    pub(crate) sopp: ScalarLayout,
    pub(crate) smem: SmemLayout,
    pub(crate) vop2: ShortLayout,
    pub(crate) vop1: ShortLayout,
    pub(crate) vopc: ShortLayout,
    pub(crate) vop3: LongLayout,
    pub(crate) vop3p: LongLayout,
    pub(crate) sdwa: SdwaLayout,
    pub(crate) dpp16: Dpp16Layout,
    pub(crate) dpp8: Dpp8Layout,
    pub(crate) vintrp: InterpLayout,
    pub(crate) long_interp: InterpLayout,
    pub(crate) vinterp: VinterpLayout,
    pub(crate) ldsdir: LdsDirectLayout,
    /// Of both halves.
    pub(crate) vopd: [DualLayout; 2],
    pub(crate) ds: DsLayout,
    pub(crate) flat: FlatLayout,
    pub(crate) scratch: FlatLayout,
    pub(crate) global: FlatLayout,
    pub(crate) mubuf: BufferAccessLayout,
    pub(crate) mtbuf: BufferAccessLayout,
    /// Dwords of an access of vector memory, without those of more addresses.
    pub(crate) vector_memory: u8,
    pub(crate) mimg: ImageLayout,
    pub(crate) vsample: ImageLayout,
    pub(crate) exp: ExportLayout,
    /// `saddr` of a scratch access without any address.
    pub(crate) no_address: u32,
}

impl EncodingLayout {
    /// The format that a first dword is of.
    pub(crate) fn format(&self, first: u32) -> Option<Format> {
        self.prefixes.iter().find(|prefix| first & prefix.mask == prefix.value).map(|prefix| prefix.format)
    }

    /// How a format begins; `None` if this encoding has no such format.
    pub(crate) const fn prefix(&self, format: Format) -> Option<Prefix> {
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
    pub(crate) const fn scalar(&self, format: Format) -> Option<&ScalarLayout> {
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
    pub(crate) const fn short(&self, format: Format) -> &ShortLayout {
        match format {
            Format::Vop1 => &self.vop1,
            Format::Vopc => &self.vopc,
            _ => &self.vop2,
        }
    }

    /// Fields of MIMG or VSAMPLE.
    pub(crate) const fn image(&self, format: Format) -> &ImageLayout {
        match format {
            Format::Vsample => &self.vsample,
            _ => &self.mimg,
        }
    }

    /// Fields of FLAT, SCRATCH or GLOBAL.
    pub(crate) const fn flat(&self, format: Format) -> &FlatLayout {
        match format {
            Format::Flat => &self.flat,
            Format::Scratch => &self.scratch,
            _ => &self.global,
        }
    }
}

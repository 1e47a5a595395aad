//! An instruction as it was read: its row of the opcode table, and every field of its encoding.
//!
//! [`Inst`](super::Inst) is what glue writes; this is what anyone may have written. Fields that an encoding leaves implicit
//! (VCC as carry, the literal of `v_fmaak`) are filled in, so a reader need not know the encoding to know the operands.

use super::table::Entry;
use super::{Cache, Scalar, Src, Vgpr};

/// One machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it is.
    pub entry: &'static Entry,
    /// Its length.
    pub dwords: u8,
    /// Its operands.
    pub fields: Fields,
}

/// Operands, by kind of encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fields {
    /// SOP1, SOP2, SOPC, SOPK, SOPP.
    Scalar(ScalarFields),
    /// SMEM.
    Smem(SmemFields),
    /// VOP1, VOP2, VOPC, VOP3, VOP3P.
    Vector(Box<VectorFields>),
    /// VINTRP, and the interpolation instructions in VOP3.
    Interp(InterpFields),
    /// DS.
    Ds(DsFields),
    /// FLAT, GLOBAL, SCRATCH.
    Flat(FlatFields),
    /// MUBUF, MTBUF.
    Buffer(BufferFields),
    /// MIMG.
    Image(Box<ImageFields>),
    /// EXP.
    Export(ExportFields),
}

/// A scalar operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarFields {
    /// First register written.
    pub dst: Option<Scalar>,
    /// Values read.
    pub srcs: [Option<Src>; 2],
    /// The 16-bit constant of SOPK and SOPP.
    pub imm: u16,
}

/// A scalar load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmemFields {
    /// First register loaded.
    pub data: Scalar,
    /// First register of the address or descriptor.
    pub base: Scalar,
    /// Bytes added, signed.
    pub offset: i32,
    /// Register added.
    pub soffset: Option<Scalar>,
    /// Cache policy.
    pub cache: Cache,
}

/// A vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorFields {
    /// Result: a VGPR, or a scalar (compare, lane read); none for `v_cmpx`.
    pub dst: Option<VectorDst>,
    /// Second result, a lane mask.
    pub mask: Option<Scalar>,
    /// Values read, in the order of the table.
    pub srcs: [Option<Src>; 3],
    /// Modifiers.
    pub mods: Modifiers,
    /// Encoding and what comes with it.
    pub form: VectorForm,
}

/// Where a vector operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorDst {
    /// Lane by lane.
    Vgpr(Vgpr),
    /// Once.
    Scalar(Scalar),
}

/// Modifiers of a vector operation; bit i of a set belongs to source i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// Sign removed.
    pub abs: u8,
    /// Sign flipped; of the low half in packed operations.
    pub neg: u8,
    /// Sign of the high half flipped.
    pub neg_hi: u8,
    /// High half read; bit 3: high half written.
    pub op_sel: u8,
    /// High half read for the high half.
    pub op_sel_hi: u8,
    /// Result clamped.
    pub clamp: bool,
    /// Result ×2, ×4, ÷2.
    pub omod: u8,
}

/// The encoding of a vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorForm {
    /// VOP1, VOP2, VOPC.
    Short,
    /// VOP3, VOP3P.
    Long,
    /// Parts of registers.
    Sdwa(Sdwa),
    /// Source 0 from other lanes, in rows of 16.
    Dpp16(Dpp16),
    /// Source 0 from other lanes, in groups of 8.
    Dpp8 {
        /// Three bits a lane.
        lanes: u32,
        /// Read inactive lanes too.
        fi: bool,
    },
}

/// Parts of registers: select codes 0–3 byte, 4–5 half, 6 all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// What is written.
    pub dst_sel: u8,
    /// What becomes of the rest: 0 zero, 1 sign, 2 kept.
    pub dst_unused: u8,
    /// What is read of each source.
    pub src_sel: [u8; 2],
    /// Read with sign.
    pub sext: [bool; 2],
}

/// Source 0 from other lanes of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dpp16 {
    /// Which lane.
    pub ctrl: u16,
    /// Read inactive lanes too.
    pub fi: bool,
    /// A lane without a source reads 0; otherwise it is not written.
    pub bound_ctrl: bool,
    /// Groups of four lanes written.
    pub bank_mask: u8,
    /// Rows written.
    pub row_mask: u8,
}

/// Parameter interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpFields {
    /// Written.
    pub dst: Vgpr,
    /// Barycentric coordinate; for `v_interp_mov` the number of the parameter, 0 P10, 1 P20, 2 P0.
    pub src: Src,
    /// Third operand of the half-precision forms.
    pub addend: Option<Src>,
    /// Attribute.
    pub attribute: u8,
    /// Its channel.
    pub channel: u8,
    /// The high half of it.
    pub high: bool,
    /// Modifiers of the half-precision forms.
    pub mods: Modifiers,
}

/// Local data share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsFields {
    /// First register returned.
    pub dst: Vgpr,
    /// Byte address.
    pub addr: Vgpr,
    /// First registers of the data.
    pub data: [Vgpr; 2],
    /// Offsets: two of 8 bits, or in the first one of 16.
    pub offsets: [u8; 2],
    /// Global data share.
    pub gds: bool,
}

/// Memory by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatFields {
    /// First register returned.
    pub dst: Vgpr,
    /// Address, or offset.
    pub addr: Vgpr,
    /// First register of the data.
    pub data: Vgpr,
    /// Scalar address.
    pub saddr: Option<Scalar>,
    /// No vector address (scratch only).
    pub no_vaddr: bool,
    /// Bytes added.
    pub offset: i32,
    /// Direct to LDS.
    pub lds: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: Cache,
}

/// Buffer access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferFields {
    /// First register of the data.
    pub data: Vgpr,
    /// First register of index and offset.
    pub vaddr: Vgpr,
    /// `vaddr` has an index.
    pub idxen: bool,
    /// `vaddr` has an offset.
    pub offen: bool,
    /// First register of the descriptor.
    pub resource: Scalar,
    /// Scalar offset.
    pub soffset: Src,
    /// Constant offset.
    pub offset: u16,
    /// Format number of a typed access.
    pub format: Option<u8>,
    /// Direct to LDS.
    pub lds: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: Cache,
}

/// Image access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFields {
    /// First register of the data.
    pub data: Vgpr,
    /// Address registers: one that begins a group, or (`nsa`) each.
    pub addresses: Vec<Vgpr>,
    /// Addresses are single registers.
    pub nsa: bool,
    /// First register of the image descriptor.
    pub resource: Scalar,
    /// First register of the sampler descriptor.
    pub sampler: Scalar,
    /// Dimension: 0 1D, 1 2D, 2 3D, 3 cube, 4 1D array, 5 2D array, 6 multisampled, 7 multisampled array.
    pub dim: u8,
    /// Components moved.
    pub dmask: u8,
    /// Coordinates are texels.
    pub unorm: bool,
    /// The descriptor has four dwords.
    pub r128: bool,
    /// Addresses are halves.
    pub a16: bool,
    /// Data are halves.
    pub d16: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// The same for the level of detail.
    pub lwe: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: Cache,
}

/// An export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportFields {
    /// Target number.
    pub target: u8,
    /// Components sent.
    pub enabled: u8,
    /// Registers.
    pub data: [Vgpr; 4],
    /// Two registers of two halves.
    pub compr: bool,
    /// Last of its kind.
    pub done: bool,
    /// The lane mask says which pixels are alive.
    pub vm: bool,
}

impl ImageFields {
    /// The register of address dword `n`.
    pub fn address(&self, n: usize) -> Option<Vgpr> {
        if self.nsa {
            return self.addresses.get(n).copied();
        }
        let first = self.addresses.first()?.0;
        first.checked_add(u8::try_from(n).ok()?).map(Vgpr)
    }

    /// Registers of the data, without a status dword.
    pub fn data_registers(&self, mnemonic: &str) -> u8 {
        let components = if mnemonic.contains("gather4") || mnemonic.contains("msaa_load") {
            4
        } else {
            u8::try_from(self.dmask.count_ones().max(1)).unwrap_or(1)
        };
        if self.d16 { components.div_ceil(2) } else { components }
    }
}

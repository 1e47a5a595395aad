//! Operands of vector operations and of interpolation: modifiers, SDWA, DPP.

use crate::isa::{Scalar, Src, Vgpr};

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

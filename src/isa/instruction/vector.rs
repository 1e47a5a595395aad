//! Operands of vector operations and of interpolation: modifiers, SDWA, DPP.

use crate::{Scalar, Src, Vgpr};

/// A vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorFields {
    /// Result: a VGPR, or a scalar (compare, lane read); `None` for `v_cmpx`.
    pub dst: Option<VectorDst>,
    /// Second result, a lane mask.
    pub mask: Option<Scalar>,
    /// Values read, in the order of the table.
    pub srcs: [Option<Src>; 3],
    /// Modifiers.
    pub mods: Modifiers,
    /// Encoding with its own fields.
    pub form: VectorForm,
}

/// Destination of a vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorDst {
    /// Per-lane result.
    Vgpr(Vgpr),
    /// One result per wave.
    Scalar(Scalar),
}

/// Modifiers of a vector operation; bit i of a set belongs to source i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// Sign removed.
    pub abs: u8,
    /// Sign flipped; in packed operations that of the low half.
    pub neg: u8,
    /// Sign of the high half flipped.
    pub neg_hi: u8,
    /// Mask of high halves read; bit 3: high half written.
    pub op_sel: u8,
    /// Mask of high halves read for the high half of the result.
    pub op_sel_hi: u8,
    /// Result clamped.
    pub clamp: bool,
    /// Output modifier: ×2, ×4, ÷2.
    pub omod: u8,
}

/// The encoding of a vector operation. A short form can choose halves of registers (`op_sel`) where the operation has
/// [`HALVES`](crate::Traits::HALVES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorForm {
    /// VOP1, VOP2, VOPC.
    Short,
    /// VOP3, VOP3P.
    Long,
    /// Sub-dword operands.
    Sdwa(Sdwa),
    /// Source 0 from other lanes, in rows of 16.
    Dpp16(Dpp16),
    /// Source 0 from other lanes, in groups of 8.
    Dpp8 {
        /// Source lanes, three bits per lane.
        lanes: u32,
        /// Inactive lanes are read too.
        fi: bool,
    },
    /// VOP3, VOP3P, with source 0 from other lanes, in rows of 16.
    LongDpp16(Dpp16),
    /// VOP3, VOP3P, with source 0 from other lanes, in groups of 8.
    LongDpp8 {
        /// Source lanes, three bits per lane.
        lanes: u32,
        /// Inactive lanes are read too.
        fi: bool,
    },
    /// VINTERP.
    Interp {
        /// Exports and parameter loads that may be outstanding.
        wait: u8,
    },
}

impl VectorForm {
    /// Whether every operand has a field, and modifiers have.
    pub const fn is_long(self) -> bool {
        match self {
            Self::Long | Self::LongDpp16(_) | Self::LongDpp8 { .. } | Self::Interp { .. } => true,
            Self::Short | Self::Sdwa(_) | Self::Dpp16(_) | Self::Dpp8 { .. } => false,
        }
    }

    /// Whether source 0 comes from other lanes.
    pub const fn is_dpp(self) -> bool {
        match self {
            Self::Dpp16(_) | Self::Dpp8 { .. } | Self::LongDpp16(_) | Self::LongDpp8 { .. } => true,
            Self::Short | Self::Long | Self::Sdwa(_) | Self::Interp { .. } => false,
        }
    }
}

/// Sub-dword selectors: 0–3 byte, 4–5 16-bit half, 6 all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// Part that is written.
    pub dst_sel: u8,
    /// Treatment of the rest: 0 zero, 1 sign-extended, 2 kept.
    pub dst_unused: u8,
    /// Part that is read of each source.
    pub src_sel: [u8; 2],
    /// Sign extension of each source.
    pub sext: [bool; 2],
}

/// Source 0 from other lanes of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dpp16 {
    /// Source lane control, `dpp_ctrl`.
    pub ctrl: u16,
    /// Inactive lanes are read too.
    pub fi: bool,
    /// A lane without a source reads 0; otherwise it is not written.
    pub bound_ctrl: bool,
    /// Mask of the groups of four lanes written.
    pub bank_mask: u8,
    /// Mask of the rows written.
    pub row_mask: u8,
}

/// Parameter interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpFields {
    /// Result.
    pub dst: Vgpr,
    /// Barycentric coordinate; for `v_interp_mov` the number of the parameter, 0 P10, 1 P20, 2 P0.
    pub src: Src,
    /// Third operand of the f16 forms.
    pub addend: Option<Src>,
    /// Attribute number.
    pub attribute: u8,
    /// Its channel.
    pub channel: u8,
    /// The channel's high half.
    pub high: bool,
    /// Modifiers of the f16 forms.
    pub mods: Modifiers,
}

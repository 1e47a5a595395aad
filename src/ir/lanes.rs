//! Cross-lane operations: of a subgroup, of a quad, and the hardware's own.

/// Operations across the lanes of a subgroup. Lane masks are b64. Operands: the value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupOp {
    /// → b1: the lowest active lane.
    Elect,
    /// b1 → b64.
    Ballot,
    /// b1 → b1.
    All,
    /// b1 → b1.
    Any,
    /// value → b1.
    AllEqual,
    /// value, lane (uniform) → value.
    Broadcast,
    /// value → value of the lowest active lane.
    BroadcastFirst,
    /// value, lane → value.
    Shuffle,
    /// value, mask → value.
    ShuffleXor,
    /// value, delta → value of the lane with a number lower by delta.
    ShuffleUp,
    /// value, delta → value of the lane with a number higher by delta.
    ShuffleDown,
    /// value, delta → rotated within clusters of this size (0: the subgroup).
    Rotate(u8),
    /// value → reduced over clusters of this size (0: the subgroup).
    Reduce(ReduceOp, u8),
    /// value → scan with itself.
    InclusiveScan(ReduceOp),
    /// value → scan without itself.
    ExclusiveScan(ReduceOp),
    /// value, lane of the quad → value.
    QuadBroadcast,
    /// value → value.
    QuadSwap(QuadSwap),
}

/// Axis of a quad swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuadSwap {
    /// Left and right.
    Horizontal,
    /// Top and bottom.
    Vertical,
    /// Both axes.
    Diagonal,
}

/// Operator of a reduction or scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReduceOp {
    IAdd,
    FAdd,
    IMul,
    FMul,
    SMin,
    UMin,
    FMin,
    SMax,
    UMax,
    FMax,
    And,
    Or,
    Xor,
}

/// Kind of difference within a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivativeKind {
    /// Vertical rather than horizontal.
    pub vertical: bool,
    /// Per row or column, rather than one for the quad.
    pub fine: bool,
}

/// Hardware lane primitives; all but the cube ones are convergent (must not be moved) and of the lower level only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneOp {
    /// T → T of the lowest active lane; uniform.
    ReadFirstLane,
    /// b32, lane (uniform) → b32.
    ReadLane,
    /// value b32 (uniform), lane (uniform), old b32 → old with that lane replaced.
    WriteLane,
    /// → mask of active lanes where the b1 is true, as wide as the wave: b32 or b64.
    Ballot,
    /// mask, as wide as the wave → number of its set bits below the current lane, b32.
    MaskBitCount,
    /// old b32, source b32 → moved within rows of 16 (DPP); a lane without a source gets old, or 0 with `bound_zero`.
    Dpp {
        /// `dpp_ctrl`.
        ctrl: u16,
        /// Mask of rows written.
        row_mask: u8,
        /// Mask of banks written.
        bank_mask: u8,
        /// Lanes without a source get 0.
        bound_zero: bool,
    },
    /// old b32, source b32 → lane of the other row of the pair, by 4-bit selectors.
    PermlaneX16 {
        /// Selectors of lanes 0 to 7.
        low: u32,
        /// Selectors of lanes 8 to 15.
        high: u32,
        /// Inactive lanes are read too.
        fetch_inactive: bool,
    },
    /// lane × 4 (b32), value b32 → value of that lane (within the same 32 lanes on gfx10).
    BPermute,
    /// value b32, identity b32 → identity in inactive lanes.
    SetInactive,
    /// b32 → b32, computed with all lanes active.
    StrictWwm,
    /// b32 → b32, computed with helper lanes active.
    Wqm,
    /// → b1: whether the lane is a live pixel, not a helper, at this point.
    LiveMask,
    /// x, y, z → cube face, s, t, and twice the major axis.
    CubeId,
    /// See [`LaneOp::CubeId`].
    CubeS,
    /// See [`LaneOp::CubeId`].
    CubeT,
    /// See [`LaneOp::CubeId`].
    CubeMa,
}

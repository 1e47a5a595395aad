//! The plan as data: the landing and the exit of each block, and the masks that they use.

use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List};
use smallvec::SmallVec;

/// A mask of lanes that the code keeps: a number below [`Plan::masks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MaskId(pub u32);

/// Position of a block in the layout.
pub type Position = u32;

/// The changes of EXEC when the wave comes to a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landing {
    /// EXEC becomes this mask first: the lanes of the block before are not meant to continue here.
    pub replace: Option<MaskSource>,
    /// Masks whose lanes are then added to EXEC.
    pub add: SmallVec<[MaskId; 2]>,
    /// If EXEC is empty after that: the block to whose landing the wave goes on.
    pub skip: Option<Position>,
}

/// Lanes that a landing starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskSource {
    /// The lanes of a mask.
    Mask(MaskId),
    /// The lanes saved by a closed branch that did not take its first target.
    Rest(Position),
}

/// Where the wave continues at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// At the landing of a block: the target of the lanes, or an earlier block where others wait.
    To(Position),
    /// At the first block if a uniform condition holds, otherwise at the second one.
    Uniform(Position, Position),
    /// Lanes without the condition (with it, if `inverted`) leave EXEC; if none is left, the wave goes to the second
    /// target.
    Divergent {
        /// Whether the lanes without the condition continue.
        inverted: bool,
        /// Where the remaining lanes continue.
        to: Position,
        /// Where the wave goes if no lane remains.
        empty: Position,
    },
    /// The shader ends.
    End,
}

/// The changes of masks and EXEC at the end of a block, and the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Masks that get all lanes of the block.
    pub wait: SmallVec<[MaskId; 2]>,
    /// Masks that get the lanes that fulfil the condition, or do not (`false`).
    pub wait_if: SmallVec<[(MaskId, bool); 2]>,
    /// EXEC is saved to this mask before it is reduced: the branch is closed.
    pub save: Option<MaskId>,
    /// Where the wave goes then.
    pub go: Go,
}

/// The plan of a shader.
#[derive(Debug)]
pub struct Plan {
    /// By position: how the block begins.
    pub landings: List<Landing>,
    /// By position: how the block ends.
    pub exits: List<Exit>,
    /// By position: masks that are cleared at the end of the block, before anything else. They are used at blocks that
    /// this one dominates.
    pub clears: Kept<Rows<MaskId>>,
    /// Number of masks.
    pub masks: u32,
    /// By position: whether lanes may wait at later blocks while the wave is here.
    pub waits: List<bool>,
}

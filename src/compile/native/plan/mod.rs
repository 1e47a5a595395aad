//! Where the wave goes, and with which lanes: every branch of the shader becomes a branch of the wave or a change of
//! EXEC.
//!
//! The wave visits the blocks in layout order. At the end of a block its lanes want to go on somewhere; lanes that went
//! elsewhere before may wait at blocks in between. If none does, the wave jumps; otherwise its lanes are added to the
//! mask that waits at their target, and the wave continues at the first block where lanes wait. That is right for any
//! reducible graph, breaks, continues and early returns included. Most branches need less:
//!
//! | branch | becomes |
//! | --- | --- |
//! | uniform, nobody waits before its targets | a branch on SCC |
//! | divergent, and all paths meet again at a block (*closed*) | EXEC saved, reduced, and restored at that block |
//! | others | masks of waiting lanes |
//!
//! A block at which lanes wait begins with a *landing*, which puts them into EXEC and, if there may be none, skips the
//! block: scalar code, and with it scalar loads and branches, never runs without a lane.

mod clear;
mod closed;
mod walk;
mod wave;

pub use wave::WavePaths;

use super::layout::BlockLayout;
use crate::error::Result;
use crate::ir::uniform::Uniformity;
use crate::ir::{Shader, Terminator};

/// A mask that code keeps: index into [`Plan::masks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MaskId(pub u32);

/// Position of a block in the layout.
pub type Position = u32;

/// What happens to lanes when the wave comes to a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landing {
    /// EXEC becomes this mask first: the lanes of the block before are not meant to continue here.
    pub replace: Option<MaskSource>,
    /// These are added.
    pub add: Vec<MaskId>,
    /// If no lane is there then, the wave goes on to the landing of this block.
    pub skip: Option<Position>,
}

/// Lanes that a landing starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskSource {
    /// Those of a mask.
    Mask(MaskId),
    /// Those saved by a closed branch that did not go to its first target.
    Rest(Position),
}

/// Where the wave goes at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// To the landing of a block, whose lanes these are or which has others waiting.
    To(Position),
    /// By a uniform condition.
    Uniform(Position, Position),
    /// Lanes without the condition (with it, if `inverted`) leave EXEC; if none is left, the wave goes to the second.
    Divergent {
        /// Whether lanes continue that do not fulfil the condition.
        inverted: bool,
        /// Where the lanes continue that are left.
        to: Position,
        /// Where the wave goes if none is.
        empty: Position,
    },
    /// The shader ends.
    End,
}

/// What the end of a block does with lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Masks that are set to no lanes here, before anything else: of blocks that this one dominates.
    pub clear: Vec<MaskId>,
    /// Masks that get all lanes of the block.
    pub wait: Vec<MaskId>,
    /// Masks that get the lanes that fulfil the condition, or do not (`false`).
    pub wait_if: Vec<(MaskId, bool)>,
    /// EXEC is saved to this mask before it is reduced: the branch is closed.
    pub save: Option<MaskId>,
    /// Where it goes.
    pub go: Go,
}

/// The plan of a shader.
#[derive(Debug)]
pub struct Plan {
    /// By position.
    pub landings: Vec<Landing>,
    /// By position.
    pub exits: Vec<Exit>,
    /// Number of masks.
    pub masks: u32,
    /// By position: lanes may wait somewhere while the wave is here.
    pub waits: Vec<bool>,
}

impl Plan {
    /// Plans a shader that `shape` has prepared.
    ///
    /// # Errors
    /// Unsupported: lanes that wait in a way that is not handled yet.
    pub fn new(shader: &Shader, layout: &BlockLayout, uniformity: &Uniformity) -> Result<Self> {
        let mut divergent: Vec<bool> = layout
            .order
            .iter()
            .map(|b| match shader.block(*b).term {
                Some(Terminator::Branch { cond, .. }) => !uniformity.is_uniform_in(cond, *b),
                _ => false,
            })
            .collect();
        // A uniform branch that cannot be one of the wave, since lanes wait before its target, changes EXEC as others do.
        loop {
            match walk::walk(shader, layout, &divergent)? {
                walk::Walked::Plan(plan) => return Ok(plan),
                walk::Walked::Demoted(list) => list.into_iter().for_each(|p| divergent[p as usize] = true),
            }
        }
    }
}

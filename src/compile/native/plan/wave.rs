//! Which blocks the wave has certainly passed before it reaches a block.
//!
//! Dominance between the shader's blocks holds for lanes, not for the wave: the wave may come to the landing of a block
//! without having run the block's dominator. No lane waits at the landing then, and the wave goes on without running
//! the block; but in the graph of the code, the way from that landing into the block exists all the same. So a scalar
//! register or a mask that the dominator writes counts as defined in the block only if this module says that the wave
//! has passed the dominator.

use super::{Go, Landing, Plan, Position};
use dovetail_base::workspace::{Kept, take};
use dovetail_ir::cfg::DomTree;
use dovetail_ir::{BlockId, Graph, PerBlock};

/// The ways of the wave.
#[derive(Debug)]
pub struct WavePaths {
    dominators: Kept<DomTree>,
    /// Predecessors of each landing (node `2 * n` for position n) and of each block's body (node `2 * n + 1`).
    preds: Kept<Graph>,
}

const fn landing(at: Position) -> BlockId {
    BlockId(2 * at)
}

const fn body(at: Position) -> BlockId {
    BlockId(2 * at + 1)
}

impl WavePaths {
    /// The paths of a plan's wave.
    pub fn new(plan: &Plan) -> Self {
        let mut succs = take::<Graph>();
        for (at, (land, exit)) in (0..).zip(plan.landings.iter().zip(&plan.exits)) {
            let skip = if *land == Landing::default() { None } else { land.skip.map(landing) };
            succs.push(std::iter::once(body(at)).chain(skip));
            // A back edge leads into the body of the loop's header, past its landing.
            let to = |to: Position| if to <= at { body(to) } else { landing(to) };
            match exit.go {
                Go::To(next) => succs.push([to(next)]),
                Go::Uniform(then, els) => succs.push([to(then), to(els)]),
                Go::Divergent { to: next, empty, .. } => succs.push([to(next), to(empty)]),
                Go::End => succs.push([]),
            }
        }
        let preds = succs.reversed();
        Self { dominators: DomTree::new(&succs, &preds), preds }
    }

    /// Whether the wave has passed the first block whenever it is in the second.
    pub fn passes(&self, first: Position, second: Position) -> bool {
        self.dominators.dominates(body(first), body(second))
    }

    /// Whether the wave comes to a block directly from each of these blocks, and from nowhere else.
    pub fn comes_from(&self, block: Position, blocks: impl Iterator<Item = Position>) -> bool {
        // A landing with nothing to do is no block of its own.
        let direct = |from: &&BlockId| **from != landing(block);
        let landed = self.preds.of(landing(block));
        let mut from: PerBlock<BlockId> =
            self.preds.of(body(block)).iter().filter(direct).chain(landed).copied().collect();
        let mut wanted: PerBlock<BlockId> = blocks.map(body).collect();
        from.sort_unstable();
        from.dedup();
        wanted.sort_unstable();
        wanted.dedup();
        *from == *wanted
    }
}

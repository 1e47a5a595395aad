//! Which blocks the wave has certainly passed before it reaches a block.
//!
//! A block that dominates another does so for lanes. The wave may come to the landing of the second one without the first:
//! no lane waits there then, and it goes on, but not by a way of its own. What it has in scalar registers, and in masks, is
//! defined on every way of the wave only if this says so.

use super::{Go, Landing, Plan, Position};
use crate::ir::cfg::DomTree;
use crate::ir::{BlockId, Graph, PerBlock};
use crate::workspace::{Kept, take};

/// The ways of the wave.
#[derive(Debug)]
pub struct WavePaths {
    dominators: Kept<DomTree>,
    /// Predecessors of landings and blocks in turn.
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
            // A loop begins anew after its landing.
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

    /// Whether the wave comes to a block from these blocks themselves, and from no others.
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

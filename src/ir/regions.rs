//! Exits of the region that each block dominates. A walk can skip a region by going to its exits, so that nested
//! branches do not each walk everything inside them.

use super::cfg::Cfg;
use super::ids::BlockId;
use dovetail_base::workspace::{Kept, filled, take};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Limits of a region's exits, and of the blocks visited to find them. Regions beyond them are of little use.
const MOST_EXITS: usize = 4;
const MOST_STEPS: usize = 32;

/// The exits of each region, indexed by the position of its first block in an order that forward edges follow.
pub(super) struct Regions(Kept<Vec<Option<SmallVec<[BlockId; MOST_EXITS]>>>>);

impl Regions {
    /// The regions of a graph. A block has no region if an edge in it goes back, if it contains blocks of different
    /// loops, or if it has too many exits.
    pub(super) fn new(cfg: &Cfg, order: &[BlockId], position: &[u32]) -> Self {
        let mut it = Self(filled(order.len(), None));
        for n in (0..order.len()).rev() {
            it.0[n] = it.exits(cfg, order[n], position);
        }
        it
    }

    fn exits(&self, cfg: &Cfg, b: BlockId, position: &[u32]) -> Option<SmallVec<[BlockId; MOST_EXITS]>> {
        let at = |b: BlockId| position[b.index()];
        let around = cfg.loops().around(b);
        let mut todo = take::<BinaryHeap<Reverse<(u32, BlockId)>>>();
        todo.extend(cfg.succs(b).iter().map(|s| Reverse((at(*s), *s))));
        let mut exits = smallvec![];
        for _ in 0..MOST_STEPS {
            let Some(Reverse((position, s))) = todo.pop() else { return Some(exits) };
            while todo.peek() == Some(&Reverse((position, s))) {
                todo.pop();
            }
            if position <= at(b) || exits.len() == MOST_EXITS {
                return None;
            }
            if !cfg.dom.dominates(b, s) {
                exits.push(s);
            } else if cfg.loops().around(s) == around {
                todo.extend(self.of(position)?.iter().map(|s| Reverse((at(*s), *s))));
            } else {
                return None;
            }
        }
        None
    }

    /// Exits of the region of the block at this position.
    pub(super) fn of(&self, position: u32) -> Option<&[BlockId]> {
        self.0.get(position as usize)?.as_deref()
    }
}

//! Where the blocks that one block dominates are left to, so that whoever follows a way from it may go past them: branches inside
//! each other then cost no walk each through all that is inside.

use super::cfg::Cfg;
use super::ids::BlockId;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// Blocks to which a region may be left, and blocks that are looked at to find them. Both are few where they are of use.
const MOST_EXITS: usize = 4;
const MOST_STEPS: usize = 32;

/// The blocks to which a region is left, by its first block's position in an order that forward edges follow.
pub(super) struct Regions(Vec<Option<SmallVec<[BlockId; MOST_EXITS]>>>);

impl Regions {
    /// The regions of a graph. A region is none if an edge in it goes back, if it has blocks of different loops, or if it is left to
    /// many blocks.
    pub(super) fn new(cfg: &Cfg, order: &[BlockId], position: &[u32]) -> Self {
        let mut it = Self(vec![None; order.len()]);
        for n in (0..order.len()).rev() {
            it.0[n] = it.exits(cfg, order[n], position);
        }
        it
    }

    fn exits(&self, cfg: &Cfg, b: BlockId, position: &[u32]) -> Option<SmallVec<[BlockId; MOST_EXITS]>> {
        let at = |b: BlockId| position[b.index()];
        let around = cfg.loops().around(b);
        let mut todo: BTreeSet<(u32, BlockId)> = cfg.succs(b).iter().map(|s| (at(*s), *s)).collect();
        let mut exits = smallvec![];
        for _ in 0..MOST_STEPS {
            let Some((position, s)) = todo.pop_first() else { return Some(exits) };
            if position <= at(b) || exits.len() == MOST_EXITS {
                return None;
            }
            if !cfg.dom.dominates(b, s) {
                exits.push(s);
            } else if cfg.loops().around(s) == around {
                todo.extend(self.of(position)?.iter().map(|s| (at(*s), *s)));
            } else {
                return None;
            }
        }
        None
    }

    /// Where the region of the block at a position is left to.
    pub(super) fn of(&self, position: u32) -> Option<&[BlockId]> {
        self.0.get(position as usize)?.as_deref()
    }
}

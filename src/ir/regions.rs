//! Exits of the region that each block dominates. A walk can skip a region by going to its exits, so that nested
//! branches do not each walk everything inside them.

use super::cfg::Cfg;
use super::ids::BlockId;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// Limits of a region's exits, and of the blocks visited to find them. Regions beyond them are of little use.
const MOST_EXITS: usize = 4;
const MOST_STEPS: usize = 32;

/// The exits of each region, indexed by the position of its first block in an order that forward edges follow.
pub(super) struct Regions(Vec<Option<SmallVec<[BlockId; MOST_EXITS]>>>);

impl Regions {
    /// The regions of a graph. A block has no region if an edge in it goes back, if it contains blocks of different
    /// loops, or if it has too many exits.
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

    /// Exits of the region of the block at this position.
    pub(super) fn of(&self, position: u32) -> Option<&[BlockId]> {
        self.0.get(position as usize)?.as_deref()
    }
}

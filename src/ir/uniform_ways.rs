//! What a divergent branch does: blocks where its ways join, and loops that lanes leave in different iterations.
//!
//! A branch is looked at as far as its ways have not met, so that branches one after another cost the sum of their sizes.

use super::cfg::Cfg;
use super::graph::PerBlock;
use super::ids::BlockId;
use super::loops::common;
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How forward edges lead out of loops and to their ends.
pub(super) struct Reach {
    /// Loops before what follows them, so that the ways into a loop and past it meet soon.
    order: PerBlock<BlockId>,
    /// By block, its index there.
    position: Vec<u32>,
    /// By position, for [`Parted::new`]: the way by which a block that is still to come is reached. Between calls there are none.
    coming: Vec<Coming>,
    /// The positions of those, the first on top: they may be far apart.
    next: BinaryHeap<Reverse<u32>>,
    /// By loop, the blocks outside of it that its edges lead to, one entry per edge.
    pub(super) exits: Vec<Vec<BlockId>>,
    /// By block, the depth of the outermost loop around it that a way of forward edges leaves; its number of loops if none.
    leaves: Vec<u32>,
    /// By block, a bit for the depth of each loop around it, if a way of forward edges ends at its header.
    returns: Vec<SmallVec<[u64; 1]>>,
}

impl Reach {
    pub(super) fn new(cfg: &Cfg) -> Self {
        let loops = cfg.loops();
        let order = cfg.loops_first();
        let mut position = vec![0; cfg.len()];
        order.iter().zip(0..).for_each(|(b, n)| position[b.index()] = n);
        let mut it = Self {
            coming: vec![Coming::None; order.len()],
            next: BinaryHeap::new(),
            order,
            position,
            exits: vec![Vec::new(); loops.len()],
            leaves: vec![0; cfg.len()],
            returns: vec![SmallVec::new(); cfg.len()],
        };
        for n in (0..it.order.len()).rev() {
            let b = it.order[n];
            let around = loops.around(b);
            let mut leaves = around.len() as u32;
            let mut returns: SmallVec<[u64; 1]> = smallvec![0; around.len().div_ceil(64)];
            for &s in cfg.succs(b) {
                let common = common(around, loops.around(s));
                around[common..].iter().for_each(|l| it.exits[*l as usize].push(s));
                if it.position[s.index()] as usize <= n {
                    let depth = loops.around(s).len().saturating_sub(1);
                    if let Some(word) = returns.get_mut(depth / 64) {
                        *word |= 1 << (depth % 64);
                    }
                    continue;
                }
                leaves = leaves.min(common as u32).min(it.leaves[s.index()]);
                for (n, (word, of)) in returns.iter_mut().zip(&it.returns[s.index()]).enumerate() {
                    // Of loops that are around both.
                    let kept = common.saturating_sub(64 * n).min(64) as u32;
                    *word |= of & u64::MAX.checked_shr(64 - kept).unwrap_or(0);
                }
            }
            it.leaves[b.index()] = leaves;
            it.returns[b.index()] = returns;
        }
        it
    }

    /// Notes that a block is reached.
    fn come(&mut self, b: BlockId, label: usize) {
        let position = self.position[b.index()];
        let place = &mut self.coming[position as usize];
        let new = match *place {
            Coming::None => Coming::One(label),
            Coming::One(same) if same == label => Coming::One(label),
            Coming::One(_) | Coming::Several => Coming::Several,
        };
        if std::mem::replace(place, new) == Coming::None {
            self.next.push(Reverse(position));
        }
    }

    /// The first block that is still to come, how it is reached, and whether it is the last.
    fn pop(&mut self) -> Option<(usize, Coming, bool)> {
        let Reverse(position) = self.next.pop()?;
        let coming = std::mem::replace(&mut self.coming[position as usize], Coming::None);
        Some((position as usize, coming, self.next.is_empty()))
    }

    /// Whether a way of forward edges from a block ends at the header of the loop of this depth around it.
    fn returns(&self, b: BlockId, depth: usize) -> bool {
        self.returns[b.index()].get(depth / 64).is_some_and(|word| word >> (depth % 64) & 1 != 0)
    }
}

/// Whether and how a block is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coming {
    None,
    /// By a way: an index of these, or a new number where they have joined.
    One(usize),
    /// By several.
    Several,
}

/// What happens after a branch to several ways.
pub(super) struct Parted {
    /// Blocks that are reached by several of them.
    pub(super) joins: Vec<BlockId>,
    /// By depth of loop, the way by which its header is reached again.
    pub(super) rounds: Vec<Option<usize>>,
    /// Depth of the outermost loop that is left.
    pub(super) outermost: u32,
}

impl Parted {
    /// Follows the ways along forward edges until they have all met. Back edges are not followed, so that one walk in order
    /// suffices: their effect is on headers.
    pub(super) fn new(cfg: &Cfg, ways: &[BlockId], around: &[u32], reach: &mut Reach) -> Self {
        let loops = cfg.loops();
        let mut it = Self { joins: Vec::new(), rounds: vec![None; around.len()], outermost: around.len() as u32 };
        for (n, &way) in ways.iter().enumerate() {
            if !it.goes_back(cfg, way, around, n) {
                reach.come(way, n);
            }
        }
        while let Some((at, coming, is_last)) = reach.pop() {
            let b = reach.order[at];
            let label = match coming {
                Coming::One(label) => label,
                Coming::None | Coming::Several => {
                    it.joins.push(b);
                    ways.len() + b.index()
                }
            };
            let inside = common(loops.around(b), around);
            it.outermost = it.outermost.min(inside as u32);
            if is_last {
                // They have met: whatever comes is reached by this way.
                it.outermost = it.outermost.min(reach.leaves[b.index()]);
                for (depth, l) in around[..inside].iter().enumerate().filter(|(depth, _)| reach.returns(b, *depth)) {
                    it.round(depth, label, loops.header(*l));
                }
                break;
            }
            for &s in cfg.succs(b) {
                if reach.position[s.index()] as usize > at {
                    reach.come(s, label);
                } else {
                    it.goes_back(cfg, s, around, label);
                }
            }
        }
        it
    }

    /// Whether an edge leads to the header of one of these loops, which is noted.
    fn goes_back(&mut self, cfg: &Cfg, to: BlockId, around: &[u32], label: usize) -> bool {
        let depth = cfg.loops().around(to).len().wrapping_sub(1);
        let header = around.get(depth).is_some_and(|l| cfg.loops().header(*l) == to);
        if header {
            self.round(depth, label, to);
        }
        header
    }

    fn round(&mut self, depth: usize, label: usize, header: BlockId) {
        if self.rounds[depth].replace(label).is_some_and(|before| before != label) {
            self.joins.push(header);
        }
    }
}

//! Effects of a divergent branch: blocks where its paths join, and loops that lanes leave in different iterations.
//!
//! A branch is followed only until its paths meet, so that consecutive branches cost the sum of their sizes.

use super::cfg::Cfg;
use super::graph::PerBlock;
use super::ids::BlockId;
use super::loops::common;
use super::regions::Regions;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, filled, tables, take};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of blocks from which on finding regions pays off.
const LARGE: usize = 256;

/// For forward paths: the loops that they leave, and the headers that they return to.
pub(super) struct Reach {
    /// Blocks in an order where loops precede what follows them, so that the paths into a loop and past it meet soon.
    order: PerBlock<BlockId>,
    /// By block, its index in `order`.
    position: PerBlock<u32>,
    /// By position, for [`Parted::new`]: the path by which a pending block is reached. Empty between calls.
    coming: PerBlock<Coming>,
    /// Present for a large graph.
    large: Option<Large>,
    /// By loop, the blocks outside of it that its edges lead to, one entry per edge.
    pub(super) exits: Kept<Rows<BlockId>>,
    /// By block, the depth of the outermost enclosing loop that a forward path leaves; its number of loops if there is
    /// none.
    leaves: PerBlock<u32>,
    /// By block, one bit per depth of enclosing loop, set if a forward path ends at that loop's header.
    returns: Kept<Rows<u64>>,
}

/// Data that speeds up following paths in a large graph.
struct Large {
    regions: Regions,
    /// Positions of pending blocks, the first on top: they may be far apart.
    next: Kept<BinaryHeap<Reverse<u32>>>,
}

impl Reach {
    pub(super) fn new(cfg: &Cfg) -> Self {
        Self::with(cfg, cfg.block_count() >= LARGE)
    }

    fn with(cfg: &Cfg, is_large: bool) -> Self {
        let loops = cfg.loops();
        let order = cfg.loops_first();
        let mut position = filled(cfg.block_count(), 0);
        order.iter().zip(0..).for_each(|(b, n)| position[b.index()] = n);
        let mut returns = take::<Rows<u64>>();
        let blocks = (0..cfg.block_count() as u32).map(BlockId);
        blocks.for_each(|b| returns.push(std::iter::repeat_n(0, loops.around(b).len().div_ceil(64))));
        let mut it = Self {
            coming: filled(order.len(), Coming::None),
            large: is_large.then(|| Large { regions: Regions::new(cfg, &order, &position), next: take() }),
            exits: loops.exits(cfg, order.iter().rev().copied()),
            order,
            position,
            leaves: filled(cfg.block_count(), 0),
            returns,
        };
        for n in (0..it.order.len()).rev() {
            let b = it.order[n];
            let around = loops.around(b);
            let mut leaves = around.len() as u32;
            for &s in cfg.succs(b) {
                let common = common(around, loops.around(s));
                if it.position[s.index()] as usize <= n {
                    let depth = loops.around(s).len().saturating_sub(1);
                    if let Some(word) = it.returns.of_mut(b.index()).get_mut(depth / 64) {
                        *word |= 1 << (depth % 64);
                    }
                    continue;
                }
                leaves = leaves.min(common as u32).min(it.leaves[s.index()]);
                // Of loops that enclose both.
                for n in 0..common.div_ceil(64) {
                    let kept = (common - 64 * n).min(64) as u32;
                    let of = it.returns.of(s.index()).get(n).copied().unwrap_or(0);
                    if let Some(word) = it.returns.of_mut(b.index()).get_mut(n) {
                        *word |= of & u64::MAX >> (64 - kept);
                    }
                }
            }
            it.leaves[b.index()] = leaves;
        }
        it
    }

    /// Records that a block is reached; returns 1 if it was not before.
    fn come(&mut self, b: BlockId, label: usize) -> usize {
        let position = self.position[b.index()];
        let place = &mut self.coming[position as usize];
        let new = match *place {
            Coming::None => Coming::One(label),
            Coming::One(same) if same == label => Coming::One(label),
            Coming::One(_) | Coming::Several => Coming::Several,
        };
        if std::mem::replace(place, new) != Coming::None {
            return 0;
        }
        if let Some(large) = &mut self.large {
            large.next.push(Reverse(position));
        }
        1
    }

    /// The position of the first pending block at or after this position. There must be one.
    fn first(&mut self, mut from: usize) -> usize {
        if let Some(Reverse(next)) = self.large.as_mut().and_then(|large| large.next.pop()) {
            return next as usize;
        }
        while self.coming[from] == Coming::None {
            from += 1;
        }
        from
    }

    /// Exits of the region of the block at a position, if the region can be skipped.
    fn past(&self, position: usize) -> Option<&[BlockId]> {
        self.large.as_ref()?.regions.of(position as u32)
    }

    /// Whether a forward path from a block ends at the header of its enclosing loop at this depth.
    fn returns(&self, b: BlockId, depth: usize) -> bool {
        self.returns.of(b.index()).get(depth / 64).is_some_and(|word| word >> (depth % 64) & 1 != 0)
    }
}

/// Whether and how a block is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coming {
    None,
    /// By one path: its index, or a new number where paths have joined.
    One(usize),
    /// By several paths.
    Several,
}

/// The result of following a branch to several targets.
#[derive(Default)]
pub(super) struct Parted {
    /// Blocks that are reached from several targets.
    pub(super) joins: Vec<BlockId>,
    /// By loop depth, the path by which its header is reached again.
    pub(super) rounds: Vec<Option<usize>>,
    /// Depth of the outermost loop that a path leaves.
    pub(super) outermost: u32,
}
tables!(Parted { joins, rounds, outermost });

impl Parted {
    /// Follows the paths along forward edges until all have met. Back edges are not followed, so that one walk in order
    /// suffices: they affect only headers.
    pub(super) fn new(cfg: &Cfg, ways: &[BlockId], around: &[u32], reach: &mut Reach) -> Kept<Self> {
        let loops = cfg.loops();
        let mut it = take::<Self>();
        it.rounds.resize(around.len(), None);
        it.outermost = around.len() as u32;
        let mut left = 0;
        for (n, &way) in ways.iter().enumerate() {
            if !it.goes_back(cfg, way, around, n) {
                left += reach.come(way, n);
            }
        }
        let mut at = ways.iter().map(|way| reach.position[way.index()] as usize).min().unwrap_or(0);
        while left > 0 {
            at = reach.first(at);
            let b = reach.order[at];
            let label = match std::mem::replace(&mut reach.coming[at], Coming::None) {
                Coming::One(label) => label,
                Coming::None | Coming::Several => {
                    it.joins.push(b);
                    ways.len() + b.index()
                }
            };
            left -= 1;
            let inside = common(loops.around(b), around);
            it.outermost = it.outermost.min(inside as u32);
            if left == 0 {
                // The paths have met: everything that follows is reached by this single path.
                it.outermost = it.outermost.min(reach.leaves[b.index()]);
                for (depth, l) in around[..inside].iter().enumerate().filter(|(depth, _)| reach.returns(b, *depth)) {
                    it.round(depth, label, loops.header(*l));
                }
                break;
            }
            if let Some(exits) = reach.past(at) {
                // Everything that it dominates is reached only by this path, and changes nothing.
                let exits = SmallVec::<[BlockId; 4]>::from_slice(exits);
                left += exits.iter().map(|s| reach.come(*s, label)).sum::<usize>();
                continue;
            }
            for &s in cfg.succs(b) {
                if reach.position[s.index()] as usize > at {
                    left += reach.come(s, label);
                } else {
                    it.goes_back(cfg, s, around, label);
                }
            }
        }
        it
    }

    /// Whether an edge leads to the header of one of these loops, which is recorded.
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

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::*;
    use dovetail_base::workspace::List;
    use proptest::prelude::*;

    fn cfg(edges: &[Vec<u32>]) -> Cfg {
        let mut graph = take::<Graph>();
        edges.iter().for_each(|targets| graph.push(targets.iter().map(|t| BlockId(*t))));
        Cfg::new(graph, List::default())
    }

    /// The effect of a branch, independent of the numbering of its paths.
    fn done(cfg: &Cfg, b: BlockId, reach: &mut Reach) -> (Vec<BlockId>, Vec<bool>, u32) {
        let mut parted = Parted::new(cfg, cfg.succs(b), cfg.loops().around(b), reach);
        parted.joins.sort_unstable();
        assert!(reach.coming.iter().all(|coming| *coming == Coming::None));
        (parted.joins.clone(), parted.rounds.iter().map(Option::is_some).collect(), parted.outermost)
    }

    proptest! {
        /// Mostly forward edges, so that regions exist.
        #[test]
        fn going_past_regions_changes_nothing(
            edges in (1usize..24).prop_flat_map(|n| {
                let to = move |from: usize| (1usize..5, 0usize..40).prop_map(move |(ahead, back)| {
                    if back == 0 { (from / 2) as u32 } else { (from + ahead).min(n - 1) as u32 }
                });
                (0..n).map(|from| proptest::collection::vec(to(from), usize::from(from + 1 < n)..3)).collect::<Vec<_>>()
            }),
        ) {
            let cfg = cfg(&edges);
            let (mut plain, mut past) = (Reach::with(&cfg, false), Reach::with(&cfg, true));
            for b in (0..edges.len() as u32).map(BlockId).filter(|b| cfg.reachable(*b) && cfg.succs(*b).len() > 1) {
                prop_assert_eq!(done(&cfg, b, &mut plain), done(&cfg, b, &mut past), "{:?} of {:?}", b, edges);
            }
        }
    }

    #[test]
    fn a_ladder_of_branches_is_gone_past_in_one_step() {
        // Block 2 n branches to a case and to block 2 n + 2; all cases meet at the end.
        let rungs = 300;
        let end = 2 * rungs;
        let mut edges: Vec<Vec<u32>> = (0..rungs).flat_map(|n| [vec![2 * n + 1, 2 * n + 2], vec![end]]).collect();
        edges.push(vec![]);
        let cfg = cfg(&edges);
        let reach = Reach::new(&cfg);
        for n in 1..rungs {
            let position = reach.position[2 * n as usize] as usize;
            assert_eq!(reach.past(position), Some(&[BlockId(end)][..]));
        }
    }
}

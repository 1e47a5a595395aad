//! Which blocks every way to a block passes.

use super::preds::Preds;
use super::{BlockId, Function};

/// The dominators along one kind of edges (the iteration of Cooper, Harvey and Kennedy over immediate dominators).
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The nearest dominator; of the entry and of blocks that are not reached: none.
    above: Vec<Option<BlockId>>,
    reached: Vec<bool>,
    /// By block: its number, and after the last of the blocks that it dominates; these follow it.
    spans: Vec<(u32, u32)>,
}

impl Dominators {
    /// Along the edges whose predecessors these are.
    pub fn new(f: &Function, preds: &Preds, successors: impl Fn(BlockId) -> [Option<BlockId>; 2]) -> Self {
        let count = f.blocks.len();
        let order = post_order(count, successors);
        let mut number = vec![u32::MAX; count];
        (0..).zip(&order).for_each(|(n, block)| number[block.index()] = n);
        let mut above: Vec<Option<BlockId>> = vec![None; count];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|block| block.0 != 0) {
                let known = |pred: &&BlockId| pred.0 == 0 || above[pred.index()].is_some();
                let ways = preds.of(block).iter().filter(known).copied();
                let met = ways.reduce(|mut a, mut b| {
                    while a != b {
                        while number[a.index()] < number[b.index()] {
                            a = above[a.index()].unwrap_or(BlockId(0));
                        }
                        while number[b.index()] < number[a.index()] {
                            b = above[b.index()].unwrap_or(BlockId(0));
                        }
                    }
                    a
                });
                changed |= above[block.index()] != met;
                above[block.index()] = met;
            }
        }
        let mut sizes = vec![1; count];
        for block in &order {
            if let Some(up) = above[block.index()] {
                sizes[up.index()] += sizes[block.index()];
            }
        }
        let mut spans = vec![(0, 0); count];
        let mut next = vec![0; count];
        for block in order.iter().rev() {
            let size = sizes[block.index()];
            let start = above[block.index()].map_or(0, |up| {
                next[up.index()] += size;
                next[up.index()] - size
            });
            spans[block.index()] = (start, start + size);
            next[block.index()] = start + 1;
        }
        Self { above, reached: number.iter().map(|n| *n != u32::MAX).collect(), spans }
    }

    /// Along logical edges.
    pub fn logical(f: &Function, preds: &Preds) -> Self {
        Self::new(f, preds, |block| {
            let edges = &f.block(block).edges;
            [edges.first().map(|edge| edge.to), edges.get(1).map(|edge| edge.to)]
        })
    }

    /// Along linear edges.
    pub fn linear(f: &Function, preds: &Preds) -> Self {
        Self::new(f, preds, |block| {
            let mut targets = f.block(block).term.targets();
            [targets.next(), targets.next()]
        })
    }

    /// Whether the entry reaches it.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.reached[block.index()]
    }

    /// The nearest dominator above.
    pub fn above(&self, block: BlockId) -> Option<BlockId> {
        self.above[block.index()]
    }

    /// Whether every way to `b` passes `a`; a block does so itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let ((start, end), (own, _)) = (self.spans[a.index()], self.spans[b.index()]);
        a == b || (self.is_reached(a) && self.is_reached(b) && start <= own && own < end)
    }
}

/// Blocks that the entry reaches, each after its successors but for those on the way to it.
fn post_order(count: usize, successors: impl Fn(BlockId) -> [Option<BlockId>; 2]) -> Vec<BlockId> {
    let (mut order, mut seen) = (Vec::with_capacity(count), vec![false; count]);
    if count == 0 {
        return order;
    }
    let mut stack = vec![(BlockId(0), 0usize)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        let Some(to) = successors(*block).get(*next).copied() else {
            order.push(*block);
            stack.pop();
            continue;
        };
        *next += 1;
        if let Some(to) = to.filter(|to| !std::mem::replace(&mut seen[to.index()], true)) {
            stack.push((to, 0));
        }
    }
    order
}

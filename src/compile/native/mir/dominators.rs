//! Which blocks every way to a block passes.

use super::preds::Preds;
use super::{BlockId, Function};

/// The dominators along one kind of edges (the iteration of Cooper, Harvey and Kennedy over immediate dominators).
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The nearest dominator; of the entry and of blocks that are not reached: none.
    above: Vec<Option<BlockId>>,
    reached: Vec<bool>,
    /// Number of dominators above.
    depth: Vec<u32>,
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
        let mut depth = vec![0; count];
        for block in order.iter().rev() {
            depth[block.index()] = above[block.index()].map_or(0, |up| depth[up.index()] + 1);
        }
        Self { above, reached: number.iter().map(|n| *n != u32::MAX).collect(), depth }
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
    pub fn dominates(&self, a: BlockId, mut b: BlockId) -> bool {
        while self.depth[b.index()] > self.depth[a.index()] {
            let Some(up) = self.above[b.index()] else { break };
            b = up;
        }
        a == b
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

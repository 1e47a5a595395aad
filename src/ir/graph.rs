//! A directed graph of blocks: one list of all edges, with a range for each block.

use super::ids::BlockId;
use smallvec::{SmallVec, smallvec};

/// Edges by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// End of each block's edges in `targets`; they start at the end of the previous block's.
    ends: PerBlock<u32>,
    targets: PerBlock<BlockId>,
}

/// One entry per block; most functions have few.
pub type PerBlock<T> = SmallVec<[T; 16]>;

impl Graph {
    /// No blocks, with capacity for some.
    pub fn with_capacity(blocks: usize) -> Self {
        Self { ends: PerBlock::with_capacity(blocks), targets: PerBlock::with_capacity(2 * blocks) }
    }

    /// Adds the next block, with its edges.
    pub fn push(&mut self, targets: impl IntoIterator<Item = BlockId>) {
        self.targets.extend(targets);
        self.ends.push(self.targets.len() as u32);
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Targets of a block, one entry per edge.
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        let end = |n: usize| self.ends.get(n).map_or(0, |end| *end as usize);
        let start = block.index().checked_sub(1).map_or(0, end);
        self.targets.get(start..end(block.index())).unwrap_or(&[])
    }

    /// The reversed graph; each block's edges are in the order of their source blocks.
    pub fn reversed(&self) -> Self {
        let mut ends: PerBlock<u32> = smallvec![0; self.len()];
        for to in &self.targets {
            ends[to.index()] += 1;
        }
        // Counts become starts, and each inserted edge advances its start towards the end.
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut targets: PerBlock<BlockId> = smallvec![BlockId(0); self.targets.len()];
        for from in (0..self.len() as u32).map(BlockId) {
            for to in self.of(from) {
                targets[ends[to.index()] as usize] = from;
                ends[to.index()] += 1;
            }
        }
        Self { ends, targets }
    }

    /// Blocks reachable from the first, each before its successors except along back edges.
    pub fn reverse_postorder(&self) -> PerBlock<BlockId> {
        let mut out = PerBlock::with_capacity(self.len());
        if self.is_empty() {
            return out;
        }
        let mut seen: PerBlock<bool> = smallvec![false; self.len()];
        seen[0] = true;
        let mut stack = PerBlock::with_capacity(self.len());
        stack.push((BlockId(0), 0usize));
        while let Some((block, next)) = stack.last_mut() {
            match self.of(*block).get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to.index()], true) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    out.push(*block);
                    stack.pop();
                }
            }
        }
        out.reverse();
        out
    }
}

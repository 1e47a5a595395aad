//! A directed graph of blocks: the edges of all of them in one list, each block's a range of it.

use super::ids::BlockId;
use smallvec::{SmallVec, smallvec};

/// Edges by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Where each block's edges end in `targets`; they start where those of the block before end.
    ends: PerBlock<u32>,
    targets: PerBlock<BlockId>,
}

/// One entry a block; most functions have few.
pub type PerBlock<T> = SmallVec<[T; 16]>;

impl Graph {
    /// No blocks, with room for some.
    pub fn with_capacity(blocks: usize) -> Self {
        Self { ends: PerBlock::with_capacity(blocks), targets: PerBlock::with_capacity(2 * blocks) }
    }

    /// The next block, with its edges.
    pub fn push(&mut self, targets: impl IntoIterator<Item = BlockId>) {
        self.targets.extend(targets);
        self.ends.push(self.targets.len() as u32);
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The edges of a block, one entry an edge.
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        let end = |n: usize| self.ends.get(n).map_or(0, |end| *end as usize);
        let start = block.index().checked_sub(1).map_or(0, end);
        self.targets.get(start..end(block.index())).unwrap_or(&[])
    }

    /// Every edge turned round; those of one block in the order of the blocks that they came from.
    pub fn reversed(&self) -> Self {
        let mut ends: PerBlock<u32> = smallvec![0; self.len()];
        for to in &self.targets {
            ends[to.index()] += 1;
        }
        // Counts become starts, and each edge that is put there moves its start on to the end.
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

    /// Blocks that the first reaches, each before its successors but for back edges.
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

//! A directed graph of blocks: for each block the targets of its edges.

use super::ids::BlockId;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled, tables, take};

/// Edges by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    targets: Rows<BlockId>,
}
tables!(Graph { targets });

/// One entry per block.
pub type PerBlock<T> = List<T>;

impl Graph {
    /// Adds the next block, with its edges.
    pub fn push(&mut self, targets: impl IntoIterator<Item = BlockId>) {
        self.targets.push(targets);
    }

    /// Adds an edge of the block that [`Graph::end`] ends.
    pub fn add(&mut self, target: BlockId) {
        self.targets.add(target);
    }

    /// Ends the edges of the next block.
    pub fn end(&mut self) {
        self.targets.end();
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Targets of a block, one entry per edge.
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        self.targets.of(block.index())
    }

    /// The reversed graph; each block's edges are in the order of their source blocks.
    pub fn reversed(&self) -> Kept<Self> {
        let mut back = take::<Self>();
        let blocks = (0..self.len() as u32).map(BlockId);
        back.targets.group(self.len(), blocks.flat_map(|from| self.of(from).iter().map(move |to| (to.index(), from))));
        back
    }

    /// Blocks reachable from the first, each before its successors except along back edges.
    pub fn reverse_postorder(&self) -> PerBlock<BlockId> {
        let mut out = take::<Vec<BlockId>>();
        if self.is_empty() {
            return out;
        }
        let mut seen = filled(self.len(), false);
        seen[0] = true;
        let mut stack = take::<Vec<(BlockId, usize)>>();
        stack.push((BlockId(0), 0));
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

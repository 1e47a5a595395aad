//! Predecessors of blocks, for both kinds of edges.

use super::{BlockId, MachineFunction};

/// Predecessors along one kind of edges.
#[derive(Clone, Debug, Default)]
pub struct Preds {
    /// Where each block's list begins, and the end of the last one.
    starts: Vec<u32>,
    list: Vec<BlockId>,
}

impl Preds {
    /// Along logical edges.
    pub fn logical(f: &MachineFunction) -> Self {
        Self::new(f, |block, put| f.block(block).edges.iter().for_each(|edge| put(edge.to)))
    }

    /// Along linear edges.
    pub fn linear(f: &MachineFunction) -> Self {
        Self::new(f, |block, put| f.block(block).term.targets().for_each(put))
    }

    fn new(f: &MachineFunction, each: impl Fn(BlockId, &mut dyn FnMut(BlockId))) -> Self {
        let mut starts = vec![0; f.blocks.len() + 1];
        for block in f.block_ids() {
            each(block, &mut |to| starts[to.index() + 1] += 1);
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut list = vec![BlockId(0); starts.last().map_or(0, |n| *n as usize)];
        for block in f.block_ids() {
            each(block, &mut |to| {
                list[next[to.index()] as usize] = block;
                next[to.index()] += 1;
            });
        }
        Self { starts, list }
    }

    /// The predecessors of a block, in layout order.
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        &self.list[self.starts[block.index()] as usize..self.starts[block.index() + 1] as usize]
    }
}

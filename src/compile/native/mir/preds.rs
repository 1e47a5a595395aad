//! Predecessors of blocks, for both kinds of edges.

use super::{BlockId, MachineFunction};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::Kept;

/// Predecessors along one kind of edges.
#[derive(Clone, Debug, Default)]
pub struct Preds(Kept<Rows<BlockId>>);

impl Preds {
    /// Along logical edges.
    pub fn logical(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).edges.iter().map(|edge| edge.to))
    }

    /// Along linear edges.
    pub fn linear(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).term.targets())
    }

    fn new<I: Iterator<Item = BlockId> + Clone>(f: &MachineFunction, successors: impl Fn(BlockId) -> I + Copy) -> Self {
        let mut preds = Kept::<Rows<BlockId>>::default();
        let edges = f.block_ids().flat_map(|from| successors(from).map(move |to| (to.index(), from)));
        preds.group(f.blocks.len(), edges);
        Self(preds)
    }

    /// The predecessors of a block, in layout order.
    pub fn of(&self, block: BlockId) -> &[BlockId] {
        self.0.of(block.index())
    }
}

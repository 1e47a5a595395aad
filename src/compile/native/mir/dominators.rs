//! Dominators: the blocks that lie on every path to a block.

use super::{BlockId, MachineFunction};
use dovetail_base::workspace::{Kept, take};
use dovetail_ir as ir;
use dovetail_ir::Graph;
use dovetail_ir::cfg::DomTree;

/// The dominators along one kind of edges.
#[derive(Clone, Debug)]
pub struct Dominators(Kept<DomTree>);

/// A block in the graphs of the IR.
const fn node(block: BlockId) -> ir::BlockId {
    ir::BlockId(block.0)
}

impl Dominators {
    fn new<I: Iterator<Item = BlockId>>(f: &MachineFunction, successors: impl Fn(BlockId) -> I) -> Self {
        let mut succs = take::<Graph>();
        f.block_ids().for_each(|block| succs.push(successors(block).map(node)));
        Self(DomTree::new(&succs, &succs.reversed()))
    }

    /// Along logical edges.
    pub fn logical(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).edges.iter().map(|edge| edge.to))
    }

    /// Dominators along linear edges.
    pub fn linear(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).term.targets())
    }

    /// Whether a block is reachable from the entry.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.0.span(node(block)).is_some()
    }

    /// The immediate dominator.
    pub fn above(&self, block: BlockId) -> Option<BlockId> {
        self.0.parent(node(block)).map(|above| BlockId(above.0))
    }

    /// Whether every path to `b` passes `a`; a block dominates itself. False if either is unreachable.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.0.dominates(node(a), node(b))
    }
}

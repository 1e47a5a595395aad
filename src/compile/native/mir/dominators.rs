//! Dominators: the blocks that lie on every path to a block.

use super::{BlockId, MachineFunction};
use crate::ir::cfg::DomTree;
use crate::ir::{self, Graph};

/// The dominators along one kind of edges.
#[derive(Clone, Debug)]
pub struct Dominators(DomTree);

/// A block in the graphs of the IR.
const fn node(block: BlockId) -> ir::BlockId {
    ir::BlockId(block.0)
}

impl Dominators {
    fn new<I: Iterator<Item = BlockId>>(f: &MachineFunction, successors: impl Fn(BlockId) -> I) -> Self {
        let mut succs = Graph::with_capacity(f.blocks.len());
        f.block_ids().for_each(|block| succs.push(successors(block).map(node)));
        Self(DomTree::new(&succs, &succs.reversed()))
    }

    /// Along logical edges.
    pub fn logical(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).edges.iter().map(|edge| edge.to))
    }

    /// Along linear edges.
    pub fn linear(f: &MachineFunction) -> Self {
        Self::new(f, |block| f.block(block).term.targets())
    }

    /// Whether the entry reaches it.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.0.span(node(block)).is_some()
    }

    /// The nearest dominator above.
    pub fn above(&self, block: BlockId) -> Option<BlockId> {
        self.0.parent(node(block)).map(|above| BlockId(above.0))
    }

    /// Whether every way to `b` passes `a`; a block does so itself. False if the entry does not reach both.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.0.dominates(node(a), node(b))
    }
}

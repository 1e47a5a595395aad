//! The graph of blocks: predecessors, reverse postorder, dominators.
//!
//! [`Shader::cfg`](super::Shader::cfg) builds it once and returns the same one until a jump changes. Edges to missing
//! blocks are omitted, so a broken shader does no harm.

use super::dominators::immediate_dominators;
use super::graph::{Graph, PerBlock};
use super::ids::BlockId;
use super::loops::{Loops, common};
use dovetail_base::workspace::{Kept, List, filled, tables, take};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// A dominator tree that answers every query in constant time.
#[derive(Clone, Debug, Default)]
pub struct DomTree {
    /// By block; `None` if unreachable.
    nodes: Vec<Option<DomNode>>,
}
tables!(DomTree { nodes });

#[derive(Clone, Copy, Debug)]
struct DomNode {
    /// `None` for the root.
    parent: Option<BlockId>,
    /// First and last preorder number of the subtree.
    first: u32,
    last: u32,
}

impl DomTree {
    fn node(&self, b: BlockId) -> Option<DomNode> {
        self.nodes.get(b.index()).copied().flatten()
    }

    /// Whether `a` dominates `b`. Reflexive; false if either is unreachable from the root.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => a.first <= b.first && b.first <= a.last,
            _ => false,
        }
    }

    /// The immediate dominator.
    pub fn parent(&self, b: BlockId) -> Option<BlockId> {
        self.node(b).and_then(|n| n.parent)
    }

    /// The nearest block that dominates both, if it is at most so many steps above `a`.
    pub fn common(&self, mut a: BlockId, b: BlockId, most: usize) -> Option<BlockId> {
        for _ in 0..most {
            if self.dominates(a, b) {
                return Some(a);
            }
            a = self.parent(a)?;
        }
        None
    }

    /// First and last preorder number of the blocks that `b` dominates, in the dominator tree; the first is its own.
    /// `None` if it is unreachable.
    pub fn span(&self, b: BlockId) -> Option<(u32, u32)> {
        self.node(b).map(|n| (n.first, n.last))
    }

    /// The tree of a graph (root: block 0).
    pub fn new(succs: &Graph, preds: &Graph) -> Kept<Self> {
        let (parents, order) = immediate_dominators(succs, preds);
        let mut this = take::<Self>();
        let nodes = &mut this.nodes;
        nodes.resize(succs.len(), None);
        for b in order.iter() {
            // Until all sizes are known, `last` is the size of the subtree.
            nodes[b.index()] = Some(DomNode { parent: parents[b.index()], first: 0, last: 1 });
        }
        for b in order.iter().rev() {
            let Some(DomNode { parent: Some(parent), last: size, .. }) = nodes[b.index()] else { continue };
            if let Some(above) = &mut nodes[parent.index()] {
                above.last += size;
            }
        }
        // Number at which the next subtree of each block starts.
        let mut next = filled(succs.len(), 0);
        for b in order.iter() {
            let Some(node) = &mut nodes[b.index()] else { continue };
            let size = node.last;
            if let Some(parent) = node.parent {
                node.first = next[parent.index()];
                next[parent.index()] += size;
            }
            node.last = node.first + size - 1;
            next[b.index()] = node.first + 1;
        }
        this
    }
}

/// The graph of a shader's blocks.
#[derive(Clone, Debug)]
pub struct Cfg {
    succs: Kept<Graph>,
    preds: Kept<Graph>,
    /// Reachable blocks, each before its successors except along back edges.
    pub order: PerBlock<BlockId>,
    /// Dominators.
    pub dom: Kept<DomTree>,
    /// Blocks that belong to a loop that they leave, each with a block of which that is the innermost loop.
    stays: List<(BlockId, BlockId)>,
    loops: OnceLock<Kept<Loops>>,
}

impl Cfg {
    /// The CFG of these edges, with the blocks that stay in loops ([`Cfg::stays`]).
    pub(super) fn new(succs: Kept<Graph>, stays: List<(BlockId, BlockId)>) -> Self {
        let preds = succs.reversed();
        let order = succs.reverse_postorder();
        let dom = DomTree::new(&succs, &preds);
        Self { succs, preds, order, dom, stays, loops: OnceLock::new() }
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.succs.len()
    }

    /// Blocks that belong to a loop that they leave, each with a block of which that is the innermost loop.
    pub(super) fn stays(&self) -> &[(BlockId, BlockId)] {
        &self.stays
    }

    /// Predecessors, one entry per edge.
    pub fn preds(&self, b: BlockId) -> &[BlockId] {
        self.preds.of(b)
    }

    /// Successors, one entry per edge.
    pub fn succs(&self, b: BlockId) -> &[BlockId] {
        self.succs.of(b)
    }

    /// Immediate postdominator of each block; `None` if it has none.
    pub fn meeting_points(&self) -> PerBlock<Option<BlockId>> {
        // Dominators of the reversed graph: node 0 follows all exits, block n is node n + 1.
        let node = |b: BlockId| BlockId(b.0 + 1);
        let blocks = || (0..self.block_count() as u32).map(BlockId);
        let mut back = take::<Graph>();
        back.push(blocks().filter(|b| self.succs(*b).is_empty()).map(node));
        blocks().for_each(|b| back.push(self.preds(b).iter().copied().map(node)));
        let tree = DomTree::new(&back, &back.reversed());
        blocks().map(|b| tree.parent(node(b)).and_then(|p| p.0.checked_sub(1)).map(BlockId)).collect()
    }

    /// Whether the block is reachable from the entry.
    pub fn reachable(&self, b: BlockId) -> bool {
        self.dom.dominates(BlockId::ENTRY, b)
    }

    /// Reachable blocks, each before its successors except along back edges, like [`Cfg::order`]. Among the successors
    /// of a block, the one in more loops comes first, then the one listed first.
    pub fn loops_first(&self) -> PerBlock<BlockId> {
        let loops = self.loops();
        let mut visits = take::<Graph>();
        for b in (0..self.block_count() as u32).map(BlockId) {
            // Postorder is reversed, so the block visited first comes last.
            let mut ways: SmallVec<[BlockId; 4]> = self.succs(b).iter().rev().copied().collect();
            ways.sort_by_key(|to| common(loops.around(b), loops.around(*to)));
            visits.push(ways);
        }
        visits.reverse_postorder()
    }

    /// The loops, found on first use.
    pub fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::new(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use crate::{BlockCall, Terminator};
    use std::sync::Arc;

    fn graph(blocks: &str) -> Arc<Cfg> {
        let text = format!("shader upper compute \"t\"\n{blocks}");
        parse(&text).expect("test text").cfg()
    }

    #[test]
    fn a_diamond_meets_where_it_should() {
        let cfg = graph(
            "block0:\n v0: b1 = const 1\n branch v0, block1, block2\nblock1:\n jump block3\nblock2:\n jump block3\nblock3:\n return\nblock4:\n jump block3",
        );
        let b = BlockId;
        assert_eq!(cfg.dom.parent(b(3)), Some(b(0)));
        assert!(cfg.dom.dominates(b(0), b(2)) && !cfg.dom.dominates(b(1), b(3)));
        assert!(!cfg.reachable(b(4)));
        assert_eq!(cfg.preds(b(3)), [1, 2, 4].map(b));
    }

    #[test]
    fn a_graph_is_kept_until_a_jump_changes() {
        let text = "shader upper compute \"t\"\nblock0:\n jump block1\nblock1:\n return\nblock2:\n return";
        let mut shader = parse(text).expect("test text");
        let first = shader.cfg();
        assert!(Arc::ptr_eq(&first, &shader.cfg()) && first.loops().is_empty());
        shader.blocks[0].end.set(Terminator::Jump(BlockCall::to(BlockId(2))));
        assert!(!first.reachable(BlockId(2)) && shader.cfg().reachable(BlockId(2)));
    }
}

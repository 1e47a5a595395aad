//! The graph of blocks: predecessors, reverse postorder, dominators.
//!
//! Built fresh by whoever needs it; edges to blocks that do not exist are left out, so a broken shader does no harm.

use super::dominators::immediate_dominators;
use super::shader::{BlockId, Shader, Terminator};

/// A tree of dominators, with every question answered in constant time.
#[derive(Clone, Debug)]
pub struct DomTree {
    /// Parent; `None` for roots and for what is out of reach.
    parent: Vec<Option<u32>>,
    /// First and last number of the subtree; `None` out of reach.
    span: Vec<Option<(u32, u32)>>,
}

impl DomTree {
    /// Whether every way from the root to `b` leads through `a`. Reflexive; false if either is out of reach.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.span.get(a.index()).copied().flatten(), self.span.get(b.index()).copied().flatten()) {
            (Some((first, last)), Some((n, _))) => first <= n && n <= last,
            _ => false,
        }
    }

    /// The closest strict dominator.
    pub fn parent(&self, b: BlockId) -> Option<BlockId> {
        self.parent.get(b.index()).copied().flatten().map(BlockId)
    }

    /// Of a graph by its edges (root: node 0), with the nodes in reverse postorder.
    pub fn new(succs: &[Vec<u32>], order: &[u32]) -> Self {
        let count = succs.len();
        let parent = immediate_dominators(succs);
        let mut position = vec![0; count];
        for (i, &n) in order.iter().enumerate() {
            position[n as usize] = i;
        }
        // By position in `order`, where a dominator always has a lower one.
        let idom: Vec<usize> = order.iter().map(|&n| parent[n as usize].map_or(0, |p| position[p as usize])).collect();
        let mut size = vec![1u32; order.len()];
        for i in (1..order.len()).rev() {
            let s = size[i];
            size[idom[i]] += s;
        }
        let mut next = vec![0u32; order.len()];
        let mut tree = Self { parent, span: vec![None; count] };
        for (i, &n) in order.iter().enumerate() {
            let first = if i == 0 { 0 } else { next[idom[i]] };
            if i > 0 {
                next[idom[i]] += size[i];
            }
            next[i] = first + 1;
            tree.span[n as usize] = Some((first, first + size[i] - 1));
        }
        tree
    }
}

/// The graph of a shader's blocks.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Predecessors, one entry an edge.
    pub preds: Vec<Vec<BlockId>>,
    /// Successors, one entry an edge.
    pub succs: Vec<Vec<BlockId>>,
    /// Blocks that the entry reaches, each before its successors but for back edges.
    pub order: Vec<BlockId>,
    /// Dominators.
    pub dom: DomTree,
}

impl Cfg {
    /// The graph as it is now.
    pub fn new(shader: &Shader) -> Self {
        let count = shader.blocks.len();
        let succs: Vec<Vec<BlockId>> = shader
            .blocks
            .iter()
            .map(|b| b.term.as_ref().map(Terminator::calls).unwrap_or_default())
            .map(|calls| calls.iter().map(|c| c.block).filter(|b| b.index() < count).collect())
            .collect();
        let mut preds = vec![Vec::new(); count];
        for (i, targets) in succs.iter().enumerate() {
            for t in targets {
                preds[t.index()].push(BlockId(i as u32));
            }
        }
        let edges = numbers(&succs);
        let order = reverse_postorder(count, 0, &edges);
        let dom = DomTree::new(&edges, &order);
        Self { preds, succs, order: order.into_iter().map(BlockId).collect(), dom }
    }

    /// By block, the closest one that every way from it to an end leads through; none where there is no such block.
    pub fn meeting_points(&self) -> Vec<Option<BlockId>> {
        // Dominators of the graph turned round: node 0 is behind all ends, block n is node n + 1.
        let mut back = vec![Vec::new(); self.succs.len() + 1];
        for (n, succs) in (1..).zip(&self.succs) {
            succs.iter().for_each(|s| back[s.index() + 1].push(n));
            if succs.is_empty() {
                back[0].push(n);
            }
        }
        let order = reverse_postorder(back.len(), 0, &back);
        let tree = DomTree::new(&back, &order);
        let meeting = |n: u32| tree.parent(BlockId(n)).and_then(|p| p.0.checked_sub(1)).map(BlockId);
        (1..back.len() as u32).map(meeting).collect()
    }

    /// Whether the entry reaches this block.
    pub fn reachable(&self, b: BlockId) -> bool {
        self.dom.dominates(Shader::ENTRY, b)
    }
}

fn numbers(edges: &[Vec<BlockId>]) -> Vec<Vec<u32>> {
    edges.iter().map(|e| e.iter().map(|b| b.0).collect()).collect()
}

fn reverse_postorder(count: usize, root: u32, succs: &[Vec<u32>]) -> Vec<u32> {
    let mut out = Vec::new();
    if root as usize >= count {
        return out;
    }
    let mut seen = vec![false; count];
    seen[root as usize] = true;
    let mut stack = vec![(root, 0usize)];
    while let Some((node, next)) = stack.last_mut() {
        match succs[*node as usize].get(*next) {
            Some(&s) => {
                *next += 1;
                if !seen[s as usize] {
                    seen[s as usize] = true;
                    stack.push((s, 0));
                }
            }
            None => {
                out.push(*node);
                stack.pop();
            }
        }
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn graph(blocks: &str) -> Cfg {
        let text = format!("shader upper compute \"t\"\n{blocks}");
        Cfg::new(&parse(&text).expect("test text"))
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
    }
}

//! Immediate dominators of any graph in n log n steps (Lengauer and Tarjan, A Fast Algorithm for Finding Dominators in
//! a Flowgraph), without recursion.
//!
//! Iteration to a fixpoint is simpler, but quadratic where many paths of different depth join, as at the end of a loop
//! with many breaks.

use super::graph::{Graph, PerBlock};
use super::ids::BlockId;
use dovetail_base::workspace::{Kept, filled, tables, take};

const NONE: u32 = u32::MAX;

/// State of a node. Every field but `number` is indexed by DFS number; a dominator's number is lower than its node's.
#[derive(Clone)]
struct Node {
    /// DFS number of this block; `NONE` if unreachable.
    number: u32,
    /// Block with this number.
    block: BlockId,
    /// The parent in the DFS tree.
    parent: u32,
    /// Parent in the forest of processed nodes, with path compression.
    ancestor: u32,
    /// The node of least semidominator on the compressed path.
    label: u32,
    semi: u32,
    idom: u32,
    /// Head of the bucket of nodes whose semidominator this is, and the next in this node's bucket.
    first: u32,
    next: u32,
}

/// The immediate dominator of each block, `None` for the root (block 0) and unreachable blocks; and the reachable
/// blocks, each after its dominators.
pub(super) fn immediate_dominators(succs: &Graph, preds: &Graph) -> (PerBlock<Option<BlockId>>, PerBlock<BlockId>) {
    let mut forest = Forest::new(succs);
    let n = forest.reached;
    for w in (1..n).rev() {
        let block = forest.node(w).block;
        for &from in preds.of(block) {
            let v = forest.nodes[from.index()].number;
            if v != NONE {
                let u = forest.eval(v);
                let semi = forest.node(w).semi.min(forest.node(u).semi);
                forest.node(w).semi = semi;
            }
        }
        let (semi, parent) = (forest.node(w).semi, forest.node(w).parent);
        forest.node(w).next = std::mem::replace(&mut forest.node(semi).first, w);
        forest.node(w).ancestor = parent;
        let mut v = std::mem::replace(&mut forest.node(parent).first, NONE);
        while v != NONE {
            let u = forest.eval(v);
            let closer = forest.node(u).semi < forest.node(v).semi;
            forest.node(v).idom = if closer { u } else { parent };
            v = forest.node(v).next;
        }
    }
    let mut out = filled(succs.len(), None);
    for w in 1..n {
        let (idom, semi) = (forest.node(w).idom, forest.node(w).semi);
        if idom != semi {
            forest.node(w).idom = forest.node(idom).idom;
        }
        let idom = forest.node(w).idom;
        out[forest.node(w).block.index()] = Some(forest.node(idom).block);
    }
    (out, forest.nodes.iter().take(n as usize).map(|node| node.block).collect())
}

#[derive(Default)]
struct Forest {
    nodes: Vec<Node>,
    /// Number of numbered nodes.
    reached: u32,
    path: Vec<u32>,
}
tables!(Forest { nodes, reached, path });

impl Forest {
    /// Numbers the nodes reachable from the root.
    fn new(succs: &Graph) -> Kept<Self> {
        let node = |number: u32| Node {
            number: NONE,
            block: BlockId(0),
            parent: 0,
            ancestor: NONE,
            label: number,
            semi: number,
            idom: 0,
            first: NONE,
            next: NONE,
        };
        let mut this = take::<Self>();
        this.nodes.extend((0..succs.len() as u32).map(node));
        if succs.is_empty() {
            return this;
        }
        this.visit(BlockId(0), 0);
        let mut stack = take::<Vec<(BlockId, usize)>>();
        stack.push((BlockId(0), 0));
        while let Some((block, next)) = stack.last_mut() {
            match succs.of(*block).get(*next) {
                Some(&to) => {
                    *next += 1;
                    let from = this.nodes[block.index()].number;
                    if this.nodes[to.index()].number == NONE {
                        this.visit(to, from);
                        stack.push((to, 0));
                    }
                }
                None => _ = stack.pop(),
            }
        }
        this
    }

    fn visit(&mut self, block: BlockId, parent: u32) {
        let number = self.reached;
        self.reached += 1;
        self.nodes[block.index()].number = number;
        let node = self.node(number);
        (node.block, node.parent) = (block, parent);
    }

    fn node(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[number as usize]
    }

    fn eval(&mut self, v: u32) -> u32 {
        let mut at = v;
        loop {
            let above = self.node(at).ancestor;
            if above == NONE || self.node(above).ancestor == NONE {
                break;
            }
            self.path.push(at);
            at = above;
        }
        while let Some(at) = self.path.pop() {
            let above = self.node(at).ancestor;
            let (label, higher) = (self.node(at).label, self.node(above).label);
            if self.node(higher).semi < self.node(label).semi {
                self.node(at).label = higher;
            }
            self.node(at).ancestor = self.node(above).ancestor;
        }
        self.node(v).label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition: a node dominates those that removing it makes unreachable.
    fn by_definition(succs: &[Vec<u32>]) -> Vec<Option<u32>> {
        let reached = |without: Option<usize>| {
            let mut seen = vec![false; succs.len()];
            let mut todo = if without == Some(0) { Vec::new() } else { vec![0usize] };
            while let Some(n) = todo.pop() {
                if Some(n) != without && !std::mem::replace(&mut seen[n], true) {
                    todo.extend(succs[n].iter().map(|&s| s as usize));
                }
            }
            seen
        };
        let all = reached(None);
        let without: Vec<Vec<bool>> = (0..succs.len()).map(|n| reached(Some(n))).collect();
        let dominates = |a: usize, b: usize| all[a] && all[b] && a != b && !without[a][b];
        let count = |n: usize| (0..succs.len()).filter(|&d| dominates(d, n)).count();
        // The immediate dominator is the one with most dominators of its own.
        let closest = |n: usize| (0..succs.len()).filter(|&d| dominates(d, n)).max_by_key(|&d| count(d));
        (0..succs.len()).map(|n| closest(n).map(|d| d as u32)).collect()
    }

    proptest! {
        #[test]
        fn any_graph_has_the_dominators_of_the_definition(
            edges in (1usize..14).prop_flat_map(|n| {
                proptest::collection::vec(proptest::collection::vec(0..n as u32, 0..4), n)
            }),
        ) {
            let mut graph = Graph::default();
            edges.iter().for_each(|targets| graph.push(targets.iter().map(|t| BlockId(*t))));
            let (found, _) = immediate_dominators(&graph, &graph.reversed());
            prop_assert_eq!(found.iter().map(|d| d.map(|d| d.0)).collect::<Vec<_>>(), by_definition(&edges));
        }
    }
}

//! Immediate dominators of any graph in n log n steps (Lengauer and Tarjan, A Fast Algorithm for Finding Dominators in a
//! Flowgraph), by explicit stacks.
//!
//! Iteration to a fixpoint is simpler, and quadratic where many ways of different depth meet, as at the end of a loop with
//! many breaks.

const NONE: usize = usize::MAX;

/// Numbers are those of a depth-first walk from the root: a dominator's is lower.
struct Walk<'a> {
    succs: &'a [Vec<u32>],
    /// By node; `NONE` out of reach.
    number: Vec<usize>,
    /// By number: the node.
    node: Vec<usize>,
    /// By number: the parent in the walk.
    parent: Vec<usize>,
}

/// For each node the closest strict dominator; none for the root (node 0) and what it does not reach.
pub(super) fn immediate_dominators(succs: &[Vec<u32>]) -> Vec<Option<u32>> {
    let mut walk = Walk { succs, number: vec![NONE; succs.len()], node: Vec::new(), parent: Vec::new() };
    walk.run();
    let n = walk.node.len();
    let preds = walk.predecessors();
    let mut forest = Forest { ancestor: vec![NONE; n], label: (0..n).collect(), semi: (0..n).collect() };
    let mut idom = vec![0usize; n];
    // Nodes whose semidominator is the index, as lists.
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    for w in (1..n).rev() {
        for &v in &preds[w] {
            let u = forest.eval(v);
            forest.semi[w] = forest.semi[w].min(forest.semi[u]);
        }
        let semi = forest.semi[w];
        next[w] = std::mem::replace(&mut first[semi], w);
        let parent = walk.parent[w];
        forest.ancestor[w] = parent;
        let mut v = std::mem::replace(&mut first[parent], NONE);
        while v != NONE {
            let u = forest.eval(v);
            idom[v] = if forest.semi[u] < forest.semi[v] { u } else { parent };
            v = next[v];
        }
    }
    for w in 1..n {
        if idom[w] != forest.semi[w] {
            idom[w] = idom[idom[w]];
        }
    }
    let mut out = vec![None; succs.len()];
    for w in 1..n {
        out[walk.node[w]] = Some(walk.node[idom[w]] as u32);
    }
    out
}

impl Walk<'_> {
    fn run(&mut self) {
        if self.succs.is_empty() {
            return;
        }
        self.visit(0, 0);
        let mut stack = vec![(0usize, 0usize)];
        while let Some((node, next)) = stack.last_mut() {
            match self.succs[*node].get(*next) {
                Some(&to) => {
                    *next += 1;
                    let (from, to) = (self.number[*node], to as usize);
                    if self.number[to] == NONE {
                        self.visit(to, from);
                        stack.push((to, 0));
                    }
                }
                None => _ = stack.pop(),
            }
        }
    }

    fn visit(&mut self, node: usize, parent: usize) {
        self.number[node] = self.node.len();
        self.node.push(node);
        self.parent.push(parent);
    }

    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut preds = vec![Vec::new(); self.node.len()];
        for (from, &node) in self.node.iter().enumerate() {
            for &to in &self.succs[node] {
                preds[self.number[to as usize]].push(from);
            }
        }
        preds
    }
}

/// Trees of what is done, with paths that shorten as they are followed.
struct Forest {
    ancestor: Vec<usize>,
    /// The node of least semidominator on the path up, as far as it was followed.
    label: Vec<usize>,
    semi: Vec<usize>,
}

impl Forest {
    fn eval(&mut self, v: usize) -> usize {
        let mut path = Vec::new();
        let mut at = v;
        while self.ancestor[at] != NONE && self.ancestor[self.ancestor[at]] != NONE {
            path.push(at);
            at = self.ancestor[at];
        }
        while let Some(at) = path.pop() {
            let above = self.ancestor[at];
            if self.semi[self.label[above]] < self.semi[self.label[at]] {
                self.label[at] = self.label[above];
            }
            self.ancestor[at] = self.ancestor[above];
        }
        self.label[v]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition: what every path to a node leads through is what cuts it off.
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
        // Of the dominators the closest is the one with most dominators of its own.
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
            prop_assert_eq!(immediate_dominators(&edges), by_definition(&edges));
        }
    }
}

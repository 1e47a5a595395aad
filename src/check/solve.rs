//! Computes the fixed point of facts that flow forwards along a [`Graph`].

use super::flow::{Graph, Step, TAKEN};
use dovetail_isa::Op;
use std::collections::BTreeSet;

/// Facts about the paths to an instruction.
pub(super) trait Flow: Clone {
    /// Applies an instruction.
    fn step(&mut self, step: &Step);
    /// Whether [`Flow::branch`] adds facts.
    const BRANCHES: bool = false;
    /// Adds the facts that hold if a conditional branch is taken, or not taken.
    fn branch(&mut self, _branch: &Step, _taken: bool) {}
    /// Merges the facts at a join; returns true if that changed this one. Facts only get weaker, so this terminates.
    fn join(&mut self, other: &Self) -> bool;
}

/// Computes the facts before each block, then calls `visit` for each instruction with the facts before it.
pub(super) fn forwards<F: Flow>(graph: &Graph, entry: F, mut visit: impl FnMut(&F, &Step)) {
    let mut before: Vec<Option<F>> = vec![None; graph.blocks.len()];
    if let Some(first) = before.get_mut(graph.entry) {
        *first = Some(entry);
    }
    let mut work = BTreeSet::from([graph.entry]);
    // From block to block in their order, and around again: an inner loop is not followed to its end each time that the
    // facts of an outer one change, so the passes are few even where loops are deep in each other.
    let mut last = graph.entry;
    while let Some(index) = work.range(last..).next().or_else(|| work.first()).copied() {
        work.remove(&index);
        last = index;
        let Some((block, Some(mut facts))) = graph.blocks.get(index).zip(before.get(index).cloned()) else { continue };
        graph.steps_of(block).iter().for_each(|step| facts.step(step));
        let branch = graph.steps_of(block).last().filter(|_| block.next.len() == 2);
        for (n, &next) in block.next.iter().enumerate() {
            let empty = n == TAKEN && branch.is_some_and(|branch| branch.op() == Op::SCbranchExecz);
            let next = if empty { graph.without_lanes(next) } else { next };
            let told = branch.filter(|_| F::BRANCHES).map(|branch| {
                let mut facts = facts.clone();
                facts.branch(branch, n == TAKEN);
                facts
            });
            let facts = told.as_ref().unwrap_or(&facts);
            let changed = match before.get_mut(next) {
                Some(Some(known)) => known.join(facts),
                Some(unknown) => {
                    *unknown = Some(facts.clone());
                    true
                }
                None => false,
            };
            if changed {
                work.insert(next);
            }
        }
    }
    for (block, facts) in graph.blocks.iter().zip(before) {
        let Some(mut facts) = facts else { continue };
        for step in graph.steps_of(block) {
            visit(&facts, step);
            facts.step(step);
        }
    }
}

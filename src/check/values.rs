//! Registers that are read before anything has written them, and arithmetic whose result nothing reads.
//!
//! A scalar register has to be written on every path to its reader. A vector register on some path: lanes that took another
//! one are the reader's business, which LLVM knows and the code does not say. A write under any EXEC counts, and of any part.

use super::code::{Code, StageCode};
use super::entry;
use super::flow::{Graph, Step};
use super::report::{Reporter, Rule};
use super::solve::{Flow, forwards};
use crate::isa::RegisterSet;

#[derive(Clone)]
struct Written {
    /// On every path.
    surely: RegisterSet,
    /// On some path.
    maybe: RegisterSet,
}

impl Flow for Written {
    fn step(&mut self, step: &Step) {
        self.surely = self.surely.union(&step.effects.writes);
        self.maybe = self.maybe.union(&step.effects.writes);
    }

    fn join(&mut self, other: &Self) -> bool {
        let (surely, maybe) = (self.surely.intersection(&other.surely), self.maybe.union(&other.maybe));
        let changed = surely != self.surely || maybe != self.maybe;
        (self.surely, self.maybe) = (surely, maybe);
        changed
    }
}

/// Reports both.
pub(super) fn check(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let set = entry::registers(stage, &code.registers);
    forwards(graph, Written { surely: set, maybe: set }, |before, step| {
        let reads = &step.effects.reads;
        let missing = reads.without(&before.maybe);
        let unsure = reads.without(&reads.vector_part()).without(&before.surely);
        if let Some(register) = missing.iter().next() {
            reporter.register(Rule::Uninitialised, step, register, "is read and nothing has written it");
        } else if let Some(register) = unsure.iter().next() {
            reporter.register(Rule::Uninitialised, step, register, "is read and not written on every path here");
        }
    });
    dead(graph, reporter);
}

/// Reports arithmetic whose result nothing reads.
fn dead(graph: &Graph, reporter: &mut Reporter<'_>) {
    let mut live_in = vec![RegisterSet::EMPTY; graph.blocks.len()];
    let live_out = |live_in: &[RegisterSet], next: &[usize]| {
        let following = next.iter().filter_map(|n| live_in.get(*n));
        following.fold(RegisterSet::EMPTY, |all, one| all.union(one))
    };
    let mut again = true;
    while again {
        again = false;
        for index in (0..graph.blocks.len()).rev() {
            let Some(block) = graph.blocks.get(index) else { continue };
            let mut live = live_out(&live_in, &block.next);
            graph.steps_of(block).iter().rev().for_each(|step| live = before(&live, step));
            if let Some(known) = live_in.get_mut(index).filter(|known| **known != live) {
                *known = live;
                again = true;
            }
        }
    }
    for block in &graph.blocks {
        let mut live = live_out(&live_in, &block.next);
        for step in graph.steps_of(block).iter().rev() {
            let effects = &step.effects;
            if effects.pure && !effects.indirect && effects.writes.intersection(&live).is_empty() {
                reporter.add(Rule::DeadResult, step.at, "nothing reads the result");
            }
            live = before(&live, step);
        }
    }
}

/// What is live before an instruction. A vector register stays live where EXEC may leave lanes of it.
fn before(after: &RegisterSet, step: &Step) -> RegisterSet {
    let effects = &step.effects;
    let replaced = effects.writes.without(&effects.writes.vector_part());
    after.without(&replaced).union(&effects.reads)
}

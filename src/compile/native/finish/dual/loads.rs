//! Loads that nothing has waited for.

use dovetail_base::workspace::List;
use dovetail_isa::{CountedAccess, Effects, RegisterSet};

/// Loads whose results nothing has read, in the order of the code.
#[derive(Default)]
pub(super) struct Loads {
    list: List<(CountedAccess, RegisterSet)>,
    /// The results of all of them.
    results: RegisterSet,
}

impl Loads {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.results = RegisterSet::EMPTY;
    }

    /// Whether something that reads these registers waits.
    pub(super) fn delay(&self, reads: &RegisterSet) -> bool {
        reads.meets(&self.results)
    }

    /// What is still to come after an instruction has read these registers, and so waited: for the loads that made them, and
    /// for those before them of the same kind, which return in order. Scalar loads return in any order, so a wait is for
    /// all.
    pub(super) fn after(&self, reads: &RegisterSet) -> RegisterSet {
        let mut results = self.results;
        if self.delay(reads) {
            results = RegisterSet::EMPTY;
            self.list.iter().enumerate().filter(|(n, _)| !self.is_done(*n, reads)).for_each(|(_, (_, made))| {
                results = results.union(made);
            });
        }
        results
    }

    /// Passes an instruction.
    pub(super) fn pass(&mut self, effects: &Effects) {
        if self.delay(&effects.reads) {
            self.results = self.after(&effects.reads);
            let left = self.results;
            self.list.retain(|(_, made)| made.meets(&left));
        }
        if is_load(effects) {
            self.list.push((effects.access, effects.writes));
            self.results = self.results.union(&effects.writes);
        }
    }

    fn is_done(&self, n: usize, reads: &RegisterSet) -> bool {
        let (kind, _) = self.list[n];
        let from = if kind == CountedAccess::ScalarMemory { 0 } else { n };
        self.list[from..].iter().any(|(other, made)| *other == kind && reads.meets(made))
    }
}

/// Whether its results arrive later.
pub(super) fn is_load(effects: &Effects) -> bool {
    !matches!(effects.access, CountedAccess::None | CountedAccess::VectorStore)
}

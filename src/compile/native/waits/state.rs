//! The operations outstanding at a point of the code, and the waits that an instruction needs there (isa-gfx10 7.1).

use super::counter::{Pending, Queue, SavedQueue};
use dovetail_base::workspace::List;
use dovetail_isa::{
    CountedAccess, Counter, Effects, ExportKind, Instruction, Isa, Op, Register, RegisterSet, Traits, VectorPath,
    WaitCounts, WaitLayout,
};

/// Kinds of operations of a counter, as bits.
mod kind {
    /// vmcnt.
    pub const PLAIN: u8 = 1;
    pub const SAMPLER: u8 = 2;
    pub const RAY: u8 = 4;
    pub const FLAT: u8 = 8;
    /// By one of two ways, so in order with no other.
    pub const EITHER: u8 = 32;
    /// lgkmcnt; flat accesses too.
    pub const SCALAR: u8 = 1;
    pub const LDS: u8 = 2;
    pub const GDS: u8 = 4;
    pub const MESSAGE: u8 = 16;
    /// expcnt; GDS too.
    pub const PIXEL: u8 = 1;
    pub const POSITION: u8 = 2;
    pub const PARAMETER: u8 = 8;
    pub const LOADED_PARAMETER: u8 = 16;
    /// vscnt.
    pub const STORE: u8 = 1;
}

/// The wait before an epilog: no load is outstanding. Exports may be: the epilog waits for them before it writes registers.
pub(super) const RESULTS: WaitCounts = WaitCounts::all(Counter::Vector)
    .at_most(Counter::Sample, 0)
    .at_most(Counter::Ray, 0)
    .at_most(Counter::Scalar, 0)
    .at_most(Counter::Lds, 0);

/// Counters of loads to vector registers, and of those that scalar memory and LDS share or have.
const LOADS: [Counter; 3] = [Counter::Vector, Counter::Sample, Counter::Ray];
const SCALARS: [Counter; 2] = [Counter::Scalar, Counter::Lds];

/// Outstanding operations.
#[derive(Debug)]
pub(super) struct State {
    layout: &'static WaitLayout,
    /// By counter; nothing is in those of counters that the layout lacks.
    queues: [Queue; Counter::ALL.len()],
}

/// A saved [`State`]: its operations are in a list that saved states share.
#[derive(Clone, Debug)]
pub(super) struct SavedState([SavedQueue; Counter::ALL.len()]);

impl State {
    /// The state at the start: loads of these registers by the prolog may be outstanding.
    pub(super) fn after_loads(isa: &Isa, registers: &RegisterSet) -> Self {
        let layout = isa.waits;
        let mut state = Self { layout, queues: Counter::ALL.map(|counter| Queue::new(layout.most(counter))) };
        if !registers.is_empty() {
            state.issue_to(Counter::Vector, kind::PLAIN, *registers);
        }
        state
    }

    fn queue(&self, counter: Counter) -> &Queue {
        &self.queues[counter as usize]
    }

    /// Counts an operation by what it is; the layout says which counter that is.
    fn issue_to(&mut self, counter: Counter, kind: u8, registers: RegisterSet) {
        self.queues[self.layout.of(counter) as usize].issue(kind, registers);
    }

    /// The wait that an instruction needs before it.
    pub(super) fn needed(&self, inst: &Instruction, effects: &Effects) -> WaitCounts {
        let mut wait = WaitCounts::ANY;
        let mut at_most = |counter, count| wait = wait.and(WaitCounts::ANY.at_most(counter, count));
        let both = effects.reads.union(&effects.writes);
        // Where results of one path arrive in order, a load may follow another with the same result register.
        let spared = match effects.access {
            CountedAccess::VectorLoad(path) if path != VectorPath::Either && self.layout.ordered_results => {
                path_kind(path)
            }
            _ => 0,
        };
        for counter in LOADS {
            let queue = self.queue(counter);
            let read = queue.count_for(&effects.reads, 0);
            if let Some(count) = read.into_iter().chain(queue.count_for(&effects.writes, spared)).min() {
                at_most(counter, if queue.kinds & kind::FLAT == 0 { count } else { 0 });
            }
        }
        for counter in SCALARS {
            if let Some(count) = self.queue(counter).count_for(&both, 0) {
                at_most(counter, if self.in_order(counter) { count } else { 0 });
            }
        }
        // What an export reads may be read again; what a parameter load writes may not.
        let exports = self.queue(Counter::Export);
        let loaded = exports.count_for(&effects.reads, !kind::LOADED_PARAMETER);
        if let Some(count) = loaded.into_iter().chain(exports.count_for(&effects.writes, 0)).min() {
            at_most(Counter::Export, if self.in_order(Counter::Export) { count } else { 0 });
        }
        let writes_exec = [Register::EXEC, Register::EXEC_HI].into_iter().any(|r| effects.writes.contains(r));
        if writes_exec && exports.kinds != 0 {
            at_most(Counter::Export, 0);
        }
        let lds = self.layout.of(Counter::Lds);
        if inst.entry.is(Traits::BARRIER) && self.queue(lds).kinds & kind::LDS != 0 {
            at_most(lds, 0);
        }
        if matches!(inst.entry.op, Op::BufferGl0Inv | Op::BufferGl1Inv | Op::GlobalInv) {
            let outstanding = LOADS.into_iter().filter(|counter| self.queue(*counter).kinds != 0);
            outstanding.for_each(|counter| at_most(counter, 0));
        }
        wait
    }

    /// Restores a saved state.
    pub(super) fn load(&mut self, SavedState(saved): &SavedState, list: &[Pending]) {
        self.queues.iter_mut().zip(saved).for_each(|(queue, saved)| queue.load(saved, list));
    }

    /// Saves the state; its operations go to the end of a list.
    pub(super) fn save(&self, list: &mut List<Pending>) -> SavedState {
        SavedState(self.queues.each_ref().map(|queue| queue.save(list)))
    }

    /// The useful part of a wait: counters on which something may be outstanding.
    pub(super) fn useful(&self, wait: WaitCounts) -> WaitCounts {
        let queues = Counter::ALL.into_iter().zip(&self.queues);
        queues
            .filter(|(_, queue)| queue.kinds != 0)
            .fold(WaitCounts::ANY, |useful, (counter, _)| useful.at_most(counter, wait.get(counter)))
    }

    /// Applies a wait.
    pub(super) fn wait(&mut self, wait: WaitCounts) {
        let in_order = Counter::ALL.map(|counter| self.in_order(counter));
        for (queue, (counter, in_order)) in self.queues.iter_mut().zip(Counter::ALL.into_iter().zip(in_order)) {
            queue.wait(wait.get(counter), in_order);
        }
    }

    /// Applies an instruction.
    pub(super) fn issue(&mut self, effects: &Effects) {
        let none = RegisterSet::EMPTY;
        let writes = effects.writes;
        match effects.access {
            CountedAccess::None => {}
            CountedAccess::ScalarMemory => self.issue_to(Counter::Scalar, kind::SCALAR, writes),
            CountedAccess::VectorLoad(path) => self.issue_to(path_counter(path), path_kind(path), writes),
            CountedAccess::VectorStore => self.issue_to(Counter::Store, kind::STORE, none),
            CountedAccess::FlatLoad => {
                self.issue_to(Counter::Vector, kind::FLAT, writes);
                self.issue_to(Counter::Lds, kind::FLAT, writes);
            }
            CountedAccess::FlatStore => {
                self.issue_to(Counter::Store, kind::STORE, none);
                self.issue_to(Counter::Lds, kind::FLAT, none);
            }
            CountedAccess::Lds => self.issue_to(Counter::Lds, kind::LDS, writes),
            CountedAccess::LdsDirect => self.issue_to(Counter::Export, kind::LOADED_PARAMETER, writes),
            CountedAccess::Gds => {
                self.issue_to(Counter::Lds, kind::GDS, writes);
                self.issue_to(Counter::Export, kind::GDS, effects.reads.vector_part());
            }
            CountedAccess::Message => self.issue_to(Counter::Scalar, kind::MESSAGE, writes),
            CountedAccess::Export(which) => {
                let kind = match which {
                    ExportKind::Pixel => kind::PIXEL,
                    ExportKind::Position => kind::POSITION,
                    ExportKind::Parameter => kind::PARAMETER,
                };
                self.issue_to(Counter::Export, kind, effects.reads.vector_part());
            }
        }
    }

    /// Adds operations that may be outstanding on another path; returns whether any was new.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        self.queues.iter_mut().zip(&other.queues).fold(false, |new, (queue, other)| queue.join(other) | new)
    }

    /// Whether operations of a counter end in the order of their beginnings. Scalar loads return in any order, and different
    /// kinds overtake each other; those of vector memory only if there are flat ones.
    fn in_order(&self, counter: Counter) -> bool {
        let kinds = self.queue(counter).kinds;
        match counter {
            Counter::Vector | Counter::Sample | Counter::Ray => kinds & kind::FLAT == 0,
            Counter::Scalar | Counter::Lds => kinds & kind::SCALAR == 0 && kinds.count_ones() < 2,
            Counter::Export => kinds.count_ones() < 2,
            Counter::Store => true,
        }
    }
}

const fn path_counter(path: VectorPath) -> Counter {
    match path {
        VectorPath::Plain | VectorPath::Either => Counter::Vector,
        VectorPath::Sampler => Counter::Sample,
        VectorPath::Ray => Counter::Ray,
    }
}

const fn path_kind(path: VectorPath) -> u8 {
    match path {
        VectorPath::Plain => kind::PLAIN,
        VectorPath::Sampler => kind::SAMPLER,
        VectorPath::Ray => kind::RAY,
        VectorPath::Either => kind::EITHER,
    }
}

//! The operations outstanding at a point of the code, and the waits that an instruction needs there (isa-gfx10 7.1).

use super::counter::{Pending, Queue, SavedQueue};
use dovetail_base::workspace::List;
use dovetail_isa::{
    CountedAccess, Counter, Effects, ExportKind, Instruction, Isa, Op, Register, RegisterSet, Traits, VectorPath,
    WaitCounts,
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
pub(super) const RESULTS: WaitCounts = WaitCounts::all(Counter::Vector).at_most(Counter::Scalar, 0);

/// Outstanding operations.
#[derive(Debug)]
pub(super) struct State {
    vm: Queue,
    lgkm: Queue,
    exp: Queue,
    vs: Queue,
}

/// A saved [`State`]: its operations are in a list that saved states share.
#[derive(Clone, Debug)]
pub(super) struct SavedState([SavedQueue; 4]);

impl State {
    /// The state at the start: loads of these registers by the prolog may be outstanding.
    pub(super) fn after_loads(isa: &Isa, registers: &RegisterSet) -> Self {
        let [vm, lgkm, exp, vs] = Counter::ALL.map(|counter| Queue::new(isa.waits.most(counter)));
        let mut state = Self { vm, lgkm, exp, vs };
        if !registers.is_empty() {
            state.vm.issue(kind::PLAIN, *registers);
        }
        state
    }

    /// The wait that an instruction needs before it.
    pub(super) fn needed(&self, inst: &Instruction, effects: &Effects) -> WaitCounts {
        let mut wait = WaitCounts::ANY;
        let mut at_most = |counter, count| wait = wait.and(WaitCounts::ANY.at_most(counter, count));
        let both = effects.reads.union(&effects.writes);
        // Results of one path arrive in order, so a load may follow another with the same result register.
        let spared = match effects.access {
            CountedAccess::VectorLoad(path) if path != VectorPath::Either => path_kind(path),
            _ => 0,
        };
        let read = self.vm.count_for(&effects.reads, 0);
        let loads = read.into_iter().chain(self.vm.count_for(&effects.writes, spared));
        if let Some(count) = loads.min() {
            at_most(Counter::Vector, if self.vm.kinds & kind::FLAT == 0 { count } else { 0 });
        }
        if let Some(count) = self.lgkm.count_for(&both, 0) {
            at_most(Counter::Scalar, if self.lgkm_in_order() { count } else { 0 });
        }
        // What an export reads may be read again; what a parameter load writes may not.
        let loaded = self.exp.count_for(&effects.reads, !kind::LOADED_PARAMETER);
        let exports = loaded.into_iter().chain(self.exp.count_for(&effects.writes, 0));
        if let Some(count) = exports.min() {
            at_most(Counter::Export, if self.exp_in_order() { count } else { 0 });
        }
        let writes_exec = [Register::EXEC, Register::EXEC_HI].into_iter().any(|r| effects.writes.contains(r));
        if writes_exec && self.exp.kinds != 0 {
            at_most(Counter::Export, 0);
        }
        if inst.entry.is(Traits::BARRIER) && self.lgkm.kinds & kind::LDS != 0 {
            at_most(Counter::Scalar, 0);
        }
        if matches!(inst.entry.op, Op::BufferGl0Inv | Op::BufferGl1Inv) && self.vm.kinds != 0 {
            at_most(Counter::Vector, 0);
        }
        wait
    }

    /// Restores a saved state.
    pub(super) fn load(&mut self, SavedState([vm, lgkm, exp, vs]): &SavedState, list: &[Pending]) {
        self.vm.load(vm, list);
        self.lgkm.load(lgkm, list);
        self.exp.load(exp, list);
        self.vs.load(vs, list);
    }

    /// Saves the state; its operations go to the end of a list.
    pub(super) fn save(&self, list: &mut List<Pending>) -> SavedState {
        SavedState([&self.vm, &self.lgkm, &self.exp, &self.vs].map(|counter| counter.save(list)))
    }

    /// The useful part of a wait: counters on which something may be outstanding.
    pub(super) fn useful(&self, wait: WaitCounts) -> WaitCounts {
        let queues = Counter::ALL.into_iter().zip([&self.vm, &self.lgkm, &self.exp, &self.vs]);
        queues
            .filter(|(_, queue)| queue.kinds != 0)
            .fold(WaitCounts::ANY, |useful, (counter, _)| useful.at_most(counter, wait.get(counter)))
    }

    /// Applies a wait.
    pub(super) fn wait(&mut self, wait: WaitCounts) {
        let (lgkm, exp) = (self.lgkm_in_order(), self.exp_in_order());
        let flat = self.vm.kinds & kind::FLAT != 0;
        self.vm.wait(wait.get(Counter::Vector), !flat);
        self.lgkm.wait(wait.get(Counter::Scalar), lgkm);
        self.exp.wait(wait.get(Counter::Export), exp);
        self.vs.wait(wait.get(Counter::Store), true);
    }

    /// Applies an instruction.
    pub(super) fn issue(&mut self, effects: &Effects) {
        let none = RegisterSet::EMPTY;
        match effects.access {
            CountedAccess::None => {}
            CountedAccess::ScalarMemory => self.lgkm.issue(kind::SCALAR, effects.writes),
            CountedAccess::VectorLoad(path) => self.vm.issue(path_kind(path), effects.writes),
            CountedAccess::VectorStore => self.vs.issue(kind::STORE, none),
            CountedAccess::FlatLoad => {
                self.vm.issue(kind::FLAT, effects.writes);
                self.lgkm.issue(kind::FLAT, effects.writes);
            }
            CountedAccess::FlatStore => {
                self.vs.issue(kind::STORE, none);
                self.lgkm.issue(kind::FLAT, none);
            }
            CountedAccess::Lds => self.lgkm.issue(kind::LDS, effects.writes),
            CountedAccess::LdsDirect => self.exp.issue(kind::LOADED_PARAMETER, effects.writes),
            CountedAccess::Gds => {
                self.lgkm.issue(kind::GDS, effects.writes);
                self.exp.issue(kind::GDS, effects.reads.vector_part());
            }
            CountedAccess::Message => self.lgkm.issue(kind::MESSAGE, effects.writes),
            CountedAccess::Export(which) => {
                let kind = match which {
                    ExportKind::Pixel => kind::PIXEL,
                    ExportKind::Position => kind::POSITION,
                    ExportKind::Parameter => kind::PARAMETER,
                };
                self.exp.issue(kind, effects.reads.vector_part());
            }
        }
    }

    /// Adds operations that may be outstanding on another path; returns whether any was new.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let vm = self.vm.join(&other.vm);
        let lgkm = self.lgkm.join(&other.lgkm);
        let exp = self.exp.join(&other.exp);
        self.vs.join(&other.vs) | vm | lgkm | exp
    }

    /// Scalar loads return in any order, and different kinds overtake each other.
    fn lgkm_in_order(&self) -> bool {
        self.lgkm.kinds & kind::SCALAR == 0 && self.lgkm.kinds.count_ones() < 2
    }

    fn exp_in_order(&self) -> bool {
        self.exp.kinds.count_ones() < 2
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

//! What may still touch a vector register when data of LDS are written to it directly.

use super::ages::Ages;
use crate::hazards::RegisterHazard as Hazard;
use crate::hazards::depctr::{MEMORY_SOURCES, VECTOR_RESULTS};
use crate::instruction::{Fields, Instruction};
use crate::{CountedAccess, Counter, Effects, Isa, Register, RegisterSet, Vgpr};

/// What is known at a place in the code.
#[derive(Clone)]
pub(super) struct BeforeLdsDirect {
    /// Vector instructions since one touched a register, first with no transcendental among these and that one, then with one.
    touched: [Ages; 2],
    /// Registers that loads and LDS may still use, and those that stores may.
    used: [RegisterSet; 2],
}

impl BeforeLdsDirect {
    pub(super) const NOTHING: Self = Self { touched: [Ages::NOTHING; 2], used: [RegisterSet::EMPTY; 2] };

    /// Adds what may have happened on another way; returns true if that changed this one.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.touched.iter_mut().zip(&other.touched) {
            changed |= mine.join(theirs);
        }
        for (mine, theirs) in self.used.iter_mut().zip(&other.used) {
            let both = mine.union(theirs);
            changed |= both != *mine;
            *mine = both;
        }
        changed
    }

    /// The most vector instructions that may be outstanding when a register is written.
    pub(super) fn most_outstanding(&self, v: Vgpr) -> u8 {
        let [plain, mixed] = self.touched.each_ref().map(|ages| ages.get(usize::from(v.0)));
        // A transcendental executes beside the others, so their number says nothing of those before it.
        if mixed < Hazard::VALUS_BEFORE_LDS_DIRECT { 0 } else { plain.min(Hazard::VALUS_BEFORE_LDS_DIRECT) }
    }

    /// Whether memory may still use a register.
    pub(super) fn is_used(&self, v: Vgpr) -> bool {
        self.used.iter().any(|used| used.contains(Register::vgpr(v.0)))
    }

    /// Memory has read and written its registers.
    pub(super) fn memory_done(&mut self) {
        self.used = [RegisterSet::EMPTY; 2];
    }

    /// Passes an instruction.
    pub(super) fn step(&mut self, isa: &Isa, inst: &Instruction, effects: &Effects) {
        let registers = effects.reads.union(&effects.writes);
        match &inst.fields {
            Fields::Scalar(_) => {
                let drained = |counts: crate::WaitCounts| {
                    [Counter::Vector, Counter::Scalar, Counter::Export].iter().all(|counter| counts.get(*counter) == 0)
                };
                if inst.clears(MEMORY_SOURCES) {
                    self.memory_done();
                } else if isa.waited(inst).is_some_and(drained) {
                    // LLVM ends it by this wait only, and Mesa, for stores, only by that for their counter.
                    self.used[0] = RegisterSet::EMPTY;
                }
            }
            _ if inst.is_vector() => {
                self.memory_done();
                self.vector(&registers, inst.entry.latency.is_transcendental());
            }
            _ if inst.clears(VECTOR_RESULTS) => {
                self.touched = [Ages::NOTHING; 2];
                match (&inst.fields, effects.access) {
                    (Fields::Export(_), _) => self.memory_done(),
                    (_, CountedAccess::VectorStore | CountedAccess::FlatStore) => {
                        self.used[1] = self.used[1].union(&registers);
                    }
                    _ => self.used[0] = self.used[0].union(&registers),
                }
            }
            _ => {}
        }
    }

    fn vector(&mut self, registers: &RegisterSet, transcendental: bool) {
        self.touched.iter_mut().for_each(Ages::grow);
        let [plain, mixed] = &mut self.touched;
        if transcendental {
            mixed.join(plain);
            *plain = Ages::NOTHING;
        }
        let (touched, other) = if transcendental { (mixed, plain) } else { (plain, mixed) };
        for v in registers.iter().filter_map(Register::as_vgpr).map(usize::from) {
            touched.happens(v);
            other.forget(v);
        }
    }
}

//! Finds scalar registers that are read too soon after they were written, where vector arithmetic has read their pair before
//! ([`RegisterHazard::PairWrite`](dovetail_isa::RegisterHazard)): each write is remembered by its register, with the scalar
//! instructions since.

use super::flow::{Graph, Step};
use super::solve::{Flow, forwards};
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Format, Register, RegisterHazard as Hazard, depctr};
use std::collections::{BTreeMap, BTreeSet};

/// First number that is neither an SGPR's nor VCC's, and the first of VCC.
const END: u8 = 108;
const VCC: u8 = 106;

/// Who wrote a register last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    /// A scalar instruction, so many others ago.
    Scalar(u8),
    Vector,
}

/// What has happened before an instruction, on any way to it.
#[derive(Clone, Default)]
struct History {
    /// Numbers of pairs that vector arithmetic has read.
    pairs: BTreeSet<u8>,
    /// By register: its writers that a reader could miss, with their places.
    writers: BTreeMap<(u8, bool), (Writer, u32)>,
}

/// Adds what is too early to `found`: places of the reader and of the writer.
pub(super) fn check(graph: &Graph, found: &mut BTreeMap<u32, u32>) {
    forwards(graph, History::default(), |history, step| {
        found.extend(history.missed(step).map(|at| (step.at, at)));
    });
}

fn scalars(registers: impl Iterator<Item = Register>) -> impl Iterator<Item = u8> {
    registers.filter_map(|register| u8::try_from(register.index()).ok()).filter(|number| *number < END)
}

/// Whether it is an instruction of the scalar unit that is no program control.
fn counts(step: &Step) -> bool {
    matches!(step.inst.fields, Fields::Scalar(_)) && step.inst.entry.format != Format::Sopp
}

impl History {
    /// The write that an instruction reads too early.
    fn missed(&self, step: &Step) -> Option<u32> {
        let vector = step.inst.is_vector();
        if !vector && !matches!(step.inst.fields, Fields::Scalar(_)) {
            return None;
        }
        let too_early = |(writer, at): &(Writer, u32)| match writer {
            Writer::Vector => vector.then_some(*at),
            Writer::Scalar(since) => {
                let safe = if vector { Hazard::SCALARS_BEFORE_VECTOR } else { Hazard::SCALARS_BEFORE_SCALAR };
                (*since <= safe).then_some(*at)
            }
        };
        let of = |register: u8| [false, true].into_iter().filter_map(move |by| self.writers.get(&(register, by)));
        scalars(step.effects.reads.iter()).flat_map(of).find_map(too_early)
    }

    fn forget(&mut self, done: impl Fn(u8, bool) -> bool) {
        self.writers.retain(|(register, vector), _| !done(*register, *vector));
    }
}

impl Flow for History {
    fn step(&mut self, step: &Step) {
        let vector = step.inst.is_vector();
        if step.inst.clears(depctr::SCALARS) {
            self.forget(|_, vector| !vector);
        }
        if step.inst.clears(depctr::VCC_OF_VECTOR) {
            self.forget(|register, vector| vector && register >= VCC);
        }
        if step.inst.clears(depctr::SCALARS_OF_VECTOR) {
            self.forget(|register, vector| vector && register < VCC);
        }
        if matches!(step.inst.fields, Fields::Smem(_) | Fields::Buffer(_) | Fields::Image(_)) {
            self.writers.clear();
        }
        let scalar = counts(step);
        if scalar {
            for (writer, _) in self.writers.values_mut() {
                if let Writer::Scalar(since) = writer {
                    *since = since.saturating_add(1);
                }
            }
            // A scalar instruction waits for vector arithmetic whose result it reads. On another way here the register may have
            // another writer, so it is known of this one only.
            for register in scalars(step.effects.reads.iter()) {
                self.writers.remove(&(register, true));
            }
        }
        if !scalar && !vector {
            return;
        }
        for register in scalars(step.effects.writes.iter()) {
            self.writers.remove(&(register, !vector));
            if self.pairs.contains(&(register / 2)) {
                let writer = if vector { Writer::Vector } else { Writer::Scalar(0) };
                self.writers.insert((register, vector), (writer, step.at));
            }
        }
        if vector {
            self.pairs.extend(scalars(step.effects.reads.iter()).map(|register| register / 2));
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut changed = !other.pairs.is_subset(&self.pairs);
        self.pairs.extend(&other.pairs);
        for (key, theirs) in &other.writers {
            match self.writers.get(key) {
                Some((mine, _)) if *mine <= theirs.0 => {}
                _ => {
                    self.writers.insert(*key, *theirs);
                    changed = true;
                }
            }
        }
        changed
    }
}

//! Finds scalar registers that are read too soon after they were written, where vector arithmetic has read their pair before
//! ([`RegisterHazard::PairWrite`](dovetail_isa::RegisterHazard)): each write is remembered by its register, until something
//! waits for it.

use super::flow::{Graph, Step};
use super::solve::{Flow, forwards};
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Format, Register, depctr};
use std::collections::{BTreeMap, BTreeSet};

/// First number that is neither an SGPR's nor VCC's, and the first of VCC.
const END: u8 = 108;
const VCC: u8 = 106;

/// Who wrote a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    Scalar,
    Vector,
}

/// What has happened before an instruction, on any way to it.
#[derive(Clone, Default)]
struct History {
    /// Numbers of pairs that vector arithmetic has read.
    pairs: BTreeSet<u8>,
    /// Writes that a reader could miss, with their places.
    writes: BTreeMap<(u8, Writer), u32>,
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

impl History {
    /// The write that an instruction reads too early.
    fn missed(&self, step: &Step) -> Option<u32> {
        let writers: &[Writer] = match &step.inst.fields {
            _ if step.inst.is_vector() => &[Writer::Scalar, Writer::Vector],
            Fields::Scalar(_) => &[Writer::Scalar],
            _ => return None,
        };
        let of = |register: u8| writers.iter().find_map(move |writer| self.writes.get(&(register, *writer)));
        scalars(step.effects.reads.iter()).find_map(of).copied()
    }

    fn forget(&mut self, done: impl Fn(u8, Writer) -> bool) {
        self.writes.retain(|(register, writer), _| !done(*register, *writer));
    }
}

impl Flow for History {
    fn step(&mut self, step: &Step) {
        if step.inst.clears(depctr::SCALARS) {
            self.forget(|_, writer| writer == Writer::Scalar);
        }
        if step.inst.clears(depctr::VCC_OF_VECTOR) {
            self.forget(|register, writer| writer == Writer::Vector && register >= VCC);
        }
        if step.inst.clears(depctr::SCALARS_OF_VECTOR) {
            self.forget(|register, writer| writer == Writer::Vector && register < VCC);
        }
        let reads = || scalars(step.effects.reads.iter());
        let writer = match &step.inst.fields {
            _ if step.inst.is_vector() => {
                // It reads before it writes.
                self.pairs.extend(reads().map(|register| register / 2));
                Writer::Vector
            }
            Fields::Scalar(_) if step.inst.entry.format != Format::Sopp => {
                // It waits for vector arithmetic whose result it reads. On another way here the register may have another
                // writer, so that is known of this register only.
                for register in reads() {
                    self.writes.remove(&(register, Writer::Vector));
                }
                Writer::Scalar
            }
            _ => return,
        };
        // Another write ends none.
        for register in scalars(step.effects.writes.iter()) {
            if self.pairs.contains(&(register / 2)) {
                self.writes.insert((register, writer), step.at);
            }
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let before = (self.pairs.len(), self.writes.len());
        self.pairs.extend(&other.pairs);
        for (what, at) in &other.writes {
            self.writes.entry(*what).or_insert(*at);
        }
        before != (self.pairs.len(), self.writes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::by_hand::places;
    use super::super::register_hazards;
    use dovetail_base::target::WaveSize;
    use dovetail_isa::instruction::Instruction;
    use dovetail_isa::{Isa, Op, Scalar, Sgpr, Src, Vgpr};

    #[test]
    fn a_write_is_missed_by_who_reads_it_without_a_wait() {
        let isa = Isa::of("gfx1200".parse().expect("known"));
        let s = |n| Scalar::Sgpr(Sgpr::new(n).expect("in range"));
        let early = |code: &[Instruction]| {
            places(isa, WaveSize::W32, code, |graph, reporter| register_hazards::check(graph, WaveSize::W32, reporter))
        };
        let set = Instruction::scalar(isa, Op::SMovB32, Some(s(4)), &[Src::Int(0)]);
        let get = Instruction::scalar(isa, Op::SMovB32, Some(s(40)), &[Src::Scalar(s(4))]);
        let vector = Instruction::vector(isa, Op::VMovB32, Vgpr(0), &[Src::Scalar(s(4))]);
        let compare = Instruction::vector(isa, Op::VCmpEqU32, s(4), &[Src::Scalar(s(5)), Vgpr(1).into()]);
        let wait = |fields| Instruction::program(isa, Op::SWaitcntDepctr, fields);
        assert!(early(&[set, vector, get]).is_empty());
        assert_eq!(early(&[vector, set, get]), [2]);
        assert_eq!(early(&[vector, set, vector]), [2]);
        assert!(early(&[vector, set, wait(0xfffe), vector]).is_empty());
        assert_eq!(early(&[vector, set, wait(0xf1ff), vector]), [3]);
        // It has read the pair that it writes.
        assert_eq!(early(&[compare, vector]), [1]);
        assert!(early(&[compare, get, vector]).is_empty());
        assert!(early(&[compare, wait(0xf1ff), vector]).is_empty());
        assert_eq!(early(&[compare, set, wait(0xfffe), vector]), [3]);
    }
}

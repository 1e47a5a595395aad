//! Registers that are read before anything has written them, and arithmetic whose result nothing reads.
//!
//! A scalar register has to be written on every path to its reader. A vector register on some path: lanes that took another
//! one are the reader's business, which LLVM knows and the code does not say. A write under any EXEC counts, and of any part.

use super::code::{Code, StageCode};
use super::entry;
use super::flow::{Graph, Step};
use super::report::{Reporter, Rule};
use super::solve::{Flow, forwards};
use crate::isa::instruction::Fields;
use crate::isa::{Effects, Register, RegisterSet, Scalar, Src, Vgpr};
use crate::target::WaveSize;

#[derive(Clone)]
struct Written {
    /// On every path.
    surely: RegisterSet,
    /// On some path.
    maybe: RegisterSet,
}

impl Flow for Written {
    fn step(&mut self, step: &Step) {
        let Effects { reads, writes, .. } = &step.effects;
        self.maybe = self.maybe.union(writes);
        // A copy of what may be nothing may be nothing.
        let sure = !is_copy(step) || scalars(reads).without(&self.surely).is_empty();
        self.surely = if sure { self.surely.union(writes) } else { self.surely.without(writes) };
    }

    fn join(&mut self, other: &Self) -> bool {
        let (surely, maybe) = (self.surely.intersection(&other.surely), self.maybe.union(&other.maybe));
        let changed = surely != self.surely || maybe != self.maybe;
        (self.surely, self.maybe) = (surely, maybe);
        changed
    }
}

/// Where paths meet, LLVM copies what one of them has no value for.
fn is_copy(step: &Step) -> bool {
    matches!(step.name(), "s_mov_b32" | "s_mov_b64" | "v_mov_b32")
}

/// The upper half of a wide addend: LLVM adds 32 bits by the wide operation too, and reads the lower half of the sum.
fn any_upper_half(step: &Step) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    if let (Fields::Vector(f), "v_mad_u64_u32" | "v_mad_i64_i32") = (&step.inst.fields, step.name()) {
        match f.srcs[2] {
            Some(Src::Vgpr(v)) => v.0.checked_add(1).into_iter().for_each(|v| set.insert(Register::vgpr(v))),
            Some(Src::Scalar(Scalar::Sgpr(s))) => set.insert(Register::sgpr(s.number() + 1)),
            _ => {}
        }
    }
    set
}

/// Registers read that must have a value whichever path led here: LLVM lets others be undefined where the shader does.
fn strict(step: &Step) -> RegisterSet {
    let reads = &step.effects.reads;
    let memory = matches!(step.inst.fields, Fields::Smem(_) | Fields::Buffer(_) | Fields::Image(_) | Fields::Flat(_));
    if memory {
        return scalars(reads);
    }
    let mut special = RegisterSet::EMPTY;
    special.mask(Register::VCC, WaveSize::W64);
    special.insert(Register::SCC);
    special.insert(Register::M0);
    if is_copy(step) { RegisterSet::EMPTY } else { reads.intersection(&special) }
}

fn scalars(set: &RegisterSet) -> RegisterSet {
    set.without(&set.vector_part())
}

/// Reports both.
pub(super) fn check(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let set = entry::registers(stage, &code.registers);
    forwards(graph, Written { surely: set, maybe: set }, |before, step| {
        let reads = &step.effects.reads;
        let missing = reads.without(&before.maybe).without(&any_upper_half(step));
        let unsure = strict(step).without(&before.surely);
        if let Some(register) = missing.iter().next() {
            reporter.register(Rule::Uninitialised, step, register, "is read and nothing has written it");
        } else if let Some(register) = unsure.iter().next() {
            reporter.register(Rule::Uninitialised, step, register, "is read and not written on every path here");
        }
    });
    dead(graph, code, reporter);
}

/// Reports arithmetic whose result nothing reads.
fn dead(graph: &Graph, code: &Code<'_>, reporter: &mut Reporter<'_>) {
    let mut live_in = vec![RegisterSet::EMPTY; graph.blocks.len()];
    let part = |index: usize| {
        let first = graph.blocks.get(index).and_then(|b| graph.steps_of(b).first());
        first.and_then(|step| code.part(step.at)).map(|part| part.start)
    };
    let parts: Vec<_> = (0..graph.blocks.len()).map(part).collect();
    let mut results = RegisterSet::EMPTY;
    results.vgprs(Vgpr(0), u8::MAX);
    // What one part hands to the next is complete, whether or not that one reads it.
    let live_out = |live_in: &[RegisterSet], index: usize, next: &[usize]| {
        let joint = next.iter().any(|n| parts.get(*n) != parts.get(index));
        let following = next.iter().filter_map(|n| live_in.get(*n));
        following.fold(if joint { results } else { RegisterSet::EMPTY }, |all, one| all.union(one))
    };
    let mut again = true;
    while again {
        again = false;
        for index in (0..graph.blocks.len()).rev() {
            let Some(block) = graph.blocks.get(index) else { continue };
            let mut live = live_out(&live_in, index, &block.next);
            graph.steps_of(block).iter().rev().for_each(|step| live = before(&live, step));
            if let Some(known) = live_in.get_mut(index).filter(|known| **known != live) {
                *known = live;
                again = true;
            }
        }
    }
    for (index, block) in graph.blocks.iter().enumerate() {
        let mut live = live_out(&live_in, index, &block.next);
        for step in graph.steps_of(block).iter().rev() {
            let effects = &step.effects;
            if effects.pure
                && !effects.indirect
                && !is_left_behind(step)
                && effects.writes.intersection(&live).is_empty()
            {
                reporter.add(Rule::DeadResult, step.at, "nothing reads the result");
            }
            live = before(&live, step);
        }
    }
}

/// What LLVM does not always clean up: a mask saved whose lanes nobody brings back before the end, and copies.
fn is_left_behind(step: &Step) -> bool {
    match &step.inst.fields {
        Fields::Scalar(_) => step.effects.reads.contains(Register::EXEC) || step.name().starts_with("s_mov_b"),
        Fields::Vector(f) => step.name() == "v_mov_b32" && matches!(f.srcs[0], Some(Src::Vgpr(_))),
        _ => false,
    }
}

/// What is live before an instruction. A vector register stays live where EXEC may leave lanes of it.
fn before(after: &RegisterSet, step: &Step) -> RegisterSet {
    let effects = &step.effects;
    let replaced = effects.writes.without(&effects.writes.vector_part());
    after.without(&replaced).union(&effects.reads)
}

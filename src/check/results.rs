//! Arithmetic with an unused result: LLVM deletes it, so if it is present, another register was meant.
//!
//! A vector write replaces only the lanes in EXEC, so there are two live sets: registers live in any lane, which no
//! vector write kills; and registers live in the currently active lanes, which a full write under the same EXEC kills.

use super::code::Code;
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use dovetail_isa::instruction::{Fields, VectorDst, VectorForm};
use dovetail_isa::{CountedAccess, Op, Register, RegisterSet, Traits, Vgpr};

#[derive(Clone, Copy, PartialEq, Eq)]
struct Live {
    any: RegisterSet,
    here: RegisterSet,
}

impl Live {
    const NOTHING: Self = Self { any: RegisterSet::EMPTY, here: RegisterSet::EMPTY };

    fn union(&self, other: &Self) -> Self {
        Self { any: self.any.union(&other.any), here: self.here.union(&other.here) }
    }

    /// Registers live before an instruction.
    fn before(&self, step: &Step) -> Self {
        let effects = &step.effects;
        let vectors = effects.writes.vector_part();
        let any = self.any.without(&effects.writes.without(&vectors)).union(&effects.reads);
        if effects.writes.contains(Register::EXEC) {
            return Self { any, here: any };
        }
        let kept = if is_whole(step) { RegisterSet::EMPTY } else { vectors };
        Self { any, here: self.here.without(&effects.writes.without(&kept)).union(&effects.reads) }
    }
}

/// Reports unused results.
pub(super) fn check(graph: &Graph, code: &Code<'_>, reporter: &mut Reporter<'_>) {
    let part = |index: usize| {
        let first = graph.blocks.get(index).and_then(|b| graph.steps_of(b).first());
        first.and_then(|step| code.part(step.at)).map(|part| part.start)
    };
    let parts: Vec<_> = (0..graph.blocks.len()).map(part).collect();
    let mut results = RegisterSet::EMPTY;
    results.vgprs(Vgpr(0), u8::MAX);
    // A part's outputs count as used, whether or not the next part reads them.
    let after = |live: &[Live], index: usize, next: &[usize]| {
        let joint = next.iter().any(|n| parts.get(*n) != parts.get(index));
        let first = if joint { Live { any: results, here: results } } else { Live::NOTHING };
        next.iter().filter_map(|n| live.get(*n)).fold(first, |all, one| all.union(one))
    };
    let mut live = vec![Live::NOTHING; graph.blocks.len()];
    let mut again = true;
    while again {
        again = false;
        for (index, block) in graph.blocks.iter().enumerate().rev() {
            let start = after(&live, index, &block.next);
            let before = graph.steps_of(block).iter().rev().fold(start, |now, step| now.before(step));
            if let Some(known) = live.get_mut(index).filter(|known| **known != before) {
                *known = before;
                again = true;
            }
        }
    }
    for (index, block) in graph.blocks.iter().enumerate() {
        let mut now = after(&live, index, &block.next);
        for step in graph.steps_of(block).iter().rev() {
            let effects = &step.effects;
            let unread = effects.writes.intersection(&now.here).is_empty();
            if effects.pure && !effects.indirect && unread && !is_left_behind(step) {
                reporter.add(CodeRule::DeadResult, step.at, "nothing reads the result");
            }
            now = now.before(step);
        }
    }
}

/// Results that LLVM may leave unused: copies, and a saved mask that is not restored before the end.
fn is_left_behind(step: &Step) -> bool {
    match &step.inst.fields {
        Fields::Scalar(_) => {
            step.effects.reads.contains(Register::EXEC) || matches!(step.op(), Op::SMovB32 | Op::SMovB64)
        }
        Fields::Vector(f) => step.op() == Op::VMovB32 && matches!(f.form, VectorForm::Short | VectorForm::Long),
        _ => false,
    }
}

/// Whether it replaces the vector registers that it writes completely, in the lanes of EXEC.
fn is_whole(step: &Step) -> bool {
    match &step.inst.fields {
        Fields::Vector(f) => {
            let plain = matches!(f.form, VectorForm::Short | VectorForm::Long | VectorForm::Interp { .. });
            let vector = matches!(f.dst, Some(VectorDst::Vgpr(_)));
            vector && plain && !step.effects.indirect && !step.is(Traits::PARTIAL)
        }
        Fields::Interp(_) => !step.is(Traits::PARTIAL),
        _ => {
            matches!(step.effects.access, CountedAccess::VectorLoad(_) | CountedAccess::Lds | CountedAccess::LdsDirect)
                && !step.is(Traits::PARTIAL)
        }
    }
}

//! Hazards of gfx10.3 that code must avoid, besides the counters (isa-gfx10 7.2): one hazard, and the rules of clauses.
//!
//! The other hazards in LLVM's and Mesa's lists concern gfx10.1 or gfx11; the hardware interlocks data dependencies.

use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use crate::isa::instruction::Fields;
use crate::isa::{Format, Op, Traits};

/// Wait states between a float atomic and a change of the denormal mode.
const ATOMIC_TO_DENORM: u8 = 3;

/// Wait states since the last float atomic, and its offset.
#[derive(Clone)]
struct Since {
    states: u8,
    at: u32,
}

impl Flow for Since {
    fn step(&mut self, step: &Step) {
        if step.is(Traits::FLOAT_ATOMIC) {
            *self = Self { states: 0, at: step.at };
        } else if matches!(step.inst.fields, Fields::Vector(_) | Fields::Interp(_)) || step.is(Traits::WAITS) {
            self.states = ATOMIC_TO_DENORM;
        } else {
            let states = if step.op() == Op::SNop { step.imm().min(15) as u8 + 1 } else { 1 };
            self.states = self.states.saturating_add(states).min(ATOMIC_TO_DENORM);
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let younger = other.states < self.states;
        if younger {
            *self = other.clone();
        }
        younger
    }
}

/// Reports invalid clauses, and a float atomic too close to a change of the denormal mode.
pub(super) fn check(graph: &Graph, reporter: &mut Reporter<'_>) {
    forwards(graph, Since { states: ATOMIC_TO_DENORM, at: 0 }, |before, step| {
        if step.op() == Op::SDenormMode && before.states < ATOMIC_TO_DENORM {
            reporter.early(CodeRule::Hazard, step, None, Some(before.at), "fewer than 3 wait states after");
        }
    });
    for block in &graph.blocks {
        let steps = graph.steps_of(block);
        for (n, step) in steps.iter().enumerate().filter(|(_, step)| step.op() == Op::SClause) {
            let count = usize::from(step.imm() & 63) + 1;
            let inside = steps.iter().skip(n + 1).filter(|s| s.op() != Op::SNop).take(count);
            let kinds: Vec<Option<u8>> = inside.map(clause_kind).collect();
            let whole = kinds.len() == count && kinds.iter().all(|kind| kind.is_some() && Some(kind) == kinds.first());
            if !whole || count > 63 {
                reporter.add(CodeRule::Clause, step.at, format!("{count} instructions of one kind have to follow"));
            }
        }
    }
}

/// Kind of clause that an instruction may be in.
fn clause_kind(step: &Step) -> Option<u8> {
    match step.inst.fields {
        Fields::Smem(_) => Some(0),
        Fields::Buffer(_) | Fields::Image(_) => Some(1),
        Fields::Flat(_) if step.inst.entry.format == Format::Flat => Some(2),
        Fields::Flat(_) => Some(1),
        Fields::Ds(_) => Some(3),
        _ => None,
    }
}

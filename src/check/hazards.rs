//! Sequences that code must avoid, besides too early uses of registers: hazards, and invalid clauses.

use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Format, Hazard, Op, Traits};

/// Wait states since the last instruction of those that begin a hazard, and its offset.
#[derive(Clone)]
struct Since {
    hazard: &'static Hazard,
    states: u8,
    at: u32,
}

impl Flow for Since {
    fn step(&mut self, step: &Step) {
        if step.is(self.hazard.first) {
            (self.states, self.at) = (0, step.at);
        } else if matches!(step.inst.fields, Fields::Vector(_) | Fields::Interp(_)) || step.is(Traits::WAITS) {
            self.states = self.hazard.states;
        } else {
            let states = if step.op() == Op::SNop { step.imm().min(15) as u8 + 1 } else { 1 };
            self.states = self.states.saturating_add(states).min(self.hazard.states);
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

/// Reports invalid clauses, and instructions too close to an earlier one.
pub(super) fn check(graph: &Graph, reporter: &mut Reporter<'_>) {
    for hazard in graph.isa.hazards {
        let what = format!("fewer than {} wait states after", hazard.states);
        forwards(graph, Since { hazard, states: hazard.states, at: 0 }, |before, step| {
            if step.op() == hazard.second && before.states < hazard.states {
                reporter.early(CodeRule::Hazard, step, None, Some(before.at), &what);
            }
        });
    }
    let most = graph.isa.limits.clause as usize;
    for block in &graph.blocks {
        let steps = graph.steps_of(block);
        for (n, step) in steps.iter().enumerate().filter(|(_, step)| step.op() == Op::SClause) {
            let count = usize::from(step.imm() & 63) + 1;
            let inside = steps.iter().skip(n + 1).filter(|s| s.op() != Op::SNop).take(count);
            let kinds: Vec<Option<u8>> = inside.map(clause_kind).collect();
            let whole = kinds.len() == count && kinds.iter().all(|kind| kind.is_some() && Some(kind) == kinds.first());
            if !whole || count > most {
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

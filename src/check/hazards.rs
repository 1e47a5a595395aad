//! Sequences that code must avoid, besides too early uses of registers: hazards, and invalid clauses.

use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Format, Hazard, Isa, Op, Seen, Traits};
use std::collections::BTreeMap;

/// The earlier instructions of a hazard that a later one may still harm.
#[derive(Clone)]
struct Open {
    hazard: &'static Hazard,
    isa: &'static Isa,
    wave: WaveSize,
    /// By offset of the earlier instruction.
    begun: BTreeMap<u32, Since>,
}

/// What was executed after an earlier instruction, on the way where that is the least.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Since {
    /// Wait states.
    states: u8,
    /// What has to come between.
    through: bool,
    /// Scalar registers that it reads.
    reads: u128,
}

impl Flow for Open {
    fn step(&mut self, step: &Step) {
        let seen = self.seen(step);
        let waited = if step.op() == Op::SNop { step.imm().min(15) as u8 + 1 } else { 1 };
        if self.hazard.ended.iter().any(|event| seen.is(*event)) {
            self.begun.clear();
        }
        let crossed = self.hazard.through.is_some_and(|event| seen.is(event));
        for since in self.begun.values_mut() {
            since.states = since.states.saturating_add(waited);
            since.through |= crossed;
        }
        if let Some(most) = self.hazard.states {
            self.begun.retain(|_, since| since.states < most);
        }
        // Where neither its registers nor its time matter, one is as good as all.
        let counts = self.hazard.overwrites || self.hazard.states.is_some() || self.begun.is_empty();
        if counts && seen.is(self.hazard.first) {
            let through = self.hazard.through.is_none();
            self.begun.insert(step.at, Since { states: 0, through, reads: step.effects.reads.scalar_bits() });
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (at, theirs) in &other.begun {
            let mine = self.begun.entry(*at).or_insert_with(|| {
                changed = true;
                *theirs
            });
            let both = Since {
                states: mine.states.min(theirs.states),
                through: mine.through || theirs.through,
                reads: theirs.reads,
            };
            changed |= both != *mine;
            *mine = both;
        }
        changed
    }
}

impl Open {
    fn seen<'a>(&self, step: &'a Step) -> Seen<'a> {
        Seen::new(self.isa, self.wave, &step.inst).with_effects(&step.effects)
    }

    /// The offset of an earlier instruction that this one comes too soon after.
    fn harmed_by(&self, step: &Step) -> Option<u32> {
        if !self.seen(step).is(self.hazard.second) {
            return None;
        }
        let written = step.effects.writes.scalar_bits();
        let harmed = |since: &Since| since.through && (!self.hazard.overwrites || written & since.reads != 0);
        self.begun.iter().find(|(_, since)| harmed(since)).map(|(at, _)| *at)
    }
}

/// Reports invalid clauses, instructions too close to an earlier one, and branches that go astray.
pub(super) fn check(graph: &Graph, wave: WaveSize, reporter: &mut Reporter<'_>) {
    for hazard in graph.isa.hazards {
        let what = match hazard.states {
            Some(states) => format!("{}: fewer than {states} wait states after", hazard.name),
            None => format!("{}: not kept apart from", hazard.name),
        };
        let entry = Open { hazard, isa: graph.isa, wave, begun: BTreeMap::new() };
        forwards(graph, entry, |before, step| {
            if let Some(at) = before.harmed_by(step) {
                reporter.early(CodeRule::Hazard, step, None, Some(at), &what);
            }
        });
    }
    if let Some(bad) = graph.isa.words.bad_distance {
        for step in graph.steps.iter().filter(|step| step.is(Traits::BRANCH) && step.imm() == bad) {
            reporter.add(CodeRule::Hazard, step.at, format!("a branch of {bad:#x} dwords goes astray"));
        }
    }
    let most = graph.isa.limits.clause as usize;
    for block in &graph.blocks {
        let steps = graph.steps_of(block);
        for (n, step) in steps.iter().enumerate().filter(|(_, step)| step.op() == Op::SClause) {
            let count = usize::from(step.imm() & 63) + 1;
            let inside = steps.iter().skip(n + 1).filter(|s| s.op() != Op::SNop).take(count);
            if !graph.isa.limits.addresses_in_clauses && inside.clone().any(apart) {
                reporter.add(
                    CodeRule::Clause,
                    step.at,
                    "an image access with separate addresses in a clause".to_owned(),
                );
            }
            let kinds: Vec<Option<u8>> = inside.map(clause_kind).collect();
            let whole = kinds.len() == count && kinds.iter().all(|kind| kind.is_some() && Some(kind) == kinds.first());
            if !whole || count > most {
                reporter.add(CodeRule::Clause, step.at, format!("{count} instructions of one kind have to follow"));
            }
        }
    }
}

/// Whether it is an image access with separate addresses.
fn apart(step: &Step) -> bool {
    matches!(step.inst.fields, Fields::Image(f) if f.nsa)
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

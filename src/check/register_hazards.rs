//! Finds vector instructions too close to others that touch the same registers
//! ([`RegisterHazard`](dovetail_isa::RegisterHazard)), by looking back from each along every path, as far as one can
//! matter.

use super::flow::{Graph, Step};
use super::lds_direct;
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Register, RegisterHazard as Hazard, depctr};
use std::collections::{BTreeMap, BTreeSet};

/// Reports what is too close.
pub(super) fn check(graph: &Graph, wave: WaveSize, reporter: &mut Reporter<'_>) {
    for &hazard in graph.isa.register_hazards.iter().filter(|hazard| hazard.concerns(wave)) {
        let what = format!("{}: not kept apart from", hazard.name());
        let mut found = BTreeMap::new();
        match hazard {
            Hazard::TransUse | Hazard::PartialForwarding => {
                forwards(graph, Past::default(), |past, step| {
                    if !step.inst.is_vector() {
                        return;
                    }
                    let sources = sources(step);
                    let at = match hazard {
                        Hazard::TransUse => past.0.iter().find_map(|events| after_trans(graph, events, &sources)),
                        _ => past.0.iter().find_map(|events| half_forwarded(graph, events, &sources)),
                    };
                    found.extend(at.map(|at| (step.at, at)));
                });
            }
            Hazard::LdsDirectAfterVector => found.extend(lds_direct::after_vector(graph)),
            Hazard::LdsDirectAfterMemory => found.extend(lds_direct::after_memory(graph)),
            Hazard::PairWrite => super::pairs::check(graph, &mut found),
            Hazard::MaskWrite => forwards(graph, Masks::new(wave), |masks, step| {
                found.extend(masks.read_too_early(step).map(|at| (step.at, at)));
            }),
        }
        for step in &graph.steps {
            if let Some(at) = found.get(&step.at) {
                reporter.early(CodeRule::Hazard, step, None, Some(*at), &what);
            }
        }
    }
}

/// Something that matters to later instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A vector instruction, by its place in the code, where its registers are looked up.
    Vector { at: u32, trans: bool },
    /// A scalar instruction that writes EXEC.
    Exec,
}

/// The ways to a place, each as its latest events, the last one first.
#[derive(Clone, Default)]
struct Past(BTreeSet<Vec<Event>>);

/// Vector instructions that are remembered.
const REMEMBERED: usize = 9;
/// Ways that are remembered: of more, only so many are looked at.
const MOST_WAYS: usize = 64;

impl Flow for Past {
    fn step(&mut self, step: &Step) {
        let event = match &step.inst.fields {
            _ if step.inst.clears(depctr::VECTOR_RESULTS) => {
                self.0 = BTreeSet::from([Vec::new()]);
                return;
            }
            Fields::Scalar(_) if step.effects.writes.has_exec() => Event::Exec,
            _ if step.inst.is_vector() => {
                let trans = step.inst.entry.latency.is_transcendental();
                Event::Vector { at: step.at, trans }
            }
            _ => return,
        };
        if self.0.is_empty() {
            self.0.insert(Vec::new());
        }
        let longer = |events: &Vec<Event>| {
            let mut all = vec![event];
            let mut left = REMEMBERED;
            // Several writes of EXEC without a vector instruction between are as good as one.
            let rest = events.iter().copied().skip_while(|one| event == Event::Exec && *one == Event::Exec);
            all.extend(rest.take_while(|one| {
                left -= usize::from(*one != Event::Exec);
                left > 0
            }));
            all
        };
        self.0 = self.0.iter().map(longer).take(MOST_WAYS).collect();
    }

    fn join(&mut self, other: &Self) -> bool {
        let before = self.0.len();
        for way in &other.0 {
            if self.0.len() < MOST_WAYS {
                self.0.insert(way.clone());
            }
        }
        self.0.len() != before
    }
}

/// The vector registers that an instruction reads.
fn sources(step: &Step) -> Vec<u8> {
    step.effects.reads.iter().filter_map(Register::as_vgpr).collect()
}

/// The place of an event that writes a register.
fn writes(graph: &Graph, event: Event, v: u8) -> Option<u32> {
    let Event::Vector { at, .. } = event else { return None };
    let n = graph.steps.binary_search_by_key(&at, |step| step.at).ok()?;
    graph.steps.get(n)?.effects.writes.contains(Register::vgpr(v)).then_some(at)
}

/// The transcendental that wrote one of the sources, if it is too close.
fn after_trans(graph: &Graph, events: &[Event], sources: &[u8]) -> Option<u32> {
    let (mut valus, mut transcendentals) = (0, 0);
    for event in events {
        let Event::Vector { at, trans } = *event else { continue };
        if valus >= Hazard::VALUS_AFTER_TRANS || transcendentals >= Hazard::TRANS_AFTER_TRANS {
            return None;
        }
        if trans && sources.iter().any(|v| writes(graph, *event, *v).is_some()) {
            return Some(at);
        }
        valus += 1;
        transcendentals += u8::from(trans);
    }
    None
}

/// The earlier one of two instructions that wrote sources, EXEC written between, if both are too close.
fn half_forwarded(graph: &Graph, events: &[Event], sources: &[u8]) -> Option<u32> {
    let (mut valus, mut second, mut changed) = (0, None::<u8>, false);
    let mut written = Vec::new();
    for event in events {
        if *event == Event::Exec {
            changed |= second.is_some();
            continue;
        }
        let fresh: Vec<u8> =
            sources.iter().copied().filter(|v| !written.contains(v) && writes(graph, *event, *v).is_some()).collect();
        if let (Some(v), Some(at)) = (fresh.first(), fresh.first().and_then(|v| writes(graph, *event, *v))) {
            match second {
                // At most two vector instructions between both.
                Some(after) if changed && valus - after <= 3 => return Some(at),
                Some(_) => {}
                None if valus <= Hazard::VALUS_AFTER_SECOND => second = Some(valus),
                None => return None,
            }
            written.push(*v);
            written.extend(fresh.iter().skip(1));
        }
        valus += 1;
    }
    None
}

/// Scalar registers that were read as masks and then written.
#[derive(Clone)]
struct Masks {
    wave: WaveSize,
    /// Registers read as masks.
    read: BTreeSet<u8>,
    /// By register that was written then: the instruction, and what has to be waited for.
    written: BTreeMap<(u8, u16), u32>,
}

impl Masks {
    const fn new(wave: WaveSize) -> Self {
        Self { wave, read: BTreeSet::new(), written: BTreeMap::new() }
    }

    fn read_too_early(&self, step: &Step) -> Option<u32> {
        let read = |register: u8| step.effects.reads.contains(Register::sgpr(register));
        self.written.iter().find(|((register, _), _)| read(*register)).map(|(_, at)| *at)
    }
}

impl Flow for Masks {
    fn step(&mut self, step: &Step) {
        for field in [depctr::SCALARS, depctr::VCC_OF_VECTOR, depctr::SCALARS_OF_VECTOR] {
            if step.inst.clears(field) {
                self.written.retain(|(_, waits), _| *waits != field);
                self.read.retain(|_| field != depctr::SCALARS);
            }
        }
        let vector = step.inst.is_vector();
        if !vector && !matches!(step.inst.fields, Fields::Scalar(_)) {
            return;
        }
        for register in step.effects.writes.iter().filter_map(scalar) {
            if self.read.contains(&register) {
                let field = match (vector, register) {
                    (false, _) => depctr::SCALARS,
                    (true, 106 | 107) => depctr::VCC_OF_VECTOR,
                    (true, _) => depctr::SCALARS_OF_VECTOR,
                };
                self.written.insert((register, field), step.at);
            }
        }
        if vector {
            self.read.extend(step.inst.masks(self.wave).iter().filter_map(scalar));
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let before = (self.read.len(), self.written.len());
        self.read.extend(&other.read);
        for (what, at) in &other.written {
            self.written.entry(*what).or_insert(*at);
        }
        before != (self.read.len(), self.written.len())
    }
}

/// An SGPR, or a half of VCC, by code.
fn scalar(register: Register) -> Option<u8> {
    u8::try_from(register.index()).ok().filter(|code| *code < 108)
}

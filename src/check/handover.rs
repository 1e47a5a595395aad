//! Registers that the hardware sets before the first instruction belong to the body. A prolog runs before it, and may
//! overwrite only registers that the body does not read.
//!
//! These registers follow from the register words alone ([`entry`]): user data, workgroup ids, the scratch wave offset
//! after them, vertex and instance ids. If the body reads a register before it writes it, it expects the entry value.

use super::code::{Code, StageCode};
use super::entry;
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_base::target::ParameterPath;
use dovetail_isa::{Register, RegisterSet};
use dovetail_metadata::registers::rsrc1_gs;
use std::collections::BTreeMap;
use std::ops::Range;

/// SGPRs of a wave of primitive shaders that an epilog reads: numbers of lanes and of the wave, its place in the attribute ring,
/// the global table. VGPR 0 has the primitive. Written down again, so that the checker does not believe the generator.
const KEPT_SGPRS: [u8; 3] = [3, 5, 8];

/// Entry registers that the prolog has overwritten, each with the dword of the instruction.
#[derive(Clone)]
struct Replaced<'c> {
    at_entry: &'c RegisterSet,
    /// Dwords of the prolog.
    prolog: &'c Range<u32>,
    by: BTreeMap<Register, u32>,
}

impl Flow for Replaced<'_> {
    fn step(&mut self, step: &Step) {
        let writes = step.effects.writes.intersection(self.at_entry);
        for register in writes.iter() {
            if self.prolog.contains(&step.at) {
                self.by.insert(register, step.at);
            } else {
                self.by.remove(&register);
            }
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let known = self.by.len();
        other.by.iter().for_each(|(register, at)| {
            self.by.entry(*register).or_insert(*at);
        });
        self.by.len() != known
    }
}

/// Reports what a body of a primitive shader writes over: its epilog exports the primitives and stores attributes by them.
fn kept(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let mut kept = RegisterSet::EMPTY;
    KEPT_SGPRS.into_iter().for_each(|n| kept.insert(Register::sgpr(n)));
    kept.insert(Register::vgpr(0));
    // The primitive's id, if the hardware gives it.
    if code.registers.field(rsrc1_gs::GS_VGPR_COMP_CNT) >= 2 {
        kept.insert(Register::vgpr(2));
    }
    let of_epilog = |at: u32| code.part(at).is_some_and(|part| code.role(stage, part) == "epilog");
    for step in graph.steps.iter().filter(|step| !of_epilog(step.at)) {
        if let Some(register) = step.effects.writes.intersection(&kept).iter().next() {
            reporter.add(CodeRule::Entry, step.at, format!("{register} is the epilog's"));
        }
    }
}

/// Reports entry values that a body reads after a prolog has overwritten them.
pub(super) fn check(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let ring = graph.isa.facts().parameters == ParameterPath::Ring;
    if stage.hardware.runs_primitives() {
        if ring {
            kept(graph, code, stage, reporter);
        } else {
            // The prologue is there to replace them: it puts other values where the body expects its own.
            return;
        }
    }
    let dwords = |role: &str| {
        let part = code.part(stage.entry).filter(|part| code.role(stage, part) == role);
        part.map(|part| part.start..part.end)
    };
    let Some(prolog) = dwords("prolog") else { return };
    let mut at_entry = entry::registers(stage, code);
    // Every part may change EXEC.
    let mut exec = RegisterSet::EMPTY;
    exec.mask(Register::EXEC, stage.wave);
    at_entry = at_entry.without(&exec);
    let nothing = Replaced { at_entry: &at_entry, prolog: &prolog, by: BTreeMap::new() };
    forwards(graph, nothing, |before, step| {
        let body = code.part(step.at).is_some_and(|part| code.role(stage, part) == "body");
        let lost = step.effects.reads.iter().find_map(|register| Some((register, *before.by.get(&register)?)));
        if let (true, Some((register, at))) = (body, lost) {
            let what = "is read as it was set at entry, and was replaced by";
            reporter.early(CodeRule::Entry, step, Some(register), Some(at), what);
        }
    });
}

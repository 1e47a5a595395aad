//! Registers that are read before they are written.
//!
//! Addresses, descriptors and masks must be written on every path to their reader; if the reader is a vector
//! instruction, on every path on which one of its lanes is active ([`super::written`]). For other registers one path is
//! enough: the reader may not use the lanes that took other paths, which LLVM knows but the code does not show. A write
//! counts under any EXEC and in any part.

use super::code::{Code, StageCode};
use super::entry;
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::saved::saved;
use super::solve::forwards;
use super::written::{Written, copied, is_copy};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Op, Register, RegisterSet, Scalar, Src, Traits};

/// The upper half of a wide addend: LLVM also uses the wide operation for 32-bit sums, of which it reads only the lower
/// half.
fn any_upper_half(step: &Step) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    if let (Fields::Vector(f), Op::VMadU64U32 | Op::VMadI64I32) = (&step.inst.fields, step.op()) {
        match f.srcs[2] {
            Some(Src::Vgpr(v)) => v.0.checked_add(1).into_iter().for_each(|v| set.insert(Register::vgpr(v))),
            Some(Src::Scalar(Scalar::Sgpr(s))) => set.insert(Register::sgpr(s.number() + 1)),
            _ => {}
        }
    }
    set
}

/// Registers that must be written on every path before this read: LLVM leaves other registers undefined where the
/// shader does.
fn strict(step: &Step) -> RegisterSet {
    let reads = &step.effects.reads;
    let memory = matches!(step.inst.fields, Fields::Smem(_) | Fields::Buffer(_) | Fields::Image(_) | Fields::Flat(_));
    // EXEC is restored from a mask, which must be saved on every path.
    let restores = matches!(step.op(), Op::SOrB32 | Op::SOrB64) && step.effects.writes.contains(Register::EXEC);
    if memory || restores {
        return scalars(reads);
    }
    let mut special = RegisterSet::EMPTY;
    special.mask(Register::VCC, WaveSize::W64);
    special.insert(Register::SCC);
    special.insert(Register::M0);
    if is_copy(step) || step.op() == Op::VMovB32 { RegisterSet::EMPTY } else { reads.intersection(&special) }
}

/// Vector registers that are stored, exported or an atomic's data.
fn leaving(step: &Step) -> RegisterSet {
    let entry = step.inst.entry;
    let mut set = RegisterSet::EMPTY;
    match &step.inst.fields {
        Fields::Export(_) => set = step.effects.reads.vector_part(),
        _ if !entry.is(Traits::STORES) && !entry.is(Traits::ATOMIC) => {}
        Fields::Buffer(f) => set.vgprs(f.data, entry.data_registers()),
        Fields::Flat(f) => set.vgprs(f.data, entry.data_registers()),
        Fields::Image(f) => set.vgprs(f.data, f.data_registers(entry)),
        Fields::Ds(f) => {
            let kinds = entry.src.iter().skip(1);
            f.data.into_iter().zip(kinds).for_each(|(data, kind)| set.vgprs(data, kind.registers()));
        }
        _ => {}
    }
    set
}

/// Whether an instruction has no effect if EXEC = 0: not so for scalar loads, scalar arithmetic and `v_readfirstlane`.
fn does_nothing_without_lanes(step: &Step) -> bool {
    let vector = !matches!(step.inst.fields, Fields::Scalar(_) | Fields::Smem(_));
    vector && step.effects.reads.contains(Register::EXEC) && step.op() != Op::VReadfirstlaneB32
}

fn scalars(set: &RegisterSet) -> RegisterSet {
    set.without(&set.vector_part())
}

/// Reports unwritten registers.
pub(super) fn check(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let set = entry::registers(stage, code);
    forwards(graph, Written::entry(stage.wave, set), |before, step| {
        let reads = &step.effects.reads;
        // A copy of an undefined value is checked where the copy is used.
        let missing = if copied(step).is_some() || saved(step).is_some() {
            RegisterSet::EMPTY
        } else {
            reads.without(before.maybe()).without(&any_upper_half(step))
        };
        let mut unsure = strict(step).without(before.surely());
        if !unsure.is_empty() && does_nothing_without_lanes(step) {
            unsure = unsure.without(&before.where_lanes_are());
        }
        let body = code.part(step.at).is_some_and(|part| code.role(stage, part) == "body");
        let data = if missing.is_empty() || !body { RegisterSet::EMPTY } else { leaving(step) };
        if let Some(register) = missing.intersection(&data).iter().next() {
            reporter.register(CodeRule::Undefined, step, register, "is sent away and nothing has written it");
        }
        if let Some(register) = missing.without(&data).iter().next() {
            reporter.register(CodeRule::Uninitialised, step, register, "is read and nothing has written it");
        } else if let Some(register) = unsure.iter().next() {
            reporter.register(CodeRule::Uninitialised, step, register, "is read and not written on every path here");
        }
    });
}

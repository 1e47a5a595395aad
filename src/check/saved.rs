//! Scalar registers that were saved in lanes of vector registers while nothing had written them.
//!
//! Register allocation saves a register in a lane if it lacks registers. If the linker has removed the register's only
//! writer, because the pipeline does not need the value, an unwritten register is saved and later restored: as with
//! other copies of undefined values, only a use of the restored one is an error.

use super::flow::Step;
use crate::isa::instruction::{Fields, VectorDst, VectorFields};
use crate::isa::{Op, Register, RegisterSet, Src, Vgpr};
use std::collections::BTreeMap;

/// By vector register, its lanes that have a copy of an unwritten register on every path.
#[derive(Clone, Default)]
pub(super) struct UnwrittenLanes(BTreeMap<Vgpr, u64>);

impl UnwrittenLanes {
    /// Applies an instruction, before which some path has written these registers.
    pub(super) fn step(&mut self, step: &Step, maybe: &RegisterSet) {
        if let Some((to, lane, from)) = saved(step) {
            let lanes = self.0.entry(to).or_default();
            *lanes = *lanes & !lane | if maybe.contains(from) { 0 } else { lane };
        } else if !self.0.is_empty() {
            self.0.retain(|vgpr, _| !step.effects.writes.contains(Register::vgpr(vgpr.0)));
        }
    }

    /// Whether an instruction restores an unwritten register.
    pub(super) fn restores(&self, step: &Step) -> bool {
        let (Fields::Vector(f), Op::VReadlaneB32) = (&step.inst.fields, step.op()) else { return false };
        let (Some(Src::Vgpr(from)), Some(lane)) = (f.srcs[0], lane(f)) else { return false };
        self.0.get(&from).is_some_and(|lanes| lanes & lane != 0)
    }

    /// Merges the facts at a join; returns whether that changed these.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (vgpr, lanes) in &mut self.0 {
            let both = *lanes & other.0.get(vgpr).copied().unwrap_or(0);
            changed |= both != *lanes;
            *lanes = both;
        }
        changed
    }
}

/// The lane that an instruction saves a scalar register in, and the register.
pub(super) fn saved(step: &Step) -> Option<(Vgpr, u64, Register)> {
    let (Fields::Vector(f), Op::VWritelaneB32) = (&step.inst.fields, step.op()) else { return None };
    let (Some(VectorDst::Vgpr(to)), Some(Src::Scalar(from))) = (f.dst, f.srcs[0]) else { return None };
    Some((to, lane(f)?, Register::sgpr(from.code())))
}

/// The lane that `v_writelane` or `v_readlane` names, as a mask, if the instruction itself says which.
fn lane(f: &VectorFields) -> Option<u64> {
    match f.srcs[1] {
        Some(Src::Int(lane)) => 1u64.checked_shl(u32::try_from(lane).ok()?),
        _ => None,
    }
}

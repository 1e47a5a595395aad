//! Scalar registers that were saved in lanes of vector registers while nothing had written them.
//!
//! Register allocation saves a register in a lane if it lacks registers. If the linker has removed the register's only
//! writer, because the pipeline does not need the value, an unwritten register is saved and later restored: as with
//! other copies of undefined values, only a use of the restored one is an error.

use super::flow::Step;
use dovetail_isa::instruction::{Fields, VectorDst, VectorFields};
use dovetail_isa::{Op, Register, RegisterSet, Src, Vgpr};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Scalar registers by their codes: SGPRs, VCC, M0, EXEC.
pub(super) type Scalars = u128;

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
        restored(step).is_some_and(|(from, lane)| self.0.get(&from).is_some_and(|lanes| lanes & lane != 0))
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

/// What the half masks in the lanes of vector registers vouch for ([`super::written`]). Lanes may be thousands, and most
/// code changes none, so states share them.
#[derive(Clone, Default)]
pub(super) struct VouchingLanes {
    lanes: BTreeMap<Vgpr, Rc<[Scalars; 64]>>,
    /// The registers that have such lanes.
    registers: RegisterSet,
}

impl VouchingLanes {
    /// Applies an instruction; if it saves a half mask, that vouches for these registers.
    pub(super) fn step(&mut self, step: &Step, vouches: Scalars) {
        if let Some((to, lane, _)) = saved(step) {
            self.registers.insert(Register::vgpr(to.0));
            let lanes = self.lanes.entry(to).or_insert_with(|| Rc::new([0; 64]));
            if let Some(lane) = Rc::make_mut(lanes).get_mut(lane.trailing_zeros() as usize) {
                *lane = vouches;
            }
        } else if step.effects.writes.meets(&self.registers) {
            self.lanes.retain(|vgpr, _| !step.effects.writes.contains(Register::vgpr(vgpr.0)));
            self.registers = self.registers.without(&step.effects.writes);
        }
    }

    /// What the half mask that an instruction restores vouches for.
    pub(super) fn restored(&self, step: &Step) -> Option<Scalars> {
        let (from, lane) = restored(step)?;
        self.lanes.get(&from)?.get(lane.trailing_zeros() as usize).copied()
    }

    /// Replaces what each vouches for.
    pub(super) fn change(&mut self, change: impl Fn(Scalars) -> Scalars) {
        for lanes in self.lanes.values_mut().filter(|lanes| lanes.iter().any(|old| change(*old) != *old)) {
            Rc::make_mut(lanes).iter_mut().for_each(|vouches| *vouches = change(*vouches));
        }
    }

    /// Merges the facts at a join, before which these registers were written surely, on this side and on the other; returns
    /// whether that changed these.
    pub(super) fn join(&mut self, other: &Self, [mine, theirs]: [Scalars; 2]) -> bool {
        let mut changed = false;
        for (vgpr, lanes) in &mut self.lanes {
            let other = other.lanes.get(vgpr);
            // What is the same on both sides stays.
            if other.is_some_and(|other| Rc::ptr_eq(lanes, other)) {
                continue;
            }
            let new = |lane: usize, vouches: Scalars| {
                let their = other.map_or(0, |other| other[lane]);
                (vouches | mine) & (their | theirs)
            };
            changed |= lanes.iter().enumerate().any(|(lane, vouches)| new(lane, *vouches) != *vouches | mine);
            if lanes.iter().enumerate().any(|(lane, vouches)| new(lane, *vouches) & !(mine & theirs) != *vouches) {
                let lanes = Rc::make_mut(lanes).iter_mut().enumerate();
                lanes.for_each(|(lane, vouches)| *vouches = new(lane, *vouches) & !(mine & theirs));
            }
        }
        changed
    }
}

/// The lane that an instruction saves a scalar register in, and the register.
pub(super) fn saved(step: &Step) -> Option<(Vgpr, u64, Register)> {
    let (Fields::Vector(f), Op::VWritelaneB32) = (&step.inst.fields, step.op()) else { return None };
    let (Some(VectorDst::Vgpr(to)), Some(Src::Scalar(from))) = (f.dst, f.srcs[0]) else { return None };
    Some((to, lane(f)?, Register::sgpr(from.index())))
}

/// The lane that an instruction restores a scalar register from.
pub(super) fn restored(step: &Step) -> Option<(Vgpr, u64)> {
    let (Fields::Vector(f), Op::VReadlaneB32) = (&step.inst.fields, step.op()) else { return None };
    let Some(Src::Vgpr(from)) = f.srcs[0] else { return None };
    Some((from, lane(f)?))
}

/// The lane that `v_writelane` or `v_readlane` names, as a mask, if the instruction itself says which.
fn lane(f: &VectorFields) -> Option<u64> {
    match f.srcs[1] {
        Some(Src::Int(lane)) => 1u64.checked_shl(u32::try_from(lane).ok()?),
        _ => None,
    }
}

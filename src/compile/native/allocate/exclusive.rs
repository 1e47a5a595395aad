//! Registers that are never shared: those of variables, and of scalar parameters that some lanes of the wave may still need
//! later.
//!
//! A variable has several definitions, so it has no place in an order of definitions. It gets a register that no other
//! value may have, scalar ones from the top of the file; variables whose ranges of code do not overlap share one. The same
//! holds for a scalar parameter if a predecessor can also branch elsewhere: its copy is made before the branch, where a value
//! that lives on the other side could be.

use super::registers::{RegSet, RegisterLimits, class_of};
use crate::liveness::Liveness;
use crate::mir::{BlockId, MachineFunction, Operand, PhysReg, RegisterClass, Val, classes, runs};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use smallvec::SmallVec;

/// Exclusive values that one run names, and that therefore need consecutive registers; or a single exclusive value.
pub(super) struct Group {
    pub(super) members: SmallVec<[Val; 16]>,
    /// Indices of the first and the last instruction of the code that the values cover.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Chooses the registers, puts them into `loc`, and returns them.
///
/// # Errors
/// There are not enough registers.
pub fn assign(f: &MachineFunction, live: &Liveness, usable: &RegSet, loc: &mut [Option<PhysReg>]) -> Result<RegSet> {
    let mut groups = groups(f, live, &|_| false);
    groups.sort_by_key(|group| (group.first, group.members.first().copied()));
    // Entry values have their own places.
    let mut open = *usable;
    f.entry.iter().filter(|entry| entry.val.is_some()).for_each(|entry| open.remove(entry.reg));
    let mut taken = RegSet::default();
    let mut busy = List::<(u32, PhysReg)>::default();
    for group in &groups {
        let Some(class) = group.members.first().map(|val| f.class(*val)) else { continue };
        let count = group.members.len() as u16;
        let mut free = open;
        busy.iter().filter(|(last, _)| *last >= group.first).for_each(|(_, reg)| free.remove(*reg));
        let align = classes::alignment(class, group.members.len());
        // High vector registers reduce the number of waves.
        let choose = |set: &RegSet| match class {
            RegisterClass::Scalar => set.highest(class, count, align),
            RegisterClass::Vector => set.lowest(class, count, align),
        };
        let Some(base) = choose(&free.and(&taken)).or_else(|| choose(&free)) else {
            return Err(Error::unsupported("more variables than registers", format!("at instruction {}", group.first)));
        };
        for (n, val) in (0..).zip(&group.members) {
            loc[val.index()] = Some(base.nth(n));
            taken.insert(base.nth(n));
            busy.push((group.last, base.nth(n)));
        }
    }
    Ok(taken)
}

/// The numbers of scalar and of vector registers that the exclusive values take.
///
/// # Errors
/// There are not enough registers.
pub fn assigned(f: &MachineFunction, live: &Liveness, limits: RegisterLimits) -> Result<[u32; 2]> {
    let mut loc = filled(f.values.len(), None);
    let taken = assign(f, live, &limits.registers(), &mut loc)?;
    Ok([RegisterClass::Scalar, RegisterClass::Vector].map(|class| taken.count(class)))
}

/// By value: whether it needs a register that is never shared.
pub fn is_exclusive(f: &MachineFunction, live: &Liveness) -> List<bool> {
    let mut exclusive: List<bool> = f.values.iter().map(|value| value.variable).collect();
    for id in f.block_ids() {
        let leaves = |pred: &BlockId| f.block(*pred).term.targets().any(|to| to != id);
        if live.linear.of(id).iter().any(leaves) {
            for val in f.params_of(f.block(id)).iter().filter(|val| f.class(**val) == RegisterClass::Scalar) {
                exclusive[val.index()] = true;
            }
        }
    }
    exclusive
}

/// The exclusive values, and those for which `too` is true, in groups: values of one run are in one group.
pub(super) fn groups(f: &MachineFunction, live: &Liveness, too: &dyn Fn(Val) -> bool) -> List<Group> {
    let mut exclusive = is_exclusive(f, live);
    (0..).map(Val).zip(exclusive.iter_mut()).for_each(|(val, own)| *own |= too(val));
    if !exclusive.contains(&true) {
        return List::default();
    }
    let mut group_of: List<Option<u32>> = filled(f.values.len(), None);
    let mut groups = List::<Group>::default();
    let mut put = |members: &[Operand], group_of: &mut [Option<u32>]| {
        let vals = || members.iter().filter_map(|one| one.as_val());
        // Most runs have other values than these.
        if !vals().all(|val| exclusive[val.index()] && group_of[val.index()].is_none()) {
            return;
        }
        let vals: SmallVec<[Val; 16]> = vals().collect();
        let mut different = vals.clone();
        different.sort_unstable();
        different.dedup();
        if vals.len() == members.len() && different.len() == vals.len() {
            vals.iter().for_each(|val| group_of[val.index()] = Some(groups.len() as u32));
            groups.push(Group { members: vals, first: u32::MAX, last: 0 });
        }
    };
    for inst in &f.insts {
        for run in runs(f.defs(inst)).chain(runs(f.uses(inst))).filter(|run| run.len() > 1) {
            put(run, &mut group_of);
        }
    }
    for val in (0..f.values.len() as u32).map(Val) {
        put(&[Operand::val(val)], &mut group_of);
    }
    let mut note = |val: Val, range: [u32; 2]| {
        if let Some(group) = group_of[val.index()] {
            let group = &mut groups[group as usize];
            group.first = group.first.min(range[0]);
            group.last = group.last.max(range[1]);
        }
    };
    for id in f.block_ids() {
        let block = f.block(id);
        let whole = [block.insts.start, block.insts.end];
        live.live_in(id).chain(live.live_out(f, id)).for_each(|val| note(val, whole));
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            let operands = f.defs(inst).iter().chain(f.uses(inst));
            operands.filter_map(|one| one.as_val()).for_each(|val| note(val, [n, n]));
        }
        f.params_of(block).iter().for_each(|val| note(*val, whole));
        for edge in &block.edges {
            f.params_of(f.block(edge.to)).iter().for_each(|val| note(*val, whole));
            f.args(edge).iter().filter_map(|one| one.as_val()).for_each(|val| note(val, whole));
        }
    }
    for (val, [first, last]) in (0..f.values.len() as u32).map(Val).filter_map(|val| Some((val, live.span(val)?))) {
        if first != last {
            note(val, [f.block(first).insts.start, f.block(last).insts.end]);
        }
    }
    groups
}

/// Whether a run's values are in consecutive registers with the alignment that it needs; returns the first register.
pub fn in_place(run: &[Operand], loc: &[Option<PhysReg>]) -> Option<PhysReg> {
    let (at, val) = run.iter().enumerate().find_map(|(at, one)| Some((at as u16, one.as_val()?)))?;
    let base = PhysReg(loc[val.index()]?.0.checked_sub(at)?);
    let class = class_of(loc[val.index()]?);
    let number = base.0 - super::registers::base(class).0.min(base.0);
    let aligned = class_of(base) == class && number.is_multiple_of(classes::alignment(class, run.len()));
    let each = (0..).zip(run).all(|(n, one)| one.as_val().is_none_or(|val| loc[val.index()] == Some(base.nth(n))));
    (aligned && each).then_some(base)
}

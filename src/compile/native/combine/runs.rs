//! Scalar runs that share a value: one copy for all uses of a run, instead of one in front of each.
//!
//! A value is in one register, so it can be in its place in one run only. The high half of an address is in many: all
//! descriptors and tables of a shader are within the same four gigabytes. Each further run gets a value of its own,
//! made where the last of its members is made. The address of the root table gets two values of its own if only buffers
//! need it that may be in that table; the linker removes their moves if none is.

use crate::mir::{
    Extra, MachineFunction, MachineInst, MachineValue, Opcode, Operand, OperandValue, RegisterClass, Val, runs,
};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_isa::Op;
use rustc_hash::FxHashMap;

/// The values of a run that may be shared.
type Members = [Val; 2];

/// Gives runs that conflict values of their own.
pub(super) fn share(f: &mut MachineFunction) {
    let sites = sites(f);
    let mut places = Kept::<FxHashMap<Val, (Members, usize)>>::default();
    // By the members of a run: the values that stand in it from now on.
    let mut renamed = Kept::<FxHashMap<Members, Members>>::default();
    let mut copies = List::<CopyOf>::default();
    let mut roots = List::<(usize, Members, Site)>::default();
    let mut uses = List::<Operand>::default();
    for n in 0..f.insts.len() {
        let inst = f.insts[n];
        let mut at = inst.operands as usize + usize::from(inst.defs);
        uses.clear();
        uses.extend_from_slice(f.uses(&inst));
        for (number, run) in runs(&uses).enumerate() {
            let here = at;
            at += run.len();
            let Some(members) = members(f, run).filter(|_| !inst.tied) else { continue };
            let Some(last) = last_site(f, &members, &sites) else { continue };
            if number == 1 && matches!(inst.extra, Extra::Descriptors { .. }) {
                roots.push((here, members, last));
                continue;
            }
            let new = match renamed.get(&members) {
                Some(new) => *new,
                None => {
                    let mut new = members;
                    for (k, val) in members.iter().enumerate() {
                        let place = places.entry(*val).or_insert((members, k));
                        // An entry value's register is fixed; allocation puts other values beside that of the address's
                        // high half only.
                        let arrives = f.entry.iter().any(|entry| entry.val == Some(*val));
                        if arrives && f.address_high != Some(*val) || place.1 != k || place.0 != members {
                            f.values.push(MachineValue { class: RegisterClass::Scalar, variable: false });
                            new[k] = Val(f.values.len() as u32 - 1);
                            copies.push(CopyOf { after: last, from: *val, to: new[k], for_root: false });
                        }
                    }
                    renamed.insert(members, new);
                    new
                }
            };
            rename(f, here, &new);
        }
    }
    for &(here, members, last) in &roots {
        let new = *renamed.entry(members).or_insert_with(|| {
            members.map(|val| {
                let new = f.value(RegisterClass::Scalar);
                copies.push(CopyOf { after: last, from: val, to: new, for_root: true });
                new
            })
        });
        rename(f, here, &new);
    }
    if !copies.is_empty() {
        insert(f, copies);
    }
}

fn rename(f: &mut MachineFunction, at: usize, new: &Members) {
    for (k, val) in new.iter().enumerate() {
        f.operands[at + k].what = OperandValue::Val(*val);
    }
}

/// A move to insert.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CopyOf {
    after: Site,
    from: Val,
    to: Val,
    /// Whether only buffers in the root table need it.
    for_root: bool,
}

/// From where on the values of a run exist: after the instruction of this index; `None` if from the start.
type Site = Option<u32>;

/// From where on all values of a run exist; `None` if that is not known or if the run needs no copies.
fn last_site(f: &MachineFunction, members: &Members, sites: &[Option<u32>]) -> Option<Site> {
    let arrives = |val: &Val| f.entry.iter().any(|entry| entry.val == Some(*val));
    let known = members.iter().all(|val| sites[val.index()].is_some() || arrives(val));
    let last = members.iter().filter_map(|val| sites[val.index()]).max();
    // Values that all exist at entry are mostly consecutive already, but for the address's high half.
    let apart = last.is_some() || members.iter().any(|val| f.address_high == Some(*val));
    (known && apart).then_some(last)
}

/// The members of a run, if it is a pair of different scalar values with one definition each.
fn members(f: &MachineFunction, run: &[Operand]) -> Option<Members> {
    let [first, second] = run else { return None };
    let vals = [first.as_val()?, second.as_val()?];
    let plain = |val: &Val| f.class(*val) == RegisterClass::Scalar && !f.values[val.index()].variable;
    (vals[0] != vals[1] && vals.iter().all(plain)).then_some(vals)
}

/// By value, the instruction that makes it; nothing for parameters and entry values, and for what a tail makes.
fn sites(f: &MachineFunction) -> List<Option<u32>> {
    let mut sites = filled(f.values.len(), None);
    for block in &f.blocks {
        for n in block.insts.start..block.tail {
            for val in f.defs(&f.insts[n as usize]).iter().filter_map(|one| one.as_val()) {
                sites[val.index()] = Some(n);
            }
        }
    }
    sites
}

/// Inserts copies after instructions, or at the start.
fn insert(f: &mut MachineFunction, mut copies: List<CopyOf>) {
    copies.sort_unstable();
    let old = std::mem::take(&mut f.insts);
    let mut copies = copies.iter().copied().peekable();
    let mut blocks = std::mem::take(&mut f.blocks);
    let mut insert = |f: &mut MachineFunction, site: Site| {
        while let Some(CopyOf { from, to, for_root, .. }) = copies.next_if(|copy| copy.after == site) {
            let operands = f.operands.len() as u32;
            f.operands.extend([Operand::val(to), Operand::val(from)]);
            let extra = if for_root { Extra::ForRootBuffers } else { Extra::None };
            // Not a copy, which would prefer its source's register.
            let op = Opcode::Isa(Op::SMovB32);
            f.insts.push(MachineInst { op, operands, defs: 1, uses: 1, tied: false, extra });
        }
    };
    for (number, block) in blocks.iter_mut().enumerate() {
        let start = f.insts.len() as u32;
        if number == 0 {
            insert(f, None);
        }
        let mut tail = None;
        for n in block.insts.clone() {
            if n == block.tail {
                tail = Some(f.insts.len() as u32);
            }
            f.insts.push(old[n as usize]);
            insert(f, Some(n));
        }
        block.insts = start..f.insts.len() as u32;
        block.tail = tail.unwrap_or(block.insts.end);
    }
    f.blocks = blocks;
}

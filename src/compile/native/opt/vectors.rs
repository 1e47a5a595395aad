//! Merges loads of adjacent dwords of one buffer.
//!
//! Buffer accesses check the bounds of every dword, so a wide load drops exactly what the narrow ones would drop, if no
//! offset between them wraps. Loads are merged within a block, at the position of the first one, and only if no store
//! is between them. A scalar load may read up to a quarter more than is used, because its widths are powers of two.

use super::bounds::stays_in_range;
use super::names::Names;
use super::purity::{Changes, Depends, changes, depends, same};
use crate::compile::request::TuningOptions;
use crate::error::Result;
use crate::ir::{Align, AluOp, Bits, BlockId, FpFlags, Inst, InstId, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Largest number of loads that are examined together.
const MAX_GROUP: usize = 256;

/// Merges loads.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let mut names = Names::default();
    for block in shader.block_ids() {
        merge_block(shader, block, &mut names);
    }
    names.apply(shader);
    Ok(())
}

/// A load of dwords at a constant offset from a base.
#[derive(Clone, Copy)]
struct Load {
    /// Index in the block.
    at: usize,
    id: InstId,
    result: Value,
    start: u32,
    dwords: u32,
}

/// Loads that may be merged: same descriptor, base and kind, no store between them.
struct Group {
    descriptor: Value,
    base: Option<Value>,
    loads: Vec<Load>,
}

/// By index of an instruction, the instructions that replace it.
type Replaced = FxHashMap<usize, Vec<InstId>>;

fn merge_block(shader: &mut Shader, block: BlockId, names: &mut Names) {
    let list = &shader.block(block).insts;
    let mut groups: Vec<Group> = Vec::new();
    // By descriptor, base, and number of stores so far: the groups that may match.
    let mut index: FxHashMap<(Value, Option<Value>, u32), SmallVec<[usize; 2]>> = FxHashMap::default();
    let mut stores = 0;
    for (at, &id) in list.iter().enumerate() {
        let inst = shader.inst(id);
        if changes(&inst.op) != Changes::Nothing {
            stores += 1;
        }
        let Some((load, descriptor, base)) = load(shader, inst, at, id) else { continue };
        let version = if depends(&inst.op) == Depends::Nothing { 0 } else { stores + 1 };
        let fitting = index.entry((descriptor, base, version)).or_default();
        let alike = |n: &&usize| {
            let group = &groups[**n];
            group.loads.len() < MAX_GROUP
                && group.loads.first().is_some_and(|l| {
                    let other = &shader.inst(l.id).op;
                    same(other, &inst.op) && scalar(other) == scalar(&inst.op)
                })
        };
        match fitting.iter().find(alike) {
            Some(&n) => groups[n].loads.push(load),
            None => {
                fitting.push(groups.len());
                groups.push(Group { descriptor, base, loads: vec![load] });
            }
        }
    }
    let mut replaced = Replaced::default();
    for group in groups.iter_mut().filter(|g| g.loads.len() > 1) {
        merge_group(shader, group, &mut replaced, names);
    }
    if replaced.is_empty() {
        return;
    }
    let old = std::mem::take(&mut shader.block_mut(block).insts);
    let mut new = Vec::with_capacity(old.len());
    for (at, id) in old.into_iter().enumerate() {
        match replaced.remove(&at) {
            Some(made) => new.extend(made),
            None => new.push(id),
        }
    }
    shader.block_mut(block).insts = new;
}

fn scalar(op: &Op) -> bool {
    matches!(op, Op::BufferLoad { kind, access, .. } if access.is_scalar(*kind))
}

fn load(shader: &Shader, inst: &Inst, at: usize, id: InstId) -> Option<(Load, Value, Option<Value>)> {
    let (Op::BufferLoad { align, access, .. }, Some(result)) = (&inst.op, inst.result) else { return None };
    let ty = shader.ty(result);
    if ty.bits() != Bits::B32 || *align < Align::A4 || access.volatile || access.coherent {
        return None;
    }
    let (base, start) = split(shader, inst.args[1]);
    // Keeps arithmetic on ends from overflowing.
    start.checked_add(64)?;
    Some((Load { at, id, result, start, dwords: ty.lanes() }, inst.args[0], base))
}

/// An offset as a base and a constant.
fn split(shader: &Shader, offset: Value) -> (Option<Value>, u32) {
    if let Some(bits) = shader.as_const(offset) {
        return (None, bits as u32);
    }
    match shader.def(offset) {
        Some(Inst { op: Op::Alu(AluOp::IAdd, _), args, .. }) => match shader.as_const(args[1]) {
            Some(bits) => (Some(args[0]), bits as u32),
            None => (Some(offset), 0),
        },
        _ => (Some(offset), 0),
    }
}

/// Merges runs of adjacent loads in a group.
fn merge_group(shader: &mut Shader, group: &mut Group, replaced: &mut Replaced, names: &mut Names) {
    group.loads.sort_by_key(|l| (l.start, l.at));
    let is_scalar = group.loads.first().is_some_and(|l| scalar(&shader.inst(l.id).op));
    let most = if is_scalar { 16 } else { 4 };
    let mut rest = &group.loads[..];
    while let Some(first) = rest.first() {
        let mut count = 1;
        let mut end = first.start + 4 * first.dwords;
        for next in &rest[1..] {
            let Some(next_end) = next.start.checked_add(4 * next.dwords) else { break };
            let joins = next.start <= end && (next.start - first.start).is_multiple_of(4);
            if !joins || next_end.max(end) - first.start > 4 * most {
                break;
            }
            end = end.max(next_end);
            count += 1;
        }
        let (run, after) = rest.split_at(count);
        rest = after;
        let used = (end - first.start) / 4;
        let Some(dwords) = width(used, is_scalar) else {
            // Without the last load there may be a load of that width.
            if count > 2 {
                let fitting = (2..count).rev().find_map(|n| {
                    let end = run[..n].iter().map(|l| l.start + 4 * l.dwords).max()?;
                    Some((n, width((end - first.start) / 4, is_scalar)?))
                });
                if let Some((n, dwords)) = fitting
                    && stays_in_range(shader, group.base, first.start, 4 * dwords)
                {
                    merge_run(shader, group, &run[..n], dwords, replaced, names);
                }
            }
            continue;
        };
        if count > 1 && stays_in_range(shader, group.base, first.start, 4 * dwords) {
            merge_run(shader, group, run, dwords, replaced, names);
        }
    }
}

/// The width of a load that gives at least this many dwords.
fn width(used: u32, is_scalar: bool) -> Option<u32> {
    if !is_scalar {
        return (used <= 4).then_some(used);
    }
    let whole = used.next_power_of_two();
    (whole <= 16 && 4 * used >= 3 * whole).then_some(whole)
}

fn merge_run(shader: &mut Shader, group: &Group, run: &[Load], dwords: u32, out: &mut Replaced, names: &mut Names) {
    let (Some(lowest), Some(place)) = (run.first(), run.iter().map(|l| l.at).min()) else { return };
    let Some(ty) = Type::vector(Bits::B32, dwords) else { return };
    let mut made = Vec::new();
    let mut make = |shader: &mut Shader, op: Op, args: &[Value], ty: Type| {
        let v = Value(shader.values.len() as u32);
        made.push(shader.add_inst(op, SmallVec::from_slice(args), Some(ty)));
        v
    };
    let offset = match (group.base, lowest.at == place) {
        (Some(base), false) if lowest.start != 0 => {
            let k = make(shader, Op::Const(u64::from(lowest.start)), &[], Type::B32);
            make(shader, Op::Alu(AluOp::IAdd, FpFlags::NONE), &[base, k], Type::B32)
        }
        (Some(base), false) => base,
        (None, false) => make(shader, Op::Const(u64::from(lowest.start)), &[], Type::B32),
        (_, true) => shader.inst(lowest.id).args[1],
    };
    let op = shader.inst(lowest.id).op.clone();
    let whole = make(shader, op, &[group.descriptor, offset], ty);
    let lanes: Vec<Value> = (0..dwords).map(|n| make(shader, Op::Extract(n as u8), &[whole], Type::B32)).collect();
    for load in run {
        let first = ((load.start - lowest.start) / 4) as usize;
        let own = &lanes[first..first + load.dwords as usize];
        let v = match own {
            [one] => *one,
            _ => make(shader, Op::Compose, own, shader.ty(load.result)),
        };
        names.set(load.result, v);
        out.insert(load.at, Vec::new());
    }
    out.insert(place, made);
}

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
use crate::workspace::{Kept, List};
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
    /// Number of its group.
    group: usize,
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
    /// One of its loads.
    example: InstId,
    count: usize,
    /// The next group with this descriptor and base and as many stores before it.
    next: Option<usize>,
}

/// Instructions that take the place of others, by index in the block.
#[derive(Default)]
struct Replaced {
    gone: List<usize>,
    made: List<(usize, InstId)>,
}

fn merge_block(shader: &mut Shader, block: BlockId, names: &mut Names) {
    let mut groups = List::<Group>::default();
    let mut loads = List::<Load>::default();
    // By descriptor, base, and number of stores so far, the first of the groups that may fit.
    let mut index = Kept::<FxHashMap<(Value, Option<Value>, u32), usize>>::default();
    let mut stores = 0;
    for (at, &id) in shader.block(block).insts.iter().enumerate() {
        let inst = shader.inst(id);
        if changes(&inst.op) != Changes::Nothing {
            stores += 1;
        }
        let Some((mut load, descriptor, base)) = load(shader, inst, at, id) else { continue };
        let version = if depends(&inst.op) == Depends::Nothing { 0 } else { stores + 1 };
        let alike = |group: &Group| {
            let other = &shader.inst(group.example).op;
            group.count < MAX_GROUP && same(other, &inst.op) && scalar(other) == scalar(&inst.op)
        };
        let mut before = None;
        let mut fitting = index.get(&(descriptor, base, version)).copied();
        while let Some(n) = fitting.filter(|n| !alike(&groups[*n])) {
            before = Some(n);
            fitting = groups[n].next;
        }
        load.group = fitting.unwrap_or_else(|| {
            let new = groups.len();
            match before {
                Some(before) => groups[before].next = Some(new),
                None => _ = index.insert((descriptor, base, version), new),
            }
            groups.push(Group { descriptor, base, example: id, count: 0, next: None });
            new
        });
        groups[load.group].count += 1;
        loads.push(load);
    }
    loads.sort_unstable_by_key(|l| (l.group, l.start, l.at));
    let mut replaced = Replaced::default();
    for of_group in loads.chunk_by(|a, b| a.group == b.group).filter(|of_group| of_group.len() > 1) {
        merge_group(shader, &groups[of_group[0].group], of_group, &mut replaced, names);
    }
    replaced.apply(&mut shader.block_mut(block).insts);
}

impl Replaced {
    fn apply(mut self, insts: &mut Vec<InstId>) {
        if self.gone.is_empty() {
            return;
        }
        self.gone.sort_unstable();
        // Stable: those of one place keep their order.
        self.made.sort_by_key(|(at, _)| *at);
        let old: List<InstId> = insts.drain(..).collect();
        let (mut gone, mut made) = (self.gone.iter().peekable(), self.made.iter().peekable());
        for (at, &id) in old.iter().enumerate() {
            while let Some((_, new)) = made.next_if(|(place, _)| *place == at) {
                insts.push(*new);
            }
            if gone.next_if(|gone| **gone == at).is_none() {
                insts.push(id);
            }
        }
    }
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
    Some((Load { group: 0, at, id, result, start, dwords: ty.lanes() }, inst.args[0], base))
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
fn merge_group(shader: &mut Shader, group: &Group, loads: &[Load], replaced: &mut Replaced, names: &mut Names) {
    let is_scalar = scalar(&shader.inst(group.example).op);
    let most = if is_scalar { 16 } else { 4 };
    let mut rest = loads;
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
    let Replaced { gone, made } = out;
    let mut make = |shader: &mut Shader, op: Op, args: &[Value], ty: Type| {
        let v = Value(shader.values.len() as u32);
        made.push((place, shader.add_inst(op, SmallVec::from_slice(args), Some(ty))));
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
    let lanes: SmallVec<[Value; 16]> =
        (0..dwords).map(|n| make(shader, Op::Extract(n as u8), &[whole], Type::B32)).collect();
    for load in run {
        let first = ((load.start - lowest.start) / 4) as usize;
        let own = &lanes[first..first + load.dwords as usize];
        let v = match own {
            [one] => *one,
            _ => make(shader, Op::Compose, own, shader.ty(load.result)),
        };
        names.set(load.result, v);
        gone.push(load.at);
    }
}

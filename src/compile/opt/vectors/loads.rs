//! Merges loads of a block.

use super::pieces::taken_from;
use super::{Alignment, Base, Place, Replaced, aligned, alike, longest_run, place};
use crate::names::ValueNames;
use crate::purity::{Changes, Depends, Memory, changes, depends};
use dovetail_base::workspace::{Kept, List};
use dovetail_ir::{Bits, BlockId, InstId, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Largest number of loads that are examined together.
const MAX_GROUP: usize = 256;

/// A load that may be merged.
#[derive(Clone, Copy)]
struct Load {
    /// Number of its group.
    group: usize,
    /// Index in the block.
    at: usize,
    id: InstId,
    result: Value,
    place: Place,
}

/// Loads that may be merged: same base and kind, no conflicting store between them.
struct Group {
    base: Base,
    /// One of its loads.
    example: InstId,
    count: usize,
    /// The next group with this base and as many stores before it.
    next: Option<usize>,
}

pub(super) fn merge(shader: &mut Shader, block: BlockId, replaced: &mut Replaced, names: &mut ValueNames) {
    let mut groups = List::<Group>::default();
    let mut loads = List::<Load>::default();
    // By base and number of stores so far, the first of the groups that may fit.
    let mut index = Kept::<FxHashMap<(Base, u32), usize>>::default();
    let mut stores = [0; Memory::COUNT];
    for (at, &id) in shader.block(block).insts.iter().enumerate() {
        let inst = shader.inst(id);
        match changes(&inst.op) {
            Changes::Nothing => {}
            Changes::Memory(memory) => stores[memory as usize] += 1,
            Changes::Everything => stores.iter_mut().for_each(|count| *count += 1),
        }
        let (Some(result), Some(place)) = (inst.result, place(shader, inst)) else { continue };
        let version = match depends(&inst.op) {
            Depends::Nothing => 0,
            Depends::Memory(memory) => stores[memory as usize] + 1,
            Depends::Lanes | Depends::Anything => continue,
        };
        let fits = |group: &Group| group.count < MAX_GROUP && alike(&shader.inst(group.example).op, &inst.op);
        let mut before = None;
        let mut fitting = index.get(&(place.base, version)).copied();
        while let Some(n) = fitting.filter(|n| !fits(&groups[*n])) {
            before = Some(n);
            fitting = groups[n].next;
        }
        let group = fitting.unwrap_or_else(|| {
            let new = groups.len();
            match before {
                Some(before) => groups[before].next = Some(new),
                None => _ = index.insert((place.base, version), new),
            }
            groups.push(Group { base: place.base, example: id, count: 0, next: None });
            new
        });
        groups[group].count += 1;
        loads.push(Load { group, at, id, result, place });
    }
    loads.sort_unstable_by_key(|load| (load.group, load.place.start, load.at));
    for of_group in loads.chunk_by(|a, b| a.group == b.group).filter(|of_group| of_group.len() > 1) {
        merge_group(shader, &groups[of_group[0].group], of_group, replaced, names);
    }
}

/// Merges runs of adjacent loads of a group.
fn merge_group(shader: &mut Shader, group: &Group, loads: &[Load], replaced: &mut Replaced, names: &mut ValueNames) {
    let alignment = Alignment::of(shader, group.base.base, loads.iter().map(|load| load.place));
    let op = shader.inst(group.example).op.clone();
    let mut rest = loads;
    let joins = |first: &Place, end: u64, next: &Place| {
        let in_dwords = (next.start - first.start).is_multiple_of(next.ty.bits().bytes().min(4).into());
        next.start <= end && in_dwords
    };
    while !rest.is_empty() {
        let longest = longest_run(shader, &op, alignment, rest.iter().map(|load| load.place), joins);
        let (run, after) = rest.split_at(longest.map_or(1, |(count, ..)| count));
        if let Some((_, dwords, align)) = longest {
            merge_run(shader, aligned(&op, align), run, dwords, replaced, names);
        }
        rest = after;
    }
}

fn merge_run(
    shader: &mut Shader,
    op: Op,
    run: &[Load],
    dwords: u32,
    replaced: &mut Replaced,
    names: &mut ValueNames,
) -> Option<()> {
    let (lowest, place) = (run.first()?, run.iter().map(|load| load.at).min()?);
    let ty = Type::vector(Bits::B32, dwords)?;
    let old = shader.inst(lowest.id).args.clone();
    let (offset, descriptor) = old.split_last()?;
    let base = lowest.place.base;
    let offset = match lowest.at == place {
        true => *offset,
        false => replaced.offset(shader, place, base, lowest.place.start, shader.ty(*offset) == Type::B64)?,
    };
    let mut args = SmallVec::<[Value; 2]>::from_slice(descriptor);
    args.push(offset);
    let whole = replaced.make(shader, place, op, &args, Some(ty))?;
    let mut make =
        |shader: &mut Shader, op: Op, args: &[Value], ty: Type| replaced.make(shader, place, op, args, Some(ty));
    let mut lanes = SmallVec::<[Value; 16]>::new();
    for n in 0..dwords {
        lanes.push(if dwords == 1 { whole } else { make(shader, Op::Extract(n as u8), &[whole], Type::B32)? });
    }
    for load in run {
        let at = (load.place.start - lowest.place.start) as u32;
        names.set(load.result, taken_from(shader, &lanes, at, load.place.ty, &mut make)?);
    }
    replaced.gone.extend(run.iter().map(|load| load.at));
    Some(())
}

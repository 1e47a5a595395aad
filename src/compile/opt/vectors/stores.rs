//! Merges stores of a block.

use super::pieces::dwords_of;
use super::{Alignment, Place, Replaced, aligned, alike, longest_run, place};
use crate::names::ValueNames;
use crate::purity::{Changes, Depends, Memory, changes, depends};
use dovetail_base::workspace::List;
use dovetail_ir::{Bits, BlockId, InstId, Op, Shader, Type, Value};
use smallvec::SmallVec;

/// Stores farther apart are not merged, because their values would be live too long.
const REACH: usize = 96;

/// A store that may be merged.
#[derive(Clone, Copy)]
struct Store {
    /// Number of its group.
    group: usize,
    /// Index in the block.
    at: usize,
    id: InstId,
    value: Value,
    place: Place,
}

/// Stores of the block, in groups: those of a group have the same base and kind, no byte is stored twice, and nothing
/// between them conflicts.
#[derive(Default)]
struct Groups {
    stores: List<Store>,
    count: usize,
    /// By kind of memory, the first store of the group that more can be added to.
    open: [Option<usize>; Memory::COUNT],
}

impl Groups {
    fn add(&mut self, shader: &Shader, mut store: Store) {
        let kind = store.place.base.memory as usize;
        let open = self.open[kind].filter(|first| {
            let op = |id: InstId| &shader.inst(id).op;
            let example = &self.stores[*first];
            let near = store.at - example.at < REACH && alike(op(example.id), op(store.id));
            near && self.is_apart(*first, &store.place)
        });
        let first = open.unwrap_or_else(|| {
            self.count += 1;
            self.stores.len()
        });
        store.group = self.stores.get(first).map_or(self.count, |first| first.group);
        self.open[kind] = Some(first);
        self.stores.push(store);
    }

    /// Whether nothing of an open group is at a place, as far as is known.
    fn is_apart(&self, first: usize, place: &Place) -> bool {
        let group = self.stores[first].group;
        self.stores[first..].iter().filter(|store| store.group == group).all(|store| store.place.is_apart(place))
    }

    /// An instruction that reads memory: a group that it may read from ends.
    fn read(&mut self, memory: Memory, place: Option<Place>) {
        let open = &self.open[memory as usize];
        if !open.is_some_and(|first| place.is_some_and(|place| self.is_apart(first, &place))) {
            self.open[memory as usize] = None;
        }
    }
}

pub(super) fn merge(shader: &mut Shader, block: BlockId, replaced: &mut Replaced, _names: &mut ValueNames) {
    let mut groups = Groups::default();
    for (at, &id) in shader.block(block).insts.iter().enumerate() {
        let inst = shader.inst(id);
        let place = place(shader, inst);
        match (changes(&inst.op), place, inst.args.last()) {
            (Changes::Memory(_), Some(place), Some(&value)) => {
                groups.add(shader, Store { group: 0, at, id, value, place });
            }
            (Changes::Memory(memory), ..) => groups.open[memory as usize] = None,
            (Changes::Everything, ..) => groups.open = Default::default(),
            (Changes::Nothing, ..) => match depends(&inst.op) {
                Depends::Nothing | Depends::Lanes => {}
                Depends::Memory(memory) => groups.read(memory, place),
                Depends::Anything => groups.open = Default::default(),
            },
        }
    }
    let mut stores = groups.stores;
    stores.sort_unstable_by_key(|store| (store.group, store.place.start));
    for of_group in stores.chunk_by(|a, b| a.group == b.group).filter(|of_group| of_group.len() > 1) {
        merge_group(shader, of_group, replaced);
    }
}

/// Merges runs of adjacent stores of a group.
fn merge_group(shader: &mut Shader, stores: &[Store], replaced: &mut Replaced) {
    let alignment = Alignment::of(shader, stores[0].place.base.base, stores.iter().map(|store| store.place));
    let op = shader.inst(stores[0].id).op.clone();
    let mut rest = stores;
    let joins = |first: &Place, end: u64, next: &Place| next.start == end && next.ty.bits() == first.ty.bits();
    while !rest.is_empty() {
        let longest = longest_run(shader, &op, alignment, rest.iter().map(|store| store.place), joins);
        let (run, after) = rest.split_at(longest.map_or(1, |(count, ..)| count));
        if let Some((_, _, align)) = longest {
            merge_run(shader, aligned(&op, align), run, replaced);
        }
        rest = after;
    }
}

fn merge_run(shader: &mut Shader, op: Op, run: &[Store], replaced: &mut Replaced) -> Option<()> {
    let (lowest, place) = (run.first()?, run.iter().map(|store| store.at).max()?);
    let old = shader.inst(lowest.id).args.clone();
    let [descriptor @ .., _, _] = &old[..] else { return None };
    let values: SmallVec<[Value; 16]> = run.iter().map(|store| store.value).collect();
    let mut make =
        |shader: &mut Shader, op: Op, args: &[Value], ty: Type| replaced.make(shader, place, op, args, Some(ty));
    let dwords = dwords_of(shader, &values, &mut make)?;
    let value = match dwords[..] {
        [one] => one,
        _ => make(shader, Op::Compose, &dwords, Type::vector(Bits::B32, dwords.len() as u32)?)?,
    };
    let mut args = SmallVec::<[Value; 4]>::from_slice(descriptor);
    // The operands of every store are above the last one.
    args.extend([old[descriptor.len()], value]);
    replaced.make(shader, place, op, &args, None);
    replaced.gone.extend(run.iter().map(|store| store.at));
    Some(())
}

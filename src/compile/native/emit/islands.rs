//! Branches over more dwords than sixteen bits count: they go by islands, branches between blocks that lead on.

use crate::mir::BlockId;
use dovetail_base::rows::Rows;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Dwords that one branch goes over at most: fewer than it could, since sizes are estimates from above.
const REACH: usize = 30_000;
/// Dwords of code from one slot of islands to the next.
const SPACING: usize = 4_000;
/// Number of attempts to place the islands, which move the code after them.
const MOST_ATTEMPTS: u32 = 12;

/// A place between blocks: after the block at this position in the order.
type Slot = usize;

/// The islands of a function, and the branches that go to them.
#[derive(Debug, Default)]
pub(super) struct Islands {
    /// By position of the branching block and by target: the slot whose island the branch goes to.
    first: FxHashMap<(usize, BlockId), Slot>,
    /// By slot: each island's target, and the slot of the next island on the way.
    at: BTreeMap<Slot, Vec<(BlockId, Option<Slot>)>>,
}

impl Islands {
    /// Dwords of code up to which no islands are needed.
    pub(super) const NEAR: usize = 32_000;

    /// Plans the islands. By position in the order of blocks: `sizes`, most dwords of each block, and `targets`, its
    /// targets; `position` gives the position of a block.
    pub(super) fn new(sizes: &[usize], targets: &Rows<BlockId>, position: impl Fn(BlockId) -> usize) -> Self {
        let mut room: FxHashMap<Slot, usize> = FxHashMap::default();
        let mut it = Self::default();
        for _ in 0..MOST_ATTEMPTS {
            it = Self::routed(sizes, targets, &position, &room);
            let mut fits = true;
            for (slot, islands) in &it.at {
                let room = room.entry(*slot).or_default();
                fits &= islands.len() <= *room;
                *room = (*room).max(islands.len());
            }
            if fits {
                break;
            }
        }
        it
    }

    /// Routes every branch, where `room` is the number of islands that each slot has to have room for.
    fn routed(
        sizes: &[usize],
        targets: &Rows<BlockId>,
        position: &impl Fn(BlockId) -> usize,
        room: &FxHashMap<Slot, usize>,
    ) -> Self {
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        // Slots, each with the number of dwords before its islands.
        let mut slots: Vec<(Slot, usize)> = Vec::new();
        let (mut at, mut since) = (0, 0);
        for (n, size) in sizes.iter().enumerate() {
            starts.push(at);
            at += size;
            since += size;
            if since >= SPACING {
                slots.push((n, at));
                since = 0;
                // The islands, and a branch around them.
                at += 1 + room.get(&n).copied().unwrap_or(0);
            }
        }
        let mut it = Self::default();
        for n in 0..targets.len() {
            for &target in targets.of(n) {
                it.route(n, starts[n] + sizes[n], target, starts[position(target)], &slots, room);
            }
        }
        it
    }

    /// Routes one branch from one dword to another.
    fn route(
        &mut self,
        n: usize,
        mut from: usize,
        target: BlockId,
        to: usize,
        slots: &[(Slot, usize)],
        room: &FxHashMap<Slot, usize>,
    ) {
        let mut before: Option<Slot> = None;
        while from.abs_diff(to) > REACH {
            let islands = |slot: Slot| room.get(&slot).copied().unwrap_or(0);
            // The last slot whose islands are all within reach.
            let next = if from < to {
                let end = slots.partition_point(|(slot, at)| at + islands(*slot) <= from + REACH);
                slots[..end].last().filter(|(_, at)| *at > from)
            } else {
                let start = slots.partition_point(|(_, at)| at + REACH < from);
                slots.get(start).filter(|(slot, at)| at + islands(*slot) < from)
            };
            // Without a slot the assembler reports the branch as an error.
            let Some(&(slot, at)) = next else { return };
            match before {
                None => _ = self.first.insert((n, target), slot),
                Some(before) => {
                    let island = self.at.entry(before).or_default().iter_mut().find(|island| island.0 == target);
                    island.into_iter().for_each(|island| island.1 = Some(slot));
                }
            }
            let islands = self.at.entry(slot).or_default();
            if islands.iter().any(|island| island.0 == target) {
                // From here on another branch to the same target already has its islands.
                return;
            }
            islands.push((target, None));
            (before, from) = (Some(slot), at);
        }
    }

    /// The slot of the island that the branch of a block goes to first.
    pub(super) fn first(&self, n: usize, target: BlockId) -> Option<Slot> {
        self.first.get(&(n, target)).copied()
    }

    /// The islands of a slot: their targets, and the slots of the islands after them.
    pub(super) fn at(&self, slot: Slot) -> &[(BlockId, Option<Slot>)] {
        self.at.get(&slot).map_or(&[], Vec::as_slice)
    }
}

//! Masks that leave their registers: variables, and scalar parameters with registers of their own.
//!
//! Each takes a lane of a vector register that holds nothing else, where `rewrite` puts it after every definition and
//! reads it before every use. Where there are too few of these registers, it takes scratch memory. The values that
//! registers then hold have one definition each and live for an instruction.

mod rewrite;

use super::exclusive::{Group, groups};
use super::registers::RegisterLimits;
use crate::liveness::Liveness;
use crate::mir::{MachineFunction, PhysReg, RegisterClass, Val};
use dovetail_base::workspace::{Kept, List, filled};
use rewrite::Rewrite;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Registers that masks may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskRoom {
    /// Scalar registers for masks that stay.
    pub(super) scalars: u32,
    /// Number of vector registers whose lanes hold masks. If it is 0, all scalar values that live between blocks leave
    /// for scratch memory, by way of one vector register.
    pub(super) vectors: u16,
}

/// A function with fewer masks in registers.
pub(super) struct Fewer {
    pub(super) function: MachineFunction,
    /// By instruction: the index of the old function's instruction that it stands for; `None` for inserted ones.
    pub(super) origin: List<Option<u32>>,
    /// Number of vector registers that masks take: the highest below the limit.
    pub(super) vectors: u16,
}

/// Where a mask is kept.
#[derive(Clone, Copy)]
enum Slot {
    Lane(PhysReg, u32),
    /// A dword of the first lane's scratch memory, by its byte offset.
    Scratch(u32),
}

/// Leaves no more registers to masks than there is room for, as far as possible; `None` if nothing leaves.
pub(super) fn leave(f: &MachineFunction, live: &Liveness, room: MaskRoom, limits: RegisterLimits) -> Option<Fewer> {
    let mut groups = groups(f, live, &|val| room.vectors == 0 && live.is_global(val));
    groups.retain(|group| group.members.iter().all(|val| f.class(*val) == RegisterClass::Scalar));
    groups.sort_by_key(|group| (group.first, group.members.first().copied()));
    let leaves = choose(f, &groups, room.scalars);
    if !leaves.contains(&true) {
        return None;
    }
    let lanes = f.wave.lanes();
    let most = u32::from(room.vectors) * lanes;
    let Places { of, taken, rows } = places(f, &groups, &leaves, most);
    let vectors = taken.div_ceil(lanes) as u16 + u16::from(rows > 0);
    let register = |n: u16| PhysReg::vgpr(limits.vgprs.saturating_sub(1 + n));
    let first = f.scratch_bytes.next_multiple_of(4);
    let slot = |place: &Option<Place>| {
        place.map(|place| match place {
            Place::Lane(n) => Slot::Lane(register((n / lanes) as u16), n % lanes),
            Place::Row(n) => Slot::Scratch(first + 4 * n),
        })
    };
    let mut it = Rewrite::new(f, of.iter().map(slot).collect(), register(vectors.saturating_sub(1)));
    if rows > 0 {
        it.out.scratch_bytes = first + 4 * rows;
    }
    f.block_ids().for_each(|id| it.block(id));
    Some(Fewer { function: it.out, origin: it.origin, vectors })
}

/// By group: whether it leaves its registers. Where the groups need more than `most` registers at once, those leave
/// that have the fewest definitions and uses for the number of instructions that they cover.
fn choose(f: &MachineFunction, groups: &[Group], most: u32) -> List<bool> {
    let cost = costs(f);
    let arrives = |val: &Val| f.entry.iter().any(|entry| entry.val == Some(*val));
    let price = |group: &Group| {
        let cost: f32 = group.members.iter().map(|val| cost[val.index()]).sum();
        // Entry values cannot leave: the hardware puts them into their registers before any code runs.
        if group.members.iter().any(arrives) { f32::INFINITY } else { cost / (1 + group.last - group.first) as f32 }
    };
    let prices: List<f32> = groups.iter().map(price).collect();
    let mut leaves = filled(groups.len(), false);
    let (mut here, mut taken) = (List::<usize>::default(), 0);
    for (n, group) in groups.iter().enumerate() {
        here.retain(|other| {
            let stays = groups[*other].last >= group.first;
            taken -= if stays { 0 } else { groups[*other].members.len() as u32 };
            stays
        });
        here.push(n);
        taken += group.members.len() as u32;
        while taken > most
            && let Some(at) = (0..here.len()).min_by(|a, b| prices[here[*a]].total_cmp(&prices[here[*b]]))
            && prices[here[at]].is_finite()
        {
            let gone = here.swap_remove(at);
            leaves[gone] = true;
            taken -= groups[gone].members.len() as u32;
        }
    }
    leaves
}

/// By value: the number of its definitions and uses; one counts ten times as much for each loop around it.
fn costs(f: &MachineFunction) -> List<f32> {
    let mut cost = filled(f.values.len(), 0.0);
    for id in f.block_ids() {
        let block = f.block(id);
        let weight = 10f32.powi(i32::from(block.depth.min(6)));
        let operands = f.insts_of(block).iter().flat_map(|inst| f.defs(inst).iter().chain(f.uses(inst)));
        let passed = block.edges.iter().flat_map(|edge| {
            let params = f.params_of(f.block(edge.to)).iter();
            params.copied().chain(f.args(edge).iter().filter_map(|one| one.as_val()))
        });
        operands.filter_map(|one| one.as_val()).chain(passed).for_each(|val| cost[val.index()] += weight);
    }
    cost
}

/// A number among all lanes, or among all dwords of scratch memory.
#[derive(Clone, Copy)]
enum Place {
    Lane(u32),
    Row(u32),
}

struct Places {
    /// By value: its place, if its group leaves.
    of: List<Option<Place>>,
    /// Numbers of lanes (`taken`) and of scratch dwords (`rows`) in use.
    taken: u32,
    rows: u32,
}

/// Places of one kind, which values that are not needed at the same time share.
#[derive(Default)]
struct Pool {
    free: List<u32>,
    /// Places in use, the first to become free on top: the index of the last instruction that needs it, and the place.
    busy: Kept<BinaryHeap<Reverse<(u32, u32)>>>,
    count: u32,
}

impl Pool {
    /// A place for a group, unless there would be more than `most`.
    fn take(&mut self, group: &Group, most: u32) -> Option<u32> {
        while let Some(Reverse((_, place))) = self.busy.peek().copied().filter(|one| one.0.0 < group.first) {
            self.busy.pop();
            self.free.push(place);
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.count < most => {
                self.count += 1;
                self.count - 1
            }
            None => return None,
        };
        self.busy.push(Reverse((group.last, place)));
        Some(place)
    }
}

/// Gives each value of the groups that leave a place: a lane, or a dword of scratch memory once `most` lanes are taken.
fn places(f: &MachineFunction, groups: &[Group], leaves: &[bool], most: u32) -> Places {
    let mut of = filled(f.values.len(), None);
    let (mut lanes, mut rows) = (Pool::default(), Pool::default());
    for (group, _) in groups.iter().zip(leaves).filter(|(_, leaves)| **leaves) {
        for val in &group.members {
            let lane = lanes.take(group, most).map(Place::Lane);
            of[val.index()] = lane.or_else(|| rows.take(group, u32::MAX).map(Place::Row));
        }
    }
    Places { of, taken: lanes.count, rows: rows.count }
}

//! Register pressure: the number of registers that values need at each point of a block.

use super::units::Units;
use crate::liveness::{Liveness, args_at_end, args_at_start};
use crate::mir::{BlockId, MachineFunction, RegisterClass, Val};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};

/// Numbers of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) scalars: u32,
    pub(super) vectors: u32,
}

impl Counts {
    fn add(&mut self, class: RegisterClass, count: u32) {
        match class {
            RegisterClass::Scalar => self.scalars += count,
            RegisterClass::Vector => self.vectors += count,
        }
    }

    /// The number of registers above a limit, for both classes together.
    pub(super) fn above(&self, limit: &Self) -> u32 {
        self.scalars.saturating_sub(limit.scalars) + self.vectors.saturating_sub(limit.vectors)
    }

    /// The larger count of each class.
    #[must_use]
    pub(super) fn most(self, other: Self) -> Self {
        Self { scalars: self.scalars.max(other.scalars), vectors: self.vectors.max(other.vectors) }
    }

    /// The sum of the counts of each class.
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { scalars: self.scalars + other.scalars, vectors: self.vectors + other.vectors }
    }
}

/// A value that a unit reads, and how often.
struct Read {
    val: Val,
    class: RegisterClass,
    times: u32,
}

/// The walk over a block.
pub(super) struct Pressure {
    /// By value: reads in this block that are still to come.
    left: List<u32>,
    /// By value: the number of the block for which `left` was counted.
    counted: List<u32>,
    /// By value: the number, from 1, of the last block after whose units it is still used.
    stays: List<u32>,
    /// By value: the number of the block in which it was last live.
    here: List<u32>,
    block: u32,
    /// Registers of live values.
    live: Counts,
    /// By unit: the values that it reads.
    reads: Kept<Rows<Read>>,
    defs: Kept<Rows<Val>>,
    /// By unit: the registers of its results that are used after it, and of all its results.
    made: List<[Counts; 2]>,
}

impl Pressure {
    pub(super) fn new(f: &MachineFunction) -> Self {
        let count = f.values.len();
        Self {
            left: filled(count, 0),
            counted: filled(count, 0),
            stays: filled(count, 0),
            here: filled(count, 0),
            block: 0,
            live: Counts::default(),
            reads: Kept::default(),
            defs: Kept::default(),
            made: List::default(),
        }
    }

    /// Goes to the start of a block.
    pub(super) fn begin(&mut self, f: &MachineFunction, live: &Liveness, id: BlockId, units: Units<'_>) {
        let block = f.block(id);
        // A new number each time, so that nothing needs to be cleared.
        self.block += 1;
        self.live = Counts::default();
        for val in live.live_out(f, id) {
            self.stays[val.index()] = self.block;
        }
        let tail = f.insts[block.tail as usize..block.insts.end as usize].iter().flat_map(|inst| f.uses(inst));
        for val in tail.chain(args_at_end(f, id)).filter_map(|one| one.as_val()) {
            self.stays[val.index()] = self.block;
        }
        self.count(f, units);
        let arguments = args_at_start(f, &live.logical, id).iter().filter_map(|one| one.as_val());
        let entry = f.entry.iter().filter(|_| id.0 == 0).filter_map(|entry| entry.val);
        let params = f.params_of(block).iter().copied();
        let start: List<Val> = live.live_in(id).chain(params).chain(entry).chain(arguments).collect();
        for &val in &start {
            let here = self.counted[val.index()] == self.block && self.left[val.index()] > 0;
            let used = here || self.stays[val.index()] == self.block;
            if used && self.here[val.index()] != self.block && !f.values[val.index()].variable {
                self.here[val.index()] = self.block;
                self.live.add(f.class(val), 1);
            }
        }
    }

    /// Counts reads, and what each unit makes.
    fn count(&mut self, f: &MachineFunction, units: Units<'_>) {
        self.reads.clear();
        self.defs.clear();
        self.made.clear();
        for unit in 0..units.len() {
            for inst in units.range(unit).map(|n| &f.insts[n as usize]) {
                let vals = f.defs(inst).iter().chain(f.uses(inst)).filter_map(|one| one.as_val());
                vals.for_each(|val| {
                    self.left[val.index()] = 0;
                    self.counted[val.index()] = self.block;
                });
            }
        }
        for unit in 0..units.len() {
            for inst in units.range(unit).map(|n| &f.insts[n as usize]) {
                for val in f.uses(inst).iter().filter_map(|one| one.as_val()) {
                    if f.values[val.index()].variable {
                        continue;
                    }
                    self.left[val.index()] += 1;
                    match self.reads.open_mut().iter_mut().find(|read| read.val == val) {
                        Some(read) => read.times += 1,
                        None => self.reads.add(Read { val, class: f.class(val), times: 1 }),
                    }
                }
            }
            self.reads.end();
        }
        for unit in 0..units.len() {
            let mut made = [Counts::default(); 2];
            for inst in units.range(unit).map(|n| &f.insts[n as usize]) {
                for val in f.defs(inst).iter().filter_map(|one| one.as_val()) {
                    if f.values[val.index()].variable {
                        continue;
                    }
                    let inside = self.reads.of(unit).iter().find(|read| read.val == val).map_or(0, |read| read.times);
                    let later = self.left[val.index()] > inside || self.stays[val.index()] == self.block;
                    made[0].add(f.class(val), u32::from(later));
                    made[1].add(f.class(val), 1);
                    self.defs.add(val);
                }
            }
            self.defs.end();
            self.made.push(made);
        }
    }

    /// By unit, whether a result of it is used after the units.
    pub(super) fn stays(&self, f: &MachineFunction, units: Units<'_>) -> List<bool> {
        let stays = |unit: usize| {
            let insts = units.range(unit).map(|n| &f.insts[n as usize]);
            let mut vals = insts.flat_map(|inst| f.defs(inst)).filter_map(|one| one.as_val());
            vals.any(|val| self.stays[val.index()] == self.block)
        };
        (0..units.len()).map(stays).collect()
    }

    /// Registers of the values that are live now.
    pub(super) fn live(&self) -> Counts {
        self.live
    }

    /// Registers of live values after a unit, and the most at once within it.
    fn with(&self, unit: usize) -> [Counts; 2] {
        let [later, all] = self.made[unit];
        let mut rest = self.live;
        for read in self.reads.of(unit) {
            let index = read.val.index();
            let ends = self.left[index] == read.times && self.stays[index] != self.block;
            if ends && self.here[index] == self.block {
                match read.class {
                    RegisterClass::Scalar => rest.scalars -= 1,
                    RegisterClass::Vector => rest.vectors -= 1,
                }
            }
        }
        [rest.plus(later), rest.plus(all)]
    }

    /// The number of registers above the limit that a unit needs, with `spare` ones added, and the number that is live
    /// after it; both are 0 if the limit is kept.
    pub(super) fn excess(&self, unit: usize, spare: Counts, limit: &Counts) -> (u32, u32) {
        let [_, all] = self.made[unit];
        // Values that the unit reads can only end, so usually there is nothing to count.
        if self.live.plus(all).plus(spare).above(limit) == 0 {
            return (0, 0);
        }
        let [after, within] = self.with(unit);
        match within.plus(spare).above(limit) {
            0 => (0, 0),
            above => (above, after.scalars + after.vectors),
        }
    }

    /// Goes past a unit; returns the most registers that are live at once within it.
    pub(super) fn pass(&mut self, unit: usize) -> Counts {
        let [after, within] = self.with(unit);
        self.reads.of(unit).iter().for_each(|read| self.left[read.val.index()] -= read.times);
        self.defs.of(unit).iter().for_each(|val| self.here[val.index()] = self.block);
        self.live = after;
        within
    }

    /// Goes past the first units in their order; returns the most registers that are live at once.
    pub(super) fn walk(&mut self, units: usize) -> Counts {
        (0..units).fold(self.live, |peak, unit| peak.most(self.pass(unit)))
    }
}

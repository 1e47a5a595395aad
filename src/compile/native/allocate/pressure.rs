//! Chooses the values to spill.
//!
//! It walks the code once and counts the registers that each instruction needs. If there are too few, it spills values
//! that are live there without being used, beginning with those that have the fewest definitions and uses for the
//! number of instructions over which they live; a definition or use weighs ten times as much for each loop around it. A
//! spilled value is in memory (or recomputed) everywhere, and in a register only where it is defined and around each
//! use.

use super::hints::Hints;
use crate::liveness::{Liveness, args_at_end};
use crate::mir::{
    BlockId, MachineFunction, MachineInst, Opcode, Operand, OperandValue, Pseudo, RegisterClass, Val, runs,
};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_isa::{Format, Op};
use smallvec::SmallVec;

/// Numbers of registers that values may have at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    pub(super) scalars: u32,
    pub(super) vectors: u32,
}

impl Goal {
    fn of(&self, class: RegisterClass) -> u32 {
        if class == RegisterClass::Scalar { self.scalars } else { self.vectors }
    }
}

/// The values that are spilled, and those among them that can be made again from a constant.
pub(super) struct Leaving {
    pub(super) leaves: List<bool>,
    /// By value: the constant that its only definition puts into it, if it does.
    pub(super) constant: List<Option<Operand>>,
}

/// The constant that an instruction puts into its only result.
pub(super) fn constant_of(f: &MachineFunction, inst: &MachineInst) -> Option<Operand> {
    let moves = match inst.op {
        Opcode::Pseudo(Pseudo::Copy) => true,
        Opcode::Isa(op) => matches!(op, Op::SMovB32 | Op::VMovB32) && !inst.tied,
        Opcode::Pseudo(_) => false,
    };
    match (f.defs(inst), f.uses(inst)) {
        ([_], [one]) if moves && matches!(one.what, OperandValue::Const(_) | OperandValue::Reloc(_)) => Some(*one),
        _ => None,
    }
}

/// Chooses the values of one class to spill, in addition to those already spilled.
pub(super) fn choose(
    f: &MachineFunction,
    live: &Liveness,
    class: RegisterClass,
    goal: Goal,
    exclusive: &[bool],
    leaving: &mut Leaving,
) {
    let hints = Hints::new(f);
    let mut it = Chooser {
        f,
        live,
        class,
        goal: goal.of(class),
        cost: filled(f.values.len(), 0.0),
        span: filled(f.values.len(), 1.0),
        stays: exclusive.iter().copied().collect(),
        last: filled(f.values.len(), (u32::MAX, 0)),
        here: Here { vals: List::default(), place: filled(f.values.len(), None) },
        leaving,
    };
    it.weigh();
    for id in f.block_ids() {
        it.block(id, &hints);
    }
}

struct Chooser<'a> {
    f: &'a MachineFunction,
    live: &'a Liveness,
    class: RegisterClass,
    goal: u32,
    /// By value: the weight of its definitions and uses.
    cost: List<f32>,
    /// By value: the number of instructions over which it lives, roughly.
    span: List<f32>,
    /// By value: whether it must not be spilled.
    stays: List<bool>,
    /// By value: the last visited block that uses it or that it is live out of, and the index of the last instruction
    /// there that uses it, or [`u32::MAX`] if it is live out.
    last: List<(u32, u32)>,
    /// Values of the class that are live and do not leave.
    here: Here,
    leaving: &'a mut Leaving,
}

/// A set of values from which each can be removed in constant time.
struct Here {
    vals: List<Val>,
    /// By value, its position in `vals`.
    place: List<Option<u32>>,
}

impl Here {
    fn has(&self, val: Val) -> bool {
        self.place[val.index()].is_some()
    }

    fn insert(&mut self, val: Val) {
        if !self.has(val) {
            self.place[val.index()] = Some(self.vals.len() as u32);
            self.vals.push(val);
        }
    }

    fn remove(&mut self, val: Val) {
        let Some(at) = self.place[val.index()].take() else { return };
        self.vals.swap_remove(at as usize);
        if let Some(moved) = self.vals.get(at as usize) {
            self.place[moved.index()] = Some(at);
        }
    }

    fn retain(&mut self, stays: impl Fn(Val) -> bool) {
        // Backwards, so that the value that takes a removed one's position has been looked at.
        for at in (0..self.vals.len()).rev() {
            let val = self.vals[at];
            if !stays(val) {
                self.remove(val);
            }
        }
    }
}

impl Chooser<'_> {
    fn weigh(&mut self) {
        let f = self.f;
        for id in f.block_ids() {
            let block = f.block(id);
            let weight = 10f32.powi(i32::from(block.depth.min(6)));
            let length = (block.insts.end - block.insts.start) as f32;
            for val in self.live.live_in(id).filter(|val| self.live.is_live_out(f, id, *val)) {
                self.span[val.index()] += length;
            }
            for (n, inst) in (0u32..).zip(f.insts_of(block)) {
                for val in f.defs(inst).iter().filter_map(|one| one.as_val()) {
                    let leaves = self.live.is_live_out(f, id, val);
                    self.cost[val.index()] += weight;
                    self.span[val.index()] += if leaves { length - n as f32 } else { 0.0 };
                }
                for val in f.uses(inst).iter().filter_map(|one| one.as_val()) {
                    self.cost[val.index()] += weight;
                    if !self.live.is_global(val) {
                        self.span[val.index()] += 1.0;
                    }
                }
                // In the tail EXEC has the lanes of a successor: spill code there would move values of the wrong lanes.
                if block.insts.start + n >= block.tail && self.class == RegisterClass::Vector {
                    let operands = f.defs(inst).iter().chain(f.uses(inst));
                    operands.filter_map(|one| one.as_val()).for_each(|val| self.stays[val.index()] = true);
                }
            }
            for edge in &block.edges {
                f.args(edge).iter().filter_map(|one| one.as_val()).for_each(|val| self.cost[val.index()] += weight);
            }
        }
    }

    fn counts(&self, val: Val) -> bool {
        // Variables have registers of their own.
        self.f.class(val) == self.class && !self.f.values[val.index()].variable
    }

    /// The values among these operands that take a register of the class at hand.
    fn counted<'o>(&self, operands: &'o [Operand]) -> impl Iterator<Item = Val> + use<'o, '_> {
        operands.iter().filter_map(|one| one.as_val()).filter(|val| self.counts(*val))
    }

    /// Adds a value, unless it has been chosen to leave.
    fn comes(&mut self, val: Val) {
        if !self.leaving.leaves[val.index()] {
            self.here.insert(val);
        }
    }

    fn block(&mut self, id: BlockId, hints: &Hints) {
        let f = self.f;
        let block = f.block(id);
        self.find_last_uses(id);
        let params = f.params_of(block).iter().copied().filter(|val| hints.is_used(*val));
        self.here.retain(|_| false);
        let live = self.live;
        for val in live.live_in(id).chain(params.clone()) {
            if self.counts(val) {
                self.comes(val);
            }
        }
        let params: List<Operand> = params.map(Operand::val).collect();
        self.fit(&params, 0);
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            if n == block.tail {
                self.fit_args(id);
            }
            let extra = self.extra(id, inst, n);
            self.fit(f.uses(inst), extra);
            let last = &self.last;
            if n == block.insts.start || n == block.tail {
                // Parameters without a use end at the start of the block, arguments of its edges at the tail.
                self.here.retain(|val| !dies(last, id, val, n));
            }
            let used = f.uses(inst).iter().filter_map(|one| one.as_val());
            used.filter(|val| dies(last, id, *val, n)).for_each(|val| self.here.remove(val));
            let defs: SmallVec<[Val; 16]> = self.counted(f.defs(inst)).collect();
            let undefined = f.defs(inst).iter().filter(|one| one.what == OperandValue::Undef).count() as u32;
            defs.iter().for_each(|val| self.comes(*val));
            self.fit(f.defs(inst), undefined);
            let last = &self.last;
            defs.iter().filter(|val| dies(last, id, **val, n)).for_each(|val| self.here.remove(*val));
        }
        if block.tail == block.insts.end {
            self.fit_args(id);
        }
    }

    fn find_last_uses(&mut self, id: BlockId) {
        let f = self.f;
        let block = f.block(id);
        let uses = (block.insts.start..).zip(f.insts_of(block)).map(|(n, inst)| (n, f.uses(inst)));
        let before = (block.tail - block.insts.start) as usize;
        let at_end = std::iter::once((block.tail, args_at_end(f, id)));
        for (n, operands) in uses.clone().take(before).chain(at_end).chain(uses.skip(before)) {
            operands.iter().filter_map(|one| one.as_val()).for_each(|val| self.last[val.index()] = (id.0, n));
        }
        self.live.live_out(f, id).for_each(|val| self.last[val.index()] = (id.0, u32::MAX));
    }

    /// Registers needed in addition to those of the values live before an instruction: results that must not be in the
    /// sources' registers, and runs of values that are also in another run.
    fn extra(&self, block: BlockId, inst: &MachineInst, n: u32) -> u32 {
        let f = self.f;
        let row = inst.isa().map(|op| f.isa.row(op));
        let vector = row.is_some_and(|row| row.format.is_short_vector() || row.format == Format::Vop3);
        let mut extra = 0;
        if vector && self.class == RegisterClass::Scalar && f.wave == WaveSize::W64 {
            extra += f.defs(inst).iter().filter_map(|one| one.as_val()).filter(|val| self.counts(*val)).count();
        }
        let tied = runs(f.uses(inst)).last().filter(|_| inst.tied).unwrap_or(&[]);
        let mine = f.defs(inst).first().and_then(|one| one.as_val()).is_some_and(|val| self.counts(val));
        let whole =
            tied.iter().all(|one| one.as_val().is_some_and(|val| self.counts(val) && dies(&self.last, block, val, n)));
        if mine && !whole {
            extra += tied.len();
        }
        let mut seen: SmallVec<[Val; 16]> = SmallVec::new();
        for run in runs(f.uses(inst)).filter(|run| run.len() > 1) {
            let vals = run.iter().filter_map(|one| one.as_val()).filter(|val| self.counts(*val));
            let again = vals.clone().any(|val| seen.contains(&val));
            seen.extend(vals);
            extra += if again { run.len() } else { run.iter().filter(|one| one.what == OperandValue::Undef).count() };
        }
        extra as u32
    }

    /// Spills values until the rest fits beside the arguments of the block's edges that are loaded at once: those in
    /// registers of their parameter's class.
    fn fit_args(&mut self, id: BlockId) {
        let f = self.f;
        let passed = f.block(id).edges.iter().flat_map(|edge| f.args(edge).iter().zip(f.params_of(f.block(edge.to))));
        let alike = |arg: &Operand, to: Val| arg.as_val().is_some_and(|val| f.class(val) == f.class(to));
        let args: List<Operand> = passed.filter(|(arg, to)| alike(arg, **to)).map(|(arg, _)| *arg).collect();
        self.fit(&args, 0);
    }

    /// Spills values until the rest fits beside these operands and `extra` registers more.
    fn fit(&mut self, operands: &[Operand], extra: u32) {
        let mut named: List<Val> = self.counted(operands).collect();
        named.sort_unstable();
        named.dedup();
        let absent = named.iter().filter(|val| !self.here.has(**val)).count();
        let needed = (self.here.vals.len() + absent) as u32 + extra;
        let Some(over) = needed.checked_sub(self.goal).filter(|over| *over > 0) else { return };
        let price = |val: Val| {
            let cheap = if self.leaving.constant[val.index()].is_some() { 0.25 } else { 1.0 };
            cheap * self.cost[val.index()] / self.span[val.index()]
        };
        let others = self.here.vals.iter().filter(|val| !self.stays[val.index()] && named.binary_search(val).is_err());
        let mut others: List<(f32, Val)> = others.map(|val| (price(*val), *val)).collect();
        let over = (over as usize).min(others.len());
        if over < others.len() {
            others.select_nth_unstable_by(over, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        for (_, val) in others.drain(..over) {
            self.leaving.leaves[val.index()] = true;
            self.here.remove(val);
        }
    }
}

/// Whether a block's instruction `n`, or one before it, is the last use of a value.
fn dies(last: &[(u32, u32)], block: BlockId, val: Val, n: u32) -> bool {
    let (used_in, at) = last[val.index()];
    used_in != block.0 || at <= n
}

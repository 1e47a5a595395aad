//! The code of spilled values: stores them, loads them, or computes them again.
//!
//! A scalar value goes to a lane of a vector register that no other value has: `v_writelane` and `v_readlane` ignore
//! EXEC. A vector value goes to scratch memory, one dword per lane, after the function's own variables. A constant is
//! materialized again. The result is ordinary machine IR, so later phases do not know about spilling.

use super::pressure::{Goal, Leaving, choose, constant_of};
use super::registers::RegisterLimits;
use super::slots::Spans;
use crate::liveness::Liveness;
use crate::mir::{
    BlockId, Edge, Extra, MachineBlock, MachineFunction, MachineInst, MachineValue, Opcode, Operand, OperandValue,
    PhysReg, Pseudo, RegisterClass, Val,
};
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Op;
use dovetail_isa::instruction::CachePolicy;
use smallvec::{SmallVec, smallvec};

/// A function with the stores and loads of its spilled values.
pub(super) struct Spilled {
    pub(super) function: MachineFunction,
    /// By instruction: the index of the old function's instruction that it stands for; `None` for inserted ones.
    pub(super) origin: List<Option<u32>>,
    /// Number of vector registers whose lanes hold scalar values: the highest below the limit.
    pub(super) lane_registers: u16,
}

/// Where a value is kept.
#[derive(Clone, Copy)]
enum Slot {
    Lane(PhysReg, u32),
    Scratch(u32),
    Constant(Operand),
}

/// Spills values until the goal is met, as far as possible.
pub(super) fn spill(
    f: &MachineFunction,
    live: &Liveness,
    exclusive: &[bool],
    goal: Goal,
    limits: RegisterLimits,
) -> Spilled {
    let mut leaving = Leaving { leaves: filled(f.values.len(), false), constant: filled(f.values.len(), None) };
    for inst in &f.insts {
        if let (Some(constant), [Operand { what: OperandValue::Val(val), .. }]) = (constant_of(f, inst), f.defs(inst)) {
            leaving.constant[val.index()] = Some(constant).filter(|_| !f.values[val.index()].variable);
        }
    }
    choose(f, live, RegisterClass::Scalar, goal, exclusive, &mut leaving);
    let lanes = f.wave.lanes();
    let spans = Spans::new(f, live);
    let places = |class, leaving: &Leaving| {
        spans.share(|val| f.values[val].class == class && leaving.leaves[val] && leaving.constant[val].is_none())
    };
    let scalars = places(RegisterClass::Scalar, &leaving);
    let lane_registers = scalars.count.div_ceil(lanes) as u16;
    let vectors = goal.vectors.saturating_sub(u32::from(lane_registers));
    choose(f, live, RegisterClass::Vector, Goal { vectors, ..goal }, exclusive, &mut leaving);
    let vectors = places(RegisterClass::Vector, &leaving);
    let first = f.scratch_bytes.next_multiple_of(4);
    let lane = |place: u32| {
        let number = limits.vgprs.saturating_sub(1 + (place / lanes) as u16);
        Slot::Lane(PhysReg::vgpr(number), place % lanes)
    };
    let slot = |val: usize| {
        let constant = leaving.constant[val].filter(|_| leaving.leaves[val]).map(Slot::Constant);
        let scratch = || vectors.of[val].map(|place| Slot::Scratch(first + 4 * place));
        constant.or_else(|| scalars.of[val].map(lane)).or_else(scratch)
    };
    let slots = (0..f.values.len()).map(slot).collect();
    let function = MachineFunction { params: f.params.clone(), ..f.without_code() };
    let mut it = Rewrite {
        f,
        slots,
        out: function,
        origin: List::default(),
        reloaded: List::default(),
        kept: List::default(),
        arriving: List::default(),
    };
    it.out.scratch_bytes = if vectors.count > 0 { first + 4 * vectors.count } else { f.scratch_bytes };
    for id in f.block_ids() {
        it.block(id);
    }
    Spilled { function: it.out, origin: it.origin, lane_registers }
}

struct Rewrite<'a> {
    f: &'a MachineFunction,
    slots: List<Option<Slot>>,
    out: MachineFunction,
    origin: List<Option<u32>>,
    /// Spilled values loaded for the instruction at hand, each with the new value that stands for it.
    reloaded: List<(Val, Val)>,
    /// The same, loaded before all lanes were turned on, for the code up to where they are turned off again.
    kept: List<(Val, Val)>,
    /// Parameters and entry values that are not stored yet.
    arriving: List<Val>,
}

impl Rewrite<'_> {
    fn block(&mut self, id: BlockId) {
        let f = self.f;
        let block = f.block(id);
        let start = self.out.insts.len() as u32;
        self.arriving.clear();
        self.arriving.extend_from_slice(f.params_of(block));
        if id.0 == 0 {
            self.arriving.extend(f.entry.iter().filter_map(|entry| entry.val));
        }
        let arrival = f.arrival(block);
        let (mut tail, mut edges) = (start, SmallVec::new());
        for n in block.insts.start..=block.insts.end {
            if n == arrival {
                let arriving = std::mem::take(&mut self.arriving);
                arriving.iter().for_each(|val| self.store(*val));
            }
            if n == block.tail {
                edges = self.edges(&block.edges);
                tail = self.out.insts.len() as u32;
            }
            if n < block.insts.end {
                self.instruction(n, &f.insts[n as usize]);
            }
        }
        let insts = start..self.out.insts.len() as u32;
        self.out.blocks.push(MachineBlock { insts, tail, edges, ..block.clone() });
    }

    /// Loads the spilled arguments of a block's edges, and returns the edges with the new arguments.
    fn edges(&mut self, edges: &[Edge]) -> SmallVec<[Edge; 2]> {
        let f = self.f;
        self.reloaded.clear();
        let each = edges.iter().map(|edge| {
            let params = f.params_of(f.block(edge.to));
            let args: List<Operand> = f.args(edge).iter().zip(params).map(|(arg, to)| self.pass(arg, *to)).collect();
            let start = self.out.operands.len() as u32;
            self.out.operands.extend_from_slice(&args);
            Edge { to: edge.to, args: start..self.out.operands.len() as u32 }
        });
        each.collect()
    }

    fn instruction(&mut self, n: u32, inst: &MachineInst) {
        let f = self.f;
        self.reloaded.clear();
        if f.writes_exec(inst) {
            self.kept.clear();
            if inst.turns_all_lanes_on() {
                self.keep(n);
            }
        }
        let uses: SmallVec<[Operand; 32]> = f.uses(inst).iter().map(|one| self.load(one)).collect();
        self.push(*inst, f.defs(inst), &uses, Some(n));
        for val in f.defs(inst).iter().filter_map(|one| one.as_val()) {
            self.store(val);
        }
    }

    /// Loads, before instruction `n` turns all lanes on, the spilled vector values that the code up to the next change
    /// of EXEC reads. Loaded after it, a value would overwrite its register in all lanes, where lanes that wait
    /// elsewhere may have other values.
    fn keep(&mut self, n: u32) {
        let f = self.f;
        let on = || f.insts[n as usize + 1..].iter().take_while(|inst| !f.writes_exec(inst));
        let made: List<Val> = on().flat_map(|inst| f.defs(inst)).filter_map(|one| one.as_val()).collect();
        for operand in on().flat_map(|inst| f.uses(inst)) {
            let Some(val) = operand.as_val().filter(|val| f.class(*val) == RegisterClass::Vector) else { continue };
            if made.contains(&val) || self.kept.iter().any(|(old, _)| *old == val) {
                continue;
            }
            match self.load(operand).what {
                OperandValue::Val(new) if new != val => self.kept.push((val, new)),
                _ => {}
            }
        }
    }

    /// The argument of a parameter in a register. If the argument is spilled and scalar and the parameter a vector
    /// value, it passes through one scalar register into a vector register, since a block may have more vector
    /// parameters than there are scalar registers.
    fn pass(&mut self, arg: &Operand, param: Val) -> Operand {
        let spilled = arg.as_val().filter(|val| self.slots[val.index()].is_some() && !self.arriving.contains(val));
        let Some(val) = spilled.filter(|val| self.f.class(*val) != self.f.class(param)) else { return self.load(arg) };
        let class = self.f.class(param);
        let known = self.reloaded.iter().find(|(old, new)| *old == val && self.out.class(*new) == class);
        let known = known.map(|(_, new)| *new);
        let new = known.unwrap_or_else(|| {
            let loaded = self.load(arg);
            let new = self.value(class);
            self.insert(Opcode::Pseudo(Pseudo::Copy), &[Operand::val(new)], &[loaded], false);
            self.reloaded.retain(|(old, _)| *old != val);
            self.reloaded.push((val, new));
            new
        });
        Operand { what: OperandValue::Val(new), ..*arg }
    }

    /// The operand in a register: a new value if it was spilled.
    fn load(&mut self, operand: &Operand) -> Operand {
        let Some((val, slot)) = operand.as_val().and_then(|val| Some((val, self.slots[val.index()]?))) else {
            return *operand;
        };
        if self.arriving.contains(&val) {
            return *operand;
        }
        let class = self.f.class(val);
        let mut known = self.kept.iter().chain(&self.reloaded);
        let known = known.find(|(old, new)| *old == val && self.out.class(*new) == class).map(|(_, new)| *new);
        let new = known.unwrap_or_else(|| {
            let new = self.value(class);
            self.reload(new, slot);
            self.reloaded.push((val, new));
            new
        });
        Operand { what: OperandValue::Val(new), ..*operand }
    }

    fn value(&mut self, class: RegisterClass) -> Val {
        self.out.values.push(MachineValue { class, variable: false });
        Val(self.out.values.len() as u32 - 1)
    }

    fn reload(&mut self, new: Val, slot: Slot) {
        match slot {
            Slot::Constant(constant) => {
                self.insert(Opcode::Pseudo(Pseudo::Copy), &[Operand::val(new)], &[constant], false)
            }
            Slot::Lane(reg, lane) => {
                let uses = [Operand::fixed(reg), Operand::constant(lane)];
                self.insert(Opcode::Isa(Op::VReadlaneB32), &[Operand::val(new)], &uses, false);
            }
            Slot::Scratch(offset) => {
                let (uses, extra) = self.address(offset);
                self.push(inst(Op::BufferLoadDword, extra), &[Operand::val(new)], &uses, None);
            }
        }
    }

    fn store(&mut self, val: Val) {
        match self.slots[val.index()] {
            Some(Slot::Lane(reg, lane)) => {
                let uses = [Operand::val(val), Operand::constant(lane), Operand::fixed(reg)];
                self.insert(Opcode::Isa(Op::VWritelaneB32), &[Operand::fixed(reg)], &uses, true);
            }
            Some(Slot::Scratch(offset)) => {
                let (mut uses, extra) = self.address(offset);
                uses.push(Operand::val(val));
                self.push(inst(Op::BufferStoreDword, extra), &[], &uses, None);
            }
            Some(Slot::Constant(_)) | None => {}
        }
    }

    /// Descriptor and scalar offset of a scratch dword; the rest of the offset is in the instruction. The hardware
    /// interleaves the lanes by the instruction's offset, but not by the scalar offset of a descriptor, which therefore
    /// counts the bytes of all lanes.
    fn address(&mut self, offset: u32) -> (SmallVec<[Operand; 4]>, Extra) {
        let most = self.f.isa.limits.buffer_offset;
        let (far, offset) = (offset & !most, offset & most);
        // Scratch memory of a size that overflows here is refused.
        let far = far.wrapping_mul(self.f.isa.facts().scratch.scalar_unit(self.f.wave));
        let scalar = if far == 0 {
            Operand::constant(0)
        } else {
            let val = self.value(RegisterClass::Scalar);
            self.insert(Opcode::Pseudo(Pseudo::Copy), &[Operand::val(val)], &[Operand::constant(far)], false);
            Operand::val(val)
        };
        let extra = Extra::Buffer { offset, idxen: false, offen: false, format: None, cache: CachePolicy::default() };
        (smallvec![Operand::fixed(PhysReg::SCRATCH), scalar], extra)
    }

    fn insert(&mut self, op: Opcode, defs: &[Operand], uses: &[Operand], tied: bool) {
        self.push(MachineInst { op, operands: 0, defs: 0, uses: 0, tied, extra: Extra::None }, defs, uses, None);
    }

    fn push(&mut self, inst: MachineInst, defs: &[Operand], uses: &[Operand], origin: Option<u32>) {
        let operands = self.out.operands.len() as u32;
        self.out.operands.extend_from_slice(defs);
        self.out.operands.extend_from_slice(uses);
        self.out.insts.push(MachineInst { operands, defs: defs.len() as u8, uses: uses.len() as u8, ..inst });
        self.origin.push(origin);
    }
}

fn inst(op: Op, extra: Extra) -> MachineInst {
    MachineInst { op: Opcode::Isa(op), operands: 0, defs: 0, uses: 0, tied: false, extra }
}

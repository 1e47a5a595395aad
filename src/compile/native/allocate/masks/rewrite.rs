//! The code of masks that have left their registers.
//!
//! `v_writelane` and `v_readlane` ignore EXEC, so they may stand in tails and in whole-wave code, and a lane keeps its
//! content whichever lanes are active. Scratch memory is reached through the first lane of a vector register; EXEC is
//! set to that lane alone for the access, and then restored.

use super::Slot;
use crate::mir::{
    BlockId, Edge, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo,
    RegisterClass, Val, run_of,
};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::List;
use dovetail_isa::Op;
use dovetail_isa::instruction::CachePolicy;
use smallvec::SmallVec;

pub(super) struct Rewrite<'a> {
    f: &'a MachineFunction,
    /// By value: where it is kept, if it has left its register.
    slots: List<Option<Slot>>,
    /// The vector register whose first lane masks pass through on the way to and from scratch memory.
    window: PhysReg,
    pub(super) out: MachineFunction,
    pub(super) origin: List<Option<u32>>,
    /// Values read back for the instruction at hand, each with the new value that stands for it.
    loaded: List<(Val, Val)>,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(f: &'a MachineFunction, slots: List<Option<Slot>>, window: PhysReg) -> Self {
        Self { f, slots, window, out: f.without_code(), origin: List::default(), loaded: List::default() }
    }

    pub(super) fn block(&mut self, id: BlockId) {
        let f = self.f;
        let block = f.block(id);
        let start = self.out.insts.len() as u32;
        let (mut tail, mut edges) = (start, SmallVec::new());
        for n in block.insts.start..=block.insts.end {
            if n == block.tail {
                edges = self.edges(&block.edges);
                tail = self.out.insts.len() as u32;
            }
            if n < block.insts.end {
                self.instruction(n, &f.insts[n as usize]);
            }
        }
        let params = self.out.params.len() as u32;
        let slots = &self.slots;
        self.out.params.extend(f.params_of(block).iter().filter(|val| slots[val.index()].is_none()));
        let params = params..self.out.params.len() as u32;
        let insts = start..self.out.insts.len() as u32;
        self.out.blocks.push(MachineBlock { params, insts, tail, edges, ..block.clone() });
    }

    /// Stores the arguments of parameters that have left, and returns the edges without them. All arguments are read
    /// before one is stored: a parameter may be the argument of another.
    fn edges(&mut self, edges: &[Edge]) -> SmallVec<[Edge; 2]> {
        let f = self.f;
        self.loaded.clear();
        let (mut made, mut written) = (SmallVec::new(), List::<(Val, Operand)>::default());
        for edge in edges {
            let mut args = List::<Operand>::default();
            for (arg, param) in f.args(edge).iter().zip(f.params_of(f.block(edge.to))) {
                let arg = self.load(arg);
                if self.slots[param.index()].is_some() { written.push((*param, arg)) } else { args.push(arg) }
            }
            let start = self.out.operands.len() as u32;
            self.out.operands.extend_from_slice(&args);
            made.push(Edge { to: edge.to, args: start..self.out.operands.len() as u32 });
        }
        for (param, arg) in &written {
            self.store(*param, arg.what);
        }
        made
    }

    fn instruction(&mut self, n: u32, inst: &MachineInst) {
        let f = self.f;
        self.loaded.clear();
        let uses: SmallVec<[Operand; 32]> = f.uses(inst).iter().map(|one| self.load(one)).collect();
        let mut made = SmallVec::<[(Val, OperandValue); 4]>::new();
        let define = |one: &Operand| match one.as_val().filter(|val| self.slots[val.index()].is_some()) {
            Some(val) => {
                let what = OperandValue::Val(self.out.value(RegisterClass::Scalar));
                made.push((val, what));
                Operand { what, ..*one }
            }
            None => *one,
        };
        let defs: SmallVec<[Operand; 8]> = f.defs(inst).iter().map(define).collect();
        self.push(*inst, &defs, &uses, Some(n));
        for (val, new) in made {
            self.store(val, new);
        }
    }

    /// The operand in a register: a new value if it has left.
    fn load(&mut self, operand: &Operand) -> Operand {
        let Some((val, slot)) = operand.as_val().and_then(|val| Some((val, self.slots[val.index()]?))) else {
            return *operand;
        };
        let known = self.loaded.iter().find(|(old, _)| *old == val).map(|(_, new)| *new);
        let new = known.unwrap_or_else(|| {
            let (reg, lane) = match slot {
                Slot::Lane(reg, lane) => (reg, lane),
                Slot::Scratch(offset) => {
                    self.access(Op::BufferLoadDword, offset);
                    (self.window, 0)
                }
            };
            let new = self.out.value(RegisterClass::Scalar);
            let uses = [Operand::fixed(reg), Operand::constant(lane)];
            self.insert(Op::VReadlaneB32, &[Operand::val(new)], &uses, false);
            self.loaded.push((val, new));
            new
        });
        Operand { what: OperandValue::Val(new), ..*operand }
    }

    /// Puts the new content of a value into its slot.
    fn store(&mut self, val: Val, from: OperandValue) {
        let Some(slot) = self.slots[val.index()] else { return };
        let from = match from {
            OperandValue::Undef => return,
            OperandValue::Val(from) => from,
            other => self.copy(other),
        };
        let (reg, lane) = match slot {
            Slot::Lane(reg, lane) => (reg, lane),
            Slot::Scratch(_) => (self.window, 0),
        };
        let uses = [Operand::val(from), Operand::constant(lane), Operand::fixed(reg)];
        self.insert(Op::VWritelaneB32, &[Operand::fixed(reg)], &uses, true);
        if let Slot::Scratch(offset) = slot {
            self.access(Op::BufferStoreDword, offset);
        }
    }

    /// Loads the window from scratch memory, or stores it there, in the first lane.
    fn access(&mut self, op: Op, offset: u32) {
        let mov = if self.f.wave == WaveSize::W32 { Op::SMovB32 } else { Op::SMovB64 };
        let exec = [Operand::fixed(PhysReg::EXEC)];
        let most = self.f.isa.limits.buffer_offset;
        let unit = self.f.isa.facts().scratch.scalar_unit(self.f.wave);
        let far = match (offset & !most).wrapping_mul(unit) {
            0 => Operand::constant(0),
            far => Operand::val(self.copy(OperandValue::Const(far))),
        };
        let saved = (0..self.f.wave.lanes() / 32).map(|_| self.out.value(RegisterClass::Scalar));
        let saved: SmallVec<[OperandValue; 2]> = saved.map(OperandValue::Val).collect();
        let saved: SmallVec<[Operand; 2]> = run_of(saved.into_iter()).collect();
        self.insert(mov, &saved, &exec, false);
        self.insert(mov, &exec, &[Operand::constant(1)], false);
        let offset = offset & most;
        let extra = Extra::Buffer { offset, idxen: false, offen: false, format: None, cache: CachePolicy::default() };
        let (window, scratch) = (Operand::fixed(self.window), Operand::fixed(PhysReg::SCRATCH));
        let inst = MachineInst { extra, ..inserted(Opcode::Isa(op), false) };
        match op {
            Op::BufferLoadDword => self.push(inst, &[window], &[scratch, far], None),
            _ => self.push(inst, &[], &[scratch, far, window], None),
        }
        self.insert(mov, &exec, &saved, false);
    }

    fn copy(&mut self, from: OperandValue) -> Val {
        let new = self.out.value(RegisterClass::Scalar);
        self.push(inserted(Opcode::Pseudo(Pseudo::Copy), false), &[Operand::val(new)], &[Operand::one(from)], None);
        new
    }

    fn insert(&mut self, op: Op, defs: &[Operand], uses: &[Operand], tied: bool) {
        self.push(inserted(Opcode::Isa(op), tied), defs, uses, None);
    }

    fn push(&mut self, inst: MachineInst, defs: &[Operand], uses: &[Operand], origin: Option<u32>) {
        let operands = self.out.operands.len() as u32;
        self.out.operands.extend_from_slice(defs);
        self.out.operands.extend_from_slice(uses);
        self.out.insts.push(MachineInst { operands, defs: defs.len() as u8, uses: uses.len() as u8, ..inst });
        self.origin.push(origin);
    }
}

fn inserted(op: Opcode, tied: bool) -> MachineInst {
    MachineInst { op, operands: 0, defs: 0, uses: 0, tied, extra: Extra::None }
}

//! Functions of one block, for tests of passes.

use crate::mir::{
    Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, RegisterClass, Term, Val, run_of,
};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_isa::Isa;
use dovetail_isa::Op;

/// Writes a function of one block.
pub struct Writer(pub MachineFunction);

impl Writer {
    pub fn new() -> Self {
        Self(MachineFunction::new(Isa::of(Gpu::Gfx1030), Stage::Compute, WaveSize::W32))
    }

    pub fn push(&mut self, op: Op, def: Option<RegisterClass>, uses: &[Operand], extra: Extra) -> Val {
        let f = &mut self.0;
        let operands = f.operands.len() as u32;
        let val = def.map(|class| f.value(class));
        f.operands.extend(val.map(Operand::val));
        f.operands.extend_from_slice(uses);
        let (defs, uses) = (u8::from(val.is_some()), uses.len() as u8);
        f.insts.push(MachineInst { op: Opcode::Isa(op), operands, defs, uses, tied: false, extra });
        val.unwrap_or(Val(0))
    }

    /// An instruction with a run of results.
    pub fn push_run(&mut self, op: Op, class: RegisterClass, count: u8, uses: &[Operand], extra: Extra) -> Vec<Val> {
        let f = &mut self.0;
        let operands = f.operands.len() as u32;
        let vals: Vec<Val> = (0..count).map(|_| f.value(class)).collect();
        f.operands.extend(run_of(vals.iter().map(|val| OperandValue::Val(*val))));
        f.operands.extend_from_slice(uses);
        let uses = uses.len() as u8;
        f.insts.push(MachineInst { op: Opcode::Isa(op), operands, defs: count, uses, tied: false, extra });
        vals
    }

    /// A vector operation of two sources.
    pub fn v(&mut self, op: Op, a: Operand, b: Operand) -> Val {
        self.push(op, Some(RegisterClass::Vector), &[a, b], Extra::None)
    }

    pub fn load(&mut self, address: Val, offset: u8) -> Val {
        let extra = Extra::Ds { offsets: [offset, 0] };
        self.push(Op::DsReadB32, Some(RegisterClass::Vector), &[Operand::val(address)], extra)
    }

    pub fn store(&mut self, address: Val, value: Val, offset: u8) {
        let extra = Extra::Ds { offsets: [offset, 0] };
        self.push(Op::DsWriteB32, None, &[Operand::val(address), Operand::val(value)], extra);
    }

    pub fn add(&mut self, a: Val, b: Val) -> Val {
        self.push(Op::VAddNcU32, Some(RegisterClass::Vector), &[Operand::val(a), Operand::val(b)], Extra::None)
    }

    pub fn done(mut self) -> MachineFunction {
        let end = self.0.insts.len() as u32;
        self.0.blocks.push(MachineBlock {
            params: 0..0,
            insts: 0..end,
            tail: end,
            edges: Default::default(),
            term: Term::End,
            depth: 0,
        });
        self.0
    }
}

//! The code that allocation writes: instructions in physical form, each with the original that it stands for.

use crate::mir::{Extra, MachineInst, Opcode, Operand, PhysReg};
use dovetail_base::workspace::List;
use dovetail_isa::Op;

/// Instructions written so far.
#[derive(Debug, Default)]
pub struct Output {
    /// Instructions.
    pub insts: List<MachineInst>,
    /// Their operands.
    pub operands: List<Operand>,
    /// For each instruction the index of the original one; `None` for an inserted one.
    pub origin: List<Option<u32>>,
}

impl Output {
    /// Number of instructions: the index of the next one.
    pub fn here(&self) -> u32 {
        self.insts.len() as u32
    }

    /// Writes an instruction; `operands` are its operands, definitions first.
    pub fn push(&mut self, inst: MachineInst, operands: &[Operand], origin: Option<u32>) {
        self.insts.push(MachineInst { operands: self.operands.len() as u32, ..inst });
        self.operands.extend_from_slice(operands);
        self.origin.push(origin);
    }

    /// Writes an inserted instruction with one definition and single sources.
    pub fn insert(&mut self, op: Op, def: &[Operand], uses: &[Operand], tied: bool) {
        let start = self.operands.len() as u32;
        let inst = MachineInst {
            op: Opcode::Isa(op),
            operands: start,
            defs: def.len() as u8,
            uses: uses.len() as u8,
            tied,
            extra: Extra::None,
        };
        self.insts.push(inst);
        self.operands.extend_from_slice(def);
        self.operands.extend_from_slice(uses);
        self.origin.push(None);
    }
}

/// A register as the operands of a run.
pub fn fixed_pair(reg: PhysReg) -> [Operand; 2] {
    let head = Operand { run: 2, ..Operand::fixed(reg) };
    [head, Operand { run: 0, ..Operand::fixed(reg.nth(1)) }]
}

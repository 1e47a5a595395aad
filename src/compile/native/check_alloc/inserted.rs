//! Checks instructions that the allocator inserted: they may only move values.

use super::held::HeldValue;
use super::state::{PointState, StorageLocation};
use super::{Check, reg_of};
use crate::mir::{Extra, MachineBlock, MachineInst, Opcode, Operand, OperandValue, PhysReg, RegisterClass};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::Op;

impl Check<'_> {
    /// Executes the inserted instruction at `at`; returns how many instructions this consumed.
    pub(super) fn inserted(
        &self,
        at: u32,
        block: &MachineBlock,
        state: &mut PointState,
        scc_spoilt: &mut bool,
    ) -> Result<u32> {
        let f = self.after;
        let inst = &f.insts[at as usize];
        let op = inst.isa().ok_or_else(|| Error::bug("an inserted pseudo-instruction"))?;
        let (defs, uses) = (f.defs(inst), f.uses(inst));
        if self.first_lane(inst, op, state)? || self.memory(inst, op, at < block.tail, state)? {
            return Ok(1);
        }
        let registers: Option<Vec<PhysReg>> = defs.iter().map(reg_of).collect();
        let defs = registers.ok_or_else(|| Error::bug("an inserted instruction that defines no register"))?;
        if let Some(reg) = defs.iter().find(|reg| !self.writable(**reg)) {
            return Err(Error::bug(format!("an inserted instruction writes {reg}")));
        }
        let vector = defs.iter().any(|reg| reg.as_vgpr().is_some());
        if vector && (at >= block.tail || state.one_lane) {
            return Err(Error::bug("a vector move where EXEC is not that of the block"));
        }
        defs.iter().for_each(|reg| state.overwrite_lanes(*reg));
        match (op, &defs[..], uses) {
            (Op::SMovB32, [to], [from]) if !vector => state.set(StorageLocation::reg(*to), content(state, from)),
            (Op::VMovB32, [to], [from]) if vector => state.set(StorageLocation::reg(*to), content(state, from)),
            (Op::SMovB64, [to, high], [from, from_high]) => {
                let aligned = to.0 % 2 == 0 && to.nth(1) == *high;
                let source = reg_of(from).filter(|reg| reg.0 % 2 == 0).map(|reg| reg.nth(1));
                if vector || !aligned || source.is_none() || source != reg_of(from_high) {
                    return Err(Error::bug("a move of a pair that is none"));
                }
                let contents = [content(state, from), content(state, from_high)];
                [to, high]
                    .into_iter()
                    .zip(contents)
                    .for_each(|(to, content)| state.set(StorageLocation::reg(*to), content));
            }
            (Op::VSwapB32, [a], [b, _]) if vector => exchange(state, *a, b)?,
            (Op::SXorB32, [a], [_, b]) if !vector => {
                self.is_exchange(at, block)?;
                exchange(state, *a, b)?;
                *scc_spoilt = true;
                return Ok(3);
            }
            _ => return Err(Error::bug("an inserted instruction that is no move")),
        }
        Ok(1)
    }

    /// Executes a step of an access to memory for the first lane alone, which scalar values pass through: EXEC is saved, set to
    /// that lane, and restored after the access. Returns whether the instruction is one.
    fn first_lane(&self, inst: &MachineInst, op: Op, state: &mut PointState) -> Result<bool> {
        let f = self.after;
        if f.scratch_bytes == self.before.scratch_bytes {
            return Ok(false);
        }
        let mov = if f.wave == WaveSize::W32 { Op::SMovB32 } else { Op::SMovB64 };
        let exec = |one: &Operand| reg_of(one) == Some(PhysReg::EXEC);
        match (f.defs(inst), f.uses(inst)) {
            (saved, [one]) if op == mov && exec(one) && !state.one_lane => {
                let registers: Option<Vec<PhysReg>> = saved.iter().map(reg_of).collect();
                let registers = registers.filter(|all| all.len() as u32 == f.wave.lanes() / 32);
                let registers = registers.filter(|all| all.iter().all(|reg| self.allowed(*reg, RegisterClass::Scalar)));
                let registers = registers.ok_or_else(|| Error::bug("EXEC is saved in part, or nowhere"))?;
                state.forget_exec();
                for (n, reg) in (0..).zip(registers) {
                    let names = state.at(StorageLocation::reg(PhysReg::EXEC.nth(n))).to_vec();
                    state.set(StorageLocation::reg(reg), names);
                    state.add(StorageLocation::reg(reg), HeldValue::Exec);
                }
            }
            ([one], [to]) if op == mov && exec(one) && to.what == OperandValue::Const(1) && !state.one_lane => {
                state.one_lane = true;
            }
            ([one], saved) if op == mov && exec(one) => {
                let held = |one: &Operand| {
                    reg_of(one).is_some_and(|reg| state.holds(StorageLocation::reg(reg), HeldValue::Exec))
                };
                if !state.one_lane || saved.len() as u32 != f.wave.lanes() / 32 || !saved.iter().all(held) {
                    return Err(Error::bug("EXEC becomes something else"));
                }
                state.one_lane = false;
                state.forget_exec();
            }
            ([], [descriptor, far, from]) if op == Op::BufferStoreDword && state.one_lane => {
                let offset = self.scratch(inst, descriptor, far, state)?;
                let content = reg_of(from).map(|reg| state.at(StorageLocation::lane(reg, 0)).to_vec());
                state.set(StorageLocation::scratch(offset), Vec::new());
                state.set(StorageLocation::first_lane(offset), content.unwrap_or_default());
            }
            ([to], [descriptor, far]) if op == Op::BufferLoadDword && state.one_lane => {
                let offset = self.scratch(inst, descriptor, far, state)?;
                let to = reg_of(to).filter(|to| self.allowed(*to, RegisterClass::Vector));
                let to = to.ok_or_else(|| Error::bug("a load to no register"))?;
                let content = state.at(StorageLocation::first_lane(offset)).to_vec();
                state.set(StorageLocation::reg(to), Vec::new());
                state.set(StorageLocation::lane(to, 0), content);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes a move to or from memory or a lane; returns whether the instruction is one.
    fn memory(&self, inst: &MachineInst, op: Op, before_tail: bool, state: &mut PointState) -> Result<bool> {
        let f = self.after;
        match (op, f.defs(inst), f.uses(inst)) {
            (Op::VWritelaneB32, [to], [from, lane, old]) => {
                let (Some(reg), OperandValue::Const(lane), true) = (reg_of(to), lane.what, to.what == old.what) else {
                    return Err(Error::bug("a lane that is not known"));
                };
                let content = content(state, from);
                if !self.allowed(reg, RegisterClass::Vector) || lane >= f.wave.lanes() {
                    return Err(Error::bug(format!("a lane of {reg}")));
                }
                state.set(StorageLocation::reg(reg), Vec::new());
                state.set(StorageLocation::lane(reg, lane), content);
            }
            (Op::VReadlaneB32, [to], [from, lane]) => {
                let (Some(to), Some(from), OperandValue::Const(lane)) = (reg_of(to), reg_of(from), lane.what) else {
                    return Err(Error::bug("a lane that is not known"));
                };
                if !self.allowed(to, RegisterClass::Scalar) {
                    return Err(Error::bug(format!("a lane goes to {to}")));
                }
                let content = state.at(StorageLocation::lane(from, lane)).to_vec();
                state.set(StorageLocation::reg(to), content);
            }
            (Op::BufferStoreDword | Op::BufferLoadDword, ..) if !before_tail => {
                return Err(Error::bug("an access to memory where EXEC is that of a successor"));
            }
            (Op::BufferStoreDword, [], [descriptor, far, from]) => {
                let offset = self.scratch(inst, descriptor, far, state)?;
                let content = content(state, from);
                state.set(StorageLocation::first_lane(offset), Vec::new());
                state.set(StorageLocation::scratch(offset), content);
            }
            (Op::BufferLoadDword, [to], [descriptor, far]) => {
                let spot = StorageLocation::scratch(self.scratch(inst, descriptor, far, state)?);
                let to = reg_of(to).filter(|to| self.allowed(*to, RegisterClass::Vector));
                let to = to.ok_or_else(|| Error::bug("a load to no register"))?;
                let content = state.at(spot).to_vec();
                state.overwrite_lanes(to);
                state.set(StorageLocation::reg(to), content);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The scratch dword that an inserted access addresses: it must be above the function's own scratch and within the
    /// requested size.
    fn scratch(&self, inst: &MachineInst, descriptor: &Operand, far: &Operand, state: &PointState) -> Result<u32> {
        let far = match far.what {
            OperandValue::Const(bits) => Some(bits),
            OperandValue::Fixed(reg) => state.at(StorageLocation::reg(reg)).iter().find_map(|name| match name {
                HeldValue::Const(bits) => Some(*bits),
                _ => None,
            }),
            _ => None,
        };
        let Extra::Buffer { offset, idxen: false, offen: false, format: None, .. } = inst.extra else {
            return Err(Error::bug("an inserted access that is indexed"));
        };
        let unit = self.before.isa.facts().scratch.scalar_unit(self.before.wave);
        let offset = far.filter(|far| far.is_multiple_of(unit)).map(|far| far / unit + offset);
        let own = offset.filter(|at| *at >= self.before.scratch_bytes && at + 4 <= self.after.scratch_bytes);
        match own {
            Some(offset) if reg_of(descriptor) == Some(PhysReg::SCRATCH) => Ok(offset),
            _ => Err(Error::bug(format!("an inserted access to memory at {offset:?}"))),
        }
    }

    /// Whether moves may write a register: registers of values, and M0, which original copies may name.
    fn writable(&self, reg: PhysReg) -> bool {
        self.allowed(reg, super::super::allocate::class_of(reg)) || reg == PhysReg::M0
    }

    /// Three exclusive ors that exchange two registers.
    fn is_exchange(&self, at: u32, block: &MachineBlock) -> Result<()> {
        let regs = |n: u32| {
            let inst: &MachineInst = self.after.insts.get((at + n) as usize).filter(|_| at + n < block.insts.end)?;
            let inserted = self.origin[(at + n) as usize].is_none() && inst.op == Opcode::Isa(Op::SXorB32);
            match (self.after.defs(inst), self.after.uses(inst)) {
                ([d], [a, b]) if inserted => Some((reg_of(d)?, reg_of(a)?, reg_of(b)?)),
                _ => None,
            }
        };
        match (regs(0), regs(1), regs(2)) {
            (Some((a, x, b)), Some(second), Some(third)) if a == x && second == (b, b, a) && third == (a, a, b) => {
                Ok(())
            }
            _ => Err(Error::bug("an inserted exclusive or that is no exchange")),
        }
    }
}

/// The contents of a move's source.
fn content(state: &PointState, from: &Operand) -> Vec<HeldValue> {
    match (reg_of(from), HeldValue::of(from)) {
        (Some(reg), _) => state.at(StorageLocation::reg(reg)).to_vec(),
        (None, Some(name)) => state.constant(name),
        (None, None) => Vec::new(),
    }
}

fn exchange(state: &mut PointState, a: PhysReg, b: &Operand) -> Result<()> {
    let b = reg_of(b).ok_or_else(|| Error::bug("an exchange with no register"))?;
    let (of_a, of_b) = (state.at(StorageLocation::reg(a)).to_vec(), state.at(StorageLocation::reg(b)).to_vec());
    state.set(StorageLocation::reg(a), of_b);
    state.set(StorageLocation::reg(b), of_a);
    Ok(())
}

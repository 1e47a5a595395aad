//! Checks original instructions: the contents of the registers that they read, and their effect on those that they
//! write.

use super::held::HeldValue;
use super::state::{PointState, StorageLocation};
use super::{Check, reg_of, same_form};
use crate::allocate::class_of;
use crate::mir::classes::{Wants, alignment};
use crate::mir::{MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo, Val, runs};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::{Format, OperandKind, Traits};

impl Check<'_> {
    /// Checks an instruction in the state before it.
    pub(super) fn judge(
        &self,
        before: &MachineInst,
        after: &MachineInst,
        state: &PointState,
        scc_spoilt: bool,
    ) -> Result<()> {
        let (b, a) = (self.before, self.after);
        if !same_form(before, after) {
            return Err(Error::bug("an instruction became another"));
        }
        if scc_spoilt && before.is(b.isa, Traits::SCC_IN) {
            return Err(Error::bug("SCC was overwritten"));
        }
        if before.is(b.isa, Traits::VCC_IN) && !state.holds(StorageLocation::reg(PhysReg::VCC), HeldValue::Fixed) {
            return Err(Error::bug("VCC was overwritten"));
        }
        let count = runs(b.uses(before)).count();
        for (n, (old, new)) in runs(b.uses(before)).zip(runs(a.uses(after))).enumerate() {
            self.judge_run(old, new, b.use_wants(before, n, count))?;
            let tied = before.tied && n + 1 == count;
            for (old, new) in old.iter().zip(new) {
                self.judge_use(old, new, state, tied)?;
            }
        }
        let mut written: Vec<PhysReg> = Vec::new();
        for (n, (old, new)) in runs(b.defs(before)).zip(runs(a.defs(after))).enumerate() {
            self.judge_run(old, new, b.def_wants(before, n))?;
            for (old, new) in old.iter().zip(new) {
                match (old.what, reg_of(new)) {
                    (OperandValue::Fixed(reg), Some(new)) if reg == new => {}
                    (OperandValue::Val(_) | OperandValue::Undef, Some(new)) if self.allowed(new, class_of(new)) => {}
                    _ => return Err(Error::bug("a definition without a register")),
                }
                written.extend(reg_of(new));
            }
        }
        if (1..written.len()).any(|n| written[..n].contains(&written[n])) {
            return Err(Error::bug("two definitions in one register"));
        }
        let untied = runs(a.uses(after)).take(count - usize::from(before.tied)).flatten();
        if before.writes_early(b.isa) && untied.filter_map(reg_of).any(|reg| written.contains(&reg)) {
            return Err(Error::bug("an instruction overwrites what it reads later"));
        }
        self.judge_tied(after)?;
        self.judge_halves(before, after)
    }

    /// Checks the shape of a run: consecutive registers of one class with the right alignment.
    fn judge_run(&self, old: &[Operand], new: &[Operand], wants: Wants) -> Result<()> {
        let [head, ..] = new else { return Err(Error::bug("an empty run")) };
        let Some(first) = reg_of(head) else { return Ok(()) };
        let class = class_of(first);
        let names = old.iter().all(|one| matches!(one.what, OperandValue::Fixed(_)));
        let number = first.as_vgpr().unwrap_or(first.0);
        let follow = (0..).zip(new).all(|(k, one)| reg_of(one) == Some(first.nth(k)));
        let legal = names || new.iter().filter_map(reg_of).all(|reg| self.allowed(reg, class));
        let classes =
            old.iter().filter_map(|one| one.as_val()).all(|val| self.before.class(val) == class || wants == Wants::Any);
        let aligned = number.is_multiple_of(alignment(class, new.len()));
        if old.len() == new.len() && follow && aligned && legal && classes && (wants.takes(class) || names) {
            return Ok(());
        }
        Err(Error::bug(format!("a run of {} at {first}: aligned {aligned}, legal {legal}, class {classes}", new.len())))
    }

    fn judge_use(&self, old: &Operand, new: &Operand, state: &PointState, tied: bool) -> Result<()> {
        let fits = match (old.what, reg_of(new)) {
            (OperandValue::Undef, Some(_)) => true,
            (OperandValue::Fixed(reg), Some(new)) => {
                let vcc = reg == PhysReg::VCC || reg == PhysReg::VCC.nth(1);
                reg == new && (!vcc || state.holds(StorageLocation::reg(reg), HeldValue::Fixed))
            }
            (OperandValue::Val(val), Some(new)) => {
                let class = tied || class_of(new) == self.before.class(val);
                class && self.holds(state, new, HeldValue::Val(val))
            }
            (_, Some(new)) => tied && HeldValue::of(old).is_some_and(|name| self.holds(state, new, name)),
            (what, None) => what == new.what,
        };
        if fits {
            return Ok(());
        }
        let held = reg_of(new).map(|reg| state.at(StorageLocation::reg(reg)));
        Err(Error::bug(format!("{:?} is read in {:?}, which holds {held:?}", old.what, new.what)))
    }

    /// Whether a register contains this value, or the constant that it is.
    fn holds(&self, state: &PointState, reg: PhysReg, name: HeldValue) -> bool {
        let constant = if let HeldValue::Val(val) = name { self.constants[val.index()] } else { None };
        state.holds(StorageLocation::reg(reg), name)
            || constant.is_some_and(|constant| state.holds(StorageLocation::reg(reg), constant))
    }

    fn judge_tied(&self, after: &MachineInst) -> Result<()> {
        let f = self.after;
        let (Some(def), Some(tied)) = (runs(f.defs(after)).next(), runs(f.uses(after)).last()) else { return Ok(()) };
        let apart = def.iter().zip(tied).any(|(def, tied)| def.what != tied.what);
        if after.tied && apart {
            return Err(Error::bug("a tied operand in other registers than the result"));
        }
        Ok(())
    }

    /// In wave64, half of the lanes reads scalar sources after the other half has written a scalar result.
    fn judge_halves(&self, before: &MachineInst, after: &MachineInst) -> Result<()> {
        let f = self.after;
        let Some(row) = before.isa().map(|op| f.isa.row(op)) else { return Ok(()) };
        let vector = row.format.is_short_vector() || matches!(row.format, Format::Vop3 | Format::Vop3p);
        if !vector || f.wave == WaveSize::W32 {
            return Ok(());
        }
        let scalars = |operands: &[Operand]| -> Vec<PhysReg> {
            operands.iter().filter_map(reg_of).filter(|reg| reg.as_vgpr().is_none()).collect()
        };
        for def in runs(f.defs(after)) {
            let def = scalars(def);
            for (n, run) in runs(f.uses(after)).enumerate() {
                let read = scalars(run);
                let same_mask = row.src.get(n) == Some(&OperandKind::Mask) && def == read;
                if read.iter().any(|reg| def.contains(reg)) && !same_mask {
                    return Err(Error::bug(format!("{} is written while it is read", def[0])));
                }
            }
        }
        Ok(())
    }

    /// Adds the instruction's results to the state.
    pub(super) fn execute(&self, before: &MachineInst, after: &MachineInst, state: &mut PointState) {
        if before.op == Opcode::Pseudo(Pseudo::Return) {
            for (n, reg) in (0..).zip(self.after.uses(after).iter().map(reg_of)) {
                reg.into_iter().for_each(|reg| state.add(StorageLocation::reg(reg), HeldValue::Result(n)));
            }
            return;
        }
        let defs = self.before.defs(before);
        let vals: Vec<Val> = defs.iter().filter_map(|one| one.as_val()).collect();
        state.forget(&vals);
        if self.after.scratch_bytes > self.before.scratch_bytes && self.before.writes_exec(before) {
            state.forget_exec();
        }
        for (old, new) in defs.iter().zip(self.after.defs(after)) {
            let Some(reg) = reg_of(new) else { continue };
            state.overwrite_lanes(reg);
            match old.what {
                OperandValue::Val(val) => state.set(StorageLocation::reg(reg), vec![HeldValue::Val(val)]),
                OperandValue::Fixed(_) => {
                    state.set(StorageLocation::reg(reg), vec![HeldValue::Fixed]);
                    // The first register stands for a wave64 lane mask.
                    if reg == PhysReg::VCC {
                        state.set(StorageLocation::reg(reg.nth(1)), vec![HeldValue::Fixed]);
                    }
                }
                _ => state.set(StorageLocation::reg(reg), Vec::new()),
            }
        }
    }
}

//! Chooses registers for the operands of one instruction.

use super::exclusive::in_place;
use super::registers::{RegSet, base, class_of};
use super::room::{Need, Result, Stop};
use super::walk::{LIVES_ON, Walk};
use crate::mir::classes::{Wants, alignment};
use crate::mir::{BlockId, Extra, MachineInst, Operand, OperandValue, PhysReg, RegisterClass, runs};
use dovetail_base::error::Error;
use dovetail_base::target::WaveSize;
use dovetail_isa::{Format, Op, OperandKind};
use smallvec::SmallVec;

/// Limit for the number of times that room is made for one instruction.
const MOST_ROOMS: usize = 12;

/// Values further than this many positions from their last use do not get VCC, which shorter forms need.
const VCC_REACH: u32 = 4 * 32;

impl Walk<'_> {
    /// Allocates an instruction of the target, or a pseudo instruction that becomes one. If there is no place for a
    /// run, makes room and starts again.
    pub(super) fn ordinary(&mut self, id: BlockId, n: u32, inst: &MachineInst) -> Result<()> {
        self.held = RegSet::default();
        for _ in 0..MOST_ROOMS {
            self.temps = RegSet::default();
            let need = match self.attempt(id, n, inst) {
                Ok(()) => return Ok(()),
                Err(Stop::Needs) => self.need.take().ok_or(Stop::Needs)?,
                Err(stop) => return Err(stop),
            };
            self.temps = RegSet::default();
            self.moves.clear();
            self.starved = Some(need.class);
            self.make_room(id, n, &need)?;
        }
        Err(Error::unsupported("free registers that do not follow each other", "each move undoes another").into())
    }

    /// Allocates the uses of an instruction, then its definitions.
    fn attempt(&mut self, id: BlockId, n: u32, inst: &MachineInst) -> Result<()> {
        let (f, position) = (self.f, 4 * n + 2);
        self.operands.clear();
        self.operands.extend_from_slice(f.defs(inst));
        let count = runs(f.uses(inst)).count();
        let untied = count - usize::from(inst.tied);
        for (number, run) in runs(f.uses(inst)).take(untied).enumerate() {
            let wants = f.use_wants(inst, number, count);
            self.use_run(inst, run, wants)?;
        }
        let dying = self.dying(f.uses(inst), position);
        let mut taken = RegSet::default();
        let mut at = 0;
        for (number, run) in runs(f.defs(inst)).enumerate() {
            let class = run.iter().find_map(|one| one.as_val()).map(|val| f.class(val));
            let class = class.unwrap_or_else(|| f.def_wants(inst, number).of_undefined());
            let tied = runs(f.uses(inst)).last().filter(|_| inst.tied && number == 0);
            let first = if let OperandValue::Fixed(reg) = run[0].what {
                for (k, one) in (0..).zip(tied.unwrap_or(&[])) {
                    self.source(one)?.into_iter().for_each(|from| self.moves.add(reg.nth(k), from));
                }
                reg
            } else if let Some(tied) = tied {
                self.tied_run(run, tied, class, position)?
            } else {
                let free = self.open_to_defs(inst, class, &dying).without(&taken);
                self.def_run(inst, number, run, class, &free, position)?
            };
            for (k, one) in (0..).zip(run) {
                let reg = first.nth(k);
                taken.insert(reg);
                self.operands[at].what = OperandValue::Fixed(reg);
                if let Some(val) = one.as_val() {
                    self.give(val, reg);
                }
                at += 1;
            }
            if let Some(tied) = tied {
                (0..).zip(tied).for_each(|(k, one)| {
                    self.operands.push(Operand { what: OperandValue::Fixed(first.nth(k)), ..*one })
                });
            }
        }
        self.flush(id, n)?;
        self.out.push(*inst, &self.operands, Some(n));
        self.occupied = self.occupied.without(&dying);
        self.unkeep(inst);
        self.occupy_defs(f.defs(inst), position)?;
        Ok(())
    }

    /// Releases the registers kept for the instruction's runs, which are now used.
    fn unkeep(&mut self, inst: &MachineInst) {
        let mut at = inst.operands + u32::from(inst.defs);
        for run in runs(self.f.uses(inst)) {
            if let Some(reg) = self.hints.base(at) {
                self.kept.remove_run(reg, run.len() as u16);
            }
            at += run.len() as u32;
        }
    }

    /// Writes the registers of a run of uses. Members in other places are first copied to a run of their own.
    fn use_run(&mut self, inst: &MachineInst, run: &[Operand], wants: Wants) -> Result<()> {
        if let [one] = run {
            let what = match one.what {
                OperandValue::Val(val) => OperandValue::Fixed(self.at(val)?),
                OperandValue::Undef => OperandValue::Fixed(base(wants.of_undefined())),
                other => other,
            };
            self.operands.push(Operand { what, ..*one });
            return Ok(());
        }
        let class = run.iter().find_map(|one| one.as_val()).map(|val| self.f.class(val));
        let first = match class {
            None => base(wants.of_undefined()),
            Some(class) => match in_place(run, &self.loc).filter(|first| self.exist(run, *first)) {
                Some(first) => first,
                None => self.gather(inst, run, class)?,
            },
        };
        (0..)
            .zip(run)
            .for_each(|(k, one)| self.operands.push(Operand { what: OperandValue::Fixed(first.nth(k)), ..*one }));
        Ok(())
    }

    /// Whether the undefined members of a run that begins at `first` fall on registers that values may have.
    fn exist(&self, run: &[Operand], first: PhysReg) -> bool {
        (0..).zip(run).all(|(k, one)| one.what != OperandValue::Undef || self.usable.has(first.nth(k)))
    }

    /// Copies the members of a run to consecutive free registers.
    fn gather(&mut self, inst: &MachineInst, run: &[Operand], class: RegisterClass) -> Result<PhysReg> {
        let (count, align) = (run.len() as u16, alignment(class, run.len()));
        let free = self.usable.without(&self.occupied).without(&self.temps);
        let first = free.without(&self.kept).lowest(class, count, align);
        let Some(first) = first.or_else(|| free.lowest(class, count, align)) else {
            // If no member has to be elsewhere too, the members themselves move there, instead of copies.
            let members = if self.may_move(inst, run) { run.into() } else { SmallVec::new() };
            let need = Need { class, count: run.len(), members, dying: RegSet::default() };
            return Err(self.lacks(need));
        };
        for (k, one) in (0..).zip(run) {
            if let Some(from) = self.source(one)? {
                self.moves.add(first.nth(k), from);
            }
        }
        self.temps.insert_run(first, count);
        Ok(first)
    }

    /// Whether each member of a run has no other position in the instruction's runs, and may share its register.
    fn may_move(&self, inst: &MachineInst, run: &[Operand]) -> bool {
        let f = self.f;
        run.iter().filter_map(|one| one.as_val()).all(|val| {
            let places = runs(f.uses(inst)).filter(|other| other.len() > 1).flatten();
            !self.exclusive[val.index()]
                && self.loc[val.index()].is_some_and(|reg| self.usable.has(reg))
                && places.filter(|one| one.as_val() == Some(val)).count() == 1
        })
    }

    /// Registers that any of an instruction's definitions may have; the caller excludes those of its other definitions.
    fn open_to_defs(&self, inst: &MachineInst, class: RegisterClass, dying: &RegSet) -> RegSet {
        let f = self.f;
        let Some(row) = inst.isa().map(|op| f.isa.row(op)) else {
            return self.usable.without(&self.occupied.without(dying));
        };
        let vector = row.format.is_short_vector() || matches!(row.format, Format::Vop3 | Format::Vop3p);
        // In wave64 the second half of the lanes reads its scalar sources after the first half has written.
        let late = vector && class == RegisterClass::Scalar && f.wave == WaveSize::W64;
        if late || inst.writes_early(f.isa) {
            self.usable.without(&self.occupied).without(&self.temps)
        } else {
            self.usable.without(&self.occupied.without(dying))
        }
    }

    /// The registers of a run of definitions.
    fn def_run(
        &mut self,
        inst: &MachineInst,
        number: usize,
        run: &[Operand],
        class: RegisterClass,
        free: &RegSet,
        position: u32,
    ) -> Result<PhysReg> {
        if let Some(own) = self.exclusive_run(run)? {
            return Ok(own);
        }
        if let Some(vcc) = self.vcc_for(inst, number, run, position) {
            return Ok(vcc);
        }
        let sum = self.dying_sum(inst, position);
        if let Some(first) = self.place(run, class, free, None, sum) {
            return Ok(first);
        }
        // Registers that are occupied but may be written, since the instruction reads them for the last time.
        let dying = self.occupied.and(free);
        Err(self.lacks(Need { class, count: run.len(), members: SmallVec::new(), dying }))
    }

    /// The register of a sum's addend that ends here: in it, the sum has a form that can be a half.
    fn dying_sum(&self, inst: &MachineInst, position: u32) -> Option<PhysReg> {
        if !(self.pairs && inst.isa() == Some(Op::VFmaF32) && inst.extra == Extra::None) {
            return None;
        }
        let addend = self.f.uses(inst).last()?.as_val().filter(|val| self.end[val.index()] == position)?;
        self.loc[addend.index()]
    }

    /// The first register of a run of exclusive values, which have their registers from the start; `None` for other
    /// runs.
    fn exclusive_run(&self, run: &[Operand]) -> Result<Option<PhysReg>> {
        let own = |one: &Operand| one.as_val().is_some_and(|val| self.exclusive[val.index()]);
        if !run.iter().any(own) {
            return Ok(None);
        }
        match in_place(run, &self.loc).filter(|_| run.iter().all(own)) {
            Some(first) => Ok(Some(first)),
            None => Err(Error::unsupported(
                "a run of variables that is not always the same",
                format!("{} values", run.len()),
            )
            .into()),
        }
    }

    /// VCC for a lane mask whose last use comes soon.
    fn vcc_for(&self, inst: &MachineInst, number: usize, run: &[Operand], position: u32) -> Option<PhysReg> {
        let f = self.f;
        let row = f.isa.row(inst.isa()?);
        let pair: u16 = if f.wave == WaveSize::W64 { 2 } else { 1 };
        let mask = row.dst.get(number) == Some(&OperandKind::Mask) && run.len() == usize::from(pair);
        let soon = |one: &Operand| {
            one.as_val()
                .map(|val| self.end[val.index()])
                .is_some_and(|end| end != LIVES_ON && end <= position + VCC_REACH)
        };
        let taken = (0..pair).any(|k| self.occupied.has(PhysReg::VCC.nth(k)));
        // The mask that ends here as a carry source may be in VCC: the new carry may take its place.
        let goes_on = || {
            let last =
                runs(f.uses(inst)).last().filter(|_| row.src.last() == Some(&OperandKind::Mask) && !inst.tied)?;
            let dies = last.iter().all(|one| one.as_val().is_some_and(|val| self.end[val.index()] == position));
            (dies && in_place(last, &self.loc) == Some(PhysReg::VCC)).then_some(())
        };
        let elsewhere = || {
            let others = runs(f.uses(inst)).count() - 1;
            runs(f.uses(inst))
                .take(others)
                .flatten()
                .filter_map(|one| one.as_val())
                .any(|val| self.loc[val.index()].is_some_and(is_vcc))
        };
        let open = !taken || (goes_on().is_some() && !elsewhere());
        (mask && self.vcc_open && run.iter().all(soon) && open).then_some(PhysReg::VCC)
    }

    /// The registers of definitions that are tied to uses: in place if the uses end here, otherwise copied.
    fn tied_run(&mut self, defs: &[Operand], tied: &[Operand], class: RegisterClass, position: u32) -> Result<PhysReg> {
        let count = defs.len().max(tied.len());
        let own = self.exclusive_run(defs)?;
        let first = match own {
            Some(own) => own,
            None => {
                let free = self.usable.without(&self.occupied).without(&self.temps);
                if let Some(first) = self.tied_in_place(defs.len(), tied, class, &free, position) {
                    return Ok(first);
                }
                let mut wide: SmallVec<[Operand; 16]> = defs.into();
                wide.resize(count, Operand { what: OperandValue::Undef, run: 0 });
                match self.place(&wide, class, &free, None, None) {
                    Some(first) => first,
                    None => {
                        let need = Need { class, count, members: SmallVec::new(), dying: RegSet::default() };
                        return Err(self.lacks(need));
                    }
                }
            }
        };
        for (k, one) in (0..).zip(tied) {
            if let Some(from) = self.source(one)? {
                self.moves.add(first.nth(k), from);
            }
        }
        self.temps.insert_run(first, count as u16);
        let written = self.moves.targets();
        let read =
            |one: &Operand| matches!(one.what, OperandValue::Fixed(reg) if written.has(reg) && !self.temps.has(reg));
        if own.is_some() && self.operands.iter().skip(defs.len()).any(read) {
            return Err(Error::unsupported("a variable that is tied and read beside", format!("at {first}")).into());
        }
        Ok(first)
    }

    fn tied_in_place(
        &self,
        defs: usize,
        tied: &[Operand],
        class: RegisterClass,
        free: &RegSet,
        position: u32,
    ) -> Option<PhysReg> {
        let first = in_place(tied, &self.loc).filter(|first| class_of(*first) == class && self.exist(tied, *first))?;
        let whole = (tied.len()..defs).all(|k| free.has(first.nth(k as u16)));
        let ends = (0..).zip(tied).take(defs).all(|(k, one)| match one.as_val() {
            Some(val) => self.end[val.index()] == position && self.usable.has(first.nth(k)),
            None => free.has(first.nth(k)),
        });
        (whole && ends).then_some(first)
    }

    /// Chooses free registers for a run: `prefer`, or where its members are preferred, or `rather`, or others that let instructions
    /// be one, otherwise the lowest.
    pub(super) fn place(
        &mut self,
        run: &[Operand],
        class: RegisterClass,
        free: &RegSet,
        prefer: Option<PhysReg>,
        rather: Option<PhysReg>,
    ) -> Option<PhysReg> {
        let (count, align) = (run.len() as u16, alignment(class, run.len()));
        let fits = |first: PhysReg| {
            class_of(first) == class && (first.0 - base(class).0).is_multiple_of(align) && free.has_run(first, count)
        };
        if let Some(first) = prefer.filter(|first| fits(*first)) {
            return Some(first);
        }
        for (k, val) in run.iter().enumerate().filter_map(|(k, one)| Some((k as u16, one.as_val()?))) {
            let wanted = self.hints.reg(val).and_then(|reg| reg.0.checked_sub(k)).map(PhysReg);
            if let Some(first) = wanted.filter(|first| fits(*first)) {
                return Some(first);
            }
            if let Some(first) = self.place_in_run(val, k, count, class, free).filter(|first| fits(*first)) {
                return Some(first);
            }
        }
        if let Some(first) = rather.filter(|first| fits(*first)) {
            return Some(first);
        }
        let unkept = free.without(&self.kept);
        self.apart(run, class, &unkept)
            .or_else(|| unkept.lowest(class, count, align))
            .or_else(|| free.lowest(class, count, align))
    }

    /// A register for a single value that lets the instructions that make and read it be one with their neighbours, if one
    /// costs no waves.
    fn apart(&mut self, run: &[Operand], class: RegisterClass, free: &RegSet) -> Option<PhysReg> {
        let [one] = run else { return None };
        let val = one.as_val().filter(|_| class == RegisterClass::Vector)?;
        let banks = self.hints.shared_banks(val)?;
        let lowest = |shared: &RegSet| free.without(shared).lowest(class, 1, 1).filter(|reg| *reg < self.costly);
        banks.iter().find_map(lowest)
    }

    /// The first register for `count` definitions if `val`, which is definition number `k`, gets its place in the run
    /// that uses it.
    fn place_in_run(
        &mut self,
        val: crate::mir::Val,
        k: u16,
        count: u16,
        class: RegisterClass,
        free: &RegSet,
    ) -> Option<PhysReg> {
        let member = self.hints.member(val)?;
        let offset = member.at.checked_sub(k)?;
        let whole = match self.hints.base(member.run) {
            Some(whole) => whole,
            None => {
                let align = alignment(class, usize::from(member.count));
                let whole = free.without(&self.kept).lowest(class, member.count, align)?;
                if offset + count > member.count || offset % alignment(class, usize::from(count)) != 0 {
                    return None;
                }
                self.hints.decide(member, whole, &mut self.kept);
                whole
            }
        };
        Some(whole.nth(offset))
    }
}

pub(super) fn is_vcc(reg: PhysReg) -> bool {
    reg == PhysReg::VCC || reg == PhysReg::VCC.nth(1)
}

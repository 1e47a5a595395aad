//! Preferences for registers: values that should share one, and values that an instruction wants in consecutive ones.
//!
//! A wish is never needed for correct code. Values joined by a block parameter, a copy or a tied operand are a *web*:
//! the register that one member gets is the one that the later members prefer. A value used in a run prefers the
//! register of its place in the run; the first member that gets a register decides the base of the run.

use super::registers::RegSet;
use super::rivals::{Rivals, alike};
use crate::mir::{BlockId, Extra, MachineFunction, MachineInst, Opcode, Operand, PhysReg, Pseudo, Val, runs};
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Op;

/// The place of a value in a run of uses.
#[derive(Clone, Copy, Debug)]
pub struct RunMember {
    /// Operand index of the run's first operand.
    pub run: u32,
    /// Position in the run.
    pub at: u16,
    /// Length of the run.
    pub count: u16,
}

/// Wishes of all values.
#[derive(Debug, Default)]
pub struct Hints {
    web: List<u32>,
    /// By web: the register that members want.
    reg: List<Option<PhysReg>>,
    /// By web: the run that members want to be in.
    member: List<Option<RunMember>>,
    /// By operand index of a run's first operand: its base, once decided.
    base: List<Option<PhysReg>>,
    /// By value: the number of its uses.
    used: List<u32>,
    /// Webs that want other registers than these.
    rivals: Rivals,
}

impl Hints {
    /// Gathers the preferences of a function's values.
    pub fn new(f: &MachineFunction) -> Self {
        let count = f.values.len();
        let mut it = Self {
            web: (0..count as u32).collect(),
            reg: filled(count, None),
            member: filled(count, None),
            base: filled(f.operands.len(), None),
            used: filled(count, 0),
            rivals: Rivals::default(),
        };
        for id in f.block_ids() {
            let block = f.block(id);
            for edge in &block.edges {
                for (param, arg) in f.params_of(f.block(edge.to)).iter().zip(f.args(edge)) {
                    it.join(f, Some(*param), arg.as_val());
                    it.note_used(arg);
                }
            }
            for inst in f.insts_of(block) {
                f.uses(inst).iter().for_each(|one| it.note_used(one));
                it.join_operands(f, inst);
            }
        }
        f.insts.iter().for_each(|inst| it.join_sum(f, inst));
        // Entry registers come before runs, because they cannot move.
        for entry in &f.entry {
            it.want(entry.val, entry.reg);
        }
        // Blocks inside the most loops first: a value that is in several runs takes its place in the run of the
        // innermost loop.
        let mut order: List<BlockId> = f.block_ids().collect();
        order.sort_by_key(|id| std::cmp::Reverse(f.block(*id).depth));
        for inst in order.iter().flat_map(|id| f.insts_of(f.block(*id))) {
            it.wish_for_run(f, inst);
        }
        it.rivals = Rivals::new(f, |val| it.web_of(val));
        it
    }

    fn note_used(&mut self, operand: &Operand) {
        if let Some(val) = operand.as_val() {
            self.used[val.index()] += 1;
        }
    }

    fn join_operands(&mut self, f: &MachineFunction, inst: &MachineInst) {
        if inst.op == Opcode::Pseudo(Pseudo::Copy) {
            for (def, one) in f.defs(inst).iter().zip(f.uses(inst)) {
                self.join(f, def.as_val(), one.as_val());
            }
        }
        if inst.tied
            && let (Some(defs), Some(tied)) = (runs(f.defs(inst)).next(), runs(f.uses(inst)).last())
        {
            for (def, one) in defs.iter().zip(tied) {
                self.join(f, def.as_val(), one.as_val());
            }
        }
    }

    /// A sum whose product has no other use can be computed in place, which has a shorter form.
    fn join_sum(&mut self, f: &MachineFunction, inst: &MachineInst) {
        if let (Some(Op::VFmaF32), Extra::None, [_, _, sum]) = (inst.isa(), inst.extra, f.uses(inst))
            && sum.as_val().is_some_and(|val| self.used[val.index()] == 1)
        {
            self.join(f, f.defs(inst).first().and_then(|def| def.as_val()), sum.as_val());
        }
    }

    fn wish_for_run(&mut self, f: &MachineFunction, inst: &MachineInst) {
        let mut at = inst.operands + u32::from(inst.defs);
        for run in runs(f.uses(inst)) {
            for (n, val) in run.iter().enumerate().filter_map(|(n, one)| Some((n, one.as_val()?))) {
                let web = self.web_of(val);
                if run.len() > 1 && self.member[web].is_none() && !f.values[val.index()].variable {
                    self.member[web] = Some(RunMember { run: at, at: n as u16, count: run.len() as u16 });
                }
            }
            at += run.len() as u32;
        }
    }

    fn web_of(&mut self, val: Val) -> usize {
        let mut at = val.0;
        while self.web[at as usize] != at {
            let up = self.web[at as usize];
            self.web[at as usize] = self.web[up as usize];
            at = up;
        }
        at as usize
    }

    fn join(&mut self, f: &MachineFunction, a: Option<Val>, b: Option<Val>) {
        let (Some(a), Some(b)) = (a, b) else { return };
        let fit = |val: Val| !f.values[val.index()].variable;
        if f.class(a) == f.class(b) && fit(a) && fit(b) {
            let (a, b) = (self.web_of(a), self.web_of(b));
            self.web[a.max(b)] = a.min(b) as u32;
        }
    }

    fn want(&mut self, val: Option<Val>, reg: PhysReg) {
        if let Some(val) = val {
            let web = self.web_of(val);
            self.reg[web].get_or_insert(reg);
        }
    }

    /// Whether the value is used.
    pub fn is_used(&self, val: Val) -> bool {
        self.used[val.index()] > 0
    }

    /// The register that the value's web prefers.
    pub fn reg(&mut self, val: Val) -> Option<PhysReg> {
        let web = self.web_of(val);
        self.reg[web]
    }

    /// Records the register that a value got.
    pub fn got(&mut self, val: Val, reg: PhysReg) {
        let web = self.web_of(val);
        self.reg[web] = Some(reg);
    }

    /// Registers that would keep an instruction that reads or makes the value from being one with its neighbour: all, and
    /// those that do so for its result.
    pub fn shared_banks(&mut self, val: Val) -> Option<[RegSet; 2]> {
        let web = self.web_of(val);
        let mut out = [RegSet::default(); 2];
        let mut some = false;
        for rival in self.rivals.of(web) {
            if let Some(number) = self.reg[rival.web as usize].and_then(PhysReg::as_vgpr) {
                let taken = alike(number, rival.mask);
                out[0] = out[0].or(&taken);
                if rival.is_result() {
                    out[1] = out[1].or(&taken);
                }
                some = true;
            }
        }
        some.then_some(out)
    }

    /// The run that the value should be in.
    pub fn member(&mut self, val: Val) -> Option<RunMember> {
        let web = self.web_of(val);
        self.member[web]
    }

    /// The first register of a run, once decided.
    pub fn base(&self, run: u32) -> Option<PhysReg> {
        self.base[run as usize]
    }

    /// Decides the first register of a member's run, and keeps the run's registers from other values until the run is
    /// used.
    pub fn decide(&mut self, member: RunMember, base: PhysReg, kept: &mut RegSet) {
        self.base[member.run as usize] = Some(base);
        kept.insert_run(base, member.count);
    }
}

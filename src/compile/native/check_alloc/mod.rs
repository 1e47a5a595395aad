//! Checks an allocation: the code before and after must do the same.
//!
//! It walks both in parallel. For each register the state holds which original values the register certainly contains.
//! A definition sets the value's name; an inserted move copies names; a copy or a block parameter gives a content a
//! second name. Where blocks meet, only facts from all predecessors remain: for vector registers the predecessors that
//! lanes come from, for scalar registers those that the wave comes from. Every use of the original code must then find
//! its value's name in the register that the instruction reads. The allocator supplies only the code and which
//! instructions it inserted; inserted instructions may only be moves.

mod held;
mod inserted;
mod original;
mod page;
mod state;

use super::allocate::{Allocated, RegisterLimits};
use super::mir::preds::Preds;
use super::mir::{
    BlockId, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo, RegisterClass,
    Term, Val,
};
use dovetail_base::error::{Context, Error, Result};
use dovetail_isa::Op;
use held::HeldValue;
use state::{PointState, StorageLocation};

/// Checks that `after` does what `before` does, with registers within the limits.
///
/// # Errors
/// Bug: it does not; the error names block, instruction and value.
pub fn check(before: &MachineFunction, after: &Allocated, limits: RegisterLimits) -> Result<()> {
    let check = Check::new(before, after, limits)?;
    let mut entries: Vec<Option<PointState>> = vec![None; before.blocks.len()];
    let mut exits: Vec<Option<PointState>> = vec![None; before.blocks.len()];
    // Blocks with a predecessor whose end has changed.
    let mut open = vec![true; before.blocks.len()];
    while open.contains(&true) {
        for id in before.block_ids() {
            if !std::mem::take(&mut open[id.index()]) {
                continue;
            }
            let Some(entry) = check.entry(id, &exits) else { continue };
            if entries[id.index()].as_ref() == Some(&entry) {
                continue;
            }
            exits[id.index()] = Some(check.block(id, entry.clone(), false)?);
            entries[id.index()] = Some(entry);
            let block = before.block(id);
            block.edges.iter().map(|edge| edge.to).chain(block.term.targets()).for_each(|to| open[to.index()] = true);
        }
    }
    for (id, entry) in before.block_ids().zip(entries) {
        if let Some(entry) = entry {
            check.block(id, entry, true).at(|| format!("block {}", id.0))?;
        }
    }
    Ok(())
}

struct Check<'a> {
    before: &'a MachineFunction,
    after: &'a MachineFunction,
    origin: &'a [Option<u32>],
    limits: RegisterLimits,
    logical: Preds,
    linear: Preds,
    /// For each value: the constant that it is for its whole life, if any.
    constants: Vec<Option<HeldValue>>,
}

impl<'a> Check<'a> {
    fn new(before: &'a MachineFunction, allocated: &'a Allocated, limits: RegisterLimits) -> Result<Self> {
        let after = &allocated.function;
        let same = before.blocks.len() == after.blocks.len()
            && allocated.origin.len() == after.insts.len()
            && before.entry == after.entry;
        if !same {
            return Err(Error::bug("allocation changed the shape of the function"));
        }
        let (logical, linear) = (Preds::logical(before), Preds::linear(before));
        Ok(Self { before, after, origin: &allocated.origin, limits, logical, linear, constants: constants(before) })
    }

    /// The facts at a block's start: those common to all visited predecessors; `None` if none was visited.
    fn entry(&self, id: BlockId, exits: &[Option<PointState>]) -> Option<PointState> {
        if id.0 == 0 {
            let mut state = PointState::default();
            for entry in &self.before.entry {
                entry.val.into_iter().for_each(|val| state.add(StorageLocation::reg(entry.reg), HeldValue::Val(val)));
            }
            return Some(state);
        }
        let is_vector = |val: Val| self.before.class(val) == RegisterClass::Vector;
        let known = |pred: &BlockId| exits[pred.index()].as_ref().map(|exit| (*pred, exit));
        let meet = |preds: &Preds, logical: bool| {
            let known = preds.of(id).iter().filter_map(known);
            known.map(|(pred, exit)| self.along(pred, id, exit).only(logical, is_vector)).reduce(|a, b| a.meet(&b))
        };
        let linear = meet(&self.linear, false)?;
        Some(linear.join(meet(&self.logical, true).unwrap_or_default()))
    }

    /// The state at the end of `pred`, seen from its successor `id`: parameters have the contents of their arguments.
    fn along(&self, pred: BlockId, id: BlockId, exit: &PointState) -> PointState {
        let mut state = exit.clone();
        let Some(edge) = self.before.block(pred).edges.iter().find(|edge| edge.to == id) else { return state };
        let params = self.before.params_of(self.before.block(id)).iter().copied();
        let pairs: Vec<(Val, Operand)> = params.zip(self.before.args(edge).iter().copied()).collect();
        if !pairs.is_empty() {
            state.rename(&pairs, &self.constants);
        }
        state
    }

    /// Walks over a block; reports errors only if `judge` is set.
    fn block(&self, id: BlockId, mut state: PointState, judge: bool) -> Result<PointState> {
        let (before, after) = (self.before.block(id), self.after.block(id));
        self.shape(before, after)?;
        let mut next = before.insts.start;
        self.copies(before, &mut next, &mut state);
        let mut scc_spoilt = false;
        let mut at = after.insts.start;
        while at < after.insts.end {
            let inst = &self.after.insts[at as usize];
            let place = |next: u32| move || format!("instruction {next}");
            match self.origin[at as usize] {
                None => {
                    let count = self.inserted(at, after, &mut state, &mut scc_spoilt).at(place(next))?;
                    at += count;
                }
                Some(n) => {
                    if n != next || (n >= before.tail) != (at >= after.tail) {
                        return Err(Error::bug("original instructions are not in their order").at(place(next)()));
                    }
                    if state.one_lane {
                        return Err(Error::bug("most lanes are off").at(place(n)()));
                    }
                    let original = &self.before.insts[n as usize];
                    if judge {
                        self.judge(original, inst, &state, scc_spoilt).at(place(n))?;
                    }
                    scc_spoilt &= !original.writes_scc(self.before.isa);
                    self.execute(original, inst, &mut state);
                    next += 1;
                    self.copies(before, &mut next, &mut state);
                    at += 1;
                }
            }
        }
        if state.one_lane {
            return Err(Error::bug("most lanes stay off"));
        }
        if next != before.insts.end {
            return Err(Error::bug(format!("instruction {next} is missing")));
        }
        if judge {
            self.judge_end(before, after, &state, scc_spoilt)?;
        }
        state.forget_constants();
        Ok(state)
    }

    fn shape(&self, before: &MachineBlock, after: &MachineBlock) -> Result<()> {
        let edges = before.edges.iter().map(|edge| edge.to).eq(after.edges.iter().map(|edge| edge.to));
        let empty = after.params.is_empty() && after.edges.iter().all(|edge| edge.args.is_empty());
        let ordered = after.insts.start <= after.tail && after.tail <= after.insts.end;
        if edges && empty && ordered && before.term == after.term && before.depth == after.depth {
            return Ok(());
        }
        Err(Error::bug("allocation changed the shape of a block"))
    }

    /// Original copies have no instruction in the new code: each gives a content a second name.
    fn copies(&self, block: &MachineBlock, next: &mut u32, state: &mut PointState) {
        while *next < block.insts.end {
            let inst = &self.before.insts[*next as usize];
            if inst.op != Opcode::Pseudo(Pseudo::Copy) {
                return;
            }
            let pairs = self.before.defs(inst).iter().zip(self.before.uses(inst));
            let pairs: Vec<(Val, Operand)> = pairs.filter_map(|(def, from)| Some((def.as_val()?, *from))).collect();
            state.rename(&pairs, &self.constants);
            *next += 1;
        }
    }

    /// Checks the requirements of a block's end: SCC for its branch, and results that stay in the registers of the return.
    fn judge_end(
        &self,
        block: &MachineBlock,
        after: &MachineBlock,
        state: &PointState,
        scc_spoilt: bool,
    ) -> Result<()> {
        use super::mir::Cond::{Scc0, Scc1};
        if scc_spoilt && matches!(block.term, Term::Branch { when: Scc0 | Scc1, .. }) {
            return Err(Error::bug("SCC was overwritten before the branch"));
        }
        let last = self.after.insts_of(after).iter().rfind(|inst| inst.op == Opcode::Pseudo(Pseudo::Return));
        let Some(last) = last.filter(|_| block.term == Term::Joint) else { return Ok(()) };
        for (n, reg) in (0..).zip(self.after.uses(last).iter().map(reg_of)) {
            let Some(reg) = reg else { continue };
            if !state.holds(StorageLocation::reg(reg), HeldValue::Result(n)) {
                return Err(Error::bug(format!("result {n} was overwritten in {reg}")));
            }
        }
        Ok(())
    }

    /// Whether the wave has this register regardless of the limit.
    fn arrives(&self, reg: PhysReg) -> bool {
        self.before.entry.iter().any(|entry| entry.reg == reg)
    }

    /// Whether a value may be in this register.
    fn allowed(&self, reg: PhysReg, class: RegisterClass) -> bool {
        let vcc = reg == PhysReg::VCC || reg == PhysReg::VCC.nth(1);
        let scratch = self.after.scratch_bytes > 0 && (PhysReg::SCRATCH.0..PhysReg::SCRATCH.0 + 4).contains(&reg.0);
        match (class, reg.as_vgpr()) {
            (RegisterClass::Vector, Some(n)) => n < self.limits.vgprs || self.arrives(reg),
            (RegisterClass::Scalar, None) => (reg.0 < self.limits.sgprs && !scratch) || vcc,
            _ => false,
        }
    }
}

/// The constants of values that moves or copies define. Variables are excluded, since they may change.
fn constants(f: &MachineFunction) -> Vec<Option<HeldValue>> {
    let mut constants = vec![None; f.values.len()];
    for inst in &f.insts {
        let moves = match inst.op {
            Opcode::Pseudo(pseudo) => pseudo == Pseudo::Copy,
            Opcode::Isa(op) => matches!(op, Op::SMovB32 | Op::VMovB32) && !inst.tied,
        };
        for (def, from) in f.defs(inst).iter().zip(f.uses(inst)).filter(|_| moves) {
            let constant = HeldValue::of(from).filter(|name| !matches!(name, HeldValue::Val(_)));
            if let Some(val) = def.as_val().filter(|val| !f.values[val.index()].variable) {
                constants[val.index()] = constant;
            }
        }
    }
    constants
}

/// The register of an operand that is a physical register.
fn reg_of(operand: &Operand) -> Option<PhysReg> {
    match operand.what {
        OperandValue::Fixed(reg) => Some(reg),
        _ => None,
    }
}

/// Whether both have the same operation, fields and operand counts.
fn same_form(a: &MachineInst, b: &MachineInst) -> bool {
    let form = |inst: &MachineInst| (inst.op, inst.defs, inst.uses, inst.tied, inst.extra);
    form(a) == form(b)
}

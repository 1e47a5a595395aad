//! The walk that assigns registers: blocks in layout order, instructions in order.
//!
//! In SSA form all values that are live where another is defined have their registers already, so any free register
//! will do: the registers suffice as long as no more values are live at once than there are registers. At every block
//! boundary a value is in its *home*, so edges need copies only for block parameters. Within a block a value may be
//! moved away from a run (`room`); it returns before the tail.
//!
//! Positions within a block: copies at its start are at `4 * n` of its first instruction n, an instruction is at `4 * n
//! + 2`, copies before the tail are at `4 * tail + 1`.

use super::copies::{CopyScratch, CopySource, Moves};
use super::hints::Hints;
use super::output::Output;
use super::registers::{RegSet, class_of};
use super::rivals::has_pairs;
use super::room::Need;
use super::room::{Result, Stop};
use crate::liveness::{Liveness, args_at_end, args_at_start};
use crate::mir::classes::alignment;
use crate::mir::{
    BlockId, Cond, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo,
    RegisterClass, Term, Val,
};
use dovetail_base::error::Error;
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Traits;
use smallvec::SmallVec;

/// The last use, in [`Walk::end`], of a value that is used after the block.
pub(super) const LIVES_ON: u32 = u32::MAX;

/// The state of the walk.
pub(super) struct Walk<'a> {
    pub(super) f: &'a MachineFunction,
    pub(super) live: &'a Liveness,
    pub(super) hints: Hints,
    /// Registers that several values may have in turn: all but those of exclusive values.
    pub(super) usable: RegSet,
    /// By value: its register at the instruction at hand.
    pub(super) loc: List<Option<PhysReg>>,
    /// By value: its home, the register at block boundaries.
    pub(super) home: List<Option<PhysReg>>,
    /// By value: whether it is exclusive, with a register that is never shared.
    pub(super) exclusive: List<bool>,
    /// Homes of values that live on after this block.
    pub(super) homes: RegSet,
    /// Values that are used after this block and may be in another register than their home.
    pub(super) displaced: List<Val>,
    /// Registers of the runs for which room was made at the instruction at hand.
    pub(super) held: RegSet,
    /// The missing run of registers of the current instruction.
    pub(super) need: Option<Need>,
    /// The class whose registers did not suffice.
    pub(super) starved: Option<RegisterClass>,
    /// Index after the last instruction before the tail that writes EXEC.
    pub(super) exec_until: u32,
    /// By register code: the value that was last put into the register.
    pub(super) owner: List<Option<Val>>,
    /// By value: the position of its last use in this block, or [`LIVES_ON`].
    pub(super) end: List<u32>,
    /// Registers of values that are live here.
    pub(super) occupied: RegSet,
    /// Registers decided for runs that later instructions use: other values take them last.
    pub(super) kept: RegSet,
    /// Registers that the instruction at hand has for itself: copies of run members that are elsewhere.
    pub(super) temps: RegSet,
    /// Blocks whose parameters have registers.
    pub(super) placed: List<bool>,
    /// Copies before the instruction at hand.
    pub(super) moves: Moves,
    pub(super) out: Output,
    /// The instruction's operands in physical form.
    pub(super) operands: List<Operand>,
    /// No instruction of the block names VCC, so that values may have it.
    pub(super) vcc_open: bool,
    /// The first vector register that costs waves.
    pub(super) costly: PhysReg,
    /// Two vector operations can be one instruction.
    pub(super) pairs: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(f: &'a MachineFunction, live: &'a Liveness, usable: RegSet, loc: List<Option<PhysReg>>) -> Self {
        let files = f.isa.facts();
        Self {
            f,
            live,
            hints: Hints::new(f),
            usable,
            home: loc.clone(),
            exclusive: loc.iter().map(Option::is_some).collect(),
            loc,
            homes: RegSet::default(),
            displaced: List::default(),
            held: RegSet::default(),
            need: None,
            starved: None,
            exec_until: 0,
            owner: filled(512, None),
            end: filled(f.values.len(), 0),
            occupied: RegSet::default(),
            kept: RegSet::default(),
            temps: RegSet::default(),
            placed: filled(f.blocks.len(), false),
            moves: Moves::default(),
            out: Output::default(),
            operands: List::default(),
            vcc_open: false,
            costly: PhysReg::vgpr(files.vgprs_for(files.waves, f.wave) as u16),
            pairs: has_pairs(f),
        }
    }

    /// Walks over the whole function, and returns its blocks in physical form.
    pub(super) fn run(&mut self) -> Result<List<MachineBlock>> {
        let f = self.f;
        let mut blocks = List::default();
        for id in f.block_ids() {
            blocks.push(self.block(id)?);
        }
        Ok(blocks)
    }

    fn block(&mut self, id: BlockId) -> Result<MachineBlock> {
        let f = self.f;
        let block = f.block(id);
        let start = self.out.here();
        self.begin(id)?;
        let mut tail = None;
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            if n == block.tail {
                self.edge(id)?;
                tail = Some(self.out.here());
            }
            self.instruction(id, n, inst)?;
        }
        if tail.is_none() {
            self.edge(id)?;
        }
        let end = self.out.here();
        let mut edges = block.edges.clone();
        edges.iter_mut().for_each(|edge| edge.args = 0..0);
        let tail = tail.unwrap_or(end);
        Ok(MachineBlock { params: 0..0, insts: start..end, tail, edges, term: block.term, depth: block.depth })
    }

    /// Finds last uses and occupied registers, and makes the copies at the block's start.
    fn begin(&mut self, id: BlockId) -> Result<()> {
        let f = self.f;
        let block = f.block(id);
        self.find_ends(id);
        self.kept = RegSet::default();
        self.occupied = RegSet::default();
        if id.0 == 0 {
            self.enter()?;
        }
        self.homes = RegSet::default();
        self.displaced.clear();
        for val in self.live.live_in(id) {
            self.bring_home(val)?;
        }
        let args = args_at_start(f, &self.live.logical, id);
        let position = 4 * block.insts.start;
        if !self.placed[id.index()] {
            let dying = self.dying(args, position);
            let free = self.usable.without(&self.occupied.without(&dying));
            self.place_params(id, args, &free)?;
        }
        for (param, arg) in f.params_of(block).iter().zip(args) {
            self.copy_into(*param, arg)?;
        }
        self.flush(id, block.insts.start)?;
        self.release(args, position);
        self.occupy_params(id)
    }

    /// The start of the code: entry values are in their registers; variables among them move to their own registers.
    fn enter(&mut self) -> Result<()> {
        let f = self.f;
        for entry in &f.entry {
            let Some(val) = entry.val else { continue };
            if f.address_high == Some(val) {
                self.keep_beside(val, entry.reg);
            }
            match self.loc[val.index()] {
                Some(own) => self.moves.add(own, CopySource::Reg(entry.reg)),
                None => {
                    self.loc[val.index()] = Some(entry.reg);
                    self.home[val.index()] = Some(entry.reg);
                }
            }
        }
        let taken: RegSet =
            f.entry.iter().filter(|entry| entry.val.is_some()).fold(RegSet::default(), |mut set, entry| {
                set.insert(entry.reg);
                set
            });
        let open = self.usable.without(&taken);
        let place = |used: &RegSet| CopyScratch {
            free: open.without(used).lowest(RegisterClass::Scalar, 1, 1),
            scc_dead: true,
        };
        Ok(self.moves.flush(&mut self.out, place)?)
    }

    /// Decides the registers of the run that an entry value is in, so that the other members are put beside it.
    fn keep_beside(&mut self, val: Val, reg: PhysReg) {
        let Some(member) = self.hints.member(val) else { return };
        let base = reg.0.checked_sub(member.at).map(PhysReg).filter(|base| {
            let aligned = base.0.is_multiple_of(alignment(RegisterClass::Scalar, usize::from(member.count)));
            aligned && self.usable.has_run(*base, member.count)
        });
        if let Some(base) = base {
            self.hints.decide(member, base, &mut self.kept);
        }
    }

    fn find_ends(&mut self, id: BlockId) {
        let f = self.f;
        let block = f.block(id);
        self.vcc_open = true;
        self.exec_until = block.insts.start;
        let ends = &mut self.end;
        let mut note = |operands: &[Operand], position: u32| {
            operands.iter().filter_map(|one| one.as_val()).for_each(|val| ends[val.index()] = position);
        };
        note(args_at_start(f, &self.live.logical, id), 4 * block.insts.start);
        for param in f.params_of(block) {
            note(&[Operand::val(*param)], 4 * block.insts.start);
        }
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            if n == block.tail {
                note(args_at_end(f, id), 4 * n + 1);
            }
            note(f.defs(inst), 4 * n + 2);
            note(f.uses(inst), 4 * n + 2);
            let names_vcc = |one: &Operand| matches!(one.what, OperandValue::Fixed(PhysReg::VCC | PhysReg::VCC_HI));
            if f.defs(inst).iter().chain(f.uses(inst)).any(names_vcc) || inst.is(f.isa, Traits::VCC_IN) {
                self.vcc_open = false;
            }
            if n < block.tail && f.writes_exec(inst) {
                self.exec_until = n + 1;
            }
        }
        if block.tail >= block.insts.end {
            note(args_at_end(f, id), 4 * block.tail + 1);
        }
        for val in self.live.live_out(f, id) {
            self.end[val.index()] = LIVES_ON;
        }
    }

    /// The source of a copy of this operand; `None` if it is undefined.
    pub(super) fn source(&self, operand: &Operand) -> Result<Option<CopySource>> {
        Ok(Some(match operand.what {
            OperandValue::Val(val) => CopySource::Reg(self.at(val)?),
            OperandValue::Const(bits) => CopySource::Const(bits),
            OperandValue::Reloc(symbol) => CopySource::Reloc(symbol),
            OperandValue::Fixed(reg) => CopySource::Reg(reg),
            OperandValue::Undef => return Ok(None),
        }))
    }

    /// The register of a value.
    pub(super) fn at(&self, val: Val) -> Result<PhysReg> {
        self.loc[val.index()].ok_or_else(|| Error::bug(format!("{val} has no register where it is needed")).into())
    }

    /// Assigns a register to a value from here on.
    pub(super) fn give(&mut self, val: Val, reg: PhysReg) {
        self.loc[val.index()] = Some(reg);
        self.hints.got(val, reg);
    }

    pub(super) fn occupy(&mut self, val: Val, reg: PhysReg) {
        self.occupied.insert(reg);
        self.owner[usize::from(reg.0)] = Some(val);
    }

    /// Registers of those values among the operands that are not used later.
    pub(super) fn dying(&self, operands: &[Operand], position: u32) -> RegSet {
        let mut set = RegSet::default();
        for val in operands.iter().filter_map(|one| one.as_val()).filter(|val| self.end[val.index()] == position) {
            self.loc[val.index()].into_iter().for_each(|reg| set.insert(reg));
        }
        set
    }

    /// Frees the registers of those values among the operands that are not used later.
    pub(super) fn release(&mut self, operands: &[Operand], position: u32) {
        self.occupied = self.occupied.without(&self.dying(operands, position));
    }

    /// Emits the copies before original instruction `next`.
    pub(super) fn flush(&mut self, id: BlockId, next: u32) -> Result<()> {
        let (f, open) = (self.f, self.usable.without(&self.occupied).without(&self.temps));
        let place = |used: &RegSet| CopyScratch {
            free: open.without(used).lowest(RegisterClass::Scalar, 1, 1),
            scc_dead: scc_is_dead(f, f.block(id), next),
        };
        Ok(self.moves.flush(&mut self.out, place)?)
    }

    fn instruction(&mut self, id: BlockId, n: u32, inst: &MachineInst) -> Result<()> {
        match inst.op {
            Opcode::Pseudo(Pseudo::Copy) => self.parallel_copy(id, n, inst),
            Opcode::Pseudo(Pseudo::Return) => self.results(n, inst),
            _ => self.ordinary(id, n, inst),
        }
    }

    fn parallel_copy(&mut self, id: BlockId, n: u32, inst: &MachineInst) -> Result<()> {
        let (f, position) = (self.f, 4 * n + 2);
        let dying = self.dying(f.uses(inst), position);
        let mut free = self.usable.without(&self.occupied.without(&dying));
        // The sources are looked up before any definition gets a register: a variable may be both.
        let sources: SmallVec<[Option<CopySource>; 8]> =
            f.uses(inst).iter().map(|one| self.source(one)).collect::<Result<_>>()?;
        for (def, from) in f.defs(inst).iter().zip(&sources) {
            let to = match def.what {
                OperandValue::Val(val) => {
                    let own = self.loc[val.index()].filter(|_| self.exclusive[val.index()]);
                    if own.is_none() && self.end[val.index()] == position {
                        continue;
                    }
                    let prefer = from.and_then(|from| if let CopySource::Reg(reg) = from { Some(reg) } else { None });
                    let class = f.class(val);
                    let reg = own.or_else(|| self.place(&[*def], class, &free, prefer, None));
                    let reg = reg.ok_or_else(|| self.no_register(class, 1, &free))?;
                    free.remove(reg);
                    self.give(val, reg);
                    reg
                }
                OperandValue::Fixed(reg) => reg,
                _ => continue,
            };
            from.iter().for_each(|from| self.moves.add(to, *from));
        }
        self.flush(id, n)?;
        self.occupied = self.occupied.without(&dying);
        self.occupy_defs(f.defs(inst), position)
    }

    /// Records the registers of the results. They stay occupied.
    fn results(&mut self, n: u32, inst: &MachineInst) -> Result<()> {
        self.operands.clear();
        for one in self.f.uses(inst) {
            let what = match one.what {
                OperandValue::Val(val) => OperandValue::Fixed(self.at(val)?),
                other => other,
            };
            self.operands.push(Operand { what, ..*one });
        }
        self.out.push(*inst, &self.operands, Some(n));
        Ok(())
    }

    /// Occupies the registers of values just defined, unless they are unused; values that live on get homes.
    pub(super) fn occupy_defs(&mut self, defs: &[Operand], position: u32) -> Result<()> {
        for val in defs.iter().filter_map(|one| one.as_val()) {
            let Some(reg) = self.loc[val.index()].filter(|_| self.end[val.index()] != position) else { continue };
            self.occupy(val, reg);
            if self.end[val.index()] != LIVES_ON || self.exclusive[val.index()] {
                continue;
            }
            let home = if self.homes.has(reg) {
                // A displaced value returns to this register before the tail, so this one needs another home.
                let class = class_of(reg);
                let free = self.usable.without(&self.homes);
                free.lowest(class, 1, 1).ok_or_else(|| self.no_register(class, 1, &free))?
            } else {
                reg
            };
            self.homes.insert(home);
            self.home[val.index()] = Some(home);
            if home != reg {
                self.displaced.push(val);
            }
        }
        Ok(())
    }

    /// The reason to stop if there is no place for a run of `count` registers.
    pub(super) fn no_register(&mut self, class: RegisterClass, count: usize, free: &RegSet) -> Stop {
        self.starved = Some(class);
        let what = match (class, free.count(class) as usize >= count) {
            (RegisterClass::Scalar, false) => "not enough SGPRs",
            (RegisterClass::Vector, false) => "not enough VGPRs",
            (_, true) => "free registers that do not follow each other",
        };
        Stop::Starved { what, count }
    }
}

/// Whether SCC is not read before it is written again, from original instruction `next` on.
fn scc_is_dead(f: &MachineFunction, block: &MachineBlock, next: u32) -> bool {
    for inst in f.insts.get(next as usize..block.insts.end as usize).unwrap_or_default() {
        if inst.is(f.isa, Traits::SCC_IN) {
            return false;
        }
        if inst.writes_scc(f.isa) {
            return true;
        }
    }
    !matches!(block.term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. })
}

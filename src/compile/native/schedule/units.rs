//! Units of scheduling: one instruction, or several that SCC connects.
//!
//! SCC is one register that nearly every scalar instruction writes. The instructions from one that sets SCC to the last
//! one that reads this result stay together; so nothing else has to be known of SCC.

use crate::mir::{
    BlockId, Cond, MachineFunction, MachineInst, Opcode, Operand, OperandValue, Pseudo, RegisterClass, Term, runs,
};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List};
use dovetail_isa::{Format, Latency, Traits};
use std::ops::Range;

/// Loads of one kind in a row form a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadKind {
    Scalar,
    Vector,
    Shared,
}

/// A load, with the properties that clauses and caches group by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) kind: LoadKind,
    /// The first register of the descriptor or scalar address.
    pub(super) base: Option<OperandValue>,
}

/// Properties of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    first: u32,
    end: u32,
    /// The load, if the unit is a single load.
    pub(super) load: Option<Load>,
    /// The longest latency class among its instructions.
    pub(super) latency: Latency,
    /// Whether it has to be the last unit of its block.
    pub(super) last: bool,
}

/// The units of a block before its tail, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units<'a>(&'a [Unit]);

impl Units<'_> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, unit: usize) -> &Unit {
        &self.0[unit]
    }

    /// The instructions of a unit, as indices into [`MachineFunction::insts`].
    pub(super) fn range(&self, unit: usize) -> Range<u32> {
        self.0[unit].first..self.0[unit].end
    }
}

/// The units of all blocks.
#[derive(Debug, Default)]
pub(super) struct AllUnits(Kept<Rows<Unit>>);

impl AllUnits {
    /// Cuts the blocks of a function into units.
    pub(super) fn new(f: &MachineFunction) -> Self {
        let mut all = Self::default();
        let mut ends = List::default();
        f.block_ids().for_each(|id| all.cut(f, id, &mut ends));
        all
    }

    /// The units of a block.
    pub(super) fn of(&self, id: BlockId) -> Units<'_> {
        Units(self.0.of(id.index()))
    }

    fn cut(&mut self, f: &MachineFunction, id: BlockId, ends: &mut List<(u32, u32)>) {
        let block = f.block(id);
        let insts = block.insts.start..block.tail;
        let at_end = matches!(block.term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. });
        ends.clear();
        // Backwards: a unit begins where no later instruction reads the content of SCC.
        let mut live = at_end;
        let mut end = insts.end;
        for n in insts.clone().rev() {
            let inst = &f.insts[n as usize];
            live &= !inst.writes_scc(f.isa);
            live |= f.reads_scc(inst);
            if !live || n == insts.start {
                ends.push((n, end));
                end = n;
            }
        }
        self.0.push(ends.iter().rev().map(|(first, end)| unit(f, *first, *end)));
        if let Some(last) = self.0.of_mut(id.index()).last_mut() {
            last.last |= at_end;
        }
    }
}

fn unit(f: &MachineFunction, first: u32, end: u32) -> Unit {
    let insts = &f.insts[first as usize..end as usize];
    let latency = insts.iter().map(|inst| latency(f, inst)).max_by_key(|latency| latency.result());
    let last = insts.iter().any(|inst| inst.op == Opcode::Pseudo(Pseudo::Return));
    let load = if let [inst] = insts { load(f, inst) } else { None };
    Unit { first, end, load, latency: latency.unwrap_or(Latency::Salu), last }
}

/// The latency class of an instruction.
pub(super) fn latency(f: &MachineFunction, inst: &MachineInst) -> Latency {
    match inst.op {
        Opcode::Isa(op) => f.isa.row(op).latency,
        Opcode::Pseudo(Pseudo::Copy) => Latency::Valu,
        Opcode::Pseudo(Pseudo::Choose | Pseudo::TableAddress) => Latency::Salu,
        Opcode::Pseudo(_) => Latency::None,
    }
}

fn load(f: &MachineFunction, inst: &MachineInst) -> Option<Load> {
    let row = f.isa.row(inst.isa()?);
    if !row.is(Traits::LOADS) {
        return None;
    }
    let kind = match row.format {
        Format::Smem => LoadKind::Scalar,
        Format::Ds => LoadKind::Shared,
        _ => LoadKind::Vector,
    };
    let scalar = |run: &[Operand]| match run.first()?.what {
        what @ OperandValue::Val(val) if f.class(val) == RegisterClass::Scalar => Some(what),
        what @ OperandValue::Fixed(_) => Some(what),
        _ => None,
    };
    Some(Load { kind, base: runs(f.uses(inst)).find_map(scalar) })
}

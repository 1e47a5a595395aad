//! Combines instructions: signs as modifiers, three-operand sums, bit fields, conversions of parts of registers,
//! operations on values of other lanes.
//!
//! It walks each block once. For each instruction it looks at the instructions that make its operands, only in the same
//! block: there a scalar value means the same for all lanes that see the result, and no live range becomes longer.
//! Instructions that become unused are removed afterwards. Operands are visited before their users, so chains combine.

mod across;
mod bits;
mod constants;
mod descriptors;
mod loads;
mod mix;
mod packed;
mod results;
mod runs;
mod scalar;
mod shared;
mod signs;
mod three;

#[cfg(test)]
mod tests;

use super::mir::{
    self, Cond, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, Term, Val,
};
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Op;
use smallvec::SmallVec;

/// Operands of an instruction.
type Operands = SmallVec<[Operand; 4]>;

/// Combines the instructions of a verified function.
pub fn run(f: &mut MachineFunction) {
    runs::share(f);
    let mut uses = filled(f.values.len(), 0u32);
    let edges = f.blocks.iter().flat_map(|block| &block.edges).flat_map(|edge| f.args(edge));
    for val in f.insts.iter().flat_map(|inst| f.uses(inst)).chain(edges).filter_map(|one| one.as_val()) {
        uses[val.index()] += 1;
    }
    let mut in_runs = filled(f.values.len(), false);
    let runs = f.insts.iter().flat_map(|inst| mir::runs(f.uses(inst))).filter(|run| run.len() > 1);
    runs.flatten().filter_map(|one| one.as_val()).for_each(|val| in_runs[val.index()] = true);
    let mut it = Combine {
        in_runs,
        made: filled(f.values.len(), None),
        unmixed: filled(f.values.len(), 0),
        gone: filled(f.insts.len(), false),
        names: filled(f.values.len(), None),
        uses,
        start: 0,
        lanes_set: None,
        f,
    };
    for n in 0..it.f.blocks.len() {
        let block = it.f.blocks[n].clone();
        it.block(&block);
    }
    for n in 0..it.f.insts.len() as u32 {
        it.used_results(n);
    }
    let (gone, names) = (it.gone, it.names);
    for one in &mut f.operands {
        rename(&names, one);
    }
    super::dead::remove(f, &gone);
}

struct Combine<'a> {
    f: &'a mut MachineFunction,
    /// By value, the instruction that makes it, if it is no variable.
    made: List<Option<u32>>,
    uses: List<u32>,
    /// By value that is a conversion from f16: the number of its uses that need the conversion. Other values' numbers
    /// mean nothing.
    unmixed: List<u32>,
    /// By instruction, whether it is to be removed.
    gone: List<bool>,
    /// By value: whether it was in a run of uses before any value was renamed.
    in_runs: List<bool>,
    /// By value: the value that replaces it, if one does.
    names: List<Option<Val>>,
    /// First instruction of the block at hand.
    start: u32,
    /// The last instruction of the block, up to here, that turns lanes on or off.
    lanes_set: Option<u32>,
}

impl Combine<'_> {
    fn block(&mut self, block: &MachineBlock) {
        self.start = block.insts.start;
        self.lanes_set = None;
        let scc = self.scc_live(block);
        self.mixed_uses(block);
        for n in block.insts.clone() {
            let inst = self.f.insts[n as usize];
            let uses = (inst.operands + u32::from(inst.defs)) as usize;
            for one in &mut self.f.operands[uses..uses + usize::from(inst.uses)] {
                rename(&self.names, one);
            }
            let scc_live = scc[(n - self.start) as usize];
            if let Opcode::Isa(op) = inst.op {
                self.signs(n, op);
                self.packed_signs(n, op);
                self.halves(n, op);
                self.high_sources(n, op);
                self.shift_amount(n, op);
                let _ = self.clamp(n, op)
                    || self.masked(n, op)
                    || self.across_lanes(n, op)
                    || self.mixed_sources(n, op)
                    || self.mixed_result(n, op)
                    || self.packed_product(n, op)
                    || self.half_result(n, op)
                    || self.three(n, op)
                    || self.bits(n, op)
                    || self.test(n, op)
                    || self.scalar(n, op, scc_live);
            }
            if self.f.writes_exec(&self.f.insts[n as usize]) {
                self.lanes_set = Some(n);
            }
            let inst = self.f.insts[n as usize];
            for val in self.f.defs(&inst).iter().filter_map(|one| one.as_val()) {
                let data = self.f.values[val.index()];
                self.made[val.index()] = Some(n).filter(|_| !data.variable && !self.gone[n as usize]);
            }
        }
        self.repeated_m0(block);
        self.repeated_tests(block);
        self.loads(block);
        self.descriptors(block);
        self.repeated_constants(block);
        self.shared_pairs(block);
    }

    /// By instruction of a block, whether SCC is read after it before it is written again.
    fn scc_live(&self, block: &MachineBlock) -> List<bool> {
        let mut live = matches!(block.term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. });
        let mut out = filled(block.insts.len(), false);
        for (place, n) in out.iter_mut().zip(block.insts.clone()).rev() {
            *place = live;
            let inst = &self.f.insts[n as usize];
            live &= !inst.writes_scc(self.f.isa);
            live |= self.f.reads_scc(inst);
        }
        out
    }

    /// The instruction of this block that makes an operand, and its operation.
    fn maker(&self, operand: Operand) -> Option<(u32, MachineInst, Op)> {
        let val = operand.as_val().filter(|_| operand.run == 1)?;
        let n = self.made[val.index()].filter(|n| *n >= self.start)?;
        let inst = self.f.insts[n as usize];
        Some((n, inst, inst.isa()?))
    }

    /// [`Combine::maker`] for a plain operation with one result and single sources, whose result has no other use.
    fn only_maker(&self, operand: Operand) -> Option<(Op, Operands)> {
        let (_, inst, op) = self.maker(operand)?;
        (self.used_once(operand) && inst.extra == Extra::None && !inst.tied && inst.defs == 1).then_some(())?;
        let sources = self.sources(&inst)?;
        Some((op, sources))
    }

    /// Whether a value has no other use.
    fn used_once(&self, operand: Operand) -> bool {
        operand.as_val().is_some_and(|val| self.uses[val.index()] == 1)
    }

    /// The sources of an instruction, if none of them can change later in the block.
    fn sources(&self, inst: &MachineInst) -> Option<Operands> {
        let uses = self.f.uses(inst);
        let lasting = |one: &Operand| match one.what {
            OperandValue::Val(val) => one.run == 1 && !self.f.values[val.index()].variable,
            OperandValue::Const(_) | OperandValue::Reloc(_) => true,
            OperandValue::Fixed(_) | OperandValue::Undef => false,
        };
        uses.iter().all(lasting).then(|| uses.iter().copied().collect())
    }

    /// Whether an operand is a value in a vector register.
    fn is_vector(&self, operand: Operand) -> bool {
        operand.as_val().is_some_and(|val| self.f.class(val) == super::mir::RegisterClass::Vector)
    }

    /// Gives an instruction another operation and other sources.
    fn replace(&mut self, n: u32, op: Op, sources: &[Operand], extra: Extra) {
        let old = self.f.insts[n as usize];
        let defs: Operands = self.f.defs(&old).iter().copied().collect();
        self.count(n, false);
        let operands = self.f.operands.len() as u32;
        self.f.operands.extend(defs);
        self.f.operands.extend_from_slice(sources);
        let uses = sources.len() as u8;
        self.f.insts[n as usize] = MachineInst { op: Opcode::Isa(op), operands, uses, tied: false, extra, ..old };
        self.count(n, true);
    }

    /// Replaces an instruction's result with another value, and removes the instruction.
    fn alias(&mut self, n: u32, new: Val, old: Val) {
        self.remove(n);
        self.uses[old.index()] += self.uses[new.index()];
        self.names[new.index()] = Some(old);
    }

    /// Removes an instruction.
    fn remove(&mut self, n: u32) {
        self.count(n, false);
        self.gone[n as usize] = true;
    }

    /// Adds the uses that an instruction makes to the counts in `uses`, or subtracts them.
    fn count(&mut self, n: u32, more: bool) {
        let inst = self.f.insts[n as usize];
        let vals: SmallVec<[Val; 8]> = self.f.uses(&inst).iter().filter_map(|one| one.as_val()).collect();
        for val in vals {
            let uses = &mut self.uses[val.index()];
            *uses = if more { *uses + 1 } else { *uses - 1 };
        }
    }
}

/// The constant among two operands, and the other operand.
fn with_constant(a: Operand, b: Operand) -> Option<(u32, Operand)> {
    a.as_const().map(|bits| (bits, b)).or_else(|| b.as_const().map(|bits| (bits, a)))
}

/// The number of low bits that a mask keeps, if it keeps exactly the lowest bits.
const fn low_bits(mask: u32) -> Option<u32> {
    let count = mask.trailing_ones();
    if count > 0 && mask.count_ones() == count { Some(count) } else { None }
}

/// The final name of a value; a replacement is final itself, because it was looked up when it was recorded.
fn rename(names: &[Option<Val>], operand: &mut Operand) {
    if let OperandValue::Val(val) = operand.what
        && let Some(Some(name)) = names.get(val.index())
    {
        operand.what = OperandValue::Val(*name);
    }
}

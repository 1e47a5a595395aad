//! Removes instructions whose results nothing uses: selection makes addresses that it then folds into the accesses.
//!
//! One walk backwards. A value that only goes around a loop keeps itself alive; such are gone before selection.

use super::mir::{Cond, MachineFunction, MachineInst, Opcode, Operand, Pseudo, Term};
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Traits;

/// Effects of an instruction other than writing its results.
const EFFECTS: Traits = Traits::STORES
    .or(Traits::ATOMIC)
    .or(Traits::ACTS)
    .or(Traits::MESSAGE)
    .or(Traits::BARRIER)
    .or(Traits::ENDS)
    .or(Traits::WAITS)
    .or(Traits::INVALIDATES)
    .or(Traits::TIMER)
    .or(Traits::INDIRECT)
    .or(Traits::EXEC_OUT)
    .or(Traits::EXEC_COMBINED);

/// Removes what is dead.
pub fn run(f: &mut MachineFunction) {
    let mut uses = filled(f.values.len(), 0u32);
    let count = |uses: &mut [u32], operands: &[Operand]| {
        operands.iter().filter_map(|o| o.as_val()).for_each(|val| uses[val.index()] += 1);
    };
    f.insts.iter().for_each(|inst| count(&mut uses, f.uses(inst)));
    f.blocks.iter().flat_map(|b| &b.edges).for_each(|edge| count(&mut uses, f.args(edge)));

    let mut dead = filled(f.insts.len(), false);
    for block in f.blocks.iter().rev() {
        let mut scc = matches!(block.term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. });
        for n in block.insts.clone().rev() {
            let inst = &f.insts[n as usize];
            if !(scc && inst.writes_scc(f.isa)) && is_pure(f, inst) && unused(f, inst, &uses) {
                dead[n as usize] = true;
                f.uses(inst).iter().filter_map(|o| o.as_val()).for_each(|val| uses[val.index()] -= 1);
                continue;
            }
            if inst.writes_scc(f.isa) {
                scc = false;
            }
            scc |= f.reads_scc(inst);
        }
    }
    remove(f, &dead);
}

/// Whether an instruction only writes its results.
fn is_pure(f: &MachineFunction, inst: &MachineInst) -> bool {
    match inst.op {
        Opcode::Pseudo(Pseudo::Copy | Pseudo::Choose | Pseudo::TableAddress) => true,
        Opcode::Pseudo(Pseudo::Return | Pseudo::Fence) => false,
        Opcode::Isa(_) => !inst.is(f.isa, EFFECTS),
    }
}

/// Whether it has results and none is used: no value, and no fixed register or variable that may be read.
fn unused(f: &MachineFunction, inst: &MachineInst, uses: &[u32]) -> bool {
    let of_no_use = |operand: &Operand| {
        operand.as_val().is_some_and(|val| uses[val.index()] == 0 && !f.values[val.index()].variable)
    };
    inst.defs > 0 && f.defs(inst).iter().all(of_no_use)
}

/// Removes instructions.
pub(super) fn remove(f: &mut MachineFunction, dead: &[bool]) {
    let mut kept = List::default();
    for block in &mut f.blocks {
        let first = kept.len() as u32;
        let mut tail = None;
        for n in block.insts.clone() {
            if n == block.tail {
                tail = Some(kept.len() as u32);
            }
            if !dead[n as usize] {
                kept.push(f.insts[n as usize]);
            }
        }
        block.insts = first..kept.len() as u32;
        block.tail = tail.unwrap_or(block.insts.end);
    }
    f.insts = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{BlockId, Extra, MachineBlock, RegisterClass, Val};
    use dovetail_base::target::{Gpu, Stage, WaveSize};
    use dovetail_isa::Isa;
    use dovetail_isa::Op;
    use smallvec::SmallVec;

    fn push(f: &mut MachineFunction, op: Op, def: Option<Val>, uses: &[Val]) {
        let operands = f.operands.len() as u32;
        f.operands.extend(def.iter().chain(uses).map(|val| Operand::val(*val)));
        let (defs, uses) = (u8::from(def.is_some()), uses.len() as u8);
        f.insts.push(MachineInst { op: Opcode::Isa(op), operands, defs, uses, tied: false, extra: Extra::None });
    }

    #[test]
    fn what_only_dead_code_uses_is_dead_and_the_carry_of_a_dead_sum_is_not() {
        let mut f = MachineFunction::new(Isa::of(Gpu::Gfx1030), Stage::Compute, WaveSize::W32);
        let vals: Vec<Val> = (0..6).map(|_| f.value(RegisterClass::Scalar)).collect();
        push(&mut f, Op::SMovB32, Some(vals[0]), &[]);
        push(&mut f, Op::SAddU32, Some(vals[1]), &[vals[0], vals[0]]);
        push(&mut f, Op::SAddcU32, Some(vals[2]), &[vals[0], vals[0]]);
        push(&mut f, Op::SAddU32, Some(vals[3]), &[vals[2], vals[0]]);
        push(&mut f, Op::SAddU32, Some(vals[4]), &[vals[3], vals[0]]);
        // The last writes the SCC of the branch, and nothing uses its sum.
        push(&mut f, Op::SAddU32, Some(vals[5]), &[vals[2], vals[0]]);
        let term = Term::Branch { when: Cond::Scc1, then: BlockId(0), els: BlockId(0) };
        f.blocks.push(MachineBlock { params: 0..0, insts: 0..6, tail: 6, edges: SmallVec::new(), term, depth: 0 });
        run(&mut f);
        let left: Vec<Val> = f.insts.iter().filter_map(|inst| f.defs(inst)[0].as_val()).collect();
        assert_eq!(left, [vals[0], vals[1], vals[2], vals[5]]);
        assert_eq!((f.blocks[0].insts.clone(), f.blocks[0].tail), (0..4, 4));
    }
}

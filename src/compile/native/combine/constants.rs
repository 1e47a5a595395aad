//! Constants in vector registers: one that is repeated shortly after is not moved to a register again.

use super::Combine;
use crate::mir::{Extra, MachineBlock, OperandValue, RegisterClass, Val};
use dovetail_base::workspace::List;
use dovetail_isa::Op;

/// Most instructions from one move of a constant to the next for which its register is kept.
const REACH: u32 = 64;

/// A constant in a vector register, the value that holds it, and the index of the last move of the constant.
struct Held {
    bits: u32,
    val: Val,
    last: u32,
}

impl Combine<'_> {
    /// Removes moves of a constant that another vector register has.
    pub(super) fn repeated_constants(&mut self, block: &MachineBlock) {
        let mut held = List::<Held>::default();
        for n in block.insts.clone() {
            if self.gone[n as usize] {
                continue;
            }
            if self.f.writes_exec(&self.f.insts[n as usize]) {
                // Lanes that are turned on here have not been written.
                held.clear();
            }
            let Some((val, bits)) = self.moved_constant(n) else { continue };
            held.retain(|one| n - one.last <= REACH);
            match held.iter_mut().find(|one| one.bits == bits) {
                Some(one) => {
                    one.last = n;
                    self.alias(n, val, one.val);
                }
                None => held.push(Held { bits, val, last: n }),
            }
        }
    }

    /// The value and the constant of a move to a vector register whose place is not fixed.
    fn moved_constant(&self, n: u32) -> Option<(Val, u32)> {
        let inst = &self.f.insts[n as usize];
        let (Some(Op::VMovB32), Extra::None) = (inst.isa(), inst.extra) else { return None };
        let ([made], [source]) = (self.f.defs(inst), self.f.uses(inst)) else { return None };
        let (OperandValue::Val(val), OperandValue::Const(bits)) = (made.what, source.what) else { return None };
        let data = self.f.values[val.index()];
        let free = !data.variable && !self.in_runs[val.index()] && self.f.class(val) == RegisterClass::Vector;
        free.then_some((val, bits))
    }
}

//! Narrows reads to the results that are used: fewer registers, and less data from memory.

use super::Combine;
use crate::mir::{Extra, MachineInst, Opcode, OperandValue, Val, run_of};
use crate::widths::{FORMAT_LOADS, SCALAR_LOADS, VECTOR_ACCESSES};
use dovetail_isa::{Op, Traits};
use smallvec::SmallVec;

/// Operations that write all of their results, whatever the mask says.
const WHOLE: Traits = Traits::FOUR.or(Traits::RAY).or(Traits::RAW).or(Traits::ATOMIC);

impl Combine<'_> {
    /// Drops unused results of a read: any channels of an image, the last dwords of memory.
    pub(super) fn used_results(&mut self, n: u32) {
        let inst = self.f.insts[n as usize];
        let Some(op) = inst.isa().filter(|_| inst.defs > 1 && !inst.tied && !self.gone[n as usize]) else { return };
        let entry = self.f.isa.row(op);
        if !entry.is(Traits::LOADS.or(Traits::SIZE_QUERY)) || entry.is(WHOLE) {
            return;
        }
        let results: SmallVec<[Val; 16]> = self.f.defs(&inst).iter().filter_map(|one| one.as_val()).collect();
        let used = |val: &Val| self.uses[val.index()] > 0 || self.f.values[val.index()].variable;
        let Some(last) = results.iter().rposition(used).filter(|_| results.len() == usize::from(inst.defs)) else {
            return;
        };
        if let Extra::Image { dmask, tfe: false, .. } = inst.extra {
            if dmask.count_ones() as usize == results.len() {
                let channels = (0..8).filter(|channel| dmask >> channel & 1 == 1);
                let kept = channels.zip(&results).filter(|(_, val)| used(val)).fold(0, |mask, (k, _)| mask | 1 << k);
                let results: SmallVec<[Val; 16]> = results.iter().copied().filter(used).collect();
                self.give(n, op, &results, with_channels(inst.extra, kept));
            }
        } else if let Some((op, count)) = narrower(op, last + 1) {
            match inst.extra {
                Extra::Descriptors { first, count: 1 } => self.f.descriptors[first as usize].dwords = count as u8,
                Extra::Descriptors { .. } => return,
                _ => {}
            }
            self.give(n, op, &results[..count], inst.extra);
        }
    }

    /// Reduces the results of an instruction.
    fn give(&mut self, n: u32, op: Op, results: &[Val], extra: Extra) {
        let old = self.f.insts[n as usize];
        if results.len() == usize::from(old.defs) {
            return;
        }
        let uses = old.use_places();
        let operands = self.f.operands.len() as u32;
        let count = results.len() as u8;
        self.f.operands.extend(run_of(results.iter().map(|val| OperandValue::Val(*val))));
        self.f.operands.extend_from_within(uses);
        self.f.insts[n as usize] = MachineInst { op: Opcode::Isa(op), operands, defs: count, extra, ..old };
    }
}

const fn with_channels(mut extra: Extra, channels: u8) -> Extra {
    if let Extra::Image { dmask, .. } = &mut extra {
        *dmask = channels;
    }
    extra
}

/// The smallest load of the same kind with at least this many dwords, and its number of dwords.
fn narrower(op: Op, wanted: usize) -> Option<(Op, usize)> {
    let scalar = SCALAR_LOADS.map(|(dwords, by_address, by_descriptor)| (dwords, [by_address, by_descriptor]));
    let vector = VECTOR_ACCESSES.map(|(bytes, by_descriptor, _, by_address, _)| (bytes, [by_descriptor, by_address]));
    for kind in 0..2 {
        if scalar.iter().any(|(_, ops)| ops[kind] == op) {
            return scalar.iter().find(|(dwords, _)| *dwords >= wanted).map(|(dwords, ops)| (ops[kind], *dwords));
        }
        if vector.iter().any(|(_, ops)| ops[kind] == op) {
            return vector.iter().find(|row| row.0 as usize == 4 * wanted).map(|(_, ops)| (ops[kind], wanted));
        }
        if FORMAT_LOADS[kind].contains(&op) {
            return FORMAT_LOADS[kind].get(wanted - 1).map(|op| (*op, wanted));
        }
    }
    None
}

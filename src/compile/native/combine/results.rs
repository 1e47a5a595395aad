//! Reads give what is used of them: fewer registers, and less that memory has to send.

use super::Combine;
use crate::compile::native::mir::{Extra, Inst, Opcode, Operand, Val, What};
use crate::isa::{Op, Traits};
use smallvec::SmallVec;

/// Loads that differ in how many dwords or channels they give, of one to four.
const VECTOR: [[Op; 4]; 4] = [
    [Op::BufferLoadDword, Op::BufferLoadDwordx2, Op::BufferLoadDwordx3, Op::BufferLoadDwordx4],
    [Op::BufferLoadFormatX, Op::BufferLoadFormatXy, Op::BufferLoadFormatXyz, Op::BufferLoadFormatXyzw],
    [Op::TbufferLoadFormatX, Op::TbufferLoadFormatXy, Op::TbufferLoadFormatXyz, Op::TbufferLoadFormatXyzw],
    [Op::GlobalLoadDword, Op::GlobalLoadDwordx2, Op::GlobalLoadDwordx3, Op::GlobalLoadDwordx4],
];

/// The same of the scalar unit, of 1, 2, 4, 8 and 16 dwords.
const SCALAR: [[Op; 5]; 2] = [
    [Op::SLoadDword, Op::SLoadDwordx2, Op::SLoadDwordx4, Op::SLoadDwordx8, Op::SLoadDwordx16],
    [
        Op::SBufferLoadDword,
        Op::SBufferLoadDwordx2,
        Op::SBufferLoadDwordx4,
        Op::SBufferLoadDwordx8,
        Op::SBufferLoadDwordx16,
    ],
];

/// What gives all of its results at once, whatever its mask says.
const WHOLE: Traits = Traits::FOUR.or(Traits::RAY).or(Traits::RAW).or(Traits::ATOMIC);

impl Combine<'_> {
    /// Leaves out results of a read that nothing uses: any channels of an image, the last dwords of memory.
    pub(super) fn used_results(&mut self, n: u32) {
        let inst = self.f.insts[n as usize];
        let Some(op) = inst.isa().filter(|_| inst.defs > 1 && !inst.tied && !self.gone[n as usize]) else { return };
        let entry = op.entry(self.f.gfx);
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
            self.give(n, op, &results[..count], inst.extra);
        }
    }

    /// Replaces the results of an instruction by fewer of them.
    fn give(&mut self, n: u32, op: Op, results: &[Val], extra: Extra) {
        let old = self.f.insts[n as usize];
        if results.len() == usize::from(old.defs) {
            return;
        }
        let uses: SmallVec<[Operand; 16]> = self.f.uses(&old).iter().copied().collect();
        let operands = self.f.operands.len() as u32;
        let count = results.len() as u8;
        let run =
            (0..).zip(results).map(|(k, val)| Operand { what: What::Val(*val), run: if k == 0 { count } else { 0 } });
        self.f.operands.extend(run);
        self.f.operands.extend(uses);
        self.f.insts[n as usize] = Inst { op: Opcode::Isa(op), operands, defs: count, extra, ..old };
    }
}

const fn with_channels(mut extra: Extra, channels: u8) -> Extra {
    if let Extra::Image { dmask, .. } = &mut extra {
        *dmask = channels;
    }
    extra
}

/// The smallest load of the same kind that gives so many dwords, and how many it gives.
fn narrower(op: Op, wanted: usize) -> Option<(Op, usize)> {
    if let Some(ops) = VECTOR.iter().find(|ops| ops.contains(&op)) {
        return Some((ops[wanted - 1], wanted));
    }
    let ops = SCALAR.iter().find(|ops| ops.contains(&op))?;
    let size = wanted.next_power_of_two();
    Some((ops[size.trailing_zeros() as usize], size))
}

//! Scalar loads of neighbouring dwords, and of neighbouring descriptors, become one.
//!
//! Only loads by address with a constant offset: their addresses are valid whatever is loaded beside, while a load by
//! descriptor is checked as a whole.

use super::Combine;
use crate::mir::{Extra, MachineBlock, MachineInst, Opcode, Operand, OperandValue, Val, run_of, runs};
use crate::widths::SCALAR_LOADS;
use dovetail_base::workspace::List;
use dovetail_isa::Op;
use dovetail_isa::instruction::CachePolicy;
use smallvec::SmallVec;

/// Operations whose neighbours are merged (loads of dwords, loads of descriptors), and the sizes in dwords of the merged
/// loads, the longest first.
const MERGED: [(&[Op], &[usize]); 2] =
    [(&[Op::SLoadDword], &[8, 4, 2]), (&[Op::SLoadDwordx4, Op::SLoadDwordx8], &[16, 8])];

/// Loads farther apart are not merged, because their results would be live too long.
pub(super) const REACH: u32 = 96;

/// A load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    base: [Val; 2],
    offset: i32,
    inst: u32,
    results: SmallVec<[Val; 8]>,
}

impl Load {
    /// Whether this load reads the dwords directly after those of another one.
    fn follows(&self, other: &Self) -> bool {
        self.base == other.base && self.offset == other.offset + 4 * other.results.len() as i32
    }
}

impl Combine<'_> {
    /// Merges the loads of a block.
    pub(super) fn loads(&mut self, block: &MachineBlock) {
        for (ops, sizes) in MERGED {
            let loads = self.loads_by(ops, block.insts.start..block.tail);
            let mut rest = &loads[..];
            while let Some(first) = rest.first() {
                let goes_on = |pair: &&[Load]| pair[1].follows(&pair[0]) && pair[1].inst.abs_diff(first.inst) < REACH;
                let count = 1 + rest.windows(2).take_while(goes_on).count();
                let dwords = rest[..count].iter().scan(0, |sum, load| {
                    *sum += load.results.len();
                    Some(*sum)
                });
                let dwords: SmallVec<[usize; 16]> = dwords.collect();
                // A single load stays as it is.
                let ends_at = |size: &usize| dwords.iter().skip(1).position(|sum| sum == size).map(|n| (n + 2, *size));
                let several = sizes.iter().find_map(ends_at);
                let (these, others) = rest.split_at(several.map_or(1, |(count, _)| count));
                if let Some(op) = several.and_then(|(_, size)| SCALAR_LOADS.iter().find(|row| row.0 == size)) {
                    self.merge(op.1, these);
                }
                rest = others;
            }
        }
    }

    /// The loads by these operations, in order of their addresses.
    fn loads_by(&self, ops: &[Op], insts: std::ops::Range<u32>) -> List<Load> {
        let wanted = |n: &u32| self.f.insts[*n as usize].isa().is_some_and(|op| ops.contains(&op));
        let left = insts.filter(|n| !self.gone[*n as usize]).filter(wanted);
        let mut loads: List<Load> = left.filter_map(|n| self.load(n)).collect();
        loads.sort_unstable();
        loads
    }

    fn load(&self, n: u32) -> Option<Load> {
        let inst = &self.f.insts[n as usize];
        let Extra::Smem { offset, cache } = inst.extra else { return None };
        let mut sources = runs(self.f.uses(inst));
        let ([a, b], None) = (sources.next()?, sources.next()) else { return None };
        let base = [a.as_val()?, b.as_val()?];
        let results: SmallVec<[Val; 8]> = self.f.defs(inst).iter().filter_map(|one| one.as_val()).collect();
        let free = |val: &Val| !self.f.values[val.index()].variable;
        // A single dword may have its place in a run of another instruction; several dwords are a run of their own.
        let placed = results.len() == 1 && self.in_runs[results[0].index()];
        let whole = results.len() == usize::from(inst.defs) && results.iter().chain(&base).all(free) && !placed;
        (whole && cache == CachePolicy::default()).then_some(Load { base, offset, inst: n, results })
    }

    /// Replaces several loads with one, at the place of the first.
    fn merge(&mut self, op: Op, loads: &[Load]) {
        let Some((first, at)) = loads.first().zip(loads.iter().map(|load| load.inst).min()) else { return };
        let old = self.f.insts[at as usize];
        let uses: SmallVec<[Operand; 2]> = self.f.uses(&old).iter().copied().collect();
        let operands = self.f.operands.len() as u32;
        let results: SmallVec<[Val; 16]> = loads.iter().flat_map(|load| &load.results).copied().collect();
        self.f.operands.extend(run_of(results.iter().map(|val| OperandValue::Val(*val))));
        self.f.operands.extend(uses);
        let extra = Extra::Smem { offset: first.offset, cache: CachePolicy::default() };
        let defs = results.len() as u8;
        self.f.insts[at as usize] = MachineInst { op: Opcode::Isa(op), operands, defs, uses: 2, tied: false, extra };
        for load in loads.iter().filter(|load| load.inst != at) {
            self.remove(load.inst);
        }
    }
}

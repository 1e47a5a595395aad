//! Scalar loads of neighbouring dwords, and of neighbouring descriptors, become one.
//!
//! Only loads by address with a constant offset: their addresses are valid whatever is loaded beside, while a load by
//! descriptor is checked as a whole.

use super::Combine;
use crate::compile::native::mir::{Block, Extra, Inst, Opcode, Operand, Val, runs};
use crate::isa::Op;
use crate::isa::instruction::Cache;
use smallvec::SmallVec;

/// Loads of several dwords, the longest first.
const WIDE: [(usize, Op); 3] = [(8, Op::SLoadDwordx8), (4, Op::SLoadDwordx4), (2, Op::SLoadDwordx2)];

/// Loads of one descriptor, and of several.
const DESCRIPTORS: [Op; 2] = [Op::SLoadDwordx4, Op::SLoadDwordx8];
const SEVERAL: [(usize, Op); 2] = [(16, Op::SLoadDwordx16), (8, Op::SLoadDwordx8)];

/// Loads that are further apart stay, as their results would live long.
const REACH: u32 = 96;

/// A load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    base: [Val; 2],
    offset: i32,
    inst: u32,
    results: SmallVec<[Val; 4]>,
}

impl Load {
    /// Whether it reads what comes directly after another one, and is near it.
    fn follows(&self, other: &Self) -> bool {
        self.base == other.base
            && self.offset == other.offset + 4 * other.results.len() as i32
            && self.inst.abs_diff(other.inst) < REACH
    }
}

impl Combine<'_> {
    /// Merges the loads of a block.
    pub(super) fn loads(&mut self, block: &Block) {
        let insts = block.insts.start..block.tail;
        let loads = self.loads_by(&[Op::SLoadDword], insts.clone());
        let mut rest = &loads[..];
        while let Some(first) = rest.first() {
            let follows = |pair: &&[Load]| pair[1].follows(&pair[0]) && pair[1].inst.abs_diff(first.inst) < REACH;
            let count = 1 + rest.windows(2).take_while(follows).count();
            let wide = WIDE.iter().find(|(dwords, _)| *dwords <= count);
            let (these, others) = rest.split_at(wide.map_or(1, |(dwords, _)| *dwords));
            if let Some((_, op)) = wide {
                self.merge(*op, these);
            }
            rest = others;
        }
        let loads = self.loads_by(&DESCRIPTORS, insts);
        let mut rest = &loads[..];
        while let Some(first) = rest.first() {
            let follows = |pair: &&[Load]| pair[1].follows(&pair[0]) && pair[1].inst.abs_diff(first.inst) < REACH;
            let count = 1 + rest.windows(2).take_while(follows).count();
            let dwords = |count: usize| rest[..count].iter().map(|load| load.results.len()).sum::<usize>();
            let fits = |(total, op): &(usize, Op)| (2..=count).find(|n| dwords(*n) == *total).map(|n| (n, *op));
            let several = SEVERAL.iter().find_map(fits);
            let (these, others) = rest.split_at(several.map_or(1, |(count, _)| count));
            if let Some((_, op)) = several {
                self.merge(op, these);
            }
            rest = others;
        }
    }

    /// The loads by these operations, in order of their addresses.
    fn loads_by(&self, ops: &[Op], insts: std::ops::Range<u32>) -> Vec<Load> {
        let wanted = |n: &u32| self.f.insts[*n as usize].isa().is_some_and(|op| ops.contains(&op));
        let left = insts.filter(|n| !self.gone[*n as usize]).filter(wanted);
        let mut loads: Vec<Load> = left.filter_map(|n| self.load(n)).collect();
        loads.sort_unstable();
        loads
    }

    fn load(&self, n: u32) -> Option<Load> {
        let inst = &self.f.insts[n as usize];
        let Extra::Smem { offset, cache } = inst.extra else { return None };
        let mut sources = runs(self.f.uses(inst));
        let ([a, b], None) = (sources.next()?, sources.next()) else { return None };
        let base = [a.as_val()?, b.as_val()?];
        let results: SmallVec<[Val; 4]> = self.f.defs(inst).iter().filter_map(|one| one.as_val()).collect();
        let free = |val: &Val| !self.f.values[val.index()].variable;
        // A dword alone may have its place in another run; a descriptor is one.
        let placed = results.len() == 1 && self.in_runs[results[0].index()];
        let whole = results.len() == usize::from(inst.defs) && results.iter().chain(&base).all(free) && !placed;
        (whole && cache == Cache::default()).then_some(Load { base, offset, inst: n, results })
    }

    /// One load instead of several, where the first of them is.
    fn merge(&mut self, op: Op, loads: &[Load]) {
        let Some((first, at)) = loads.first().zip(loads.iter().map(|load| load.inst).min()) else { return };
        let old = self.f.insts[at as usize];
        let uses: SmallVec<[Operand; 2]> = self.f.uses(&old).iter().copied().collect();
        let operands = self.f.operands.len() as u32;
        let results: SmallVec<[Val; 16]> = loads.iter().flat_map(|load| &load.results).copied().collect();
        let run = |k: usize| if k == 0 { results.len() as u8 } else { 0 };
        self.f
            .operands
            .extend(results.iter().enumerate().map(|(k, val)| Operand { run: run(k), ..Operand::val(*val) }));
        self.f.operands.extend(uses);
        let extra = Extra::Smem { offset: first.offset, cache: Cache::default() };
        let defs = results.len() as u8;
        self.f.insts[at as usize] = Inst { op: Opcode::Isa(op), operands, defs, uses: 2, tied: false, extra };
        for load in loads.iter().filter(|load| load.inst != at) {
            self.remove(load.inst);
        }
    }
}

//! Scalar loads of neighbouring dwords become one.
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

/// Loads that are further apart stay, as their results would live long.
const REACH: u32 = 96;

/// A load of one dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    base: [Val; 2],
    offset: i32,
    inst: u32,
    result: Val,
}

impl Combine<'_> {
    /// Merges the loads of a block.
    pub(super) fn loads(&mut self, block: &Block) {
        let insts = block.insts.start..block.tail;
        let mut loads: Vec<Load> = insts.filter(|n| !self.gone[*n as usize]).filter_map(|n| self.load(n)).collect();
        loads.sort_unstable();
        let mut rest = &loads[..];
        while let Some(first) = rest.first() {
            let follows = |(k, load): (usize, &Load)| {
                load.base == first.base
                    && load.offset == first.offset + 4 * k as i32
                    && load.inst.abs_diff(first.inst) < REACH
            };
            let count = rest.iter().enumerate().take_while(|(k, load)| follows((*k, load))).count();
            let wide = WIDE.iter().find(|(dwords, _)| *dwords <= count);
            let (these, others) = rest.split_at(wide.map_or(1, |(dwords, _)| *dwords));
            if let Some((_, op)) = wide {
                self.merge(*op, these);
            }
            rest = others;
        }
    }

    fn load(&self, n: u32) -> Option<Load> {
        let inst = &self.f.insts[n as usize];
        let plain = inst.isa() == Some(Op::SLoadDword) && inst.defs == 1;
        let Extra::Smem { offset, cache } = inst.extra else { return None };
        let mut sources = runs(self.f.uses(inst));
        let ([a, b], None) = (sources.next()?, sources.next()) else { return None };
        let result = self.f.defs(inst).first()?.as_val()?;
        let free = |val: Val| !self.f.values[val.index()].variable;
        let (base, result) =
            ([a.as_val()?, b.as_val()?], Some(result).filter(|val| free(*val) && !self.in_runs[val.index()])?);
        (plain && cache == Cache::default() && base.into_iter().all(free)).then_some(Load {
            base,
            offset,
            inst: n,
            result,
        })
    }

    /// One load instead of several, where the first of them is.
    fn merge(&mut self, op: Op, loads: &[Load]) {
        let Some((first, at)) = loads.first().zip(loads.iter().map(|load| load.inst).min()) else { return };
        let old = self.f.insts[at as usize];
        let uses: SmallVec<[Operand; 2]> = self.f.uses(&old).iter().copied().collect();
        let operands = self.f.operands.len() as u32;
        let run = |k: usize| if k == 0 { loads.len() as u8 } else { 0 };
        let defs = loads.iter().enumerate().map(|(k, load)| Operand { run: run(k), ..Operand::val(load.result) });
        self.f.operands.extend(defs);
        self.f.operands.extend(uses);
        let extra = Extra::Smem { offset: first.offset, cache: Cache::default() };
        let defs = loads.len() as u8;
        self.f.insts[at as usize] = Inst { op: Opcode::Isa(op), operands, defs, uses: 2, tied: false, extra };
        for load in loads.iter().filter(|load| load.inst != at) {
            self.remove(load.inst);
        }
    }
}

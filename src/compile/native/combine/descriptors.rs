//! Loads of descriptors whose places the linker decides, one directly after the other, into consecutive registers: where
//! the layout makes them neighbours, the linker has one instruction load them all.
//!
//! Layouts place descriptors in the order of their bindings, so loads in that order are put together if their sizes
//! add up to those of one load.

use super::Combine;
use super::loads::REACH;
use crate::mir::{
    Extra, LinkedDescriptor, MachineBlock, MachineInst, Opcode, Operand, OperandValue, Val, run_of, runs,
};
use crate::widths::SCALAR_LOADS;
use dovetail_base::workspace::List;
use dovetail_reloc::symbol::PartLetter;
use smallvec::SmallVec;

/// Sizes in dwords of the loads that read several descriptors, the longest first.
const SIZES: [usize; 2] = [MOST, 8];
/// Dwords of the longest load.
const MOST: usize = 16;

/// A load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    /// The address of the set's table.
    table: [Val; 2],
    order: (u32, u32, PartLetter),
    inst: u32,
    descriptor: u32,
    /// The address of the root table.
    root: Option<[Val; 2]>,
    results: SmallVec<[Val; 8]>,
}

impl Load {
    /// Whether two loads may become one instruction, by their tables and their distance.
    fn goes_with(&self, first: &Self) -> bool {
        let one_root = self.root.is_none() || first.root.is_none() || self.root == first.root;
        self.table == first.table && one_root && self.inst.abs_diff(first.inst) < REACH
    }
}

impl Combine<'_> {
    /// Puts the loads of a block together.
    pub(super) fn descriptors(&mut self, block: &MachineBlock) {
        let left = (block.insts.start..block.tail).filter(|n| !self.gone[*n as usize]);
        let mut loads: List<Load> = left.filter_map(|n| self.descriptor(n)).collect();
        loads.sort_unstable();
        let mut rest = &loads[..];
        while let Some(first) = rest.first() {
            let (mut dwords, mut root) = (SmallVec::<[usize; 8]>::new(), first);
            for load in rest.iter().take_while(|load| load.goes_with(first)) {
                if !load.goes_with(root) {
                    break;
                }
                root = if root.root.is_none() { load } else { root };
                let sum = dwords.last().copied().unwrap_or(0) + load.results.len();
                if sum > MOST {
                    break;
                }
                dwords.push(sum);
            }
            // A single load stays as it is.
            let ends_at = |size: &usize| dwords.iter().skip(1).position(|sum| sum == size).map(|n| n + 2);
            let count = SIZES.iter().find_map(ends_at);
            let (these, others) = rest.split_at(count.unwrap_or(1));
            if count.is_some() {
                self.put_together(these);
            }
            rest = others;
        }
    }

    fn descriptor(&self, n: u32) -> Option<Load> {
        let inst = &self.f.insts[n as usize];
        let Extra::Descriptors { first: descriptor, count: 1 } = inst.extra else { return None };
        let mut sources = runs(self.f.uses(inst)).map(|run| match run {
            [a, b] => Some([a.as_val()?, b.as_val()?]),
            _ => None,
        });
        let table = sources.next()??;
        let root = match sources.next() {
            Some(root) => Some(root?),
            None => None,
        };
        let results: SmallVec<[Val; 8]> = self.f.defs(inst).iter().filter_map(|one| one.as_val()).collect();
        let order = self.f.descriptors[descriptor as usize].order;
        (results.len() == usize::from(inst.defs)).then_some(Load { table, order, inst: n, descriptor, root, results })
    }

    /// Replaces several loads with one, at the place of the first.
    fn put_together(&mut self, loads: &[Load]) {
        let results: SmallVec<[Val; 16]> = loads.iter().flat_map(|load| &load.results).copied().collect();
        let row = SCALAR_LOADS.iter().find(|row| row.0 == results.len());
        let Some((row, at)) = row.zip(loads.iter().map(|load| load.inst).min()) else { return };
        let Some(first) = loads.first() else { return };
        let uses: SmallVec<[Val; 4]> =
            first.table.into_iter().chain(loads.iter().find_map(|load| load.root).into_iter().flatten()).collect();
        let descriptors: SmallVec<[LinkedDescriptor; 4]> =
            loads.iter().map(|load| self.f.descriptors[load.descriptor as usize]).collect();
        for load in loads.iter().filter(|load| load.inst != at) {
            self.remove(load.inst);
        }
        self.count(at, false);
        let operands = self.f.operands.len() as u32;
        self.f.operands.extend(run_of(results.iter().map(|val| OperandValue::Val(*val))));
        for pair in uses.chunks(2) {
            let pair: SmallVec<[Operand; 2]> = run_of(pair.iter().map(|val| OperandValue::Val(*val))).collect();
            self.f.operands.extend(pair);
        }
        let extra = Extra::Descriptors { first: self.f.descriptors.len() as u32, count: descriptors.len() as u8 };
        self.f.descriptors.extend(descriptors);
        let (defs, uses) = (results.len() as u8, uses.len() as u8);
        self.f.insts[at as usize] = MachineInst { op: Opcode::Isa(row.1), operands, defs, uses, tied: false, extra };
        self.count(at, true);
    }
}

//! Places of spilled values: values that do not live at the same time share one.
//!
//! A value has its place from the first instruction where it lives to the last one in the order of the code, also where it
//! does not live in between. This is enough to share most places, and takes one walk over the code.

use crate::liveness::Liveness;
use crate::mir::{MachineFunction, Operand, Val};
use dovetail_base::workspace::{List, filled};

/// By value: the first and the last point of the code at which it lives. Instruction n has three points: `2 * n`,
/// before its operands are loaded; `2 * n + 1`, their loads; and `2 * n + 2`, where its results are stored, which is
/// the first point of the next instruction.
pub(super) struct Spans {
    first: List<u32>,
    last: List<u32>,
}

/// Places of some values.
pub(super) struct Places {
    /// By value: the number of its place.
    pub(super) of: List<Option<u32>>,
    /// Number of places.
    pub(super) count: u32,
}

impl Spans {
    /// The spans of a function's values.
    pub(super) fn new(f: &MachineFunction, live: &Liveness) -> Self {
        let mut it = Self { first: filled(f.values.len(), u32::MAX), last: filled(f.values.len(), 0) };
        for id in f.block_ids() {
            let block = f.block(id);
            let (start, end) = (2 * block.insts.start, 2 * block.insts.end);
            let entry = f.entry.iter().filter(|_| id.0 == 0).filter_map(|entry| entry.val);
            // Parameters are stored before the first operands are loaded.
            live.live_in(id).chain(f.params_of(block).iter().copied()).chain(entry).for_each(|val| {
                it.cover(val, start);
                it.cover(val, start + 1);
            });
            for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
                vals(f.uses(inst)).for_each(|val| it.cover(val, 2 * n + 1));
                // A result without a use is stored too: its place must not be that of another result of the
                // instruction.
                for val in vals(f.defs(inst)) {
                    it.cover(val, 2 * n + 2);
                    it.cover(val, 2 * n + 3);
                }
            }
            live.live_out(f, id).for_each(|val| it.cover(val, end));
            // Arguments are loaded after the last instruction has stored its results.
            block.edges.iter().flat_map(|edge| vals(f.args(edge))).for_each(|val| it.cover(val, end + 1));
        }
        it
    }

    fn cover(&mut self, val: Val, point: u32) {
        let (first, last) = (&mut self.first[val.index()], &mut self.last[val.index()]);
        (*first, *last) = (point.min(*first), point.max(*last));
    }

    /// Gives each wanted value a place. Values share one if their spans do not overlap.
    pub(super) fn share(&self, wanted: impl Fn(usize) -> bool) -> Places {
        let mut starts: List<usize> = (0..self.first.len()).filter(|val| wanted(*val)).collect();
        let mut ends: List<usize> = starts.iter().copied().collect();
        starts.sort_by_key(|val| self.first[*val]);
        ends.sort_by_key(|val| self.last[*val]);
        let mut places = Places { of: filled(self.first.len(), None), count: 0 };
        let (mut free, mut ended) = (List::<u32>::default(), 0);
        for &val in &starts {
            while let Some(end) = ends.get(ended).filter(|end| self.last[**end] <= self.first[val]) {
                free.extend(places.of[*end]);
                ended += 1;
            }
            places.of[val] = free.pop().or_else(|| {
                places.count += 1;
                Some(places.count - 1)
            });
        }
        places
    }
}

fn vals(operands: &[Operand]) -> impl Iterator<Item = Val> {
    operands.iter().filter_map(|operand| operand.as_val())
}

//! Folds moves between lanes into the instructions that use their results.

use super::Combine;
use crate::mir::Extra;
use crate::mir::sources::mirrored;
use dovetail_isa::{Format, Op, Traits};

impl Combine<'_> {
    /// A vector operation on the result of a `v_mov` with DPP reads the other lane itself.
    ///
    /// The move must write all active lanes, and the same lanes must be active at the operation.
    pub(super) fn across_lanes(&mut self, n: u32, op: Op) -> bool {
        let entry = self.f.isa.row(op);
        if entry.format != Format::Vop2 || !entry.is(Traits::DPP) {
            return false;
        }
        let inst = self.f.insts[n as usize];
        let Some([a, b]) = self.pair(&inst) else { return false };
        for (moved, other, op) in [(a, b, Some(op)), (b, a, mirrored(op))] {
            let Some(op) = op.filter(|_| self.is_vector(other)) else { continue };
            let Some((from, mov, Op::VMovB32)) = self.maker(moved) else { continue };
            let Extra::Dpp(dpp) = mov.extra else { continue };
            let all_written = dpp.bound_ctrl && dpp.row_mask == 0xf && dpp.bank_mask == 0xf && !mov.tied;
            let Some(source) = self.sources(&mov) else { continue };
            if self.used_once(moved) && all_written && self.lanes_set.is_none_or(|set| set < from) {
                self.replace(n, op, &[source[0], other], Extra::Dpp(dpp));
                return true;
            }
        }
        false
    }
}

//! Whole-wave code: computed with all lanes on, whichever are active.
//!
//! A reduction gives the identity to inactive lanes (`set_inactive`), computes with all lanes on, and returns to the
//! active lanes (`strict_wwm`). If lanes may wait elsewhere, their registers must not be overwritten, so all vector
//! values of whole-wave code are then variables, which share no registers.

use super::{Selector, mask_run};
use crate::layout::BlockLayout;
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::{AmdOp, LaneOp, Op as IrOp, Shader, Value};
use dovetail_isa::Op;

/// By value, whether it comes from `set_inactive` and has not been through `strict_wwm`.
pub(super) fn values(shader: &Shader, layout: &BlockLayout) -> List<bool> {
    let mut whole = filled(shader.values.len(), false);
    if !shader.has(|op| matches!(op, IrOp::Target(AmdOp::Lane(LaneOp::SetInactive)))) {
        return whole;
    }
    for &id in &layout.order {
        for &inst in &shader.block(id).insts {
            let inst = shader.inst(inst);
            let Some(result) = inst.result else { continue };
            whole[result.index()] = match inst.op {
                IrOp::Target(AmdOp::Lane(LaneOp::SetInactive)) => true,
                IrOp::Target(AmdOp::Lane(LaneOp::StrictWwm)) => false,
                _ => inst.args.iter().any(|v| whole[v.index()]),
            };
        }
    }
    whole
}

impl Selector<'_> {
    /// Activates all lanes before an instruction that needs them, and restores EXEC before one that does not.
    pub(super) fn switch_lanes(&mut self, result: Option<Value>) {
        let wanted = result.is_some_and(|v| self.whole[v.index()]);
        match (wanted, self.all_on) {
            (true, None) => {
                let saved = self.new_mask();
                self.all_on = Some(saved);
                self.wave_masks.clear();
                // Copies made for the active lanes are not valid for the others.
                self.other.clear();
                let op = self.lane_op(Op::SOrSaveexecB32, Op::SOrSaveexecB64);
                self.isa(op, &mask_run(self.wave, saved), &[Operand::constant(u32::MAX)], Extra::None);
            }
            (false, Some(saved)) => {
                self.all_on = None;
                self.wave_masks.clear();
                if self.plan.waits[self.here as usize] {
                    self.other.clear();
                }
                let saved = mask_run(self.wave, saved);
                self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &[Self::exec()], &saved, Extra::None);
            }
            _ => {}
        }
    }

    /// The value in active lanes, the identity in inactive ones. All lanes are on, because a copy that allocation
    /// inserts affects only the lanes that are on.
    pub(super) fn set_inactive(&mut self, args: &[Value], result: Value) -> Result<()> {
        let (value, identity) = (self.word(args[0])?, self.word(args[1])?);
        let active = self.all_on.ok_or_else(|| Error::bug("native: whole-wave code where not all lanes are on"))?;
        let made = self.by_mask(active, value, identity);
        self.set_val(result, made);
        Ok(())
    }

    /// Whether vector values made here must not share registers.
    pub(super) fn is_reserved(&self) -> bool {
        self.all_on.is_some() && self.plan.waits[self.here as usize]
    }

    /// The value in the active lanes.
    pub(super) fn strict_wwm(&mut self, args: &[Value], result: Value) -> Result<()> {
        let mut words = self.words(args[0])?;
        if self.plan.waits[self.here as usize] {
            for word in &mut words {
                if !self.is_scalar_word(*word) {
                    *word = OperandValue::Val(self.copy_to_vector(*word));
                }
            }
        }
        self.set(result, &words);
        Ok(())
    }
}

//! Live pixels and helper lanes: whole quads, demotion, exact writes, exports.
//!
//! A shader that needs helpers runs in whole quads from its first instruction on, with the mask of live pixels beside
//! EXEC. What others can see, writes and exports, is done by live pixels only. Demotion takes a pixel out of that mask
//! and leaves it in EXEC: it helps from then on.

use super::bools::Bool;
use super::{Dwords, Operands, Selector, mask_run};
use crate::mir::{Cond, Extra, Opcode, Operand, OperandValue, Term, Val};
use crate::plan::Go;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_ir::{Access, AmdOp, ExportTarget, LaneOp, LodMode, LowerInfo, MimgOp, Op as IrOp, Shader, Value};
use dovetail_isa::Op;
use smallvec::SmallVec;

/// Whether an operation reads what other pixels of the quad have.
fn needs_quad(op: &IrOp) -> bool {
    match op {
        IrOp::Target(AmdOp::Mimg(m)) => {
            let implicit = matches!(m.lod, LodMode::Implicit | LodMode::Bias);
            m.op == MimgOp::GetLod || implicit && matches!(m.op, MimgOp::Sample | MimgOp::Gather4)
        }
        IrOp::Target(AmdOp::Lane(LaneOp::Wqm)) => true,
        _ => false,
    }
}

/// Whether the mask of live pixels is kept.
pub(super) fn keeps_live(shader: &Shader) -> bool {
    shader.stage == Stage::Fragment
        && shader.has(|op| needs_quad(op) || matches!(op, IrOp::DemoteIf | IrOp::Target(AmdOp::Lane(LaneOp::LiveMask))))
}

impl Selector<'_> {
    /// At the start: saves the live pixels and, if any instruction needs helper lanes, activates them.
    pub(super) fn enter_quads(&mut self) {
        if !keeps_live(self.shader) {
            return;
        }
        let live = self.new_mask();
        for val in live {
            self.f.values[val.index()].variable = true;
        }
        self.live = Some(live);
        let run = mask_run(self.wave, live);
        self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &run, &[Self::exec()], Extra::None);
        if self.shader.has(needs_quad) {
            self.isa(self.lane_op(Op::SWqmB32, Op::SWqmB64), &[Self::exec()], &[Self::exec()], Extra::None);
        }
    }

    fn live_run(&self) -> Option<Operands> {
        self.live.map(|live| mask_run(self.wave, live))
    }

    /// Emits an access; for live pixels only if the access requires it.
    pub(super) fn accessing(&mut self, access: Access, done: impl FnOnce(&mut Self)) {
        let Some(live) = self.live_run().filter(|_| access.live_only) else { return done(self) };
        let all = self.new_mask();
        let all = mask_run(self.wave, all);
        let exec = Self::exec();
        self.isa(self.lane_op(Op::SAndSaveexecB32, Op::SAndSaveexecB64), &all, &live, Extra::None);
        done(self);
        self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &[exec], &all, Extra::None);
    }

    /// Enables only live pixels from here to the end of the block, which exports or ends the shader.
    pub(super) fn exact_to_the_end(&mut self) {
        if self.exact {
            return;
        }
        self.exact = true;
        let Some(live) = self.live_run() else { return };
        let exec = Self::exec();
        let mut uses: Operands = [exec].into_iter().collect();
        uses.extend(live);
        self.isa(self.lane_op(Op::SAndB32, Op::SAndB64), &[exec], &uses, Extra::None);
    }

    /// Makes pixels helpers.
    pub(super) fn demote(&mut self, cond: Value) -> Result<()> {
        let made = self.bool_of(cond)?;
        let mut mask = self.mask_from(made);
        if matches!(made, Bool::Mask(_)) {
            // Lanes that are inactive now may have been active where the condition was computed: they stay live.
            let active = self.new_mask();
            let mut uses: Operands = [Self::exec()].into_iter().collect();
            uses.extend(mask_run(self.wave, mask));
            self.isa(self.lane_op(Op::SAndB32, Op::SAndB64), &mask_run(self.wave, active), &uses, Extra::None);
            mask = active;
        }
        let live = self.live_run().ok_or_else(|| Error::bug("native: demotion without a mask of live pixels"))?;
        let mut uses = live.clone();
        uses.extend(mask_run(self.wave, mask));
        self.isa(self.lane_op(Op::SAndn2B32, Op::SAndn2B64), &live, &uses, Extra::None);
        Ok(())
    }

    /// Whether the wave ends after the block at a position if it has no live pixels. It continues if other lanes wait.
    pub(super) fn ends_early(&self, position: u32) -> bool {
        let exit = &self.plan.exits[position as usize];
        let last = self.shader.block(self.layout.order[position as usize]).insts.last();
        let ends = last.is_some_and(|id| self.shader.inst(*id).op == IrOp::EndIfDead);
        ends && matches!(exit.go, Go::To(_)) && exit.wait.is_empty() && exit.wait_if.is_empty()
    }

    /// Sets SCC if any pixel is live, at the end of a block that starts with the instruction `start`.
    pub(super) fn any_live(&mut self, start: u32) -> Result<Cond> {
        let live = self.live.ok_or_else(|| Error::bug("native: an early end without a mask of live pixels"))?;
        // A demotion sets it already.
        let demotes = self.f.insts[start as usize..].last().is_some_and(|inst| {
            let removes = matches!(inst.op, Opcode::Isa(Op::SAndn2B32 | Op::SAndn2B64));
            removes && self.f.defs(inst).first().and_then(|one| one.as_val()) == Some(live[0])
        });
        Ok(if demotes { Cond::Scc1 } else { self.put_in_scc(Bool::Mask(live)) })
    }

    /// Emits the block in which the wave ends, after a block with an early end.
    pub(super) fn dead_end(&mut self, info: &LowerInfo) {
        let start = self.open();
        if info.color_export || info.depth_export {
            let none = Operand::constant(0);
            self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &[Self::exec()], &[none], Extra::None);
            let facts = self.isa.facts();
            let target = match (facts.null_exports, info.color_export) {
                (true, _) => ExportTarget::Null,
                (false, true) => ExportTarget::Mrt(0),
                (false, false) => ExportTarget::MrtZ,
            };
            let (target, vm) = (target.number(), facts.valid_mask_bit);
            let extra = Extra::Export { target, enabled: 0, compr: false, done: true, vm };
            self.isa(Op::Exp, &[], &[Operand::one(OperandValue::Undef); 4], extra);
        }
        let params = self.f.params.len() as u32;
        self.close(start, self.open(), params..params, SmallVec::new(), Term::End);
    }

    /// The live pixels among the active ones, as a condition.
    pub(super) fn live_mask(&mut self) -> Result<[Val; 2]> {
        let live = self.live_run().ok_or_else(|| Error::bug("native: no mask of live pixels"))?;
        let made = self.new_mask();
        let mut uses: Operands = [Self::exec()].into_iter().collect();
        uses.extend(live);
        self.isa(self.lane_op(Op::SAndB32, Op::SAndB64), &mask_run(self.wave, made), &uses, Extra::None);
        Ok(made)
    }

    /// An export. Disabled or undefined channels take no register.
    pub(super) fn export(
        &mut self,
        target: ExportTarget,
        enabled: u8,
        compr: bool,
        (done, vm): (bool, bool),
        args: &[Value],
    ) -> Result<()> {
        let mut words = Dwords::new();
        for n in 0..4 {
            let bit = if compr { 3 << (2 * n) } else { 1u8 << n };
            let on = (!compr || n < 2) && enabled & bit != 0;
            words.push(match args.get(n).filter(|_| on) {
                Some(v) => self.word(*v)?,
                None => OperandValue::Undef,
            });
        }
        let uses = self.vectors_apart(&words);
        self.exact_to_the_end();
        let facts = self.isa.facts();
        let vm = vm && facts.valid_mask_bit;
        let (enabled, compr) = match compr && !facts.compressed_exports {
            true => (enabled & 1 | enabled >> 1 & 2, false),
            false => (enabled, compr),
        };
        let extra = Extra::Export { target: target.number(), enabled, compr, done, vm };
        self.isa(Op::Exp, &[], &uses, extra);
        Ok(())
    }
}

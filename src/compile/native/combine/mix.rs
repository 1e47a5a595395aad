//! Float sums and products with f16 operands or results: `v_fma_mix` includes the conversion.

use super::signs::{ONE, plain_or};
use super::{Combine, Operands};
use crate::mir::sources::{PLAIN, is_literal};
use crate::mir::{Extra, MachineBlock, Operand, OperandValue};
use dovetail_isa::Op;
use dovetail_isa::instruction::Modifiers;

/// Operations that `v_fma_mix` can replace.
const MIXED: [Op; 5] = [Op::VFmaF32, Op::VMulF32, Op::VAddF32, Op::VSubF32, Op::VSubrevF32];

impl Combine<'_> {
    /// Notes the conversions from f16 of a block that are used only by operations that [`Combine::mixed_sources`] can
    /// change, as far as can be seen from their sources.
    pub(super) fn mixed_uses(&mut self, block: &MachineBlock) {
        for n in block.insts.clone() {
            let inst = self.f.insts[n as usize];
            let Some(op) = inst.isa() else { continue };
            if let (Op::VCvtF32F16, [made]) = (op, self.f.defs(&inst))
                && let Some(val) = made.as_val()
            {
                self.unmixed[val.index()] = self.uses[val.index()];
            } else if MIXED.contains(&op) && plain_or(inst.extra).is_some_and(|mods| mods.omod == 0 && mods.op_sel == 0)
            {
                let literal = self.f.uses(&inst).iter().any(|one| is_literal(one.what));
                for n in 0..if literal { 0 } else { self.f.uses(&inst).len() } {
                    if let Some(val) = self.f.uses(&inst)[n].as_val() {
                        let left = &mut self.unmixed[val.index()];
                        *left = left.wrapping_sub(1);
                    }
                }
            }
        }
    }

    /// Whether no use of a conversion's result needs the conversion, so that it can be removed.
    fn always_mixed(&self, one: Operand) -> bool {
        self.used_once(one) || one.as_val().is_some_and(|val| self.unmixed[val.index()] == 0)
    }

    /// Reads f16 operands directly if each conversion is used only by operations that do.
    pub(super) fn mixed_sources(&mut self, n: u32, op: Op) -> bool {
        let Some((mut uses, mut mods)) = self.as_mix(n, op) else { return false };
        let (mut halves, mut high) = (0, 0);
        for (i, one) in uses.iter_mut().enumerate() {
            let Some((_, cvt, Op::VCvtF32F16)) = self.maker(*one) else { continue };
            // Selector 5 is the high half.
            let part = match cvt.extra {
                Extra::None => 0,
                Extra::Sdwa(sdwa, PLAIN) if sdwa.src_sel[0] == 5 => 1,
                _ => continue,
            };
            let Some(from) = self.sources(&cvt).filter(|_| cvt.uses == 1 && self.always_mixed(*one)) else { continue };
            if let OperandValue::Val(_) = from[0].what {
                *one = from[0];
                halves |= 1 << i;
                high |= part << i;
            }
        }
        mods.op_sel_hi |= halves;
        mods.op_sel |= high;
        if halves == 0 || !self.mixes(Op::VFmaMixF32, &uses) {
            return false;
        }
        self.replace(n, Op::VFmaMixF32, &uses, Extra::Vector(mods));
        true
    }

    /// Writes an f16 result directly if the result is only used for this conversion.
    pub(super) fn mixed_result(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        if op != Op::VCvtF16F32 || inst.extra != Extra::None {
            return false;
        }
        let &[source] = self.f.uses(&inst) else { return false };
        let Some((from, _, made)) = self.maker(source).filter(|_| self.used_once(source)) else { return false };
        let Some((uses, mods)) = self.as_mix(from, made) else { return false };
        if mods.clamp || self.lanes_set.is_some_and(|set| set > from) || !self.mixes(Op::VFmaMixloF16, &uses) {
            return false;
        }
        self.replace(n, Op::VFmaMixloF16, &uses, Extra::Vector(mods));
        true
    }

    /// Whether the sources fit. Literals do not, because assemblers disagree on whether they have 16 or 32 bits.
    fn mixes(&self, op: Op, uses: &Operands) -> bool {
        self.f.takes(op, uses) && !uses.iter().any(|one| is_literal(one.what))
    }

    /// Sources and modifiers of the `v_fma_mix` that equals a float operation.
    fn as_mix(&self, n: u32, op: Op) -> Option<(Operands, Modifiers)> {
        if op != Op::VFmaMixF32 && !MIXED.contains(&op) {
            return None;
        }
        let inst = self.f.insts[n as usize];
        let mods = plain_or(inst.extra).filter(|_| !inst.tied && inst.defs == 1)?;
        let own = self.sources(&inst)?;
        if op == Op::VFmaMixF32 {
            return Some((own, mods));
        }
        if mods.omod != 0 || mods.op_sel != 0 {
            return None;
        }
        // Signs of the sources at their new positions; the absolute value is in the field that is `neg_hi` elsewhere.
        let placed = |sources: [Operand; 3], places: [u8; 2], neg: u8| {
            let moved = |bits: u8| (bits & 1) << places[0] | (bits >> 1 & 1) << places[1];
            let mods = Modifiers { neg: moved(mods.neg) ^ neg, neg_hi: moved(mods.abs), abs: 0, ..mods };
            Some((sources.into_iter().collect(), mods))
        };
        let one = Operand::constant(ONE);
        match (op, &own[..]) {
            (Op::VFmaF32, [_, _, _]) => Some((own, Modifiers { neg_hi: mods.abs, abs: 0, ..mods })),
            // Adding -0 keeps the sign of a zero product.
            (Op::VMulF32, &[a, b]) => placed([a, b, Operand::constant(0)], [0, 1], 0b100),
            (Op::VAddF32, &[a, b]) => placed([a, one, b], [0, 2], 0),
            (Op::VSubF32, &[a, b]) => placed([a, one, b], [0, 2], 0b100),
            (Op::VSubrevF32, &[a, b]) => placed([b, one, a], [2, 0], 0b100),
            _ => None,
        }
    }
}

//! Bit fields, and conversions of parts of registers.

use super::{Combine, Operands, low_bits, with_constant};
use crate::mir::sources::PLAIN;
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_isa::instruction::Sdwa;
use dovetail_isa::{Format, Op, Traits};

impl Combine<'_> {
    /// Combines a mask of a shifted value, or the conversion of a part of a value.
    pub(super) fn bits(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        if inst.extra != Extra::None || inst.tied || inst.defs != 1 {
            return false;
        }
        let Some(own) = self.sources(&inst) else { return false };
        let made = match op {
            Op::VAndB32 => self.field(&own).map(|(op, sources)| (op, sources, Extra::None)),
            Op::VCvtF32U32 | Op::VCvtF32I32 => self.byte(&own).map(|(op, sources)| (op, sources, Extra::None)),
            Op::VCvtF32F16 => self.high_half(&own),
            _ => None,
        };
        let Some((op, sources, extra)) = made else { return false };
        self.replace(n, op, &sources, extra);
        true
    }

    /// If only the low half of a source is read, removes operations that only affect the other half.
    pub(super) fn halves(&mut self, n: u32, op: Op) {
        let inst = self.f.insts[n as usize];
        let row = self.f.isa.row(op);
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3);
        let low = match inst.extra {
            Extra::None => true,
            Extra::Vector(mods) => mods.op_sel == 0,
            _ => false,
        };
        if !vector || !low || inst.tied || usize::from(inst.uses) != row.src.len() {
            return;
        }
        let mut uses: Operands = self.f.uses(&inst).iter().copied().collect();
        let mut changed = false;
        for i in 0..uses.len() {
            let Some(from) = Some(uses[i]).filter(|_| row.src_kind(i).is_half()).and_then(|one| self.low_half(one))
            else {
                continue;
            };
            uses[i] = from;
            changed = true;
        }
        if changed {
            self.replace(n, op, &uses, inst.extra);
        }
    }

    /// Removes the mask of a shift amount that keeps its low five bits, since the shift reads only those.
    pub(super) fn shift_amount(&mut self, n: u32, op: Op) {
        let at = match op {
            Op::VLshlrevB32 | Op::VLshrrevB32 | Op::VAshrrevI32 => 0,
            Op::SLshlB32 | Op::SLshrB32 | Op::SAshrI32 => 1,
            _ => return,
        };
        let inst = self.f.insts[n as usize];
        let Some(mut pair) = self.pair(&inst) else { return };
        let Some((_, mask, found)) = self.maker(pair[at]) else { return };
        let Some([a, b]) = self.pair(&mask).filter(|_| matches!(found, Op::VAndB32 | Op::SAndB32)) else { return };
        let Some((31, from)) = with_constant(a, b).map(|(bits, from)| (bits & 31, from)) else { return };
        // A scalar value may replace a vector value, but not vice versa.
        pair[at] = from;
        if from.as_val().is_some() && (at == 1 || self.f.takes(op, &pair)) {
            self.replace(n, op, &pair, Extra::None);
        }
    }

    /// A vector value with the same low half, before it was truncated or extended.
    fn low_half(&self, operand: Operand) -> Option<Operand> {
        let (_, inst, op) = self.maker(operand)?;
        let x = self.sources(&inst).filter(|_| inst.extra == Extra::None && !inst.tied)?;
        let constant = |i: usize| x.get(i)?.as_const();
        let from = match op {
            Op::VAndB32 => {
                let (mask, value) = with_constant(x[0], x[1])?;
                (mask & 0xffff == 0xffff).then_some(value)?
            }
            Op::VBfeI32 | Op::VBfeU32 if constant(1) == Some(0) && constant(2)? >= 16 => x[0],
            _ => return None,
        };
        Some(from).filter(|from| self.is_vector(*from))
    }

    /// Removes a mask of bits that are already 0.
    pub(super) fn masked(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        if op != Op::VAndB32 {
            return false;
        }
        let Some([a, b]) = self.pair(&inst) else { return false };
        let Some((mask, value)) = with_constant(a, b) else { return false };
        let (Some(most), Some(old)) = (self.most(value), value.as_val()) else { return false };
        let new = self.f.defs(&inst).first().and_then(|one| one.as_val());
        let Some(new) = new.filter(|new| !self.f.values[new.index()].variable && !self.in_runs[new.index()]) else {
            return false;
        };
        if most & !mask != 0 || !self.is_vector(value) {
            return false;
        }
        self.alias(n, new, old);
        true
    }

    /// The bits that may be set in a value, as a mask of low bits.
    fn most(&self, operand: Operand) -> Option<u32> {
        let (_, inst, op) = self.maker(operand)?;
        let constant = |i: usize| self.f.uses(&inst).get(i)?.as_const();
        match op {
            Op::BufferLoadUbyte | Op::GlobalLoadUbyte | Op::DsReadU8 => Some(0xff),
            Op::BufferLoadUshort | Op::GlobalLoadUshort | Op::DsReadU16 => Some(0xffff),
            Op::VBfeU32 => u32::MAX.checked_shr(32 - constant(2).filter(|count| (1..=32).contains(count))?),
            Op::VLshrrevB32 => u32::MAX.checked_shr(constant(0)? & 31),
            _ => None,
        }
    }

    /// `x >> k & (1 << n) - 1`.
    fn field(&self, own: &Operands) -> Option<(Op, Operands)> {
        let (mask, shifted) = with_constant(own[0], own[1])?;
        let (inner, x) = self.only_maker(shifted).filter(|_| self.is_vector(shifted))?;
        let [amount, value] = x[..] else { return None };
        let (from, count) = (amount.as_const()?, low_bits(mask)?);
        let fits = inner == Op::VLshrrevB32 && from < 32 && from + count <= 32;
        let sources: Operands = [value, Operand::constant(from), Operand::constant(count)].into_iter().collect();
        (fits && self.f.takes(Op::VBfeU32, &sources)).then_some((Op::VBfeU32, sources))
    }

    /// A byte as a float: it is not negative, so signedness does not matter.
    fn byte(&self, own: &Operands) -> Option<(Op, Operands)> {
        const BYTES: [Op; 4] = [Op::VCvtF32Ubyte0, Op::VCvtF32Ubyte1, Op::VCvtF32Ubyte2, Op::VCvtF32Ubyte3];
        let (inner, x) = self.only_maker(own[0]).filter(|_| self.is_vector(own[0]))?;
        let constant = |i: usize| x.get(i)?.as_const();
        let (value, from) = match inner {
            Op::VAndB32 => {
                let (mask, value) = with_constant(x[0], x[1])?;
                (mask == 0xff).then_some((value, 0))?
            }
            Op::VLshrrevB32 if constant(0) == Some(24) => (x[1], 24),
            Op::VBfeU32 if constant(2) == Some(8) => (x[0], constant(1)?),
            _ => return None,
        };
        let op = from.is_multiple_of(8).then(|| BYTES.get(from as usize / 8))??;
        let sources: Operands = [value].into_iter().collect();
        self.f.takes(*op, &sources).then_some((*op, sources))
    }

    /// The high half of a register as a float.
    fn high_half(&self, own: &Operands) -> Option<(Op, Operands, Extra)> {
        let (inner, x) = self.only_maker(own[0]).filter(|_| self.is_vector(own[0]))?;
        let parts = self.f.isa.row(Op::VCvtF32F16).is(Traits::SDWA);
        let high = parts && inner == Op::VLshrrevB32 && x[0].what == OperandValue::Const(16) && self.is_vector(x[1]);
        // Selector 5 reads the high half of a register; the whole result is written.
        let sdwa = Sdwa { dst_sel: 6, dst_unused: 0, src_sel: [5, 0], sext: [false; 2] };
        high.then(|| (Op::VCvtF32F16, [x[1]].into_iter().collect(), Extra::Sdwa(sdwa, PLAIN)))
    }
}

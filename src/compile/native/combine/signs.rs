//! Float operands' signs and float results' clamps as modifiers.

use super::Combine;
use crate::mir::sources::PLAIN;
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_isa::instruction::{Modifiers, VectorForm};
use dovetail_isa::{Format, Op, OperandKind};

/// A change of a float's sign, and the float to which it applies.
enum Sign {
    Flipped(Operand),
    Removed(Operand),
}

/// The float 1, of 32 and of 16 bits.
pub(super) const ONE: u32 = 0x3f80_0000;
const HALF_ONE: u32 = 0x3c00;

impl Combine<'_> {
    /// If another instruction changed the sign of a source, uses the modifier instead.
    pub(super) fn signs(&mut self, n: u32, op: Op) {
        let inst = self.f.insts[n as usize];
        let row = self.f.isa.row(op);
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3);
        let Some(mut mods) = plain_or(inst.extra).filter(|_| vector && !inst.tied) else { return };
        // If a source other than the last (a mask) has two registers, later sources have other positions.
        let single = self.f.uses(&inst).iter().take(row.src.len().saturating_sub(1)).all(|one| one.run == 1);
        if !row.has_form(&VectorForm::Long) || !single || (inst.uses as usize) < row.src.len() {
            return;
        }
        let allowed = row.modifiers(&VectorForm::Long);
        let mut uses: super::Operands = self.f.uses(&inst).iter().copied().collect();
        let mut changed = false;
        for i in 0..row.src.len() {
            let (bit, kind) = (1u8 << i, row.src_kind(i));
            // `op_sel` would read the other half.
            let whole = kind == OperandKind::F32 || kind == OperandKind::F16 && mods.op_sel & bit == 0;
            if !whole || allowed.neg & bit == 0 {
                continue;
            }
            let (from, flips, removes) = match self.sign_of(uses[i], kind) {
                Some(Sign::Flipped(from)) => (from, mods.abs & bit == 0, false),
                Some(Sign::Removed(from)) => (from, false, mods.abs & bit == 0),
                None => continue,
            };
            let mut tried = uses.clone();
            tried[i] = from;
            if !self.f.takes(op, &tried) || (removes && allowed.abs & bit == 0) {
                continue;
            }
            uses = tried;
            mods.neg ^= if flips { bit } else { 0 };
            mods.abs |= if removes { bit } else { 0 };
            changed = true;
        }
        if changed {
            let extra = if mods == PLAIN { Extra::None } else { Extra::Vector(mods) };
            self.replace(n, op, &uses, extra);
        }
    }

    fn sign_of(&self, operand: Operand, kind: OperandKind) -> Option<Sign> {
        let (_, inst, op) = self.maker(operand)?;
        let [a, b] = self.pair(&inst)?;
        let top = if kind == OperandKind::F16 { 0x8000u32 } else { 0x8000_0000 };
        let (bits, value) = match (a.what, b.what) {
            (OperandValue::Const(bits), _) => (bits, b),
            (_, OperandValue::Const(bits)) => (bits, a),
            _ => return None,
        };
        // Only the low half of an f16 is read.
        let below = |bits: u32| if kind == OperandKind::F16 { bits & 0xffff } else { bits };
        match op {
            Op::VXorB32 | Op::SXorB32 if below(bits) == top => Some(Sign::Flipped(value)),
            Op::VAndB32 | Op::SAndB32 if below(bits) == top - 1 => Some(Sign::Removed(value)),
            _ => None,
        }
    }

    /// `min(1, max(0, x))` is `x` with a clamped result: NaN becomes 0 in both.
    pub(super) fn clamp(&mut self, n: u32, op: Op) -> bool {
        let (max, one) = match op {
            Op::VMinF32 => (Op::VMaxF32, ONE),
            Op::VMinF16 => (Op::VMaxF16, HALF_ONE),
            Op::VPkMinF16 => (Op::VPkMaxF16, HALF_ONE),
            _ => return false,
        };
        let Some(between) = self.bounded(n, one) else { return false };
        let Some((maker, _, found)) = self.maker(between).filter(|_| self.used_once(between)) else { return false };
        let Some(value) = self.bounded(maker, 0).filter(|value| found == max && self.is_vector(*value)) else {
            return false;
        };
        if self.clamp_maker(n, value) {
            self.remove(maker);
            return true;
        }
        let halves = if op == Op::VPkMinF16 { 7 } else { 0 };
        let extra = Extra::Vector(Modifiers { clamp: true, op_sel_hi: halves, ..PLAIN });
        self.replace(n, max, &[value, value], extra);
        true
    }

    /// The other source of an operation on `constant` and a value that it reads unchanged.
    fn bounded(&self, n: u32, constant: u32) -> Option<Operand> {
        let inst = self.f.insts[n as usize];
        let sources = self.sources(&inst).filter(|sources| sources.len() == 2 && !inst.tied && inst.defs == 1)?;
        let at = sources.iter().position(|one| one.what == OperandValue::Const(constant))?;
        let plain = match inst.extra {
            Extra::None => true,
            // Both halves read the constant, and each half of the value is read where it is.
            Extra::Vector(mods) => {
                let (constant, value) = (1 << at, 2 >> at);
                let unchanged = (mods.neg | mods.neg_hi | mods.abs) & 3 == 0 && mods.omod == 0 && !mods.clamp;
                mods.op_sel == 0 && mods.op_sel_hi & constant == 0 && mods.op_sel_hi & value != 0 && unchanged
            }
            _ => false,
        };
        plain.then_some(sources[1 - at])
    }

    /// Moves the clamp to the instruction that makes the value, which then defines the result.
    fn clamp_maker(&mut self, n: u32, value: Operand) -> bool {
        let Some((from, inst, op)) = self.maker(value) else { return false };
        let row = self.f.isa.row(op);
        let wanted = self.f.insts[n as usize].isa().and_then(|op| self.f.isa.row(op).dst.first());
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p);
        let takes = vector && row.dst.first() == wanted && row.modifiers(&VectorForm::Long).clamp;
        let Some(mods) = plain_or(inst.extra).filter(|_| !inst.tied && inst.defs == 1) else { return false };
        if !(takes && self.used_once(value) && row.has_form(&VectorForm::Long)) || mods.clamp {
            return false;
        }
        let result = self.f.insts[n as usize];
        let Some(val) = self.f.defs(&result).first().and_then(|one| one.as_val()) else { return false };
        if self.f.values[val.index()].variable {
            return false;
        }
        let def = self.f.insts[from as usize].operands as usize;
        self.f.operands[def] = Operand::val(val);
        self.f.insts[from as usize].extra = Extra::Vector(Modifiers { clamp: true, ..mods });
        self.made[val.index()] = Some(from);
        self.remove(n);
        true
    }
}

/// The modifiers of an instruction without other fields.
pub(super) fn plain_or(extra: Extra) -> Option<Modifiers> {
    match extra {
        Extra::None => Some(PLAIN),
        Extra::Vector(mods) => Some(mods),
        _ => None,
    }
}

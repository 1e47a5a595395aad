//! Halves of registers: instructions read and write high halves themselves, and packed instructions change signs.
//!
//! Selection shifts a high half down for an instruction that reads it, and puts two halves together with a permutation. Many
//! instructions on 16 bits have a form that reads either half of a register, or writes one and keeps the other.

use super::signs::plain_or;
use super::{Combine, Operands};
use crate::mir::sources::PLAIN;
use crate::mir::{Extra, MachineInst, Operand, OperandValue};
use dovetail_isa::instruction::{Modifiers, Sdwa};
use dovetail_isa::{Format, Op, OperandKind, Src, Traits};

/// Selectors of the parts of a register in SDWA forms.
const LOW: u8 = 4;
const HIGH: u8 = 5;
const WHOLE: u8 = 6;
/// The bit of `op_sel` for the result.
const RESULT: u8 = 8;
/// The permutation that puts two low halves together, the first source above the second one.
const LOW_HALVES: OperandValue = OperandValue::Const(0x0504_0100);
const TOPS: u32 = 0x8000_8000;

impl Combine<'_> {
    /// Reads the high half of a register instead of a copy that is shifted down.
    pub(super) fn high_sources(&mut self, n: u32, op: Op) {
        let inst = self.f.insts[n as usize];
        let row = self.f.isa.row(op);
        if inst.tied || usize::from(inst.uses) != row.src.len() || !self.has_halves(op) {
            return;
        }
        let mut uses: Operands = self.f.uses(&inst).iter().copied().collect();
        let mut high = 0u8;
        for (i, one) in uses.iter_mut().enumerate() {
            if row.src_kind(i).is_half()
                && let Some(from) = self.shifted_down(*one)
            {
                *one = from;
                high |= 1 << i;
            }
        }
        if high == 0 {
            return;
        }
        if row.is(Traits::OP_SEL) && !row.is(Traits::SCALAR_REST) {
            let Some(mods) = plain_or(inst.extra).filter(|mods| mods.op_sel & high == 0) else { return };
            if self.f.takes(op, &uses) {
                let mods = Modifiers { op_sel: mods.op_sel | high, ..mods };
                self.replace(n, op, &uses, Extra::Vector(mods));
            }
        } else if let Some(Extra::Sdwa(sdwa, mods)) = self.parts(&inst, op, &uses) {
            let src_sel = [0, 1].map(|i| if high >> i & 1 == 1 { HIGH } else { sdwa.src_sel[i] });
            self.replace(n, op, &uses, Extra::Sdwa(Sdwa { src_sel, ..sdwa }, mods));
        }
    }

    /// Writes one half of a register and keeps the other, instead of a permutation of two results.
    pub(super) fn half_result(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        let (made, kept, high) = match (op, self.f.uses(&inst)) {
            (Op::VPermB32, &[high, low, selector]) if selector.what == LOW_HALVES => (high, low, true),
            (Op::VBfiB32, &[mask, low, high]) if mask.what == OperandValue::Const(0xffff) => (low, high, false),
            _ => return false,
        };
        let variable =
            self.f.defs(&inst).iter().any(|one| one.as_val().is_none_or(|v| self.f.values[v.index()].variable));
        if variable || !self.is_vector(kept) || !self.used_once(made) || inst.extra != Extra::None {
            return false;
        }
        let Some((from, maker, by)) = self.maker(made) else { return false };
        let Some(mut uses) = self.sources(&maker).filter(|_| !maker.tied && maker.defs == 1) else { return false };
        if self.lanes_set.is_some_and(|set| set > from) || uses.contains(&kept) && !high {
            return false;
        }
        let row = self.f.isa.row(by);
        let is_half = row.dst.first().is_some_and(|kind| kind.is_half()) && row.is(Traits::PARTIAL);
        let (by, extra) = match plain_or(maker.extra) {
            _ if !is_half => return false,
            Some(mods) if !high => (by, if mods == PLAIN { Extra::None } else { Extra::Vector(mods) }),
            Some(mods) if by == Op::VFmaMixloF16 => (Op::VFmaMixhiF16, Extra::Vector(mods)),
            Some(mods) if row.is(Traits::OP_SEL) => {
                (by, Extra::Vector(Modifiers { op_sel: mods.op_sel | RESULT, ..mods }))
            }
            _ => match self.parts(&maker, by, &uses) {
                Some(Extra::Sdwa(sdwa, mods)) => {
                    let dst_sel = if high { HIGH } else { LOW };
                    (by, Extra::Sdwa(Sdwa { dst_sel, dst_unused: 2, ..sdwa }, mods))
                }
                _ => return false,
            },
        };
        uses.push(kept);
        self.replace(n, by, &uses, extra);
        self.f.insts[n as usize].tied = true;
        true
    }

    /// The fields of an instruction's form on parts of registers, if it has one with these sources.
    fn parts(&self, inst: &MachineInst, op: Op, uses: &Operands) -> Option<Extra> {
        let row = self.f.isa.row(op);
        let mods = match inst.extra {
            Extra::Sdwa(..) => return Some(inst.extra),
            extra => plain_or(extra).filter(|mods| mods.op_sel == 0)?,
        };
        let fits = |(i, one): (usize, &Operand)| match one.what {
            OperandValue::Val(_) => one.run == 1,
            OperandValue::Const(bits) => {
                let kind = row.src_kind(i);
                let value = if kind.is_half() { u64::from(bits as u16) } else { bits.into() };
                !matches!(Src::constant(kind, value), None | Some(Src::Literal(_)))
            }
            _ => false,
        };
        let vcc = row.is(Traits::VCC_IN.or(Traits::TIED)) || row.has_mask_result() && row.format != Format::Vopc;
        if !row.is(Traits::SDWA) || vcc || row.src.len() > 2 || !uses.iter().enumerate().all(fits) {
            return None;
        }
        let whole = |i: usize| match row.src.get(i) {
            None => 0,
            Some(kind) if kind.is_half() => LOW,
            Some(_) => WHOLE,
        };
        let sdwa = Sdwa { dst_sel: WHOLE, dst_unused: 0, src_sel: [whole(0), whole(1)], sext: [false; 2] };
        Some(Extra::Sdwa(sdwa, mods))
    }

    /// Whether an operation has a form that reads either half of a register.
    fn has_halves(&self, op: Op) -> bool {
        let row = self.f.isa.row(op);
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3);
        vector && row.is(Traits::OP_SEL.or(Traits::SDWA)) && row.src.iter().any(|kind| kind.is_half())
    }

    /// The register whose high half a value is.
    fn shifted_down(&self, one: Operand) -> Option<Operand> {
        let (_, inst, Op::VLshrrevB32) = self.maker(one)? else { return None };
        let [amount, from] = self.pair(&inst)?;
        (amount.what == OperandValue::Const(16) && self.is_vector(from)).then_some(from)
    }

    /// Signs of both halves as modifiers of a packed operation.
    pub(super) fn packed_signs(&mut self, n: u32, op: Op) {
        let row = self.f.isa.row(op);
        let inst = self.f.insts[n as usize];
        let Extra::Vector(mut mods) = inst.extra else { return };
        if row.format != Format::Vop3p || !row.is(Traits::PACKED) || inst.tied {
            return;
        }
        let mut uses: Operands = self.f.uses(&inst).iter().copied().collect();
        let mut changed = false;
        for i in 0..uses.len() {
            let Some((_, from, Op::VXorB32)) = self.maker(uses[i]) else { continue };
            let Some([a, b]) = self.pair(&from).filter(|_| row.src_kind(i) == OperandKind::PF16) else { continue };
            let Some((TOPS, value)) = super::with_constant(a, b) else { continue };
            let mut tried = uses.clone();
            tried[i] = value;
            if self.f.takes(op, &tried) {
                uses = tried;
                mods.neg ^= 1 << i;
                mods.neg_hi ^= 1 << i;
                changed = true;
            }
        }
        if changed {
            self.replace(n, op, &uses, Extra::Vector(mods));
        }
    }

    /// A packed sum with a packed product is one instruction: both wrap.
    pub(super) fn packed_product(&mut self, n: u32, op: Op) -> bool {
        let inst = self.f.insts[n as usize];
        let (Op::VPkAddU16, Extra::Vector(mods)) = (op, inst.extra) else { return false };
        let Some(own) = self.sources(&inst).filter(|own| own.len() == 2 && !mods.clamp) else { return false };
        for (product, other) in [(0, 1), (1, 0)] {
            let straight = mods.op_sel >> product & 1 == 0 && mods.op_sel_hi >> product & 1 == 1;
            let Some((_, made, Op::VPkMulLoU16)) = self.maker(own[product]).filter(|_| straight) else { continue };
            let Extra::Vector(inner) = made.extra else { continue };
            let Some(mut uses) = self.sources(&made).filter(|_| self.used_once(own[product])) else { continue };
            uses.push(own[other]);
            let place = |outer: u8, inner: u8| inner & 3 | (outer >> other & 1) << 2;
            let (op_sel, op_sel_hi) = (place(mods.op_sel, inner.op_sel), place(mods.op_sel_hi, inner.op_sel_hi));
            if self.f.takes(Op::VPkMadU16, &uses) {
                self.replace(n, Op::VPkMadU16, &uses, Extra::Vector(Modifiers { op_sel, op_sel_hi, ..inner }));
                return true;
            }
        }
        false
    }
}

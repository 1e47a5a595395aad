//! Vector operations and interpolation: operands, modifiers, and the fields of a form.

use super::Listing;
use super::registers::Vgprs;
use crate::instruction::{DualFields, Half, InterpFields, VectorDst, VectorFields, VectorForm};
use crate::{Format, Op, OperandKind, Src, Traits};
use std::fmt::Write;

impl Listing<'_> {
    pub(super) fn vector(&mut self, f: &VectorFields) {
        let entry = self.inst.entry;
        let mixed = entry.is(Traits::MIX);
        match f.dst {
            Some(VectorDst::Vgpr(v)) => {
                let half = self.half(f, entry.dst_kind(0), 3);
                self.push(format!("{}{half}", Vgprs(v, entry.dst_kind(0).registers_in(self.wave))));
            }
            Some(VectorDst::Scalar(s)) => {
                let text = self.scalar_register(s, entry.dst[0]);
                self.push(text);
            }
            None => {}
        }
        if let Some(mask) = f.mask {
            let text = self.scalar_register(mask, OperandKind::Mask);
            self.push(text);
        }
        let packed = entry.format == Format::Vop3p;
        let constant = entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD));
        let absolute = if mixed { f.mods.neg_hi } else { f.mods.abs };
        for (i, kind) in entry.src.iter().enumerate() {
            let Some(src) = f.srcs[i] else { continue };
            let mut text = match src {
                // Their constant has its own dword and is printed as stored.
                Src::Literal(_) if constant => src.to_string(),
                Src::Vgpr(_) => format!("{}{}", self.source(src, *kind), self.half(f, *kind, i)),
                _ => self.source(src, *kind),
            };
            let (abs, neg) = (absolute >> i & 1 == 1, f.mods.neg >> i & 1 == 1 && (!packed || mixed));
            let register = matches!(src, Src::Vgpr(_) | Src::Scalar(_) | Src::Special(_));
            text = match abs || register {
                true => signed(text, abs, neg),
                // A minus before a constant would belong to the constant.
                false if neg => format!("neg({text})"),
                false => text,
            };
            if let VectorForm::Sdwa(sdwa) = f.form
                && sdwa.sext.get(i) == Some(&true)
            {
                text = format!("sext({text})");
            }
            self.push(text);
        }
        let interp = entry.format == Format::Vinterp;
        match () {
            () if packed => self.packed_modifiers(f, mixed),
            () if !interp => self.halves(f),
            () => {}
        }
        self.tail(&[(f.mods.clamp, "clamp")]);
        if interp {
            self.halves(f);
        }
        self.multiplier(f.mods.omod);
        self.form(f);
    }

    /// The suffix of a register of which an operand is a half.
    fn half(&self, f: &VectorFields, kind: OperandKind, bit: usize) -> &'static str {
        let halved = self.inst.entry.is(Traits::HALVES) && kind.is_half();
        match f.mods.op_sel >> bit & 1 {
            _ if !halved => "",
            0 if !self.halves => "",
            _ if !self.halves && f.form.is_long() => "",
            0 => ".l",
            _ => ".h",
        }
    }

    /// The halves that are chosen, where they are listed.
    fn halves(&mut self, f: &VectorFields) {
        let entry = self.inst.entry;
        if entry.is(Traits::BYTE_SEL) {
            // A byte that is read has its bits in the other order than one that is written.
            let (read, written) = (f.mods.op_sel & 3, f.mods.op_sel >> 2 & 3);
            let byte = if entry.is(Traits::PARTIAL) { written } else { read >> 1 | (read & 1) << 1 };
            if byte != 0 {
                let _ = write!(self.tail, " byte_sel:{byte}");
            }
            return;
        }
        if f.mods.op_sel == 0 || !f.form.is_long() || entry.op == Op::VCndmaskB16 {
            return;
        }
        // The result of a comparison has no halves, and is listed with the long form of `v_cmp` only.
        let no_result = entry.format == Format::Vopc && (f.dst.is_none() || f.form.is_dpp());
        let lanes = entry.is(Traits::SCALAR_REST.or(Traits::VECTOR_SECOND)) || no_result;
        // A tied destination is a source too, of which no half is chosen.
        let tied = usize::from(entry.is(Traits::HALVES) && entry.is(Traits::TIED));
        let sources = if lanes { 2 } else { entry.src.len() + tied };
        let result = (!lanes).then_some(3);
        let bits = (0..sources).chain(result).map(|bit| (f.mods.op_sel >> bit & 1).to_string());
        let _ = write!(self.tail, " op_sel:[{}]", bits.collect::<Vec<_>>().join(","));
    }

    pub(super) fn dual(&mut self, f: &DualFields) {
        let [first, second] = f.halves(self.inst.entry);
        self.half_of_dual(&first);
        let operands = |list: &mut Vec<String>| std::mem::take(list).join(", ");
        let text = operands(&mut self.operands);
        self.half_of_dual(&second);
        let more = operands(&mut self.operands);
        self.push(format!("{text} :: {} {more}", second.entry.mnemonic));
    }

    fn half_of_dual(&mut self, half: &Half) {
        self.push(half.dst);
        for (src, kind) in half.srcs.iter().zip(half.entry.src).filter(|(_, kind)| **kind != OperandKind::Mask) {
            match src {
                Some(Src::Literal(bits)) => self.push(format!("{bits:#x}")),
                Some(src) => {
                    let text = self.source(*src, *kind);
                    self.push(text);
                }
                None => {}
            }
        }
    }

    fn multiplier(&mut self, omod: u8) {
        self.tail(&[(omod == 1, "mul:2"), (omod == 2, "mul:4"), (omod == 3, "div:2")]);
    }

    fn packed_modifiers(&mut self, f: &VectorFields, mixed: bool) {
        let count = self.inst.entry.src.len();
        let sparse = self.inst.entry.is(Traits::SPARSE);
        if sparse && f.mods.op_sel != 0 {
            let _ = write!(self.tail, " index_key:{}", f.mods.op_sel);
        }
        let all = (1 << count) - 1;
        let usual = if mixed { 0 } else { all };
        let sets = [
            ("op_sel", if sparse { 0 } else { f.mods.op_sel }, 0),
            ("op_sel_hi", f.mods.op_sel_hi & all, usual),
            ("neg_lo", if mixed { 0 } else { f.mods.neg }, 0),
            ("neg_hi", if mixed { 0 } else { f.mods.neg_hi }, 0),
        ];
        for (name, set, _) in sets.into_iter().filter(|(_, set, usual)| set != usual) {
            let list: Vec<String> = (0..count).map(|i| (set >> i & 1).to_string()).collect();
            let _ = write!(self.tail, " {name}:[{}]", list.join(","));
        }
    }

    fn form(&mut self, f: &VectorFields) {
        const SELECT: [&str; 7] = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"];
        const UNUSED: [&str; 3] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];
        let select = |n: u8| SELECT.get(usize::from(n)).copied().unwrap_or("?");
        match f.form {
            VectorForm::Short | VectorForm::Long => {}
            VectorForm::Interp { wait } => {
                let _ = write!(self.tail, " wait_exp:{wait}");
            }
            VectorForm::Sdwa(sdwa) => {
                if matches!(f.dst, Some(VectorDst::Vgpr(_))) {
                    let unused = UNUSED.get(usize::from(sdwa.dst_unused)).copied().unwrap_or("?");
                    let _ = write!(self.tail, " dst_sel:{} dst_unused:{unused}", select(sdwa.dst_sel));
                }
                for (i, sel) in sdwa.src_sel.into_iter().enumerate().take(self.inst.entry.src.len()) {
                    let _ = write!(self.tail, " src{i}_sel:{}", select(sel));
                }
            }
            VectorForm::Dpp8 { lanes, fi } | VectorForm::LongDpp8 { lanes, fi } => {
                let list: Vec<String> = (0..8).map(|i| (lanes >> (3 * i) & 7).to_string()).collect();
                let _ = write!(self.tail, " dpp8:[{}]", list.join(","));
                self.tail(&[(fi, "fi:1")]);
            }
            VectorForm::Dpp16(dpp) | VectorForm::LongDpp16(dpp) => {
                let n = dpp.ctrl & 15;
                let control = match dpp.ctrl {
                    0..=0xff => {
                        let list: Vec<String> = (0..4).map(|i| (dpp.ctrl >> (2 * i) & 3).to_string()).collect();
                        format!("quad_perm:[{}]", list.join(","))
                    }
                    0x101..=0x10f => format!("row_shl:{n}"),
                    0x111..=0x11f => format!("row_shr:{n}"),
                    0x121..=0x12f => format!("row_ror:{n}"),
                    0x140 => "row_mirror".to_owned(),
                    0x141 => "row_half_mirror".to_owned(),
                    0x150..=0x15f => format!("row_share:{n}"),
                    0x160..=0x16f => format!("row_xmask:{n}"),
                    other => format!("/* {other:#x} */"),
                };
                let _ = write!(self.tail, " {control} row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask);
                self.tail(&[(dpp.bound_ctrl, "bound_ctrl:1"), (dpp.fi, "fi:1")]);
            }
        }
    }

    pub(super) fn interp(&mut self, f: &InterpFields) {
        self.push(f.dst);
        let source = match f.src {
            Src::Int(n) => ["p10", "p20", "p0"].get(usize::from(n.unsigned_abs())).copied().unwrap_or("?").to_owned(),
            src => src.to_string(),
        };
        let signs = |i: u8| (f.mods.abs >> i & 1 == 1, f.mods.neg >> i & 1 == 1);
        let (abs, neg) = signs(0);
        self.push(signed(source, abs, neg));
        let channel = ["x", "y", "z", "w"].get(usize::from(f.channel)).copied().unwrap_or("?");
        self.push(format!("attr{}.{channel}", f.attribute));
        if let Some(addend) = f.addend {
            let (abs, neg) = signs(1);
            self.push(signed(addend.to_string(), abs, neg));
        }
        self.tail(&[(f.high, "high"), (f.mods.clamp, "clamp")]);
        self.multiplier(f.mods.omod);
    }
}

/// A register's absolute value or its opposite.
fn signed(register: String, abs: bool, neg: bool) -> String {
    let minus = if neg { "-" } else { "" };
    if abs { format!("{minus}|{register}|") } else { format!("{minus}{register}") }
}

//! VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA and DPP, and interpolation.

use super::{Encoder, ensure, vgprs};
use crate::instruction::{Dpp16, DualFields, InterpFields, Modifiers, Sdwa, VectorDst, VectorFields, VectorForm};
use crate::layout::CodeField;
use crate::operand_codes::{DPP8, DPP8_FI, DPP16, SDWA};
use crate::tables::long_number;
use crate::{Format, Op, OperandKind, Scalar, Src, Traits, Vgpr};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;

impl Encoder<'_> {
    pub(super) fn vector(&mut self, f: &VectorFields) -> Result<()> {
        let entry = self.inst.entry;
        ensure(entry.has_form(&f.form), || format!("form: {} has no such one", entry.mnemonic))?;
        if let Some(name) = f.refused_modifier(&entry.modifiers(&f.form)) {
            return Err(Error::bug(format!("modifier {name}: not in this form")));
        }
        self.choosable_halves(f)?;
        let whole = !entry.is(Traits::WHOLE) || f.mods.op_sel_hi == 7;
        ensure(whole, || "op_sel_hi: always set".to_owned())?;
        let dst = self.result(f)?;
        ensure(f.mask.is_some() == entry.has_mask_result(), || "mask: one too many or too few".to_owned())?;
        if let Some(mask) = f.mask {
            self.mask("mask", mask, OperandKind::Mask)?;
        }
        let mut codes = [0; 3];
        for (i, (code, src)) in codes.iter_mut().zip(f.srcs).enumerate() {
            ensure(src.is_some() == (i < entry.src.len()), || format!("source {i}: one too many or too few"))?;
            let Some(src) = src else { continue };
            let accepted = entry.vector_source(&f.form, i).accepts(src);
            ensure(accepted, || format!("source {i}: {src} has no place in this form"))?;
            *code = self.source(i, src, entry.src_kind(i))? | self.half(f, entry.src_kind(i), i);
        }
        let (values, most) = (entry.scalar_values(f, self.wave), entry.scalar_limit());
        ensure(values <= most, || format!("sources: {values} scalar values, {most} can be read"))?;
        if !f.form.is_long() {
            self.only_vcc(f)?;
        }
        let [a, b, c] = codes;
        match f.form {
            VectorForm::Long => self.long(f, dst, codes)?,
            VectorForm::LongDpp16(dpp) => {
                self.lanes_beside(f)?;
                self.long(f, dst, [DPP16, b, c])?;
                self.dpp16(&Modifiers::default(), &dpp, a)?;
            }
            VectorForm::LongDpp8 { lanes, fi } => {
                self.lanes_beside(f)?;
                self.long(f, dst, [if fi { DPP8_FI } else { DPP8 }, b, c])?;
                self.dpp8(lanes, a)?;
            }
            VectorForm::Interp { wait } => self.vinterp(f, dst, codes, wait)?,
            VectorForm::Short => self.short(dst, if entry.is(Traits::CONSTANT_SECOND) { [a, c] } else { [a, b] })?,
            VectorForm::Sdwa(sdwa) => {
                self.short(if entry.format == Format::Vopc { 0 } else { dst }, [SDWA, b])?;
                self.sdwa(f, &sdwa, a)?;
            }
            VectorForm::Dpp16(dpp) => {
                self.short(dst, [DPP16, b])?;
                self.dpp16(&f.mods, &dpp, a)?;
            }
            VectorForm::Dpp8 { lanes, fi } => {
                self.short(dst, [if fi { DPP8_FI } else { DPP8 }, b])?;
                self.dpp8(lanes, a)?;
            }
        }
        self.out.extend(self.literal);
        Ok(())
    }

    /// The bit of a short form that chooses the high half of an operand.
    fn half(&self, f: &VectorFields, kind: OperandKind, bit: usize) -> u32 {
        let chosen = f.mods.op_sel >> bit & 1 == 1;
        if chosen && self.inst.entry.is_halved(&f.form, kind) { Vgpr::HALVED.into() } else { 0 }
    }

    /// In a short form, only a register whose number leaves a bit free has a high half.
    fn choosable_halves(&self, f: &VectorFields) -> Result<()> {
        let entry = self.inst.entry;
        for (i, kind) in entry.src.iter().enumerate() {
            let chosen = self.half(f, *kind, i) != 0;
            let register = matches!(f.srcs.get(i), Some(Some(Src::Vgpr(_))));
            ensure(!chosen || register, || format!("op_sel: source {i} is no VGPR"))?;
        }
        match f.dst {
            Some(VectorDst::Vgpr(v)) if v.0 >= Vgpr::HALVED && entry.is_halved(&f.form, entry.dst_kind(0)) => {
                Err(Error::bug(format!("result: {v} has no place in this form")))
            }
            _ => Ok(()),
        }
    }

    /// Source 1 beside a source 0 from other lanes.
    fn lanes_beside(&self, f: &VectorFields) -> Result<()> {
        let vector = f.srcs[1].is_none_or(|src| matches!(src, Src::Vgpr(_)));
        let takes = vector || self.isa.limits.scalar_beside_lanes && self.inst.entry.format != Format::Vop3p;
        ensure(takes, || "source 1: a VGPR beside a source from other lanes".to_owned())
    }

    /// The result's register number.
    fn result(&self, f: &VectorFields) -> Result<u32> {
        let entry = self.inst.entry;
        let kind = entry.dst.first().copied();
        let scalar = kind == Some(OperandKind::Mask) || entry.is(Traits::SCALAR_RESULT);
        match (f.dst, kind) {
            (None, None) => Ok(0),
            (Some(VectorDst::Vgpr(v)), Some(kind)) if !scalar => {
                Ok(vgprs("result", v, kind.registers_in(self.wave))? | self.half(f, kind, 3))
            }
            (Some(VectorDst::Scalar(s)), Some(kind)) if scalar => self.mask("result", s, kind),
            _ => Err(Error::bug("result: another kind of register, or one too many or too few")),
        }
    }

    /// The short forms have no mask field, except for the result of a comparison in SDWA.
    fn only_vcc(&self, f: &VectorFields) -> Result<()> {
        let entry = self.inst.entry;
        let vcc = Some(Scalar::VccLo);
        let carry = entry.src_kind(2) != OperandKind::Mask || f.srcs[2] == vcc.map(Src::Scalar);
        ensure(carry, || "source 2: VCC in this form".to_owned())?;
        ensure(f.mask.is_none() || f.mask == vcc, || "mask: VCC in this form".to_owned())?;
        let compares = entry.dst.first() == Some(&OperandKind::Mask) && !matches!(f.form, VectorForm::Sdwa(_));
        let result = !compares || f.dst == vcc.map(VectorDst::Scalar);
        ensure(result, || "result: VCC in this form".to_owned())
    }

    fn short(&mut self, dst: u32, [a, b]: [u32; 2]) -> Result<()> {
        let entry = self.inst.entry;
        let layout = self.isa.layout.short(entry.format);
        self.begin(entry.format, layout.op, entry.number)?;
        // The result of a comparison is VCC, which the format does not name.
        let dst = if layout.dst == CodeField::NONE { 0 } else { dst };
        self.put("result", layout.dst, dst)?;
        self.put("source 0", layout.srcs[0], a)?;
        self.put("source 1", layout.srcs[1], b & 0xff)?;
        self.end(entry.format);
        Ok(())
    }

    fn long(&mut self, f: &VectorFields, dst: u32, codes: [u32; 3]) -> Result<()> {
        let entry = self.inst.entry;
        let packed = entry.format == Format::Vop3p;
        let (format, layout) = match packed {
            true => (Format::Vop3p, &self.isa.layout.vop3p),
            false => (Format::Vop3, &self.isa.layout.vop3),
        };
        self.begin(format, layout.op, long_number(entry))?;
        // The only result of `v_cmpx` is EXEC.
        let exec = self.isa.codes.of_scalar(Scalar::ExecLo).into();
        self.put("result", layout.dst, if entry.is(Traits::EXEC_OUT) { exec } else { dst })?;
        for (field, code) in layout.srcs.into_iter().zip(codes) {
            self.put("source", field, code)?;
        }
        let mods = &f.mods;
        match f.mask {
            Some(mask) => self.put("mask", layout.mask, self.isa.codes.of_scalar(mask).into())?,
            None => {
                self.put("abs", layout.abs, mods.abs.into())?;
                self.put("op_sel", layout.op_sel, mods.op_sel.into())?;
            }
        }
        self.put("neg", layout.neg, mods.neg.into())?;
        self.put("neg_hi", layout.neg_hi, mods.neg_hi.into())?;
        self.put("op_sel_hi", layout.op_sel_hi, mods.op_sel_hi.into())?;
        self.put("omod", layout.omod, mods.omod.into())?;
        self.put_flags([("clamp", layout.clamp, mods.clamp)])?;
        self.end(format);
        Ok(())
    }

    fn vinterp(&mut self, f: &VectorFields, dst: u32, codes: [u32; 3], wait: u8) -> Result<()> {
        let entry = self.inst.entry;
        let (long, layout) = (&self.isa.layout.vop3, &self.isa.layout.vinterp);
        self.begin(Format::Vinterp, layout.op, entry.number)?;
        self.put("result", long.dst, dst)?;
        for (field, code) in long.srcs.into_iter().zip(codes) {
            self.put("source", field, code)?;
        }
        self.put("wait", layout.wait, wait.into())?;
        self.put("op_sel", layout.op_sel, f.mods.op_sel.into())?;
        self.put("neg", long.neg, f.mods.neg.into())?;
        self.put_flags([("clamp", long.clamp, f.mods.clamp)])?;
        self.end(Format::Vinterp);
        Ok(())
    }

    pub(super) fn dual(&mut self, f: &DualFields) -> Result<()> {
        let entry = self.inst.entry;
        ensure(self.wave == WaveSize::W32, || "dual: wave32 only".to_owned())?;
        let second = f.second.format == Format::Vopd && self.isa.row(f.second.op) == f.second;
        ensure(second && !entry.is(Traits::SECOND_HALF), || "dual: no such half".to_owned())?;
        if let Some(why) = f.conflict(entry) {
            return Err(Error::bug(why));
        }
        let [first, second] = &self.isa.layout.vopd;
        self.begin(Format::Vopd, first.op, entry.number)?;
        self.put("second opcode", second.op, f.second.number.into())?;
        self.put("result", first.dst, f.dst[0].0.into())?;
        self.put("second result", second.dst, u32::from(f.dst[1].0 >> 1))?;
        for (n, layout) in [first, second].into_iter().enumerate() {
            let code = self.source(n, f.src0[n], OperandKind::B32)?;
            self.put("source 0", layout.srcs[0], code)?;
            self.put("source 1", layout.srcs[1], f.src1[n].0.into())?;
        }
        self.end(Format::Vopd);
        self.out.extend(f.constant.or(self.literal));
        Ok(())
    }

    pub(super) fn interp(&mut self, f: &InterpFields) -> Result<()> {
        let entry = self.inst.entry;
        let long = entry.format == Format::Vop3;
        let layout = if long { &self.isa.layout.long_interp } else { &self.isa.layout.vintrp };
        self.begin(entry.format, layout.op, entry.number)?;
        let dst = vgprs("result", f.dst, 1)?;
        let parameter = matches!(entry.op, Op::VInterpMovF32 | Op::VInterpMovF32E64);
        let vector = |i: usize, src: Src| match src {
            Src::Vgpr(Vgpr(v)) if !parameter => Ok(u32::from(v)),
            Src::Int(n @ 0..=2) if parameter => Ok(u32::from(n.unsigned_abs())),
            _ => Err(Error::bug(format!("source {i}: {src} has no place here"))),
        };
        let src = vector(0, f.src)?;
        ensure(f.addend.is_some() == (entry.src.len() > 1), || "source 1: one too many or too few".to_owned())?;
        let half = entry.src.len() > 1 || entry.op == Op::VInterpP1llF16;
        ensure(half || !f.high, || "high: halves only".to_owned())?;
        let mods = &f.mods;
        // Two sources: the coordinate and the addend.
        let sources = if parameter { 0 } else { (2u8 << u8::from(f.addend.is_some())) - 1 };
        let fits = mods.abs & !sources == 0 && mods.neg & !sources == 0 && mods.op_sel == 0;
        let fits = fits && (!mods.clamp || entry.is(Traits::CLAMP)) && (mods.omod == 0 || entry.is(Traits::OMOD));
        let none = *mods == Default::default();
        ensure(none || long && fits, || "modifiers: not in this form".to_owned())?;
        self.put("result", layout.dst, dst)?;
        self.put("attribute", layout.attribute, f.attribute.into())?;
        self.put("channel", layout.channel, f.channel.into())?;
        self.put_flags([("high", layout.high, f.high)])?;
        // A source field of the long form takes any operand, of which VGPRs are from 256 on.
        let vgpr = |n: u32| if long { 256 + n } else { n };
        self.put("source 0", layout.src, if parameter { src } else { vgpr(src) })?;
        let addend = f.addend.map_or(Ok(0), |src| vector(1, src).map(vgpr))?;
        self.put("source 1", layout.addend, addend)?;
        if long {
            // Source 0 of the long form is the attribute.
            let modifiers = &self.isa.layout.vop3;
            self.put("abs", modifiers.abs, u32::from(mods.abs) << 1)?;
            self.put("neg", modifiers.neg, u32::from(mods.neg) << 1)?;
            self.put("omod", modifiers.omod, mods.omod.into())?;
            self.put_flags([("clamp", modifiers.clamp, mods.clamp)])?;
        }
        self.end(entry.format);
        Ok(())
    }

    /// Appends the dword after a short form.
    fn end_dword(&mut self) {
        self.out.push(self.word as u32);
    }

    fn sdwa(&mut self, f: &VectorFields, sdwa: &Sdwa, src0: u32) -> Result<()> {
        let mods = &f.mods;
        let layout = &self.isa.layout.sdwa;
        self.word = 0;
        self.put("source 0", layout.src0, src0 & 0xff)?;
        let part = |what: &str, code: u8| -> Result<u32> {
            ensure(code <= 6, || format!("{what}: no part {code}"))?;
            Ok(u32::from(code))
        };
        if self.inst.entry.format == Format::Vopc {
            let plain = sdwa.dst_sel == 6 && sdwa.dst_unused == 0;
            ensure(plain, || "dst_sel: a comparison has none".to_owned())?;
            if let Some(VectorDst::Scalar(s)) = f.dst.filter(|dst| *dst != VectorDst::Scalar(Scalar::VccLo)) {
                self.put("result", layout.has_scalar_dst, 1)?;
                self.put("result", layout.scalar_dst, self.isa.codes.of_scalar(s).into())?;
            }
        } else {
            ensure(sdwa.dst_unused <= 2, || format!("dst_unused: no such way {}", sdwa.dst_unused))?;
            self.put("dst_sel", layout.dst_sel, part("dst_sel", sdwa.dst_sel)?)?;
            self.put("dst_unused", layout.dst_unused, sdwa.dst_unused.into())?;
            self.put_flags([("clamp", layout.clamp, mods.clamp)])?;
            self.put("omod", layout.omod, mods.omod.into())?;
        }
        for (i, layout) in layout.srcs.iter().enumerate() {
            let of = |set: u8| set >> i & 1 == 1;
            let scalar = f.srcs[i].is_some_and(|src| !matches!(src, Src::Vgpr(_)));
            let sel = part("src_sel", sdwa.src_sel[i])?;
            let plain = sel == 0 && !sdwa.sext[i] && !of(mods.neg) && !of(mods.abs);
            ensure(f.srcs[i].is_some() || plain, || format!("src_sel: there is no source {i}"))?;
            self.put("src_sel", layout.sel, sel)?;
            self.put_flags([
                ("sext", layout.sext, sdwa.sext[i]),
                ("neg", layout.neg, of(mods.neg)),
                ("abs", layout.abs, of(mods.abs)),
                ("source", layout.scalar, scalar),
            ])?;
        }
        self.end_dword();
        Ok(())
    }

    fn dpp8(&mut self, lanes: u32, src0: u32) -> Result<()> {
        let layout = &self.isa.layout.dpp8;
        self.word = 0;
        self.put("source 0", layout.src0, src0 & 0xff)?;
        self.put("lanes", layout.lanes, lanes)?;
        self.end_dword();
        Ok(())
    }

    fn dpp16(&mut self, mods: &Modifiers, dpp: &Dpp16, src0: u32) -> Result<()> {
        let layout = &self.isa.layout.dpp16;
        let known = matches!(dpp.ctrl, 0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x16f);
        ensure(known, || format!("dpp_ctrl: no such control {:#x}", dpp.ctrl))?;
        self.word = 0;
        self.put("source 0", layout.src0, src0 & 0xff)?;
        self.put("dpp_ctrl", layout.ctrl, dpp.ctrl.into())?;
        self.put("bank_mask", layout.bank_mask, dpp.bank_mask.into())?;
        self.put("row_mask", layout.row_mask, dpp.row_mask.into())?;
        self.put_flags([("fi", layout.fi, dpp.fi), ("bound_ctrl", layout.bound_ctrl, dpp.bound_ctrl)])?;
        for i in 0..2 {
            let of = |set: u8| set >> i & 1 == 1;
            self.put_flags([("neg", layout.neg[i], of(mods.neg)), ("abs", layout.abs[i], of(mods.abs))])?;
        }
        self.end_dword();
        Ok(())
    }
}

//! VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA and DPP, and interpolation.

use super::{Encoder, ensure, field, flag, vgprs};
use crate::error::{Error, Result};
use crate::isa::instruction::{Dpp16, InterpFields, Sdwa, VectorDst, VectorFields, VectorForm};
use crate::isa::tables::long_number;
use crate::isa::{Format, Op, OperandKind, Scalar, Src, Traits, Vgpr};

const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FI: u32 = 234;
const EXEC: u32 = 126;

impl Encoder<'_> {
    pub(super) fn vector(&mut self, f: &VectorFields) -> Result<()> {
        let entry = self.inst.entry;
        ensure(entry.has_form(&f.form), || format!("form: {} has no such one", entry.mnemonic))?;
        if let Some(name) = f.refused_modifier(&entry.modifiers(&f.form)) {
            return Err(Error::bug(format!("modifier {name}: not in this form")));
        }
        let dst = self.result(f)?;
        ensure(f.mask.is_some() == entry.has_mask_result(), || "mask: one too many or too few".to_owned())?;
        if let Some(mask) = f.mask {
            self.scalars("mask", mask, OperandKind::Mask)?;
        }
        let mut codes = [0; 3];
        for (i, (code, src)) in codes.iter_mut().zip(f.srcs).enumerate() {
            ensure(src.is_some() == (i < entry.src.len()), || format!("source {i}: one too many or too few"))?;
            let Some(src) = src else { continue };
            let accepted = entry.vector_source(&f.form, i).accepts(src);
            ensure(accepted, || format!("source {i}: {src} has no place in this form"))?;
            *code = self.source(i, src, entry.src_kind(i))?;
        }
        let (values, most) = (entry.scalar_values(f, self.wave), entry.scalar_limit());
        ensure(values <= most, || format!("sources: {values} scalar values, {most} can be read"))?;
        match f.form {
            VectorForm::Long => self.long(f, dst, codes)?,
            VectorForm::Short => {
                self.only_vcc(f)?;
                let [a, b, c] = codes;
                self.short(dst, if entry.is(Traits::CONSTANT_SECOND) { [a, c] } else { [a, b] });
            }
            VectorForm::Sdwa(sdwa) => {
                self.only_vcc(f)?;
                let extra = sdwa_dword(self.inst.entry.format, f, &sdwa, codes)?;
                self.short(if entry.format == Format::Vopc { 0 } else { dst }, [SDWA, codes[1]]);
                self.out.push(extra);
            }
            VectorForm::Dpp16(dpp) => {
                self.only_vcc(f)?;
                let extra = dpp16_dword(f, &dpp, codes[0])?;
                self.short(dst, [DPP16, codes[1]]);
                self.out.push(extra);
            }
            VectorForm::Dpp8 { lanes, fi } => {
                self.only_vcc(f)?;
                let lanes = field("lanes", lanes, 24)?;
                self.short(dst, [if fi { DPP8_FI } else { DPP8 }, codes[1]]);
                self.out.push(lanes << 8 | codes[0] & 0xff);
            }
        }
        self.out.extend(self.literal);
        Ok(())
    }

    /// The result's register number.
    fn result(&self, f: &VectorFields) -> Result<u32> {
        let entry = self.inst.entry;
        let kind = entry.dst.first().copied();
        let scalar = kind == Some(OperandKind::Mask) || entry.is(Traits::SCALAR_RESULT);
        match (f.dst, kind) {
            (None, None) => Ok(0),
            (Some(VectorDst::Vgpr(v)), Some(kind)) if !scalar => vgprs("result", v, kind.registers()),
            (Some(VectorDst::Scalar(s)), Some(kind)) if scalar => self.scalars("result", s, kind),
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

    fn short(&mut self, dst: u32, [a, b]: [u32; 2]) {
        let number = u32::from(self.inst.entry.number);
        // The result of a comparison is VCC, and its opcode is in the register field of other formats.
        self.out.push(match self.inst.entry.format {
            Format::Vop1 => 0x7e00_0000 | dst << 17 | number << 9 | a,
            Format::Vopc => 0x7c00_0000 | number << 17 | (b & 0xff) << 9 | a,
            _ => number << 25 | dst << 17 | (b & 0xff) << 9 | a,
        });
    }

    fn long(&mut self, f: &VectorFields, dst: u32, [a, b, c]: [u32; 3]) -> Result<()> {
        let entry = self.inst.entry;
        let mods = &f.mods;
        let [neg, abs, op_sel] = [mods.neg, mods.abs, mods.op_sel].map(u32::from);
        let clamp = flag(mods.clamp, 15);
        let sources = c << 18 | b << 9 | a;
        if entry.format == Format::Vop3p {
            let (neg_hi, high) = (u32::from(mods.neg_hi), u32::from(mods.op_sel_hi));
            let first = clamp | (high >> 2) << 14 | op_sel << 11 | neg_hi << 8;
            self.out.push(0xcc00_0000 | u32::from(entry.number) << 16 | first | dst);
            self.out.push(neg << 29 | (high & 3) << 27 | sources);
            return Ok(());
        }
        // The only result of `v_cmpx` is EXEC.
        let dst = if entry.is(Traits::EXEC_OUT) { EXEC } else { dst };
        let middle = match f.mask {
            Some(mask) => u32::from(mask.code()) << 8,
            None => op_sel << 11 | abs << 8,
        };
        self.out.push(0xd400_0000 | u32::from(long_number(entry)) << 16 | clamp | middle | dst);
        self.out.push(neg << 29 | field("omod", mods.omod.into(), 2)? << 27 | sources);
        Ok(())
    }

    pub(super) fn interp(&mut self, f: &InterpFields) -> Result<()> {
        let entry = self.inst.entry;
        let number = u32::from(entry.number);
        let dst = vgprs("result", f.dst, 1)?;
        let attribute = field("attribute", f.attribute.into(), 6)?;
        let channel = field("channel", f.channel.into(), 2)?;
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
        let long = entry.format == Format::Vop3;
        let fits = mods.abs & !sources == 0 && mods.neg & !sources == 0 && mods.op_sel == 0;
        let fits = fits && (!mods.clamp || entry.is(Traits::CLAMP)) && (mods.omod == 0 || entry.is(Traits::OMOD));
        let none = *mods == Default::default();
        ensure(none || long && fits, || "modifiers: not in this form".to_owned())?;
        if !long {
            self.out.push(0xc800_0000 | dst << 18 | number << 16 | attribute << 10 | channel << 8 | src);
            return Ok(());
        }
        // Source 0 is the attribute.
        let [abs, neg] = [mods.abs, mods.neg].map(|set| u32::from(set) << 1);
        let src = if parameter { src } else { 256 + src };
        let addend = f.addend.map_or(Ok(0), |src| vector(1, src).map(|v| 256 + v))?;
        self.out.push(0xd400_0000 | number << 16 | flag(mods.clamp, 15) | abs << 8 | dst);
        let low = flag(f.high, 8) | channel << 6 | attribute;
        self.out.push(neg << 29 | u32::from(mods.omod) << 27 | addend << 18 | src << 9 | low);
        Ok(())
    }
}

fn sdwa_dword(format: Format, f: &VectorFields, sdwa: &Sdwa, codes: [u32; 3]) -> Result<u32> {
    let mods = &f.mods;
    let mut word = codes[0] & 0xff;
    let part = |what: &str, code: u8| -> Result<u32> {
        ensure(code <= 6, || format!("{what}: no part {code}"))?;
        Ok(u32::from(code))
    };
    if format == Format::Vopc {
        let plain = sdwa.dst_sel == 6 && sdwa.dst_unused == 0;
        ensure(plain, || "dst_sel: a comparison has none".to_owned())?;
        if let Some(VectorDst::Scalar(s)) = f.dst.filter(|dst| *dst != VectorDst::Scalar(Scalar::VccLo)) {
            word |= 1 << 15 | u32::from(s.code()) << 8;
        }
    } else {
        ensure(sdwa.dst_unused <= 2, || format!("dst_unused: no such way {}", sdwa.dst_unused))?;
        word |= part("dst_sel", sdwa.dst_sel)? << 8 | u32::from(sdwa.dst_unused) << 11;
        word |= flag(mods.clamp, 13) | field("omod", mods.omod.into(), 2)? << 14;
    }
    for (i, low) in [(0, 16), (1, 24)] {
        let of = |set: u8| set >> i & 1 == 1;
        let scalar = f.srcs[i].is_some_and(|src| !matches!(src, Src::Vgpr(_)));
        let bits = part("src_sel", sdwa.src_sel[i])?
            | flag(sdwa.sext[i], 3)
            | flag(of(mods.neg), 4)
            | flag(of(mods.abs), 5)
            | flag(scalar, 7);
        ensure(f.srcs[i].is_some() || bits == 0, || format!("src_sel: there is no source {i}"))?;
        word |= bits << low;
    }
    Ok(word)
}

fn dpp16_dword(f: &VectorFields, dpp: &Dpp16, code: u32) -> Result<u32> {
    let of = |set: u8, i: u8| set >> i & 1 == 1;
    let (neg, abs) = (f.mods.neg, f.mods.abs);
    let known =
        matches!(dpp.ctrl, 0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x16f);
    ensure(known, || format!("dpp_ctrl: no such control {:#x}", dpp.ctrl))?;
    let masks = field("bank_mask", dpp.bank_mask.into(), 4)? << 24 | field("row_mask", dpp.row_mask.into(), 4)? << 28;
    let signs = flag(of(neg, 0), 20) | flag(of(abs, 0), 21) | flag(of(neg, 1), 22) | flag(of(abs, 1), 23);
    Ok(masks | signs | flag(dpp.bound_ctrl, 19) | flag(dpp.fi, 18) | u32::from(dpp.ctrl) << 8 | code & 0xff)
}

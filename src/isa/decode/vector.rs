//! VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA and DPP, and interpolation.

use super::{Read, Reader, bit, bits, field, low16, scalar, scalars, source, vgpr, vgprs};
use crate::error::{Error, Result};
use crate::isa::instruction::{Dpp16, Fields, InterpFields, Modifiers, Sdwa, VectorDst, VectorFields, VectorForm};
use crate::isa::{Format, Latency, Op, OpcodeRow, OperandKind, Scalar, Src, Traits};

const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FI: u32 = 234;

impl Reader<'_> {
    /// VOP1, VOP2, VOPC, with SDWA or DPP in place of their first source.
    pub(super) fn short(&mut self) -> Result<Read> {
        let word = self.word;
        let src0 = bits(word, 8, 0);
        let (src1, dst) = (bits(word, 16, 9), bits(word, 24, 17));
        let entry = match bits(word, 30, 25) {
            0x3f => self.entry(Format::Vop1, src1)?,
            0x3e => self.entry(Format::Vopc, dst)?,
            number => self.entry(Format::Vop2, number)?,
        };
        let extra = match src0 {
            SDWA | DPP16 | DPP8 | DPP8_FI => Some(self.take()?),
            _ => None,
        };
        let mut out = VectorFields {
            dst: None,
            mask: entry.dst.get(1).map(|_| Scalar::VccLo),
            srcs: [None; 3],
            mods: Modifiers::default(),
            form: VectorForm::Short,
        };
        out.dst = match entry.dst.first() {
            None => None,
            Some(OperandKind::Mask) => Some(VectorDst::Scalar(Scalar::VccLo)),
            Some(_) if entry.is(Traits::SCALAR_RESULT) => Some(VectorDst::Scalar(scalar(dst)?)),
            Some(_) => Some(VectorDst::Vgpr(vgpr(dst))),
        };
        let second = Some(Src::Vgpr(vgpr(src1)));
        match (src0, extra) {
            (SDWA, Some(extra)) => self.sdwa(entry, extra, src1, &mut out)?,
            (_, Some(extra)) => {
                out.srcs = [Some(Src::Vgpr(vgpr(bits(extra, 7, 0)))), second, None];
                out.form = if src0 == DPP16 {
                    out.mods.neg = field(extra, 20, 20) | field(extra, 22, 22) << 1;
                    out.mods.abs = field(extra, 21, 21) | field(extra, 23, 23) << 1;
                    VectorForm::Dpp16(Dpp16 {
                        ctrl: low16(bits(extra, 16, 8)),
                        fi: bit(extra, 18),
                        bound_ctrl: bit(extra, 19),
                        bank_mask: field(extra, 27, 24),
                        row_mask: field(extra, 31, 28),
                    })
                } else {
                    VectorForm::Dpp8 { lanes: bits(extra, 31, 8), fi: src0 == DPP8_FI }
                };
            }
            (_, None) => {
                let first = if entry.src.is_empty() { None } else { Some(self.source(src0)?) };
                // The constant of these two always follows, and another operand may use it too.
                out.srcs = match () {
                    () if entry.is(Traits::CONSTANT_SECOND) => [first, Some(Src::Literal(self.take()?)), second],
                    () if entry.is(Traits::CONSTANT_THIRD) => [first, second, Some(Src::Literal(self.take()?))],
                    () => {
                        self.pass_literal(&[src0])?;
                        [first, second, None]
                    }
                };
            }
        }
        if entry.src.get(2) == Some(&OperandKind::Mask) {
            out.srcs[2] = Some(Src::Scalar(Scalar::VccLo));
        }
        finish(entry, out)
    }

    fn sdwa(&self, entry: &OpcodeRow, extra: u32, src1: u32, out: &mut VectorFields) -> Result<()> {
        let operand = |number: u32, is_scalar: bool| {
            if is_scalar { source(number, None) } else { Ok(Src::Vgpr(vgpr(number))) }
        };
        out.srcs = [Some(operand(bits(extra, 7, 0), bit(extra, 23))?), Some(operand(src1, bit(extra, 31))?), None];
        out.mods.neg = field(extra, 20, 20) | field(extra, 28, 28) << 1;
        out.mods.abs = field(extra, 21, 21) | field(extra, 29, 29) << 1;
        let mut sdwa = Sdwa {
            dst_sel: 6,
            dst_unused: 0,
            src_sel: [field(extra, 18, 16), field(extra, 26, 24)],
            sext: [bit(extra, 19), bit(extra, 27)],
        };
        if entry.format == Format::Vopc {
            if bit(extra, 15) && out.dst.is_some() {
                out.dst = Some(VectorDst::Scalar(scalar(bits(extra, 14, 8))?));
            }
        } else {
            sdwa.dst_sel = field(extra, 10, 8);
            sdwa.dst_unused = field(extra, 12, 11);
            out.mods.clamp = bit(extra, 13);
            out.mods.omod = field(extra, 15, 14);
        }
        if sdwa.src_sel.contains(&7) || sdwa.dst_sel == 7 || sdwa.dst_unused == 3 {
            return Err(Error::malformed("no such part of a register"));
        }
        out.form = VectorForm::Sdwa(sdwa);
        Ok(())
    }

    pub(super) fn long(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Vop3, bits(word, 25, 16))?;
        let codes = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
        if entry.latency == Latency::Interp {
            return self.long_interp(entry, second);
        }
        let low = bits(word, 7, 0);
        let mut out = VectorFields {
            dst: None,
            mask: None,
            srcs: [None; 3],
            mods: Modifiers {
                clamp: bit(word, 15),
                omod: field(second, 28, 27),
                neg: field(second, 31, 29),
                ..Modifiers::default()
            },
            form: VectorForm::Long,
        };
        if entry.dst.len() > 1 {
            out.mask = Some(scalar(bits(word, 14, 8))?);
        } else {
            out.mods.abs = field(word, 10, 8);
            out.mods.op_sel = field(word, 14, 11);
        }
        out.dst = match entry.dst.first() {
            None => None,
            Some(OperandKind::Mask) => Some(VectorDst::Scalar(scalar(low)?)),
            Some(_) if entry.is(Traits::SCALAR_RESULT) => Some(VectorDst::Scalar(scalar(low)?)),
            Some(_) => Some(VectorDst::Vgpr(vgpr(low))),
        };
        for ((src, code), _) in out.srcs.iter_mut().zip(codes).zip(entry.src) {
            *src = Some(self.source(code)?);
        }
        self.pass_literal(codes.get(..entry.src.len()).unwrap_or(&codes))?;
        finish(entry, out)
    }

    pub(super) fn packed(&mut self) -> Result<Read> {
        let word = self.word;
        if bits(word, 25, 23) != 0 {
            return Err(Error::malformed("no encoding begins like this"));
        }
        let second = self.take()?;
        let entry = self.entry(Format::Vop3p, bits(word, 22, 16))?;
        let codes = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
        let mods = Modifiers {
            neg: field(second, 31, 29),
            neg_hi: field(word, 10, 8),
            op_sel: field(word, 13, 11),
            op_sel_hi: field(second, 28, 27) | field(word, 14, 14) << 2,
            clamp: bit(word, 15),
            ..Modifiers::default()
        };
        let mut out = VectorFields {
            dst: Some(VectorDst::Vgpr(vgpr(bits(word, 7, 0)))),
            mask: None,
            srcs: [None; 3],
            mods,
            form: VectorForm::Long,
        };
        for ((src, code), _) in out.srcs.iter_mut().zip(codes).zip(entry.src) {
            *src = Some(self.source(code)?);
        }
        self.pass_literal(codes.get(..entry.src.len()).unwrap_or(&codes))?;
        finish(entry, out)
    }

    pub(super) fn interp(&mut self) -> Result<Read> {
        let word = self.word;
        let entry = self.entry(Format::Vintrp, bits(word, 17, 16))?;
        let number = bits(word, 7, 0);
        let fields = InterpFields {
            dst: vgpr(bits(word, 25, 18)),
            src: if is_parameter(entry) { parameter(number)? } else { Src::Vgpr(vgpr(number)) },
            addend: None,
            attribute: field(word, 15, 10),
            channel: field(word, 9, 8),
            high: false,
            mods: Modifiers::default(),
        };
        Ok((entry, Fields::Interp(fields)))
    }

    fn long_interp(&mut self, entry: &'static OpcodeRow, second: u32) -> Result<Read> {
        let word = self.word;
        let number = bits(second, 17, 9);
        let src = if is_parameter(entry) { parameter(number)? } else { source(number, None)? };
        let addend = if entry.src.len() > 1 { Some(source(bits(second, 26, 18), None)?) } else { None };
        // Source 0 is the attribute, which has no modifiers.
        if bit(word, 8) || bit(second, 29) {
            return Err(Error::malformed("a modifier of the attribute"));
        }
        let fields = InterpFields {
            dst: vgpr(bits(word, 7, 0)),
            src,
            addend,
            attribute: field(second, 5, 0),
            channel: field(second, 7, 6),
            high: bit(second, 8),
            mods: Modifiers {
                abs: field(word, 10, 9),
                op_sel: field(word, 14, 11),
                clamp: bit(word, 15),
                omod: field(second, 28, 27),
                neg: field(second, 31, 30),
                ..Modifiers::default()
            },
        };
        Ok((entry, Fields::Interp(fields)))
    }
}

/// Drops sources that the row does not have, and checks the groups against the register files.
fn finish(entry: &'static OpcodeRow, mut out: VectorFields) -> Result<Read> {
    for src in out.srcs.iter_mut().skip(entry.src.len()) {
        *src = None;
    }
    if let (Some(VectorDst::Vgpr(v)), Some(kind)) = (out.dst, entry.dst.first()) {
        vgprs(v, kind.registers())?;
    }
    for (src, kind) in out.srcs.iter().zip(entry.src) {
        match src {
            Some(Src::Vgpr(v)) => vgprs(*v, kind.registers())?,
            Some(Src::Scalar(s)) => scalars(*s, kind.registers())?,
            _ => {}
        }
    }
    Ok((entry, Fields::Vector(out)))
}

/// The parameter number that `v_interp_mov` has in place of a register.
fn parameter(number: u32) -> Result<Src> {
    match i8::try_from(number) {
        Ok(n @ 0..=2) => Ok(Src::Int(n)),
        _ => Err(Error::malformed(format!("no interpolation parameter {number}"))),
    }
}

/// Whether the source is a parameter number.
fn is_parameter(entry: &OpcodeRow) -> bool {
    matches!(entry.op, Op::VInterpMovF32 | Op::VInterpMovF32E64)
}

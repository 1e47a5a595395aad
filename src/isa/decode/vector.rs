//! VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA and DPP, and interpolation.

use super::{Read, Reader, scalars, vgprs};
use crate::instruction::{
    Dpp16, DualFields, Fields, InterpFields, Modifiers, Sdwa, VectorDst, VectorFields, VectorForm,
};
use crate::layout::{CodeField, LongLayout};
use crate::operand_codes::{DPP8, DPP8_FI, DPP16, SDWA};
use crate::{Format, Latency, Op, OpcodeRow, OperandKind, Scalar, Src, Traits, Vgpr};
use dovetail_base::error::{Error, Result};

impl Reader<'_> {
    /// VOP1, VOP2, VOPC, with SDWA or DPP in place of their first source.
    pub(super) fn short(&mut self, format: Format) -> Result<Read> {
        let layout = self.isa.layout.short(format);
        let entry = self.entry(format, layout.op)?;
        let src0 = self.get(layout.srcs[0]);
        let extra = match src0 {
            SDWA | DPP16 | DPP8 | DPP8_FI => Some(self.take()?),
            _ => None,
        };
        let mut out = VectorFields {
            dst: self.result(entry, layout.dst)?,
            mask: entry.dst.get(1).map(|_| Scalar::VccLo),
            srcs: [None; 3],
            mods: Modifiers::default(),
            form: VectorForm::Short,
        };
        if entry.dst.first() == Some(&OperandKind::Mask) {
            out.dst = Some(VectorDst::Scalar(Scalar::VccLo));
        }
        let src1 = self.vgpr(layout.srcs[1]);
        let second = Some(Src::Vgpr(src1));
        match (src0, extra) {
            (SDWA, Some(extra)) => self.sdwa(entry, extra.into(), src1, &mut out)?,
            (DPP16, Some(extra)) => {
                out.srcs = [Some(Src::Vgpr(Vgpr(self.isa.layout.dpp16.src0.small(extra.into())))), second, None];
                (out.form, out.mods) = self.dpp16(extra.into());
            }
            (_, Some(extra)) => {
                let layout = &self.isa.layout.dpp8;
                let (lanes, extra) = (layout.lanes.get(extra.into()), extra.into());
                out.srcs = [Some(Src::Vgpr(Vgpr(layout.src0.small(extra)))), second, None];
                out.form = VectorForm::Dpp8 { lanes, fi: src0 == DPP8_FI };
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
        split_halves(entry, &mut out);
        finish(entry, out)
    }

    /// The result that a field names.
    fn result(&self, entry: &OpcodeRow, field: CodeField) -> Result<Option<VectorDst>> {
        Ok(match entry.dst.first() {
            None => None,
            Some(OperandKind::Mask) => Some(VectorDst::Scalar(self.scalar_of(field)?)),
            Some(_) if entry.is(Traits::SCALAR_RESULT) => Some(VectorDst::Scalar(self.scalar_of(field)?)),
            Some(_) => Some(VectorDst::Vgpr(self.vgpr(field))),
        })
    }

    /// The dword that takes source 0 from other lanes of a row, with the modifiers of the short form.
    fn dpp16(&self, extra: u128) -> (VectorForm, Modifiers) {
        let layout = &self.isa.layout.dpp16;
        let set = |[a, b]: [CodeField; 2]| a.small(extra) | b.small(extra) << 1;
        let mods = Modifiers { neg: set(layout.neg), abs: set(layout.abs), ..Modifiers::default() };
        let form = VectorForm::Dpp16(Dpp16 {
            ctrl: layout.ctrl.get(extra) as u16,
            fi: layout.fi.is_set(extra),
            bound_ctrl: layout.bound_ctrl.is_set(extra),
            bank_mask: layout.bank_mask.small(extra),
            row_mask: layout.row_mask.small(extra),
        });
        (form, mods)
    }

    fn sdwa(&self, entry: &OpcodeRow, extra: u128, src1: Vgpr, out: &mut VectorFields) -> Result<()> {
        let layout = &self.isa.layout.sdwa;
        let numbers = [layout.src0.small(extra), src1.number()];
        for (n, (number, of)) in numbers.into_iter().zip(&layout.srcs).enumerate() {
            let scalar = of.scalar.is_set(extra);
            out.srcs[n] = Some(if scalar { self.source_with(number.into(), None)? } else { Src::Vgpr(Vgpr(number)) });
            out.mods.neg |= of.neg.small(extra) << n;
            out.mods.abs |= of.abs.small(extra) << n;
        }
        let [a, b] = &layout.srcs;
        let mut sdwa = Sdwa {
            dst_sel: 6,
            dst_unused: 0,
            src_sel: [a.sel.small(extra), b.sel.small(extra)],
            sext: [a.sext.is_set(extra), b.sext.is_set(extra)],
        };
        if entry.format == Format::Vopc {
            if layout.has_scalar_dst.is_set(extra) && out.dst.is_some() {
                out.dst = Some(VectorDst::Scalar(self.scalar_code(layout.scalar_dst.get(extra))?));
            }
        } else {
            sdwa.dst_sel = layout.dst_sel.small(extra);
            sdwa.dst_unused = layout.dst_unused.small(extra);
            out.mods.clamp = layout.clamp.is_set(extra);
            out.mods.omod = layout.omod.small(extra);
        }
        if sdwa.src_sel.contains(&7) || sdwa.dst_sel == 7 || sdwa.dst_unused == 3 {
            return Err(Error::malformed("no such part of a register"));
        }
        out.form = VectorForm::Sdwa(sdwa);
        Ok(())
    }

    pub(super) fn long(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.vop3;
        let entry = self.entry(Format::Vop3, layout.op)?;
        if entry.latency == Latency::Interp {
            return self.long_interp(entry);
        }
        let mut out = VectorFields {
            dst: self.result(entry, layout.dst)?,
            mask: None,
            srcs: [None; 3],
            mods: self.modifiers(layout),
            form: VectorForm::Long,
        };
        if entry.dst.len() > 1 {
            out.mask = Some(self.scalar_of(layout.mask)?);
            (out.mods.abs, out.mods.op_sel) = (0, 0);
        }
        self.long_sources(entry, layout, out)
    }

    pub(super) fn packed(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.vop3p;
        let entry = self.entry(Format::Vop3p, layout.op)?;
        let out = VectorFields {
            dst: Some(VectorDst::Vgpr(self.vgpr(layout.dst))),
            mask: None,
            srcs: [None; 3],
            mods: self.modifiers(layout),
            form: VectorForm::Long,
        };
        self.long_sources(entry, layout, out)
    }

    fn modifiers(&self, layout: &LongLayout) -> Modifiers {
        Modifiers {
            abs: self.small(layout.abs),
            neg: self.small(layout.neg),
            neg_hi: self.small(layout.neg_hi),
            op_sel: self.small(layout.op_sel),
            op_sel_hi: self.small(layout.op_sel_hi),
            clamp: self.is_set(layout.clamp),
            omod: self.small(layout.omod),
        }
    }

    fn long_sources(&mut self, entry: &'static OpcodeRow, layout: &LongLayout, mut out: VectorFields) -> Result<Read> {
        let mut codes = layout.srcs.map(|field| self.get(field));
        if let DPP16 | DPP8 | DPP8_FI = codes[0]
            && entry.is(Traits::LONG_DPP)
        {
            let extra = self.take()?.into();
            let src0 = match codes[0] {
                DPP16 => {
                    if let (VectorForm::Dpp16(dpp), _) = self.dpp16(extra) {
                        out.form = VectorForm::LongDpp16(dpp);
                    }
                    self.isa.layout.dpp16.src0
                }
                code => {
                    let lanes = &self.isa.layout.dpp8;
                    out.form = VectorForm::LongDpp8 { lanes: lanes.lanes.get(extra), fi: code == DPP8_FI };
                    lanes.src0
                }
            };
            codes[0] = 256 + src0.get(extra);
        }
        for ((src, code), _) in out.srcs.iter_mut().zip(codes).zip(entry.src) {
            *src = Some(self.source(code)?);
        }
        self.pass_literal(codes.get(..entry.src.len()).unwrap_or(&codes))?;
        finish(entry, out)
    }

    pub(super) fn vinterp(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.vinterp;
        let entry = self.entry(Format::Vinterp, layout.op)?;
        let long = &self.isa.layout.vop3;
        let mods = Modifiers { abs: 0, omod: 0, op_sel: self.small(layout.op_sel), ..self.modifiers(long) };
        let out = VectorFields {
            dst: self.result(entry, long.dst)?,
            mask: None,
            srcs: [None; 3],
            mods,
            form: VectorForm::Interp { wait: self.small(layout.wait) },
        };
        self.long_sources(entry, long, out)
    }

    pub(super) fn dual(&mut self) -> Result<Read> {
        let [first, second] = &self.isa.layout.vopd;
        let entry = self.entry(Format::Vopd, first.op)?;
        let fields = DualFields {
            second: self.entry(Format::Vopd, second.op)?,
            dst: [self.vgpr(first.dst), Vgpr(self.small(second.dst) << 1 | !self.small(first.dst) & 1)],
            src0: [self.source(self.get(first.srcs[0]))?, self.source(self.get(second.srcs[0]))?],
            src1: [self.vgpr(first.srcs[1]), self.vgpr(second.srcs[1])],
            constant: None,
        };
        if entry.is(Traits::SECOND_HALF) {
            return Err(Error::malformed(format!("{} is no first half", entry.mnemonic)));
        }
        let constant =
            [entry, fields.second].iter().any(|row| row.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD)));
        let literal = fields.src0.iter().any(|src| matches!(src, Src::Literal(_)));
        let follows = if constant || literal { Some(self.take()?) } else { None };
        Ok((entry, Fields::Dual(DualFields { constant: follows.filter(|_| constant), ..fields })))
    }

    pub(super) fn interp(&mut self) -> Result<Read> {
        let layout = &self.isa.layout.vintrp;
        let entry = self.entry(Format::Vintrp, layout.op)?;
        let number = self.get(layout.src);
        let fields = InterpFields {
            dst: self.vgpr(layout.dst),
            src: if is_parameter(entry) { parameter(number)? } else { Src::Vgpr(self.vgpr(layout.src)) },
            addend: None,
            attribute: self.small(layout.attribute),
            channel: self.small(layout.channel),
            high: false,
            mods: Modifiers::default(),
        };
        Ok((entry, Fields::Interp(fields)))
    }

    fn long_interp(&mut self, entry: &'static OpcodeRow) -> Result<Read> {
        let layout = &self.isa.layout.long_interp;
        let number = self.get(layout.src);
        let src = if is_parameter(entry) { parameter(number)? } else { self.source_with(number, None)? };
        let addend = if entry.src.len() > 1 { Some(self.source_with(self.get(layout.addend), None)?) } else { None };
        // Source 0 is the attribute, which has no modifiers.
        let mods = self.modifiers(&self.isa.layout.vop3);
        if (mods.abs | mods.neg) & 1 != 0 {
            return Err(Error::malformed("a modifier of the attribute"));
        }
        let fields = InterpFields {
            dst: self.vgpr(layout.dst),
            src,
            addend,
            attribute: self.small(layout.attribute),
            channel: self.small(layout.channel),
            high: self.is_set(layout.high),
            mods: Modifiers { abs: mods.abs >> 1, neg: mods.neg >> 1, ..mods },
        };
        Ok((entry, Fields::Interp(fields)))
    }
}

/// In a short form, the highest bit of a VGPR's number chooses the half of it.
fn split_halves(entry: &OpcodeRow, out: &mut VectorFields) {
    let mut split = |v: &mut Vgpr, kind: OperandKind, bit: u32| {
        if entry.is_halved(&out.form, kind) && v.0 >= Vgpr::HALVED {
            v.0 -= Vgpr::HALVED;
            out.mods.op_sel |= 1 << bit;
        }
    };
    for ((src, kind), bit) in out.srcs.iter_mut().zip(entry.src).zip(0..) {
        if let Some(Src::Vgpr(v)) = src {
            split(v, *kind, bit);
        }
    }
    if let (Some(VectorDst::Vgpr(v)), Some(kind)) = (&mut out.dst, entry.dst.first()) {
        split(v, *kind, 3);
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

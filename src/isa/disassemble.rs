//! Dwords to [`Instruction`]: every encoding of gfx10.3 (isa-gfx10 2.1, 2.2).
//!
//! Input bytes are judged, never trusted: an opcode that no row has, an operand that does not exist, a register group that
//! leaves the register file, or a missing dword is an error that shows the word.

use super::instruction::*;
use super::table::{Entry, Kind};
use super::{Cache, Format, Scalar, Sgpr, Src, Vgpr, tables};
use crate::error::{Context, Error, Result};
use crate::target::GfxIp;

const LITERAL: u32 = 255;
const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FI: u32 = 234;

/// The first instruction of `code`.
pub fn disassemble(gfx: GfxIp, code: &[u32]) -> Result<Instruction> {
    let word = *code.first().ok_or_else(|| Error::malformed("code ends where an instruction should begin"))?;
    let mut reader = Reader { gfx, code, word, used: 1 };
    let (entry, fields) = reader.instruction().at(|| format!("instruction word {word:#010x}"))?;
    let dwords = u8::try_from(reader.used).map_err(|_| Error::bug("an instruction of 256 dwords"))?;
    Ok(Instruction { entry, dwords, fields })
}

struct Reader<'a> {
    gfx: GfxIp,
    code: &'a [u32],
    word: u32,
    /// Dwords taken.
    used: usize,
}

type Read = (&'static Entry, Fields);

impl Reader<'_> {
    fn instruction(&mut self) -> Result<Read> {
        let word = self.word;
        match word >> 26 {
            0b11_0010 => self.interp(),
            0b11_0011 => self.packed(),
            0b11_0101 => self.long(),
            0b11_0110 => self.ds(),
            0b11_0111 => self.flat(),
            0b11_1000 | 0b11_1010 => self.buffer(),
            0b11_1100 => self.image(),
            0b11_1101 => self.smem(),
            0b11_1110 => self.export(),
            top if top < 0b10_0000 => self.short(),
            top if top < 0b11_0000 => self.scalar(),
            _ => Err(Error::malformed("no encoding begins like this")),
        }
    }

    fn entry(&self, format: Format, number: u32) -> Result<&'static Entry> {
        let number = u16::try_from(number).ok();
        number.and_then(|number| tables::entry(self.gfx, format, number)).ok_or_else(|| {
            let number = number.unwrap_or_default();
            Error::malformed(format!("{format} has no opcode {number}"))
        })
    }

    /// The next dword.
    fn take(&mut self) -> Result<u32> {
        let word = self.code.get(self.used).copied();
        self.used += 1;
        word.ok_or_else(|| Error::malformed("the code ends inside an instruction"))
    }

    /// A source; a literal is the dword after those taken so far.
    fn source(&mut self, code: u32) -> Result<Src> {
        let literal = if code == LITERAL { self.code.get(self.used).copied() } else { None };
        source(code, literal)
    }

    /// Steps over the literal that any of these codes announced.
    fn pass_literal(&mut self, codes: &[u32]) -> Result<()> {
        if codes.contains(&LITERAL) { self.take().map(|_| ()) } else { Ok(()) }
    }

    fn scalar(&mut self) -> Result<Read> {
        let word = self.word;
        let (low, high, dst) = (bits(word, 7, 0), bits(word, 15, 8), bits(word, 22, 16));
        let imm = low16(word);
        let none = ScalarFields { dst: None, srcs: [None; 2], imm: 0 };
        let (entry, fields) = match bits(word, 31, 23) {
            0b1_0111_1101 => {
                let entry = self.entry(Format::Sop1, high)?;
                let dst = if entry.dst.is_empty() { None } else { Some(scalar(dst)?) };
                let src = if entry.src.is_empty() { None } else { Some(self.source(low)?) };
                if src.is_some() {
                    self.pass_literal(&[low])?;
                }
                (entry, ScalarFields { dst, srcs: [src, None], ..none })
            }
            0b1_0111_1110 => {
                let entry = self.entry(Format::Sopc, dst)?;
                let srcs = [Some(self.source(low)?), Some(self.source(high)?)];
                self.pass_literal(&[low, high])?;
                (entry, ScalarFields { srcs, ..none })
            }
            0b1_0111_1111 => (self.entry(Format::Sopp, dst)?, ScalarFields { imm, ..none }),
            top if top >> 5 == 0b1011 => {
                let entry = self.entry(Format::Sopk, bits(word, 27, 23))?;
                let register = scalar(dst)?;
                let literal = if entry.mnemonic == "s_setreg_imm32_b32" { Some(self.take()?) } else { None };
                let src = if entry.src.is_empty() { literal.map(Src::Literal) } else { Some(Src::Scalar(register)) };
                let dst = if entry.dst.is_empty() { None } else { Some(register) };
                (entry, ScalarFields { dst, srcs: [src, None], imm })
            }
            _ => {
                let entry = self.entry(Format::Sop2, bits(word, 29, 23))?;
                let srcs = [Some(self.source(low)?), Some(self.source(high)?)];
                self.pass_literal(&[low, high])?;
                (entry, ScalarFields { dst: Some(scalar(dst)?), srcs, ..none })
            }
        };
        if let (Some(dst), Some(kind)) = (fields.dst, entry.dst.first()) {
            scalars(dst, kind.registers())?;
        }
        for (src, kind) in fields.srcs.iter().zip(entry.src) {
            if let Some(Src::Scalar(s)) = src {
                scalars(*s, kind.registers())?;
            }
        }
        Ok((entry, Fields::Scalar(fields)))
    }

    fn smem(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Smem, bits(word, 25, 18))?;
        let base = scalar(bits(word, 5, 0) << 1)?;
        let data = scalar(bits(word, 12, 6))?;
        scalars(data, entry.data_registers())?;
        let fields = SmemFields {
            data,
            base,
            // Sign extension from 21 bits.
            offset: (second << 11).cast_signed() >> 11,
            soffset: Some(scalar(bits(second, 31, 25))?).filter(|s| *s != Scalar::Null),
            cache: Cache { glc: bit(word, 16), dlc: bit(word, 14), slc: false },
        };
        Ok((entry, Fields::Smem(fields)))
    }

    /// VOP1, VOP2, VOPC, with what may replace their first source.
    fn short(&mut self) -> Result<Read> {
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
            Some(Kind::Mask) => Some(VectorDst::Scalar(Scalar::VccLo)),
            Some(_) if entry.mnemonic == "v_readfirstlane_b32" => Some(VectorDst::Scalar(scalar(dst)?)),
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
                // The constant of these two always follows, and may be an operand too.
                out.srcs = match entry.mnemonic {
                    "v_fmamk_f32" | "v_fmamk_f16" => [first, Some(Src::Literal(self.take()?)), second],
                    "v_fmaak_f32" | "v_fmaak_f16" => [first, second, Some(Src::Literal(self.take()?))],
                    _ => {
                        self.pass_literal(&[src0])?;
                        [first, second, None]
                    }
                };
            }
        }
        if entry.src.get(2) == Some(&Kind::Mask) {
            out.srcs[2] = Some(Src::Scalar(Scalar::VccLo));
        }
        finish(entry, out)
    }

    fn sdwa(&self, entry: &Entry, extra: u32, src1: u32, out: &mut VectorFields) -> Result<()> {
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

    fn long(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Vop3, bits(word, 25, 16))?;
        let codes = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
        if entry.mnemonic.starts_with("v_interp") {
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
            Some(Kind::Mask) => Some(VectorDst::Scalar(scalar(low)?)),
            Some(_) if entry.mnemonic == "v_readlane_b32" => Some(VectorDst::Scalar(scalar(low)?)),
            Some(_) => Some(VectorDst::Vgpr(vgpr(low))),
        };
        for ((src, code), _) in out.srcs.iter_mut().zip(codes).zip(entry.src) {
            *src = Some(self.source(code)?);
        }
        self.pass_literal(codes.get(..entry.src.len()).unwrap_or(&codes))?;
        finish(entry, out)
    }

    fn packed(&mut self) -> Result<Read> {
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

    fn interp(&mut self) -> Result<Read> {
        let word = self.word;
        let entry = self.entry(Format::Vintrp, bits(word, 17, 16))?;
        let number = bits(word, 7, 0);
        let fields = InterpFields {
            dst: vgpr(bits(word, 25, 18)),
            src: if entry.mnemonic == "v_interp_mov_f32" { parameter(number)? } else { Src::Vgpr(vgpr(number)) },
            addend: None,
            attribute: field(word, 15, 10),
            channel: field(word, 9, 8),
            high: false,
            mods: Modifiers::default(),
        };
        Ok((entry, Fields::Interp(fields)))
    }

    fn long_interp(&mut self, entry: &'static Entry, second: u32) -> Result<Read> {
        let word = self.word;
        let number = bits(second, 17, 9);
        let src = if entry.mnemonic == "v_interp_mov_f32" { parameter(number)? } else { source(number, None)? };
        let addend = if entry.src.len() > 1 { Some(source(bits(second, 26, 18), None)?) } else { None };
        let fields = InterpFields {
            dst: vgpr(bits(word, 7, 0)),
            src,
            addend,
            attribute: field(second, 5, 0),
            channel: field(second, 7, 6),
            high: bit(second, 8),
            mods: Modifiers {
                abs: field(word, 10, 8),
                op_sel: field(word, 14, 11),
                clamp: bit(word, 15),
                omod: field(second, 28, 27),
                neg: field(second, 31, 29),
                ..Modifiers::default()
            },
        };
        Ok((entry, Fields::Interp(fields)))
    }

    fn ds(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Ds, bits(word, 25, 18))?;
        let fields = DsFields {
            dst: vgpr(bits(second, 31, 24)),
            addr: vgpr(bits(second, 7, 0)),
            data: [vgpr(bits(second, 15, 8)), vgpr(bits(second, 23, 16))],
            offsets: [field(word, 7, 0), field(word, 15, 8)],
            gds: bit(word, 17),
        };
        if let Some(kind) = entry.dst.first() {
            vgprs(fields.dst, kind.registers())?;
        }
        for (data, kind) in fields.data.iter().zip(entry.src.iter().skip(1)) {
            vgprs(*data, kind.registers())?;
        }
        Ok((entry, Fields::Ds(fields)))
    }

    fn flat(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let format = match bits(word, 15, 14) {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => return Err(Error::malformed("no such segment")),
        };
        let entry = self.entry(format, bits(word, 24, 18))?;
        let offset = bits(word, 11, 0);
        let scratch = format == Format::Scratch;
        let code = bits(second, 22, 16);
        let none = code == 125 || code == 127 && scratch || format == Format::Flat;
        let fields = FlatFields {
            dst: vgpr(bits(second, 31, 24)),
            addr: vgpr(bits(second, 7, 0)),
            data: vgpr(bits(second, 15, 8)),
            saddr: if none { None } else { Some(scalar(code)?) },
            no_vaddr: scratch && code != 125,
            offset: if format == Format::Flat {
                bits(offset, 10, 0).cast_signed()
            } else {
                // Sign extension from 12 bits.
                (offset << 20).cast_signed() >> 20
            },
            lds: bit(word, 13),
            cache: Cache { glc: bit(word, 16), slc: bit(word, 17), dlc: bit(word, 12) },
        };
        match (entry.dst.first(), entry.src.first()) {
            (Some(kind), _) => vgprs(fields.dst, kind.registers())?,
            (None, Some(kind)) => vgprs(fields.data, kind.registers())?,
            (None, None) => {}
        }
        if fields.saddr.is_none() && !scratch && !entry.mnemonic.contains("addtid") {
            vgprs(fields.addr, 2)?;
        }
        Ok((entry, Fields::Flat(fields)))
    }

    fn buffer(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let typed = word >> 26 == 0b11_1010;
        let entry = if typed {
            self.entry(Format::Mtbuf, bits(word, 18, 16) | bits(second, 21, 21) << 3)?
        } else {
            self.entry(Format::Mubuf, bits(word, 24, 18) | bits(word, 25, 25) << 7)?
        };
        let fields = BufferFields {
            data: vgpr(bits(second, 15, 8)),
            vaddr: vgpr(bits(second, 7, 0)),
            idxen: bit(word, 13),
            offen: bit(word, 12),
            resource: scalar(bits(second, 20, 16) << 2)?,
            soffset: source(bits(second, 31, 24), None)?,
            offset: low16(bits(word, 11, 0)),
            format: if typed { Some(field(word, 25, 19)) } else { None },
            lds: !typed && bit(word, 16),
            tfe: bit(second, 23),
            cache: Cache { glc: bit(word, 14), slc: bit(second, 22), dlc: bit(word, 15) },
        };
        vgprs(fields.data, entry.data_registers() + u8::from(fields.tfe))?;
        vgprs(fields.vaddr, u8::from(fields.idxen) + u8::from(fields.offen))?;
        scalars(fields.resource, 4)?;
        Ok((entry, Fields::Buffer(fields)))
    }

    fn image(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let entry = self.entry(Format::Mimg, bits(word, 24, 18) | bits(word, 0, 0) << 7)?;
        let nsa = bits(word, 2, 1);
        let mut addresses = vec![vgpr(bits(second, 7, 0))];
        for _ in 0..nsa {
            addresses.extend(self.take()?.to_le_bytes().map(Vgpr));
        }
        let fields = ImageFields {
            data: vgpr(bits(second, 15, 8)),
            addresses,
            nsa: nsa != 0,
            resource: scalar(bits(second, 20, 16) << 2)?,
            sampler: scalar(bits(second, 25, 21) << 2)?,
            dim: field(word, 5, 3),
            dmask: field(word, 11, 8),
            unorm: bit(word, 12),
            r128: bit(word, 15),
            a16: bit(second, 30),
            d16: bit(second, 31),
            tfe: bit(word, 16),
            lwe: bit(word, 17),
            cache: Cache { glc: bit(word, 13), slc: bit(word, 25), dlc: bit(word, 7) },
        };
        vgprs(fields.data, fields.data_registers(entry.mnemonic) + u8::from(fields.tfe || fields.lwe))?;
        scalars(fields.resource, if fields.r128 { 4 } else { 8 })?;
        Ok((entry, Fields::Image(Box::new(fields))))
    }

    fn export(&mut self) -> Result<Read> {
        let word = self.word;
        let second = self.take()?;
        let fields = ExportFields {
            target: field(word, 9, 4),
            enabled: field(word, 3, 0),
            data: second.to_le_bytes().map(Vgpr),
            compr: bit(word, 10),
            done: bit(word, 11),
            vm: bit(word, 12),
        };
        Ok((self.entry(Format::Exp, 0)?, Fields::Export(fields)))
    }
}

/// Drops sources that the row does not have, and holds the groups against the register files.
fn finish(entry: &'static Entry, mut out: VectorFields) -> Result<Read> {
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
    Ok((entry, Fields::Vector(Box::new(out))))
}

fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word << (31 - high)) >> (31 - high + low)
}

fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 == 1
}

/// A field of at most 8 bits.
fn field(word: u32, high: u32, low: u32) -> u8 {
    bits(word, high, low).to_le_bytes()[0]
}

fn low16(word: u32) -> u16 {
    let [a, b, ..] = word.to_le_bytes();
    u16::from_le_bytes([a, b])
}

fn vgpr(number: u32) -> Vgpr {
    Vgpr(number.to_le_bytes()[0])
}

fn scalar(number: u32) -> Result<Scalar> {
    let found = u8::try_from(number).ok().and_then(Scalar::from_code);
    found.ok_or_else(|| Error::malformed(format!("no scalar register {number}")))
}

fn source(code: u32, literal: Option<u32>) -> Result<Src> {
    let found = u16::try_from(code).ok().and_then(|code| Src::from_code(code, literal));
    found.ok_or_else(|| Error::malformed(format!("no source operand {code}")))
}

/// The number that `v_interp_mov` has in place of a register.
fn parameter(number: u32) -> Result<Src> {
    match i8::try_from(number) {
        Ok(n @ 0..=2) => Ok(Src::Int(n)),
        _ => Err(Error::malformed(format!("no interpolation parameter {number}"))),
    }
}

fn vgprs(first: Vgpr, count: u8) -> Result<()> {
    let end = usize::from(first.0) + usize::from(count);
    if end <= 256 { Ok(()) } else { Err(Error::malformed(format!("{count} registers from {first} on"))) }
}

fn scalars(first: Scalar, count: u8) -> Result<()> {
    let fits = match first {
        Scalar::Sgpr(s) => s.number() <= Sgpr::COUNT.saturating_sub(count),
        Scalar::VccLo | Scalar::ExecLo => count <= 2,
        Scalar::Null => true,
        _ => count <= 1,
    };
    if fits { Ok(()) } else { Err(Error::malformed(format!("{count} registers from {first} on"))) }
}

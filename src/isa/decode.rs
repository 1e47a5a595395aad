//! Dwords to instruction: the inverse of `encode`, for the instructions in [`Op::ALL`].
//!
//! Input bytes are judged, never trusted: an unknown word, a field with bits that we have no name for, or a missing second
//! dword is an error that shows the word. What decodes, encodes back to the same dwords.

use super::{Buffer, BufferAddress, BufferFormat, Cache, ExpSources, ExpTarget, Format, Inst, LaneMask, Op, Scalar};
use super::{Sgpr, Src, Vgpr, Waitcnt, opcode, tables};
use crate::error::{Context, Error, Result};
use crate::target::{GfxIp, WaveSize};

/// The first instruction of `code`, and how many dwords it takes. The wave size is not in the code: it says how wide a
/// lane mask is.
pub fn decode(gfx: GfxIp, wave: WaveSize, code: &[u32]) -> Result<(Inst, usize)> {
    let word = *code.first().ok_or_else(|| Error::malformed("code ends where an instruction should begin"))?;
    Decoder { gfx, wave, word, next: code.get(1..).unwrap_or(&[]), literal: false }
        .inst()
        .at(|| format!("instruction word {word:#010x}"))
}

struct Decoder<'a> {
    gfx: GfxIp,
    wave: WaveSize,
    word: u32,
    next: &'a [u32],
    literal: bool,
}

impl Decoder<'_> {
    fn inst(&mut self) -> Result<(Inst, usize)> {
        let (inst, dwords) = match self.word >> 26 {
            0b11_0101 => (self.vop3()?, 2),
            0b11_1000 | 0b11_1010 => (self.buffer()?, 2),
            0b11_1101 => (self.smem()?, 2),
            0b11_1110 => (self.export()?, 2),
            top if top < 0b10_0000 => (self.vector()?, 1),
            top if top < 0b11_0000 => (self.scalar()?, 1),
            _ => return Err(self.unknown()),
        };
        Ok((inst, dwords + usize::from(self.literal)))
    }

    /// Bits `[high:low]` of the first dword.
    fn bits(&self, high: u32, low: u32) -> u32 {
        bits(self.word, high, low)
    }

    fn second(&self) -> Result<u32> {
        self.next.first().copied().ok_or_else(|| Error::malformed("the second dword is missing"))
    }

    fn unknown(&self) -> Error {
        Error::unsupported("machine instruction", "no instruction of ours")
    }

    fn op(&self, format: Format, number: u32) -> Result<Op> {
        let known = |op: &&Op| op.format() == format && u32::from(opcode(self.gfx, **op)) == number;
        Op::ALL.iter().find(known).copied().ok_or_else(|| self.unknown())
    }

    /// A source field; a literal lies after the instruction's own dwords.
    fn source(&mut self, code: u32, own_dwords: usize) -> Result<Src> {
        let code = narrow::<u16>(code)?;
        let literal = self.next.get(own_dwords - 1).copied();
        let src = Src::from_code(code, literal).ok_or_else(|| Error::malformed("no such source operand"))?;
        self.literal |= code == Src::LITERAL_CODE;
        Ok(src)
    }

    fn scalar(&mut self) -> Result<Inst> {
        match self.bits(31, 23) {
            0b1_0111_1111 => {
                let op = self.op(Format::Sopp, self.bits(22, 16))?;
                let imm = narrow::<u16>(self.bits(15, 0))?;
                Ok(if op == Op::SWaitcnt { Inst::Waitcnt(waitcnt(imm)?) } else { Inst::Sopp { op, imm } })
            }
            0b1_0111_1101 => {
                let op = self.op(Format::Sop1, self.bits(15, 8))?;
                let src = if op.sources() == 1 { Some(self.source(self.bits(7, 0), 1)?) } else { None };
                unused(if src.is_none() { self.bits(7, 0) } else { 0 })?;
                Ok(Inst::Sop1 { op, dst: scalar(self.bits(22, 16))?, src })
            }
            _ => {
                let op = self.op(Format::Sop2, self.bits(29, 23))?;
                let srcs = [self.source(self.bits(7, 0), 1)?, self.source(self.bits(15, 8), 1)?];
                Ok(Inst::Sop2 { op, dst: scalar(self.bits(22, 16))?, srcs })
            }
        }
    }

    fn vector(&mut self) -> Result<Inst> {
        let dst = vgpr(self.bits(24, 17))?;
        if self.bits(30, 25) == 0x3f {
            let op = self.op(Format::Vop1, self.bits(16, 9))?;
            return Ok(Inst::Vop1 { op, dst, src: self.source(self.bits(8, 0), 1)? });
        }
        let op = self.op(Format::Vop2, self.bits(30, 25))?;
        let srcs = [self.source(self.bits(8, 0), 1)?, vgpr(self.bits(16, 9))?.into()];
        Ok(Inst::Vop2 { op, dst, srcs })
    }

    fn vop3(&mut self) -> Result<Inst> {
        let second = self.second()?;
        // abs, op_sel, clamp; omod, neg: no instruction of ours uses modifiers.
        unused(self.bits(15, 8) | bits(second, 31, 27))?;
        let number = self.bits(25, 16);
        let dst = vgpr(self.bits(7, 0))?;
        let long = number.checked_sub(tables::VOP2_IN_VOP3).and_then(|n| self.op(Format::Vop2, n).ok());
        let op = long.map_or_else(|| self.op(Format::Vop3, number), Ok)?;
        let [a, b] = [self.source(bits(second, 8, 0), 2)?, self.source(bits(second, 17, 9), 2)?];
        let third = bits(second, 26, 18);
        if op == Op::VCndmaskB32 {
            let mask = scalar(third)?;
            let mask = match self.wave {
                WaveSize::W32 => LaneMask::W32(mask),
                WaveSize::W64 => LaneMask::W64(mask),
            };
            return Ok(Inst::Cndmask { dst, srcs: [a, b], mask });
        }
        let c = if op.sources() == 3 { self.source(third, 2)? } else { unused(third).map(|()| Src::Int(0))? };
        match long {
            // The long form of what has a short one would not come back as it is.
            Some(_) if matches!(b, Src::Vgpr(_)) => Err(self.unknown()),
            Some(op) => Ok(Inst::Vop2 { op, dst, srcs: [a, b] }),
            None => Ok(Inst::Vop3 { op, dst, srcs: [a, b, c] }),
        }
    }

    fn smem(&mut self) -> Result<Inst> {
        let second = self.second()?;
        unused(self.bits(17, 13) | bits(second, 24, 21))?;
        let op = self.op(Format::Smem, self.bits(25, 18))?;
        let soffset = Some(scalar(bits(second, 31, 25))?).filter(|s| *s != Scalar::Null);
        // Sign extension from 21 bits.
        let offset = (second << 11).cast_signed() >> 11;
        Ok(Inst::Smem { op, data: sgpr(self.bits(12, 6))?, base: sgpr(self.bits(5, 0) << 1)?, offset, soffset })
    }

    fn buffer(&mut self) -> Result<Inst> {
        let second = self.second()?;
        let typed = self.word >> 26 == 0b11_1010;
        let (op, format) = if typed {
            let number = self.bits(18, 16) | bits(second, 21, 21) << 3;
            (self.op(Format::Mtbuf, number)?, BufferFormat::new(narrow(self.bits(25, 19))?))
        } else {
            // LDS destination.
            unused(self.bits(16, 16) | self.bits(17, 17) | bits(second, 21, 21))?;
            (self.op(Format::Mubuf, self.bits(25, 18))?, None)
        };
        // tfe
        unused(bits(second, 23, 23))?;
        let vaddr = vgpr(bits(second, 7, 0))?;
        let address = match (self.bits(13, 13), self.bits(12, 12)) {
            (0, 0) => unused(u32::from(vaddr.0)).map(|()| BufferAddress::Off)?,
            (1, 0) => BufferAddress::Index(vaddr),
            (0, _) => BufferAddress::Offset(vaddr),
            _ => BufferAddress::IndexOffset(vaddr),
        };
        let soffset = Src::from_code(narrow(bits(second, 31, 24))?, None);
        Ok(Inst::Buffer(Buffer {
            op,
            data: vgpr(bits(second, 15, 8))?,
            address,
            resource: sgpr(bits(second, 20, 16) << 2)?,
            soffset: soffset.ok_or_else(|| Error::malformed("no such source operand"))?,
            offset: narrow(self.bits(11, 0))?,
            format,
            cache: Cache { glc: self.bits(14, 14) == 1, slc: bits(second, 22, 22) == 1, dlc: self.bits(15, 15) == 1 },
        }))
    }

    fn export(&mut self) -> Result<Inst> {
        unused(self.bits(25, 13))?;
        let registers = self.second()?.to_le_bytes();
        let enabled = self.bits(3, 0);
        let source = |i: usize, mask: u32| {
            let register = registers.get(i).copied().unwrap_or(0);
            match enabled & mask {
                0 => unused(u32::from(register)).map(|()| None),
                on if on == mask => Ok(Some(Vgpr(register))),
                _ => Err(self.unknown()),
            }
        };
        let sources = if self.bits(10, 10) == 1 {
            unused(u32::from(registers[2]) | u32::from(registers[3]))?;
            ExpSources::Packed([source(0, 0x3)?, source(1, 0xc)?])
        } else {
            ExpSources::Full([source(0, 1)?, source(1, 2)?, source(2, 4)?, source(3, 8)?])
        };
        let number = narrow::<u8>(self.bits(9, 4))?;
        let target = match number {
            0..=7 => ExpTarget::Mrt(number),
            8 => ExpTarget::Mrtz,
            9 => ExpTarget::Null,
            12..=16 => ExpTarget::Pos(number - 12),
            20 => ExpTarget::Prim,
            32..=63 => ExpTarget::Param(number - 32),
            _ => return Err(self.unknown()),
        };
        Ok(Inst::Exp { target, sources, done: self.bits(11, 11) == 1, vm: self.bits(12, 12) == 1 })
    }
}

fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word << (31 - high)) >> (31 - high + low)
}

fn narrow<T: TryFrom<u32>>(field: u32) -> Result<T> {
    T::try_from(field).map_err(|_| Error::bug("a field is wider than its type"))
}

fn unused(field: u32) -> Result<()> {
    if field == 0 { Ok(()) } else { Err(Error::unsupported("machine instruction", "a modifier of no use to us")) }
}

fn vgpr(number: u32) -> Result<Vgpr> {
    narrow(number).map(Vgpr)
}

fn sgpr(number: u32) -> Result<Sgpr> {
    Sgpr::new(narrow(number)?).ok_or_else(|| Error::malformed(format!("no SGPR {number}")))
}

fn scalar(number: u32) -> Result<Scalar> {
    Scalar::from_code(narrow(number)?).ok_or_else(|| Error::malformed(format!("no scalar register {number}")))
}

fn waitcnt(imm: u16) -> Result<Waitcnt> {
    let word = u32::from(imm);
    unused(bits(word, 7, 7))?;
    Ok(Waitcnt {
        vm: narrow(bits(word, 3, 0) | bits(word, 15, 14) << 4)?,
        exp: narrow(bits(word, 6, 4))?,
        lgkm: narrow(bits(word, 13, 8))?,
    })
}

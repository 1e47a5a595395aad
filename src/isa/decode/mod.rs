//! Decodes dwords into an [`Instruction`]: every encoding of gfx10.3 (isa-gfx10 2.1, 2.2).
//!
//! Input bytes are not trusted: an opcode without a row, an operand that does not exist, a register group that exceeds
//! the register file, or a missing dword is an error that shows the word.

mod memory;
mod scalar;
mod vector;

use super::instruction::{Fields, Instruction};
use super::{Format, OpcodeRow, Scalar, Sgpr, Src, Vgpr, tables};
use crate::error::{Context, Error, Result};
use crate::target::Gpu;

const LITERAL: u32 = 255;

/// The first instruction of `code`.
pub fn disassemble(gfx: Gpu, code: &[u32]) -> Result<Instruction> {
    let word = *code.first().ok_or_else(|| Error::malformed("code ends where an instruction should begin"))?;
    let mut reader = Reader { gfx, code, word, used: 1 };
    let (entry, fields) = reader.instruction().at(|| format!("instruction word {word:#010x}"))?;
    Ok(Instruction { entry, fields })
}

struct Reader<'a> {
    gfx: Gpu,
    code: &'a [u32],
    word: u32,
    /// Number of dwords taken.
    used: usize,
}

type Read = (&'static OpcodeRow, Fields);

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

    fn entry(&self, format: Format, number: u32) -> Result<&'static OpcodeRow> {
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

    /// A source; its literal is the dword after those taken so far.
    fn source(&mut self, code: u32) -> Result<Src> {
        let literal = if code == LITERAL { self.code.get(self.used).copied() } else { None };
        source(code, literal)
    }

    /// Skips the literal dword that any of these codes requires.
    fn pass_literal(&mut self, codes: &[u32]) -> Result<()> {
        if codes.contains(&LITERAL) { self.take().map(|_| ()) } else { Ok(()) }
    }
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

fn vgprs(first: Vgpr, count: u8) -> Result<()> {
    let fits = u16::from(first.0) + u16::from(count) <= Vgpr::COUNT;
    if fits { Ok(()) } else { Err(Error::malformed(format!("{count} registers from {first} on"))) }
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

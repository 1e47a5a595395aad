//! Decodes dwords into an [`Instruction`]: every encoding that an instruction set has (field positions: `layout`).
//!
//! Input bytes are not trusted: an opcode without a row, an operand that does not exist, a register group that exceeds
//! the register file, or a missing dword is an error that shows the word.

mod memory;
mod scalar;
mod vector;

use super::instruction::{Fields, Instruction};
use super::layout::CodeField;
use super::operand_codes::LITERAL;
use super::{Format, Isa, OpcodeRow, Scalar, Sgpr, Src, Vgpr};
use dovetail_base::error::{Context, Error, Result};

/// The first instruction of `code`.
///
/// # Errors
/// Malformed: the code ends inside it, or it is none.
pub fn disassemble(isa: &Isa, code: &[u32]) -> Result<Instruction> {
    let first = *code.first().ok_or_else(|| Error::malformed("code ends where an instruction should begin"))?;
    let mut reader = Reader { isa, code, word: first.into(), used: 1 };
    let (entry, fields) = reader.instruction(first).at(|| format!("instruction word {first:#010x}"))?;
    Ok(Instruction { entry, fields })
}

struct Reader<'a> {
    isa: &'a Isa,
    code: &'a [u32],
    /// The dwords of the format.
    word: u128,
    /// Number of dwords taken.
    used: usize,
}

type Read = (&'static OpcodeRow, Fields);

impl Reader<'_> {
    fn instruction(&mut self, first: u32) -> Result<Read> {
        let format = self.isa.layout.format(first);
        let format = format.ok_or_else(|| Error::malformed("no encoding begins like this"))?;
        for n in 1..u32::from(format.dwords_with(self.isa.layout.vector_memory)) {
            self.word |= u128::from(self.take()?) << (32 * n);
        }
        match format {
            Format::Sop2 | Format::Sopk | Format::Sop1 | Format::Sopc | Format::Sopp => self.scalar(format),
            Format::Smem => self.smem(),
            Format::Vop2 | Format::Vop1 | Format::Vopc => self.short(format),
            Format::Vop3 => self.long(),
            Format::Vop3p => self.packed(),
            Format::Vintrp => self.interp(),
            Format::Vinterp => self.vinterp(),
            Format::Ldsdir => self.lds_direct(),
            Format::Vopd => self.dual(),
            Format::Ds => self.ds(),
            Format::Flat | Format::Scratch | Format::Global => self.flat(format),
            Format::Mubuf | Format::Mtbuf => self.buffer(format),
            Format::Mimg | Format::Vsample => self.image(format),
            Format::Exp => self.export(),
        }
    }

    /// The row of an opcode.
    fn entry(&self, format: Format, op: CodeField) -> Result<&'static OpcodeRow> {
        let number = op.get(self.word) as u16;
        let row = self.isa.by_number(format, number);
        row.ok_or_else(|| Error::malformed(format!("{format} has no opcode {number}")))
    }

    /// The next dword.
    fn take(&mut self) -> Result<u32> {
        let word = self.code.get(self.used).copied();
        self.used += 1;
        word.ok_or_else(|| Error::malformed("the code ends inside an instruction"))
    }

    fn get(&self, field: CodeField) -> u32 {
        field.get(self.word)
    }

    fn small(&self, field: CodeField) -> u8 {
        field.small(self.word)
    }

    fn is_set(&self, field: CodeField) -> bool {
        field.is_set(self.word)
    }

    fn vgpr(&self, field: CodeField) -> Vgpr {
        Vgpr(self.small(field))
    }

    fn scalar_of(&self, field: CodeField) -> Result<Scalar> {
        self.scalar_code(self.get(field))
    }

    fn scalar_code(&self, number: u32) -> Result<Scalar> {
        let found = u8::try_from(number).ok().and_then(|number| self.isa.codes.scalar(number));
        found.ok_or_else(|| Error::malformed(format!("no scalar register {number}")))
    }

    /// A source; its literal is the dword after those taken so far.
    fn source(&self, code: u32) -> Result<Src> {
        self.source_with(code, if code == LITERAL { self.code.get(self.used).copied() } else { None })
    }

    fn source_with(&self, code: u32, literal: Option<u32>) -> Result<Src> {
        let found = u16::try_from(code).ok().and_then(|code| self.isa.codes.source(code, literal));
        found.ok_or_else(|| Error::malformed(format!("no source operand {code}")))
    }

    /// Skips the literal dword that any of these codes requires.
    fn pass_literal(&mut self, codes: &[u32]) -> Result<()> {
        if codes.contains(&LITERAL) { self.take().map(|_| ()) } else { Ok(()) }
    }
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

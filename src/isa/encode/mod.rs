//! Encodes an instruction as dwords: every form that `disassemble` supports (field positions: `layout`).
//!
//! Anything that the hardware could not execute as intended is rejected, naming the operand: a form that the operation
//! lacks, an operand or modifier that the form does not accept, a register group beyond its file or misaligned, two
//! literals, too many scalar values, a field that overflows.

mod memory;
mod scalar;
mod vector;

use super::instruction::{Fields, Instruction};
use super::layout::{CacheLayout, CodeField};
use super::{CachePolicy, Format, Isa, OperandKind, Scalar, Src, Vgpr};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::WaveSize;

/// Appends the dwords of one instruction. The wave size is not encoded; it determines the width of lane masks.
///
/// # Errors
/// A bug of the caller: the instruction has no encoding; the error names the operand.
pub fn encode(isa: &Isa, wave: WaveSize, inst: &Instruction, out: &mut Vec<u32>) -> Result<()> {
    let start = out.len();
    let mut encoder = Encoder { isa, inst, wave, literal: None, word: 0, out };
    let done = encoder.fields();
    if done.is_err() {
        out.truncate(start);
    }
    done.at(|| format!("encoding `{}`", inst.text(isa, wave)))
}

/// The machine code of a sequence, as bytes in memory order.
///
/// # Errors
/// As [`encode`].
pub fn encode_all(isa: &Isa, wave: WaveSize, insts: &[Instruction]) -> Result<Vec<u8>> {
    let mut dwords = Vec::with_capacity(insts.len() * 2);
    insts.iter().try_for_each(|inst| encode(isa, wave, inst, &mut dwords))?;
    Ok(dwords.into_iter().flat_map(u32::to_le_bytes).collect())
}

struct Encoder<'a> {
    isa: &'a Isa,
    inst: &'a Instruction,
    wave: WaveSize,
    literal: Option<u32>,
    /// The fields so far.
    word: u128,
    out: &'a mut Vec<u32>,
}

impl Encoder<'_> {
    fn fields(&mut self) -> Result<()> {
        let entry = self.inst.entry;
        let format = entry.format;
        ensure(self.isa.has(entry.op) && self.isa.row(entry.op) == entry, || "no such operation".to_owned())?;
        let fits = match &self.inst.fields {
            Fields::Scalar(_) => self.isa.layout.scalar(format).is_some(),
            Fields::Smem(_) => format == Format::Smem,
            Fields::Vector(_) => {
                let interp = entry.latency == super::Latency::Interp;
                format.is_short_vector()
                    || format == Format::Vinterp
                    || matches!(format, Format::Vop3 | Format::Vop3p) && !interp
            }
            Fields::Dual(_) => format == Format::Vopd,
            Fields::Interp(_) => entry.latency == super::Latency::Interp && format != Format::Vinterp,
            Fields::LdsDirect(_) => format == Format::Ldsdir,
            Fields::Ds(_) => format == Format::Ds,
            Fields::Flat(_) => matches!(format, Format::Flat | Format::Scratch | Format::Global),
            Fields::Buffer(_) => matches!(format, Format::Mubuf | Format::Mtbuf),
            Fields::Image(_) => matches!(format, Format::Mimg | Format::Vsample),
            Fields::Export(_) => format == Format::Exp,
        };
        ensure(fits, || format!("operands of another format than {format}"))?;
        match &self.inst.fields {
            Fields::Scalar(f) => self.scalar(f),
            Fields::Smem(f) => self.smem(f),
            Fields::Vector(f) => self.vector(f),
            Fields::Dual(f) => self.dual(f),
            Fields::Interp(f) => self.interp(f),
            Fields::LdsDirect(f) => self.lds_direct(f),
            Fields::Ds(f) => self.ds(f),
            Fields::Flat(f) => self.flat(f),
            Fields::Buffer(f) => self.buffer(f),
            Fields::Image(f) => self.image(f),
            Fields::Export(f) => self.export(f),
        }
    }

    /// Begins the fields of an instruction of this format with its opcode.
    fn begin(&mut self, format: Format, op: CodeField, number: u16) -> Result<()> {
        let prefix = self.isa.prefix(format);
        self.word = prefix.ok_or_else(|| Error::bug(format!("format {format}: no such one here")))?.into();
        self.put("opcode", op, number.into())
    }

    /// Appends the dwords of the fields, as many as the encoding has.
    fn end(&mut self, format: Format) {
        let entry = self.inst.entry;
        let length = if format == entry.format { entry.dwords } else { format.dwords() };
        let dwords = self.word.to_le_bytes();
        let (dwords, _) = dwords.as_chunks::<4>();
        self.out.extend(dwords.iter().take(length.into()).map(|dword| u32::from_le_bytes(*dword)));
    }

    fn put(&mut self, what: &str, field: CodeField, value: u32) -> Result<()> {
        let bits = field.put(value);
        self.word |= bits.ok_or_else(|| Error::bug(format!("{what}: {value} does not fit {} bits", field.width())))?;
        Ok(())
    }

    fn put_number(&mut self, what: &str, field: CodeField, number: i32) -> Result<()> {
        let bits = field.put_number(number);
        self.word |= bits.ok_or_else(|| Error::bug(format!("{what}: {number} does not fit {} bits", field.width())))?;
        Ok(())
    }

    fn put_flags<const N: usize>(&mut self, flags: [(&str, CodeField, bool); N]) -> Result<()> {
        flags.into_iter().filter(|(.., on)| *on).try_for_each(|(what, field, _)| self.put(what, field, 1))
    }

    fn put_cache(&mut self, layout: &CacheLayout, cache: CachePolicy) -> Result<()> {
        self.put_flags([
            ("glc", layout.glc, cache.glc),
            ("slc", layout.slc, cache.slc),
            ("dlc", layout.dlc, cache.dlc),
        ])?;
        self.put("scope", layout.scope, cache.scope.into())?;
        self.put("temporal hint", layout.hint, cache.hint.into())
    }

    /// The code of a source; a literal is kept for the end of the instruction.
    fn source(&mut self, i: usize, src: Src, kind: OperandKind) -> Result<u32> {
        match src {
            Src::Literal(bits) => {
                // The same literal may serve two operands; it is stored once.
                let same = self.literal.is_none_or(|other| other == bits);
                ensure(same, || format!("source {i}, {src}: a second literal"))?;
                self.literal = Some(bits);
            }
            Src::Scalar(s) => drop(self.mask("source", s, kind)?),
            Src::Vgpr(v) => drop(vgprs("source", v, kind.registers_in(self.wave))?),
            Src::Special(_) | Src::Int(_) | Src::Float(_) => {}
        }
        let code = self.isa.codes.of(src);
        code.ok_or_else(|| Error::bug(format!("source {i}, {src}: no inline constant")))
    }

    /// The number of the first register of a group of this kind; that of a lane mask depends on the wave size.
    fn mask(&self, what: &str, first: Scalar, kind: OperandKind) -> Result<u32> {
        self.scalars(what, first, kind.registers_in(self.wave))
    }

    /// The number of the first of `count` scalar registers, which is even for two, a multiple of four for more.
    fn scalars(&self, what: &str, first: Scalar, count: u8) -> Result<u32> {
        let fits = match first {
            Scalar::Sgpr(s) => u16::from(s.number()) + u16::from(count) <= u16::from(super::Sgpr::COUNT),
            Scalar::Null => true,
            Scalar::VccLo | Scalar::ExecLo => count <= 2,
            Scalar::VccHi | Scalar::M0 | Scalar::ExecHi | Scalar::WorkgroupX | Scalar::WorkgroupYz => count <= 1,
        };
        let aligned = first == Scalar::Null || first.index().is_multiple_of(count.clamp(1, 4).next_power_of_two());
        ensure(fits && aligned, || format!("{what}: no group of {count} registers begins at {first}"))?;
        Ok(self.isa.codes.of_scalar(first).into())
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::bug(otherwise())) }
}

/// The number of the first of `count` vector registers.
fn vgprs(what: &str, first: Vgpr, count: u8) -> Result<u32> {
    let fits = u16::from(first.0) + u16::from(count) <= Vgpr::COUNT;
    ensure(fits, || format!("{what}: no group of {count} registers begins at {first}"))?;
    Ok(u32::from(first.0))
}

//! Encodes an instruction as dwords: every form that `disassemble` supports (field positions: isa-gfx10 2.2).
//!
//! Anything that the hardware could not execute as intended is rejected, naming the operand: a form that the operation
//! lacks, an operand or modifier that the form does not accept, a register group beyond its file or misaligned, two
//! literals, too many scalar values, a field that overflows.

mod memory;
mod scalar;
mod vector;

use super::instruction::{Fields, Instruction};
use super::{Format, OperandKind, Scalar, Src, Vgpr};
use crate::error::{Context, Error, Result};
use crate::target::{Family, Gpu, WaveSize};

/// Appends the dwords of one instruction. The wave size is not encoded; it determines the width of lane masks.
///
/// # Errors
/// A bug of the caller: the instruction has no encoding; the error names the operand.
pub fn encode(gfx: Gpu, wave: WaveSize, inst: &Instruction, out: &mut Vec<u32>) -> Result<()> {
    let Family::Gfx103 = gfx.family();
    let start = out.len();
    let mut encoder = Encoder { inst, wave, literal: None, out };
    let done = encoder.fields();
    if done.is_err() {
        out.truncate(start);
    }
    done.at(|| format!("encoding `{}`", inst.text(wave)))
}

/// The machine code of a sequence, as bytes in memory order.
///
/// # Errors
/// As [`encode`].
pub fn encode_all(gfx: Gpu, wave: WaveSize, insts: &[Instruction]) -> Result<Vec<u8>> {
    let mut dwords = Vec::with_capacity(insts.len() * 2);
    insts.iter().try_for_each(|inst| encode(gfx, wave, inst, &mut dwords))?;
    Ok(dwords.into_iter().flat_map(u32::to_le_bytes).collect())
}

struct Encoder<'a> {
    inst: &'a Instruction,
    wave: WaveSize,
    literal: Option<u32>,
    out: &'a mut Vec<u32>,
}

impl Encoder<'_> {
    fn fields(&mut self) -> Result<()> {
        let format = self.inst.entry.format;
        let fits = match &self.inst.fields {
            Fields::Scalar(_) => {
                matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp)
            }
            Fields::Smem(_) => format == Format::Smem,
            Fields::Vector(_) => {
                let interp = self.inst.entry.latency == super::Latency::Interp;
                format.is_short_vector() || matches!(format, Format::Vop3 | Format::Vop3p) && !interp
            }
            Fields::Interp(_) => self.inst.entry.latency == super::Latency::Interp,
            Fields::Ds(_) => format == Format::Ds,
            Fields::Flat(_) => matches!(format, Format::Flat | Format::Scratch | Format::Global),
            Fields::Buffer(_) => matches!(format, Format::Mubuf | Format::Mtbuf),
            Fields::Image(_) => format == Format::Mimg,
            Fields::Export(_) => format == Format::Exp,
        };
        ensure(fits, || format!("operands of another format than {format}"))?;
        match &self.inst.fields {
            Fields::Scalar(f) => self.scalar(f),
            Fields::Smem(f) => self.smem(f),
            Fields::Vector(f) => self.vector(f),
            Fields::Interp(f) => self.interp(f),
            Fields::Ds(f) => self.ds(f),
            Fields::Flat(f) => self.flat(f),
            Fields::Buffer(f) => self.buffer(f),
            Fields::Image(f) => self.image(f),
            Fields::Export(f) => self.export(f),
        }
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
            Src::Scalar(s) => drop(self.scalars("source", s, kind)?),
            Src::Vgpr(v) => drop(vgprs("source", v, kind.registers())?),
            Src::Special(_) | Src::Int(_) | Src::Float(_) => {}
        }
        let code = src.code().map(u32::from);
        code.ok_or_else(|| Error::bug(format!("source {i}, {src}: no inline constant")))
    }

    /// The number of a group's first register, which is even for 64-bit groups, a multiple of four for wider ones.
    fn scalars(&self, what: &str, first: Scalar, kind: OperandKind) -> Result<u32> {
        let wide = kind == OperandKind::Mask && self.wave == WaveSize::W64;
        scalars(what, first, if wide { 2 } else { kind.registers() })
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::bug(otherwise())) }
}

/// The number of the first of `count` scalar registers.
fn scalars(what: &str, first: Scalar, count: u8) -> Result<u32> {
    let number = first.code();
    let fits = match first {
        Scalar::Sgpr(s) => u16::from(s.number()) + u16::from(count) <= u16::from(super::Sgpr::COUNT),
        Scalar::Null => true,
        Scalar::VccLo | Scalar::ExecLo => count <= 2,
        Scalar::VccHi | Scalar::M0 | Scalar::ExecHi => count <= 1,
    };
    let aligned = first == Scalar::Null || number.is_multiple_of(count.clamp(1, 4).next_power_of_two());
    ensure(fits && aligned, || format!("{what}: no group of {count} registers begins at {first}"))?;
    Ok(u32::from(number))
}

/// The number of the first of `count` vector registers.
fn vgprs(what: &str, first: Vgpr, count: u8) -> Result<u32> {
    let fits = u16::from(first.0) + u16::from(count) <= Vgpr::COUNT;
    ensure(fits, || format!("{what}: no group of {count} registers begins at {first}"))?;
    Ok(u32::from(first.0))
}

/// A value for a field of `bits` bits.
fn field(what: &str, value: u32, bits: u32) -> Result<u32> {
    ensure(value >> bits == 0, || format!("{what}: {value} does not fit {bits} bits"))?;
    Ok(value)
}

/// A signed value for a field of `bits` bits.
fn signed(what: &str, value: i32, bits: u32) -> Result<u32> {
    let limit = 1 << (bits - 1);
    ensure((-limit..limit).contains(&value), || format!("{what}: {value} does not fit {bits} bits with sign"))?;
    Ok(value.cast_unsigned() & ((1 << bits) - 1))
}

fn flag(on: bool, at: u32) -> u32 {
    u32::from(on) << at
}

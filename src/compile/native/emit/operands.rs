//! Converts machine IR operands to instruction operands: registers, constants, values that the linker fills in.

use crate::code::Open;
use crate::mir::{MachineInst, Operand, OperandValue, PhysReg, runs};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::{OperandKind, Scalar, Special, Src, Takes, Vgpr};

/// The error for an instruction whose [`MachineInst::extra`] does not belong to its format.
pub(super) fn wrong_extra(inst: &MachineInst) -> Error {
    Error::bug(format!("fields of another format: {:?}", inst.extra))
}

/// Operands of one instruction; each run is given by its first register.
pub(super) struct Operands<'f> {
    /// Definitions, then uses.
    defs: &'f [Operand],
    uses: &'f [Operand],
    tied: bool,
    wave: WaveSize,
    /// The value that the linker fills in, if an operand had one.
    pub open: Option<Open>,
}

impl<'f> Operands<'f> {
    pub(super) fn new(inst: &MachineInst, defs: &'f [Operand], uses: &'f [Operand], wave: WaveSize) -> Self {
        Self { defs, uses, tied: inst.tied, wave, open: None }
    }

    /// Number of remaining uses, counting each run as one.
    pub(super) fn uses_left(&self) -> usize {
        runs(self.uses).count()
    }

    /// The first register of the next definition.
    pub(super) fn def(&mut self) -> Result<OperandValue> {
        let (first, rest) = split(self.defs).ok_or_else(|| Error::bug("a definition is missing"))?;
        self.defs = rest;
        Ok(first)
    }

    /// The first register of the next use.
    pub(super) fn used(&mut self) -> Result<OperandValue> {
        let (first, rest) = split(self.uses).ok_or_else(|| Error::bug("an operand is missing"))?;
        self.uses = rest;
        Ok(first)
    }

    pub(super) fn def_vgpr(&mut self) -> Result<Vgpr> {
        vgpr(self.def()?)
    }

    pub(super) fn def_scalar(&mut self) -> Result<Scalar> {
        scalar(self.def()?)
    }

    pub(super) fn vgpr(&mut self) -> Result<Vgpr> {
        vgpr(self.used()?)
    }

    pub(super) fn scalar(&mut self) -> Result<Scalar> {
        scalar(self.used()?)
    }

    /// The next use as the scalar offset of a load: a register, or an amount that the linker adds to the immediate
    /// offset.
    pub(super) fn load_offset(&mut self) -> Result<Option<Scalar>> {
        match self.used()? {
            OperandValue::Reloc(symbol) => {
                self.open = Some(Open::Offset(symbol));
                Ok(None)
            }
            other => scalar(other).map(Some),
        }
    }

    /// The next use as a source of this kind.
    pub(super) fn source(&mut self, kind: OperandKind, takes: Takes) -> Result<Src> {
        Ok(match self.used()? {
            OperandValue::Fixed(reg) => source(reg).ok_or_else(|| Error::bug(format!("{reg} is no operand")))?,
            OperandValue::Const(bits) if takes.literal && !takes.inline => Src::Literal(bits),
            OperandValue::Const(bits) => constant(kind, bits, self.wave)?,
            OperandValue::Reloc(symbol) => {
                if self.open.replace(Open::Symbol(symbol)).is_some() {
                    return Err(Error::bug("two values for the linker in one instruction"));
                }
                Src::Literal(0)
            }
            OperandValue::Undef if takes.inline => Src::Int(0),
            OperandValue::Undef => Src::Vgpr(Vgpr(0)),
            OperandValue::Val(val) => return Err(unallocated(val)),
        })
    }

    /// Checks that only operands are left that the encoding implies: named registers, and the tied operand.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.tied
            && let Some(last) = runs(self.uses).last()
        {
            self.uses = &self.uses[..self.uses.len() - last.len()];
        }
        match self.defs.iter().chain(self.uses).find(|operand| !is_implied(operand)) {
            Some(operand) => Err(Error::bug(format!("one operand too many: {:?}", operand.what))),
            None => Ok(()),
        }
    }
}

/// Registers that instructions use implicitly: VCC, M0, EXEC, SCC.
fn is_implied(operand: &Operand) -> bool {
    const IMPLIED: [PhysReg; 6] =
        [PhysReg::VCC, PhysReg::VCC_HI, PhysReg::M0, PhysReg::EXEC, PhysReg::EXEC_HI, PhysReg::SCC];
    matches!(operand.what, OperandValue::Fixed(reg) if IMPLIED.contains(&reg))
}

fn split(operands: &[Operand]) -> Option<(OperandValue, &[Operand])> {
    let first = runs(operands).next()?;
    Some((first.first()?.what, &operands[first.len()..]))
}

fn unallocated(val: crate::mir::Val) -> Error {
    Error::bug(format!("{val} has no register"))
}

/// A vector register; an arbitrary one for an undefined operand.
fn vgpr(what: OperandValue) -> Result<Vgpr> {
    match what {
        OperandValue::Fixed(reg) => {
            let number = reg.as_vgpr().and_then(|n| u8::try_from(n).ok());
            number.map(Vgpr).ok_or_else(|| Error::bug(format!("{reg} where a vector register has to be")))
        }
        OperandValue::Undef => Ok(Vgpr(0)),
        OperandValue::Val(val) => Err(unallocated(val)),
        OperandValue::Const(_) | OperandValue::Reloc(_) => {
            Err(Error::bug("a constant where a vector register has to be"))
        }
    }
}

/// The source that a register is.
fn source(reg: PhysReg) -> Option<Src> {
    if let Some(number) = reg.as_vgpr() {
        return u8::try_from(number).ok().map(|number| Src::Vgpr(Vgpr(number)));
    }
    let scalar = u8::try_from(reg.0).ok().and_then(Scalar::at).map(Src::Scalar);
    scalar.or_else(|| Special::at(reg.0).map(Src::Special))
}

/// A scalar register.
fn scalar(what: OperandValue) -> Result<Scalar> {
    match what {
        OperandValue::Fixed(reg) => {
            let scalar = u8::try_from(reg.0).ok().and_then(Scalar::at);
            scalar.ok_or_else(|| Error::bug(format!("{reg} where a scalar register has to be")))
        }
        OperandValue::Val(val) => Err(unallocated(val)),
        OperandValue::Undef => Err(Error::bug("an undefined operand where a scalar register has to be")),
        OperandValue::Const(_) | OperandValue::Reloc(_) => {
            Err(Error::bug("a constant where a scalar register has to be"))
        }
    }
}

fn constant(kind: OperandKind, bits: u32, wave: WaveSize) -> Result<Src> {
    let wide = i64::from(bits.cast_signed()).cast_unsigned();
    let (kind, value) = match kind {
        OperandKind::Mask if wave == WaveSize::W64 => (OperandKind::B64, wide),
        OperandKind::Mask => (OperandKind::B32, bits.into()),
        // The high half of a double, unless it is a small integer.
        OperandKind::F64 if !(-16..=64).contains(&bits.cast_signed()) => (kind, u64::from(bits) << 32),
        OperandKind::B64 | OperandKind::F64 => (kind, wide),
        OperandKind::B16 | OperandKind::F16 => (kind, u64::from(bits as u16)),
        _ => (kind, bits.into()),
    };
    Src::constant(kind, value).ok_or_else(|| Error::bug(format!("no operand reads {value:#x} as {kind:?}")))
}

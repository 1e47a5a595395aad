//! Folds `OpFConvert` of constants: rounded by its decoration or the entry point's mode, and with denormals flushed
//! where the entry point requires it. Both are known before the first constant is ([`super::modes::floats`]).

use super::bfloat;
use super::cx::Cx;
use super::instruction::SpirvInst;
use super::modes::own_rounding;
use super::types::{Ty, TypeId};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Bits, DenormMode, RoundMode, number};

/// The conversion of one component.
pub(super) struct Conversion {
    /// Width of the format; `None` for bfloat16.
    from: Option<Bits>,
    to: Option<Bits>,
    /// How results are rounded, and what becomes of denormals: by width.
    round: [RoundMode; 3],
    denorm: [DenormMode; 3],
}

impl Conversion {
    /// The conversion that an instruction does between types of floats.
    ///
    /// # Errors
    /// Malformed: not of floats. Unsupported: rounding up or down.
    pub(super) fn new(cx: &Cx<'_>, inst: &SpirvInst<'_>, from: TypeId, to: TypeId) -> Result<Self> {
        let format = |ty| match *cx.types.get(cx.types.element_of(ty)) {
            Ty::Float { bits } => Ok(Some(bits)),
            Ty::BFloat16 => Ok(None),
            _ => Err(inst.malformed("not of floats")),
        };
        let (from, to) = (format(from)?, format(to)?);
        let modes = &cx.b.shader.modes;
        let round = own_rounding(cx, inst)?.map_or(modes.round, |own| [own; 3]);
        Ok(Self { from, to, round, denorm: modes.denorm })
    }

    /// The bits of the result. A conversion to or from bfloat16 goes through 32 bits.
    pub(super) fn apply(&self, bits: u64) -> Option<u64> {
        let single = Some(Bits::B32);
        match (self.from, self.to) {
            (Some(from), Some(to)) => self.between(bits, from, to),
            (None, None) => Some(bits),
            (None, Some(to)) => {
                let wide = self.flushed(self.flushed(bits, None) << bfloat::LOST, single);
                self.between(wide, Bits::B32, to)
            }
            (Some(from), None) => {
                let wide = self.flushed(self.between(bits, from, Bits::B32)?, single);
                let narrow = bfloat::narrowed(wide as u32, self.rounds_toward_zero(None));
                Some(self.flushed(narrow, None))
            }
        }
    }

    fn between(&self, bits: u64, from: Bits, to: Bits) -> Option<u64> {
        if from == to {
            return Some(bits);
        }
        let op = if self.rounds_toward_zero(Some(to)) { AluOp::FConvRtz } else { AluOp::FConv };
        let result = number::float(op, [self.flushed(bits, Some(from)), 0, 0], from, to)?;
        Some(self.flushed(result, Some(to)))
    }

    fn rounds_toward_zero(&self, to: Option<Bits>) -> bool {
        self.round[place(to)] == RoundMode::TowardZero
    }

    /// A zero of the same sign for a denormal, if the entry point requires it.
    fn flushed(&self, bits: u64, format: Option<Bits>) -> u64 {
        let (width, fraction) = match format {
            Some(Bits::B64) => (64, 52),
            Some(Bits::B32) => (32, 23),
            None => (16, 7),
            Some(_) => (16, 10),
        };
        let sign = 1u64 << (width - 1);
        let denormal = bits & (sign - 1) < 1 << fraction;
        if denormal && self.denorm[place(format)] == DenormMode::Flush { bits & sign } else { bits }
    }
}

/// The place of a format in the tables of modes.
fn place(format: Option<Bits>) -> usize {
    match format {
        Some(Bits::B64) => 2,
        Some(Bits::B32) => 1,
        _ => 0,
    }
}

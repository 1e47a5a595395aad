//! Numbers of registers and source operands in instructions (AMD, "RDNA 2 Instruction Set Architecture", table of
//! SSRC0 and SRC0).
//!
//! A source has nine bits. A scalar source field holds eight of them, a scalar destination seven, a VGPR field the
//! number alone.

use super::{InlineFloat, Scalar, Special, Src, Vgpr};

/// Numbers of the operands that differ between instruction sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandCodes {
    pub(super) m0: u8,
    pub(super) null: u8,
    /// Whether VCCZ and EXECZ are operands.
    pub(super) zero_flags: bool,
}

/// Number of an operand whose literal dword follows.
pub(super) const LITERAL: u32 = 255;
/// Numbers in place of source 0 of a short vector instruction, whose source 0 is in the dword that follows.
pub(super) const DPP8: u32 = 233;
pub(super) const DPP8_FI: u32 = 234;
pub(super) const SDWA: u32 = 249;
pub(super) const DPP16: u32 = 250;
const FIRST_FLOAT: u16 = 240;

impl OperandCodes {
    /// The number of a scalar register.
    pub(super) fn of_scalar(self, scalar: Scalar) -> u8 {
        match scalar {
            Scalar::M0 => self.m0,
            Scalar::Null => self.null,
            other => other.index(),
        }
    }

    /// The scalar register of a number; `None` for those that are not for shaders.
    pub(super) fn scalar(self, code: u8) -> Option<Scalar> {
        match code {
            code if code == self.m0 => Some(Scalar::M0),
            code if code == self.null => Some(Scalar::Null),
            code => Scalar::at(code),
        }
    }

    /// The number of a source; `None` for an integer or a value without one.
    pub(super) fn of(self, src: Src) -> Option<u32> {
        Some(match src {
            Src::Scalar(s) => self.of_scalar(s).into(),
            Src::Vgpr(v) => 256 + u32::from(v.number()),
            Src::Int(i @ 0..=64) => 128 + u32::from(i.unsigned_abs()),
            Src::Int(i @ -16..=-1) => 192 + u32::from(i.unsigned_abs()),
            Src::Int(_) => return None,
            Src::Float(f) => u32::from(FIRST_FLOAT) + f as u32,
            Src::Special(Special::Vccz | Special::Execz) if !self.zero_flags => return None,
            Src::Special(s) => s.index().into(),
            Src::Literal(_) => LITERAL,
        })
    }

    /// The source of a number; `literal` is the dword that follows the instruction, if there is one.
    pub(super) fn source(self, code: u16, literal: Option<u32>) -> Option<Src> {
        match code {
            0..=127 => self.scalar(u8::try_from(code).ok()?).map(Src::Scalar),
            128..=192 => i8::try_from(code - 128).ok().map(Src::Int),
            193..=208 => i8::try_from(code - 192).ok().map(|i| Src::Int(-i)),
            240..=248 => InlineFloat::ALL.get(usize::from(code - FIRST_FLOAT)).map(|row| Src::Float(row.0)),
            255 => literal.map(Src::Literal),
            256..=511 => u8::try_from(code - 256).ok().map(|v| Src::Vgpr(Vgpr(v))),
            _ => Special::at(code).map(Src::Special).filter(|src| self.of(*src).is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for (m0, null, zero_flags) in [(124, 125, true), (125, 124, false)] {
            let codes = OperandCodes { m0, null, zero_flags };
            let mut known = 0;
            for code in 0..512 {
                if let Some(src) = codes.source(code, Some(0x1234)) {
                    assert_eq!(codes.of(src), Some(code.into()), "{src}");
                    known += 1;
                }
            }
            // 106 SGPRs + 8 named, 81 integers, 9 floats, 8 specials, the literal, 256 VGPRs
            assert_eq!(known, 106 + 8 + 81 + 9 + (if zero_flags { 8 } else { 6 }) + 1 + 256);
            assert_eq!(codes.source(255, None), None);
            assert_eq!((codes.of(Src::Int(65)), codes.of(Src::Int(-17))), (None, None));
        }
    }
}

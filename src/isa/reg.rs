//! Registers and source operands, and their 9-bit codes (isa-gfx10 1.1).
//!
//! A scalar source field holds 8 of the 9 bits, a scalar destination 7, a VGPR field the number alone. A 32-bit [`Src`]
//! made by [`Src::from_bits`] is canonical: a literal only if there is no inline constant for the value.

use super::OperandKind;
use crate::target::Family;
use std::fmt;

/// A scalar general register, s0 to s105.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sgpr(u8);

/// A vector general register, v0 to v255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vgpr(pub u8);

impl Sgpr {
    /// Number of SGPRs that an operand can name; the same on every gfx10 and gfx11 part.
    pub const COUNT: u8 = Family::Gfx103.facts().sgprs as u8;

    /// The register with this number; `None` if there is none.
    pub const fn new(number: u8) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// Register number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Vgpr {
    /// Number of VGPRs that an operand can name; the same on every part.
    pub const COUNT: u16 = Family::Gfx103.facts().vgprs as u16;

    /// Register number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// A scalar register that code may write: general, or one of the named ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// s0 to s105.
    Sgpr(Sgpr),
    /// Low half of VCC, the carry and condition mask; all of VCC as a pair, or in wave32.
    VccLo,
    /// High half of VCC.
    VccHi,
    /// Memory and message operand.
    M0,
    /// Reads zero, ignores writes.
    Null,
    /// Low half of EXEC, the lane mask; all of EXEC as a pair, or in wave32.
    ExecLo,
    /// High half of EXEC.
    ExecHi,
}

impl Scalar {
    const NAMED: [(Self, u8, &'static str); 6] = [
        (Self::VccLo, 106, "vcc_lo"),
        (Self::VccHi, 107, "vcc_hi"),
        (Self::M0, 124, "m0"),
        (Self::Null, 125, "null"),
        (Self::ExecLo, 126, "exec_lo"),
        (Self::ExecHi, 127, "exec_hi"),
    ];

    /// Its number in a scalar field of gfx10.
    pub fn code(self) -> u8 {
        match self {
            Self::Sgpr(s) => s.number(),
            Self::VccLo => 106,
            Self::VccHi => 107,
            Self::M0 => 124,
            Self::Null => 125,
            Self::ExecLo => 126,
            Self::ExecHi => 127,
        }
    }

    /// The register with this number; `None` for the trap handler's (108 to 123), which are not for shaders.
    pub fn from_code(code: u8) -> Option<Self> {
        Sgpr::new(code)
            .map(Self::Sgpr)
            .or_else(|| Self::NAMED.iter().find(|(_, number, _)| *number == code).map(|(reg, _, _)| *reg))
    }
}

/// A read-only scalar value that the hardware supplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the assembler's name of itself")]
pub enum Special {
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    PopsExitingWaveId,
    Vccz,
    Execz,
    Scc,
}

impl Special {
    const ALL: [(Self, u16, &'static str); 8] = [
        (Self::SharedBase, 235, "src_shared_base"),
        (Self::SharedLimit, 236, "src_shared_limit"),
        (Self::PrivateBase, 237, "src_private_base"),
        (Self::PrivateLimit, 238, "src_private_limit"),
        (Self::PopsExitingWaveId, 239, "src_pops_exiting_wave_id"),
        (Self::Vccz, 251, "src_vccz"),
        (Self::Execz, 252, "src_execz"),
        (Self::Scc, 253, "src_scc"),
    ];

    fn row(self) -> (u16, &'static str) {
        let found = Self::ALL.iter().find(|(special, _, _)| *special == self);
        found.map_or((0, ""), |(_, code, name)| (*code, *name))
    }
}

/// A float that needs no literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the values")]
pub enum InlineFloat {
    Half,
    MinusHalf,
    One,
    MinusOne,
    Two,
    MinusTwo,
    Four,
    MinusFour,
    /// 1/(2π).
    InverseTwoPi,
}

impl InlineFloat {
    /// In the order of their codes, from 240: value as f32 bits, and text.
    const ALL: [(Self, u32, &'static str); 9] = [
        (Self::Half, 0x3f00_0000, "0.5"),
        (Self::MinusHalf, 0xbf00_0000, "-0.5"),
        (Self::One, 0x3f80_0000, "1.0"),
        (Self::MinusOne, 0xbf80_0000, "-1.0"),
        (Self::Two, 0x4000_0000, "2.0"),
        (Self::MinusTwo, 0xc000_0000, "-2.0"),
        (Self::Four, 0x4080_0000, "4.0"),
        (Self::MinusFour, 0xc080_0000, "-4.0"),
        (Self::InverseTwoPi, 0x3e22_f983, "0.15915494"),
    ];
    const FIRST_CODE: u16 = 240;

    /// The value that a 16-bit operation sees.
    pub fn half_bits(self) -> u16 {
        match self {
            Self::InverseTwoPi => 0x3118,
            // Powers of two: the sign, a rebiased exponent, no mantissa.
            _ => {
                let [.., high] = self.bits().to_le_bytes();
                let exponent = (self.bits() >> 23 & 0xff) as u16 + 15 - 127;
                u16::from(high >> 7) << 15 | exponent << 10
            }
        }
    }

    /// The value that a 64-bit operation sees.
    pub fn double_bits(self) -> u64 {
        match self {
            Self::InverseTwoPi => 0x3fc4_5f30_6dc9_c882,
            _ => f64::from(f32::from_bits(self.bits())).to_bits(),
        }
    }

    /// The value that a 32-bit operation sees.
    pub fn bits(self) -> u32 {
        Self::ALL.iter().find(|(float, _, _)| *float == self).map_or(0, |(_, bits, _)| *bits)
    }
}

/// A source operand of a scalar or vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Src {
    /// A scalar register.
    Scalar(Scalar),
    /// A vector register: vector operations only.
    Vgpr(Vgpr),
    /// An inline integer, -16 to 64.
    Int(i8),
    /// An inline float, in the format of the operation.
    Float(InlineFloat),
    /// A read-only value of the hardware.
    Special(Special),
    /// A dword that follows the instruction.
    Literal(u32),
}

impl Src {
    /// The shortest operand with this value, for a 32-bit operation.
    pub fn from_bits(bits: u32) -> Self {
        if let Some(small) = i8::try_from(bits.cast_signed()).ok().filter(|i| (-16..=64).contains(i)) {
            return Self::Int(small);
        }
        let float = InlineFloat::ALL.iter().find(|(_, pattern, _)| *pattern == bits);
        float.map_or(Self::Literal(bits), |(float, _, _)| Self::Float(*float))
    }

    /// The shortest operand that an operand of this kind reads as `value`; `None` if there is none, as a wide literal
    /// has 32 bits (isa-gfx10 1.2: those of an integer are the low half, those of a double the high one).
    pub fn constant(kind: OperandKind, value: u64) -> Option<Self> {
        let low = value as u32;
        let is_int = |signed: i64| i8::try_from(signed).ok().filter(|i| (-16..=64).contains(i)).map(Self::Int);
        let float = |bits: &dyn Fn(InlineFloat) -> u64| {
            InlineFloat::ALL.iter().map(|row| row.0).find(|float| bits(*float) == value).map(Self::Float)
        };
        match kind {
            OperandKind::B32 | OperandKind::F32 => u32::try_from(value).ok().map(Self::from_bits),
            OperandKind::B16 | OperandKind::F16 => {
                let half = u16::try_from(value).ok()?;
                let short = is_int(half.cast_signed().into()).or_else(|| float(&|f| f.half_bits().into()));
                short.or(Some(Self::Literal(low)))
            }
            // An integer fills both halves with its sign, a float only the low one.
            OperandKind::P16 | OperandKind::PF16 => {
                let word = u32::try_from(value).ok()?;
                let short = is_int(word.cast_signed().into()).or_else(|| float(&|f| f.half_bits().into()));
                short.or(Some(Self::Literal(word)))
            }
            OperandKind::B64 | OperandKind::F64 => {
                let short = is_int(value.cast_signed()).or_else(|| float(&InlineFloat::double_bits));
                short.or_else(|| match kind {
                    OperandKind::F64 if low == 0 => Some(Self::Literal((value >> 32) as u32)),
                    OperandKind::B64 => u32::try_from(value).ok().map(Self::Literal),
                    _ => None,
                })
            }
            OperandKind::B96 | OperandKind::B128 | OperandKind::B256 | OperandKind::B512 | OperandKind::Mask => None,
        }
    }

    /// The 9-bit code; `None` for an integer without one.
    pub fn code(self) -> Option<u16> {
        Some(match self {
            Self::Scalar(s) => u16::from(s.code()),
            Self::Vgpr(v) => 256 + u16::from(v.number()),
            Self::Int(i @ 0..=64) => 128 + u16::from(i.unsigned_abs()),
            Self::Int(i @ -16..=-1) => 192 + u16::from(i.unsigned_abs()),
            Self::Int(_) => return None,
            Self::Float(f) => InlineFloat::FIRST_CODE + f as u16,
            Self::Special(s) => s.row().0,
            Self::Literal(_) => Self::LITERAL_CODE,
        })
    }

    /// Code of an operand whose literal dword follows.
    pub const LITERAL_CODE: u16 = 255;

    /// The operand of a code; `literal` is the dword that follows the instruction, if there is one.
    pub fn from_code(code: u16, literal: Option<u32>) -> Option<Self> {
        match code {
            0..=127 => Scalar::from_code(u8::try_from(code).ok()?).map(Self::Scalar),
            128..=192 => i8::try_from(code - 128).ok().map(Self::Int),
            193..=208 => i8::try_from(code - 192).ok().map(|i| Self::Int(-i)),
            240..=248 => {
                InlineFloat::ALL.get(usize::from(code - InlineFloat::FIRST_CODE)).map(|row| Self::Float(row.0))
            }
            255 => literal.map(Self::Literal),
            256..=511 => u8::try_from(code - 256).ok().map(|v| Self::Vgpr(Vgpr(v))),
            _ => Special::ALL.iter().find(|(_, number, _)| *number == code).map(|(s, _, _)| Self::Special(*s)),
        }
    }
}

impl From<Sgpr> for Src {
    fn from(s: Sgpr) -> Self {
        Self::Scalar(Scalar::Sgpr(s))
    }
}

impl From<Vgpr> for Src {
    fn from(v: Vgpr) -> Self {
        Self::Vgpr(v)
    }
}

impl fmt::Display for Sgpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl fmt::Display for Vgpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sgpr(s) => s.fmt(f),
            _ => f.write_str(Self::NAMED.iter().find(|(reg, _, _)| reg == self).map_or("", |(_, _, name)| name)),
        }
    }
}

impl fmt::Display for Src {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(s) => s.fmt(f),
            Self::Vgpr(v) => v.fmt(f),
            Self::Int(i) => i.fmt(f),
            Self::Float(x) => {
                f.write_str(InlineFloat::ALL.iter().find(|(float, _, _)| float == x).map_or("", |(_, _, text)| text))
            }
            Self::Special(s) => f.write_str(s.row().1),
            Self::Literal(bits) => write!(f, "{bits:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        let mut known = 0;
        for code in 0..512 {
            if let Some(src) = Src::from_code(code, Some(0x1234)) {
                assert_eq!(src.code(), Some(code), "{src}");
                known += 1;
            }
        }
        // 106 SGPRs + 6 named, 81 integers, 9 floats, 8 specials, the literal, 256 VGPRs
        assert_eq!(known, 106 + 6 + 81 + 9 + 8 + 1 + 256);
        assert_eq!(Src::from_code(255, None), None);
        assert_eq!(Src::Int(65).code(), None);
        assert_eq!(Src::Int(-17).code(), None);
    }

    #[test]
    fn constants_are_those_of_the_operands_kind() {
        let float = Some(Src::Float(InlineFloat::One));
        assert_eq!(Src::constant(OperandKind::F16, 0x3c00), float);
        assert_eq!(Src::constant(OperandKind::F32, 0x3f80_0000), float);
        assert_eq!(Src::constant(OperandKind::F64, 1f64.to_bits()), float);
        assert_eq!(Src::constant(OperandKind::PF16, 0x3c00), float);
        assert_eq!(Src::constant(OperandKind::PF16, 0x3c00_3c00), Some(Src::Literal(0x3c00_3c00)));
        assert_eq!(Src::constant(OperandKind::B16, 0xffff), Some(Src::Int(-1)));
        assert_eq!(Src::constant(OperandKind::B16, 0x1_0000), None);
        assert_eq!(Src::constant(OperandKind::B64, u64::MAX), Some(Src::Int(-1)));
        assert_eq!(Src::constant(OperandKind::B64, 0xffff_ffff), Some(Src::Literal(0xffff_ffff)));
        assert_eq!(Src::constant(OperandKind::B64, 1 << 32), None);
        assert_eq!(Src::constant(OperandKind::F64, 1.5f64.to_bits()), Some(Src::Literal(0x3ff8_0000)));
        assert_eq!(Src::constant(OperandKind::F64, 0.1f64.to_bits()), None);
        for (kind, bits) in
            [(OperandKind::F16, 0x3118), (OperandKind::F32, 0x3e22_f983), (OperandKind::F64, 0x3fc4_5f30_6dc9_c882)]
        {
            assert_eq!(Src::constant(kind, bits), Some(Src::Float(InlineFloat::InverseTwoPi)));
        }
        for (float, f16) in
            InlineFloat::ALL.iter().zip([0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400])
        {
            assert_eq!(float.0.half_bits(), f16);
        }
    }

    #[test]
    fn values_take_the_shortest_operand() {
        assert_eq!(Src::from_bits(64), Src::Int(64));
        assert_eq!(Src::from_bits(65), Src::Literal(65));
        assert_eq!(Src::from_bits(0xffff_fff0), Src::Int(-16));
        assert_eq!(Src::from_bits(0xffff_ffef), Src::Literal(0xffff_ffef));
        assert_eq!(Src::from_bits(1.0f32.to_bits()), Src::Float(InlineFloat::One));
        for (float, bits, _) in InlineFloat::ALL {
            assert_eq!(Src::from_bits(bits), Src::Float(float));
            assert_eq!(float.bits(), bits);
        }
    }
}

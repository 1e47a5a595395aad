//! Registers and source operands (their numbers in instructions: `operand_codes.rs`).
//!
//! A 32-bit [`Src`] made by [`Src::from_bits`] is canonical: a literal only if there is no inline constant for the value.

use super::OperandKind;
use dovetail_base::target::InstructionSet;
use std::fmt;

/// A scalar general register, s0 to s105.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sgpr(u8);

/// A vector general register, v0 to v255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vgpr(pub u8);

impl Sgpr {
    /// Number of SGPRs that an operand can name; the same on every gfx10 and gfx11 part.
    pub const COUNT: u8 = InstructionSet::Gfx103.facts().sgprs as u8;

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
    pub const COUNT: u16 = InstructionSet::Gfx103.facts().vgprs as u16;
    /// Number of VGPRs that an operand can name if one bit of their numbers chooses a half.
    pub const HALVED: u8 = 128;

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
    /// Ids of a workgroup along y and z, 16 bits each (`ttmp7`), of gfx12. Code for shaders does not write it.
    WorkgroupYz,
    /// Id of a workgroup along x (`ttmp9`), of gfx12. Code for shaders does not write it.
    WorkgroupX,
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
    /// The named ones: place among the scalar registers, and the assembler's name.
    const NAMED: [(Self, u8, &'static str); 8] = [
        (Self::VccLo, 106, "vcc_lo"),
        (Self::VccHi, 107, "vcc_hi"),
        (Self::WorkgroupYz, 115, "ttmp7"),
        (Self::WorkgroupX, 117, "ttmp9"),
        (Self::M0, 124, "m0"),
        (Self::Null, 125, "null"),
        (Self::ExecLo, 126, "exec_lo"),
        (Self::ExecHi, 127, "exec_hi"),
    ];

    /// Its place among the scalar registers, the same for every GPU. Its number in an operand is of
    /// [`OperandCodes`](crate::operand_codes::OperandCodes).
    pub fn index(self) -> u8 {
        match self {
            Self::Sgpr(s) => s.number(),
            Self::VccLo => 106,
            Self::VccHi => 107,
            Self::WorkgroupYz => 115,
            Self::WorkgroupX => 117,
            Self::M0 => 124,
            Self::Null => 125,
            Self::ExecLo => 126,
            Self::ExecHi => 127,
        }
    }

    /// The register at this place; `None` for those of the trap handler (108 to 123) that are not for shaders.
    pub fn at(index: u8) -> Option<Self> {
        Sgpr::new(index)
            .map(Self::Sgpr)
            .or_else(|| Self::NAMED.iter().find(|(_, place, _)| *place == index).map(|(reg, _, _)| *reg))
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

    /// Its number as a source operand, the same for every GPU.
    pub fn index(self) -> u16 {
        self.row().0
    }

    /// The value with this number.
    pub fn at(index: u16) -> Option<Self> {
        Self::ALL.iter().find(|(_, number, _)| *number == index).map(|(special, _, _)| *special)
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
    /// In the order of their codes: value as f32 bits, and text.
    pub(super) const ALL: [(Self, u32, &'static str); 9] = [
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
            OperandKind::B96 | OperandKind::B128 | OperandKind::B256 | OperandKind::B512 | OperandKind::B1024 => None,
            OperandKind::Mask | OperandKind::Tile | OperandKind::HalfTile | OperandKind::QuarterTile => None,
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

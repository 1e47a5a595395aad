//! Sets of registers, as bits: each register by its 9-bit code as a source operand.
//!
//! SGPRs, VCC, M0 and EXEC are 0 to 127, SCC is 253, VGPRs are 256 to 511 (isa-gfx10 1.1). NULL is in no set.

use super::{Scalar, Vgpr};
use dovetail_base::target::WaveSize;
use std::fmt;

/// A register by its operand code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register(u16);

impl Register {
    /// Number of codes.
    pub const COUNT: usize = 512;
    /// Scalar condition code.
    pub const SCC: Self = Self(253);
    /// Low half of VCC; the high half follows.
    pub const VCC: Self = Self(106);
    /// Low half of EXEC; the high half follows.
    pub const EXEC: Self = Self(126);
    /// High half of EXEC.
    pub const EXEC_HI: Self = Self(127);
    /// Memory and message operand.
    pub const M0: Self = Self(124);

    /// An SGPR by number.
    pub const fn sgpr(number: u8) -> Self {
        Self(number as u16)
    }

    /// A VGPR by number.
    pub const fn vgpr(number: u8) -> Self {
        Self(256 + number as u16)
    }

    /// Its code, below [`Register::COUNT`].
    pub const fn index(self) -> u16 {
        self.0
    }

    /// The number of a VGPR.
    pub fn as_vgpr(self) -> Option<u8> {
        self.0.checked_sub(256).and_then(|n| u8::try_from(n).ok())
    }

    /// The number of an SGPR.
    pub fn as_sgpr(self) -> Option<u8> {
        u8::try_from(self.0).ok().filter(|n| *n < super::Sgpr::COUNT)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(v) = self.as_vgpr() {
            return Vgpr(v).fmt(f);
        }
        match u8::try_from(self.0).ok().and_then(Scalar::at) {
            _ if *self == Self::SCC => f.write_str("scc"),
            Some(scalar) => scalar.fmt(f),
            None => write!(f, "register {}", self.0),
        }
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of registers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct RegisterSet([u64; Register::COUNT / 64]);

impl RegisterSet {
    /// No register.
    pub const EMPTY: Self = Self([0; Register::COUNT / 64]);

    /// Adds one.
    pub fn insert(&mut self, register: Register) {
        // NULL discards writes and always reads 0.
        if register.0 != 125
            && let Some(word) = self.0.get_mut(usize::from(register.0 / 64))
        {
            *word |= 1 << (register.0 % 64);
        }
    }

    /// Adds a group of scalar registers.
    pub fn scalars(&mut self, first: Scalar, count: u8) {
        let null = first == Scalar::Null;
        (0..u16::from(count)).filter(|_| !null).for_each(|n| self.insert(Register(u16::from(first.index()) + n)));
    }

    /// Adds a group of vector registers; those beyond the register file are ignored.
    pub fn vgprs(&mut self, first: Vgpr, count: u8) {
        (0..count).filter_map(|n| first.0.checked_add(n)).for_each(|v| self.insert(Register::vgpr(v)));
    }

    /// Adds a lane mask: one register in wave32, a pair in wave64.
    pub fn mask(&mut self, first: Register, wave: WaveSize) {
        self.insert(first);
        if wave == WaveSize::W64 {
            self.insert(Register(first.0 + 1));
        }
    }

    /// Whether it contains this register.
    pub fn contains(&self, register: Register) -> bool {
        self.0.get(usize::from(register.0 / 64)).is_some_and(|word| word >> (register.0 % 64) & 1 == 1)
    }

    /// Whether it contains EXEC, or a half of it.
    pub fn has_exec(&self) -> bool {
        self.contains(Register::EXEC) || self.contains(Register::EXEC_HI)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// Whether a register is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |both, (a, b)| both | a & b) != 0
    }

    /// Registers in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Registers in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// Registers that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    fn zip(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = *self;
        out.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = f(*a, b));
        out
    }

    /// Its vector registers.
    #[must_use]
    pub fn vector_part(&self) -> Self {
        let mut out = *self;
        out.0.iter_mut().take(4).for_each(|word| *word = 0);
        out
    }

    /// SGPRs, VCC, M0 and EXEC, as one bit per code.
    pub const fn scalar_bits(&self) -> u128 {
        let Self([low, high, ..]) = *self;
        (high as u128) << 64 | low as u128
    }

    /// The set of these bits.
    #[must_use]
    pub const fn from_scalar_bits(bits: u128) -> Self {
        let mut out = Self::EMPTY;
        (out.0[0], out.0[1]) = (bits as u64, (bits >> 64) as u64);
        out
    }

    /// Its registers, in code order.
    pub fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        (0u16..).zip(self.0).flat_map(|(index, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.checked_ilog2().map(|_| left.trailing_zeros())?;
                left &= left - 1;
                Some(Register(64 * index + bit as u16))
            })
        })
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let mut set = RegisterSet::EMPTY;
        set.vgprs(Vgpr(254), 4);
        set.scalars(Scalar::VccLo, 2);
        set.scalars(Scalar::Null, 2);
        set.insert(Register::SCC);
        let names: Vec<String> = set.iter().map(|r| r.to_string()).collect();
        assert_eq!(names, ["vcc_lo", "vcc_hi", "scc", "v254", "v255"]);
        assert_eq!(set.vector_part().iter().count(), 2);
        let mut mask = RegisterSet::EMPTY;
        mask.mask(Register::EXEC, WaveSize::W64);
        assert_eq!(mask.iter().count(), 2);
        assert!(
            mask.intersection(&set).is_empty()
                && !mask.meets(&set)
                && mask.meets(&mask)
                && set.without(&set).is_empty()
        );
        assert_eq!((set.scalar_bits(), mask.scalar_bits()), (3 << 106, 3 << 126));
        assert_eq!(RegisterSet::from_scalar_bits(3 << 126), mask);
    }
}

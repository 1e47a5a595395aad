//! Register words of a family, each register at its place in the table: set and copied without searching.

use super::register::{COUNT, Field, HardwareRegister};
use dovetail_base::error::Result;
use dovetail_base::target::Family;
use std::fmt;

pub(super) const MASKS: usize = COUNT.div_ceil(64);

/// Register words, in the order of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RegisterWords {
    family: Family,
    /// Which registers are present: one bit per place, 64 places per word.
    present: [u64; MASKS],
    /// By place: the register's word, or 0 if it is absent.
    words: [u32; COUNT],
}

impl RegisterWords {
    /// No words for this family.
    pub const fn new(family: Family) -> Self {
        Self { family, present: [0; MASKS], words: [0; COUNT] }
    }

    /// The family that the words are for.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The word of a register.
    pub fn get(&self, register: HardwareRegister) -> Option<u32> {
        let word = *self.words.get(register.place())?;
        has(&self.present, register).then_some(word)
    }

    /// Sets a whole word.
    ///
    /// # Errors
    /// A bug: the family has no such register.
    #[inline(always)]
    pub fn set(&mut self, register: HardwareRegister, word: u32) -> Result<()> {
        let place = register.place();
        match (register.number(self.family), self.words.get_mut(place)) {
            (Some(_), Some(own)) => {
                *own = word;
                insert(&mut self.present, register);
                Ok(())
            }
            _ => Err(register.missing(self.family)),
        }
    }

    /// Adds a register with 0 if it is absent, for a link to set.
    ///
    /// # Errors
    /// A bug: the family has no such register.
    pub(super) fn reserve(&mut self, register: HardwareRegister) -> Result<()> {
        self.set(register, self.get(register).unwrap_or(0))
    }

    /// Sets a whole word, if the family has the register.
    ///
    /// # Errors
    /// A bug, as of [`Self::set`].
    pub(super) fn set_known(&mut self, register: HardwareRegister, word: u32) -> Result<()> {
        if register.number(self.family).is_some() { self.set(register, word) } else { Ok(()) }
    }

    /// Sets one field, if the family has it.
    ///
    /// # Errors
    /// A bug: the value does not fit.
    pub fn set_known_field(&mut self, field: Field, value: u32) -> Result<()> {
        if field.exists(self.family) { self.set_field(field, value) } else { Ok(()) }
    }

    /// Sets one field; an absent word counts as 0.
    ///
    /// # Errors
    /// A bug: the value does not fit, or the family lacks the field or its register.
    #[inline(always)]
    pub fn set_field(&mut self, field: Field, value: u32) -> Result<()> {
        let word = self.words.get(field.register().place()).copied().unwrap_or(0);
        self.set(field.register(), field.put(self.family, word, value)?)
    }

    /// The value of a field; 0 if the register is absent, or the family lacks the field.
    #[inline]
    pub fn field(&self, field: Field) -> u32 {
        let word = self.words.get(field.register().place()).copied().unwrap_or(0);
        field.of(self.family, word)
    }

    /// All words in order.
    pub fn iter(&self) -> impl Iterator<Item = (HardwareRegister, u32)> {
        places(self.present).map(|place| (HardwareRegister::at(place), self.words[place]))
    }

    /// All words in order, with the numbers of their registers.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, u32)> {
        self.iter().filter_map(|(register, word)| Some((register.number(self.family)?, word)))
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.present.iter().map(|mask| mask.count_ones() as usize).sum()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which registers are present, one bit per place.
    pub(super) fn present(&self) -> [u64; MASKS] {
        self.present
    }
}

/// Registers that have been seen.
#[derive(Default)]
pub(super) struct RegisterSet([u64; MASKS]);

impl RegisterSet {
    /// Adds a register of the table; false if it is in the set already.
    pub(super) fn insert(&mut self, register: HardwareRegister) -> bool {
        let new = !has(&self.0, register);
        insert(&mut self.0, register);
        new
    }
}

#[inline(always)]
fn has(present: &[u64; MASKS], register: HardwareRegister) -> bool {
    let place = register.place();
    present.get(place / 64).is_some_and(|mask| mask >> (place % 64) & 1 == 1)
}

#[inline(always)]
fn insert(present: &mut [u64; MASKS], register: HardwareRegister) {
    let place = register.place();
    if let Some(mask) = present.get_mut(place / 64) {
        *mask |= 1 << (place % 64);
    }
}

/// The index of a register among those present, in order.
pub(super) fn index(present: &[u64; MASKS], register: HardwareRegister) -> Option<usize> {
    let place = register.place();
    let (before, mask, bit) = (present.get(..place / 64)?, present.get(place / 64)?, 1 << (place % 64));
    let count = |mask: u64| mask.count_ones() as usize;
    (mask & bit != 0).then(|| before.iter().copied().map(count).sum::<usize>() + count(mask & (bit - 1)))
}

/// The places of the set bits, in order.
fn places(present: [u64; MASKS]) -> impl Iterator<Item = usize> {
    present.into_iter().zip(0..).flat_map(|(mask, n)| Bits(mask).map(move |bit| 64 * n + bit))
}

impl fmt::Debug for RegisterWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(register, word)| (register.name(), word))).finish()
    }
}

/// Iterates over the numbers of the set bits.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_has_a_place_in_the_order_of_numbers() {
        let family = Family::Gfx103;
        let mut registers = RegisterWords::new(family);
        let all: Vec<_> = (0..COUNT).map(HardwareRegister::at).collect();
        let word = |register: HardwareRegister| register.number(family).expect("a number") + 1;
        for register in all.iter().rev() {
            assert_eq!(registers.get(*register), None);
            registers.set(*register, word(*register)).unwrap();
            assert_eq!(registers.get(*register), Some(word(*register)));
        }
        assert_eq!(registers.iter().collect::<Vec<_>>(), all.iter().map(|r| (*r, word(*r))).collect::<Vec<_>>());
        let numbers: Vec<u32> = registers.numbered().map(|(number, _)| number).collect();
        assert!(numbers.is_sorted() && numbers.len() == registers.len());
        let refused = registers.set(HardwareRegister::at(COUNT), 1).unwrap_err().to_string();
        assert!(refused.contains("outside of the table"), "{refused}");
        assert_eq!(registers.get(HardwareRegister::at(COUNT)), None);
    }
}

//! Register words, each register in a fixed slot: set and copied without searching.

use super::registers::{Field, HardwareRegister, RegisterInfo, TABLE};
use crate::error::Result;
use std::fmt;

/// Number of registers in the table, with ranges expanded.
pub(super) const COUNT: usize = {
    let (mut row, mut count) = (0, 0);
    while row < TABLE.len() {
        count += TABLE[row].count as usize;
        row += 1;
    }
    count
};
pub(super) const MASKS: usize = COUNT.div_ceil(64);

/// Register numbers in order; the index of a register here is its slot.
const NUMBERS: [u16; COUNT] = {
    let mut numbers = [0; COUNT];
    let mut row = 0;
    while row < TABLE.len() {
        let info = &TABLE[row];
        // Count the registers of all rows before this one.
        let (mut other, mut place) = (0, 0);
        while other < TABLE.len() {
            if TABLE[other].first.0 < info.first.0 {
                place += TABLE[other].count as usize;
            }
            other += 1;
        }
        let mut n = 0;
        while n < info.count {
            numbers[place + n as usize] = (info.first.0 + n) as u16;
            n += 1;
        }
        row += 1;
    }
    numbers
};

/// The distinct upper bytes of the register numbers.
const UPPER: [u8; 7] = [0x2C, 0x2E, 0xA0, 0xA1, 0xA2, 0xA3, 0xC2];

/// By upper byte, its page of [`PLACES`], counted from 1.
static PAGES: [u8; 256] = {
    let mut pages = [0; 256];
    let mut page = 0;
    while page < UPPER.len() {
        pages[UPPER[page] as usize] = page as u8 + 1;
        page += 1;
    }
    pages
};

/// By page and lower byte: the slot of a register, counted from 1.
static PLACES: [[u8; 256]; UPPER.len()] = {
    let mut places = [[0; 256]; UPPER.len()];
    let mut place = 0;
    while place < COUNT {
        let number = NUMBERS[place];
        // This does not compile if a register is on no page.
        let page = PAGES[(number >> 8) as usize] as usize - 1;
        places[page][(number & 0xff) as usize] = place as u8 + 1;
        place += 1;
    }
    places
};

/// By slot, the register's row in the table.
static ROWS: [&RegisterInfo; COUNT] = {
    let mut rows = [&TABLE[0]; COUNT];
    let mut place = 0;
    while place < COUNT {
        let mut row = 0;
        while row < TABLE.len() {
            let info = &TABLE[row];
            let number = NUMBERS[place] as u32;
            if info.first.0 <= number && number - info.first.0 < info.count {
                rows[place] = info;
            }
            row += 1;
        }
        place += 1;
    }
    rows
};

impl HardwareRegister {
    /// Its row in the table.
    pub fn info(self) -> Option<&'static RegisterInfo> {
        place(self).map(|place| ROWS[place])
    }
}

// For a register known at compile time, all of this is a constant.
#[inline(always)]
pub(super) fn place(register: HardwareRegister) -> Option<usize> {
    let page = PAGES.get((register.0 >> 8) as usize).copied()?;
    let of_page = PLACES.get(usize::from(page).checked_sub(1)?)?;
    usize::from(of_page[(register.0 & 0xff) as usize]).checked_sub(1)
}

/// Register words, ordered by number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RegisterWords {
    /// Which registers are present: one bit per slot, 64 slots per word.
    present: [u64; MASKS],
    /// By slot: the register's word, or 0 if it is absent.
    words: [u32; COUNT],
}

impl Default for RegisterWords {
    fn default() -> Self {
        Self { present: [0; MASKS], words: [0; COUNT] }
    }
}

impl RegisterWords {
    /// The word of a register.
    pub fn get(&self, register: HardwareRegister) -> Option<u32> {
        let place = place(register)?;
        (self.present[place / 64] >> (place % 64) & 1 == 1).then(|| self.words[place])
    }

    /// Sets a whole word. A register that is not in the table is ignored: code that parses foreign input must check
    /// [`HardwareRegister::info`] first.
    #[inline(always)]
    pub fn set(&mut self, register: HardwareRegister, word: u32) {
        if let Some(place) = place(register) {
            self.present[place / 64] |= 1 << (place % 64);
            self.words[place] = word;
        }
    }

    /// Adds a register with 0 if it is absent, for a link to set.
    pub(super) fn reserve(&mut self, register: HardwareRegister) {
        self.set(register, self.get(register).unwrap_or(0));
    }

    /// Sets one field; an absent word counts as 0.
    ///
    /// # Errors
    /// A bug: the value does not fit.
    #[inline(always)]
    pub fn set_field(&mut self, field: Field, value: u32) -> Result<()> {
        let word = place(field.register()).map_or(0, |place| self.words[place]);
        self.set(field.register(), field.put(word, value)?);
        Ok(())
    }

    /// The value of a field; 0 if the register is absent.
    #[inline]
    pub fn field(&self, field: Field) -> u32 {
        field.of(place(field.register()).map_or(0, |place| self.words[place]))
    }

    /// All words in order.
    pub fn iter(&self) -> impl Iterator<Item = (HardwareRegister, u32)> {
        self.slots().map(|(_, register, word)| (register, word))
    }

    /// All words in order, with their slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, HardwareRegister, u32)> {
        places(self.present).map(|place| (place, HardwareRegister(NUMBERS[place].into()), self.words[place]))
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.present.iter().map(|mask| mask.count_ones() as usize).sum()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which registers are present, one bit per slot.
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
        let Some(place) = place(register) else { return false };
        let (mask, bit) = (&mut self.0[place / 64], 1 << (place % 64));
        let new = *mask & bit == 0;
        *mask |= bit;
        new
    }
}

/// The index of a register among those present, in order.
pub(super) fn index(present: &[u64; MASKS], register: HardwareRegister) -> Option<usize> {
    let place = place(register)?;
    let (before, mask, bit) = (&present[..place / 64], present[place / 64], 1 << (place % 64));
    let count = |mask: u64| mask.count_ones() as usize;
    (mask & bit != 0).then(|| before.iter().copied().map(count).sum::<usize>() + count(mask & (bit - 1)))
}

/// The slots of the set bits, in order.
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
        let mut registers = RegisterWords::default();
        let mut numbers: Vec<u32> = TABLE.iter().flat_map(|row| row.first.0..row.first.0 + row.count).collect();
        for number in numbers.iter().rev() {
            assert_eq!(registers.get(HardwareRegister(*number)), None);
            registers.set(HardwareRegister(*number), number + 1);
            assert_eq!(registers.get(HardwareRegister(*number)), Some(number + 1));
        }
        numbers.sort_unstable();
        let expect: Vec<(HardwareRegister, u32)> = numbers.iter().map(|n| (HardwareRegister(*n), n + 1)).collect();
        assert_eq!(registers.iter().collect::<Vec<_>>(), expect);
        assert_eq!(registers.len(), numbers.len());
        for stranger in [0, 0x1234, 0x2C00, 0xA000, 0x1_2C4A, u32::MAX] {
            registers.set(HardwareRegister(stranger), 1);
            assert_eq!(registers.get(HardwareRegister(stranger)), None);
        }
        assert_eq!(registers.len(), numbers.len());
    }
}

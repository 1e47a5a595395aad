//! A register and a bit field of the table ([`super::registers`]), and their numbers and places in each family.
//!
//! A [`Field`] knows its register, so that a field cannot be set in the wrong word. A value that does not fit its field, or
//! a field that the family lacks, is an error.

use super::registers::TABLE;
use super::schema::{MergeRule, Owner};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Family;

/// A register, by its place in the table with ranges expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HardwareRegister(u8);

/// Number of registers in the table, with ranges expanded.
pub(super) const COUNT: usize = {
    let (mut row, mut count) = (0, 0);
    while row < TABLE.len() {
        count += TABLE[row].count as usize;
        row += 1;
    }
    count
};

/// The first register of a row, from the lengths of all rows.
pub(super) const fn first_place(counts: &[u8], row: usize) -> HardwareRegister {
    let (mut before, mut place) = (0, 0);
    while before < row {
        place += counts[before];
        before += 1;
    }
    HardwareRegister(place)
}

/// The column of each family of a row that has one for each, or one for all.
pub(super) const fn by_family(numbers: &[Option<u16>]) -> [Option<u16>; Family::COUNT] {
    let wrong = numbers.len() != 1 && numbers.len() != Family::COUNT;
    // This does not compile with another number of columns.
    let () = [()][wrong as usize];
    let (mut all, mut family) = ([numbers[0]; Family::COUNT], 0);
    while family < numbers.len() {
        all[family] = numbers[family];
        family += 1;
    }
    all
}

/// The places of a field in those families that have its register.
pub(super) const fn placed(
    mut places: [Option<FieldPlace>; Family::COUNT],
    numbers: &[Option<u16>],
) -> [Option<FieldPlace>; Family::COUNT] {
    let (numbers, mut family) = (by_family(numbers), 0);
    while family < Family::COUNT {
        if numbers[family].is_none() {
            places[family] = None;
        }
        family += 1;
    }
    places
}

/// By place: the row in the table.
static ROWS: [&RegisterInfo; COUNT] = {
    let mut rows = [&TABLE[0]; COUNT];
    let (mut row, mut place) = (0, 0);
    while row < TABLE.len() {
        let end = place + TABLE[row].count as usize;
        while place < end {
            rows[place] = &TABLE[row];
            place += 1;
        }
        row += 1;
    }
    rows
};

/// By family and place: the register's dword number; `None` if the family has no such register.
static NUMBERS: [[Option<u16>; COUNT]; Family::COUNT] = {
    let mut numbers = [[None; COUNT]; Family::COUNT];
    let mut family = 0;
    while family < Family::COUNT {
        let mut place = 0;
        while place < COUNT {
            let info = ROWS[place];
            if let Some(first) = info.numbers[family] {
                numbers[family][place] = Some(first + place as u16 - info.first.0 as u16);
            }
            place += 1;
        }
        family += 1;
    }
    numbers
};

/// The most distinct upper bytes that the numbers of a family have.
const PAGES: usize = 8;

/// Places by number, for one family.
struct Places {
    /// By upper byte of the number: its page, counted from 1.
    pages: [u8; 256],
    /// By page and lower byte: the register's place, counted from 1.
    places: [[u8; 256]; PAGES],
}

/// By family. This does not compile if a family has more pages.
static PLACES: [Places; Family::COUNT] = {
    let mut all = [const { Places { pages: [0; 256], places: [[0; 256]; PAGES] } }; Family::COUNT];
    let mut family = 0;
    while family < Family::COUNT {
        let (mut place, mut pages) = (0, 0);
        while place < COUNT {
            if let Some(number) = NUMBERS[family][place] {
                let [high, low] = number.to_be_bytes();
                if all[family].pages[high as usize] == 0 {
                    pages += 1;
                    all[family].pages[high as usize] = pages;
                }
                all[family].places[all[family].pages[high as usize] as usize - 1][low as usize] = place as u8 + 1;
            }
            place += 1;
        }
        family += 1;
    }
    all
};

impl HardwareRegister {
    /// In no row of the table.
    const OUTSIDE: Self = Self(COUNT as u8);

    /// The register at a place of the table.
    pub(super) fn at(place: usize) -> Self {
        u8::try_from(place).map_or(Self::OUTSIDE, Self)
    }

    /// The register with this dword number.
    pub fn of_number(family: Family, number: u32) -> Option<Self> {
        let Places { pages, places } = &PLACES[family as usize];
        let page = *pages.get((number >> 8) as usize)?;
        let place = places.get(usize::from(page).checked_sub(1)?)?[(number & 0xff) as usize];
        place.checked_sub(1).map(Self)
    }

    /// Its dword number; `None` if the family has no such register.
    #[inline(always)]
    pub fn number(self, family: Family) -> Option<u32> {
        let number = *NUMBERS[family as usize].get(self.place())?;
        number.map(u32::from)
    }

    /// The n-th register after this one, in a range of registers with the same fields. One after the end of the range is in
    /// no row of the table.
    pub const fn nth(self, n: u32) -> Self {
        if self.0 as usize >= COUNT {
            return Self::OUTSIDE;
        }
        let row = ROWS[self.0 as usize];
        let left = row.count - (self.0 - row.first.0) as u32;
        if n < left { Self(self.0 + n as u8) } else { Self::OUTSIDE }
    }

    /// Its row in the table; `None` if it is after the end of a range.
    pub fn info(self) -> Option<&'static RegisterInfo> {
        ROWS.get(self.place()).copied()
    }

    /// Its place in the table.
    #[inline(always)]
    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }

    /// Its name, with its index in a range.
    pub fn name(self) -> String {
        match self.info() {
            Some(info) if info.count > 1 => format!("{}_{}", info.name, self.0.saturating_sub(info.first.0)),
            Some(info) => info.name.to_owned(),
            None => "register outside of the table".to_owned(),
        }
    }

    /// The error of a register that the family does not have.
    #[cold]
    pub(super) fn missing(self, family: Family) -> Error {
        Error::bug(format!("{family:?} has no {}", self.name()))
    }
}

/// The bits of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldPlace {
    /// The lowest one.
    pub low: u8,
    /// Their number.
    pub width: u8,
}

impl FieldPlace {
    const fn max(self) -> u32 {
        if self.width == 32 { u32::MAX } else { (1 << self.width) - 1 }
    }
}

/// A bit field of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    register: HardwareRegister,
    /// Name without the register's name.
    pub name: &'static str,
    /// By family; `None` if the register has no such field there.
    places: [Option<FieldPlace>; Family::COUNT],
}

impl Field {
    pub(super) const fn new(
        register: HardwareRegister,
        name: &'static str,
        places: [Option<FieldPlace>; Family::COUNT],
    ) -> Self {
        Self { register, name, places }
    }

    /// Some of its bits, from one of them on, as a field.
    pub(super) const fn bits(self, from: u8, width: u8) -> Self {
        let mut places = self.places;
        let mut family = 0;
        while family < Family::COUNT {
            if let Some(whole) = self.places[family] {
                places[family] = Some(FieldPlace { low: whole.low + from, width });
            }
            family += 1;
        }
        Self { places, ..self }
    }

    /// The same field in the n-th register of its range.
    pub const fn nth(self, n: u32) -> Self {
        Self { register: self.register.nth(n), ..self }
    }

    /// The register it is in.
    pub const fn register(self) -> HardwareRegister {
        self.register
    }

    /// The bits of the word that it takes: none, if the family lacks it.
    pub const fn mask(self, family: Family) -> u32 {
        match self.places[family as usize] {
            Some(place) => place.max() << place.low,
            None => 0,
        }
    }

    /// Whether a family has it.
    pub const fn exists(self, family: Family) -> bool {
        self.places[family as usize].is_some()
    }

    /// The largest value that it holds: 0, if the family lacks it.
    pub const fn max(self, family: Family) -> u32 {
        match self.places[family as usize] {
            Some(place) => place.max(),
            None => 0,
        }
    }

    /// Its value in a register word: 0, if the family lacks it.
    pub const fn of(self, family: Family, word: u32) -> u32 {
        match self.places[family as usize] {
            Some(place) => word >> place.low & place.max(),
            None => 0,
        }
    }

    /// The word with this field set. A field that the family lacks is as good as one that is 0.
    ///
    /// # Errors
    /// A bug: the value does not fit, or is not 0 and the family has no such field.
    #[inline]
    pub fn put(self, family: Family, word: u32, value: u32) -> Result<u32> {
        match self.places[family as usize] {
            Some(place) if value <= place.max() => Ok(word & !(place.max() << place.low) | value << place.low),
            None if value == 0 => Ok(word),
            place => Err(self.refused(family, place, value)),
        }
    }

    #[cold]
    fn refused(self, family: Family, place: Option<FieldPlace>, value: u32) -> Error {
        let name = format!("{}.{}", self.register.name(), self.name);
        Error::bug(match place {
            Some(place) => format!("{name}: {value:#x} does not fit {} bits", place.width),
            None => format!("{family:?} has no {name}"),
        })
    }
}

/// A row of the table: a register, or a range of equal registers.
#[derive(Debug)]
pub struct RegisterInfo {
    /// First of the row.
    pub first: HardwareRegister,
    /// Number of registers in the range.
    pub count: u32,
    /// Name.
    pub name: &'static str,
    /// By family: the dword number of the first; `None` if the family has no such register.
    pub numbers: [Option<u16>; Family::COUNT],
    /// The rule that merges the words of two parts: `Same` or `Or` (see `final_registers.rs` for others).
    pub merge: MergeRule,
    /// The source of its value.
    pub owner: Owner,
    /// Fields.
    pub fields: &'static [Field],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_registers_name_each_other() {
        for family in Family::ALL {
            for place in 0..COUNT {
                let register = HardwareRegister::at(place);
                let number = register.number(family);
                assert_eq!(
                    number.and_then(|number| HardwareRegister::of_number(family, number)),
                    number.map(|_| register)
                );
            }
            for stranger in [0, 0x1234, 0x2C00, 0xA000, 0x1_2C4A, u32::MAX] {
                assert_eq!(HardwareRegister::of_number(family, stranger), None);
            }
        }
    }
}

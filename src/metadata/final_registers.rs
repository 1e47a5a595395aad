//! The registers of a final ELF, in the encoding of the metadata.
//!
//! The registers of a part are a block of entries that is encoded once ([`PartRegisters`]); what its layout and its own
//! glue decide is then set in a copy ([`ReadyRegisters`]). A link copies the blocks of its stages, and sets in place the
//! words that depend on the whole pipeline ([`SET`]). So the entries of a stage are in the order of their numbers, and
//! those of the fragment stage follow those of the vertex stage. If both parts have the same register, which happens only
//! with parts that this project did not compile, the second part is not copied as a block: its entries are merged one by
//! one, by searching.

use super::msgpack::{FIXED_UINT, FIXED_UINT_16};
use super::register_words::{MASKS, RegisterWords, index};
use super::registers::{
    COMPUTE_PGM_RSRC1, Field, HardwareRegister, PA_CL_CLIP_CNTL, PA_SC_AA_CONFIG, PA_SC_MODE_CNTL_1, SPI_PS_INPUT_CNTL,
    SPI_SHADER_PGM_RSRC1_GS, SPI_SHADER_PGM_RSRC1_PS, SPI_SHADER_PGM_RSRC1_VS, SPI_VS_OUT_CONFIG, VGT_GS_OUT_PRIM_TYPE,
};
use super::schema::MergeRule;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Family, MOST_HARDWARE_STAGES};
use smallvec::SmallVec;

/// An entry of the map: a 16-bit number and a 32-bit word, each with its tag.
type Entry = [u8; 8];

fn entry(number: u32, word: u32) -> Entry {
    let key = u64::from(FIXED_UINT_16) << 56 | u64::from(number) << 40;
    (key | u64::from(FIXED_UINT) << 32 | u64::from(word)).to_be_bytes()
}

/// The entry of the same register with another word.
fn changed(entry: Entry, word: u32) -> Entry {
    (u64::from_be_bytes(entry) >> 32 << 32 | u64::from(word)).to_be_bytes()
}

fn number(entry: Entry) -> u32 {
    (u64::from_be_bytes(entry) >> 40) as u32 & 0xffff
}

fn word(entry: Entry) -> u32 {
    u64::from_be_bytes(entry) as u32
}

/// A hash with an entry added: a multiplication by an odd number loses nothing.
fn mixed(hash: u64, entry: Entry) -> u64 {
    (hash.rotate_left(5) ^ u64::from_be_bytes(entry)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The registers that links set: their entries are found without a search. Others, too, may be set.
const SET: [HardwareRegister; 10] = [
    SPI_SHADER_PGM_RSRC1_VS,
    SPI_SHADER_PGM_RSRC1_GS,
    VGT_GS_OUT_PRIM_TYPE,
    SPI_SHADER_PGM_RSRC1_PS,
    COMPUTE_PGM_RSRC1,
    SPI_VS_OUT_CONFIG,
    PA_CL_CLIP_CNTL,
    PA_SC_AA_CONFIG,
    PA_SC_MODE_CNTL_1,
    SPI_PS_INPUT_CNTL,
];

/// The index of a register in [`SET`]; a constant, for a register known at compile time.
#[inline(always)]
const fn set_index(register: HardwareRegister) -> Option<usize> {
    let mut n = 0;
    while n < SET.len() {
        if SET[n].place() == register.place() {
            return Some(n);
        }
        n += 1;
    }
    None
}

/// The registers of one part, with an entry for each register that a link sets.
#[derive(Clone, Debug)]
pub struct PartRegisters {
    family: Family,
    indexes: RegisterIndexes,
    entries: Box<[Entry]>,
}

/// The indices of registers in a part's block of entries. A link reads them for each stage, so this is small.
#[derive(Clone, Debug)]
pub struct RegisterIndexes {
    /// By place, as in [`RegisterWords`]: one bit, set if the register is present.
    present: [u64; MASKS],
    /// By index in [`SET`]: the index of the register's entry, counted from 1; 0 if it is absent.
    set: [u8; SET.len()],
}

impl PartRegisters {
    /// Encodes all words.
    pub fn new(words: &RegisterWords) -> Self {
        let entries: Box<[Entry]> = words.numbered().map(|(number, word)| entry(number, word)).collect();
        let present = words.present();
        let set = SET.map(|register| index(&present, register).map_or(0, |index| index as u8 + 1));
        Self { family: words.family(), indexes: RegisterIndexes { present, set }, entries }
    }

    /// The indices of the registers' entries.
    pub(super) fn indexes(&self) -> &RegisterIndexes {
        &self.indexes
    }

    /// All entries.
    pub(super) fn bytes(&self) -> &[u8] {
        self.entries.as_flattened()
    }
}

/// A copy of a part's registers, in which words are set.
pub(super) struct ReadyRegisters<'a> {
    family: Family,
    indexes: &'a RegisterIndexes,
    entries: &'a mut [Entry],
}

impl<'a> ReadyRegisters<'a> {
    /// `bytes`: a copy of [`PartRegisters::bytes`].
    pub(super) fn new(part: &'a PartRegisters, bytes: &'a mut [u8]) -> Self {
        Self { family: part.family, indexes: &part.indexes, entries: bytes.as_chunks_mut().0 }
    }

    fn entry(&mut self, register: HardwareRegister) -> Option<&mut Entry> {
        let index = index(&self.indexes.present, register);
        debug_assert!(index.is_some(), "{} has no place", register.name());
        self.entries.get_mut(index?)
    }

    /// Sets the word of a register that the part has.
    pub(super) fn set(&mut self, register: HardwareRegister, word: u32) {
        if let Some(place) = self.entry(register) {
            *place = changed(*place, word);
        }
    }

    /// Sets a field of a register that the part has.
    ///
    /// # Errors
    /// A bug: the value does not fit, or the family lacks the field.
    pub(super) fn set_field(&mut self, field: Field, value: u32) -> Result<()> {
        let family = self.family;
        if let Some(place) = self.entry(field.register()) {
            *place = changed(*place, field.put(family, word(*place), value)?);
        }
        Ok(())
    }
}

/// The words of `SPI_PS_INPUT_CNTL` from 0 on, encoded once for many links.
#[derive(Clone, Debug, Default)]
pub struct AttributeControls {
    entries: SmallVec<[Entry; 8]>,
    hash: u64,
}

impl AttributeControls {
    /// Encodes these words for a family.
    ///
    /// # Errors
    /// A bug: more words than the rasterizer has attributes.
    pub fn new(family: Family, words: &[u32]) -> Result<Self> {
        let mut entries: SmallVec<[Entry; 8]> = SmallVec::new();
        for (n, word) in (0u32..).zip(words) {
            let register = SPI_PS_INPUT_CNTL.nth(n);
            entries.push(entry(register.number(family).ok_or_else(|| register.missing(family))?, *word));
        }
        let hash = entries.iter().fold(0, |hash, entry| mixed(hash, *entry));
        Ok(Self { entries, hash })
    }

    /// All entries.
    pub fn bytes(&self) -> &[u8] {
        self.entries.as_flattened()
    }
}

/// The registers of a pipeline.
#[derive(Clone, Debug)]
pub struct FinalRegisters<'a> {
    family: Family,
    entries: SmallVec<[Entry; 128]>,
    /// The parts whose entries were copied as a block, each with the index of its first entry.
    blocks: [Option<(&'a RegisterIndexes, usize)>; MOST_HARDWARE_STAGES],
    /// Hash of every word that was set after the parts were added.
    changes: u64,
}

impl<'a> FinalRegisters<'a> {
    /// No registers of a pipeline for this family.
    pub(super) fn new(family: Family) -> Self {
        Self { family, entries: SmallVec::new(), blocks: Default::default(), changes: 0 }
    }

    /// The family that they are for.
    pub(super) const fn family(&self) -> Family {
        self.family
    }

    /// Adds the registers of a part, whose entries are `bytes`; the table's rule merges those that are there already. A
    /// register with another rule than `Same` and `Or` needs a branch here; the test
    /// `words_are_the_same_or_the_bits_of_both` fails without it.
    ///
    /// # Errors
    /// Malformed: the parts contradict each other.
    pub(super) fn add(&mut self, part: &'a RegisterIndexes, bytes: &[u8]) -> Result<()> {
        let (entries, _) = bytes.as_chunks();
        let meets = |other: &RegisterIndexes| other.present.iter().zip(&part.present).any(|(one, two)| one & two != 0);
        let met = self.blocks.iter().flatten().any(|(block, _)| meets(block));
        if let Some(free) = self.blocks.iter_mut().find(|block| block.is_none()).filter(|_| !met) {
            *free = Some((part, self.entries.len()));
            self.entries.extend_from_slice(entries);
            return Ok(());
        }
        for (number, theirs) in entries.iter().map(|entry| (number(*entry), word(*entry))) {
            let register = HardwareRegister::of_number(self.family, number);
            let register =
                register.ok_or_else(|| Error::bug(format!("a part for {:?} has {number:#x}", self.family)))?;
            let Some(own) = self.get(register) else {
                self.set(register, theirs)?;
                continue;
            };
            if own != theirs && register.info().is_none_or(|info| info.merge != MergeRule::Or) {
                return Err(Error::malformed(format!("the parts give {} different values", register.name())));
            }
            self.set(register, own | theirs)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn find(&self, register: HardwareRegister) -> Option<usize> {
        let Some(n) = set_index(register) else { return self.search(register) };
        let in_block = |block: &Option<(&RegisterIndexes, usize)>| {
            let (block, start) = (*block)?;
            Some(start + usize::from(block.set[n].checked_sub(1)?))
        };
        self.blocks.iter().find_map(in_block).or_else(|| self.search(register))
    }

    /// Finds a register that is in no block, or that links do not set.
    #[cold]
    fn search(&self, register: HardwareRegister) -> Option<usize> {
        let wanted = register.number(self.family)?;
        self.entries.iter().position(|entry| number(*entry) == wanted)
    }

    /// The word of a register.
    pub fn get(&self, register: HardwareRegister) -> Option<u32> {
        self.entries.get(self.find(register)?).map(|entry| word(*entry))
    }

    /// Sets a whole word.
    ///
    /// # Errors
    /// A bug: the family has no such register.
    #[inline(always)]
    pub(super) fn set(&mut self, register: HardwareRegister, word: u32) -> Result<()> {
        let number = register.number(self.family).ok_or_else(|| register.missing(self.family))?;
        self.put(self.find(register), entry(number, word));
        Ok(())
    }

    /// Writes an entry at its index, or after all others, and adds it to the hash of changes.
    #[inline(always)]
    fn put(&mut self, index: Option<usize>, entry: Entry) {
        self.changes = mixed(self.changes, entry);
        match index.and_then(|index| self.entries.get_mut(index)) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
    }

    /// Sets the words of the fragment stage's attributes, which are for the same family.
    pub(super) fn set_controls(&mut self, controls: &AttributeControls) {
        let AttributeControls { entries, hash } = controls;
        let start = self.find(SPI_PS_INPUT_CNTL).unwrap_or(usize::MAX);
        let places = self.entries.get_mut(start..start.saturating_add(entries.len())).unwrap_or_default();
        let same = places.iter().zip(entries).filter(|(place, entry)| number(**place) == number(**entry)).count();
        if same == entries.len() {
            places.copy_from_slice(entries);
        } else {
            for entry in entries {
                let wanted = number(*entry);
                self.put(self.entries.iter().position(|entry| number(*entry) == wanted), *entry);
            }
        }
        self.changes = mixed(self.changes, hash.to_be_bytes());
    }

    /// Sets one field; an absent word counts as 0.
    ///
    /// # Errors
    /// A bug: the value does not fit, or the family lacks the field.
    #[inline(always)]
    pub(super) fn set_field(&mut self, field: Field, value: u32) -> Result<()> {
        self.set_fields([(field, value)])
    }

    /// Sets fields of one register; an absent word counts as 0.
    ///
    /// # Errors
    /// A bug: a value does not fit, or the family lacks a field.
    #[inline(always)]
    pub(super) fn set_fields<const N: usize>(&mut self, fields: [(Field, u32); N]) -> Result<()> {
        let Some(register) = fields.first().map(|(field, _)| field.register()) else { return Ok(()) };
        debug_assert!(fields.iter().all(|(field, _)| field.register() == register), "fields of several registers");
        let index = self.find(register);
        let before = index.and_then(|index| self.entries.get(index)).map_or(0, |entry| word(*entry));
        let word = fields.iter().try_fold(before, |word, (field, value)| field.put(self.family, word, *value))?;
        let number = register.number(self.family).ok_or_else(|| register.missing(self.family))?;
        self.put(index, entry(number, word));
        Ok(())
    }

    /// A hash of every word that was set after the parts were added: with the hashes of the parts, it decides all
    /// words.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The number of registers.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no registers.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.entries.as_flattened()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::{SPI_BARYC_CNTL, SPI_PS_INPUT_CNTL, TABLE, VGT_SHADER_STAGES_EN, spi_baryc_cntl};

    fn part(words: &[(HardwareRegister, u32)]) -> PartRegisters {
        let mut out = RegisterWords::new(Family::Gfx103);
        words.iter().for_each(|(register, word)| out.set(*register, *word).unwrap());
        PartRegisters::new(&out)
    }

    fn both<'a>(parts: [&'a PartRegisters; 2]) -> Result<FinalRegisters<'a>> {
        let mut both = FinalRegisters::new(Family::Gfx103);
        parts.into_iter().try_for_each(|part| both.add(part.indexes(), part.bytes()))?;
        Ok(both)
    }

    fn words(registers: &FinalRegisters<'_>) -> Vec<(HardwareRegister, u32)> {
        let register = |entry| HardwareRegister::of_number(Family::Gfx103, number(entry)).unwrap();
        registers.entries.iter().map(|entry| (register(*entry), word(*entry))).collect()
    }

    #[test]
    fn words_of_both_follow_the_rule_in_any_order() {
        let of = |stages, baryc| part(&[(VGT_SHADER_STAGES_EN, stages), (SPI_BARYC_CNTL, baryc)]);
        for (first, second) in [(of(0x80_0000, 1), of(0x40_0000, 1)), (of(0x40_0000, 1), of(0x80_0000, 1))] {
            let both = both([&first, &second]).unwrap();
            assert_eq!(words(&both), [(SPI_BARYC_CNTL, 1), (VGT_SHADER_STAGES_EN, 0xc0_0000)]);
        }
        let (first, second) = (of(0, 1), of(0, 2));
        let refused = both([&first, &second]).unwrap_err();
        assert!(refused.to_string().contains("SPI_BARYC_CNTL"), "{refused}");
    }

    #[test]
    fn words_are_the_same_or_the_bits_of_both() {
        assert!(TABLE.iter().all(|row| matches!(row.merge, MergeRule::Same | MergeRule::Or)));
    }

    #[test]
    fn words_are_set_where_the_parts_have_them() {
        let cntl = |n| SPI_PS_INPUT_CNTL.nth(n);
        let (first, second) = (part(&[(VGT_SHADER_STAGES_EN, 9)]), part(&[(cntl(0), 0), (cntl(1), 0), (cntl(2), 5)]));
        let mut both = both([&first, &second]).unwrap();
        both.set_controls(&AttributeControls::new(Family::Gfx103, &[3, 4]).unwrap());
        both.set(VGT_SHADER_STAGES_EN, 8).unwrap();
        // No part has this one.
        both.set_field(spi_baryc_cntl::POS_FLOAT_ULC, 1).unwrap();
        both.set_field(spi_baryc_cntl::FRONT_FACE_ALL_BITS, 1).unwrap();
        let ulc = 1 << 20 | 1 << 24;
        assert_eq!(
            words(&both),
            [(VGT_SHADER_STAGES_EN, 8), (cntl(0), 3), (cntl(1), 4), (cntl(2), 5), (SPI_BARYC_CNTL, ulc)]
        );
        assert_eq!((both.get(SPI_BARYC_CNTL), both.get(cntl(3))), (Some(ulc), None));
        both.set_controls(&AttributeControls::new(Family::Gfx103, &[3, 4, 6, 7]).unwrap());
        assert_eq!((both.get(cntl(2)), both.get(cntl(3)), both.len()), (Some(6), Some(7), 6));
    }
}

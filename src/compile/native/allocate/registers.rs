//! The register files, and sets of registers.

use crate::mir::{PhysReg, RegisterClass};
use dovetail_isa::Isa;

/// A set of registers by operand code: scalar registers are below 256, vector registers from there on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet([u64; 8]);

/// The words of a class as one shiftable number: the codes of a class fill four words.
const WORDS: usize = 4;

impl RegSet {
    /// All registers `0..count` of a class.
    pub fn first(class: RegisterClass, count: u16) -> Self {
        let mut set = Self::default();
        set.insert_run(base(class), count);
        set
    }

    /// Of each 64 vector registers the same ones, as bits.
    pub fn vectors(every: u64) -> Self {
        Self([0, 0, 0, 0, every, every, every, every])
    }

    /// Whether the set contains the register. One beyond the last vector register is in no set: runs are tried up to there.
    pub fn has(&self, reg: PhysReg) -> bool {
        self.0.get(usize::from(reg.0 >> 6)).is_some_and(|word| word >> (reg.0 & 63) & 1 != 0)
    }

    /// Adds a register.
    pub fn insert(&mut self, reg: PhysReg) {
        self.0[usize::from(reg.0 >> 6) & 7] |= 1 << (reg.0 & 63);
    }

    /// Removes a register.
    pub fn remove(&mut self, reg: PhysReg) {
        self.0[usize::from(reg.0 >> 6) & 7] &= !(1 << (reg.0 & 63));
    }

    /// Adds consecutive registers.
    pub fn insert_run(&mut self, first: PhysReg, count: u16) {
        (0..count).for_each(|n| self.insert(first.nth(n)));
    }

    /// Removes consecutive registers.
    pub fn remove_run(&mut self, first: PhysReg, count: u16) {
        (0..count).for_each(|n| self.remove(first.nth(n)));
    }

    /// Whether the set contains all of these registers.
    pub fn has_run(&self, first: PhysReg, count: u16) -> bool {
        (0..count).all(|n| self.has(first.nth(n)))
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    /// The intersection of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & b)
    }

    /// The registers that are not in the other set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & !b)
    }

    fn with(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = *self;
        for (a, b) in out.0.iter_mut().zip(other.0) {
            *a = f(*a, b);
        }
        out
    }

    /// Number of registers of a class.
    pub fn count(&self, class: RegisterClass) -> u32 {
        self.of(class).iter().map(|word| word.count_ones()).sum()
    }

    fn of(&self, class: RegisterClass) -> [u64; WORDS] {
        let [a, b, c, d, e, f, g, h] = self.0;
        if class == RegisterClass::Scalar { [a, b, c, d] } else { [e, f, g, h] }
    }

    /// The lowest run of `count` registers of a class at a multiple of `align` (1, 2 or 4).
    pub fn lowest(&self, class: RegisterClass, count: u16, align: u16) -> Option<PhysReg> {
        let starts = starts(self.of(class), count, align);
        let word = starts.iter().position(|word| *word != 0)?;
        Some(base(class).nth(64 * word as u16 + starts[word].trailing_zeros() as u16))
    }

    /// The highest run of `count` registers of a class at a multiple of `align`.
    pub fn highest(&self, class: RegisterClass, count: u16, align: u16) -> Option<PhysReg> {
        let starts = starts(self.of(class), count, align);
        let word = starts.iter().rposition(|word| *word != 0)?;
        Some(base(class).nth(64 * word as u16 + 63 - starts[word].leading_zeros() as u16))
    }

    /// The registers of a class in the set, in ascending order.
    pub fn iter(&self, class: RegisterClass) -> impl Iterator<Item = PhysReg> + use<> {
        let words = self.of(class);
        (0..64 * WORDS as u16)
            .filter(move |n| words[usize::from(n >> 6)] >> (n & 63) & 1 != 0)
            .map(move |n| base(class).nth(n))
    }
}

/// The first register of a class.
pub const fn base(class: RegisterClass) -> PhysReg {
    match class {
        RegisterClass::Scalar => PhysReg::sgpr(0),
        RegisterClass::Vector => PhysReg::vgpr(0),
    }
}

/// The class of a register.
pub const fn class_of(reg: PhysReg) -> RegisterClass {
    if reg.as_vgpr().is_some() { RegisterClass::Vector } else { RegisterClass::Scalar }
}

/// Finds where runs of set bits begin: bit i stays if bits i to i + count - 1 are set and i is a multiple of `align`.
fn starts(mut bits: [u64; WORDS], count: u16, align: u16) -> [u64; WORDS] {
    let mut have = 1;
    while have < count {
        // Doubling: a run of 2n begins where a run of n begins and another begins n further on.
        let step = have.min(count - have);
        let shifted = shift_down(&bits, step);
        for (a, b) in bits.iter_mut().zip(shifted) {
            *a &= b;
        }
        have += step;
    }
    let aligned: u64 = match align {
        1 => !0,
        2 => 0x5555_5555_5555_5555,
        _ => 0x1111_1111_1111_1111,
    };
    bits.map(|word| word & aligned)
}

fn shift_down(bits: &[u64; WORDS], by: u16) -> [u64; WORDS] {
    let (words, rest) = (usize::from(by / 64), u32::from(by % 64));
    let word = |i: usize| bits.get(i).copied().unwrap_or(0);
    let mut out = [0; WORDS];
    for (i, out) in out.iter_mut().enumerate() {
        let high = if rest == 0 { 0 } else { word(i + words + 1) << (64 - rest) };
        *out = word(i + words) >> rest | high;
    }
    out
}

/// The numbers of registers that the allocator may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterLimits {
    /// SGPRs, excluding VCC.
    pub sgprs: u16,
    /// VGPRs.
    pub vgprs: u16,
    /// Where lane masks may be.
    pub masks: MaskPlaces,
    /// Registers that the epilog reads as the hardware left them.
    pub kept: RegSet,
}

/// Where lane masks may be, in the order of preference: in the named place and in those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskPlaces {
    /// In SGPRs of their own.
    Scalars,
    /// In lanes of VGPRs.
    Lanes,
    /// In scratch memory.
    Scratch,
}

impl RegisterLimits {
    /// All SGPRs that a wave may have, and at most `vgprs` VGPRs.
    pub fn new(isa: &'static Isa, vgprs: u16) -> Self {
        let files = isa.facts();
        Self {
            sgprs: files.usable_sgprs as u16,
            vgprs: vgprs.min(files.vgprs as u16),
            masks: MaskPlaces::Scalars,
            kept: RegSet::default(),
        }
    }

    /// The registers that may hold values.
    pub fn registers(&self) -> RegSet {
        let all =
            RegSet::first(RegisterClass::Scalar, self.sgprs).or(&RegSet::first(RegisterClass::Vector, self.vgprs));
        all.without(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_across_words_and_at_their_alignment() {
        let mut set = RegSet::default();
        set.insert_run(PhysReg::vgpr(61), 9);
        assert_eq!(set.lowest(RegisterClass::Vector, 9, 1), Some(PhysReg::vgpr(61)));
        assert_eq!(set.highest(RegisterClass::Vector, 4, 1), Some(PhysReg::vgpr(66)));
        assert_eq!(set.lowest(RegisterClass::Vector, 10, 1), None);
        assert_eq!(set.lowest(RegisterClass::Scalar, 1, 1), None);
        set.insert_run(PhysReg::sgpr(5), 12);
        assert_eq!(set.lowest(RegisterClass::Scalar, 2, 2), Some(PhysReg::sgpr(6)));
        assert_eq!(set.lowest(RegisterClass::Scalar, 8, 4), Some(PhysReg::sgpr(8)));
        assert_eq!(set.highest(RegisterClass::Scalar, 4, 4), Some(PhysReg::sgpr(12)));
        assert_eq!(set.lowest(RegisterClass::Scalar, 9, 4), Some(PhysReg::sgpr(8)));
        assert_eq!(set.lowest(RegisterClass::Scalar, 10, 4), None);
        assert_eq!(set.iter(RegisterClass::Scalar).count(), 12);
    }

    #[test]
    fn no_run_goes_on_from_the_last_vector_register_to_the_first_scalar_one() {
        let mut set = RegSet::first(RegisterClass::Scalar, 8);
        set.insert_run(PhysReg::vgpr(250), 6);
        assert!(set.has_run(PhysReg::vgpr(252), 4));
        assert!(!set.has_run(PhysReg::vgpr(254), 4));
    }
}

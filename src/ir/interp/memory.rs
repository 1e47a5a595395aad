//! Byte-addressed memory with a [`Shadow`] (exact value and error bound) for every float, and its comparison with
//! another implementation's memory.
//!
//! Reads out of range give 0, writes out of range are dropped, component by component.

use super::shadow::Shadow;
use dovetail_ir::number::{decode, encode, ulp};
use dovetail_ir::{Bits, Type};

/// Bytes, and the shadows of the floats in them.
#[derive(Clone, Debug, Default)]
pub struct ShadowedMemory {
    bytes: Vec<u8>,
    /// One per byte, with the size of the value that begins there; empty until there is a shadow.
    shadows: Vec<(Shadow, u8)>,
    /// By byte, whether it was written.
    written: Vec<bool>,
    /// Unwritten bytes may have been written by another implementation.
    open: bool,
    /// Something was stored at an address that is not certain, so another implementation may have stored it elsewhere.
    astray: bool,
}

impl ShadowedMemory {
    /// Memory with these contents.
    pub fn new(bytes: Vec<u8>) -> Self {
        let written = vec![false; bytes.len()];
        Self { bytes, shadows: Vec::new(), written, open: false, astray: false }
    }

    /// Uninitialized memory: zeros here; implementations need not agree on it.
    pub fn unwritten(bytes: usize, shadow: bool) -> Self {
        let shadows = if shadow { vec![(Shadow::UNCERTAIN, 0); bytes] } else { Vec::new() };
        Self { shadows, ..Self::new(vec![0; bytes]) }
    }

    /// Makes all contents uncertain.
    pub(super) fn forget(&mut self) {
        self.shadows = vec![(Shadow::UNCERTAIN, 0); self.bytes.len()];
    }

    /// Its contents without what is uncertain because of stores at addresses that are not certain: all or nothing.
    #[must_use]
    pub fn without_strays(&self) -> Self {
        let mut left = self.clone();
        if self.astray {
            left.forget();
        }
        left
    }

    /// Excludes unwritten bytes from comparison: another implementation may have written them.
    pub fn open_unwritten(&mut self) {
        self.open = true;
    }

    /// Its contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The contents, for changes from outside; shadows stay.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Whether the byte at an offset was written.
    pub fn is_written(&self, at: usize) -> bool {
        self.written.get(at).copied().unwrap_or(false)
    }

    /// Reads a scalar; 0 if any of its bytes is out of range.
    pub fn load(&self, at: u64, bits: Bits) -> (u64, Shadow) {
        let Some(range) = self.range(at, bits) else { return (0, Shadow::NONE) };
        let start = range.start;
        let value = match self.bytes.get(range.clone()) {
            Some(&[a]) => u64::from(a),
            Some(&[a, b]) => u64::from(u16::from_le_bytes([a, b])),
            Some(&[a, b, c, d]) => u64::from(u32::from_le_bytes([a, b, c, d])),
            Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        let shadow = match self.shadows.get(start) {
            None => Shadow::NONE,
            Some((s, width)) if u32::from(*width) == bits.bytes() => *s,
            // If a read spans several values, only exact bytes stay exact.
            Some(_) => {
                let cells = self.shadows.get(range).unwrap_or_default();
                let certain = cells.iter().all(|c| c.0.is_exact());
                if certain { Shadow::NONE } else { Shadow::UNCERTAIN }
            }
        };
        (value, shadow)
    }

    /// Writes a scalar if it is in range.
    pub fn store(&mut self, at: u64, bits: Bits, value: u64, shadow: Shadow) {
        let Some(range) = self.range(at, bits) else { return };
        self.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..range.len()]);
        self.written[range.clone()].fill(true);
        if self.shadows.is_empty() {
            if shadow == Shadow::NONE {
                return;
            }
            self.shadows = vec![(Shadow::NONE, 0); self.bytes.len()];
        }
        // The rest of a value records only whether it is exact.
        let rest = if shadow.is_exact() { Shadow::NONE } else { Shadow::UNCERTAIN };
        let cells = &mut self.shadows[range];
        cells.fill((rest, 0));
        if let Some(first) = cells.first_mut() {
            *first = (shadow, bits.bytes() as u8);
        }
    }

    /// Writes a scalar if it is in range. If the address is not certain, neither is what is there.
    pub(super) fn store_at(&mut self, (at, address): (u64, Shadow), bits: Bits, value: u64, shadow: Shadow) {
        self.astray |= !address.is_exact();
        self.store(at, bits, value, if address.is_exact() { shadow } else { Shadow::UNCERTAIN });
    }

    fn range(&self, at: u64, bits: Bits) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(bits.bytes() as usize)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    /// Offsets of the components of a value.
    pub(super) fn components(at: u64, ty: Type) -> impl Iterator<Item = u64> {
        (0..u64::from(ty.lanes())).map(move |n| at.wrapping_add(n * u64::from(ty.bits().bytes())))
    }

    /// Compares with the memory that another implementation wrote from the same inputs.
    pub fn judge(&self, other: &[u8], floor_ulps: f64) -> MemoryVerdict {
        self.judge_between(&self.bytes, other, floor_ulps)
    }

    /// Compares the memories of two other implementations, by what this one knows about each value: which bytes are
    /// floats, and how far they may be apart, or each of them from the known value.
    pub fn judge_between(&self, first: &[u8], other: &[u8], floor_ulps: f64) -> MemoryVerdict {
        let mut verdict = MemoryVerdict::default();
        if let Some(bytes) = [first, other].iter().find(|bytes| bytes.len() != self.bytes.len()) {
            verdict.wrong.push(Difference {
                at: 0,
                ours: self.bytes.len() as f64,
                theirs: bytes.len() as f64,
                limit: 0.0,
            });
            return verdict;
        }
        let mut at = 0;
        while at < other.len() {
            let (shadow, width) = self.shadows.get(at).copied().unwrap_or((Shadow::NONE, 0));
            let known = [Bits::B16, Bits::B32, Bits::B64].into_iter().find(|b| b.bytes() == u32::from(width));
            let bits = known.unwrap_or(Bits::B8);
            let step = if shadow.is_uncertain() || shadow.is_float() && bits != Bits::B8 {
                self.judge_float(at, [first, other], bits, shadow, floor_ulps, &mut verdict)
            } else {
                self.judge_byte(at, [first, other], &mut verdict)
            };
            at += step;
        }
        verdict
    }

    fn judge_byte(&self, at: usize, [first, other]: [&[u8]; 2], verdict: &mut MemoryVerdict) -> usize {
        // Compares whole words if nothing has a shadow, so that it counts values rather than bytes.
        let word = at.is_multiple_of(4) && at + 4 <= other.len();
        let free = (at..at + 4).all(|n| self.shadows.get(n).is_none_or(|c| c.0 == Shadow::NONE));
        let size = if word && free { 4 } else { 1 };
        let (ours, theirs) = (&first[at..at + size], &other[at..at + size]);
        let written = self.written[at..at + size].iter().any(|w| *w);
        if self.open && !written {
            return size;
        }
        verdict.exact += 1;
        verdict.written += usize::from(written);
        if ours != theirs {
            let number = |b: &[u8]| b.iter().rev().fold(0.0, |n, b| n * 256.0 + f64::from(*b));
            verdict.wrong.push(Difference { at, ours: number(ours), theirs: number(theirs), limit: 0.0 });
        }
        size
    }

    fn judge_float(
        &self,
        at: usize,
        pair: [&[u8]; 2],
        bits: Bits,
        shadow: Shadow,
        floor_ulps: f64,
        verdict: &mut MemoryVerdict,
    ) -> usize {
        let size = bits.bytes() as usize;
        if shadow.is_undefined() {
            return size;
        }
        verdict.written += 1;
        if shadow.is_uncertain() {
            verdict.uncertain += 1;
            return size;
        }
        let own = decode(self.load(at as u64, bits).0, bits);
        if !own.is_finite() || !shadow.value.is_finite() {
            verdict.not_finite += 1;
            return size;
        }
        let [ours, theirs] = pair.map(|bytes| {
            let mut word = [0; 8];
            word.iter_mut().zip(bytes.iter().skip(at).take(size)).for_each(|(to, from)| *to = *from);
            decode(u64::from_le_bytes(word), bits)
        });
        let limit = 8.0 * (own - shadow.value).abs() + shadow.bound + floor_ulps * ulp(own, bits);
        // A value that may be beyond the largest float may be infinite, and is as near to the known one as that float.
        let largest = decode(encode(f64::INFINITY, bits) - 1, bits).copysign(own);
        let infinite = |x: f64| x == f64::INFINITY.copysign(own) && own.abs() + limit > largest.abs();
        let [ours, theirs] = [ours, theirs].map(|x| if infinite(x) { largest } else { x });
        verdict.floats += 1;
        verdict.loose += usize::from(limit > 0.05 * own.abs().max(0.2));
        // Both may be right but on opposite sides of the known value, so up to twice the limit apart.
        let near = |a: f64, b: f64| (a - b).abs() <= limit;
        if !(near(ours, theirs) || near(ours, own) && near(theirs, own)) {
            verdict.wrong.push(Difference { at, ours, theirs, limit });
        }
        size
    }
}

/// A value in which two implementations differ by more than the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Byte offset of the value.
    pub at: usize,
    /// The interpreter's value, or that of the first of two.
    pub ours: f64,
    /// The other implementation's value.
    pub theirs: f64,
    /// Largest distance allowed between them, or between each and the interpreter's value.
    pub limit: f64,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryVerdict {
    /// Values that differ.
    pub wrong: Vec<Difference>,
    /// Words (or bytes) compared bit by bit.
    pub exact: usize,
    /// Floats compared within their limit.
    pub floats: usize,
    /// Those of them with such a wide limit that the comparison proves little.
    pub loose: usize,
    /// Values that may differ freely.
    pub uncertain: usize,
    /// Values that are NaN or infinite, for which Vulkan defines no result.
    pub not_finite: usize,
    /// Values that the shader wrote.
    pub written: usize,
}

impl MemoryVerdict {
    /// Adds the outcome of another comparison.
    pub fn add(&mut self, other: &Self) {
        self.wrong.extend_from_slice(&other.wrong);
        self.exact += other.exact;
        self.floats += other.floats;
        self.loose += other.loose;
        self.uncertain += other.uncertain;
        self.not_finite += other.not_finite;
        self.written += other.written;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_is_zero_and_dropped() {
        let mut m = ShadowedMemory::new(vec![1; 6]);
        assert_eq!(m.load(3, Bits::B32).0, 0);
        m.store(4, Bits::B32, 7, Shadow::NONE);
        m.store(u64::MAX - 1, Bits::B64, 7, Shadow::NONE);
        assert_eq!(m.bytes(), [1; 6]);
    }

    #[test]
    fn what_was_never_written_is_uncertain() {
        let mut m = ShadowedMemory::unwritten(8, true);
        m.store(0, Bits::B32, 7, Shadow::NONE);
        assert_eq!(m.load(0, Bits::B32), (7, Shadow::NONE));
        assert!(m.load(4, Bits::B32).1.is_uncertain() && m.load(0, Bits::B64).1.is_uncertain());
        assert!(ShadowedMemory::unwritten(8, false).load(4, Bits::B32).1.is_exact());
    }

    #[test]
    fn floats_are_judged_by_their_bound_and_words_by_their_bits() {
        let mut m = ShadowedMemory::new(vec![0; 12]);
        let one = |x: f32| u64::from(x.to_bits());
        m.store(0, Bits::B32, one(1.0), Shadow { value: 1.0, bound: 1e-3 });
        m.store(4, Bits::B32, 5, Shadow::NONE);
        m.store(8, Bits::B32, 6, Shadow::UNCERTAIN);
        let other = |x: f32, n: u32| [x.to_le_bytes(), n.to_le_bytes(), 9u32.to_le_bytes()].concat();
        let near = m.judge(&other(1.0005, 5), 0.0);
        assert_eq!((near.wrong.len(), near.floats, near.exact, near.uncertain, near.written), (0, 1, 1, 1, 3));
        assert_eq!(m.judge(&other(1.002, 4), 0.0).wrong.len(), 2);
        assert_eq!(m.judge(&other(f32::NAN, 5), 0.0).wrong.len(), 1);
    }

    #[test]
    fn what_was_stored_at_an_uncertain_address_may_be_anywhere() {
        let mut m = ShadowedMemory::new(vec![0; 8]);
        m.store_at((0, Shadow::NONE), Bits::B32, 7, Shadow::NONE);
        assert_eq!(m.without_strays().judge(&[7, 0, 0, 0, 9, 0, 0, 0], 0.0).wrong.len(), 1);
        m.store_at((0, Shadow::UNCERTAIN), Bits::B32, 9, Shadow::NONE);
        let elsewhere = [7, 0, 0, 0, 9, 0, 0, 0];
        assert_eq!(
            (m.judge(&elsewhere, 0.0).wrong.len(), m.without_strays().judge(&elsewhere, 0.0).wrong.len()),
            (1, 0)
        );
    }

    #[test]
    fn an_uncertain_byte_is_not_judged_and_its_neighbours_are() {
        let mut m = ShadowedMemory::new(vec![0; 8]);
        m.store(1, Bits::B8, 7, Shadow::UNCERTAIN);
        m.store(2, Bits::B8, 8, Shadow::NONE);
        let near = m.judge(&[0, 9, 8, 0, 0, 0, 0, 0], 0.0);
        assert_eq!((near.wrong.len(), near.uncertain, near.written), (0, 1, 2));
        assert_eq!(m.judge(&[0, 7, 9, 0, 0, 0, 0, 0], 0.0).wrong.len(), 1);
        assert!(m.load(1, Bits::B8).1.is_uncertain() && m.load(2, Bits::B8).1.is_exact());
        // What is left of a float after a write over its beginning is not known either.
        m.store(4, Bits::B32, u64::from(1f32.to_bits()), Shadow { value: 1.0, bound: 1e-3 });
        m.store(4, Bits::B8, 0, Shadow::NONE);
        assert_eq!(m.judge(&[0, 7, 8, 0, 0, 1, 1, 1], 0.0).wrong.len(), 0);
    }

    #[test]
    fn what_may_be_beyond_the_largest_float_may_be_infinite() {
        let mut m = ShadowedMemory::new(vec![0; 4]);
        m.store(0, Bits::B16, 0x7bff, Shadow { value: 65510.0, bound: 30.0 });
        m.store(2, Bits::B16, 0x7b00, Shadow { value: 57344.0, bound: 30.0 });
        let wrong = |a: u16, b: u16| m.judge(&[a.to_le_bytes(), b.to_le_bytes()].concat(), 0.0).wrong.len();
        assert_eq!(wrong(0x7c00, 0x7b00), 0);
        assert_eq!(wrong(0xfc00, 0x7b00), 1);
        let pair = |ours: u16, theirs: u16| {
            let [ours, theirs] = [ours, theirs].map(|x| [x.to_le_bytes(), 0x7b00_u16.to_le_bytes()].concat());
            m.judge_between(&ours, &theirs, 0.0).wrong.len()
        };
        assert_eq!((pair(0x7c00, 0x7bff), pair(0x7c00, 0x4000)), (0, 1));
        assert_eq!(wrong(0x7bff, 0x7c00), 1);
    }

    #[test]
    fn two_on_either_side_of_what_is_known_may_both_be_right() {
        let mut m = ShadowedMemory::new(vec![0; 4]);
        m.store(0, Bits::B32, u64::from(1f32.to_bits()), Shadow { value: 1.0, bound: 1e-3 });
        let wrong =
            |ours: f32, theirs: f32| m.judge_between(&ours.to_le_bytes(), &theirs.to_le_bytes(), 0.0).wrong.len();
        assert_eq!(wrong(0.9995, 1.0009), 0);
        // Near each other, though not near the known value: accepted.
        assert_eq!(wrong(1.0015, 1.0012), 0);
        assert_eq!(wrong(0.9995, 1.0011), 1);
        assert_eq!(wrong(0.9985, 1.0009), 1);
        assert_eq!(wrong(f32::NAN, f32::NAN), 1);
    }
}

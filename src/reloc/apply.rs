//! Patches bytes: a relocation's addend is stored in place (REL), and its result replaces it.
//!
//! The patched bytes are a literal inside an instruction, the dword with a scalar load's offset, a branch's 16-bit
//! distance, an `s_cselect_b32` whose condition becomes known, or a scalar load's address. Invariant: other bytes are unchanged, and a value
//! that does not fit is an error, not a truncation.

use super::kind::{Calculation, Range, RelocKind};
use dovetail_base::error::{Error, Result};
use dovetail_isa::LinkWords;

/// Patches one location: `symbol` is S, `place` is P, the address of `bytes[offset]`; both relative to the same origin.
///
/// # Errors
/// Malformed: the location is outside the bytes, or the result does not fit.
pub fn apply(words: &LinkWords, bytes: &mut [u8], offset: u32, kind: RelocKind, symbol: u64, place: u64) -> Result<()> {
    let len = bytes.len();
    let unfit = || Error::malformed(format!("{kind} at {offset:#x}: value {symbol:#x} does not fit"));
    let outside = || Error::malformed(format!("{kind} at {offset:#x} leaves its section of {len:#x} bytes"));
    let field = usize::try_from(offset).ok().and_then(|start| bytes.get_mut(start..)).ok_or_else(outside)?;
    match kind.bytes() {
        2 => {
            let field = field.first_chunk_mut().ok_or_else(outside)?;
            let result = compute(words, kind, u16::from_le_bytes(*field).into(), symbol, place).ok_or_else(unfit)?;
            *field = (result as u16).to_le_bytes();
        }
        4 => {
            let field = field.first_chunk_mut().ok_or_else(outside)?;
            let word = u32::from_le_bytes(*field);
            let result = match kind {
                // The low half of a sum does not need the wide computation.
                RelocKind::Abs32Lo => word.wrapping_add(symbol as u32),
                _ => compute(words, kind, word.into(), symbol, place).ok_or_else(unfit)? as u32,
            };
            *field = result.to_le_bytes();
        }
        _ => {
            let field = field.first_chunk_mut().ok_or_else(outside)?;
            *field = compute(words, kind, u64::from_le_bytes(*field), symbol, place).ok_or_else(unfit)?.to_le_bytes();
        }
    }
    Ok(())
}

/// Whether a symbol's value plus the addend in place fits the field, for kinds that do not depend on the place.
pub fn fits(words: &LinkWords, kind: RelocKind, in_place: u64, symbol: u64) -> bool {
    compute(words, kind, in_place, symbol, 0).is_some()
}

/// The bits to store; `None` if the value does not fit.
fn compute(words: &LinkWords, kind: RelocKind, in_place: u64, symbol: u64, place: u64) -> Option<u64> {
    match kind.calculation() {
        Calculation::Offset => return words.with_offset(in_place as u32, symbol).map(u64::from),
        Calculation::Choice => return words.chosen(in_place as u32, symbol != 0).map(u64::from),
        Calculation::Table => return words.with_table(in_place, symbol != 0),
        Calculation::Nothing => return Some(in_place),
        Calculation::Absolute | Calculation::Relative | Calculation::Branch => {}
    }
    // Wide enough that a sum of 64-bit terms cannot overflow.
    let (symbol, place) = (i128::from(symbol), i128::from(place));
    let bits = kind.bytes() * 8;
    let signed = sign_extend(in_place, bits);
    let value = match kind.calculation() {
        Calculation::Absolute => symbol + signed,
        Calculation::Relative => symbol + signed - place,
        // The addend counts dwords, like the field itself.
        Calculation::Branch => {
            let distance = symbol - place - 4;
            (distance % 4 == 0).then_some(distance / 4 + signed)?
        }
        Calculation::Offset | Calculation::Choice | Calculation::Table | Calculation::Nothing => return None,
    };
    let fits = |low: i128, high: i128| (low..high).contains(&value);
    let (min, signed_end, unsigned_end) = (-(1i128 << (bits - 1)), 1i128 << (bits - 1), 1i128 << bits);
    let ok = match kind.range() {
        Range::Low | Range::High => true,
        Range::Either => fits(min, unsigned_end),
        Range::Signed => fits(min, signed_end),
    };
    let value = if kind.range() == Range::High { value >> 32 } else { value };
    ok.then_some((value & 0xffff_ffff_ffff_ffff) as u64)
}

fn sign_extend(value: u64, bits: u32) -> i128 {
    let shift = 128 - bits;
    (i128::from(value) << shift) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use RelocKind::*;
    use dovetail_base::target::Gpu;
    use dovetail_isa::Isa;

    const WORDS: &LinkWords = &Isa::of(Gpu::Gfx1030).words;

    fn patched(kind: RelocKind, in_place: u64, symbol: u64, place: u64) -> Option<u64> {
        let mut bytes = [0xaa; 12];
        let n = kind.bytes() as usize;
        bytes[2..2 + n].copy_from_slice(&in_place.to_le_bytes()[..n]);
        apply(WORDS, &mut bytes, 2, kind, symbol, place).ok()?;
        assert!(bytes[..2].iter().chain(&bytes[2 + n..]).all(|&b| b == 0xaa), "{kind} wrote beyond its field");
        Some(bytes[2..2 + n].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    #[test]
    fn every_kind_computes_its_formula() {
        let address = 0x1_2345_6780;
        for (kind, in_place, symbol, place, expect) in [
            (Abs32Lo, 8, address, 0, 0x2345_6788),
            (Abs32Lo, 0xffff_fffc, 0x10, 0, 0xc),
            (Abs32Hi, 8, address, 0, 1),
            (Abs64, 8, address, 0, address + 8),
            (Abs32, 4, 0xffff_0000, 0, 0xffff_0004),
            (Rel32, 4, 0x100, 0x200, 0xffff_ff04),
            (Rel64, 0, 0x100, 0x200, 0xffff_ffff_ffff_ff00),
            (Rel32Lo, 4, address, 0x80, 0x2345_6704),
            (Rel32Hi, 0, 0x100, 0x200, 0xffff_ffff),
            (Rel16, 0, 0x104, 0x100, 0),
            (Rel16, 1, 0x100, 0x100, 0),
            (Rel16, 0, 0x100, 0x200, 0xffbf),
            // s_load_dwordx8 ..., 0x10 and s_load_dword ..., s5 offset:0.
            (SmemOffset, 0xfa00_0010, 0x40, 0, 0xfa00_0050),
            (SmemOffset, 0x0a00_0000, 0xf_fffc, 0, 0x0a0f_fffc),
            // s_cselect_b32 s7, s3, s2 becomes s_mov_b32.
            (Choice, 0x8507_0203, 1, 0, 0xbe87_0303),
            (Choice, 0x8507_0203, 0, 0, 0xbe87_0302),
            // s_load_dwordx4 s[8:11], s[0:1], s6 offset:0 is from s[6:7], or s[0:1], and has no offset register.
            (Table, 0x0c00_0000_f408_0200, 1, 0, 0xfa00_0000_f408_0203),
            (Table, 0x0c00_0000_f408_0200, 0, 0, 0xfa00_0000_f408_0200),
            (Optional, 0xbe87_0303, 0, 0, 0xbe87_0303),
        ] {
            assert_eq!(patched(kind, in_place, symbol, place), Some(expect), "{kind} {in_place:#x} {symbol:#x}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_at_the_very_edge() {
        assert_eq!(patched(Abs32, 0, 0xffff_ffff, 0), Some(0xffff_ffff));
        assert_eq!(patched(Abs32, 1, 0xffff_ffff, 0), None);
        assert_eq!(patched(Rel32, 0, 0x7fff_ffff, 0), Some(0x7fff_ffff));
        assert_eq!(patched(Rel32, 0, 0x8000_0000, 0), None);
        assert_eq!(patched(SmemOffset, 0xfa00_0004, 0xf_fffb, 0), Some(0xfa0f_ffff));
        assert_eq!(patched(SmemOffset, 0xfa00_0004, 0xf_fffc, 0), None);
        assert_eq!(patched(SmemOffset, 0xfa00_0004, u64::MAX, 0), None);
        // Not an s_cselect_b32; one with a literal.
        assert_eq!(patched(Choice, 0xbe87_0303, 1, 0), None);
        assert_eq!(patched(Choice, 0x8507_02ff, 1, 0), None);
        // Not a scalar load; no offset register; an odd one.
        assert_eq!(patched(Table, 0x0c00_0000_bf80_0000, 1, 0), None);
        assert_eq!(patched(Table, 0xfa00_0000_f408_0200, 1, 0), None);
        assert_eq!(patched(Table, 0x0a00_0000_f408_0200, 1, 0), None);
        assert_eq!(patched(Rel16, 0, 4 * 0x7fff + 4, 0), Some(0x7fff));
        assert_eq!(patched(Rel16, 0, 4 * 0x8000 + 4, 0), None);
        assert_eq!(patched(Rel16, 0, 0, 4 * 0x7fff), Some(0x8000));
        assert_eq!(patched(Rel16, 0, 0, 4 * 0x8000), None);
        assert_eq!(patched(Rel16, 0, 0x102, 0x100), None);
    }

    #[test]
    fn places_outside_are_refused() {
        let mut bytes = [0; 8];
        for (kind, offset) in [(Abs32, 5), (Abs64, 1), (Rel16, 7), (Abs32, u32::MAX)] {
            assert!(apply(WORDS, &mut bytes, offset, kind, 0, 0).is_err(), "{kind} at {offset}");
        }
        assert!(apply(WORDS, &mut bytes, 4, Abs32, 0, 0).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(number in 0u32..20, bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..16), offset: u32, s: u64, p: u64) {
            if let Ok(kind) = RelocKind::from_number(number) {
                let mut bytes = bytes;
                let _ = apply(WORDS, &mut bytes, offset % 20, kind, s, p);
            }
        }
    }
}

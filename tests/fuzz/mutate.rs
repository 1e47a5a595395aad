//! Mutations of bytes. They know nothing about the format except that it contains numbers and lengths.

use super::random::Random;

const NUMBERS: [u64; 14] =
    [0, 1, 2, 3, 7, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, u64::MAX];

/// Maximum length of a mutated input; seeds may be longer.
const MOST: usize = 1 << 16;

/// Mutates a copy of a seed; other seeds provide pieces.
pub fn bytes(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut out = random.pick(seeds).clone();
    let changes = 1 + random.below(3) * random.below(4);
    for _ in 0..changes {
        change(random, &mut out, seeds);
    }
    out
}

fn change(random: &mut Random, out: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let at = random.below(out.len());
    match random.below(9) {
        _ if out.is_empty() => out.push(random.next() as u8),
        0 => out[at] ^= 1 << random.below(8),
        1 => out[at] = random.next() as u8,
        2 | 3 => number(random, out, at),
        4 => out.truncate(at),
        5 => {
            let end = (at + 1 + random.below(16)).min(out.len());
            out.drain(at..end);
        }
        6 => {
            let (from, len) = (random.below(out.len()), 1 + random.below(64));
            let piece = out[from..(from + len).min(out.len())].to_vec();
            insert(out, at, &piece);
        }
        7 => {
            let other = random.pick(seeds);
            let (from, len) = (random.below(other.len()), 1 + random.below(64));
            let piece = other[from..(from + len).min(other.len())].to_vec();
            insert(out, at, &piece);
        }
        _ => {
            let other = random.pick(seeds);
            let from = random.below(other.len());
            out.truncate(at);
            out.extend_from_slice(&other[from..]);
        }
    }
    out.truncate(MOST.max(at));
}

fn insert(out: &mut Vec<u8>, at: usize, piece: &[u8]) {
    out.splice(at..at, piece.iter().copied());
}

/// Overwrites a number of 1, 2, 4 or 8 bytes in either byte order: with a boundary value, or with the old value changed
/// slightly.
fn number(random: &mut Random, out: &mut [u8], at: usize) {
    let width = 1usize << random.below(4);
    let Some(place) = out.get_mut(at..at + width) else { return };
    let mut old = [0u8; 8];
    old[..width].copy_from_slice(place);
    let little = random.once_in(2);
    let before = if little { u64::from_le_bytes(old) } else { u64::from_be_bytes(old) >> (64 - 8 * width) };
    let new = match random.below(3) {
        0 => *random.pick(&NUMBERS),
        1 => before.wrapping_add(random.below(17) as u64).wrapping_sub(8),
        _ => before.wrapping_mul(2),
    };
    if little {
        place.copy_from_slice(&new.to_le_bytes()[..width]);
    } else {
        place.copy_from_slice(&new.to_be_bytes()[8 - width..]);
    }
}

//! Doubles rounded in any direction: takes the result rounded to nearest, and moves it to its neighbour if the exact
//! value is on the other side.
//!
//! Big integers that hold every bit from the smallest to the largest product decide the side: slow, but rarely used.

use crate::mode::{Mode, Round};
use std::cmp::Ordering;

/// Bits below one: enough for the smallest subnormal times the smallest power of two.
const BELOW: i32 = 3400;
/// Words from there up to the largest number times the largest power of two.
const WORDS: usize = 110;
/// Larger powers of two do not change the result any more.
const LARGEST_POWER: i32 = 2200;

/// A sum of mantissas, without sign.
#[derive(Clone, PartialEq, Eq)]
struct Sum([u64; WORDS]);

impl Sum {
    /// Adds mantissa × 2^exponent.
    fn add(&mut self, mantissa: u128, exponent: i32) {
        let place = usize::try_from(exponent + BELOW).unwrap_or(0);
        let (mut word, shift) = (place / 64, place % 64);
        let high = if shift == 0 { 0 } else { mantissa >> (128 - shift) };
        let low = mantissa << shift;
        let mut carry = false;
        for part in [low as u64, (low >> 64) as u64, high as u64].into_iter().chain(std::iter::repeat(0)) {
            let Some(to) = self.0.get_mut(word) else { break };
            let (sum, first) = to.overflowing_add(part);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*to, carry) = (sum, first || second);
            word += 1;
        }
    }
}

/// Mantissa and exponent of a finite number.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// Compares a × b × 2^n + c with r; all except r are finite.
fn compare(a: f64, b: f64, n: i32, c: f64, r: f64) -> Ordering {
    if r.is_infinite() {
        return if r > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let mut sums = [Sum([0; WORDS]), Sum([0; WORDS])];
    let [(a_mantissa, a_exponent), (b_mantissa, b_exponent)] = [parts(a), parts(b)];
    let product = u128::from(a_mantissa) * u128::from(b_mantissa);
    let negative = a.is_sign_negative() != b.is_sign_negative();
    sums[usize::from(negative)].add(product, a_exponent + b_exponent + n);
    // The result moves to the other side of the comparison, so its sign is inverted.
    for (x, negative) in [(c, c.is_sign_negative()), (r, !r.is_sign_negative())] {
        let (mantissa, exponent) = parts(x);
        sums[usize::from(negative)].add(u128::from(mantissa), exponent);
    }
    let [positive, negative] = sums;
    positive.0.iter().rev().cmp(negative.0.iter().rev())
}

/// Moves the nearest result as the rounding direction requires; `exact` compares the exact value with it.
fn moved(nearest: f64, exact: Ordering, round: Round) -> f64 {
    match (exact, round) {
        (Ordering::Greater, Round::Up) => nearest.next_up(),
        (Ordering::Less, Round::Down) => nearest.next_down(),
        (Ordering::Greater, Round::Zero) if nearest < 0.0 => nearest.next_up(),
        (Ordering::Less, Round::Zero) if nearest > 0.0 => nearest.next_down(),
        _ => nearest,
    }
}

impl Mode {
    /// a × b + c, rounded once.
    pub fn fma64(self, a: f64, b: f64, c: f64) -> f64 {
        let nearest = a.mul_add(b, c);
        let round = self.round16_64();
        if round == Round::Nearest || nearest.is_nan() || ![a, b, c].iter().all(|x| x.is_finite()) {
            return nearest;
        }
        let exact = compare(a, b, 0, c, nearest);
        // The sum of a number and its negation is −0 when rounding down.
        let opposite = (a.is_sign_negative() != b.is_sign_negative()) != c.is_sign_negative();
        if round == Round::Down && nearest == 0.0 && exact == Ordering::Equal && opposite {
            return -0.0;
        }
        moved(nearest, exact, round)
    }

    /// a + b.
    pub fn add64(self, a: f64, b: f64) -> f64 {
        self.fma64(a, 1.0, b)
    }

    /// a × b.
    pub fn mul64(self, a: f64, b: f64) -> f64 {
        let nearest = a * b;
        if self.round16_64() == Round::Nearest || nearest.is_nan() || !a.is_finite() || !b.is_finite() {
            return nearest;
        }
        moved(nearest, compare(a, b, 0, 0.0, nearest), self.round16_64())
    }

    /// x × 2^n; `nearest` is the result rounded to nearest.
    pub fn ldexp64(self, x: f64, n: i32, nearest: f64) -> f64 {
        if self.round16_64() == Round::Nearest || !x.is_finite() || x == 0.0 {
            return nearest;
        }
        let exact = compare(x, 1.0, n.clamp(-LARGEST_POWER, LARGEST_POWER), 0.0, nearest);
        moved(nearest, exact, self.round16_64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [(u32, Round); 3] = [(0x4, Round::Up), (0x8, Round::Down), (0xc, Round::Zero)];

    fn mode(bits: u32) -> Mode {
        Mode(0xf0 | bits)
    }

    #[test]
    fn directions_by_hand() {
        let tiny = f64::MIN_POSITIVE * f64::EPSILON;
        let cases = [
            // 1 + 2^-60: up, down, to zero.
            ((1.0, 1.0, 2f64.powi(-60)), [1.0f64.next_up(), 1.0, 1.0]),
            ((-1.0, 1.0, -(2f64.powi(-60))), [-1.0, (-1.0f64).next_down(), -1.0]),
            ((f64::MAX, 2.0, 0.0), [f64::INFINITY, f64::MAX, f64::MAX]),
            ((-f64::MAX, 2.0, 0.0), [-f64::MAX, f64::NEG_INFINITY, -f64::MAX]),
            ((tiny, 0.25, 0.0), [tiny, 0.0, 0.0]),
            ((tiny, -tiny, 1.0), [1.0, 1.0f64.next_down(), 1.0f64.next_down()]),
            ((3.0, 1.0, -3.0), [0.0, -0.0, 0.0]),
            ((0.1, 0.1, 0.0), [0.010000000000000002, 0.01, 0.01]),
        ];
        for ((a, b, c), results) in cases {
            for ((bits, _), expected) in MODES.into_iter().zip(results) {
                let got = mode(bits).fma64(a, b, c);
                assert_eq!(got.to_bits(), expected.to_bits(), "{a:e} {b:e} {c:e} {bits}: {got:e}, not {expected:e}");
            }
        }
    }

    #[test]
    fn powers_of_two() {
        let least = f64::from_bits(1);
        for (x, n, [up, down, zero]) in [
            (1.5, -1075, [least, least.next_down(), 0.0]),
            (-1.5, -4000, [-0.0, -least, -0.0]),
            (1.0, 5000, [f64::INFINITY, f64::MAX, f64::MAX]),
            (1.5, 3, [12.0; 3]),
            (2f64.powi(1000), -2070, [f64::from_bits(16); 3]),
            (least, 2097, [f64::MAX.min(2f64.powi(1023)); 3]),
        ] {
            for ((bits, _), expected) in MODES.into_iter().zip([up, down, zero]) {
                let got = mode(bits).ldexp64(x, n, crate::valu::double::scaled(x, n));
                assert_eq!(got.to_bits(), expected.to_bits(), "{x} {n} {bits}: {got:e}, not {expected:e}");
            }
        }
    }

    #[test]
    fn directions_enclose_and_are_neighbours() {
        proptest::proptest!(|(a: f64, b: f64, c: f64, near in 0..3)| {
            // Half of the sums nearly cancel.
            let c = if near == 0 { -a * b } else { c };
            let nearest = a.mul_add(b, c);
            if [a, b, c, nearest].iter().all(|x| x.is_finite()) {
                let [up, down, zero] = MODES.map(|(bits, _)| mode(bits).fma64(a, b, c));
                proptest::prop_assert!(down <= nearest && nearest <= up);
                proptest::prop_assert!(up == down || up == down.next_up());
                proptest::prop_assert_eq!(zero, if up > 0.0 { down } else { up });
            }
        });
    }
}

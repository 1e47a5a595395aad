//! The MODE register, and arithmetic with its rounding direction and denormals (isa-gfx10 1.4).
//!
//! Sums and products are computed in f64 and rounded to odd if inexact. Rounding that value again, in any direction,
//! gives the same result as rounding the exact value.

/// Rounding direction and denormals, as the register holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards +∞.
    Up,
    /// Towards −∞.
    Down,
    /// Towards 0.
    Zero,
}

impl Mode {
    fn round(self, shift: u32) -> Round {
        match self.0 >> shift & 3 {
            0 => Round::Nearest,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        }
    }

    /// Direction of f32 operations.
    pub fn round32(self) -> Round {
        self.round(0)
    }

    /// Direction of f16 and f64 operations.
    pub fn round16_64(self) -> Round {
        self.round(2)
    }

    fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }

    /// Clamping turns NaN into 0.
    pub fn dx10_clamp(self) -> bool {
        self.bit(8)
    }

    /// Whether f32 operations apply output modifiers: not if they keep denormals (K).
    pub fn omod32(self) -> bool {
        !self.bit(5) && !self.bit(9)
    }

    /// [`Self::omod32`] for f16 and f64.
    pub fn omod16_64(self) -> bool {
        !self.bit(7) && !self.bit(9)
    }

    /// An f32 operand.
    pub fn in32(self, bits: u64) -> f32 {
        let x = f32::from_bits(bits as u32);
        if x.is_subnormal() && !self.bit(4) { 0f32.copysign(x) } else { x }
    }

    /// An f32 result.
    pub fn out32(self, x: f32) -> u64 {
        let x = if x.is_subnormal() && !self.bit(5) { 0f32.copysign(x) } else { x };
        u64::from(x.to_bits())
    }

    /// An f32 result from an f64 that was rounded to odd if inexact.
    pub fn narrow32(self, x: f64) -> u64 {
        self.out32(to_f32(x, self.round32()))
    }

    /// An f64 operand.
    pub fn in64(self, bits: u64) -> f64 {
        let x = f64::from_bits(bits);
        if x.is_subnormal() && !self.bit(6) { 0f64.copysign(x) } else { x }
    }

    /// An f64 result.
    pub fn out64(self, x: f64) -> u64 {
        let x = if x.is_subnormal() && !self.bit(7) { 0f64.copysign(x) } else { x };
        x.to_bits()
    }

    /// An f16 operand.
    pub fn in16(self, bits: u64) -> f64 {
        let x = from_f16(bits as u16);
        if x != 0.0 && x.abs() < MIN_F16 && !self.bit(6) { 0f64.copysign(x) } else { x }
    }

    /// An f16 result from an f64 that was rounded to odd if inexact.
    pub fn out16(self, x: f64) -> u64 {
        self.out16_rounded(x, self.round16_64())
    }

    /// The same in another direction.
    pub fn out16_rounded(self, x: f64, round: Round) -> u64 {
        let bits = to_f16(x, round);
        let subnormal = bits & 0x7c00 == 0 && bits & 0x3ff != 0;
        u64::from(if subnormal && !self.bit(7) { bits & 0x8000 } else { bits })
    }

    /// a + b in f32.
    pub fn add32(self, a: f32, b: f32) -> u64 {
        match self.round32() {
            Round::Nearest => self.out32(a + b),
            _ => self.narrow32(odd_add(f64::from(a), f64::from(b))),
        }
    }

    /// a × b in f32.
    pub fn mul32(self, a: f32, b: f32) -> u64 {
        match self.round32() {
            Round::Nearest => self.out32(a * b),
            // A product of two 24-bit mantissas is exact in f64.
            _ => self.narrow32(f64::from(a) * f64::from(b)),
        }
    }

    /// a × b + c in f32, rounded once.
    pub fn fma32(self, a: f32, b: f32, c: f32) -> u64 {
        match self.round32() {
            Round::Nearest => self.out32(a.mul_add(b, c)),
            _ => self.narrow32(odd_add(f64::from(a) * f64::from(b), f64::from(c))),
        }
    }

    /// a × b + c in f16, rounded once.
    pub fn fma16(self, a: f64, b: f64, c: f64) -> u64 {
        self.out16(odd_add(a * b, c))
    }
}

/// Smallest normal f16.
const MIN_F16: f64 = 6.103_515_625e-5;

/// a + b, rounded to odd if inexact.
pub fn odd_add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // The rounding error (Knuth's two-sum).
    let a_part = sum - b;
    let rest = (a - a_part) + (b - (sum - a_part));
    if rest == 0.0 || sum.to_bits() & 1 == 1 {
        sum
    } else if rest > 0.0 {
        sum.next_up()
    } else {
        sum.next_down()
    }
}

/// Rounds to f32.
pub fn to_f32(x: f64, round: Round) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    if back == x || x.is_nan() {
        return nearest;
    }
    let (too_big, too_small) = (back > x, back < x);
    match round {
        Round::Up if too_small => nearest.next_up(),
        Round::Down if too_big => nearest.next_down(),
        Round::Zero if x > 0.0 && too_big => nearest.next_down(),
        Round::Zero if x < 0.0 && too_small => nearest.next_up(),
        _ => nearest,
    }
}

/// Rounds to f16 bits.
pub fn to_f16(x: f64, round: Round) -> u16 {
    let sign = u16::from(x.is_sign_negative()) << 15;
    if x.is_nan() {
        return sign | 0x7e00;
    }
    let size = x.abs();
    if size.is_infinite() {
        return sign | 0x7c00;
    }
    // Ten bits below the leading one; for denormals the exponent stays at -14.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).clamp(-14, 15);
    let scaled = size * power(10 - exponent);
    let up = match round {
        Round::Up => x > 0.0,
        Round::Down => x < 0.0,
        Round::Nearest | Round::Zero => false,
    };
    let whole = match round {
        Round::Nearest => scaled.round_ties_even(),
        _ if up => scaled.ceil(),
        _ => scaled.floor(),
    };
    // At 2^11 the carry increments the exponent, as in any float encoding.
    let biased = (exponent + 14) as f64 * 1024.0 + whole;
    let infinite = if round == Round::Nearest || up { 31744.0 } else { 31743.0 };
    sign | biased.min(infinite) as u16
}

/// The value of f16 bits.
pub fn from_f16(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let size = match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * power(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// 2^n, for an n in the range of normal f64 numbers.
pub fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_trip() {
        for bits in 0..=u16::MAX {
            let x = from_f16(bits);
            for round in [Round::Nearest, Round::Up, Round::Down, Round::Zero] {
                if x.is_nan() {
                    assert_eq!(to_f16(x, round) & 0x7fff, 0x7e00);
                } else {
                    assert_eq!(to_f16(x, round), bits);
                }
            }
        }
    }

    #[test]
    fn halves_round_as_told() {
        let one_and = 1.0 + power(-11);
        let cases = [
            (one_and, [0x3c00, 0x3c01, 0x3c00, 0x3c00]),
            (-one_and, [0xbc00, 0xbc00, 0xbc01, 0xbc00]),
            (1.0 + 3.0 * power(-11), [0x3c02, 0x3c02, 0x3c01, 0x3c01]),
            (70000.0, [0x7c00, 0x7c00, 0x7bff, 0x7bff]),
            (-70000.0, [0xfc00, 0xfbff, 0xfc00, 0xfbff]),
            (65519.0, [0x7bff, 0x7c00, 0x7bff, 0x7bff]),
            (65520.0, [0x7c00, 0x7c00, 0x7bff, 0x7bff]),
            (-1e-9, [0x8000, 0x8000, 0x8001, 0x8000]),
            (power(-25), [0x0000, 0x0001, 0x0000, 0x0000]),
            (1.5 * power(-24), [0x0002, 0x0002, 0x0001, 0x0001]),
        ];
        for (x, expected) in cases {
            let got = [Round::Nearest, Round::Up, Round::Down, Round::Zero].map(|round| to_f16(x, round));
            assert_eq!(got, expected, "{x}");
        }
    }

    #[test]
    fn fma_is_rounded_once() {
        let keep = Mode(0xf0);
        // To nearest, the code of the other directions must give the same result.
        let check = |a: f32, b: f32, c: f32| {
            let exact = odd_add(f64::from(a) * f64::from(b), f64::from(c));
            let (ours, theirs) = (keep.fma32(a, b, c) as u32, to_f32(exact, Round::Nearest));
            assert!(ours == theirs.to_bits() || theirs.is_nan(), "{a:e} {b:e} {c:e}");
        };
        // A tie that the last bit of the product breaks.
        check(1.0 + f32::EPSILON, 1.0 + f32::EPSILON, f32::EPSILON / 2.0);
        proptest::proptest!(|(a: u32, b: u32, c: u32)| {
            check(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        });
    }

    #[test]
    fn directions_enclose_the_exact_value() {
        proptest::proptest!(|(a: u32, b: u32)| {
            let [a, b] = [a, b].map(f32::from_bits);
            let exact = f64::from(a) * f64::from(b);
            if exact.is_finite() {
                let [up, down, zero] = [0xf1, 0xf2, 0xf3].map(|m| f64::from(f32::from_bits(Mode(m).mul32(a, b) as u32)));
                proptest::prop_assert!(down <= exact && exact <= up);
                proptest::prop_assert_eq!(zero, if exact > 0.0 { down } else { up });
            }
        });
    }

    #[test]
    fn denormals_go_where_the_mode_says() {
        let tiny = f32::MIN_POSITIVE / 2.0;
        assert_eq!(Mode(0xf0).in32(u64::from(tiny.to_bits())), tiny);
        assert_eq!(Mode(0xc0).in32(u64::from((-tiny).to_bits())).to_bits(), 0x8000_0000);
        assert_eq!(Mode(0xc0).out32(-tiny), 0x8000_0000);
        assert_eq!(Mode(0xc0).out16(power(-24)), 1);
        assert_eq!(Mode(0x30).out16(-power(-24)), 0x8000);
    }
}

//! Unsigned division by a constant, as a multiplication (Granlund and Montgomery's method).
//!
//! If the divisor d is not a power of two, let s = ceil(log2 d) and m = floor(2^32 (2^s - d) / d) + 1. For any 32-bit n
//! the quotient is (((n - h) >> 1) + h) >> (s - 1), where h is the high half of m n. If d has a 32-bit multiplier that
//! is exact for all n, using that one saves three instructions.

/// Method of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// `n >> shift`
    Shift(u32),
    /// `mul_hi(n, multiplier) >> shift`
    Multiply {
        /// The multiplier.
        multiplier: u32,
        /// The shift.
        shift: u32,
    },
    /// With h = `mul_hi(n, multiplier)`: `(((n - h) >> 1) + h) >> shift`
    MultiplyAdd {
        /// The low 32 bits of a 33-bit multiplier.
        multiplier: u32,
        /// The shift.
        shift: u32,
    },
}

/// Division by `divisor`, or `None` for zero.
pub(super) fn division(divisor: u32) -> Option<Division> {
    if divisor == 0 {
        return None;
    }
    if divisor.is_power_of_two() {
        return Some(Division::Shift(divisor.trailing_zeros()));
    }
    let d = u64::from(divisor);
    // ceil(log2 d), 2 to 32.
    let s = u32::BITS - (divisor - 1).leading_zeros();
    // The least k for which rounding 2^(32+k) up to a multiple of d adds at most 2^k: then ceil(2^(32+k) / d) is an
    // exact multiplier.
    for k in 0..s {
        let power = 1u64 << (32 + k);
        let multiplier = power.div_ceil(d);
        if multiplier * d - power <= 1 << k
            && let Ok(multiplier) = u32::try_from(multiplier)
        {
            return Some(Division::Multiply { multiplier, shift: k });
        }
    }
    let multiplier = ((((1u64 << s) - d) << 32) / d) + 1;
    Some(Division::MultiplyAdd { multiplier: multiplier as u32, shift: s - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(n: u32, by: Division) -> u32 {
        let high = |m: u32| ((u64::from(n) * u64::from(m)) >> 32) as u32;
        match by {
            Division::Shift(shift) => n >> shift,
            Division::Multiply { multiplier, shift } => high(multiplier) >> shift,
            Division::MultiplyAdd { multiplier, shift } => {
                let h = high(multiplier);
                (((n - h) >> 1) + h) >> shift
            }
        }
    }

    #[test]
    fn quotients_are_exact() {
        let divisors =
            (1..2000).chain([0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff, 641, 1_000_003]);
        for d in divisors {
            let by = division(d).expect("not zero");
            let multiples = [0, 1, 2, 3, 1000, u32::MAX / d / 2, u32::MAX / d].map(|q| q.saturating_mul(d));
            let near = multiples.into_iter().flat_map(|m| [m.saturating_sub(1), m, m.saturating_add(1)]);
            for n in near.chain([0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX]) {
                assert_eq!(divide(n, by), n / d, "{n} / {d} by {by:?}");
            }
        }
        assert_eq!(division(0), None);
        assert!(matches!(division(7), Some(Division::MultiplyAdd { multiplier: 0x2492_4925, shift: 2 })));
        assert!(matches!(division(3), Some(Division::Multiply { multiplier: 0xaaaa_aaab, shift: 1 })));
    }
}

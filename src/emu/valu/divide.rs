//! The helpers of division: scale, multiply and scale back, fix up (isa-gfx10 3.7).
//!
//! In sequence they make num/den correctly rounded. Each follows its own rules, so that code between them sees the
//! hardware's values.

use super::lane::LaneFn;
use crate::mode::{Mode, odd_add, power, to_f32};
use dovetail_isa::Op;

/// An operation with a result and a mask bit.
pub type Masked = fn(Mode, [u64; 3]) -> (u64, bool);
/// An operation that also reads the lane's bit of VCC.
pub type Fmas = fn(Mode, [u64; 3], bool) -> u64;

/// Result and mask bit of `v_div_scale`.
pub fn scale(op: Op) -> Option<Masked> {
    Some(match op {
        Op::VDivScaleF32 => |m, [a, den, num]| {
            let [s0, den, num] = [a, den, num].map(|bits| f64::from(m.in32(bits)));
            let (result, mask) = scale_by(s0, den, num, &SINGLE);
            (m.out32(result as f32), mask)
        },
        Op::VDivScaleF64 => |m, [a, den, num]| {
            let (result, mask) = scale_by(m.in64(a), m.in64(den), m.in64(num), &DOUBLE);
            (m.out64(result), mask)
        },
        _ => return None,
    })
}

/// `v_div_fmas`: the last argument is the lane's VCC bit.
pub fn fmas(op: Op) -> Option<Fmas> {
    Some(match op {
        Op::VDivFmasF32 => |m, [a, b, c], scaled| {
            let [a, b, c] = [a, b, c].map(|bits| m.in32(bits));
            if !scaled {
                return m.fma32(a, b, c);
            }
            let exact = odd_add(f64::from(a) * f64::from(b), f64::from(c));
            let back = if exponent(f64::from(c)) > 0 { 64 } else { -64 };
            m.narrow32(f64::from(to_f32(exact, m.round32())) * power(back))
        },
        Op::VDivFmasF64 => |m, [a, b, c], scaled| {
            let [a, b, c] = [a, b, c].map(|bits| m.in64(bits));
            let back = match scaled {
                false => 0,
                true if exponent(c) > 0 => 128,
                true => -128,
            };
            m.out64(m.mul64(m.fma64(a, b, c), power(back)))
        },
        _ => return None,
    })
}

/// `v_div_fixup`.
pub fn fixup(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VDivFixupF32 => |m, [q, den, num]| {
            let [q, den, num] = [q, den, num].map(|bits| f64::from(m.in32(bits)));
            m.out32(fix(q, den, num, &SINGLE) as f32)
        },
        Op::VDivFixupF64 => |m, [q, den, num]| m.out64(fix(m.in64(q), m.in64(den), m.in64(num), &DOUBLE)),
        Op::VDivFixupF16 => |m, [q, den, num]| {
            let [q, den, num] = [q, den, num].map(|bits| m.in16(bits));
            m.out16(special(den, num).unwrap_or_else(|| q.abs().copysign(sign(den) * sign(num))))
        },
        _ => return None,
    })
}

/// Thresholds of a format.
struct Width {
    /// Exponent of the smallest normal number.
    least: i32,
    /// Exponent difference from which scaling is needed.
    apart: i32,
    /// Largest biased exponent that needs scaling.
    small: i32,
    scale: i32,
    underflow: i32,
}

const SINGLE: Width = Width { least: -126, apart: 96, small: 23, scale: 64, underflow: -150 };
const DOUBLE: Width = Width { least: -1022, apart: 768, small: 53, scale: 128, underflow: -1075 };

/// The exponent of a number; −1023 for denormals of f64.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

fn scale_by(s0: f64, den: f64, num: f64, width: &Width) -> (f64, bool) {
    // Only the values tell whether the operand is the denominator or the numerator.
    let (is_den, is_num) = (s0.to_bits() == den.to_bits(), s0.to_bits() == num.to_bits());
    let up = power(width.scale);
    let denormal = |x: f64| x != 0.0 && exponent(x) < width.least || x.is_subnormal();
    if num == 0.0 || den == 0.0 {
        return (f64::NAN, true);
    }
    if num.is_nan() || den.is_nan() || num.is_infinite() || den.is_infinite() {
        return (s0, false);
    }
    let (reciprocal, quotient) = (1.0 / den, num / den);
    if exponent(num) - exponent(den) >= width.apart {
        (if is_den { s0 * up } else { s0 }, true)
    } else if denormal(den) {
        (s0 * up, false)
    } else if denormal(reciprocal) && denormal(quotient) {
        // The published rule scales the denominator up, which leaves the range; only scaling down makes the sequence
        // correct (K).
        (if is_den { s0 * power(-width.scale) } else { s0 }, true)
    } else if denormal(reciprocal) {
        (s0 * power(-width.scale), false)
    } else if denormal(quotient) {
        (if is_num { s0 * up } else { s0 }, true)
    } else if exponent(num) + 1 - width.least <= width.small {
        (s0 * up, false)
    } else {
        (s0, false)
    }
}

fn sign(x: f64) -> f64 {
    1f64.copysign(x)
}

/// Results that need no quotient.
fn special(den: f64, num: f64) -> Option<f64> {
    let sign = sign(den) * sign(num);
    if num.is_nan() {
        Some(num)
    } else if den.is_nan() {
        Some(den)
    } else if num == 0.0 && den == 0.0 || num.is_infinite() && den.is_infinite() {
        Some(-f64::NAN)
    } else if den == 0.0 || num.is_infinite() {
        Some(f64::INFINITY.copysign(sign))
    } else if den.is_infinite() || num == 0.0 {
        Some(0f64.copysign(sign))
    } else {
        None
    }
}

fn fix(q: f64, den: f64, num: f64, width: &Width) -> f64 {
    special(den, num).unwrap_or_else(|| {
        let sign = sign(den) * sign(num);
        if exponent(num) - exponent(den) < width.underflow {
            0f64.copysign(sign)
        } else if q.is_nan() {
            f64::INFINITY.copysign(sign)
        } else {
            q.abs().copysign(sign)
        }
    })
}

//! Double-precision arithmetic, by opcode.

use super::lane::LaneFn;
use super::transcendental;
use dovetail_isa::Op;

macro_rules! f64s {
    (|$m:ident, $a:ident| $e:expr) => {
        |$m, [a, _, _]| {
            let $a = $m.in64(a);
            $m.out64($e)
        }
    };
    (|$m:ident, $a:ident, $b:ident| $e:expr) => {
        |$m, [a, b, _]| {
            let [$a, $b] = [$m.in64(a), $m.in64(b)];
            $m.out64($e)
        }
    };
}

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VAddF64 => f64s!(|m, a, b| m.add64(a, b)),
        Op::VMulF64 => f64s!(|m, a, b| m.mul64(a, b)),
        Op::VFmaF64 => |m, [a, b, c]| m.out64(m.fma64(m.in64(a), m.in64(b), m.in64(c))),
        Op::VMinF64 => f64s!(|m, a, b| min(a, b)),
        Op::VMaxF64 => f64s!(|m, a, b| max(a, b)),
        Op::VLdexpF64 => |m, [a, b, _]| {
            let (a, n) = (m.in64(a), b as i32);
            m.out64(m.ldexp64(a, n, scaled(a, n)))
        },
        Op::VTruncF64 => f64s!(|m, a| a.trunc()),
        Op::VCeilF64 => f64s!(|m, a| a.ceil()),
        Op::VFloorF64 => f64s!(|m, a| a.floor()),
        Op::VRndneF64 => f64s!(|m, a| a.round_ties_even()),
        Op::VFractF64 => f64s!(|m, a| {
            let rest = a - a.floor();
            if rest >= 1.0 { 1.0f64.next_down() } else { rest }
        }),
        Op::VRcpF64 => f64s!(|m, a| seed(1.0 / a)),
        Op::VRsqF64 => f64s!(|m, a| seed(transcendental::rsq(a))),
        Op::VSqrtF64 => f64s!(|m, a| a.sqrt()),
        Op::VFrexpMantF64 => f64s!(|m, a| split(a).0),
        Op::VFrexpExpI32F64 => |m, [a, _, _]| u64::from(split(m.in64(a)).1.cast_unsigned()),
        _ => return None,
    })
}

/// Keeps as few digits as the hardware promises (an error of 2^29 ulp, which is 2^-23; AMD's "RDNA 2" document,
/// `V_RCP_F64`), so that code which relies on more fails.
fn seed(x: f64) -> f64 {
    if x.is_finite() { f64::from_bits(x.to_bits() & !((1 << 29) - 1)) } else { x }
}

fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        quiet(b)
    } else if b.is_nan() || a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        quiet(b)
    } else if b.is_nan() || a > b || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}

fn quiet(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(x.to_bits() | 1 << 51) } else { x }
}

/// Mantissa in ±[0.5, 1) and exponent; 0, infinities and NaN unchanged, with exponent 0.
fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (x, less) = if x.is_subnormal() { (x * crate::mode::power(64), 64) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - less;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// x × 2^n, rounded once.
pub(super) fn scaled(x: f64, n: i32) -> f64 {
    let (mantissa, exponent) = split(x);
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = exponent.saturating_add(n).clamp(-2000, 2000);
    if exponent > 1000 {
        mantissa * crate::mode::power(1000) * crate::mode::power((exponent - 1000).min(1000))
    } else if exponent < -1000 {
        // Only the last step rounds.
        mantissa * crate::mode::power(-1000) * crate::mode::power((exponent + 1000).max(-1000))
    } else {
        mantissa * crate::mode::power(exponent)
    }
}

//! Half-precision arithmetic (isa-gfx10 3.5): f64 holds every sum and product of two f16 numbers, so each result is
//! rounded once.

use super::float::scaled;
use super::lane::LaneFn;
use super::transcendental;
use dovetail_isa::Op;

macro_rules! f16s {
    (|$m:ident, $a:ident| $e:expr) => {
        |$m, [a, _, _]| {
            let $a = $m.in16(a);
            $m.out16($e)
        }
    };
    (|$m:ident, $a:ident, $b:ident| $e:expr) => {
        |$m, [a, b, _]| {
            let [$a, $b] = [$m.in16(a), $m.in16(b)];
            $m.out16($e)
        }
    };
    (|$m:ident, $a:ident, $b:ident, $c:ident| $e:expr) => {
        |$m, [a, b, c]| {
            let [$a, $b, $c] = [$m.in16(a), $m.in16(b), $m.in16(c)];
            $m.out16($e)
        }
    };
}

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VAddF16 | Op::VPkAddF16 => f16s!(|m, a, b| a + b),
        Op::VSubF16 => f16s!(|m, a, b| a - b),
        Op::VSubrevF16 => f16s!(|m, a, b| b - a),
        Op::VMulF16 | Op::VPkMulF16 => f16s!(|m, a, b| a * b),
        Op::VFmaF16 | Op::VPkFmaF16 | Op::VFmacF16 | Op::VPkFmacF16 | Op::VFmamkF16 | Op::VFmaakF16 => {
            |m, [a, b, c]| m.fma16(m.in16(a), m.in16(b), m.in16(c))
        }
        Op::VMinF16 | Op::VPkMinF16 => f16s!(|m, a, b| min(a, b)),
        Op::VMaxF16 | Op::VPkMaxF16 => f16s!(|m, a, b| max(a, b)),
        Op::VMin3F16 => f16s!(|m, a, b, c| min(min(a, b), c)),
        Op::VMax3F16 => f16s!(|m, a, b, c| max(max(a, b), c)),
        Op::VMed3F16 => f16s!(|m, a, b, c| {
            let any = a.is_nan() || b.is_nan() || c.is_nan();
            if any { min(min(a, b), c) } else { max(min(a, b), min(max(a, b), c)) }
        }),
        Op::VLdexpF16 => |m, [a, b, _]| m.out16(scaled(m.in16(a), i32::from(b as i16))),
        Op::VFloorF16 => f16s!(|m, a| a.floor()),
        Op::VCeilF16 => f16s!(|m, a| a.ceil()),
        Op::VTruncF16 => f16s!(|m, a| a.trunc()),
        Op::VRndneF16 => f16s!(|m, a| a.round_ties_even()),
        Op::VFractF16 => f16s!(|m, a| {
            // The largest f16 below 1.
            (a - a.floor()).min(1.0 - crate::mode::power(-11))
        }),
        Op::VRcpF16 => f16s!(|m, a| 1.0 / a),
        Op::VSqrtF16 => f16s!(|m, a| a.sqrt()),
        Op::VRsqF16 => f16s!(|m, a| transcendental::rsq(a)),
        Op::VLogF16 => f16s!(|m, a| a.log2()),
        Op::VExpF16 => f16s!(|m, a| a.exp2()),
        Op::VSinF16 => f16s!(|m, a| transcendental::sin(a)),
        Op::VCosF16 => f16s!(|m, a| transcendental::cos(a)),
        Op::VFrexpMantF16 => f16s!(|m, a| {
            let odd = a == 0.0 || !a.is_finite();
            if odd { a } else { f64::from_bits(a.to_bits() & !(0x7ff << 52) | 1022 << 52) }
        }),
        Op::VFrexpExpI16F16 => |m, [a, _, _]| {
            let a = m.in16(a);
            let odd = a == 0.0 || !a.is_finite();
            let exponent = (a.to_bits() >> 52 & 0x7ff) as i32 - 1022;
            if odd { 0 } else { u64::from(exponent as u16) }
        },
        _ => return None,
    })
}

fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a > b || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}

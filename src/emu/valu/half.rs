//! Half-precision arithmetic (isa-gfx10 3.5): f64 holds every sum and product of f16, so each result is rounded once.

use super::float::scaled;
use super::lane::LaneFn;
use super::transcendental;

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

/// Operation of a mnemonic.
pub fn resolve(name: &str) -> Option<LaneFn> {
    Some(match name.strip_prefix("v_pk_").or(name.strip_prefix("v_"))? {
        "add_f16" => f16s!(|m, a, b| a + b),
        "sub_f16" => f16s!(|m, a, b| a - b),
        "subrev_f16" => f16s!(|m, a, b| b - a),
        "mul_f16" => f16s!(|m, a, b| a * b),
        "fma_f16" | "fmac_f16" | "fmamk_f16" | "fmaak_f16" => |m, [a, b, c]| m.fma16(m.in16(a), m.in16(b), m.in16(c)),
        "min_f16" => f16s!(|m, a, b| min(a, b)),
        "max_f16" => f16s!(|m, a, b| max(a, b)),
        "min3_f16" => f16s!(|m, a, b, c| min(min(a, b), c)),
        "max3_f16" => f16s!(|m, a, b, c| max(max(a, b), c)),
        "med3_f16" => f16s!(|m, a, b, c| {
            let any = a.is_nan() || b.is_nan() || c.is_nan();
            if any { min(min(a, b), c) } else { max(min(a, b), min(max(a, b), c)) }
        }),
        "ldexp_f16" => |m, [a, b, _]| m.out16(scaled(m.in16(a), i32::from(b as i16))),
        "floor_f16" => f16s!(|m, a| a.floor()),
        "ceil_f16" => f16s!(|m, a| a.ceil()),
        "trunc_f16" => f16s!(|m, a| a.trunc()),
        "rndne_f16" => f16s!(|m, a| a.round_ties_even()),
        "fract_f16" => f16s!(|m, a| {
            // The greatest f16 below 1.
            (a - a.floor()).min(1.0 - crate::emu::mode::power(-11))
        }),
        "rcp_f16" => f16s!(|m, a| 1.0 / a),
        "sqrt_f16" => f16s!(|m, a| a.sqrt()),
        "rsq_f16" => f16s!(|m, a| transcendental::rsq(a)),
        "log_f16" => f16s!(|m, a| a.log2()),
        "exp_f16" => f16s!(|m, a| a.exp2()),
        "sin_f16" => f16s!(|m, a| transcendental::sin(a)),
        "cos_f16" => f16s!(|m, a| transcendental::cos(a)),
        "frexp_mant_f16" => f16s!(|m, a| {
            let odd = a == 0.0 || !a.is_finite();
            if odd { a } else { f64::from_bits(a.to_bits() & !(0x7ff << 52) | 1022 << 52) }
        }),
        "frexp_exp_i16_f16" => |m, [a, _, _]| {
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

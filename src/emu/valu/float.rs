//! Single-precision arithmetic (isa-gfx10 3.6).
//!
//! Operands arrive with modifiers applied; MODE controls denormals and rounding. To add an operation, add a line to
//! [`resolve`].

use super::lane::LaneFn;
use crate::mode::Mode;
use dovetail_isa::Op;

macro_rules! f32s {
    (|$m:ident, $a:ident| $e:expr) => {
        |$m, [a, _, _]| {
            let $a = $m.in32(a);
            $e
        }
    };
    (|$m:ident, $a:ident, $b:ident| $e:expr) => {
        |$m, [a, b, _]| {
            let [$a, $b] = [$m.in32(a), $m.in32(b)];
            $e
        }
    };
    (|$m:ident, $a:ident, $b:ident, $c:ident| $e:expr) => {
        |$m, [a, b, c]| {
            let [$a, $b, $c] = [$m.in32(a), $m.in32(b), $m.in32(c)];
            $e
        }
    };
}
pub(super) use f32s;

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VAddF32 => f32s!(|m, a, b| m.add32(a, b)),
        Op::VSubF32 => f32s!(|m, a, b| m.add32(a, -b)),
        Op::VSubrevF32 => f32s!(|m, a, b| m.add32(b, -a)),
        Op::VMulF32 => f32s!(|m, a, b| m.mul32(a, b)),
        Op::VMulLegacyF32 => f32s!(|m, a, b| if a == 0.0 || b == 0.0 { 0 } else { m.mul32(a, b) }),
        Op::VFmaF32 | Op::VFmacF32 | Op::VFmamkF32 | Op::VFmaakF32 => f32s!(|m, a, b, c| m.fma32(a, b, c)),
        Op::VFmaLegacyF32 | Op::VFmacLegacyF32 => {
            f32s!(|m, a, b, c| if a == 0.0 || b == 0.0 { m.add32(0.0, c) } else { m.fma32(a, b, c) })
        }
        Op::VMinF32 => f32s!(|m, a, b| m.out32(min(a, b))),
        Op::VMaxF32 => f32s!(|m, a, b| m.out32(max(a, b))),
        Op::VMin3F32 => f32s!(|m, a, b, c| m.out32(min(min(a, b), c))),
        Op::VMax3F32 => f32s!(|m, a, b, c| m.out32(max(max(a, b), c))),
        Op::VMed3F32 => f32s!(|m, a, b, c| m.out32(median(a, b, c))),
        Op::VFractF32 => f32s!(|m, a| m.out32(fract(a))),
        Op::VTruncF32 => f32s!(|m, a| m.out32(a.trunc())),
        Op::VCeilF32 => f32s!(|m, a| m.out32(a.ceil())),
        Op::VFloorF32 => f32s!(|m, a| m.out32(a.floor())),
        Op::VRndneF32 => f32s!(|m, a| m.out32(a.round_ties_even())),
        Op::VFrexpMantF32 => |m, [a, _, _]| m.out32(mantissa(m, a)),
        Op::VFrexpExpI32F32 => |m, [a, _, _]| exponent(m, a),
        Op::VLdexpF32 => |m, [a, b, _]| m.narrow32(scaled(f64::from(m.in32(a)), b as i32)),
        Op::VCubeidF32 => f32s!(|m, x, y, z| m.out32(cube(x, y, z)[0])),
        Op::VCubescF32 => f32s!(|m, x, y, z| m.out32(cube(x, y, z)[1])),
        Op::VCubetcF32 => f32s!(|m, x, y, z| m.out32(cube(x, y, z)[2])),
        Op::VCubemaF32 => f32s!(|m, x, y, z| m.out32(cube(x, y, z)[3])),
        _ => return None,
    })
}

/// The smaller operand; if one is NaN, the other; −0 is below +0.
fn min(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        quiet(b)
    } else if b.is_nan() || a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

/// The larger operand; see [`min`].
fn max(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        quiet(b)
    } else if b.is_nan() || a > b || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}

/// The compiler uses `v_max x, x` to make a NaN quiet.
fn quiet(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(x.to_bits() | 0x0040_0000) } else { x }
}

fn median(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min(min(a, b), c);
    }
    max(min(a, b), min(max(a, b), c))
}

/// x − floor(x), kept below 1 in any rounding mode.
fn fract(x: f32) -> f32 {
    const BELOW_ONE: f32 = f32::from_bits(0x3f7f_ffff);
    let rest = x - x.floor();
    if rest >= 1.0 { BELOW_ONE } else { rest }
}

/// Mantissa in ±[0.5, 1); infinities and NaN unchanged.
fn mantissa(m: Mode, bits: u64) -> f32 {
    let x = m.in32(bits);
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let wide = f64::from(x).to_bits();
    f64::from_bits(wide & !(0x7ff << 52) | 1022 << 52) as f32
}

fn exponent(m: Mode, bits: u64) -> u64 {
    let x = m.in32(bits);
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    let exponent = (f64::from(x).to_bits() >> 52 & 0x7ff) as i32 - 1022;
    u64::from(exponent.cast_unsigned())
}

/// x × 2^n, rounded to odd if f64 cannot hold it; the results of f32 and f16 are far inside its range.
pub(super) fn scaled(x: f64, n: i32) -> f64 {
    x * crate::mode::power(n.clamp(-600, 600))
}

/// Cube face and the coordinates on it: id, s, t, twice the major axis.
fn cube(x: f32, y: f32, z: f32) -> [f32; 4] {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 { [5.0, -x, -y, 2.0 * z] } else { [4.0, x, -y, 2.0 * z] }
    } else if y.abs() >= x.abs() {
        if y < 0.0 { [3.0, x, -z, 2.0 * y] } else { [2.0, x, z, 2.0 * y] }
    } else if x < 0.0 {
        [1.0, z, -y, 2.0 * x]
    } else {
        [0.0, -z, -y, 2.0 * x]
    }
}

//! Scalar arithmetic on bits: the result of every [`AluOp`]. Floats go through `f64`, which is exact for narrower ones.
//!
//! A sum, difference, product, quotient or root of narrow floats that is rounded to double and then to its width is
//! rounded correctly, because a double has more than twice their digits. Fused operations are the exception, and are
//! computed at their width. To add an operation: an arm of [`integer`] or [`real`].

use super::{AluOp, Bits};

/// The value of a float's bits.
pub fn decode(bits: u64, width: Bits) -> f64 {
    match width {
        Bits::B16 => half_to_f64(bits),
        Bits::B64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// The nearest float's bits, ties to even.
pub fn encode(x: f64, width: Bits) -> u64 {
    match width {
        Bits::B16 => f64_to_half(x, false),
        Bits::B64 => x.to_bits(),
        _ => u64::from((x as f32).to_bits()),
    }
}

/// The bits of the nearest float towards zero.
fn encode_toward_zero(x: f64, width: Bits) -> u64 {
    match width {
        Bits::B16 => f64_to_half(x, true),
        Bits::B64 => x.to_bits(),
        _ => {
            let near = x as f32;
            let over = f64::from(near).abs() > x.abs() && x.is_finite();
            u64::from(near.to_bits() - u32::from(over))
        }
    }
}

fn half_to_f64(h: u64) -> f64 {
    let magnitude = match (h >> 10 & 31, h & 1023) {
        (0, m) => m as f64 * power_of_two(-24),
        (31, 0) => f64::INFINITY,
        (31, _) => f64::NAN,
        (e, m) => (1024 + m) as f64 * power_of_two(e as i32 - 25),
    };
    if h & 0x8000 != 0 { -magnitude } else { magnitude }
}

fn f64_to_half(x: f64, toward_zero: bool) -> u64 {
    let sign = x.to_bits() >> 48 & 0x8000;
    if x.is_nan() {
        return sign | 0x7e00;
    }
    if x.is_infinite() {
        return sign | 0x7c00;
    }
    let e = exponent(x).max(-14);
    let steps = x.abs() / power_of_two(e - 10);
    let steps = if toward_zero { steps.trunc() } else { steps.round_ties_even() };
    // A carry out of the mantissa increments the exponent.
    let largest = if toward_zero { 0x7bff } else { 0x7c00 };
    let bits = steps as u64 + if steps < 1024.0 { 0 } else { ((e + 14) as u64) << 10 };
    sign | if e > 15 { largest } else { bits.min(largest) }
}

/// Exponent of the largest power of two not above a magnitude; very small for zero.
pub fn exponent(x: f64) -> i32 {
    match x.to_bits() >> 52 & 0x7ff {
        0 => -1074,
        e => e as i32 - 1023,
    }
}

/// A power of two within the range of a double, denormals included.
pub fn power_of_two(e: i32) -> f64 {
    match e {
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        -1074..-1022 => f64::from_bits(1 << (e + 1074)),
        _ => 2f64.powi(e),
    }
}

/// The distance between floats of this width near x.
pub fn ulp(x: f64, width: Bits) -> f64 {
    let (digits, least) = match width {
        Bits::B16 => (10, -14),
        Bits::B64 => (52, -1022),
        _ => (23, -126),
    };
    power_of_two(exponent(x).max(least) - digits)
}

/// A two's complement number of this width.
pub fn signed(x: u64, width: u32) -> i64 {
    (x << (64 - width)) as i64 >> (64 - width)
}

/// An operation without floats. Where the table allows any value, this returns one.
pub fn integer(op: AluOp, args: [u64; 3], from: Bits, to: Bits) -> Option<u64> {
    use AluOp as A;
    let width = from.count();
    let [x, y, z] = args;
    let s = |x: u64| signed(x, width);
    let (sx, sy) = (s(x), s(y));
    let wide = |x: i64| i128::from(x);
    let clamp = |x: i128| {
        let limit = 1i128 << (width - 1);
        x.clamp(-limit, limit - 1) as u64
    };
    let shift = (y & u64::from(width - 1)) as u32;
    let truth = |t: bool| u64::from(t);
    let result = match op {
        A::Select => {
            if x & 1 != 0 {
                y
            } else {
                z
            }
        }
        A::IAdd => x.wrapping_add(y),
        A::ISub => x.wrapping_sub(y),
        A::IMul => x.wrapping_mul(y),
        A::UMulHigh => ((u128::from(x) * u128::from(y)) >> width) as u64,
        A::SMulHigh => ((wide(sx) * wide(sy)) >> width) as u64,
        A::UDiv => x.checked_div(y).unwrap_or(u64::MAX),
        A::UMod => x.checked_rem(y).unwrap_or(u64::MAX),
        A::SDiv => sx.checked_div(sy).unwrap_or(-1) as u64,
        A::SRem => sx.checked_rem(sy).unwrap_or(-1) as u64,
        A::SMod => {
            let r = sx.checked_rem(sy).unwrap_or(-1);
            (if r != 0 && (r < 0) != (sy < 0) { r.wrapping_add(sy) } else { r }) as u64
        }
        A::INeg => x.wrapping_neg(),
        A::IAbs => sx.wrapping_abs() as u64,
        A::IAnd => x & y,
        A::IOr => x | y,
        A::IXor => x ^ y,
        A::INot => !x,
        A::Shl => x << shift,
        A::LShr => x >> shift,
        A::AShr => (sx >> shift) as u64,
        A::UMin => x.min(y),
        A::UMax => x.max(y),
        A::SMin => sx.min(sy) as u64,
        A::SMax => sx.max(sy) as u64,
        A::UAddSat => (u128::from(x) + u128::from(y)).min(u128::from(from.mask())) as u64,
        A::USubSat => x.saturating_sub(y),
        A::SAddSat => clamp(wide(sx) + wide(sy)),
        A::SSubSat => clamp(wide(sx) - wide(sy)),
        A::UAddCarry => truth(u128::from(x) + u128::from(y) > u128::from(from.mask())),
        A::USubBorrow => truth(x < y),
        A::BitCount => u64::from(x.count_ones()),
        A::BitReverse => x.reverse_bits() >> (64 - width),
        A::FindILsb => index(x, x.trailing_zeros()),
        A::FindUMsb => index(x, 63 - x.leading_zeros().min(63)),
        A::FindSMsb => {
            let differing = if sx < 0 { !(sx as u64) } else { sx as u64 };
            index(differing, 63 - differing.leading_zeros().min(63))
        }
        A::UBitExtract => field(x, y, z),
        A::SBitExtract => match z.min(64) as u32 {
            0 => 0,
            count => signed(field(x, y, z), count) as u64,
        },
        A::IEq => truth(x == y),
        A::INe => truth(x != y),
        A::ULt => truth(x < y),
        A::ULe => truth(x <= y),
        A::UGt => truth(x > y),
        A::UGe => truth(x >= y),
        A::SLt => truth(sx < sy),
        A::SLe => truth(sx <= sy),
        A::SGt => truth(sx > sy),
        A::SGe => truth(sx >= sy),
        A::ZExt | A::Trunc => x,
        A::SExt => sx as u64,
        A::S2F => int_to_float(sx as f64, sx as f32, to),
        A::U2F => int_to_float(x as f64, x as f32, to),
        A::SDot4 | A::SDot4Sat => {
            let sum = wide(bytes(x).zip(bytes(y)).map(|(x, y)| i64::from(x as i8) * i64::from(y as i8)).sum());
            let sum = sum + wide(signed(z, 32));
            if op == A::SDot4Sat { clamp(sum) } else { sum as u64 }
        }
        A::UDot4 | A::UDot4Sat => {
            let sum: u64 = bytes(x).zip(bytes(y)).map(|(x, y)| u64::from(x) * u64::from(y)).sum();
            let sum = sum + z;
            if op == A::UDot4Sat { sum.min(0xffff_ffff) } else { sum }
        }
        _ => return None,
    };
    Some(result & to.mask())
}

fn bytes(x: u64) -> impl Iterator<Item = u8> {
    x.to_le_bytes().into_iter().take(4)
}

fn index(x: u64, at: u32) -> u64 {
    if x == 0 { u64::MAX } else { u64::from(at) }
}

fn field(x: u64, offset: u64, count: u64) -> u64 {
    let mask = 1u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1);
    x.checked_shr(offset as u32).unwrap_or(0) & mask
}

fn int_to_float(double: f64, single: f32, to: Bits) -> u64 {
    if to == Bits::B32 { u64::from(single.to_bits()) } else { encode(double, to) }
}

/// An estimate with a relative error up to 2^-23: the low bits are truncated.
fn seed(x: f64) -> f64 {
    if x.is_finite() { f64::from_bits(x.to_bits() & !((1 << 29) - 1)) } else { x }
}

/// A float operation with a float result, on real numbers: only what a double cannot hold is rounded.
/// The second operand of `fldexp` is the integer as a number.
pub fn real(op: AluOp, [x, y, z]: [f64; 3]) -> Option<f64> {
    use AluOp as A;
    Some(match op {
        A::FConv | A::FConvRtz | A::FQuantize16 => x,
        A::FAdd => x + y,
        A::FSub => x - y,
        A::FMul => x * y,
        A::FDiv => x / y,
        A::FRem => x % y,
        A::FMod => {
            let r = x % y;
            if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
        }
        A::FFma => x.mul_add(y, z),
        A::FNeg => -x,
        A::FAbs => x.abs(),
        A::FSign if x == 0.0 || x.is_nan() => x,
        A::FSign => x.signum(),
        A::FCopySign => x.copysign(y),
        A::FFloor => x.floor(),
        A::FCeil => x.ceil(),
        A::FTrunc => x.trunc(),
        A::FRoundEven => x.round_ties_even(),
        A::FFract => x - x.floor(),
        // Of zeros, the negative one is less, as for the hardware.
        A::FMin if x == y => {
            if x.is_sign_negative() {
                x
            } else {
                y
            }
        }
        A::FMax if x == y => {
            if x.is_sign_negative() {
                y
            } else {
                x
            }
        }
        A::FMin => x.min(y),
        A::FMax => x.max(y),
        A::FSqrt => x.sqrt(),
        A::FRsq => 1.0 / x.sqrt(),
        A::FRcp => 1.0 / x,
        A::FRcpSeed => seed(1.0 / x),
        A::FRsqSeed => seed(1.0 / x.sqrt()),
        A::FExp2 => x.exp2(),
        A::FLog2 => x.log2(),
        A::FPow => (y * x.log2()).exp2(),
        A::FSin => x.sin(),
        A::FCos => x.cos(),
        A::FMulZero if x == 0.0 || y == 0.0 => 0.0,
        A::FMulZero => x * y,
        A::FSinTurn => (x * std::f64::consts::TAU).sin(),
        A::FCosTurn => (x * std::f64::consts::TAU).cos(),
        A::FLdexp => scaled(x, y.clamp(-4200.0, 4200.0) as i32),
        A::FFrexpMant if x == 0.0 || !x.is_finite() => x,
        A::FFrexpMant => {
            let x = x * if exponent(x) == -1074 { 2f64.powi(64) } else { 1.0 };
            x / 2f64.powi(exponent(x)) / 2.0
        }
        _ => return None,
    })
}

/// A float operation whose result is not a float: a boolean, an integer, packed fields.
pub fn from_floats(op: AluOp, x: f64, y: f64, to: Bits) -> Option<u64> {
    use AluOp as A;
    let ordered = !x.is_nan() && !y.is_nan();
    let truth = |t: bool| u64::from(t);
    let result = match op {
        A::F2S if x.is_nan() => 0,
        A::F2S => {
            let limit = 2f64.powi(to.count() as i32 - 1);
            if x >= limit { to.mask() >> 1 } else { x.max(-limit) as i64 as u64 }
        }
        A::F2U => (x as u64).min(to.mask()),
        A::FOEq => truth(ordered && x == y),
        A::FONe => truth(ordered && x != y),
        A::FOLt => truth(ordered && x < y),
        A::FOLe => truth(ordered && x <= y),
        A::FOGt => truth(ordered && x > y),
        A::FOGe => truth(ordered && x >= y),
        A::FUEq => truth(!ordered || x == y),
        A::FUNe => truth(!ordered || x != y),
        A::FULt => truth(!ordered || x < y),
        A::FULe => truth(!ordered || x <= y),
        A::FUGt => truth(!ordered || x > y),
        A::FUGe => truth(!ordered || x >= y),
        A::FOrd => truth(ordered),
        A::FUno => truth(!ordered),
        A::FIsNan => truth(x.is_nan()),
        A::FIsInf => truth(x.is_infinite()),
        A::FFrexpExp if x == 0.0 || !x.is_finite() => 0,
        A::FFrexpExp => {
            let small = exponent(x) == -1074;
            let e = if small { exponent(x * 2f64.powi(64)) - 64 } else { exponent(x) };
            i64::from(e + 1) as u64
        }
        A::PackHalfRtz => f64_to_half(x, true) | f64_to_half(y, true) << 16,
        A::PackSnorm16 => {
            let field = |x: f64| (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i64 as u64 & 0xffff;
            field(x) | field(y) << 16
        }
        A::PackNorm16 => {
            let field = |x: f64| (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u64;
            field(x) | field(y) << 16
        }
        _ => return None,
    };
    Some(result & to.mask())
}

/// A float operation at its width: bits in, bits out.
pub fn float(op: AluOp, args: [u64; 3], from: Bits, to: Bits) -> Option<u64> {
    let [x, y, z] = args.map(|a| decode(a, from));
    let y = if op == AluOp::FLdexp { signed(args[1], 32) as f64 } else { y };
    match op {
        AluOp::FFma if from == Bits::B32 => {
            let [x, y, z] = args.map(|a| f32::from_bits(a as u32));
            return Some(u64::from(x.mul_add(y, z).to_bits()));
        }
        // Operates on the bits, so that a NaN keeps its payload.
        AluOp::FNeg => return Some(args[0] ^ 1 << (from.count() - 1)),
        AluOp::FAbs => return Some(args[0] & (from.mask() >> 1)),
        AluOp::FCopySign => {
            let sign = 1 << (from.count() - 1);
            return Some(args[0] & !sign | args[1] & sign);
        }
        AluOp::FConvRtz => return Some(encode_toward_zero(x, to)),
        AluOp::FQuantize16 => {
            let half = f64_to_half(x, false);
            let half = if half & 0x7c00 == 0 { half & 0x8000 } else { half };
            return Some(encode(half_to_f64(half), to));
        }
        AluOp::FFract => {
            // Stays below one, even if rounding would reach it.
            let r = decode(encode(x - x.floor(), to), to);
            let below = 1.0 - ulp(0.5, to);
            return Some(encode(if r >= 1.0 { below } else { r }, to));
        }
        _ => {}
    }
    match real(op, [x, y, z]) {
        Some(r) => Some(encode(r, to)),
        None => from_floats(op, x, y, to),
    }
}

/// `x * 2^n`, rounded once: only the last step may give a denormal number.
fn scaled(mut x: f64, mut n: i32) -> f64 {
    /// What a step of a small result keeps in reserve: the bits of a mantissa.
    const RESERVE: i32 = 53;
    while n > 1023 {
        x *= f64::from_bits(0x7fe << 52);
        n -= 1023;
    }
    while n < -1022 {
        x *= f64::from_bits(1 << 52) * f64::from_bits(u64::from(1023 + RESERVE as u32) << 52);
        n += 1022 - RESERVE;
    }
    x * f64::from_bits(((1023 + n) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_read_back() {
        for bits in 0..0x10000u64 {
            let x = half_to_f64(bits);
            if !x.is_nan() {
                assert_eq!(f64_to_half(x, false), bits);
                assert_eq!(f64_to_half(x, true), bits);
            }
        }
        // Ties to even, and towards zero below them.
        assert_eq!(f64_to_half(2049.0, false), f64_to_half(2048.0, false));
        assert_eq!(f64_to_half(2051.0, false), f64_to_half(2052.0, false));
        assert_eq!(f64_to_half(2051.9, true), f64_to_half(2050.0, true));
        assert_eq!((f64_to_half(65520.0, false), f64_to_half(1e9, true)), (0x7c00, 0x7bff));
    }

    #[test]
    fn powers_of_two_are_exact() {
        for e in -1074..=1023 {
            // In two steps: the reciprocal of a power above the range is zero.
            assert_eq!(power_of_two(e), 2f64.powi(e / 2) * 2f64.powi(e - e / 2), "{e}");
        }
    }

    #[test]
    fn integers_of_every_width_stay_in_it() {
        use AluOp as A;
        let run = |op, x: i64, y: i64, bits: Bits| {
            let args = [x as u64 & bits.mask(), y as u64 & bits.mask(), 0];
            signed(integer(op, args, bits, bits).unwrap(), bits.count())
        };
        assert_eq!(run(A::IAdd, 127, 1, Bits::B8), -128);
        assert_eq!(run(A::SAddSat, 127, 1, Bits::B8), 127);
        assert_eq!(run(A::SMod, -7, 3, Bits::B16), 2);
        assert_eq!(run(A::SRem, -7, 3, Bits::B16), -1);
        assert_eq!(run(A::SMulHigh, i64::MIN, 2, Bits::B64), -1);
        assert_eq!(run(A::BitReverse, 1, 0, Bits::B32), i64::from(i32::MIN));
        assert_eq!(integer(A::FindSMsb, [0xffff_ff00, 0, 0], Bits::B32, Bits::B32), Some(7));
        assert_eq!(integer(A::FindUMsb, [0, 0, 0], Bits::B32, Bits::B32), Some(0xffff_ffff));
        assert_eq!(integer(A::SBitExtract, [0b1110_0000, 4, 3,], Bits::B32, Bits::B32), Some(0xffff_fffe));
    }

    #[test]
    fn floats_take_apart_and_go_together() {
        let bits = |x: f32| u64::from(x.to_bits());
        let f = |op, x, y| float(op, [bits(x), y, 0], Bits::B32, Bits::B32).unwrap();
        for x in [1.0f32, -0.75, 1e-40, 3.0e38, 6.0] {
            let (mantissa, e) = (f(AluOp::FFrexpMant, x, 0), f(AluOp::FFrexpExp, x, 0));
            let m = f32::from_bits(mantissa as u32).abs();
            assert!((0.5..1.0).contains(&m), "{x}: {m}");
            assert_eq!(float(AluOp::FLdexp, [mantissa, e, 0], Bits::B32, Bits::B32), Some(bits(x)));
        }
    }
}

//! Integer and bit operations per lane (isa-gfx10 3.5, 3.8).
//!
//! To add an operation, add a line to the list of its width. 16-bit values arrive in the low 16 bits, from either half
//! of a register.

use super::lane::LaneFn;
use dovetail_isa::Op;

macro_rules! u32s {
    (|$a:ident| $e:expr) => {
        |_, [a, _, _]| {
            let $a = a as u32;
            u64::from($e)
        }
    };
    (|$a:ident, $b:ident| $e:expr) => {
        |_, [a, b, _]| {
            let [$a, $b] = [a as u32, b as u32];
            u64::from($e)
        }
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        |_, [a, b, c]| {
            let [$a, $b, $c] = [a as u32, b as u32, c as u32];
            u64::from($e)
        }
    };
}

macro_rules! i32s {
    (|$a:ident, $b:ident| $e:expr) => {
        |_, [a, b, _]| {
            let [$a, $b] = [a as i32, b as i32];
            let result: i32 = $e;
            u64::from(result.cast_unsigned())
        }
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        |_, [a, b, c]| {
            let [$a, $b, $c] = [a as i32, b as i32, c as i32];
            let result: i32 = $e;
            u64::from(result.cast_unsigned())
        }
    };
}

macro_rules! u16s {
    (|$a:ident, $b:ident| $e:expr) => {
        |_, [a, b, _]| {
            let [$a, $b] = [a as u16, b as u16];
            u64::from($e)
        }
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        |_, [a, b, c]| {
            let [$a, $b, $c] = [a as u16, b as u16, c as u16];
            u64::from($e)
        }
    };
}

macro_rules! i16s {
    (|$a:ident, $b:ident| $e:expr) => {
        |_, [a, b, _]| {
            let [$a, $b] = [a as i16, b as i16];
            let result: i16 = $e;
            u64::from(result.cast_unsigned())
        }
    };
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {
        |_, [a, b, c]| {
            let [$a, $b, $c] = [a as i16, b as i16, c as i16];
            let result: i16 = $e;
            u64::from(result.cast_unsigned())
        }
    };
}

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    words(op).or_else(|| ternary(op)).or_else(|| bytes(op)).or_else(|| halves(op))
}

fn first(bit: u32) -> u32 {
    if bit == 32 { u32::MAX } else { bit }
}

fn sext24(x: u32) -> i64 {
    i64::from((x << 8).cast_signed() >> 8)
}

fn low24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

fn words(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VMovB32 => u32s!(|a| a),
        Op::VNotB32 => u32s!(|a| !a),
        Op::VBfrevB32 => u32s!(|a| a.reverse_bits()),
        Op::VFfbhU32 => u32s!(|a| first(a.leading_zeros())),
        Op::VFfblB32 => u32s!(|a| first(a.trailing_zeros())),
        Op::VFfbhI32 => u32s!(|a| first(if a >> 31 == 1 { !a } else { a }.leading_zeros())),
        Op::VMulI32I24 => u32s!(|a, b| (sext24(a) * sext24(b)) as u32),
        Op::VMulHiI32I24 => u32s!(|a, b| ((sext24(a) * sext24(b)) >> 32) as u32),
        Op::VMulU32U24 => u32s!(|a, b| (low24(a) * low24(b)) as u32),
        Op::VMulHiU32U24 => u32s!(|a, b| ((low24(a) * low24(b)) >> 32) as u32),
        Op::VMinI32 => i32s!(|a, b| a.min(b)),
        Op::VMaxI32 => i32s!(|a, b| a.max(b)),
        Op::VMinU32 => u32s!(|a, b| a.min(b)),
        Op::VMaxU32 => u32s!(|a, b| a.max(b)),
        Op::VLshrrevB32 => u32s!(|a, b| b >> (a & 31)),
        Op::VAshrrevI32 => i32s!(|a, b| b >> (a & 31)),
        Op::VLshlrevB32 => u32s!(|a, b| b << (a & 31)),
        Op::VAndB32 => u32s!(|a, b| a & b),
        Op::VOrB32 => u32s!(|a, b| a | b),
        Op::VXorB32 => u32s!(|a, b| a ^ b),
        Op::VXnorB32 => u32s!(|a, b| !(a ^ b)),
        Op::VAddNcU32 | Op::VAddNcI32 => u32s!(|a, b| a.wrapping_add(b)),
        Op::VSubNcU32 | Op::VSubNcI32 => u32s!(|a, b| a.wrapping_sub(b)),
        Op::VSubrevNcU32 => u32s!(|a, b| b.wrapping_sub(a)),
        Op::VMulLoU32 => u32s!(|a, b| a.wrapping_mul(b)),
        Op::VMulHiU32 => |_, [a, b, _]| (a * b) >> 32,
        Op::VMulHiI32 => u32s!(|a, b| ((i64::from(a.cast_signed()) * i64::from(b.cast_signed())) >> 32) as u32),
        Op::VBfmB32 => u32s!(|a, b| ((1u32 << (a & 31)) - 1) << (b & 31)),
        Op::VBcntU32B32 => u32s!(|a, b| a.count_ones().wrapping_add(b)),
        Op::VCvtPkU16U32 => u32s!(|a, b| a.min(0xffff) | b.min(0xffff) << 16),
        Op::VCvtPkI16I32 => i32s!(|a, b| a.clamp(-32768, 32767) & 0xffff | b.clamp(-32768, 32767) << 16),
        Op::VLshlrevB64 => |_, [a, b, _]| b << (a & 63),
        Op::VLshrrevB64 => |_, [a, b, _]| b >> (a & 63),
        Op::VAshrrevI64 => |_, [a, b, _]| (b.cast_signed() >> (a & 63)).cast_unsigned(),
        _ => return None,
    })
}

/// Bit field with an offset and a width of 5 bits each; a width of 0 (so also of 32) gives 0.
fn extract(a: u32, offset: u32, width: u32) -> u32 {
    a >> (offset & 31) & ((1 << (width & 31)) - 1)
}

fn extract_signed(a: u32, offset: u32, width: u32) -> u32 {
    let width = width & 31;
    if width == 0 {
        return 0;
    }
    let field = i64::from(a.cast_signed()) >> (offset & 31);
    (field << (64 - width) >> (64 - width)) as u32
}

fn ternary(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VMadI32I24 => u32s!(|a, b, c| ((sext24(a) * sext24(b)) as u32).wrapping_add(c)),
        Op::VMadU32U24 => u32s!(|a, b, c| ((low24(a) * low24(b)) as u32).wrapping_add(c)),
        Op::VMadU32U16 => u32s!(|a, b, c| (a * b).wrapping_add(c)),
        Op::VMadI32I16 => {
            u32s!(|a, b, c| (i32::from(a as i16) * i32::from(b as i16)).cast_unsigned().wrapping_add(c))
        }
        Op::VBfeU32 => u32s!(|a, b, c| extract(a, b, c)),
        Op::VBfeI32 => u32s!(|a, b, c| extract_signed(a, b, c)),
        Op::VBfiB32 => u32s!(|a, b, c| a & b | !a & c),
        Op::VAlignbitB32 => |_, [a, b, c]| (a << 32 | b) >> (c & 31) & 0xffff_ffff,
        Op::VAlignbyteB32 => |_, [a, b, c]| (a << 32 | b) >> (8 * (c & 3)) & 0xffff_ffff,
        Op::VMin3I32 => i32s!(|a, b, c| a.min(b).min(c)),
        Op::VMax3I32 => i32s!(|a, b, c| a.max(b).max(c)),
        Op::VMed3I32 => i32s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        Op::VMin3U32 => u32s!(|a, b, c| a.min(b).min(c)),
        Op::VMax3U32 => u32s!(|a, b, c| a.max(b).max(c)),
        Op::VMed3U32 => u32s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        Op::VXor3B32 => u32s!(|a, b, c| a ^ b ^ c),
        Op::VOr3B32 => u32s!(|a, b, c| a | b | c),
        Op::VAndOrB32 => u32s!(|a, b, c| a & b | c),
        Op::VXadU32 => u32s!(|a, b, c| (a ^ b).wrapping_add(c)),
        Op::VLshlAddU32 => u32s!(|a, b, c| (a << (b & 31)).wrapping_add(c)),
        Op::VAddLshlU32 => u32s!(|a, b, c| a.wrapping_add(b) << (c & 31)),
        Op::VLshlOrB32 => u32s!(|a, b, c| a << (b & 31) | c),
        Op::VAdd3U32 => u32s!(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
        _ => return None,
    })
}

fn differences(a: u32, b: u32) -> u32 {
    a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

fn dot(a: u32, b: u32, product: fn(u8, u8) -> i32) -> u32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| product(a, b)).sum::<i32>().cast_unsigned()
}

fn signed_bytes(a: u8, b: u8) -> i32 {
    i32::from(a.cast_signed()) * i32::from(b.cast_signed())
}

fn nibbles(a: u8, b: u8) -> i32 {
    i32::from(a & 15) * i32::from(b & 15) + i32::from(a >> 4) * i32::from(b >> 4)
}

fn signed_nibbles(a: u8, b: u8) -> i32 {
    let high = |x: u8| i32::from(x.cast_signed() >> 4);
    high(a << 4) * high(b << 4) + high(a) * high(b)
}

fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    let source = (u64::from(a) << 32 | u64::from(b)).to_le_bytes();
    u32::from_le_bytes(selectors.to_le_bytes().map(|selector| match selector {
        0..=7 => source[usize::from(selector)],
        8..=11 => {
            // Selectors 8 to 11 give the sign of byte 1, 3, 5 or 7.
            let sign = source[usize::from(selector - 8) * 2 + 1] >> 7;
            sign * 0xff
        }
        12 => 0,
        _ => 0xff,
    }))
}

fn bytes(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VPermB32 => u32s!(|a, b, c| permute(a, b, c)),
        Op::VLerpU8 => u32s!(|a, b, c| {
            let [a, b, c] = [a, b, c].map(u32::to_le_bytes);
            let average = |i: usize| (u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i] & 1)) >> 1;
            u32::from_le_bytes([0, 1, 2, 3].map(|i| average(i) as u8))
        }),
        Op::VSadU8 => u32s!(|a, b, c| differences(a, b).wrapping_add(c)),
        Op::VSadHiU8 => u32s!(|a, b, c| (differences(a, b) << 16).wrapping_add(c)),
        Op::VSadU16 => u32s!(|a, b, c| {
            let low = (a & 0xffff).abs_diff(b & 0xffff);
            low.wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
        }),
        Op::VSadU32 => u32s!(|a, b, c| a.abs_diff(b).wrapping_add(c)),
        Op::VDot4I32I8 | Op::VDot4cI32I8 => u32s!(|a, b, c| dot(a, b, signed_bytes).wrapping_add(c)),
        Op::VDot4U32U8 => u32s!(|a, b, c| dot(a, b, |a, b| i32::from(a) * i32::from(b)).wrapping_add(c)),
        Op::VDot8I32I4 => u32s!(|a, b, c| dot(a, b, signed_nibbles).wrapping_add(c)),
        Op::VDot8U32U4 => u32s!(|a, b, c| dot(a, b, nibbles).wrapping_add(c)),
        Op::VDot2I32I16 => u32s!(|a, b, c| {
            let product = |shift: u32| i32::from((a >> shift) as i16).wrapping_mul(i32::from((b >> shift) as i16));
            product(0).wrapping_add(product(16)).cast_unsigned().wrapping_add(c)
        }),
        Op::VDot2U32U16 => u32s!(|a, b, c| {
            let product = |shift: u32| (a >> shift & 0xffff).wrapping_mul(b >> shift & 0xffff);
            product(0).wrapping_add(product(16)).wrapping_add(c)
        }),
        Op::VSatPkU8I16 => u32s!(|a| {
            let byte = |x: u32| u32::from(i32::from(x as i16).clamp(0, 255).cast_unsigned() as u8);
            byte(a) | byte(a >> 16) << 8
        }),
        _ => return None,
    })
}

fn halves(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VAddNcU16 | Op::VAddNcI16 | Op::VPkAddU16 | Op::VPkAddI16 => u16s!(|a, b| a.wrapping_add(b)),
        Op::VSubNcU16 | Op::VSubNcI16 | Op::VPkSubU16 | Op::VPkSubI16 => u16s!(|a, b| a.wrapping_sub(b)),
        Op::VMulLoU16 | Op::VPkMulLoU16 => u16s!(|a, b| a.wrapping_mul(b)),
        // The shift amount has four bits (K).
        Op::VLshrrevB16 | Op::VPkLshrrevB16 => u16s!(|a, b| b >> (a & 15)),
        Op::VAshrrevI16 | Op::VPkAshrrevI16 => i16s!(|a, b| b >> (a & 15)),
        Op::VLshlrevB16 | Op::VPkLshlrevB16 => u16s!(|a, b| b << (a & 15)),
        Op::VMaxU16 | Op::VPkMaxU16 => u16s!(|a, b| a.max(b)),
        Op::VMaxI16 | Op::VPkMaxI16 => i16s!(|a, b| a.max(b)),
        Op::VMinU16 | Op::VPkMinU16 => u16s!(|a, b| a.min(b)),
        Op::VMinI16 | Op::VPkMinI16 => i16s!(|a, b| a.min(b)),
        Op::VMadU16 | Op::VPkMadU16 | Op::VMadI16 | Op::VPkMadI16 => u16s!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Op::VMin3I16 => i16s!(|a, b, c| a.min(b).min(c)),
        Op::VMax3I16 => i16s!(|a, b, c| a.max(b).max(c)),
        Op::VMed3I16 => i16s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        Op::VMin3U16 => u16s!(|a, b, c| a.min(b).min(c)),
        Op::VMax3U16 => u16s!(|a, b, c| a.max(b).max(c)),
        Op::VMed3U16 => u16s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        _ => return None,
    })
}

/// The saturating form of an integer operation with clamp.
pub fn saturating(op: Op) -> Option<LaneFn> {
    Some(match op {
        Op::VAddNcU32 => u32s!(|a, b| a.saturating_add(b)),
        Op::VSubNcU32 => u32s!(|a, b| a.saturating_sub(b)),
        Op::VSubrevNcU32 => u32s!(|a, b| b.saturating_sub(a)),
        Op::VAddNcI32 => i32s!(|a, b| a.saturating_add(b)),
        Op::VSubNcI32 => i32s!(|a, b| a.saturating_sub(b)),
        Op::VAddNcU16 | Op::VPkAddU16 => u16s!(|a, b| a.saturating_add(b)),
        Op::VSubNcU16 | Op::VPkSubU16 => u16s!(|a, b| a.saturating_sub(b)),
        Op::VAddNcI16 | Op::VPkAddI16 => i16s!(|a, b| a.saturating_add(b)),
        Op::VSubNcI16 | Op::VPkSubI16 => i16s!(|a, b| a.saturating_sub(b)),
        Op::VMadU32U24 => u32s!(|a, b, c| (low24(a) * low24(b) + u64::from(c)).min(0xffff_ffff) as u32),
        Op::VMadI32I24 => u32s!(|a, b, c| {
            let sum = sext24(a) * sext24(b) + i64::from(c.cast_signed());
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
        }),
        Op::VMadU16 | Op::VPkMadU16 => {
            u16s!(|a, b, c| (u32::from(a) * u32::from(b) + u32::from(c)).min(0xffff) as u16)
        }
        Op::VMadI16 | Op::VPkMadI16 => i16s!(|a, b, c| {
            let sum = i64::from(a) * i64::from(b) + i64::from(c);
            sum.clamp(-32768, 32767) as i16
        }),
        Op::VDot4I32I8 => {
            u32s!(|a, b, c| dot(a, b, signed_bytes).cast_signed().saturating_add(c as i32).cast_unsigned())
        }
        Op::VDot4U32U8 => u32s!(|a, b, c| dot(a, b, |a, b| i32::from(a) * i32::from(b)).saturating_add(c)),
        _ => return None,
    })
}

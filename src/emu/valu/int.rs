//! Integer and bit operations per lane (isa-gfx10 3.5, 3.8).
//!
//! To add one: a line in the list of its width. 16-bit values are in the low 16 bits, from either half of a register.

use super::lane::LaneFn;

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

/// Operation of a mnemonic.
pub fn resolve(name: &str) -> Option<LaneFn> {
    words(name).or_else(|| ternary(name)).or_else(|| bytes(name)).or_else(|| halves(name))
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

fn words(name: &str) -> Option<LaneFn> {
    Some(match name {
        "v_mov_b32" => u32s!(|a| a),
        "v_not_b32" => u32s!(|a| !a),
        "v_bfrev_b32" => u32s!(|a| a.reverse_bits()),
        "v_ffbh_u32" => u32s!(|a| first(a.leading_zeros())),
        "v_ffbl_b32" => u32s!(|a| first(a.trailing_zeros())),
        "v_ffbh_i32" => u32s!(|a| first(if a >> 31 == 1 { !a } else { a }.leading_zeros())),
        "v_mul_i32_i24" => u32s!(|a, b| (sext24(a) * sext24(b)) as u32),
        "v_mul_hi_i32_i24" => u32s!(|a, b| ((sext24(a) * sext24(b)) >> 32) as u32),
        "v_mul_u32_u24" => u32s!(|a, b| (low24(a) * low24(b)) as u32),
        "v_mul_hi_u32_u24" => u32s!(|a, b| ((low24(a) * low24(b)) >> 32) as u32),
        "v_min_i32" => i32s!(|a, b| a.min(b)),
        "v_max_i32" => i32s!(|a, b| a.max(b)),
        "v_min_u32" => u32s!(|a, b| a.min(b)),
        "v_max_u32" => u32s!(|a, b| a.max(b)),
        "v_lshrrev_b32" => u32s!(|a, b| b >> (a & 31)),
        "v_ashrrev_i32" => i32s!(|a, b| b >> (a & 31)),
        "v_lshlrev_b32" => u32s!(|a, b| b << (a & 31)),
        "v_and_b32" => u32s!(|a, b| a & b),
        "v_or_b32" => u32s!(|a, b| a | b),
        "v_xor_b32" => u32s!(|a, b| a ^ b),
        "v_xnor_b32" => u32s!(|a, b| !(a ^ b)),
        "v_add_nc_u32" | "v_add_nc_i32" => u32s!(|a, b| a.wrapping_add(b)),
        "v_sub_nc_u32" | "v_sub_nc_i32" => u32s!(|a, b| a.wrapping_sub(b)),
        "v_subrev_nc_u32" => u32s!(|a, b| b.wrapping_sub(a)),
        "v_mul_lo_u32" => u32s!(|a, b| a.wrapping_mul(b)),
        "v_mul_hi_u32" => |_, [a, b, _]| (a * b) >> 32,
        "v_mul_hi_i32" => u32s!(|a, b| ((i64::from(a.cast_signed()) * i64::from(b.cast_signed())) >> 32) as u32),
        "v_bfm_b32" => u32s!(|a, b| ((1u32 << (a & 31)) - 1) << (b & 31)),
        "v_bcnt_u32_b32" => u32s!(|a, b| a.count_ones().wrapping_add(b)),
        "v_cvt_pk_u16_u32" => u32s!(|a, b| a.min(0xffff) | b.min(0xffff) << 16),
        "v_cvt_pk_i16_i32" => i32s!(|a, b| a.clamp(-32768, 32767) & 0xffff | b.clamp(-32768, 32767) << 16),
        "v_lshlrev_b64" => |_, [a, b, _]| b << (a & 63),
        "v_lshrrev_b64" => |_, [a, b, _]| b >> (a & 63),
        "v_ashrrev_i64" => |_, [a, b, _]| (b.cast_signed() >> (a & 63)).cast_unsigned(),
        _ => return None,
    })
}

/// Bit field by offset and width of 5 bits each; a width of 0, and so of 32, gives 0.
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

fn ternary(name: &str) -> Option<LaneFn> {
    Some(match name {
        "v_mad_i32_i24" => u32s!(|a, b, c| ((sext24(a) * sext24(b)) as u32).wrapping_add(c)),
        "v_mad_u32_u24" => u32s!(|a, b, c| ((low24(a) * low24(b)) as u32).wrapping_add(c)),
        "v_mad_u32_u16" => u32s!(|a, b, c| (a * b).wrapping_add(c)),
        "v_mad_i32_i16" => {
            u32s!(|a, b, c| (i32::from(a as i16) * i32::from(b as i16)).cast_unsigned().wrapping_add(c))
        }
        "v_bfe_u32" => u32s!(|a, b, c| extract(a, b, c)),
        "v_bfe_i32" => u32s!(|a, b, c| extract_signed(a, b, c)),
        "v_bfi_b32" => u32s!(|a, b, c| a & b | !a & c),
        "v_alignbit_b32" => |_, [a, b, c]| (a << 32 | b) >> (c & 31) & 0xffff_ffff,
        "v_alignbyte_b32" => |_, [a, b, c]| (a << 32 | b) >> (8 * (c & 3)) & 0xffff_ffff,
        "v_min3_i32" => i32s!(|a, b, c| a.min(b).min(c)),
        "v_max3_i32" => i32s!(|a, b, c| a.max(b).max(c)),
        "v_med3_i32" => i32s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        "v_min3_u32" => u32s!(|a, b, c| a.min(b).min(c)),
        "v_max3_u32" => u32s!(|a, b, c| a.max(b).max(c)),
        "v_med3_u32" => u32s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        "v_xor3_b32" => u32s!(|a, b, c| a ^ b ^ c),
        "v_or3_b32" => u32s!(|a, b, c| a | b | c),
        "v_and_or_b32" => u32s!(|a, b, c| a & b | c),
        "v_xad_u32" => u32s!(|a, b, c| (a ^ b).wrapping_add(c)),
        "v_lshl_add_u32" => u32s!(|a, b, c| (a << (b & 31)).wrapping_add(c)),
        "v_add_lshl_u32" => u32s!(|a, b, c| a.wrapping_add(b) << (c & 31)),
        "v_lshl_or_b32" => u32s!(|a, b, c| a << (b & 31) | c),
        "v_add3_u32" => u32s!(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
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
            // The sign of the bytes 1, 3, 5, 7.
            let sign = source[usize::from(selector - 8) * 2 + 1] >> 7;
            sign * 0xff
        }
        12 => 0,
        _ => 0xff,
    }))
}

fn bytes(name: &str) -> Option<LaneFn> {
    Some(match name {
        "v_perm_b32" => u32s!(|a, b, c| permute(a, b, c)),
        "v_lerp_u8" => u32s!(|a, b, c| {
            let [a, b, c] = [a, b, c].map(u32::to_le_bytes);
            let average = |i: usize| (u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i] & 1)) >> 1;
            u32::from_le_bytes([0, 1, 2, 3].map(|i| average(i) as u8))
        }),
        "v_sad_u8" => u32s!(|a, b, c| differences(a, b).wrapping_add(c)),
        "v_sad_hi_u8" => u32s!(|a, b, c| (differences(a, b) << 16).wrapping_add(c)),
        "v_sad_u16" => u32s!(|a, b, c| {
            let low = (a & 0xffff).abs_diff(b & 0xffff);
            low.wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
        }),
        "v_sad_u32" => u32s!(|a, b, c| a.abs_diff(b).wrapping_add(c)),
        "v_dot4_i32_i8" | "v_dot4c_i32_i8" => u32s!(|a, b, c| dot(a, b, signed_bytes).wrapping_add(c)),
        "v_dot4_u32_u8" => u32s!(|a, b, c| dot(a, b, |a, b| i32::from(a) * i32::from(b)).wrapping_add(c)),
        "v_dot8_i32_i4" => u32s!(|a, b, c| dot(a, b, signed_nibbles).wrapping_add(c)),
        "v_dot8_u32_u4" => u32s!(|a, b, c| dot(a, b, nibbles).wrapping_add(c)),
        "v_dot2_i32_i16" => u32s!(|a, b, c| {
            let product = |shift: u32| i32::from((a >> shift) as i16).wrapping_mul(i32::from((b >> shift) as i16));
            product(0).wrapping_add(product(16)).cast_unsigned().wrapping_add(c)
        }),
        "v_dot2_u32_u16" => u32s!(|a, b, c| {
            let product = |shift: u32| (a >> shift & 0xffff).wrapping_mul(b >> shift & 0xffff);
            product(0).wrapping_add(product(16)).wrapping_add(c)
        }),
        "v_sat_pk_u8_i16" => u32s!(|a| {
            let byte = |x: u32| u32::from(i32::from(x as i16).clamp(0, 255).cast_unsigned() as u8);
            byte(a) | byte(a >> 16) << 8
        }),
        _ => return None,
    })
}

fn halves(name: &str) -> Option<LaneFn> {
    Some(match name.strip_prefix("v_pk_").or(name.strip_prefix("v_"))? {
        "add_nc_u16" | "add_nc_i16" | "add_u16" | "add_i16" => u16s!(|a, b| a.wrapping_add(b)),
        "sub_nc_u16" | "sub_nc_i16" | "sub_u16" | "sub_i16" => u16s!(|a, b| a.wrapping_sub(b)),
        "mul_lo_u16" => u16s!(|a, b| a.wrapping_mul(b)),
        // Four bits of the amount count (K).
        "lshrrev_b16" => u16s!(|a, b| b >> (a & 15)),
        "ashrrev_i16" => i16s!(|a, b| b >> (a & 15)),
        "lshlrev_b16" => u16s!(|a, b| b << (a & 15)),
        "max_u16" => u16s!(|a, b| a.max(b)),
        "max_i16" => i16s!(|a, b| a.max(b)),
        "min_u16" => u16s!(|a, b| a.min(b)),
        "min_i16" => i16s!(|a, b| a.min(b)),
        "mad_u16" | "mad_i16" => u16s!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "min3_i16" => i16s!(|a, b, c| a.min(b).min(c)),
        "max3_i16" => i16s!(|a, b, c| a.max(b).max(c)),
        "med3_i16" => i16s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        "min3_u16" => u16s!(|a, b, c| a.min(b).min(c)),
        "max3_u16" => u16s!(|a, b, c| a.max(b).max(c)),
        "med3_u16" => u16s!(|a, b, c| a.max(b).min(a.min(b).max(c))),
        _ => return None,
    })
}

/// The clamped form of an integer operation: it saturates.
pub fn saturating(name: &str) -> Option<LaneFn> {
    Some(match name {
        "v_add_nc_u32" => u32s!(|a, b| a.saturating_add(b)),
        "v_sub_nc_u32" => u32s!(|a, b| a.saturating_sub(b)),
        "v_subrev_nc_u32" => u32s!(|a, b| b.saturating_sub(a)),
        "v_add_nc_i32" => i32s!(|a, b| a.saturating_add(b)),
        "v_sub_nc_i32" => i32s!(|a, b| a.saturating_sub(b)),
        "v_add_nc_u16" | "v_pk_add_u16" => u16s!(|a, b| a.saturating_add(b)),
        "v_sub_nc_u16" | "v_pk_sub_u16" => u16s!(|a, b| a.saturating_sub(b)),
        "v_add_nc_i16" | "v_pk_add_i16" => i16s!(|a, b| a.saturating_add(b)),
        "v_sub_nc_i16" | "v_pk_sub_i16" => i16s!(|a, b| a.saturating_sub(b)),
        "v_mad_u32_u24" => u32s!(|a, b, c| (low24(a) * low24(b) + u64::from(c)).min(0xffff_ffff) as u32),
        "v_mad_i32_i24" => u32s!(|a, b, c| {
            let sum = sext24(a) * sext24(b) + i64::from(c.cast_signed());
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
        }),
        "v_mad_u16" | "v_pk_mad_u16" => {
            u16s!(|a, b, c| (u32::from(a) * u32::from(b) + u32::from(c)).min(0xffff) as u16)
        }
        "v_mad_i16" | "v_pk_mad_i16" => i16s!(|a, b, c| {
            let sum = i64::from(a) * i64::from(b) + i64::from(c);
            sum.clamp(-32768, 32767) as i16
        }),
        "v_dot4_i32_i8" => {
            u32s!(|a, b, c| dot(a, b, signed_bytes).cast_signed().saturating_add(c as i32).cast_unsigned())
        }
        "v_dot4_u32_u8" => u32s!(|a, b, c| dot(a, b, |a, b| i32::from(a) * i32::from(b)).saturating_add(c)),
        _ => return None,
    })
}

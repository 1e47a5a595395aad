//! Sums of products of bytes or nibbles with a sign for each factor, which is where packed floats have the sign of the
//! low half (LLVM: `v_dot4_i32_iu8`, `neg_lo`).

use super::lane::LaneFn;
use dovetail_isa::Op;

/// The operation, for `signs`: a bit for each factor.
pub fn resolve(op: Op, signs: u8, clamp: bool) -> Option<LaneFn> {
    match op {
        Op::VDot4I32Iu8 => Some(signed::<8>(signs, clamp)),
        Op::VDot8I32Iu4 => Some(signed::<4>(signs, clamp)),
        _ => None,
    }
}

fn signed<const BITS: u32>(signs: u8, clamp: bool) -> LaneFn {
    match signs & 3 {
        0 => clamped::<BITS, false, false>(clamp),
        1 => clamped::<BITS, true, false>(clamp),
        2 => clamped::<BITS, false, true>(clamp),
        _ => clamped::<BITS, true, true>(clamp),
    }
}

fn clamped<const BITS: u32, const A: bool, const B: bool>(clamp: bool) -> LaneFn {
    if clamp { |_, values| dot::<BITS, A, B, true>(values) } else { |_, values| dot::<BITS, A, B, false>(values) }
}

fn dot<const BITS: u32, const A: bool, const B: bool, const CLAMP: bool>([a, b, c]: [u64; 3]) -> u64 {
    let field = |word: u64, n: u32, signed: bool| {
        let bits = (word as u32) << (32 - BITS - n * BITS);
        if signed { i64::from(bits.cast_signed() >> (32 - BITS)) } else { i64::from(bits >> (32 - BITS)) }
    };
    let products = (0..32 / BITS).map(|n| field(a, n, A) * field(b, n, B));
    let sum = products.sum::<i64>() + i64::from((c as u32).cast_signed());
    let sum = if CLAMP { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
    u64::from(sum as u32)
}

#[cfg(test)]
mod tests {
    use super::dot;

    #[test]
    fn each_factor_has_its_own_sign() {
        let [a, b] = [0x0000_00ff, 0x0000_0002];
        assert_eq!(dot::<8, true, true, false>([a, b, 10]), 8);
        assert_eq!(dot::<8, false, true, false>([a, b, 10]), 520);
        assert_eq!(dot::<8, true, false, false>([b, a, 0]), 510);
        assert_eq!(dot::<4, true, true, false>([0xff, 0x33, 0]), u64::from((-6i32).cast_unsigned()));
        assert_eq!(dot::<4, false, true, false>([0xff, 0x33, 0]), 90);
        assert_eq!(dot::<8, false, false, true>([0xffff_ffff, 0xffff_ffff, 0x7fff_ffff]), 0x7fff_ffff);
    }
}

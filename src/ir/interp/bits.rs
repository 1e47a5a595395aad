//! Error bounds of integer operations on a float's bits, as in approximate reciprocals and roots: `0x7ef07ebb - bits`.
//!
//! The bits of positive floats have the same order as the floats, and integer add, subtract and shift are monotonic, so
//! the image of an interval lies between the images of its ends.

use super::shadow::Shadow;
use dovetail_ir::number::{decode, encode, integer};
use dovetail_ir::{AluOp, Bits};

/// The shadow of the result as a float; `None` if the operation is not monotonic, or an end is not a positive float.
pub fn of_float_bits(op: AluOp, args: [u64; 3], shadows: [Shadow; 3], width: Bits, result: u64) -> Option<Shadow> {
    let [x, y, _] = shadows;
    let inexact = |s: Shadow| !s.is_exact() && !s.is_uncertain();
    let (n, shadow) = match op {
        AluOp::IAdd | AluOp::ISub | AluOp::LShr if inexact(x) && y.is_exact() => (0, x),
        AluOp::IAdd | AluOp::ISub if x.is_exact() && inexact(y) => (1, y),
        _ => return None,
    };
    let infinite = encode(f64::INFINITY, width);
    let positive = |bits: &u64| (1..infinite).contains(bits);
    // Rounds outwards.
    let low = encode(shadow.value - shadow.bound, width).checked_sub(1)?;
    let high = encode(shadow.value + shadow.bound, width) + 1;
    if width < Bits::B16 || ![low, high].iter().all(positive) {
        return None;
    }
    let value = decode(result, width);
    let mut bound = 0f64;
    for bits in [low, high] {
        let mut ends = args;
        *ends.get_mut(n)? = bits;
        let end = integer(op, ends, width, width).filter(positive)?;
        bound = bound.max((decode(end, width) - value).abs());
    }
    positive(&result).then_some(Shadow { value, bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reciprocal(x: f32, bound: f64) -> Option<Shadow> {
        let args = [0x7ef0_7ebb, u64::from(x.to_bits()), 0];
        let shadows = [Shadow::NONE, Shadow { value: x.into(), bound }, Shadow::NONE];
        of_float_bits(AluOp::ISub, args, shadows, Bits::B32, args[0] - args[1])
    }

    #[test]
    fn an_approximate_reciprocal_is_as_certain_as_its_operand() {
        let s = reciprocal(1.5, 1e-5).unwrap();
        assert!((s.value - 1.0 / 1.5).abs() < 0.1, "{s:?}");
        // The slope is -1/2 here, and the ends are one step further out.
        assert!(s.bound >= 0.5e-5 && s.bound < 0.6e-5, "{s:?}");
    }

    #[test]
    fn what_may_leave_the_positive_numbers_is_uncertain() {
        assert_eq!(reciprocal(1.0, 2.0), None);
        assert_eq!(reciprocal(f32::MIN_POSITIVE, 1.0), None);
        let args = [0x3f80_0000, u64::from(1f32.to_bits()), 0];
        let shadows = [Shadow::NONE, Shadow { value: 1.0, bound: 1e-3 }, Shadow::NONE];
        assert_eq!(of_float_bits(AluOp::ISub, args, shadows, Bits::B32, 0), None, "a difference that turns negative");
        assert_eq!(of_float_bits(AluOp::IAnd, args, shadows, Bits::B32, 0), None);
    }
}

//! Division of integers by a constant: shifts, or the high half of a product.
//!
//! The factor is ⌈2^(w+s) / d⌉ for a width w. Its error times the largest dividend must stay below 2^(w+s). The shift s
//! is the smallest that satisfies this with a factor that fits the width; a dividend that is known to be small allows a
//! smaller one.

use super::wide;
use dovetail_ir::{AluOp, Builder, Type, Value};

/// Quotient and remainder of unsigned numbers. `largest` is the largest dividend; `d` is not zero.
pub(super) fn unsigned(b: &mut Builder<'_>, x: Value, d: u64, largest: u64) -> [Value; 2] {
    let ty = b.ty(x);
    let by = b.iconst(ty, d);
    if d.is_power_of_two() {
        let (shift, mask) = (b.iconst(ty, u64::from(d.trailing_zeros())), b.iconst(ty, d - 1));
        return [b.alu(AluOp::LShr, &[x, shift]), b.alu(AluOp::IAnd, &[x, mask])];
    }
    let quotient = unsigned_quotient(b, x, d, largest);
    let product = b.alu(AluOp::IMul, &[quotient, by]);
    [quotient, b.alu(AluOp::ISub, &[x, product])]
}

fn unsigned_quotient(b: &mut Builder<'_>, x: Value, d: u64, largest: u64) -> Value {
    let ty = b.ty(x);
    let width = ty.bits().count();
    if largest < d {
        return b.iconst(ty, 0);
    }
    if d > ty.bits().mask() / 2 {
        let by = b.iconst(ty, d);
        let once = b.alu(AluOp::UGe, &[x, by]);
        return b.convert(AluOp::ZExt, once, ty);
    }
    if let Some((factor, shift)) = factor(d, width, largest) {
        return high_then_shift(b, x, factor, shift);
    }
    // Without the divisor's factors of two, the dividend is small enough.
    let twos = d.trailing_zeros();
    if twos > 0
        && let Some((factor, shift)) = factor(d >> twos, width, largest >> twos)
    {
        let x = shifted(b, AluOp::LShr, x, twos);
        return high_then_shift(b, x, factor, shift);
    }
    // The factor has one bit more than the width. Its highest bit becomes a sum, which is halved so that it does not
    // overflow.
    let shift = u64::BITS - d.leading_zeros();
    let full = (1u128 << (width + shift)) / u128::from(d) + 1;
    let low = b.iconst(ty, full as u64);
    let high = multiply_high(b, false, x, low);
    let rest = b.alu(AluOp::ISub, &[x, high]);
    let half = shifted(b, AluOp::LShr, rest, 1);
    let sum = b.alu(AluOp::IAdd, &[half, high]);
    shifted(b, AluOp::LShr, sum, shift - 1)
}

/// Quotient towards zero and its remainder. `d` is neither zero nor one or minus one.
pub(super) fn signed(b: &mut Builder<'_>, x: Value, d: i64) -> [Value; 2] {
    let ty = b.ty(x);
    let width = ty.bits().count();
    let magnitude = d.unsigned_abs() & ty.bits().mask();
    let (quotient, product) = if magnitude.is_power_of_two() {
        // A negative dividend is rounded up by adding d - 1.
        let twos = magnitude.trailing_zeros();
        let sign = wide::sign(b, x);
        let bias = shifted(b, AluOp::LShr, sign, width - twos);
        let (sum, mask) = (b.alu(AluOp::IAdd, &[x, bias]), b.iconst(ty, magnitude.wrapping_neg()));
        (shifted(b, AluOp::AShr, sum, twos), b.alu(AluOp::IAnd, &[sum, mask]))
    } else {
        let (factor, shift, add) = signed_factor(magnitude, width);
        let factor = b.iconst(ty, factor);
        let mut high = multiply_high(b, true, x, factor);
        if add {
            high = b.alu(AluOp::IAdd, &[high, x]);
        }
        let down = shifted(b, AluOp::AShr, high, shift);
        let sign = wide::sign(b, x);
        let quotient = b.alu(AluOp::ISub, &[down, sign]);
        let by = b.iconst(ty, magnitude);
        (quotient, b.alu(AluOp::IMul, &[quotient, by]))
    };
    let rest = b.alu(AluOp::ISub, &[x, product]);
    let zero = b.iconst(ty, 0);
    [if d < 0 { b.alu(AluOp::ISub, &[zero, quotient]) } else { quotient }, rest]
}

/// A factor that fits the width, and the shift of the product's high half. `d` has fewer bits than the width.
fn factor(d: u64, width: u32, largest: u64) -> Option<(u64, u32)> {
    (0..width).find_map(|shift| {
        let power = 1u128.checked_shl(width + shift)?;
        let factor = power / u128::from(d) + 1;
        let error = factor * u128::from(d) - power;
        let fits = factor <= u128::from(u64::MAX >> (64 - width));
        (fits && error * u128::from(largest) < power).then_some((factor as u64, shift))
    })
}

/// [`factor`] for dividends of either sign. With `add` the factor does not fit as a positive number: as a signed number
/// it is 2^w too small.
fn signed_factor(d: u64, width: u32) -> (u64, u32, bool) {
    let last = u64::BITS - (d - 1).leading_zeros() - 1;
    let at = |shift: u32| {
        let power = 1u128 << (width + shift);
        (power / u128::from(d) + 1, power)
    };
    let small = (0..=last).find(|&shift| {
        let (factor, power) = at(shift);
        factor < 1 << (width - 1) && factor * u128::from(d) - power <= 2 << shift
    });
    let shift = small.unwrap_or(last);
    (at(shift).0 as u64, shift, small.is_none())
}

fn high_then_shift(b: &mut Builder<'_>, x: Value, factor: u64, shift: u32) -> Value {
    let factor = b.iconst(b.ty(x), factor);
    let high = multiply_high(b, false, x, factor);
    shifted(b, AluOp::LShr, high, shift)
}

fn multiply_high(b: &mut Builder<'_>, signed: bool, x: Value, y: Value) -> Value {
    match b.ty(x) {
        Type::B64 => wide::multiply_high(b, signed, x, y),
        _ => b.alu(if signed { AluOp::SMulHigh } else { AluOp::UMulHigh }, &[x, y]),
    }
}

fn shifted(b: &mut Builder<'_>, op: AluOp, x: Value, by: u32) -> Value {
    let by = match by {
        0 => return x,
        by => b.iconst(b.ty(x), u64::from(by)),
    };
    b.alu(op, &[x, by])
}

//! A float's value without rounding, and how far another correct implementation may be from it.
//!
//! Every value may have a [`Shadow`]: the result of the same operations in double precision, and a first-order error
//! bound, to which each operation adds the error that Vulkan's "Precision and Operation of SPIR-V Instructions" allows.
//! If such an error could change a decision (a comparison, a rounding to an integer), the result is *uncertain*, and so
//! is everything that depends on it: two correct implementations may differ there, and nothing is compared.

use dovetail_ir::number::{decode, encode, exponent, float, power_of_two, real, ulp};
use dovetail_ir::{AluOp, Bits, DenormMode};

/// A float's exact value and error bound. [`Shadow::NONE`] is a value that is known to the bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadow {
    /// The number without rounding.
    pub value: f64,
    /// Largest distance of a correct result from it; negative: exact bits; infinite: uncertain.
    pub bound: f64,
}

impl Default for Shadow {
    fn default() -> Self {
        Self::NONE
    }
}

impl Shadow {
    /// Every implementation gives these bits.
    pub const NONE: Self = Self { value: 0.0, bound: -1.0 };
    /// Correct implementations may differ.
    pub const UNCERTAIN: Self = Self { value: 0.0, bound: f64::INFINITY };
    /// The shader leaves it undefined (`OpUndef`): nothing that an implementation gives here is wrong.
    pub const UNDEFINED: Self = Self { value: f64::MIN, bound: f64::INFINITY };

    /// Whether correct implementations may differ without limit.
    pub fn is_uncertain(self) -> bool {
        !self.bound.is_finite()
    }

    /// Whether it is undefined.
    pub fn is_undefined(self) -> bool {
        self == Self::UNDEFINED
    }

    /// Whether every implementation gives these bits.
    pub fn is_exact(self) -> bool {
        self.bound <= 0.0
    }

    /// The value and bound; without a shadow, the value of the bits.
    pub(super) fn number(self, bits: u64, width: Bits) -> (f64, f64) {
        if self.bound < 0.0 { (decode(bits, width), 0.0) } else { (self.value, self.bound) }
    }

    /// The shadow of the result of a non-float operation: as certain as its operands.
    pub fn of_bits(operands: &[Self]) -> Self {
        if operands.iter().all(|s| s.is_exact()) { Self::NONE } else { Self::of_uncertain(operands) }
    }

    /// The shadow of a result of operands that are not all certain: undefined if all of them are.
    fn of_uncertain(operands: &[Self]) -> Self {
        if operands.iter().all(|s| s.is_undefined()) { Self::UNDEFINED } else { Self::UNCERTAIN }
    }

    /// The shadow of a select: if the condition is uncertain, either operand may be chosen.
    pub fn of_select(cond: Self, chosen: (u64, Self), other: (u64, Self), width: Bits, floats: bool) -> Self {
        if cond.is_exact() {
            return chosen.1;
        }
        if chosen.0 == other.0 && chosen.1.is_exact() && other.1.is_exact() {
            return Self::NONE;
        }
        if !floats {
            return Self::UNCERTAIN;
        }
        let ((x, bx), (y, by)) = (chosen.1.number(chosen.0, width), other.1.number(other.0, width));
        Self { value: x, bound: (x - y).abs() + bx.max(by) }
    }

    /// The shadow of a function whose last step gives these bits, if Vulkan allows it an error of 4096 ulp.
    pub fn coarse(self, bits: u64, width: Bits) -> Self {
        let (value, bound) = self.number(bits, width);
        Self { value, bound: bound + 4096.0 * ulp(value, width) }
    }

    /// Whether these are floats rather than plain bits.
    pub fn is_float(self) -> bool {
        self.bound >= 0.0
    }
}

/// Whether an integer operation may give any value, by the table of operations: division by zero, a shift by the width
/// or more, a bit field that exceeds the value. Vulkan leaves every remainder of a negative operand undefined, but all
/// implementations that are compared agree on it where dividend and divisor have the same sign, and on `SRem`.
pub fn is_free(op: AluOp, [x, y, z]: [u64; 3], width: Bits) -> bool {
    use AluOp as A;
    let count = u64::from(width.count());
    match op {
        A::SMod if (x ^ y) >> (count - 1) & 1 != 0 => true,
        A::UDiv | A::UMod => y == 0,
        A::SDiv | A::SRem | A::SMod => y == 0 || y == width.mask() && x == 1 << (count - 1),
        A::Shl | A::LShr | A::AShr => y >= count,
        A::UBitExtract | A::SBitExtract => y.saturating_add(z) > count,
        _ => false,
    }
}

/// The shadow of a float operation's result, given the treatment of denormals.
pub fn of_float(
    op: AluOp,
    args: [u64; 3],
    shadows: [Shadow; 3],
    from: Bits,
    to: Bits,
    result: u64,
    denormals: [DenormMode; 3],
) -> Shadow {
    let used = op.arity().min(3);
    let shadows_used = shadows.get(..used).unwrap_or_default();
    if shadows_used.iter().any(|s| s.is_uncertain()) {
        return Shadow::of_uncertain(shadows_used);
    }
    let mut x = [0.0; 3];
    let mut b = [0.0; 3];
    for i in 0..used {
        (x[i], b[i]) = shadows[i].number(args[i], from);
        // A denormal may be flushed before it is used.
        if may_be_zero(x[i], from, denormals) {
            b[i] = b[i].max(x[i].abs());
        }
    }
    if op == AluOp::FLdexp {
        (x[1], b[1]) = (dovetail_ir::number::signed(args[1], 32) as f64, 0.0);
        if !shadows[1].is_exact() {
            return Shadow::UNCERTAIN;
        }
    }
    if !op.gives_float() {
        return of_decision(op, x, b, to);
    }
    // A plain conversion may round to nearest or to zero, whatever lies on either side.
    if narrows(op, from, to) && op != AluOp::FConv && b[0] > 0.0 {
        let ends = [x[0] - b[0], x[0] + b[0]].map(|x| float(op, [x.to_bits(), 0, 0], Bits::B64, to));
        if ends[0] == ends[1] && ends[0] == Some(result) {
            return Shadow { value: decode(result, to), bound: 0.0 };
        }
    }
    // A remainder by what may be zero is anything, and so is one by infinity: no number or, if the quotient is not
    // multiplied by it again, the dividend.
    if matches!(op, AluOp::FRem | AluOp::FMod) && (b[1] >= x[1].abs() || x[1].is_infinite()) {
        return Shadow::UNCERTAIN;
    }
    let Some(value) = real(op, x) else { return Shadow::UNCERTAIN };
    let exact = b.iter().all(|b| *b == 0.0) && decode(result, to) == value && is_exact_double(op, x, to);
    // Fusing is optional, so the result is exact only if it is exact with and without it.
    let exact = exact && (op != AluOp::FFma || decode(encode(x[0] * x[1], to), to) == x[0] * x[1]);
    if exact && is_rounded_right(op) && !may_be_zero(value, to, denormals) {
        return Shadow { value, bound: 0.0 };
    }
    Shadow { value, bound: spread(op, x, b, value) + allowed(op, x, value, to, denormals) }
}

/// The smallest normal number of a width.
fn least(width: Bits) -> f64 {
    match width {
        Bits::B16 => power_of_two(-14),
        Bits::B64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Whether an implementation may treat it as zero: a denormal that the shader does not preserve. No implementation
/// compared here flushes doubles.
fn may_be_zero(x: f64, width: Bits, denormals: [DenormMode; 3]) -> bool {
    let kept = match width {
        Bits::B16 => denormals[0] == DenormMode::Preserve,
        Bits::B64 => true,
        _ => denormals[1] == DenormMode::Preserve,
    };
    !kept && x != 0.0 && x.abs() < least(width)
}

fn narrows(op: AluOp, from: Bits, to: Bits) -> bool {
    matches!(op, AluOp::FConv | AluOp::FConvRtz) && to < from || op == AluOp::FQuantize16
}

/// The shadow of a decision on inexact numbers: `NONE`, or uncertain if their errors can change it.
fn of_decision(op: AluOp, x: [f64; 3], b: [f64; 3], to: Bits) -> Shadow {
    if matches!(op, AluOp::F2S | AluOp::F2U) && !fits(op, x[0], b[0], to) {
        return Shadow::UNCERTAIN;
    }
    // NaN stays NaN whatever its error.
    if b.iter().all(|b| *b == 0.0) || x.iter().any(|x| x.is_nan()) {
        return Shadow::NONE;
    }
    let stable = match op {
        AluOp::FIsNan | AluOp::FIsInf | AluOp::FOrd | AluOp::FUno => true,
        AluOp::F2S | AluOp::F2U | AluOp::FFrexpExp | AluOp::PackNorm16 | AluOp::PackSnorm16 => {
            let at = |sign: f64| {
                let moved = [0, 1].map(|i| encode(x[i] + sign * b[i], Bits::B64));
                float(op, [moved[0], moved[1], 0], Bits::B64, to)
            };
            at(1.0) == at(-1.0)
        }
        _ => (x[0] - x[1]).abs() > b[0] + b[1],
    };
    if stable { Shadow::NONE } else { Shadow::UNCERTAIN }
}

/// Whether an integer of this width can hold a number: the conversion of any other is undefined.
fn fits(op: AluOp, x: f64, off: f64, to: Bits) -> bool {
    let (least, end) = match op {
        AluOp::F2S => (-2f64.powi(to.count() as i32 - 1), 2f64.powi(to.count() as i32 - 1)),
        _ => (0.0, 2f64.powi(to.count() as i32)),
    };
    let [low, high] = [(x - off).trunc(), (x + off).trunc()];
    low >= least && high < end
}

/// Whether the double holds the result without rounding: the rounding error of a sum or product is itself a double.
/// Of numbers narrower than doubles, a product always is.
fn is_exact_double(op: AluOp, [x, y, z]: [f64; 3], width: Bits) -> bool {
    let sum = |x: f64, y: f64| (x + y) - x == y && (x + y) - y == x;
    match op {
        AluOp::FAdd => sum(x, y),
        AluOp::FSub => sum(x, -y),
        AluOp::FMul => x.mul_add(y, -(x * y)) == 0.0,
        AluOp::FFma => width < Bits::B64 && sum(x * y, z),
        AluOp::FFract => width < Bits::B64,
        _ => true,
    }
}

/// Operations that must be exact if an exact result exists.
fn is_rounded_right(op: AluOp) -> bool {
    use AluOp as A;
    !matches!(
        op,
        A::FDiv | A::FRem | A::FMod | A::FSqrt | A::FRsq | A::FRcp | A::FExp2 | A::FLog2 | A::FPow | A::FSin | A::FCos
    )
}

/// The result's error that the operands' errors cause.
fn spread(op: AluOp, [x, y, _]: [f64; 3], [bx, by, bz]: [f64; 3], r: f64) -> f64 {
    use AluOp as A;
    // Step functions: compares the values at the ends of the operand's interval, which may be many steps apart.
    let steps = |f: fn(f64) -> f64| (f(x - bx) - f(x)).abs().max((f(x + bx) - f(x)).abs());
    match op {
        A::FAdd | A::FSub => bx + by,
        A::FMul => bx * y.abs() + by * x.abs() + bx * by,
        A::FFma => bx * y.abs() + by * x.abs() + bx * by + bz,
        A::FDiv => (bx + by * r.abs()) / (y.abs() - by).max(0.0),
        A::FRcp => bx * r * r / (1.0 - bx * r.abs()).max(0.0),
        A::FRem => {
            bx + by * (x / y).abs() + if bx + by > 0.0 { step_of_quotient(x, y, bx, by, f64::trunc) } else { 0.0 }
        }
        A::FMod => {
            bx + by * (x / y).abs() + if bx + by > 0.0 { step_of_quotient(x, y, bx, by, f64::floor) } else { 0.0 }
        }
        A::FSign => steps(|x| if x == 0.0 { 0.0 } else { x.signum() }),
        A::FFloor => steps(f64::floor),
        A::FCeil => steps(f64::ceil),
        A::FTrunc => steps(f64::trunc),
        A::FRoundEven => steps(f64::round_ties_even),
        A::FFract => bx + steps(f64::floor).min(1.0),
        A::FMin | A::FMax => bx.max(by),
        A::FSqrt => bx.sqrt().min(bx / r.abs()),
        A::FRsq => bx * r.abs().powi(3) * 0.5 / (1.0 - bx * r * r).max(0.0),
        A::FExp2 => ((x + bx).exp2() - r).abs(),
        A::FLog2 => bx / (x - bx).max(0.0) * std::f64::consts::LOG2_E,
        A::FPow => {
            let ends =
                [x - bx, x + bx].map(|x| x.max(0.0)).into_iter().flat_map(|x| [y - by, y + by].map(|y| x.powf(y)));
            ends.map(|end| (end - r).abs())
                .fold(0.0, |most, off| if off.is_nan() { f64::INFINITY } else { off.max(most) })
        }
        A::FLdexp => bx * 2f64.powf(y),
        A::FFrexpMant if bx > 0.0 => {
            let e = exponent(x);
            let stays = exponent(x.abs() - bx) == e && exponent(x.abs() + bx) == e;
            if stays { bx / 2f64.powi(e) / 2.0 } else { 1.0 }
        }
        _ => bx,
    }
}

fn step_of_quotient(x: f64, y: f64, bx: f64, by: f64, f: fn(f64) -> f64) -> f64 {
    let q = x / y;
    let b = (bx + by * q.abs()) / y.abs() + q.abs() * 1e-6;
    if f(q - b) == f(q + b) { 0.0 } else { y.abs() }
}

/// Whether Vulkan gives no bound for a division by this number: its reciprocal is not a normal number.
fn has_no_reciprocal(divisor: f64, width: Bits) -> bool {
    divisor.is_finite() && divisor.abs() > 1.0 / least(width)
}

/// The error that Vulkan allows the operation itself.
fn allowed(op: AluOp, [x, y, _]: [f64; 3], r: f64, width: Bits, denormals: [DenormMode; 3]) -> f64 {
    use AluOp as A;
    let half = width == Bits::B16;
    let u = ulp(r, width);
    // Denormals may be flushed, in operands and results.
    let tiny = least(width) / 2.0;
    let flushed = if r.abs() < least(width) && may_be_zero(tiny, width, denormals) { least(width) } else { 0.0 };
    let error = match op {
        A::FNeg | A::FAbs | A::FCopySign | A::FMin | A::FMax | A::FSign | A::FFloor | A::FCeil | A::FTrunc => 0.0,
        A::FRoundEven | A::FFrexpMant => 0.0,
        A::FFma => u + ulp(x * y, width),
        A::FAdd | A::FSub | A::FMul | A::FConv | A::FLdexp | A::FFract => u,
        A::FDiv => 2.5 * u + if has_no_reciprocal(y, width) { 2.0 * r.abs() } else { 0.0 },
        A::FRcp => 2.5 * u + if has_no_reciprocal(x, width) { r.abs() } else { 0.0 },
        A::FRsq => 2.0 * u,
        A::FSqrt => 4.5 * u,
        A::FRem | A::FMod if has_no_reciprocal(y, width) => x.abs() + y.abs(),
        A::FRem | A::FMod => (2.5 * (x / y).abs() * y.abs()).max(x.abs()) * ulp(1.0, width) * 2.0,
        A::FExp2 => (if half { 1.0 } else { 3.0 } + 2.0 * x.abs()) * u,
        A::FLog2 if (0.5..=2.0).contains(&x) => 2f64.powi(if half { -7 } else { -21 }),
        A::FLog2 => 3.0 * u,
        A::FPow if x == 0.0 && y > 0.0 => 0.0,
        A::FPow => {
            let log = x.log2();
            let log_error = if (0.5..=2.0).contains(&x) { 2f64.powi(-21) } else { 3.0 * ulp(log, width) };
            let power = y.abs() * log_error + ulp(y * log, width);
            r * (power.exp2() - 1.0) + (3.0 + 2.0 * (y * log).abs()) * u
        }
        // Vulkan allows an error of 2^-11, which would prove nothing about results computed from it; every
        // implementation compared here stays well within the bound used.
        A::FSin | A::FCos => 2f64.powi(if half { -7 } else { -16 }) * (1.0 + x.abs() / std::f64::consts::PI),
        _ => 2.0 * u,
    };
    error + flushed
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENORMALS: [DenormMode; 3] = [DenormMode::Any; 3];

    fn shadow(op: AluOp, args: [f32; 2], shadows: [Shadow; 2]) -> Shadow {
        let bits = [u64::from(args[0].to_bits()), u64::from(args[1].to_bits()), 0];
        let to = if op.gives_float() { Bits::B32 } else { Bits::B1 };
        let result = float(op, bits, Bits::B32, to).unwrap();
        of_float(op, bits, [shadows[0], shadows[1], Shadow::NONE], Bits::B32, to, result, DENORMALS)
    }

    #[test]
    fn exact_sums_stay_exact_and_others_carry_their_error() {
        assert!(shadow(AluOp::FAdd, [1.0, 2.0], [Shadow::NONE; 2]).is_exact());
        let s = shadow(AluOp::FAdd, [1.0, 1e-9], [Shadow::NONE; 2]);
        assert!(s.bound > 0.0 && s.bound < 1e-6 && s.value > 1.0);
        // No double holds the difference: towards zero it is the float below.
        assert!(!shadow(AluOp::FSub, [1e30, 1.0], [Shadow::NONE; 2]).is_exact());
    }

    #[test]
    fn a_remainder_by_infinity_is_uncertain() {
        for (op, divisor) in [(AluOp::FRem, f32::INFINITY), (AluOp::FMod, f32::NEG_INFINITY)] {
            assert!(shadow(op, [0.0, divisor], [Shadow::NONE; 2]).is_uncertain());
        }
        assert!(!shadow(AluOp::FMod, [f32::INFINITY, 2.0], [Shadow::NONE; 2]).is_exact());
    }

    #[test]
    fn denormals_may_be_flushed_anywhere() {
        let tiny = f32::MIN_POSITIVE / 4.0;
        let result = shadow(AluOp::FMul, [tiny, 2.0], [Shadow::NONE; 2]);
        assert!(result.bound >= 2.0 * f64::from(tiny), "{result:?}");
        let result = shadow(AluOp::FMul, [tiny, 1e38], [Shadow::NONE; 2]);
        assert!(result.bound >= f64::from(tiny) * 1e38, "{result:?}");
        assert!(shadow(AluOp::FOEq, [tiny, 0.0], [Shadow::NONE; 2]).is_uncertain());
        assert!(shadow(AluOp::FRem, [1.0, tiny], [Shadow::NONE; 2]).is_uncertain());
        assert!(shadow(AluOp::FMod, [1.0, -tiny], [Shadow::NONE; 2]).is_uncertain());
        assert!(shadow(AluOp::FMul, [0.0, 2.0], [Shadow::NONE; 2]).is_exact());
        let [args, result] = [[tiny, 2.0, 0.0], [tiny * 2.0; 3]].map(|x| x.map(|x| u64::from(x.to_bits())));
        let kept = [DenormMode::Any, DenormMode::Preserve, DenormMode::Any];
        let kept = of_float(AluOp::FMul, args, [Shadow::NONE; 3], Bits::B32, Bits::B32, result[0], kept);
        assert!(kept.is_exact(), "a shader that keeps them: {kept:?}");
    }

    #[test]
    fn coarse_functions_have_their_own_bound() {
        let angle = std::f64::consts::FRAC_PI_4;
        let bits = encode(angle, Bits::B32);
        for inner in [Shadow::NONE, Shadow { value: angle, bound: 1e-7 }] {
            let bound = inner.coarse(bits, Bits::B32).bound;
            assert!((4096.0 / 2f64.powi(24)..4100.0 / 2f64.powi(24)).contains(&bound), "{bound}");
        }
        assert!(Shadow::UNCERTAIN.coarse(bits, Bits::B32).is_uncertain());
    }

    #[test]
    fn divisors_without_a_reciprocal_bound_nothing() {
        let bound = |y: f32| {
            let s = shadow(AluOp::FDiv, [1e38, y], [Shadow::NONE; 2]);
            s.bound / s.value.abs()
        };
        assert!(bound(8e37) < 1e-6 && bound(9e37) > 1.0, "2^126 is the last one");
    }

    #[test]
    fn what_may_be_anything_is_told() {
        let free = |op, x, y| is_free(op, [x, y, 8], Bits::B32);
        let negative = 0u32.wrapping_sub(4).into();
        assert!(free(AluOp::SMod, negative, 32) && free(AluOp::SMod, 4, negative) && !free(AluOp::SMod, 4, 32));
        assert!(!free(AluOp::SMod, negative, negative) && !free(AluOp::SRem, negative, 32));
        assert!(free(AluOp::UDiv, 1, 0) && free(AluOp::SRem, 0x8000_0000, 0xffff_ffff) && free(AluOp::Shl, 1, 32));
        assert!(free(AluOp::UBitExtract, 0, 25) && !free(AluOp::UBitExtract, 0, 24));
        assert!(!free(AluOp::UDiv, 0, 1) && !free(AluOp::SDiv, 5, 0xffff_ffff) && !free(AluOp::LShr, 1, 31));
    }

    #[test]
    fn what_an_integer_cannot_hold_is_uncertain() {
        let fits = |op, x, off| fits(op, x, off, Bits::B16);
        assert!(fits(AluOp::F2S, 32767.5, 0.0) && fits(AluOp::F2S, -32768.9, 0.0) && fits(AluOp::F2U, -0.5, 0.0));
        assert!(!fits(AluOp::F2S, 32768.0, 0.0) && !fits(AluOp::F2U, -1.0, 0.0) && !fits(AluOp::F2U, f64::NAN, 0.0));
        assert!(!fits(AluOp::F2U, 65535.0, 1.0));
        assert!(shadow(AluOp::F2S, [3e9, 0.0], [Shadow::NONE; 2]).is_uncertain());
    }

    #[test]
    fn a_narrowing_conversion_may_round_either_way() {
        let third = 1.0f32 / 3.0;
        let near = Shadow { value: f64::from(third), bound: 1e-7 };
        let bits = u64::from(third.to_bits());
        let result = float(AluOp::FConv, [bits, 0, 0], Bits::B32, Bits::B16).unwrap();
        for shadow in [Shadow::NONE, near] {
            let args = ([bits, 0, 0], [shadow, Shadow::NONE, Shadow::NONE]);
            let found = of_float(AluOp::FConv, args.0, args.1, Bits::B32, Bits::B16, result, DENORMALS);
            assert!(found.bound >= 2f64.powi(-12), "{found:?}");
        }
    }

    #[test]
    fn decisions_on_near_numbers_are_uncertain() {
        let near = Shadow { value: 1.0, bound: 1e-3 };
        assert!(shadow(AluOp::FOLt, [1.0, 1.0005], [near, Shadow::NONE]).is_uncertain());
        assert!(shadow(AluOp::FOLt, [1.0, 1.5], [near, Shadow::NONE]).is_exact());
        let floor = shadow(AluOp::FFloor, [1.0, 0.0], [near, Shadow::NONE]);
        assert_eq!(floor.bound, 1.0);
    }

    #[test]
    fn what_goes_in_steps_goes_as_many_as_the_operand_may() {
        let bound =
            |op, value: f64, bound| shadow(op, [value as f32, 0.0], [Shadow { value, bound }, Shadow::NONE]).bound;
        for op in [AluOp::FFloor, AluOp::FCeil, AluOp::FTrunc, AluOp::FRoundEven] {
            assert_eq!([0.125, 3.0, 40.0].map(|off| bound(op, 1000.25, off) >= off.floor()), [true; 3], "{op:?}");
            assert!(bound(op, 1000.25, 40.0) <= 41.0);
        }
        assert_eq!(bound(AluOp::FFloor, 1000.25, 0.125), 0.0);
        assert!(bound(AluOp::FFract, 1000.25, 40.0) >= 1.0);
        assert_eq!([bound(AluOp::FSign, 0.5, 0.25), bound(AluOp::FSign, 0.5, 1.0)], [0.0, 2.0]);
    }
}

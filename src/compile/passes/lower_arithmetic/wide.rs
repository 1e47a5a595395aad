//! Integers of 64 bits: the hardware has sums, differences, shifts, comparisons and bitwise operations for them, but
//! little else.

use dovetail_ir::{AluOp, Builder, Type, Value};

/// The low and the high 32 bits.
pub(super) fn halves(b: &mut Builder<'_>, x: Value) -> [Value; 2] {
    let pair = Type::vector(dovetail_ir::Bits::B32, 2).unwrap_or(Type::B32);
    let pair = b.bitcast(x, pair);
    [b.extract(pair, 0), b.extract(pair, 1)]
}

/// 64 bits of a low and a high half.
pub(super) fn join(b: &mut Builder<'_>, low: Value, high: Value) -> Value {
    let pair = b.compose(&[low, high]);
    b.bitcast(pair, Type::B64)
}

/// The expansion of an operation on 64 bits; `None` if it stays.
pub(super) fn expand(b: &mut Builder<'_>, op: AluOp, x: Value, y: Option<Value>) -> Option<Value> {
    use AluOp as A;
    let ty = Type::B64;
    Some(match (op, y) {
        (A::INeg, _) => {
            let zero = b.iconst(ty, 0);
            b.alu(A::ISub, &[zero, x])
        }
        (A::IAbs, _) => {
            let sign = sign(b, x);
            negate_by(b, x, sign)
        }
        (A::UMin, Some(y)) => choose(b, A::ULt, x, y),
        (A::UMax, Some(y)) => choose(b, A::UGt, x, y),
        (A::SMin, Some(y)) => choose(b, A::SLt, x, y),
        (A::SMax, Some(y)) => choose(b, A::SGt, x, y),
        (A::UAddCarry, Some(y)) => {
            let sum = b.alu(A::IAdd, &[x, y]);
            b.alu(A::ULt, &[sum, x])
        }
        (A::USubBorrow, Some(y)) => b.alu(A::ULt, &[x, y]),
        (A::UAddSat, Some(y)) => {
            let (sum, most) = (b.alu(A::IAdd, &[x, y]), b.iconst(ty, u64::MAX));
            let wraps = b.alu(A::ULt, &[sum, x]);
            b.select(wraps, most, sum)
        }
        (A::USubSat, Some(y)) => {
            let (rest, zero) = (b.alu(A::ISub, &[x, y]), b.iconst(ty, 0));
            let wraps = b.alu(A::ULt, &[x, y]);
            b.select(wraps, zero, rest)
        }
        (A::SAddSat, Some(y)) => {
            let sum = b.alu(A::IAdd, &[x, y]);
            saturate(b, x, sum, [[sum, x], [sum, y]])
        }
        (A::SSubSat, Some(y)) => {
            let rest = b.alu(A::ISub, &[x, y]);
            saturate(b, x, rest, [[x, y], [x, rest]])
        }
        (A::BitCount, _) => {
            let counts = halves(b, x).map(|half| b.alu(A::BitCount, &[half]));
            b.alu(A::IAdd, &counts)
        }
        (A::BitReverse, _) => {
            let [low, high] = halves(b, x).map(|half| b.alu(A::BitReverse, &[half]));
            join(b, high, low)
        }
        (A::FindILsb, _) => {
            // As an unsigned number, the -1 for "none" is larger than any index.
            let ([low, high], width) = (halves(b, x).map(|half| b.alu(A::FindILsb, &[half])), b.c32(32));
            let high = b.alu(A::UAddSat, &[high, width]);
            b.alu(A::UMin, &[low, high])
        }
        (A::FindUMsb, _) => find_highest(b, x),
        (A::FindSMsb, _) => {
            let sign = sign(b, x);
            let differing = b.alu(A::IXor, &[x, sign]);
            find_highest(b, differing)
        }
        (A::UMulHigh, Some(y)) => multiply_high(b, false, x, y),
        (A::SMulHigh, Some(y)) => multiply_high(b, true, x, y),
        _ => return None,
    })
}

/// All bits equal to the sign.
pub(super) fn sign(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let top = b.iconst(ty, u64::from(ty.bits().count() - 1));
    b.alu(AluOp::AShr, &[x, top])
}

/// The negative of a number if `sign` is -1, the number itself if it is 0.
pub(super) fn negate_by(b: &mut Builder<'_>, x: Value, sign: Value) -> Value {
    let flipped = b.alu(AluOp::IXor, &[x, sign]);
    b.alu(AluOp::ISub, &[flipped, sign])
}

fn choose(b: &mut Builder<'_>, first: AluOp, x: Value, y: Value) -> Value {
    let first = b.alu(first, &[x, y]);
    b.select(first, x, y)
}

/// The limit on the side of `x` if both pairs differ in sign.
fn saturate(b: &mut Builder<'_>, x: Value, wrapped: Value, [one, other]: [[Value; 2]; 2]) -> Value {
    let ty = b.ty(x);
    let differ = [one, other].map(|pair| b.alu(AluOp::IXor, &pair));
    let (differ, zero) = (b.alu(AluOp::IAnd, &differ), b.iconst(ty, 0));
    let overflows = b.alu(AluOp::SLt, &[differ, zero]);
    let (side, most) = (sign(b, x), b.iconst(ty, ty.bits().mask() >> 1));
    let limit = b.alu(AluOp::IXor, &[side, most]);
    b.select(overflows, limit, wrapped)
}

fn find_highest(b: &mut Builder<'_>, x: Value) -> Value {
    let [low, high] = halves(b, x);
    let (zero, width) = (b.c32(0), b.c32(32));
    let [found_low, found_high] = [low, high].map(|half| b.alu(AluOp::FindUMsb, &[half]));
    let (above, any) = (b.alu(AluOp::IAdd, &[found_high, width]), b.alu(AluOp::INe, &[high, zero]));
    b.select(any, above, found_low)
}

/// Schoolbook multiplication of 32-bit halves. A negative factor is its bits minus 2^64, so the other factor is
/// subtracted.
pub(super) fn multiply_high(b: &mut Builder<'_>, signed: bool, x: Value, y: Value) -> Value {
    let ty = Type::B64;
    let (half, low_half) = (b.iconst(ty, 32), b.iconst(ty, u64::from(u32::MAX)));
    let low = |b: &mut Builder<'_>, v| b.alu(AluOp::IAnd, &[v, low_half]);
    let high = |b: &mut Builder<'_>, v| b.alu(AluOp::LShr, &[v, half]);
    let [x0, y0] = [x, y].map(|v| low(b, v));
    let [x1, y1] = [x, y].map(|v| high(b, v));
    let [p00, p01, p10, p11] = [[x0, y0], [x0, y1], [x1, y0], [x1, y1]].map(|pair| b.alu(AluOp::IMul, &pair));
    // Neither sum can overflow: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
    let carry = high(b, p00);
    let middle = b.alu(AluOp::IAdd, &[p10, carry]);
    let rest = low(b, middle);
    let middle_high = high(b, middle);
    let other = b.alu(AluOp::IAdd, &[p01, rest]);
    let other_high = high(b, other);
    let sum = b.alu(AluOp::IAdd, &[p11, middle_high]);
    let mut result = b.alu(AluOp::IAdd, &[sum, other_high]);
    if signed {
        let zero = b.iconst(ty, 0);
        for (factor, other) in [(x, y), (y, x)] {
            let negative = b.alu(AluOp::SLt, &[factor, zero]);
            let off = b.select(negative, other, zero);
            result = b.alu(AluOp::ISub, &[result, off]);
        }
    }
    result
}

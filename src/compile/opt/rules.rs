//! The table of algebraic rules. A row is `operation(patterns) if guard => result`, for operands of one width.
//!
//! `x`, `y`, `z` are any values, `a`, `b` constants; constants come last. The rules of an operation are together. The
//! tests check each row on every pair of 8-bit values and on corner values of the other widths; rows that depend on
//! more than integers state the floats for which they hold.

use super::matching::Floats::{self, Contract, Exact, Finite, KeepsDenormals, NoSignedZero};
use super::matching::{Consts, Out, Pat, Rule};
use dovetail_ir::AluOp as A;

const X: Pat = Pat::Var(0);
const Y: Pat = Pat::Var(1);
const KA: Pat = Pat::Const(0);
const KB: Pat = Pat::Const(1);
const fn lit(n: i64) -> Pat {
    Pat::Lit(n)
}
const fn float(x: f64) -> Pat {
    Pat::Float(x)
}
const fn op(op: A, args: &'static [Pat]) -> Pat {
    Pat::Op(op, args)
}

const OX: Out = Out::Var(0);
const OY: Out = Out::Var(1);
const OZ: Out = Out::Var(2);
const Z: Pat = Pat::Var(2);
const fn olit(n: i64) -> Out {
    Out::Lit(n)
}
const fn calc(f: fn(Consts) -> u64) -> Out {
    Out::Calc(f)
}
const fn to(op: A, args: &'static [Out]) -> Out {
    Out::Op(op, args)
}
const TRUE: Out = Out::Bool(true);
const FALSE: Out = Out::Bool(false);

fn always(_: Consts) -> bool {
    true
}
fn a_is_power(k: Consts) -> bool {
    k.a.is_power_of_two()
}
fn shifts_fit(k: Consts) -> bool {
    amounts(k) && k.a + k.b < u64::from(k.width)
}
fn shifts_too_far(k: Consts) -> bool {
    amounts(k) && k.a + k.b >= u64::from(k.width)
}
fn a_is_amount(k: Consts) -> bool {
    k.a < u64::from(k.width)
}
fn b_is_amount(k: Consts) -> bool {
    k.b < u64::from(k.width)
}
fn amounts(k: Consts) -> bool {
    a_is_amount(k) && b_is_amount(k)
}
fn no_common_bits(k: Consts) -> bool {
    k.a & k.b == 0
}
fn log_a(k: Consts) -> u64 {
    u64::from(k.a.trailing_zeros())
}
fn low_bits(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}
fn max(k: Consts) -> u64 {
    low_bits(u64::from(k.width))
}

const fn rule(op: A, args: &'static [Pat], to: Out) -> Rule {
    Rule { op, args, guard: always, to, floats: Exact }
}
const fn when(op: A, args: &'static [Pat], guard: fn(Consts) -> bool, to: Out) -> Rule {
    Rule { op, args, guard, to, floats: Exact }
}
const fn floats(floats: Floats, op: A, args: &'static [Pat], to: Out) -> Rule {
    Rule { op, args, guard: always, to, floats }
}

/// The rules.
pub(super) const RULES: &[Rule] = &[
    // ---- sums: one constant, last; negations become differences
    rule(A::IAdd, &[X, lit(0)], OX),
    rule(A::IAdd, &[op(A::IAdd, &[X, KA]), KB], to(A::IAdd, &[OX, calc(|k| k.a.wrapping_add(k.b))])),
    rule(A::IAdd, &[op(A::ISub, &[KA, X]), KB], to(A::ISub, &[calc(|k| k.a.wrapping_add(k.b)), OX])),
    rule(A::IAdd, &[op(A::IAdd, &[X, KA]), Y], to(A::IAdd, &[to(A::IAdd, &[OX, OY]), calc(|k| k.a)])),
    rule(A::IAdd, &[op(A::ISub, &[X, Y]), Y], OX),
    rule(A::IAdd, &[X, op(A::INeg, &[Y])], to(A::ISub, &[OX, OY])),
    rule(A::IAdd, &[op(A::INot, &[X]), lit(1)], to(A::INeg, &[OX])),
    rule(A::IAdd, &[X, X], to(A::Shl, &[OX, olit(1)])),
    rule(A::ISub, &[X, X], olit(0)),
    rule(A::ISub, &[lit(0), X], to(A::INeg, &[OX])),
    rule(A::ISub, &[X, KA], to(A::IAdd, &[OX, calc(|k| k.a.wrapping_neg())])),
    rule(A::ISub, &[KA, op(A::IAdd, &[X, KB])], to(A::ISub, &[calc(|k| k.a.wrapping_sub(k.b)), OX])),
    rule(A::ISub, &[KA, op(A::ISub, &[KB, X])], to(A::IAdd, &[OX, calc(|k| k.a.wrapping_sub(k.b))])),
    rule(A::ISub, &[lit(-1), X], to(A::INot, &[OX])),
    rule(A::ISub, &[op(A::IAdd, &[X, Y]), Y], OX),
    rule(A::ISub, &[op(A::IAdd, &[X, KA]), Y], to(A::IAdd, &[to(A::ISub, &[OX, OY]), calc(|k| k.a)])),
    rule(A::ISub, &[X, op(A::ISub, &[X, Y])], OY),
    rule(A::ISub, &[X, op(A::INeg, &[Y])], to(A::IAdd, &[OX, OY])),
    rule(A::INeg, &[op(A::INeg, &[X])], OX),
    rule(A::INeg, &[op(A::ISub, &[X, Y])], to(A::ISub, &[OY, OX])),
    // ---- products: shifts; constants are moved out of sums, so that addresses have theirs last
    rule(A::IMul, &[X, lit(0)], olit(0)),
    rule(A::IMul, &[X, lit(1)], OX),
    rule(A::IMul, &[X, lit(-1)], to(A::INeg, &[OX])),
    when(A::IMul, &[X, KA], a_is_power, to(A::Shl, &[OX, calc(log_a)])),
    rule(A::IMul, &[op(A::IMul, &[X, KA]), KB], to(A::IMul, &[OX, calc(|k| k.a.wrapping_mul(k.b))])),
    rule(
        A::IMul,
        &[op(A::IAdd, &[X, KA]), KB],
        to(A::IAdd, &[to(A::IMul, &[OX, calc(|k| k.b)]), calc(|k| k.a.wrapping_mul(k.b))]),
    ),
    when(A::IMul, &[op(A::Shl, &[X, KA]), KB], a_is_amount, to(A::IMul, &[OX, calc(|k| k.b << k.a)])),
    rule(A::UDiv, &[X, lit(1)], OX),
    when(A::UDiv, &[X, KA], a_is_power, to(A::LShr, &[OX, calc(log_a)])),
    rule(A::SDiv, &[X, lit(1)], OX),
    when(A::UMod, &[X, KA], a_is_power, to(A::IAnd, &[OX, calc(|k| k.a - 1)])),
    // ---- bits
    rule(A::IAnd, &[X, lit(0)], olit(0)),
    rule(A::IAnd, &[X, lit(-1)], OX),
    rule(A::IAnd, &[X, X], OX),
    rule(A::IAnd, &[X, op(A::INot, &[X])], olit(0)),
    rule(A::IAnd, &[op(A::IAnd, &[X, KA]), KB], to(A::IAnd, &[OX, calc(|k| k.a & k.b)])),
    when(A::IAnd, &[op(A::IOr, &[X, KA]), KB], no_common_bits, to(A::IAnd, &[OX, calc(|k| k.b)])),
    rule(A::IAnd, &[X, op(A::IAnd, &[X, Y])], to(A::IAnd, &[OX, OY])),
    rule(A::IAnd, &[X, op(A::IOr, &[X, Y])], OX),
    when(
        A::IAnd,
        &[op(A::LShr, &[X, KA]), KB],
        |k| a_is_amount(k) && max(k) >> k.a & !k.b == 0,
        to(A::LShr, &[OX, calc(|k| k.a)]),
    ),
    when(
        A::IAnd,
        &[op(A::Shl, &[X, KA]), KB],
        |k| a_is_amount(k) && (max(k) << k.a & max(k)) & !k.b == 0,
        to(A::Shl, &[OX, calc(|k| k.a)]),
    ),
    rule(A::IOr, &[X, lit(0)], OX),
    rule(A::IOr, &[X, lit(-1)], olit(-1)),
    rule(A::IOr, &[X, X], OX),
    rule(A::IOr, &[X, op(A::INot, &[X])], olit(-1)),
    rule(A::IOr, &[op(A::IOr, &[X, KA]), KB], to(A::IOr, &[OX, calc(|k| k.a | k.b)])),
    rule(A::IOr, &[X, op(A::IOr, &[X, Y])], to(A::IOr, &[OX, OY])),
    rule(A::IOr, &[X, op(A::IAnd, &[X, Y])], OX),
    rule(A::IXor, &[X, lit(0)], OX),
    rule(A::IXor, &[X, X], olit(0)),
    rule(A::IXor, &[X, lit(-1)], to(A::INot, &[OX])),
    rule(A::IXor, &[op(A::IXor, &[X, KA]), KB], to(A::IXor, &[OX, calc(|k| k.a ^ k.b)])),
    rule(A::IXor, &[op(A::IXor, &[X, Y]), Y], OX),
    rule(A::INot, &[op(A::INot, &[X])], OX),
    rule(A::INot, &[op(A::IAdd, &[X, lit(-1)])], to(A::INeg, &[OX])),
    // ---- shifts
    rule(A::Shl, &[X, lit(0)], OX),
    when(A::Shl, &[op(A::Shl, &[X, KA]), KB], shifts_fit, to(A::Shl, &[OX, calc(|k| k.a + k.b)])),
    when(A::Shl, &[op(A::Shl, &[X, KA]), KB], shifts_too_far, olit(0)),
    when(
        A::Shl,
        &[op(A::LShr, &[X, KA]), KB],
        |k| k.a == k.b && a_is_amount(k),
        to(A::IAnd, &[OX, calc(|k| max(k) & !low_bits(k.a))]),
    ),
    when(
        A::Shl,
        &[op(A::IAdd, &[X, KA]), KB],
        b_is_amount,
        to(A::IAdd, &[to(A::Shl, &[OX, calc(|k| k.b)]), calc(|k| k.a << k.b)]),
    ),
    when(
        A::Shl,
        &[op(A::IAnd, &[X, KA]), KB],
        |k| b_is_amount(k) && (max(k) << k.b & max(k)) & !(k.a << k.b) == 0,
        to(A::Shl, &[OX, calc(|k| k.b)]),
    ),
    when(A::Shl, &[op(A::IMul, &[X, KA]), KB], b_is_amount, to(A::IMul, &[OX, calc(|k| k.a << k.b)])),
    rule(A::LShr, &[X, lit(0)], OX),
    when(A::LShr, &[op(A::LShr, &[X, KA]), KB], shifts_fit, to(A::LShr, &[OX, calc(|k| k.a + k.b)])),
    when(A::LShr, &[op(A::LShr, &[X, KA]), KB], shifts_too_far, olit(0)),
    when(
        A::LShr,
        &[op(A::Shl, &[X, KA]), KB],
        |k| k.a == k.b && a_is_amount(k),
        to(A::IAnd, &[OX, calc(|k| max(k) >> k.a)]),
    ),
    when(A::LShr, &[op(A::IAnd, &[X, KA]), KB], |k| b_is_amount(k) && k.a >> k.b == 0, olit(0)),
    when(
        A::LShr,
        &[op(A::IAnd, &[X, KA]), KB],
        |k| b_is_amount(k) && k.a >> k.b == max(k) >> k.b,
        to(A::LShr, &[OX, calc(|k| k.b)]),
    ),
    rule(A::AShr, &[X, lit(0)], OX),
    when(A::AShr, &[op(A::AShr, &[X, KA]), KB], shifts_fit, to(A::AShr, &[OX, calc(|k| k.a + k.b)])),
    when(A::AShr, &[op(A::AShr, &[X, KA]), KB], shifts_too_far, to(A::AShr, &[OX, calc(|k| u64::from(k.width) - 1)])),
    // ---- limits
    rule(A::UMin, &[X, X], OX),
    rule(A::UMin, &[X, lit(0)], olit(0)),
    rule(A::UMin, &[X, lit(-1)], OX),
    rule(A::UMin, &[op(A::UMin, &[X, KA]), KB], to(A::UMin, &[OX, calc(|k| k.a.min(k.b))])),
    rule(A::UMin, &[X, op(A::UMin, &[X, Y])], to(A::UMin, &[OX, OY])),
    rule(A::UMin, &[X, op(A::UMax, &[X, Y])], OX),
    rule(A::UMax, &[X, X], OX),
    rule(A::UMax, &[X, lit(0)], OX),
    rule(A::UMax, &[X, lit(-1)], olit(-1)),
    rule(A::UMax, &[op(A::UMax, &[X, KA]), KB], to(A::UMax, &[OX, calc(|k| k.a.max(k.b))])),
    rule(A::UMax, &[X, op(A::UMax, &[X, Y])], to(A::UMax, &[OX, OY])),
    rule(A::UMax, &[X, op(A::UMin, &[X, Y])], OX),
    rule(A::SMin, &[X, X], OX),
    rule(A::SMin, &[X, op(A::SMin, &[X, Y])], to(A::SMin, &[OX, OY])),
    rule(A::SMin, &[X, op(A::SMax, &[X, Y])], OX),
    rule(A::SMax, &[X, X], OX),
    rule(A::SMax, &[X, op(A::SMax, &[X, Y])], to(A::SMax, &[OX, OY])),
    rule(A::SMax, &[X, op(A::SMin, &[X, Y])], OX),
    // ---- comparisons
    rule(A::IEq, &[X, X], TRUE),
    rule(A::IEq, &[op(A::IAdd, &[X, KA]), KB], to(A::IEq, &[OX, calc(|k| k.b.wrapping_sub(k.a))])),
    rule(A::IEq, &[op(A::IAdd, &[X, Y]), Y], to(A::IEq, &[OX, olit(0)])),
    rule(A::IEq, &[op(A::ISub, &[X, Y]), lit(0)], to(A::IEq, &[OX, OY])),
    rule(A::IEq, &[op(A::IXor, &[X, Y]), lit(0)], to(A::IEq, &[OX, OY])),
    rule(A::IEq, &[op(A::IXor, &[X, KA]), KB], to(A::IEq, &[OX, calc(|k| k.a ^ k.b)])),
    rule(A::IEq, &[op(A::INeg, &[X]), lit(0)], to(A::IEq, &[OX, olit(0)])),
    rule(A::INe, &[X, X], FALSE),
    rule(A::INe, &[op(A::IAdd, &[X, KA]), KB], to(A::INe, &[OX, calc(|k| k.b.wrapping_sub(k.a))])),
    rule(A::INe, &[op(A::IAdd, &[X, Y]), Y], to(A::INe, &[OX, olit(0)])),
    rule(A::INe, &[op(A::ISub, &[X, Y]), lit(0)], to(A::INe, &[OX, OY])),
    rule(A::INe, &[op(A::IXor, &[X, Y]), lit(0)], to(A::INe, &[OX, OY])),
    rule(A::INe, &[op(A::IXor, &[X, KA]), KB], to(A::INe, &[OX, calc(|k| k.a ^ k.b)])),
    rule(A::INe, &[op(A::INeg, &[X]), lit(0)], to(A::INe, &[OX, olit(0)])),
    rule(A::ULt, &[X, X], FALSE),
    rule(A::ULt, &[X, lit(0)], FALSE),
    rule(A::ULt, &[lit(0), X], to(A::INe, &[OX, olit(0)])),
    rule(A::ULt, &[X, lit(1)], to(A::IEq, &[OX, olit(0)])),
    rule(A::ULe, &[X, X], TRUE),
    rule(A::ULe, &[X, lit(-1)], TRUE),
    rule(A::ULe, &[lit(0), X], TRUE),
    rule(A::ULe, &[X, lit(0)], to(A::IEq, &[OX, olit(0)])),
    rule(A::UGt, &[X, X], FALSE),
    rule(A::UGt, &[X, lit(-1)], FALSE),
    rule(A::UGt, &[lit(0), X], FALSE),
    rule(A::UGt, &[X, lit(0)], to(A::INe, &[OX, olit(0)])),
    rule(A::UGe, &[X, X], TRUE),
    rule(A::UGe, &[X, lit(0)], TRUE),
    rule(A::UGe, &[lit(0), X], to(A::IEq, &[OX, olit(0)])),
    rule(A::UGe, &[X, lit(1)], to(A::INe, &[OX, olit(0)])),
    rule(A::SLt, &[X, X], FALSE),
    rule(A::SLe, &[X, X], TRUE),
    rule(A::SGt, &[X, X], FALSE),
    rule(A::SGe, &[X, X], TRUE),
    // ---- selects: the width is that of the sides
    rule(A::Select, &[X, Y, Y], OY),
    rule(A::Select, &[op(A::INot, &[X]), Y, Z], to(A::Select, &[OX, OZ, OY])),
    rule(A::Select, &[X, op(A::Select, &[X, Y, Z]), Pat::Var(3)], to(A::Select, &[OX, OY, Out::Var(3)])),
    rule(A::Select, &[X, Y, op(A::Select, &[X, Pat::Var(3), Z])], to(A::Select, &[OX, OY, OZ])),
    // ---- floats
    floats(KeepsDenormals, A::FAdd, &[X, float(-0.0)], OX),
    floats(NoSignedZero, A::FAdd, &[X, float(0.0)], OX),
    rule(A::FAdd, &[X, op(A::FNeg, &[Y])], to(A::FSub, &[OX, OY])),
    floats(Contract, A::FAdd, &[op(A::FMul, &[X, Y]), Z], to(A::FFma, &[OX, OY, OZ])),
    floats(KeepsDenormals, A::FSub, &[X, float(0.0)], OX),
    floats(NoSignedZero, A::FSub, &[X, float(-0.0)], OX),
    rule(A::FSub, &[X, op(A::FNeg, &[Y])], to(A::FAdd, &[OX, OY])),
    floats(Finite, A::FSub, &[X, X], Out::Float(0.0)),
    floats(Contract, A::FSub, &[op(A::FMul, &[X, Y]), Z], to(A::FFma, &[OX, OY, to(A::FNeg, &[OZ])])),
    floats(Contract, A::FSub, &[Z, op(A::FMul, &[X, Y])], to(A::FFma, &[to(A::FNeg, &[OX]), OY, OZ])),
    floats(KeepsDenormals, A::FMul, &[X, float(1.0)], OX),
    floats(KeepsDenormals, A::FMul, &[X, float(-1.0)], to(A::FNeg, &[OX])),
    floats(Finite, A::FMul, &[X, float(0.0)], Out::Float(0.0)),
    rule(A::FMul, &[op(A::FNeg, &[X]), op(A::FNeg, &[Y])], to(A::FMul, &[OX, OY])),
    floats(KeepsDenormals, A::FDiv, &[X, float(1.0)], OX),
    floats(KeepsDenormals, A::FDiv, &[X, float(-1.0)], to(A::FNeg, &[OX])),
    rule(A::FNeg, &[op(A::FNeg, &[X])], OX),
    rule(A::FAbs, &[op(A::FNeg, &[X])], to(A::FAbs, &[OX])),
    rule(A::FAbs, &[op(A::FAbs, &[X])], to(A::FAbs, &[OX])),
    floats(KeepsDenormals, A::FFma, &[X, float(1.0), Y], to(A::FAdd, &[OX, OY])),
    floats(KeepsDenormals, A::FFma, &[float(1.0), X, Y], to(A::FAdd, &[OX, OY])),
    floats(Finite, A::FFma, &[X, float(0.0), Y], OY),
    rule(A::FFma, &[op(A::FNeg, &[X]), op(A::FNeg, &[Y]), Z], to(A::FFma, &[OX, OY, OZ])),
    rule(A::FFloor, &[op(A::FFloor, &[X])], to(A::FFloor, &[OX])),
    rule(A::FCeil, &[op(A::FCeil, &[X])], to(A::FCeil, &[OX])),
    rule(A::FTrunc, &[op(A::FTrunc, &[X])], to(A::FTrunc, &[OX])),
    rule(A::FRoundEven, &[op(A::FRoundEven, &[X])], to(A::FRoundEven, &[OX])),
    floats(KeepsDenormals, A::FMin, &[X, op(A::FMin, &[X, Y])], to(A::FMin, &[OX, OY])),
    floats(KeepsDenormals, A::FMax, &[X, op(A::FMax, &[X, Y])], to(A::FMax, &[OX, OY])),
];

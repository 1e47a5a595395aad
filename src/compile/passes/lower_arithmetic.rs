//! Expands arithmetic that takes several hardware instructions.
//!
//! | operation | bits | becomes |
//! | --- | --- | --- |
//! | integer operations whose low result bits depend on higher operand bits | 8 | the 32-bit operation |
//! | divisions, finding or counting bits, carries | 16 | the 32-bit operation |
//! | `udiv`, `sdiv`, `umod`, `srem`, `smod` | 32, 64 | products with a reciprocal: `integer_division` |
//! | `smod` | any | the remainder, plus the divisor if the signs differ |
//! | `umul_high`, `smul_high` | 8, 16 | the upper half of a 32-bit product |
//! | all except sums, products, shifts, comparisons | 64 | operations on halves, comparisons: `wide` |
//! | `ubit_extract`, `sbit_extract` | 32 | the instruction, which supports all counts except 32 |
//! | the same | 64 | shifts and masks |
//! | `find_smsb` | any | `find_umsb` of the bits that differ from the sign |
//! | conversions | 8, 64; halves and doubles | through 32 bits: `conversion` |
//! | `fdiv`; `frcp` of 64 bits | any | products with a reciprocal: `float_division` |
//! | `fsqrt`, `frsq` | 64, and 32 with denormals | an estimate and a refinement: `roots` |
//! | `frem`, `fmod` | any | `x - y * whole(x / y)`, fused |
//! | `fsign`, `fis_nan`, `fis_inf` | any | comparisons |
//! | `fpow` | 16, 32 | `exp2(y * log2(x))` in 32 bits, with 0 * anything = 0: `pow(0, 0)` and `pow(inf, 0)` are 1 |
//! | `fsin`, `fcos` | 16, 32 | sine and cosine of revolutions, which the instruction needs near zero |
//! | `fquantize16` | 16, 32 | to f16 and back, denormals to zero |
//! | these, `fexp2`, `flog2` | 64 | an error: Vulkan does not require them, and the hardware lacks them |
//!
//! Sums, shifts and comparisons of 64 bits stay, because a code generator has one or two instructions for them; so do
//! products, because only a generator that sees the whole product can choose the multiply-add of halves
//! (`v_mad_u64_u32`).

mod by_constant;
mod conversion;
mod float_division;
mod integer_division;
mod interval;
mod roots;
mod wide;

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, Builder, FpFlags, Op, Shader, Sig, Type, Value};
use smallvec::SmallVec;

/// 1 / (2 pi).
const INV_TAU: f64 = 0.159_154_943_091_895_35;

/// Expands the operations.
///
/// # Errors
/// Unsupported: functions of 64-bit floats.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    rewrite(shader, |b, inst| {
        let (Op::Alu(op, flags), Some(result)) = (&inst.op, inst.result) else { return Ok(Rewrite::Keep) };
        if inst.args.len() != op.arity() {
            return Err(Error::bug(format!("{} operands for {}", inst.args.len(), op.name())));
        }
        b.fp = *flags;
        let made = steps(b, *op, &inst.args, result);
        b.fp = FpFlags::NONE;
        Ok(made?.map_or(Rewrite::Keep, Rewrite::Value))
    })
}

/// The expansion of an operation; `None` if it stays. The builder already has the operation's flags.
fn steps(b: &mut Builder<'_>, op: AluOp, args: &[Value], result: Value) -> Result<Option<Value>> {
    let (x, to) = (args[0], b.ty(result));
    let from = b.ty(x);
    if op.takes_float() && from == Type::B64 && is_function(op) {
        return Err(Error::unsupported(format!("{} of 64 bits", op.name()), ""));
    }
    let narrow = from == Type::B8 || from == Type::B16 && !op.takes_float();
    if narrow && op.sig() != Sig::Convert && !op.has_instruction(from.bits(), to.bits()) {
        return Ok(Some(widened(b, op, args, to)));
    }
    Ok(expand(b, op, args, to))
}

/// Whether the hardware has it only for floats of up to 32 bits.
fn is_function(op: AluOp) -> bool {
    use AluOp as A;
    matches!(op, A::FExp2 | A::FLog2 | A::FPow | A::FSin | A::FCos | A::FSinTurn | A::FCosTurn | A::FQuantize16)
}

/// An operation on integers of 32 or 64 bits, or on floats.
fn expand(b: &mut Builder<'_>, op: AluOp, args: &[Value], to: Type) -> Option<Value> {
    use AluOp as A;
    let x = args[0];
    let y = args.get(1).copied();
    let ty = b.ty(x);
    let [keeps_denormals, _] = b.shader.modes.keeps_denormals();
    Some(match (op, y) {
        (A::UDiv, Some(y)) => integer_division::divide(b, false, x, y)[0],
        (A::UMod, Some(y)) => integer_division::divide(b, false, x, y)[1],
        (A::SDiv, Some(y)) => integer_division::divide(b, true, x, y)[0],
        (A::SRem, Some(y)) => integer_division::divide(b, true, x, y)[1],
        (A::SMod, Some(y)) => modulo(b, x, y),
        (A::UBitExtract | A::SBitExtract, Some(y)) => return field(b, op, [x, y, *args.get(2)?]),
        (A::FindSMsb, _) if ty == Type::B32 => {
            let sign = wide::sign(b, x);
            let differing = b.alu(A::IXor, &[x, sign]);
            b.alu(A::FindUMsb, &[differing])
        }
        (A::S2F | A::U2F | A::F2S | A::F2U | A::FConv | A::FConvRtz, _) => return conversion::expand(b, op, x, to),
        (A::FDiv, Some(y)) => float_division::divide(b, x, y, keeps_denormals),
        (A::FRem, Some(y)) => remainder(b, A::FTrunc, x, y, keeps_denormals),
        (A::FMod, Some(y)) => remainder(b, A::FFloor, x, y, keeps_denormals),
        (A::FRcp, _) if ty == Type::B64 => float_division::reciprocal(b, x),
        (A::FSqrt | A::FRsq, _) => return roots::expand(b, op, x, keeps_denormals),
        (A::FSign, _) => sign(b, x),
        (A::FIsNan, _) => b.alu(A::FUno, &[x, x]),
        (A::FIsInf, _) => {
            let (magnitude, infinity) = (b.alu(A::FAbs, &[x]), b.fconst(ty, f64::INFINITY));
            b.alu(A::FOEq, &[magnitude, infinity])
        }
        (A::FPow, Some(y)) => power(b, x, y),
        (A::FSin, _) => turn(b, A::FSinTurn, x),
        (A::FCos, _) => turn(b, A::FCosTurn, x),
        (A::FQuantize16, _) => quantize(b, x),
        _ if ty == Type::B64 && !op.takes_float() => return wide::expand(b, op, x, y),
        _ => return None,
    })
}

/// An operation on integers of 8 or 16 bits, computed in 32 bits.
fn widened(b: &mut Builder<'_>, op: AluOp, args: &[Value], to: Type) -> Value {
    use AluOp as A;
    let (x, wide) = (args[0], Type::B32);
    let bits = b.ty(x).bits();
    let division = matches!(op, A::SDiv | A::SRem | A::SMod | A::SMulHigh);
    let comparison = matches!(op, A::SLt | A::SLe | A::SGt | A::SGe | A::SMin | A::SMax);
    let signed = division || comparison || matches!(op, A::AShr | A::IAbs | A::FindSMsb | A::SAddSat | A::SSubSat);
    let extend = if signed { A::SExt } else { A::ZExt };
    let args: SmallVec<[Value; 3]> = args.iter().map(|&v| b.convert(extend, v, wide)).collect();
    let width = u64::from(bits.count());
    let made = match op {
        A::UAddSat => {
            let (sum, most) = (b.alu(A::IAdd, &args), b.iconst(wide, bits.mask()));
            b.alu(A::UMin, &[sum, most])
        }
        A::SAddSat | A::SSubSat => {
            let sum = b.alu(if op == A::SAddSat { A::IAdd } else { A::ISub }, &args);
            let limit = bits.mask() >> 1;
            let (least, most) = (b.iconst(wide, !limit), b.iconst(wide, limit));
            let below = b.alu(A::SMin, &[sum, most]);
            b.alu(A::SMax, &[below, least])
        }
        A::UAddCarry => {
            let (sum, most) = (b.alu(A::IAdd, &args), b.iconst(wide, bits.mask()));
            return b.alu(A::UGt, &[sum, most]);
        }
        A::UMulHigh | A::SMulHigh => {
            let (product, width) = (b.alu(A::IMul, &args), b.iconst(wide, width));
            b.alu(A::LShr, &[product, width])
        }
        A::BitReverse => {
            let (reverse, unused) = (b.alu(op, &args), b.iconst(wide, 32 - width));
            b.alu(A::LShr, &[reverse, unused])
        }
        // A field of so few bits is shorter than 32 bits.
        A::UBitExtract | A::SBitExtract => b.alu(op, &args),
        _ => {
            let ty = if to == Type::B1 { Type::B1 } else { wide };
            expand(b, op, &args, ty).unwrap_or_else(|| b.alu(op, &args))
        }
    };
    if b.ty(made) == to { made } else { b.convert(A::Trunc, made, to) }
}

/// The remainder with the divisor's sign.
fn modulo(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let zero = b.iconst(b.ty(x), 0);
    let [_, rest] = integer_division::divide(b, true, x, y);
    let signs = b.alu(AluOp::IXor, &[rest, y]);
    let (differ, some) = (b.alu(AluOp::SLt, &[signs, zero]), b.alu(AluOp::INe, &[rest, zero]));
    let add = b.alu(AluOp::IAnd, &[differ, some]);
    let sum = b.alu(AluOp::IAdd, &[rest, y]);
    b.select(add, sum, rest)
}

/// A field of `count` bits from `offset`; the whole value if `count` is its width.
fn field(b: &mut Builder<'_>, op: AluOp, [x, offset, count]: [Value; 3]) -> Option<Value> {
    let ty = b.ty(x);
    let width = ty.bits().count();
    let known_below = b.shader.as_const(count).is_some_and(|n| n < u64::from(width));
    if ty == Type::B32 && known_below {
        return None;
    }
    let whole = b.c32(width);
    let whole = b.alu(AluOp::UGe, &[count, whole]);
    if ty == Type::B32 {
        let part = b.alu(op, &[x, offset, count]);
        return Some(b.select(whole, x, part));
    }
    let (one, below) = (b.iconst(ty, 1), b.iconst(ty, u64::from(width - 1)));
    let amount = |b: &mut Builder<'_>, n| {
        let n = b.zext_or_trunc(n, ty);
        b.alu(AluOp::IAnd, &[n, below])
    };
    let (offset, bits) = (amount(b, offset), amount(b, count));
    let low = b.alu(AluOp::LShr, &[x, offset]);
    let above = b.alu(AluOp::Shl, &[one, bits]);
    let mask = b.alu(AluOp::ISub, &[above, one]);
    let mut part = b.alu(AluOp::IAnd, &[low, mask]);
    if op == AluOp::SBitExtract {
        // Flipping the field's top bit and subtracting that bit extends the sign. An empty field has no top bit.
        let rest = b.alu(AluOp::LShr, &[mask, one]);
        let top = b.alu(AluOp::IXor, &[mask, rest]);
        let flipped = b.alu(AluOp::IXor, &[part, top]);
        part = b.alu(AluOp::ISub, &[flipped, top]);
    }
    Some(b.select(whole, x, part))
}

fn remainder(b: &mut Builder<'_>, round: AluOp, x: Value, y: Value, keeps_denormals: bool) -> Value {
    let quotient = float_division::divide(b, x, y, keeps_denormals);
    let whole = b.alu(round, &[quotient]);
    let minus = b.alu(AluOp::FNeg, &[whole]);
    b.alu(AluOp::FFma, &[minus, y, x])
}

fn sign(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let [zero, one, minus] = [0.0, 1.0, -1.0].map(|n| b.fconst(ty, n));
    let (positive, negative) = (b.alu(AluOp::FOGt, &[x, zero]), b.alu(AluOp::FOLt, &[x, zero]));
    let rest = b.select(negative, minus, x);
    b.select(positive, one, rest)
}

fn power(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let [x, y] = [x, y].map(|v| b.convert(AluOp::FConv, v, Type::B32));
    let log = b.alu(AluOp::FLog2, &[x]);
    let product = b.alu(AluOp::FMulZero, &[log, y]);
    let power = b.alu(AluOp::FExp2, &[product]);
    b.convert(AluOp::FConv, power, ty)
}

/// Sine or cosine. Vulkan bounds results only near zero; at 32 bits, taking the fraction keeps those of larger numbers
/// correct.
fn turn(b: &mut Builder<'_>, of_revolutions: AluOp, x: Value) -> Value {
    let ty = b.ty(x);
    b.fp = FpFlags::NO_CONTRACT;
    let scale = b.fconst(ty, INV_TAU);
    let mut revolutions = b.alu(AluOp::FMul, &[x, scale]);
    if ty == Type::B32 {
        revolutions = b.alu(AluOp::FFract, &[revolutions]);
    }
    b.alu(of_revolutions, &[revolutions])
}

fn quantize(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    let half = b.convert(AluOp::FConv, x, Type::B16);
    let rounded = b.convert(AluOp::FConv, half, ty);
    let (magnitude, least, zero) =
        (b.alu(AluOp::FAbs, &[rounded]), b.fconst(ty, float_division::HALF_MIN), b.fconst(ty, 0.0));
    let small = b.alu(AluOp::FOLt, &[magnitude, least]);
    let zero = b.alu(AluOp::FCopySign, &[zero, rounded]);
    b.select(small, zero, rounded)
}

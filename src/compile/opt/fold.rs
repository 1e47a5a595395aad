//! Folds equal constants, arithmetic on constants, trivial identities, vectors that are split as they were composed,
//! and branches with a known condition.
//!
//! It walks the blocks once, in order. A float operation is folded only if its operands and its result are zero or
//! normal numbers, so that the shader's rules for denormals and NaN cannot matter, and only if it rounds to nearest.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_ir::number;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, Bits, Builder, Inst, Op, RoundMode, Shader, Terminator, Type, Value};
use smallvec::SmallVec;

/// Folds what is known.
///
/// # Errors
/// Only bugs.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    let floats = shader.modes.round.iter().all(|r| *r == RoundMode::NearestEven);
    rewrite(shader, |b, inst| {
        Ok(match fold(b, inst, floats) {
            Some(v) => Rewrite::Value(v),
            None => Rewrite::Keep,
        })
    })?;
    for id in shader.block_ids() {
        fold_branch(shader, id);
    }
    Ok(())
}

fn fold_branch(shader: &mut Shader, id: dovetail_ir::BlockId) {
    // The number of the only jump that is left.
    let call = match shader.block(id).term() {
        Some(Terminator::Branch { cond, then, els }) => match shader.as_const(cond) {
            Some(0) => 1,
            Some(_) => 0,
            None if then == els => 0,
            None => return,
        },
        Some(Terminator::Switch { value, cases, .. }) => match shader.as_const(value) {
            Some(n) => cases.iter().position(|(literal, _)| literal == n).unwrap_or(cases.len()),
            None => return,
        },
        _ => return,
    };
    let block = shader.block_mut(id);
    block.end.keep_call(call);
    // Without a branch there is no selection; a loop stays a loop.
    if let dovetail_ir::Merge::Selection(_) = block.merge {
        block.merge = dovetail_ir::Merge::None;
    }
}

fn fold(b: &mut Builder<'_>, inst: &Inst, floats: bool) -> Option<Value> {
    let ty = b.ty(inst.result?);
    match &inst.op {
        Op::Const(bits) => b.same_const(ty, *bits),
        Op::Alu(op, _) => {
            let consts: SmallVec<[Option<u64>; 4]> = inst.args.iter().map(|&a| b.shader.as_const(a)).collect();
            if let Some(known) = consts.iter().copied().collect::<Option<SmallVec<[u64; 4]>>>() {
                let from = b.ty(*inst.args.first()?);
                if let Some(bits) = constant(*op, &known, from.bits(), ty.bits(), floats) {
                    return Some(b.iconst(ty, bits));
                }
            }
            identity(b, *op, &inst.args, &consts, ty)
        }
        Op::Extract(lane) => {
            let def = b.shader.def(inst.args[0])?;
            match def.op {
                Op::Compose => def.args.get(usize::from(*lane)).copied(),
                Op::Undef => Some(b.undef(ty)),
                // Lane 0 is the lowest.
                Op::Bitcast => {
                    let bits = b.shader.as_const(*def.args.first()?)?;
                    let shift = u32::from(*lane) * ty.bits().count();
                    Some(b.iconst(ty, bits.checked_shr(shift)? & ty.bits().mask()))
                }
                _ => None,
            }
        }
        Op::Compose => {
            let source = |b: &Builder<'_>, i: usize, v: Value| match b.shader.def(v) {
                Some(Inst { op: Op::Extract(lane), args, .. }) if usize::from(*lane) == i => Some(args[0]),
                _ => None,
            };
            let whole = source(b, 0, inst.args[0])?;
            let same = inst.args.iter().enumerate().all(|(i, &v)| source(b, i, v) == Some(whole));
            (same && b.ty(whole) == ty).then_some(whole)
        }
        Op::Bitcast => {
            let v = inst.args[0];
            if b.ty(v) == ty {
                return Some(v);
            }
            match b.shader.def(v)? {
                Inst { op: Op::Bitcast, args, .. } if b.ty(args[0]) == ty => Some(args[0]),
                Inst { op: Op::Const(bits), .. } if ty.is_scalar() => Some(b.iconst(ty, *bits)),
                Inst { op: Op::Compose, args, .. } if ty.is_scalar() && ty.total_bits() <= 64 => {
                    let width = b.ty(v).bits().count();
                    let lanes = args.iter().zip(0..).map(|(v, n)| Some(b.shader.as_const(*v)? << (n * width)));
                    let bits =
                        lanes.collect::<Option<SmallVec<[u64; 8]>>>()?.into_iter().fold(0, |all, lane| all | lane);
                    Some(b.iconst(ty, bits))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Results that follow from one known operand, or from two equal operands.
fn identity(b: &mut Builder<'_>, op: AluOp, args: &[Value], consts: &[Option<u64>], ty: Type) -> Option<Value> {
    let mask = ty.bits().mask();
    let known = |i: usize| consts.get(i).copied().flatten();
    let same = args.len() == 2 && args[0] == args[1];
    match (op, known(0), known(1)) {
        (AluOp::IAdd | AluOp::IOr | AluOp::IXor, Some(0), _) => Some(args[1]),
        (AluOp::IAdd | AluOp::ISub | AluOp::IOr | AluOp::IXor, _, Some(0)) => Some(args[0]),
        (AluOp::Shl | AluOp::LShr | AluOp::AShr, _, Some(0)) => Some(args[0]),
        (AluOp::IMul, Some(1), _) => Some(args[1]),
        (AluOp::IMul | AluOp::UDiv, _, Some(1)) => Some(args[0]),
        (AluOp::IMul | AluOp::IAnd, Some(0), _) | (AluOp::IMul | AluOp::IAnd, _, Some(0)) => Some(b.iconst(ty, 0)),
        (AluOp::IAnd, Some(m), _) if m == mask => Some(args[1]),
        (AluOp::IAnd, _, Some(m)) if m == mask => Some(args[0]),
        (AluOp::IOr, Some(m), _) | (AluOp::IOr, _, Some(m)) if m == mask => Some(b.iconst(ty, m)),
        (AluOp::IAnd | AluOp::IOr | AluOp::UMin | AluOp::UMax | AluOp::SMin | AluOp::SMax, ..) if same => Some(args[0]),
        (AluOp::ISub | AluOp::IXor, ..) if same => Some(b.iconst(ty, 0)),
        (AluOp::IEq | AluOp::ULe | AluOp::UGe | AluOp::SLe | AluOp::SGe, ..) if same => Some(b.cbool(true)),
        (AluOp::INe | AluOp::ULt | AluOp::UGt | AluOp::SLt | AluOp::SGt, ..) if same => Some(b.cbool(false)),
        (AluOp::Select, Some(c), _) => Some(if c != 0 { args[1] } else { args[2] }),
        (AluOp::Select, ..) if args[1] == args[2] => Some(args[1]),
        (AluOp::Select, _, Some(1)) if ty == Type::B1 && known(2) == Some(0) => Some(args[0]),
        (AluOp::INot | AluOp::INeg, ..) => match b.shader.def(args[0])? {
            Inst { op: Op::Alu(inner, _), args, .. } if *inner == op => Some(args[0]),
            _ => None,
        },
        _ => None,
    }
}

/// The result of an operation on constants; `floats`: float operations round to nearest. `None` if the shader's modes
/// could change it, or if it is not known here.
pub fn constant(op: AluOp, args: &[u64], from: Bits, to: Bits, floats: bool) -> Option<u64> {
    let bits = integer(op, args, from, to).or_else(|| if floats { float(op, args, from, to) } else { None });
    bits.map(|bits| bits & to.mask())
}

fn signed(x: u64, bits: Bits) -> i64 {
    let unused = 64 - bits.count();
    ((x << unused) as i64) >> unused
}

/// The value of an integer operation; the caller drops bits above the result's width.
fn integer(op: AluOp, args: &[u64], from: Bits, to: Bits) -> Option<u64> {
    let a = *args.first()?;
    let b = args.get(1).copied().unwrap_or(0);
    let (sa, sb) = (signed(a, from), signed(b, from));
    let width = u64::from(from.count());
    let truth = |t: bool| Some(u64::from(t));
    match op {
        AluOp::IAdd => Some(a.wrapping_add(b)),
        AluOp::ISub => Some(a.wrapping_sub(b)),
        AluOp::IMul => Some(a.wrapping_mul(b)),
        AluOp::UMulHigh => Some(((u128::from(a) * u128::from(b)) >> width) as u64),
        AluOp::SMulHigh => Some(((i128::from(sa) * i128::from(sb)) >> width) as u64),
        AluOp::UDiv => a.checked_div(b),
        AluOp::UMod => a.checked_rem(b),
        AluOp::SDiv => sa.checked_div(sb).map(|x| x as u64),
        AluOp::SRem => sa.checked_rem(sb).map(|x| x as u64),
        AluOp::SMod => {
            let r = sa.checked_rem(sb)?;
            Some(if r != 0 && (r < 0) != (sb < 0) { r.wrapping_add(sb) } else { r } as u64)
        }
        AluOp::INeg => Some(a.wrapping_neg()),
        AluOp::IAbs => Some(sa.unsigned_abs()),
        AluOp::IAnd => Some(a & b),
        AluOp::IOr => Some(a | b),
        AluOp::IXor => Some(a ^ b),
        AluOp::INot => Some(!a),
        AluOp::Shl if b < width => Some(a << b),
        AluOp::LShr if b < width => Some(a >> b),
        AluOp::AShr if b < width => Some((sa >> b) as u64),
        AluOp::UMin => Some(a.min(b)),
        AluOp::UMax => Some(a.max(b)),
        AluOp::SMin => Some(sa.min(sb) as u64),
        AluOp::SMax => Some(sa.max(sb) as u64),
        AluOp::UAddCarry => truth(u128::from(a) + u128::from(b) > u128::from(from.mask())),
        AluOp::USubBorrow => truth(a < b),
        AluOp::BitCount => Some(u64::from(a.count_ones())),
        AluOp::BitReverse => Some(a.reverse_bits() >> (64 - width)),
        AluOp::FindILsb => Some(if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) }),
        AluOp::FindUMsb => Some(if a == 0 { u64::MAX } else { u64::from(63 - a.leading_zeros()) }),
        AluOp::FindSMsb => {
            let differs = if sa < 0 { !sa as u64 } else { sa as u64 };
            Some(if differs == 0 { u64::MAX } else { u64::from(63 - differs.leading_zeros()) })
        }
        AluOp::UBitExtract | AluOp::SBitExtract => {
            let count = *args.get(2)?;
            if b.checked_add(count)? > width {
                return None;
            }
            let field = if count == 0 { 0 } else { (a >> b) & (u64::MAX >> (64 - count)) };
            let negative = op == AluOp::SBitExtract && count != 0 && (field >> (count - 1)) & 1 == 1;
            Some(if negative { field | !(u64::MAX >> (64 - count)) } else { field })
        }
        AluOp::IEq => truth(a == b),
        AluOp::INe => truth(a != b),
        AluOp::ULt => truth(a < b),
        AluOp::ULe => truth(a <= b),
        AluOp::UGt => truth(a > b),
        AluOp::UGe => truth(a >= b),
        AluOp::SLt => truth(sa < sb),
        AluOp::SLe => truth(sa <= sb),
        AluOp::SGt => truth(sa > sb),
        AluOp::SGe => truth(sa >= sb),
        AluOp::ZExt | AluOp::Trunc => Some(a),
        AluOp::SExt => Some(sa as u64),
        // Flipping the sign bit is not arithmetic: it is correct for denormals and NaN too.
        AluOp::FNeg => Some(a ^ (1 << (width - 1))),
        AluOp::FAbs => Some(a & !(1 << (width - 1))),
        AluOp::S2F => exact(sa as f64, to).filter(|_| sa.unsigned_abs() < 1 << 24),
        AluOp::U2F => exact(a as f64, to).filter(|_| a < 1 << 24),
        _ => None,
    }
}

/// The bits of a number as a float of this width; `None` unless it is zero or normal there.
fn exact(x: f64, to: Bits) -> Option<u64> {
    match to {
        Bits::B32 => {
            let y = x as f32;
            (y == 0.0 || y.is_normal()).then(|| u64::from(y.to_bits()))
        }
        Bits::B64 => (x == 0.0 || x.is_normal()).then(|| x.to_bits()),
        Bits::B16 => {
            let bits = number::encode(x, to);
            (x == 0.0 || is_normal_half(bits)).then_some(bits)
        }
        _ => None,
    }
}

/// The sum, unless it is rounded.
fn exact_sum(a: f64, b: f64) -> Option<f64> {
    let sum = a + b;
    let second = sum - a;
    (a - (sum - second) == 0.0 && b - second == 0.0).then_some(sum)
}

/// Whether a half is neither zero, denormal, infinite nor NaN.
fn is_normal_half(bits: u64) -> bool {
    (1..31).contains(&(bits >> 10 & 31))
}

/// The number with these bits, if it is zero, normal or infinite: the modes of a shader may change what is denormal, and bits
/// of NaN are not known.
fn usual(bits: u64, from: Bits) -> Option<f64> {
    if !matches!(from, Bits::B16 | Bits::B32 | Bits::B64) {
        return None;
    }
    let x = number::decode(bits, from);
    (x.is_infinite() || exact(x, from).is_some()).then_some(x)
}

/// What needs no arithmetic, and so is known of infinities too: minima and maxima, comparisons, conversions.
fn of_infinities(op: AluOp, args: &[u64], from: Bits, to: Bits) -> Option<u64> {
    let a = *args.first()?;
    let x = usual(a, from)?;
    if op == AluOp::FConv && x.is_infinite() {
        return matches!(to, Bits::B16 | Bits::B32 | Bits::B64).then(|| number::encode(x, to));
    }
    let &[_, b] = args else { return None };
    let y = usual(b, from)?;
    let truth = |t: bool| Some(u64::from(t));
    match op {
        AluOp::FMin | AluOp::FMax if a == b => Some(a),
        AluOp::FMin if x != y => Some(if x < y { a } else { b }),
        AluOp::FMax if x != y => Some(if x > y { a } else { b }),
        AluOp::FOEq | AluOp::FUEq => truth(x == y),
        AluOp::FONe | AluOp::FUNe => truth(x != y),
        AluOp::FOLt | AluOp::FULt => truth(x < y),
        AluOp::FOLe | AluOp::FULe => truth(x <= y),
        AluOp::FOGt | AluOp::FUGt => truth(x > y),
        AluOp::FOGe | AluOp::FUGe => truth(x >= y),
        _ => None,
    }
}

/// The value of a float operation on zeros and normal numbers.
fn float(op: AluOp, args: &[u64], from: Bits, to: Bits) -> Option<u64> {
    if !op.takes_float() {
        return None;
    }
    if let Some(bits) = of_infinities(op, args, from, to) {
        return Some(bits);
    }
    let finite = |bits: &u64| usual(*bits, from).filter(|x| x.is_finite());
    let args: SmallVec<[f64; 4]> = args.iter().map(finite).collect::<Option<_>>()?;
    let a = *args.first()?;
    let [b, c] = [1, 2].map(|n| args.get(n).copied().unwrap_or(0.0));
    // Sums, differences and products of two narrower numbers, rounded to f64 and then to their width, are rounded correctly.
    let truth = |t: bool| Some(u64::from(t));
    match op {
        AluOp::FAdd => exact(a + b, to),
        AluOp::FSub => exact(a - b, to),
        AluOp::FMul => exact(a * b, to),
        AluOp::FFma if from == Bits::B32 => exact(f64::from((a as f32).mul_add(b as f32, c as f32)), to),
        AluOp::FFma if from == Bits::B16 => exact_sum(a * b, c).and_then(|sum| exact(sum, to)),
        AluOp::FFma => exact(a.mul_add(b, c), to),
        AluOp::FFract if to == Bits::B32 => exact((a - a.floor()).min(f64::from(1f32.next_down())), to),
        // This rounds once more than the exact result, which is far within the allowed error.
        AluOp::FRcp if a != 0.0 => exact(1.0 / a, to),
        AluOp::FSqrt if a >= 0.0 => exact(a.sqrt(), to),
        AluOp::FRsq if a > 0.0 => exact(1.0 / a.sqrt(), to),
        // Only exact results: others depend on the host's math library.
        AluOp::FExp2 if a.fract() == 0.0 && a.abs() < 1000.0 => exact(2f64.powi(a as i32), to),
        AluOp::FLog2 if a > 0.0 && a.to_bits() << 12 == 0 => exact(f64::from((a.to_bits() >> 52) as i32 - 1023), to),
        AluOp::FSinTurn => quarter_turn(a, [0.0, 1.0, 0.0, -1.0]).and_then(|x| exact(x, to)),
        AluOp::FCosTurn => quarter_turn(a, [1.0, 0.0, -1.0, 0.0]).and_then(|x| exact(x, to)),
        AluOp::FFloor => exact(a.floor(), to),
        AluOp::FCeil => exact(a.ceil(), to),
        AluOp::FTrunc => exact(a.trunc(), to),
        AluOp::FRoundEven => exact(a.round_ties_even(), to),
        AluOp::FConv => exact(a, to),
        AluOp::F2S => (a.abs() < 2f64.powi(to.count().min(32) as i32 - 1)).then_some(a as i64 as u64),
        AluOp::F2U => (a > -1.0 && a < 2f64.powi(to.count().min(32) as i32)).then_some(a as u64),
        AluOp::FIsNan | AluOp::FIsInf | AluOp::FUno => truth(false),
        AluOp::FOrd => truth(true),
        _ => None,
    }
}

/// Of the values at 0, 1, 2 and 3 quarters of a turn, the one at `turns`, if that is a multiple of a quarter.
fn quarter_turn(turns: f64, values: [f64; 4]) -> Option<f64> {
    let quarters = 4.0 * turns;
    (quarters.fract() == 0.0 && quarters.abs() < 1024.0).then(|| values[(quarters as i64).rem_euclid(4) as usize])
}

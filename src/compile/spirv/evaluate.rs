//! Evaluates straight-line IR on numbers, for tests of library code: one block, scalars and small vectors, no memory.
//!
//! Floats are computed in double precision and rounded to their width, so a test sees the error of a formula and its
//! steps, not of an instruction. An operation that no test needs is not here and panics.

use crate::ir::{AluOp, Bits, Builder, Op, Shader, Type, Value};
use crate::target::Stage;

/// Builds a block from constants of these types and bits, evaluates it, and gives the bits of its results.
pub fn run(args: &[(Type, u64)], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>) -> Vec<u64> {
    let mut shader = Shader::new("test", Stage::Compute);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    // Parameters, not constants: nothing may be folded on the way.
    let params: Vec<Value> = args.iter().map(|&(ty, _)| b.shader.add_param(Shader::ENTRY, ty)).collect();
    let results = f(&mut b, &params);
    let mut bits: Vec<Vec<u64>> = vec![Vec::new(); shader.values.len()];
    for (param, &(_, x)) in params.iter().zip(args) {
        bits[param.index()] = vec![x];
    }
    for &id in &shader.block(Shader::ENTRY).insts {
        let inst = shader.inst(id);
        let result = inst.result.expect("a pure instruction");
        let args: Vec<&[u64]> = inst.args.iter().map(|a| bits[a.index()].as_slice()).collect();
        let source = inst.args.first().map_or(shader.ty(result), |&a| shader.ty(a));
        bits[result.index()] = match &inst.op {
            Op::Const(c) => vec![*c],
            Op::Compose => args.concat(),
            Op::Extract(lane) => vec![args[0][usize::from(*lane)]],
            Op::Bitcast => recut(args[0], source.bits(), shader.ty(result)),
            Op::Alu(op, _) => {
                let args: Vec<u64> = args.iter().map(|a| a[0]).collect();
                vec![alu(*op, &args, source.bits(), shader.ty(result).bits())]
            }
            other => panic!("not evaluated: {other:?}"),
        };
    }
    results.iter().map(|r| bits[r.index()][0]).collect()
}

/// [`run`] on floats of 32 bits.
pub fn run_f32(args: &[f32], f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>) -> Vec<f32> {
    let args: Vec<(Type, u64)> = args.iter().map(|x| (Type::B32, u64::from(x.to_bits()))).collect();
    run(&args, f).into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

fn recut(lanes: &[u64], from: Bits, to: Type) -> Vec<u64> {
    let mut whole = 0u128;
    for (i, lane) in lanes.iter().enumerate() {
        whole |= u128::from(*lane) << (i as u32 * from.count());
    }
    (0..to.lanes()).map(|i| (whole >> (i * to.bits().count())) as u64 & to.bits().mask()).collect()
}

fn half_to_f64(h: u64) -> f64 {
    let magnitude = match (h >> 10 & 31, h & 1023) {
        (0, m) => m as f64 * 2f64.powi(-24),
        (31, 0) => f64::INFINITY,
        (31, _) => f64::NAN,
        (e, m) => (1024 + m) as f64 * 2f64.powi(e as i32 - 25),
    };
    if h & 0x8000 != 0 { -magnitude } else { magnitude }
}

fn decode(bits: u64, width: Bits) -> f64 {
    match width {
        Bits::B16 => half_to_f64(bits),
        Bits::B64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

fn encode(x: f64, width: Bits) -> u64 {
    match width {
        Bits::B64 => x.to_bits(),
        Bits::B32 => u64::from((x as f32).to_bits()),
        // The builder's own conversion, which has tests of its own.
        _ => {
            let mut shader = Shader::new("half", Stage::Compute);
            let mut b = Builder::new(&mut shader, Shader::ENTRY);
            let v = b.fconst(Type::scalar(width), x);
            shader.as_const(v).expect("a constant")
        }
    }
}

/// Saturating sum of two's complement numbers.
fn add_signed(x: u64, y: u64, width: u32) -> u64 {
    let wide = |x: u64| i128::from((x << (64 - width)) as i64 >> (64 - width));
    let limit = 1i128 << (width - 1);
    (wide(x) + wide(y)).clamp(-limit, limit - 1) as u64
}

fn alu(op: AluOp, args: &[u64], from: Bits, to: Bits) -> u64 {
    use AluOp as A;
    if let A::Select = op {
        return if args[0] != 0 { args[1] } else { args[2] };
    }
    let width = from.count();
    let signed = |x: u64| (x << (64 - width)) as i64 >> (64 - width);
    if !op.takes_float() {
        let (x, y) = (args[0], args.get(1).copied().unwrap_or(0));
        let field = |value: u64| value >> y & ((1u64 << args[2]) - 1);
        let n = match op {
            A::IAdd => x.wrapping_add(y),
            A::ISub => x.wrapping_sub(y),
            A::IMul => x.wrapping_mul(y),
            A::IAnd => x & y,
            A::IOr => x | y,
            A::IXor => x ^ y,
            A::INot => !x,
            A::Shl => x << y,
            A::LShr => x >> y,
            A::AShr => (signed(x) >> y) as u64,
            A::SMin => signed(x).min(signed(y)) as u64,
            A::SMax => signed(x).max(signed(y)) as u64,
            A::UMin => x.min(y),
            A::IEq => u64::from(x == y),
            A::INe => u64::from(x != y),
            A::SLt => u64::from(signed(x) < signed(y)),
            A::SGt => u64::from(signed(x) > signed(y)),
            A::ULt => u64::from(x < y),
            A::BitCount => u64::from(x.count_ones()),
            A::FindILsb => {
                if x == 0 {
                    u64::MAX
                } else {
                    u64::from(x.trailing_zeros())
                }
            }
            A::FindUMsb => {
                if x == 0 {
                    u64::MAX
                } else {
                    63 - u64::from(x.leading_zeros())
                }
            }
            A::ZExt | A::Trunc => x,
            A::SExt => signed(x) as u64,
            A::UBitExtract => field(x),
            A::SBitExtract => ((field(x) << (64 - args[2])) as i64 >> (64 - args[2])) as u64,
            A::S2F => return encode(signed(x) as f64, to),
            A::U2F => return encode(x as f64, to),
            A::SAddSat => add_signed(x, y, width),
            A::SDot4 | A::UDot4 | A::SDot4Sat => {
                let byte = |w: u64, i: u32| match op {
                    A::UDot4 => (w >> (8 * i) & 255) as i64,
                    _ => i64::from((w >> (8 * i)) as i8),
                };
                let sum: i64 = (0..4).map(|i| byte(x, i) * byte(y, i)).sum();
                match op {
                    A::SDot4Sat => add_signed(sum as u64, args[2], 32),
                    _ => (sum as u64).wrapping_add(args[2]),
                }
            }
            other => panic!("not evaluated: {}", other.name()),
        };
        return n & to.mask();
    }
    let x = decode(args[0], from);
    let y = args.get(1).map_or(0.0, |&y| decode(y, from));
    let truth = |t: bool| u64::from(t);
    let r = match op {
        A::FAdd => x + y,
        A::FSub => x - y,
        A::FMul => x * y,
        A::FDiv => x / y,
        A::FFma => x.mul_add(y, decode(args[2], from)),
        A::FNeg => -x,
        A::FAbs => x.abs(),
        A::FSign => {
            if x == 0.0 {
                x
            } else {
                x.signum()
            }
        }
        A::FCopySign => x.copysign(y),
        A::FFloor => x.floor(),
        A::FTrunc => x.trunc(),
        A::FRoundEven => x.round_ties_even(),
        A::FMin => x.min(y),
        A::FMax => x.max(y),
        A::FSqrt => x.sqrt(),
        A::FRsq => 1.0 / x.sqrt(),
        A::FExp2 => x.exp2(),
        A::FLog2 => x.log2(),
        A::FPow => (y * x.log2()).exp2(),
        A::FSin => x.sin(),
        A::FCos => x.cos(),
        A::FConv => x,
        A::F2S => return x as i64 as u64 & to.mask(),
        A::F2U => return x as u64 & to.mask(),
        A::FOEq => return truth(x == y),
        A::FOLt => return truth(x < y),
        A::FOGt => return truth(x > y),
        A::FIsInf => return truth(x.is_infinite()),
        A::PackSnorm16 | A::PackNorm16 => {
            let field = |x: f64| match op {
                A::PackSnorm16 => (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i64 as u64 & 0xffff,
                _ => (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u64,
            };
            return field(x) | field(y) << 16;
        }
        other => panic!("not evaluated: {}", other.name()),
    };
    encode(r, to)
}

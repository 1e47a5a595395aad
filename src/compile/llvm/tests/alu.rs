//! Every arithmetic operation at every width it supports.

use super::{assembly, compiles, compute, has};
use dovetail_base::error::ErrorKind;
use dovetail_base::target::WaveSize;
use dovetail_ir::{AluOp, Bits, FpFlags, Op, Sig, Type};

const WIDTHS: [Bits; 4] = [Bits::B8, Bits::B16, Bits::B32, Bits::B64];
const FLOATS: [Bits; 3] = [Bits::B16, Bits::B32, Bits::B64];
const WITH_BOOL: [Bits; 5] = [Bits::B1, Bits::B8, Bits::B16, Bits::B32, Bits::B64];

/// Operations that 64-bit floats do not have.
const NO_DOUBLE: [AluOp; 8] = [
    AluOp::FExp2,
    AluOp::FLog2,
    AluOp::FPow,
    AluOp::FSin,
    AluOp::FCos,
    AluOp::FSinTurn,
    AluOp::FCosTurn,
    AluOp::FQuantize16,
];

fn one(op: AluOp, args: &[Type], ty: Type) -> dovetail_ir::Shader {
    compute(WaveSize::W32, args, |b, _, v| vec![b.value(Op::Alu(op, FpFlags::NONE), v, ty)])
}

fn widths(op: AluOp) -> &'static [Bits] {
    use AluOp as A;
    if matches!(op, A::FRcpSeed | A::FRsqSeed) {
        &[Bits::B64]
    } else if op.takes_float() {
        &FLOATS
    } else if matches!(op, A::IAnd | A::IOr | A::IXor | A::INot | A::IEq | A::INe | A::Select) {
        &WITH_BOOL
    } else {
        &WIDTHS
    }
}

#[test]
fn every_operation_compiles_at_every_width() {
    for &op in AluOp::ALL {
        for &bits in widths(op) {
            let x = Type::scalar(bits);
            let args = match op.sig() {
                Sig::Same | Sig::Compare | Sig::ToB32 | Sig::Carry => vec![x; op.arity()],
                Sig::Select => vec![Type::B1, x, x],
                Sig::FirstSame => [x].into_iter().chain(vec![Type::B32; op.arity() - 1]).collect(),
                Sig::All32 => vec![Type::B32; op.arity()],
                Sig::Convert => continue,
            };
            let ty = op.result_type(&args, Type::B32).unwrap();
            let shader = one(op, &args, ty);
            if NO_DOUBLE.contains(&op) && bits == Bits::B64 {
                let e = assembly(&shader).unwrap_err();
                assert!(matches!(e.kind(), ErrorKind::Unsupported { .. }), "{} gave {e}", op.name());
            } else {
                compiles(&shader);
            }
        }
    }
}

#[test]
fn every_conversion_compiles() {
    use AluOp as A;
    let (ints, floats): (&[Bits], &[Bits]) = (&WITH_BOOL, &FLOATS);
    for (op, from, to) in [
        (A::ZExt, ints, ints),
        (A::SExt, ints, ints),
        (A::Trunc, ints, ints),
        (A::F2S, floats, &WIDTHS),
        (A::F2U, floats, &WIDTHS),
        (A::S2F, &WIDTHS, floats),
        (A::U2F, &WIDTHS, floats),
        (A::FConv, floats, floats),
        (A::FConvRtz, floats, floats),
    ] {
        for &from in from {
            for &to in to {
                let grows = from < to;
                if (op == A::Trunc && grows) || (matches!(op, A::ZExt | A::SExt) && from > to) {
                    continue;
                }
                compiles(&one(op, &[Type::scalar(from)], Type::scalar(to)));
            }
        }
    }
}

#[test]
fn products_and_sums_fuse_unless_told_not_to() {
    let shader = |flags| {
        compute(WaveSize::W32, &[Type::B32; 3], |b, _, v| {
            b.fp = flags;
            let product = b.alu(AluOp::FMul, &v[..2]);
            vec![b.alu(AluOp::FAdd, &[product, v[2]])]
        })
    };
    let fused = compiles(&shader(FpFlags::NONE));
    assert!(fused.contains("v_fma"), "{fused}");
    let apart = compiles(&shader(FpFlags::NO_CONTRACT));
    has(&apart, &["v_mul_f32", "v_add_f32"]);
}

#[test]
fn approximations_are_the_hardware_s_own() {
    for (op, n, code) in [
        (AluOp::FDiv, 2, "v_rcp_f32"),
        (AluOp::FSqrt, 1, "v_sqrt_f32"),
        (AluOp::FRsq, 1, "v_rsq_f32"),
        (AluOp::FSin, 1, "v_fract_f32"),
        (AluOp::FExp2, 1, "v_exp_f32"),
        (AluOp::FPow, 2, "v_mul_legacy_f32"),
    ] {
        let text = compiles(&one(op, &vec![Type::B32; n], Type::B32));
        assert!(text.contains(code), "{}: {text}", op.name());
        assert!(!text.contains("v_div_scale"), "{}: {text}", op.name());
    }
}

#[test]
fn what_could_trap_does_not() {
    // An undefined quotient must not remove the rest of the shader.
    let shader = compute(WaveSize::W32, &[Type::B32], |b, _, v| {
        let zero = b.c32(0);
        vec![b.alu(AluOp::UDiv, &[v[0], zero]), v[0]]
    });
    let text = compiles(&shader);
    assert_eq!(text.matches("buffer_store").count(), 2, "{text}");
}

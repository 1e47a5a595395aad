//! Compares library code with the standard library, within the errors that Vulkan allows.

use super::super::evaluate::{run, run_f32};
use super::super::float::FloatOps;
use super::super::operands::{from_words, words};
use super::pack::Norm;
use super::{math as m, pack as p, trinary, vector as v};
use dovetail_ir::{AluOp, Builder, FpFlags, Op, Type, Value, ValueDef};

type Unary = fn(&mut Builder<'_>, Value) -> Value;
type Row = (&'static str, Unary, fn(f64) -> f64, &'static [f32], f64, f64);

/// Name, function, reference, arguments, allowed relative error, allowed absolute error.
const UNARY: &[Row] = &[
    ("exp", m::exp, f64::exp, &[-20.0, -1.0, 0.0, 1e-6, 0.5, 1.0, 10.0, 80.0], 1e-5, 0.0),
    ("log", m::log, f64::ln, &[1e-30, 0.1, 0.9999, 1.0, 1.5, 2.0, 1e30], 1e-6, 5e-7),
    ("tan", m::tan, f64::tan, &[-1.5, -0.1, 0.0, 0.7, 3.0], 1e-5, 1e-6),
    ("atan", m::atan, f64::atan, &[-1e30, -3.0, -1.0, -0.5, -1e-8, 0.0, 1e-3, 0.3, 0.99, 1.01, 7.0, 1e20], 1e-6, 0.0),
    ("asin", m::asin, f64::asin, &[-1.0, -0.999, -0.5, -1e-4, 0.0, 0.25, 0.7, 0.99999, 1.0], 2e-6, 0.0),
    ("acos", m::acos, f64::acos, &[-1.0, -0.999, -0.5, -1e-4, 0.0, 0.25, 0.7, 0.99999, 1.0], 2e-6, 0.0),
    ("sinh", m::sinh, f64::sinh, &[-89.0, -2.0, -0.1, 0.0, 0.1, 1.0, 10.0, 89.0], 1e-4, 1e-6),
    ("cosh", m::cosh, f64::cosh, &[-89.0, -2.0, -0.1, 0.0, 0.1, 1.0, 10.0, 89.0], 1e-4, 1e-6),
    ("tanh", m::tanh, f64::tanh, &[-100.0, -2.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0], 1e-5, 1e-6),
    ("asinh", m::asinh, f64::asinh, &[-1e6, -2.0, -0.1, 0.0, 0.1, 1.0, 10.0, 1e6], 1e-5, 1e-6),
    ("acosh", m::acosh, f64::acosh, &[1.0, 1.1, 2.0, 10.0, 1e6], 1e-5, 1e-6),
    ("atanh", m::atanh, f64::atanh, &[-0.999, -0.5, -0.1, 0.0, 0.1, 0.5, 0.999], 1e-5, 1e-6),
    ("rsq", m::rsq, |x| 1.0 / x.sqrt(), &[1e-10, 0.5, 4.0, 1e10], 1e-6, 0.0),
];

fn close(name: &str, at: &[f32], got: f32, want: f64, relative: f64, absolute: f64) {
    let error = (f64::from(got) - want).abs();
    assert!(error <= want.abs() * relative + absolute, "{name}{at:?} = {got}, not {want}");
}

#[test]
fn unary_functions_are_as_precise_as_vulkan_asks() {
    for (name, f, reference, xs, relative, absolute) in UNARY {
        for &x in *xs {
            let got = run_f32(&[x], |b, a| vec![f(b, a[0])])[0];
            close(name, &[x], got, reference(f64::from(x)), *relative, *absolute);
        }
    }
}

#[test]
fn sixteen_bits_are_computed_in_thirty_two() {
    // 0.5 in and, as the nearest f16, asin(0.5) = π/6 out.
    let got = run(&[(Type::B16, 0x3800)], |b, a| vec![m::asin(b, a[0])])[0];
    assert_eq!(got, 0x3830);
    let got = run(&[(Type::B16, 0x4900), (Type::B16, 0x4000)], |b, a| vec![m::pow(b, a[0], a[1])])[0];
    assert_eq!(got, 0x5640, "10² = 100");
}

#[test]
fn atan2_has_all_four_quadrants_and_the_axes() {
    let xs = [-1e20f32, -2.0, -1.0, -1e-5, 0.0, 1e-5, 1.0, 3.0, 1e20];
    for y in xs {
        for x in xs {
            let got = run_f32(&[y, x], |b, a| vec![m::atan2(b, a[0], a[1])])[0];
            close("atan2", &[y, x], got, f64::from(y).atan2(f64::from(x)), 2e-6, 1e-38);
        }
    }
    let got = run_f32(&[f32::INFINITY, f32::INFINITY], |b, a| vec![m::atan2(b, a[0], a[1])])[0];
    close("atan2", &[f32::INFINITY], got, std::f64::consts::FRAC_PI_4, 1e-6, 0.0);
}

#[test]
fn the_middle_of_three_is_the_same_in_every_order() {
    for x in [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [2.0, 3.0, 2.0]] {
        let got = run_f32(&x, |b, v| vec![trinary::middle(b, AluOp::FMin, AluOp::FMax, [v[0], v[1], v[2]])]);
        assert_eq!(got, [2.0], "{x:?}");
    }
}

#[test]
fn inverse_tangents_say_that_they_may_be_coarse() {
    run_f32(&[1.0, 2.0], |b, v| {
        for angle in [m::atan(b, v[0]), m::atan2(b, v[0], v[1]), m::asin(b, v[0])] {
            let ValueDef::Inst(id) = b.shader.values[angle.index()].def else { panic!("a result") };
            assert!(matches!(b.shader.inst(id).op, Op::Alu(_, flags) if flags.has(FpFlags::COARSE)));
        }
        vec![]
    });
}

#[test]
fn arguments_beyond_the_domain_saturate() {
    let got = run_f32(&[1.000_000_1], |b, a| vec![m::asin(b, a[0]), m::acos(b, a[0])]);
    close("asin", &[], got[0], std::f64::consts::FRAC_PI_2, 1e-6, 0.0);
    assert_eq!(got[1], 0.0);
}

#[test]
fn mix_is_exact_at_its_ends() {
    for a in [0.0f32, 1.0] {
        let got = run_f32(&[0.3, 1e8, a], |b, v| vec![m::mix(b, v[0], v[1], v[2])])[0];
        assert_eq!(got, if a == 0.0 { 0.3 } else { 1e8 });
    }
    let got = run_f32(&[2.0, 4.0, 0.25], |b, v| vec![m::mix(b, v[0], v[1], v[2])])[0];
    assert_eq!(got, 2.5);
}

#[test]
fn steps_and_parts() {
    let got = run_f32(&[1.0, 3.0, 2.5], |b, v| {
        let (fraction, whole) = m::modf(b, v[2]);
        let negative = b.f1(AluOp::FNeg, v[2]);
        let (negative_fraction, negative_whole) = m::modf(b, negative);
        vec![
            m::step(b, v[0], v[0]),
            m::step(b, v[1], v[0]),
            m::smooth_step(b, v[0], v[1], v[2]),
            fraction,
            whole,
            negative_fraction,
            negative_whole,
        ]
    });
    assert_eq!(got, [1.0, 0.0, 0.84375, 0.5, 2.0, -0.5, -2.0]);
    let got = run_f32(&[f32::NEG_INFINITY], |b, v| {
        let (fraction, whole) = m::modf(b, v[0]);
        vec![fraction, whole]
    });
    assert_eq!((got[0].to_bits(), got[1]), ((-0.0f32).to_bits(), f32::NEG_INFINITY));
    let signs = run(&[(Type::B32, 7), (Type::B32, 0), (Type::B32, u64::from(-9i32 as u32))], |b, v| {
        v.iter().map(|&x| m::int_sign(b, x)).collect::<Vec<_>>()
    });
    assert_eq!(signs, [1, 0, 0xffff_ffff]);
}

#[test]
fn packing_and_unpacking() {
    let f = |x: f32| (Type::B32, u64::from(x.to_bits()));
    let got = run(&[f(0.0), f(1.0), f(-0.5), f(2.0)], |b, a| {
        vec![
            p::pack_norm_4x8(b, Norm::Signed, a),
            p::pack_norm_4x8(b, Norm::Unsigned, a),
            p::pack_norm_2x16(b, Norm::Signed, &a[1..3]),
            p::pack_norm_2x16(b, Norm::Unsigned, &a[..2]),
            p::pack_half_2x16(b, &a[1..3]),
        ]
    });
    assert_eq!(got, [0x7fc0_7f00, 0xff00_ff00, 0xc000_7fff, 0xffff_0000, 0xb800_3c00]);
    for (norm, width, word, want) in [
        (Norm::Unsigned, 8, 0xff00_ff00u64, vec![0.0, 1.0, 0.0, 1.0]),
        (Norm::Signed, 8, 0x8081_7f00, vec![0.0, 1.0, -1.0, -1.0]),
        (Norm::Unsigned, 16, 0xffff_0000, vec![0.0, 1.0]),
        (Norm::Signed, 16, 0x8000_7fff, vec![1.0, -1.0]),
    ] {
        let got = run(&[(Type::B32, word)], |b, a| p::unpack_norm(b, norm, width, a[0]));
        let got: Vec<f32> = got.iter().map(|&x| f32::from_bits(x as u32)).collect();
        assert_eq!(got, want, "{norm:?} {width}");
    }
    let got = run(&[(Type::B32, 0xb800_3c00)], |b, a| p::unpack_half_2x16(b, a[0]));
    assert_eq!(got, [f(1.0).1, f(-0.5).1]);
    let got = run(&[(Type::B32, 1), (Type::B32, 0x3ff0_0000)], |b, a| {
        let d = from_words(b, a);
        let mut parts = words(b, d);
        parts.push(d);
        parts
    });
    assert_eq!(got, [1, 0x3ff0_0000, 0x3ff0_0000_0000_0001]);
}

#[test]
fn geometry() {
    let got = run_f32(&[3.0, 4.0, 0.0], |b, a| {
        let mut out = vec![v::length(b, a).unwrap()];
        out.extend(v::normalize(b, a).unwrap());
        out.extend(v::normalize(b, &[a[2], a[2]]).unwrap());
        out.extend(v::cross(b, [a[0], a[1], a[2]], [a[1], a[2], a[0]]));
        out
    });
    assert_eq!(got, [5.0, 0.6, 0.8, 0.0, 0.0, 0.0, 12.0, -9.0, -16.0]);
    // Incident (1, -1) on a floor with the normal (0, 1).
    let got = run_f32(&[1.0, -1.0, 0.0, 0.5, 2.0], |b, a| {
        let up = [a[2], a[0]];
        let mut out = v::reflect(b, &a[..2], &up).unwrap();
        out.extend(v::face_forward(b, &up, &a[..2], &up).unwrap());
        out.extend(v::face_forward(b, &up, &up, &up).unwrap());
        let grazing = [a[0], a[2]];
        out.extend(v::refract(b, &grazing, &up, a[4]).unwrap());
        out.extend(v::refract(b, &[a[2], a[1]], &up, a[3]).unwrap());
        out
    });
    assert_eq!(got, [1.0, 1.0, 0.0, 1.0, -0.0, -1.0, 0.0, 0.0, 0.0, -1.0]);
}

#[test]
fn inverses_times_their_matrices_are_identities() {
    let numbers: [f32; 16] = [2., 7., 1., -8., 2., 8., -1., 8., 2., 8., 4., -5., 9., 0., 4., 5.];
    for n in [2, 3, 4] {
        let m = &numbers[..n * n];
        let inverse = run_f32(m, |b, a| v::inverse(b, a).unwrap());
        for column in 0..n {
            for row in 0..n {
                let sum: f32 = (0..n).map(|k| m[k * n + row] * inverse[column * n + k]).sum();
                let want = if row == column { 1.0 } else { 0.0 };
                assert!((sum - want).abs() < 1e-4, "{n}x{n} at column {column}, row {row}: {sum}");
            }
        }
    }
    let got = run_f32(&numbers, |b, a| [4, 9, 16].map(|n| v::determinant(b, &a[..n]).unwrap()).to_vec());
    assert_eq!(got, [-23.0, -126.0, 3799.0]);
}

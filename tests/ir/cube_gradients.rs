//! Cube coordinates and gradients computed by `lower_images`, evaluated and compared with the slope of the projection.

use dovetail::compile::passes::lower_images;
use dovetail::ir::{
    AluOp, AmdOp, Builder, Dim, ImageInst, ImageOp, LaneOp, LodMode, Op, Shader, Terminator, Type, Value,
};
use dovetail::target::{Stage, WaveSize};
use proptest::prelude::*;

/// Face, its two coordinates and twice the major axis, as the instructions define them.
fn cube([x, y, z]: [f32; 3]) -> [f32; 4] {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 { [5.0, -x, -y, 2.0 * z] } else { [4.0, x, -y, 2.0 * z] }
    } else if y.abs() >= x.abs() {
        if y < 0.0 { [3.0, x, -z, 2.0 * y] } else { [2.0, x, z, 2.0 * y] }
    } else if x < 0.0 {
        [1.0, z, -y, 2.0 * x]
    } else {
        [0.0, -z, -y, 2.0 * x]
    }
}

/// Runs straight-line code on known inputs; returns the operands of the image instruction.
fn run(shader: &Shader, inputs: &[(Value, f32)]) -> Vec<f32> {
    let mut bits = vec![0u32; shader.values.len()];
    for (v, x) in inputs {
        bits[v.index()] = x.to_bits();
    }
    for &id in &shader.block(Shader::ENTRY).insts {
        let inst = shader.inst(id);
        let i = |n: usize| bits[inst.args[n].index()];
        let f = |n: usize| f32::from_bits(i(n));
        let axis = |n: usize| cube([f(0), f(1), f(2)])[n].to_bits();
        let out = match &inst.op {
            Op::Target(AmdOp::Mimg(_)) => {
                return inst.args[2..].iter().map(|v| f32::from_bits(bits[v.index()])).collect();
            }
            Op::Undef => continue,
            Op::Const(x) => *x as u32,
            Op::Target(AmdOp::Lane(LaneOp::CubeId)) => axis(0),
            Op::Target(AmdOp::Lane(LaneOp::CubeS)) => axis(1),
            Op::Target(AmdOp::Lane(LaneOp::CubeT)) => axis(2),
            Op::Target(AmdOp::Lane(LaneOp::CubeMa)) => axis(3),
            Op::Alu(alu, _) => match alu {
                AluOp::FAbs => f(0).abs().to_bits(),
                AluOp::FNeg => (-f(0)).to_bits(),
                AluOp::FRcp => f(0).recip().to_bits(),
                AluOp::FAdd => (f(0) + f(1)).to_bits(),
                AluOp::FMul => (f(0) * f(1)).to_bits(),
                AluOp::FFma => f(0).mul_add(f(1), f(2)).to_bits(),
                AluOp::FRoundEven => f(0).round_ties_even().to_bits(),
                AluOp::F2U => f(0) as u32,
                AluOp::ULt => u32::from(i(0) < i(1)),
                AluOp::UGe => u32::from(i(0) >= i(1)),
                AluOp::Shl => i(0) << i(1),
                AluOp::IXor => i(0) ^ i(1),
                AluOp::Select => i(if i(0) != 0 { 1 } else { 2 }),
                _ => panic!("{alu:?} is not expected"),
            },
            op => panic!("{op:?} is not expected"),
        };
        if let Some(v) = inst.result {
            bits[v.index()] = out;
        }
    }
    panic!("no image instruction")
}

/// Gradients in x, gradients in y, coordinates.
fn lowered(direction: [f32; 3], dx: [f32; 3], dy: [f32; 3], layer: f32) -> Vec<f32> {
    let mut shader = Shader::new("cube", Stage::Compute);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let image = ImageInst {
        op: ImageOp::Sample,
        dim: Dim::Cube,
        arrayed: true,
        multisampled: false,
        lod: LodMode::Gradient,
        compare: false,
        offset: false,
        min_lod: false,
        sparse: false,
        access: Default::default(),
    };
    let numbers: Vec<f32> = direction.into_iter().chain([layer]).chain(dx).chain(dy).collect();
    let mut args = vec![b.undef(Type::DESC8), b.undef(Type::DESC4)];
    let inputs: Vec<(Value, f32)> = numbers.iter().map(|&x| (b.undef(Type::B32), x)).collect();
    args.extend(inputs.iter().map(|(v, _)| *v));
    b.value(Op::Image(image), &args, Type::DESC4);
    b.terminate(Terminator::Return(&[]));
    lower_images::run(&mut shader, WaveSize::W64).expect("lowered");
    run(&shader, &inputs)
}

fn vector(size: f32) -> impl Strategy<Value = [f32; 3]> {
    [-size..size, -size..size, -size..size]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradients_are_slopes(d in vector(1.0), dx in vector(1.0), dy in vector(1.0), layer in 0.0f32..7.4) {
        let [face, _, _, ma] = cube(d);
        // Near the corners of the cube the slope changes too fast to measure.
        prop_assume!(ma.abs() > 0.2);
        let got = lowered(d, dx, dy, layer);
        let place = |d: [f64; 3]| {
            let major = d.map(f64::abs).into_iter().fold(0.0, f64::max);
            // Project onto the face of `d`, even if another axis is larger.
            let [_, s, t, _] = match face as u32 {
                0 => [0.0, -d[2], -d[1], d[0]],
                1 => [0.0, d[2], -d[1], -d[0]],
                2 => [0.0, d[0], d[2], d[1]],
                3 => [0.0, d[0], -d[2], -d[1]],
                4 => [0.0, d[0], -d[1], d[2]],
                _ => [0.0, -d[0], -d[1], -d[2]],
            };
            [s / (2.0 * major) + 1.5, t / (2.0 * major) + 1.5]
        };
        let wide = d.map(f64::from);
        let here = place(wide);
        let step = 1e-7;
        for (direction, got) in [(dx, &got[0..2]), (dy, &got[2..4])] {
            let mut near = wide;
            near.iter_mut().zip(direction).for_each(|(x, g)| *x += step * f64::from(g));
            // A step over an edge leads to another face.
            if cube(near.map(|x| x as f32))[0] != face {
                continue;
            }
            for (axis, &g) in got.iter().enumerate() {
                let slope = (place(near)[axis] - here[axis]) / step;
                prop_assert!((slope - f64::from(g)).abs() < 1e-3 * (1.0 + slope.abs()), "{} is not {}", g, slope);
            }
        }
        prop_assert!((f64::from(got[4]) - here[0]).abs() < 1e-5 && (f64::from(got[5]) - here[1]).abs() < 1e-5);
        prop_assert_eq!(got[6], layer.round_ties_even() * 8.0 + face);
    }
}

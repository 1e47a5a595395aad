//! Tests that would be too long for a file case. The decision tables themselves are tested in `testdata/ir`.

mod steps;

use super::lower;
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions};
use dovetail_ir::{Builder, BuiltIn, Interp, NumericKind, Op, OutputSlot, Shader, Terminator, Type};

const F32: NumericKind = NumericKind::Float;

/// Lowers a vertex shader of one block with no known state.
fn vertex(build: impl FnOnce(&mut Builder<'_>)) -> Result<()> {
    let mut shader = Shader::new("main", Stage::Vertex);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    build(&mut b);
    b.terminate(Terminator::Return(&[]));
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Vertex,
        module: ModuleDigest([0; 32]),
        entry_point: "main".into(),
        specialization: Vec::new(),
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known: KnownState::default(),
    };
    lower(shader, &request).map(|_| ())
}

#[test]
fn too_many_values_at_a_joint_ask_for_a_whole_compile() {
    let too_many = |e: Error| match e.full_compile() {
        Some(FullCompile::TooManyValues { what, count }) => (what.clone(), *count),
        other => panic!("{other:?}"),
    };
    let component = |n: u32| (n / 4, (n % 4) as u8);
    let inputs = |count: u32| {
        vertex(|b| {
            let mut sum = b.c32(0);
            for (location, component) in (0..count).map(component) {
                let op = Op::LoadInput { location, component, kind: F32, interp: Interp::Flat };
                let v = b.value(op, &[], Type::B32);
                sum = b.iadd(sum, v);
            }
            b.effect(Op::StoreOutput { slot: OutputSlot::Position(0), kind: F32 }, &[sum]);
        })
    };
    // Four registers are reserved for the hardware.
    inputs(132).unwrap();
    assert_eq!(too_many(inputs(133).err().unwrap()), ("vertex inputs".into(), 133));
    let params = |count: u32| {
        vertex(|b| {
            let v = b.value(Op::load_builtin(BuiltIn::VertexIndex, 0), &[], Type::B32);
            for (location, component) in (0..count).map(component) {
                b.effect(
                    Op::StoreOutput { slot: OutputSlot::Location { location, component, index: 0 }, kind: F32 },
                    &[v],
                );
            }
        })
    };
    params(136).unwrap();
    assert_eq!(too_many(params(137).err().unwrap()), ("vertex parameters".into(), 137));
}

//! Shaders that need far more lane masks than a wave has scalar registers, in every stage and both wave sizes: the machine
//! code does what the interpreter does, and `check` has nothing to say about it.
//!
//! `DOVETAIL_MASKS=N` selects another number of steps.

use crate::chosen::ChosenCompiler;
use crate::mask_shapes::{LANES, MASK_SHAPES, MaskShape, WIDTH, covering_triangle, module};
use dovetail::check;
use dovetail::compile::phases::{Phase, Phases};
use dovetail::compile::request::{Module, NativeOptions, TuningOptions};
use dovetail::compile::spirv::translate;
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::{BindingElement, Bound, Draw, InputBytes, Inputs, Topology};
use dovetail::error::{Error, Result};
use dovetail::ir::interp::Options;
use dovetail::pipeline::ShaderRef;
use dovetail::proof::{KnownContents, Pipelines, bytes_of, interpreted, interpreted_draw};
use dovetail::target::{Gpu, Stage, WaveSize};
use spirv::ExecutionModel;

const STAGES: [(Stage, ExecutionModel); 3] = [
    (Stage::Compute, ExecutionModel::GLCompute),
    (Stage::Vertex, ExecutionModel::Vertex),
    (Stage::Fragment, ExecutionModel::Fragment),
];
/// Limit of instructions of a wave.
const LIMIT: u64 = 50_000_000;

/// Words that the invocations decide by: some go far, some turn away early.
fn inputs(stage: Stage, steps: u32) -> Inputs {
    let way = |lane: u32| match lane {
        0 => steps + 2,
        1 => 0,
        _ => lane.wrapping_mul(0x9e37_79b9) >> 8 & 0xffff,
    };
    let words = (0..LANES).map(|lane| way(lane) % (steps + 3)).chain((0..LANES).map(|_| 0));
    let bytes = words.flat_map(u32::to_le_bytes).collect();
    let bound = Bound::StorageBuffer(InputBytes(bytes));
    let draw = match stage {
        Stage::Compute => None,
        Stage::Vertex => Some(Draw::new(Topology::PointList, LANES, [WIDTH; 2])),
        _ => Some(Draw::new(Topology::TriangleList, 3, [WIDTH; 2])),
    };
    Inputs {
        bindings: vec![BindingElement { set: 0, binding: 0, element: 0, bound }],
        grid: [1; 3],
        draw,
        ..Inputs::default()
    }
}

/// Compiles a shape, runs it both ways, and compares.
fn agrees(
    (stage, model): (Stage, ExecutionModel),
    &(_, steps): &MaskShape,
    count: u32,
    wave: WaveSize,
    tuning: &TuningOptions,
) -> Result<()> {
    let mut stages = vec![(stage, module(model, steps, count))];
    match stage {
        Stage::Fragment => stages.insert(0, (Stage::Vertex, covering_triangle())),
        Stage::Vertex => stages.push((Stage::Fragment, module(ExecutionModel::Fragment, |_, _| {}, 0))),
        Stage::Compute => {}
    }
    let mut modules = Vec::new();
    for (stage, bytes) in stages {
        modules.push((stage, Module::new(bytes)?));
    }
    let irs =
        modules.iter().map(|(stage, module)| translate(module, "main", *stage, &[])).collect::<Result<Vec<_>>>()?;
    let state = dovetail::template::state(&irs)?;
    let shaders = modules.iter().map(|(stage, module)| ShaderRef::new(module, "main", *stage, wave)).collect();
    let pipelines = Pipelines::tuned(shaders, state, Gpu::default(), tuning.clone(), &ChosenCompiler::new())?;
    let inputs = inputs(stage, count);
    let options = Options { subgroup_size: wave.lanes(), limit: LIMIT, ..Options::default() };
    let known: Vec<Option<KnownContents>> = match &irs[..] {
        [vertex, fragment] => {
            interpreted_draw(vertex, Some(fragment), &pipelines.state.vertex, &inputs, options)?.bindings
        }
        irs => interpreted(&irs[0], &inputs, options)?,
    };
    let expected = bytes_of(&known)?;
    if expected[0][4 * LANES as usize..].iter().all(|byte| *byte == 0) {
        return Err(Error::bug("nothing was computed"));
    }
    for (route, elf) in pipelines.elfs_for(&inputs) {
        let ran = pipelines.run(elf, &inputs, RunLimits { instructions: LIMIT, ..RunLimits::default() })?;
        let words = |bytes: &[u8]| {
            bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap_or_default())).collect::<Vec<_>>()
        };
        let (ours, theirs) = (words(&ran.bindings[0]), words(&expected[0]));
        if let Some(at) = (0..theirs.len()).find(|at| ours[*at] != theirs[*at]) {
            return Err(Error::bug(format!("{route}: word {at} is {}, not {}", ours[at], theirs[at])));
        }
        if let Some(finding) = check::check(elf)?.errors().next() {
            return Err(Error::bug(format!("{route}: {finding}")));
        }
    }
    Ok(())
}

fn every_shape(count: u32, tuning: &TuningOptions) {
    let count = std::env::var("DOVETAIL_MASKS").map_or(count, |n| n.parse().expect("a number of steps"));
    let only = std::env::var("DOVETAIL_SHAPE").unwrap_or_default();
    let mut broken = Vec::new();
    for shape in MASK_SHAPES.iter().filter(|shape| shape.0.contains(&only)) {
        for stage in STAGES {
            for wave in [WaveSize::W32, WaveSize::W64] {
                let (start, name) = (std::time::Instant::now(), format!("{}, {}, {wave:?}", shape.0, stage.0));
                let outcome = agrees(stage, shape, count, wave, tuning);
                let what = outcome.as_ref().map_or_else(ToString::to_string, |()| "agrees".to_owned());
                eprintln!("{:>10.2?}  {name}: {what}", start.elapsed());
                broken.extend(outcome.err().map(|error| format!("{name}: {error}")));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_hundred_masks_agree() {
    every_shape(100, &TuningOptions::default());
}

#[test]
fn few_masks_agree_in_lanes() {
    let native = NativeOptions { without: Phases::default().with(Phase::Masks), ..NativeOptions::default() };
    every_shape(12, &TuningOptions { native, ..TuningOptions::default() });
}

/// `cargo nextest run --test emulated --run-ignored only a_thousand_masks`
#[test]
#[ignore = "takes minutes"]
fn a_thousand_masks_agree() {
    every_shape(1_000, &TuningOptions::default());
}

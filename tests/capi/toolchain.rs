//! `pipeline::build` in a process that has built similar pipelines: its lookups in the store.

use crate::cache::{full, module, state};
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::link::Placement;
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build};
use dovetail::state::PipelineState;
use dovetail::target::{GfxIp, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

fn built(modules: &[Module; 2], state: &PipelineState, tools: &Toolchain<'_>) -> Built {
    let stages = [(Stage::Vertex, WaveSize::W32), (Stage::Fragment, WaveSize::W64)];
    let shader = |(module, (stage, wave))| ShaderRef::new(module, "main", stage, wave);
    let request = PipelineRequest {
        shaders: modules.iter().zip(stages).map(shader).collect(),
        state,
        target: GfxIp::Gfx1030,
        options: TuningOptions::default(),
        placement: Placement::Adjacent,
    };
    match build(&request, tools).unwrap() {
        PipelineOutcome::Built(built) => built,
        PipelineOutcome::NotCached(stage) => panic!("no {stage} part"),
    }
}

#[test]
fn a_store_is_asked_for_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let made = full(dir.path());
    let tools = Toolchain::new(&made.0, None).unwrap();
    let modules = [1, 2].map(|number| Module::new(module(number)).unwrap());
    let asked = || {
        let stats = made.0.stats();
        stats.hits + stats.misses
    };
    let before = asked();
    let first = built(&modules, &state(), &tools);
    // The manifest has been read; the two lookups are for parts. Glue is generated, not looked up.
    assert_eq!(asked() - before, 2);
    let again = built(&modules, &state(), &tools);
    assert!(again.elf == first.elf && again.parts == first.parts && first.route == Route::Linked);
    assert!(first.parts.iter().all(|part| part.hit));
    let mut other = state();
    other.color.attachments[0].format = "R32G32B32A32_UINT".parse().unwrap();
    assert!(built(&modules, &other, &tools).elf != first.elf);
    assert_eq!(asked() - before, 2);
}

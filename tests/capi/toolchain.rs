//! `pipeline::build` in a process that has built similar pipelines: its lookups in the store.

use crate::cache::{Made, full, module, state};
use dovetail::abi::layout::PreparedLayout;
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::link::Placement;
use dovetail::pipeline::{Built, PipelineOutcome, PipelineRequest, Route, ShaderRef, build};
use dovetail::state::{PipelineState, ResourceLayout};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

fn request<'a>(modules: &'a [Module; 2], state: &'a PipelineState) -> PipelineRequest<'a> {
    let stages = [(Stage::Vertex, WaveSize::W32), (Stage::Fragment, WaveSize::W64)];
    let shader = |(module, (stage, wave))| ShaderRef::new(module, "main", stage, wave);
    PipelineRequest {
        shaders: modules.iter().zip(stages).map(shader).collect(),
        state,
        layout: None,
        target: Gpu::Gfx1030,
        options: TuningOptions::default(),
        placement: Placement::Adjacent,
    }
}

fn modules() -> [Module; 2] {
    [1, 2].map(|number| Module::new(module(number)).unwrap())
}

fn built(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Built {
    match build(request, tools).unwrap() {
        PipelineOutcome::Built(built) => built,
        PipelineOutcome::NotCached(stage) => panic!("no {stage} part"),
    }
}

#[test]
fn a_store_is_asked_for_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let made = full(dir.path());
    let tools = Toolchain::new(&made.0, None).unwrap();
    let (modules, state) = (modules(), state());
    let asked = || {
        let stats = made.0.stats();
        stats.hits + stats.misses
    };
    let before = asked();
    let first = built(&request(&modules, &state), &tools);
    // The manifest has been read; the two lookups are for parts. Glue is generated, not looked up.
    assert_eq!(asked() - before, 2);
    let again = built(&request(&modules, &state), &tools);
    assert!(again.elf == first.elf && again.parts == first.parts && first.route == Route::Linked);
    assert!(first.parts.iter().all(|part| part.hit));
    let mut other = state.clone();
    other.color.attachments[0].format = "R32G32B32A32_UINT".parse().unwrap();
    assert!(built(&request(&modules, &other), &tools).elf != first.elf);
    assert_eq!(asked() - before, 2);
}

#[test]
fn a_shader_keeps_a_part_for_one_toolchain_only() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (filled, empty) = (full(folders[0].path()), Made::new(folders[1].path()));
    let [tools, without] = [&filled, &empty].map(|made| Toolchain::new(&made.0, None).unwrap());
    let (modules, state) = (modules(), state());
    let request = request(&modules, &state);
    // The first reads the parts, the second keeps them in the shaders, the third finds them there.
    let elfs: Vec<Vec<u8>> = (0..3).map(|_| built(&request, &tools).elf).collect();
    assert!(elfs.iter().all(|elf| *elf == elfs[0]));
    let missing = build(&request, &without).unwrap();
    assert!(matches!(missing, PipelineOutcome::NotCached(_)), "parts of another cache: {missing:?}");
    assert_eq!(built(&request, &Toolchain::new(&filled.0, None).unwrap()).elf, elfs[0]);
}

#[test]
fn a_prepared_layout_replaces_that_of_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let made = full(dir.path());
    let tools = Toolchain::new(&made.0, None).unwrap();
    let (modules, state) = (modules(), state());
    let expected = built(&request(&modules, &state), &tools).elf;
    let without = PipelineState { layout: ResourceLayout::default(), ..state.clone() };
    let refused = build(&request(&modules, &without), &tools).unwrap_err();
    assert!(refused.to_string().contains("the layout"), "{refused}");
    let prepared = PreparedLayout::new(state.layout.clone()).unwrap();
    let request = PipelineRequest { layout: Some(&prepared), ..request(&modules, &without) };
    assert!(built(&request, &tools).elf == expected);
}

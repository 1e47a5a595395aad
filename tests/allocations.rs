//! Heap allocations of a compile before the code generator: front end and passes.
//!
//! A count, unlike a time, is the same on every machine. Each of these lists was once a heap list per instruction. In a
//! debug build the verifier runs after each pass; its allocations are within the limit too.
#![cfg(feature = "compiler")]

#[path = "support/alloc.rs"]
mod alloc;
mod support;

use alloc::{Counting, allocations};
use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::{passes, spirv};
use dovetail::error::Result;
use dovetail::target::{GfxIp, Stage};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Limit of allocations per lowered instruction, over all shaders of `testdata/shaders`.
const MOST: f64 = if cfg!(debug_assertions) { 0.85 } else { 0.5 };

/// The shaders of `testdata/shaders`, each with its request; `None` if the tool that compiles them is missing.
fn shaders() -> Option<Vec<(String, Module, StageRequest)>> {
    let folder = support::root().join("testdata/shaders");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("testdata").map(|e| e.expect("testdata").path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let stage = match file.extension().and_then(|e| e.to_str()) {
            Some("vert") => Stage::Vertex,
            Some("frag") => Stage::Fragment,
            Some("comp") => Stage::Compute,
            _ => continue,
        };
        let module = Module::new(support::glsl("allocations", &file, "vulkan1.3")?).expect("a module");
        let info = spirv::reflect(&module).expect("a module");
        let request = StageRequest {
            target: GfxIp::Gfx1030,
            stage,
            module: module.digest(),
            entry_point: "main".to_owned(),
            specialization: info.specialization(&[]),
            wave: default_wave(stage, info.uses_subgroups),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        out.push((file.file_name().expect("a file").to_string_lossy().into_owned(), module, request));
    }
    Some(out)
}

fn lowered(module: &Module, request: &StageRequest) -> Result<passes::Lowered> {
    let shader = spirv::translate(module, "main", request.stage, &request.specialization)?;
    passes::lower(shader, request)
}

#[test]
fn translation_and_lowering_ask_for_memory_less_than_once_for_two_instructions() {
    let Some(shaders) = shaders() else { return };
    let (mut calls, mut insts) = (0, 0);
    for (name, module, request) in shaders {
        // Create the tables that are made once per program first, so that they do not count.
        lowered(&module, &request).expect("lowered");
        let (asked, lowered) = allocations(|| lowered(&module, &request));
        let made = lowered.expect("lowered").shader().live_insts().count();
        println!("{name}: {asked} allocations, {made} instructions");
        calls += asked;
        insts += made;
    }
    let each = calls as f64 / insts as f64;
    println!("{calls} allocations, {insts} instructions: {each:.3}");
    assert!(each <= MOST, "{each:.3} allocations for each lowered instruction, over {MOST}");
}

/// Allocations of the native generator, by phase.
#[cfg(feature = "native")]
#[test]
fn the_native_generator_asks_for_memory_as_often_as_measured() {
    use dovetail::compile::backend::Generator;
    use dovetail::compile::native::Native;
    use dovetail::compile::watch::{Made, Unwatched, Watch};
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Phases {
        counts: BTreeMap<&'static str, u64>,
        before: u64,
    }
    impl Watch for Phases {
        fn done(&mut self, phase: &'static str, _: Made<'_>) -> Result<()> {
            *self.counts.entry(phase).or_default() += alloc::so_far() - self.before;
            self.before = alloc::so_far();
            Ok(())
        }
    }

    let Some(shaders) = shaders() else { return };
    let mut phases = Phases::default();
    let (mut calls, mut insts) = (0, 0);
    for (name, module, request) in shaders {
        let lowered = lowered(&module, &request).expect("lowered");
        let generate = |watch: &mut dyn Watch| Native.generate(&lowered, &request.options, watch);
        generate(&mut Unwatched).expect("code");
        phases.before = alloc::so_far();
        let (asked, code) = allocations(|| generate(&mut phases));
        let made = code.expect("code").code.len() / 6;
        println!("{name}: {asked} allocations, some {made} instructions");
        calls += asked;
        insts += made;
    }
    let each = calls as f64 / insts as f64;
    println!("{:#?}", phases.counts);
    println!("{calls} allocations, {insts} instructions: {each:.3}");
    assert!(each < MOST_BY_INSTRUCTION, "{each:.3} allocations for each instruction: {:#?}", phases.counts);
}

/// The measured number (5.74; the verifiers of a debug build add 30) plus a tenth.
#[cfg(feature = "native")]
const MOST_BY_INSTRUCTION: f64 = if cfg!(debug_assertions) { 39.5 } else { 6.3 };

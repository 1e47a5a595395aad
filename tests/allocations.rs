//! What a compile costs before the code generator: how often front end and passes ask for memory.
//!
//! A count is the same on every machine, unlike a time, and each of these lists was once a list for every instruction.
//! In a debug build the verifier runs after each pass; what it asks for is within the limit too.
#![cfg(feature = "compiler")]

#[path = "support/alloc.rs"]
mod alloc;
mod support;

use alloc::{Counting, allocations};
use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::{passes, spirv};
use dovetail::target::{GfxIp, Stage};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations for each lowered instruction, over all shaders of `testdata/shaders`.
const MOST: f64 = if cfg!(debug_assertions) { 0.8 } else { 0.5 };

#[test]
fn translation_and_lowering_ask_for_memory_less_than_once_for_two_instructions() {
    let folder = support::root().join("testdata/shaders");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("testdata").map(|e| e.expect("testdata").path()).collect();
    files.sort();
    let (mut calls, mut insts) = (0, 0);
    for file in files {
        let stage = match file.extension().and_then(|e| e.to_str()) {
            Some("vert") => Stage::Vertex,
            Some("frag") => Stage::Fragment,
            Some("comp") => Stage::Compute,
            _ => continue,
        };
        let Some(bytes) = support::glsl("allocations", &file, "vulkan1.3") else { return };
        let module = Module::new(bytes).expect("a module");
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
        let compile = || {
            let shader = spirv::translate(&module, "main", stage, &request.specialization)?;
            passes::lower(shader, &request)
        };
        // Tables that the program makes once are not the shader's.
        compile().expect("lowered");
        let (asked, lowered) = allocations(compile);
        let made = lowered.expect("lowered").shader().live_insts().count();
        println!("{}: {asked} allocations, {made} instructions", file.display());
        calls += asked;
        insts += made;
    }
    let each = calls as f64 / insts as f64;
    println!("{calls} allocations, {insts} instructions: {each:.3}");
    assert!(each <= MOST, "{each:.3} allocations for each lowered instruction, over {MOST}");
}

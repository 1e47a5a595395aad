//! Heap allocations of a compile on a thread that has compiled before: it keeps its tables.
//!
//! A count, unlike a time, is the same on every machine. In a debug build verifiers and checks run after each phase;
//! their allocations are within the limits too.
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
const MOST: f64 = 0.1;

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
fn translation_and_lowering_ask_for_memory_less_than_once_for_ten_instructions() {
    let Some(shaders) = shaders() else { return };
    let (mut calls, mut insts) = (0, 0);
    for (name, module, request) in shaders {
        // Create the tables that are made once per program first, so that they do not count.
        lowered(&module, &request).expect("lowered");
        let (asked, lowered) = allocations(|| lowered(&module, &request));
        let made = lowered.expect("lowered").shader.live_insts().count();
        println!("{name}: {asked} allocations, {made} instructions");
        calls += asked;
        insts += made;
    }
    let each = calls as f64 / insts as f64;
    println!("{calls} allocations, {insts} instructions: {each:.3}");
    assert!(each <= MOST, "{each:.3} allocations for each lowered instruction, over {MOST}");
}

/// Limits of allocations of a compile to the finished ELF, over the shaders of `testdata/shaders`: median and most.
#[cfg(feature = "native")]
const MOST_OF_COMPILES: [u64; 2] = if cfg!(debug_assertions) { [6000, 26_000] } else { [50, 110] };

#[cfg(feature = "native")]
#[test]
fn a_compile_on_a_thread_that_has_compiled_asks_for_little_more_than_its_output() {
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::BuiltInCompiler;

    let Some(shaders) = shaders() else { return };
    let compiler = BuiltInCompiler::new();
    let compile =
        |(_, module, request): &(String, Module, StageRequest)| compiler.compile(module, request).expect("code");
    // Lists grow until each has been where the largest is needed.
    for shader in shaders.iter().chain(&shaders).chain(&shaders) {
        compile(shader);
    }
    let mut counts = Vec::new();
    for shader in &shaders {
        let (asked, elf) = allocations(|| compile(shader));
        println!("{}: {asked} allocations, {} bytes", shader.0, elf.0.len());
        counts.push(asked);
    }
    counts.sort_unstable();
    let made = [counts[counts.len() / 2], counts[counts.len() - 1]];
    println!("median {}, most {}", made[0], made[1]);
    assert!(made[0] <= MOST_OF_COMPILES[0] && made[1] <= MOST_OF_COMPILES[1], "{made:?}, over {MOST_OF_COMPILES:?}");
}

#[cfg(feature = "native")]
#[test]
fn what_a_thread_compiled_before_changes_no_byte() {
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::BuiltInCompiler;

    let Some(shaders) = shaders() else { return };
    let compiler = &BuiltInCompiler::new();
    let compile =
        |(_, module, request): &(String, Module, StageRequest)| compiler.compile(module, request).expect("code");
    let fresh: Vec<_> = std::thread::scope(|threads| {
        shaders.iter().map(|shader| threads.spawn(move || compile(shader)).join().expect("a compile")).collect()
    });
    // In the reverse order, so that small ones have the tables of large ones and large ones those of small ones.
    for _ in 0..2 {
        for (shader, fresh) in shaders.iter().zip(&fresh).rev() {
            assert!(compile(shader) == *fresh, "{} has other bytes", shader.0);
        }
    }
}

//! Heap allocations of a compile on a thread that has compiled before: it keeps its tables.
//!
//! A count, unlike a time, is the same on every machine. In a debug build verifiers and checks run after each phase;
//! their allocations are within the limits too.

#[path = "support/alloc.rs"]
mod alloc;

use alloc::{Counting, allocations};
use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::{passes, spirv};
use dovetail::error::{Error, Result};
use dovetail::target::Gpu;
use dovetail_testing as support;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Limits of allocations of translation and lowering, over the shaders of `testdata/shaders`: mean and most.
const MOST_LOWERED: [u64; 2] = [32, 50];

/// A shader with its name and the request for its first entry point.
type Shader = (String, Module, StageRequest);

fn shader(name: String, code: Vec<u8>) -> Result<Shader> {
    let module = Module::new(code)?;
    let info = spirv::reflect(&module)?;
    let entry = info.entry_points.first().and_then(|entry| Some((entry.stage?, entry.name.clone())));
    let (stage, entry_point) = entry.ok_or_else(|| Error::unsupported("stage", "of the first entry point"))?;
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage,
        module: module.digest(),
        entry_point,
        specialization: info.specialization(&[]),
        wave: default_wave(Gpu::default(), stage, info.uses_subgroups),
        options: TuningOptions::default(),
        known: KnownState::default(),
    };
    Ok((name, module, request))
}

/// The shaders of `testdata/shaders`; `None` if the tool that compiles them is missing.
fn shaders() -> Option<Vec<Shader>> {
    let folder = support::root().join("testdata/shaders");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("testdata").map(|e| e.expect("testdata").path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        if !matches!(file.extension().and_then(|e| e.to_str()), Some("vert" | "frag" | "comp")) {
            continue;
        }
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let code = support::glsl("allocations", &file, "vulkan1.3")?;
        out.push(shader(name, code).expect("a shader"));
    }
    Some(out)
}

fn lowered(module: &Module, request: &StageRequest) -> Result<passes::Lowered> {
    let shader = spirv::translate(module, "main", request.stage, &request.specialization)?;
    passes::lower(shader, request)
}

#[test]
fn translation_and_lowering_ask_for_memory_a_few_times() {
    let Some(shaders) = shaders() else { return };
    let mut calls = Vec::new();
    for (name, module, request) in shaders {
        // Create the tables that are made once per program first, so that they do not count.
        lowered(&module, &request).expect("lowered");
        let (asked, lowered) = allocations(|| lowered(&module, &request));
        let made = lowered.expect("lowered").shader.live_insts().count();
        println!("{name}: {asked} allocations, {made} instructions");
        calls.push(asked);
    }
    let [mean, most] = [calls.iter().sum::<u64>() / calls.len() as u64, calls.iter().copied().max().unwrap_or(0)];
    assert!(mean <= MOST_LOWERED[0] && most <= MOST_LOWERED[1], "mean {mean}, most {most}, over {MOST_LOWERED:?}");
}

/// Limits of allocations of a compile to the finished ELF with all checks, over the shaders of `testdata/shaders`: median and
/// most.
#[cfg(debug_assertions)]
const MOST_WITH_CHECKS: [u64; 2] = [6000, 26_000];

#[cfg(debug_assertions)]
#[test]
fn the_checks_of_a_compile_keep_their_tables_too() {
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::BuiltInCompiler;

    let Some(shaders) = shaders() else { return };
    let compiler = BuiltInCompiler::new();
    let compile = |(_, module, request): &Shader| compiler.compile(module, request).expect("code");
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
    assert!(made[0] <= MOST_WITH_CHECKS[0] && made[1] <= MOST_WITH_CHECKS[1], "{made:?}, over {MOST_WITH_CHECKS:?}");
}

/// Every shader of `testdata`, and an even sample of the corpora that are here. `cargo nextest run --cargo-profile counted`
#[cfg(not(debug_assertions))]
#[test]
fn a_compile_on_a_thread_that_has_compiled_asks_for_little_more_than_its_output() {
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::BuiltInCompiler;

    /// Most allocations of a compile to the finished ELF.
    const MOST: u64 = 50;
    /// Shaders of each corpus.
    const SAMPLE: usize = 40;

    let mut shaders = shaders().unwrap_or_default();
    let own = shaders.len();
    let folder = |path: &std::path::Path| {
        let files = std::fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<_> = files.collect();
        files.sort();
        files
    };
    let modules = |path: &std::path::Path| {
        let mut files = folder(path);
        files.retain(|file| file.extension().is_some_and(|e| e == "spv"));
        files
    };
    let mut files = modules(&support::root().join("testdata/spirv"));
    for corpus in folder(&support::root().join("corpus")) {
        let all = modules(&corpus);
        files.extend(all.iter().step_by(all.len().div_ceil(SAMPLE).max(1)).cloned());
    }
    let read = |file: &std::path::PathBuf| shader(file.display().to_string(), std::fs::read(file).ok()?).ok();
    shaders.extend(files.iter().filter_map(read));
    let compiler = BuiltInCompiler::new();
    let mut counts = Vec::new();
    for (n, (name, module, request)) in shaders.iter().enumerate() {
        // Lists grow until each has been where the largest is needed.
        for _ in 0..8 {
            _ = compiler.compile(module, request);
        }
        let (asked, elf) = allocations(|| compiler.compile(module, request));
        assert!(n >= own || elf.is_ok(), "{name}: {:?}", elf.err());
        if elf.is_ok() {
            counts.push((asked, name));
        }
    }
    counts.sort_unstable();
    let over: Vec<_> = counts.iter().filter(|(asked, _)| *asked > MOST).collect();
    println!("{} shaders, median {:?}, most {:?}", counts.len(), counts.get(counts.len() / 2), counts.last());
    assert!(over.is_empty(), "{} of {} over {MOST}: {over:#?}", over.len(), counts.len());
}

#[test]
fn what_a_thread_compiled_before_changes_no_byte() {
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::BuiltInCompiler;

    let Some(shaders) = shaders() else { return };
    let compiler = &BuiltInCompiler::new();
    let compile = |(_, module, request): &Shader| compiler.compile(module, request).expect("code");
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

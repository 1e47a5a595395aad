//! Compares our disassembly of compiled and linked code with that of llvm-objdump-19, line by line.
//!
//! Everything in `testdata/shaders` and `testdata/coverage`, linked in both placements and compiled as a whole, in
//! wave32 and wave64. `dovetail corpus check --tools` does the same for real shaders.

#[path = "../../src/bin/dovetail/objdump.rs"]
mod objdump;

use crate::cases::Case;
use crate::chosen::ChosenCompiler;
use crate::elfs::{files, stage_of};
use crate::support::{assembly, glsl, root, tool};
use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::link::Placement;
use dovetail::pipeline::{PipelineOutcome, PipelineRequest, ShaderRef, build, build_whole};
use dovetail::state::SpecializationEntry;
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use objdump::Listing;
use std::path::PathBuf;

/// Builds a pipeline by every route, and compares the listings of its code.
fn listed(test: &str, files: &[PathBuf], wave: WaveSize) -> Option<Listing> {
    let source = std::fs::read_to_string(&files[0]).expect("a source");
    let case = Case::new("", &source);
    let spec: Vec<(u32, u64)> = case.spec.iter().map(|s| (s.0, s.1)).collect();
    let modules: Option<Vec<Module>> = files
        .iter()
        .map(|path| {
            let binary = match path.extension() {
                Some(e) if e == "spvasm" => assembly(test, path)?,
                _ => glsl(test, path, &case.target)?,
            };
            Some(Module::new(binary).expect("a module"))
        })
        .collect();
    let modules = modules?;
    let stages: Vec<Stage> = files.iter().map(|path| stage_of(path)).collect();
    let irs = modules.iter().zip(&stages).map(|(m, stage)| translate(m, "main", *stage, &spec).expect("a shader"));
    let mut state = dovetail::template::state(&irs.collect::<Vec<_>>()).expect("a state");
    let entry = |&(id, value)| SpecializationEntry { stage: None, id, value };
    state.specialization = spec.iter().map(entry).collect();
    let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), ChosenCompiler::new());
    let tools = Toolchain::new(&cache, Some(&compiler)).expect("a toolchain");
    let mut all = Listing::default();
    for (placement, whole) in [(Placement::Adjacent, false), (Placement::Chained, false), (Placement::Adjacent, true)] {
        let shader = |(module, stage): (_, &Stage)| {
            // Vertex shaders use wave32, so that a pipeline has both sizes.
            let wave = if *stage == Stage::Vertex { WaveSize::W32 } else { wave };
            ShaderRef::new(module, "main", *stage, wave).with_spec_ids(spec.iter().map(|s| s.0))
        };
        let request = PipelineRequest {
            shaders: modules.iter().zip(&stages).map(shader).collect(),
            state: &state,
            layout: None,
            target: Gpu::Gfx1030,
            options: Default::default(),
            placement,
        };
        let built = if whole { build_whole(&request, &tools, None) } else { build(&request, &tools) };
        let Ok(PipelineOutcome::Built(built)) = built else { panic!("{files:?}: not built") };
        all.add(objdump::compare(&built.elf).unwrap_or_else(|e| panic!("{files:?}: {e}")));
    }
    Some(all)
}

/// Checks all these pipelines at both wave sizes.
fn check(test: &str, pipelines: &[Vec<PathBuf>], floor: u64) {
    let mut all = Listing::default();
    for files in pipelines {
        for wave in [WaveSize::W32, WaveSize::W64] {
            let Some(listing) = listed(test, files, wave) else { return };
            if let Some(first) = &listing.first {
                println!("{files:?}, waves of {}: {first}", wave.lanes());
            }
            all.add(listing);
        }
    }
    println!("{} instructions, {} listed alike", all.lines, all.same);
    assert!(all.lines > floor && all.same == all.lines, "{all:?}");
}

#[test]
fn shaders_are_listed_as_llvm_lists_them() {
    let test = "shaders_are_listed_as_llvm_lists_them";
    if tool(test, "llvm-objdump-19").is_none() {
        return;
    }
    let folder = root().join("testdata/shaders");
    let pair = |vertex: &str, fragment: &str| vec![folder.join(vertex), folder.join(fragment)];
    let mut all = vec![pair("ui.vert", "ui.frag"), pair("skinned.vert", "pbr.frag")];
    all.extend(files("shaders", &["comp"]).into_iter().map(|path| vec![path]));
    check(test, &all, 10_000);
}

#[test]
fn coverage_cases_are_listed_as_llvm_lists_them() {
    let test = "coverage_cases_are_listed_as_llvm_lists_them";
    if tool(test, "llvm-objdump-19").is_none() {
        return;
    }
    let all: Vec<Vec<PathBuf>> = files("coverage", &["comp", "spvasm"]).into_iter().map(|path| vec![path]).collect();
    check(test, &all, 50_000);
}

//! Compares machine code of the compiler and the linker, run by the emulator, with lavapipe on the same SPIR-V.
//!
//! Each case of `testdata/coverage` is compiled in advance and linked in both placements, and compiled as a whole, in
//! wave32 and wave64, and runs on two seeds. Integers must agree exactly, floats within the bound that the interpreter
//! computes for each. If the result depends on the subgroup size, which is fixed in lavapipe, or lavapipe lacks a
//! feature, the interpreter at the wave's size is the reference. A case that disagrees is shrunk and saved in
//! `target/bundles` for `dovetail replay`. A case counts only if it can fail: it wrote something, the seeds give
//! different results, and few values are undefined.

use crate::cases::Case;
use crate::chosen::ChosenCompiler;
use crate::support::{assembly, glsl, root};
use crate::vulkan::Lavapipe;
use crate::{support, vulkan};
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::compile::spirv::translate;
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::ir::Bits;
use dovetail::ir::interp::{MemoryVerdict, Options, Shadow, ShadowedMemory};
use dovetail::pipeline::ShaderRef;
use dovetail::proof::{
    Bundle, Judge, KnownContents, Outputs, Pipelines, StageEntry, bytes_of, interpreted, judge, proves_nothing,
};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Gpu, Stage, WaveSize};
use std::path::PathBuf;

const SEEDS: [u64; 2] = [1, 2];

/// Runs a case at one wave size; returns how much was compared.
fn run(vulkan: &Lavapipe, case: &Case, module: &[u8], gpu: Gpu, wave: WaveSize) -> Result<String, String> {
    let spec: Vec<(u32, u64)> = case.spec.iter().map(|s| (s.0, s.1)).collect();
    let parsed = Module::new(module.to_vec()).map_err(|e| e.to_string())?;
    let ir = translate(&parsed, "main", Stage::Compute, &spec).map_err(|e| e.to_string())?;
    let state = dovetail::template::state(std::slice::from_ref(&ir)).map_err(|e| e.to_string())?;
    let shader = ShaderRef::new(&parsed, "main", Stage::Compute, wave).with_spec_ids(spec.iter().map(|s| s.0));
    let entry = |&(id, value)| SpecializationEntry { stage: None, id, value };
    let state = PipelineState { specialization: spec.iter().map(entry).collect(), ..state };
    let tuning = TuningOptions::default();
    let pipelines =
        Pipelines::tuned(vec![shader], state, gpu, tuning, &ChosenCompiler::new()).map_err(|e| e.to_string())?;
    if let Some(why) = &pipelines.not_linked {
        return Err(why.clone());
    }
    let shader = vulkan::Shader { module, entry: "main", spec: &case.spec };
    let options = Options { subgroup_size: wave.lanes(), shadow: true, limit: 10_000_000, ..Options::default() };
    let ask = |inputs: &Inputs| {
        if !case.subgroups && !case.unjudged {
            return Judge::compute(vulkan, &shader, inputs);
        }
        let known = interpreted(&ir, inputs, options).map_err(|e| e.to_string())?;
        Ok(Outputs { bindings: bytes_of(&known).map_err(|e| e.to_string())?, ..Default::default() })
    };
    let bundle = |seed, inputs: &Inputs| {
        let name = format!("{}-wave{}", case.name, wave.lanes());
        let judge = if case.subgroups || case.unjudged { "interpreter" } else { "lavapipe" };
        let stage = StageEntry { stage: Stage::Compute, entry_point: "main".to_owned(), wave };
        let mut bundle = Bundle::new(&name, seed, judge, vec![(stage, parsed.clone())]);
        (bundle.manifest.floor, bundle.manifest.target) = (case.floor, gpu);
        (bundle.state, bundle.inputs) = (pipelines.state.clone(), inputs.clone());
        bundle.report_failure(&root().join("target/bundles"), &ChosenCompiler::new(), &mut |inputs| ask(inputs))
    };
    let (mut verdict, mut results, mut instructions) = (MemoryVerdict::default(), Vec::<Vec<Vec<u8>>>::new(), 0);
    for seed in SEEDS {
        let inputs = case.inputs(seed);
        let known = interpreted(&ir, &inputs, options).map_err(|e| e.to_string())?;
        let theirs = ask(&inputs)?.bindings;
        let mut first = None;
        for (name, elf) in &pipelines.elfs {
            let failed = |why: String| format!("seed {seed}, {name}: {why}\n{}", bundle(seed, &inputs));
            let ran = pipelines.run(elf, &inputs, RunLimits { instructions: 100_000_000, ..RunLimits::default() });
            let ran = ran.map_err(|e| failed(e.to_string()))?;
            let ours = ran.bindings;
            instructions = ran.stats.total();
            // If two pipelines give equal bytes, the comparison need not be repeated.
            if first.as_ref() != Some(&ours) {
                verdict = judge(case.floor, &inputs, &known, &ours, &theirs).map_err(|e| failed(e.to_string()))?;
            }
            first.get_or_insert(ours);
        }
        let writable = inputs.bindings.iter().zip(first.unwrap_or_default());
        results.push(writable.filter(|(b, _)| is_output(&b.bound)).map(|(_, bytes)| bytes).collect());
    }
    if let Some(why) = proves_nothing(&verdict, &results) {
        return Err(why);
    }
    Ok(format!("{} words, {} floats, {instructions} instructions", verdict.exact, verdict.floats))
}

/// Whether a binding holds results: a storage buffer that starts as zeros.
fn is_output(bound: &Bound) -> bool {
    match bound.storage_buffer() {
        Some(data) => data.0.iter().all(|b| *b == 0),
        None => bound.writable().is_some(),
    }
}

/// The cases of `testdata/coverage` and their modules, sorted; `DOVETAIL_CASE` selects some. `None` if a tool is missing.
pub fn coverage_modules(test: &str) -> Option<Vec<(Case, Vec<u8>)>> {
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let mut paths: Vec<_> = std::fs::read_dir(root().join("testdata/coverage"))
        .expect("the cases")
        .map(|entry| entry.expect("the cases").path())
        .filter(|p| p.extension().is_some_and(|e| e == "comp" || e == "spvasm") && p.to_string_lossy().contains(&only))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let module = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let case = Case::new(&name, &std::fs::read_to_string(path).expect("a case"));
        let assembled = path.extension().is_some_and(|e| e == "spvasm");
        let module = if assembled { assembly(test, path)? } else { glsl(test, path, &case.target)? };
        Some((case, module))
    };
    paths.iter().map(module).collect()
}

/// Runs every case on a GPU, in waves of one size.
pub fn coverage(test: &str, gpu: Gpu, wave: WaveSize) {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let Some(cases) = coverage_modules(test) else { return };
    let mut failed = Vec::new();
    for (case, module) in &cases {
        match run(vulkan, case, module, gpu, wave) {
            Ok(summary) => eprintln!("{}: {summary}", case.name),
            Err(why) => {
                eprintln!("{}: FAILED {why}", case.name);
                failed.push(format!("{}: {why}", case.name));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn coverage_cases_agree_in_waves_of_32() {
    coverage("compute_cases::coverage_cases_agree_in_waves_of_32", Gpu::default(), WaveSize::W32);
}

#[test]
fn coverage_cases_agree_in_waves_of_64() {
    coverage("compute_cases::coverage_cases_agree_in_waves_of_64", Gpu::default(), WaveSize::W64);
}

#[test]
fn a_wrong_value_is_seen() {
    let mut known = ShadowedMemory::new(vec![0; 8]);
    let shadow = Shadow { value: 1.0, bound: 1e-6 };
    known.store(0, Bits::B32, 7, Shadow::NONE);
    known.store(4, Bits::B32, u64::from(1f32.to_bits()), shadow);
    let bound = Bound::StorageBuffer(InputBytes(vec![0; 8]));
    let inputs =
        Inputs { bindings: vec![BindingElement { set: 0, binding: 5, element: 0, bound }], ..Default::default() };
    let left = |word: u32, float: f32| vec![[word.to_le_bytes(), float.to_le_bytes()].concat()];
    let judged = |ours: Vec<Vec<u8>>, theirs: Vec<Vec<u8>>| {
        judge(0.0, &inputs, &[Some(KnownContents::buffer(known.clone()))], &ours, &theirs).map_err(|e| e.to_string())
    };
    assert_eq!(judged(left(7, 1.0), left(7, 1.000_000_1)).map(|v| (v.exact, v.floats, v.written)), Ok((1, 1, 2)));
    let why = judged(left(6, 1.0), left(7, 1.0)).unwrap_err();
    assert!(why.contains("binding 5, element 0 at byte 0: 6, expected 7"), "{why}");
    assert!(judged(left(7, 1.001), left(7, 1.0)).is_err_and(|why| why.contains("byte 4")));
    assert!(judged(left(7, f32::NAN), left(7, 1.0)).is_err());
}

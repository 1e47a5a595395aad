//! Compute shaders of the corpus, on inputs made from what they declare: the linked and the whole pipeline on the emulator
//! do what lavapipe and the interpreter do.
//!
//! The interpreter finds inputs that prove something: it runs each candidate first. Where it disagrees with itself at
//! another subgroup size and the shader does not look at that, the result depends on the order of invocations, and
//! nothing can be said. `DOVETAIL_SAMPLE` is how many shaders are taken (24), `DOVETAIL_CASE` a part of their names.
#![cfg(all(feature = "cli", feature = "llvm"))]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/contents.rs"]
mod contents;
#[path = "support/emulated.rs"]
mod emulated;
#[path = "support/judge.rs"]
mod judge;
mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use contents::Declared;
use dovetail::compile::request::{Module, default_wave};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::corpus::spec::SpecFile;
use dovetail::emu::{INSTRUCTION_LIMIT, Limits};
use dovetail::error::ErrorKind;
use dovetail::ir::interp::{Memory, Verdict};
use dovetail::target::Stage;
use emulated::Pipelines;
use judge::{interpreted, judge, proves_nothing};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::root;
use vulkan::Lavapipe;

const FLOOR: f64 = 4.0;
const SEEDS: [u64; 2] = [1, 2];
/// Instructions of the interpreter: a shader that takes more on inputs like these takes too long.
const INTERPRETED: u64 = if cfg!(debug_assertions) { 150_000 } else { 4_000_000 };
/// Elements of a constant that lavapipe compiles in reasonable time.
const LONGEST_TABLE: usize = 256;
const EMULATED: u64 = if cfg!(debug_assertions) { 4_000_000 } else { 100_000_000 };
/// What integers in push constants are, candidate by candidate: sizes mostly.
const NUMBERS: [&[u32]; 4] = [&[16, 32, 64], &[1, 2, 4], &[0, 1, 8, 32], &[256]];

/// What became of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Agreed,
    Differs,
    NotComparable,
    Cut,
    NotRun,
    NotCompiled,
}

fn run(vulkan: &Lavapipe, path: &Path, spec: &SpecFile) -> (Fate, String) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes = std::fs::read(path).expect("a module");
    match judged(vulkan, bytes, &name, spec) {
        Ok(summary) => (Fate::Agreed, summary),
        Err(fate) => fate,
    }
}

fn judged(vulkan: &Lavapipe, bytes: Vec<u8>, name: &str, spec: &SpecFile) -> Result<String, (Fate, String)> {
    let not_compiled = |e: dovetail::error::Error| (Fate::NotCompiled, e.to_string());
    let not_comparable = |e: String| (Fate::NotComparable, e);
    let module = Module::new(bytes.clone()).map_err(not_compiled)?;
    let info = reflect(&module).map_err(not_compiled)?;
    let values = spec.values(name);
    let known = |id| info.spec_constants.iter().any(|c| c.id == id);
    let spec: Vec<(u32, u64)> = values.into_iter().filter(|(id, _)| known(*id)).map(|(id, v)| (id, v.into())).collect();
    let sized: Vec<(u32, u64, usize)> = spec.iter().map(|(id, v)| (*id, *v, 4)).collect();
    let ir = translate(&module, "main", Stage::Compute, &spec).map_err(not_compiled)?;
    let wave = default_wave(Stage::Compute, info.uses_subgroups);
    let declared = Declared::new(&bytes).map_err(not_comparable)?;

    // The first candidate that proves something.
    let mut why = String::new();
    let candidate = NUMBERS.iter().find_map(|numbers| {
        let tried = SEEDS.map(|seed| {
            let inputs = declared.inputs(&ir, seed, numbers, [2, 1, 1])?;
            let known = interpreted(&ir, &inputs, wave.lanes(), INTERPRETED)?;
            let results = results_of(&known);
            Ok((inputs, known, results))
        });
        let tried: Result<Vec<_>, String> = tried.into_iter().collect();
        let proof = tried.and_then(|tried| {
            let mut verdict = Verdict::default();
            for (inputs, known, results) in &tried {
                verdict = judge(FLOOR, inputs, known, results, results)?;
            }
            let results: Vec<_> = tried.iter().map(|(inputs, _, results)| changes(inputs, results)).collect();
            proves_nothing(&verdict, &results).map_or(Ok(tried), Err)
        });
        proof.map_err(|e| why = e).ok()
    });
    let Some(candidate) = candidate else { return Err(not_comparable(why)) };

    let state = dovetail::template::state(std::slice::from_ref(&ir)).map_err(not_compiled)?;
    let pipelines = Pipelines::new(&module, state, &spec, wave).map_err(|e| (Fate::NotCompiled, e))?;
    let shader = vulkan::Shader { module: &bytes, entry: "main", spec: &sized };
    let mut summary = String::new();
    // Mesa does not know what the reader of SPIR-V does not know, and is minutes about long tables.
    let plain = rspirv::dr::load_bytes(&bytes).is_ok_and(|module| {
        module.types_global_values.iter().all(|inst| {
            inst.class.opcode != rspirv::spirv::Op::ConstantComposite || inst.operands.len() <= LONGEST_TABLE
        })
    });
    for (seed, (inputs, known, interpreted_results)) in SEEDS.iter().zip(&candidate) {
        let at_eight = interpreted(&ir, inputs, vulkan.subgroup_size, INTERPRETED).map_err(not_comparable)?;
        let same = judge(FLOOR, inputs, known, &results_of(&at_eight), interpreted_results);
        if let (Err(e), false) = (&same, info.uses_subgroups) {
            return Err(not_comparable(format!("depends on the order of invocations: {e}")));
        }
        let judged = plain && same.is_ok();
        let theirs = if judged { vulkan.compute(shader, inputs).bindings } else { interpreted_results.clone() };
        let mut first: Option<Vec<Vec<u8>>> = None;
        for (route, elf) in pipelines.elfs.iter().filter(|(route, _)| *route != "linked, chained") {
            let ran = pipelines.run(elf, inputs, Limits { instructions: EMULATED });
            let (ours, count) = ran.map_err(|e| match e.kind() {
                ErrorKind::Unsupported { feature, .. } if feature == INSTRUCTION_LIMIT => (Fate::Cut, e.to_string()),
                _ => (Fate::NotRun, format!("{route}: {e}")),
            })?;
            if first.as_ref() != Some(&ours) {
                let verdict = judge(FLOOR, inputs, known, &ours, &theirs);
                let verdict = verdict.map_err(|e| (Fate::Differs, format!("seed {seed}, {route}: {e}")))?;
                let by = if judged { "lavapipe" } else { "the interpreter" };
                summary = format!("{} words, {} floats, by {by}, {count} instructions", verdict.exact, verdict.floats);
            }
            first.get_or_insert(ours);
        }
    }
    Ok(summary)
}

/// The bytes of what was interpreted.
fn results_of(known: &[Option<Memory>]) -> Vec<Vec<u8>> {
    known.iter().map(|m| m.as_ref().map(|m| m.bytes().to_vec()).unwrap_or_default()).collect()
}

/// Bytes that a run changed.
fn changes(inputs: &dovetail::emu::inputs::Inputs, results: &[Vec<u8>]) -> Vec<Vec<u8>> {
    use dovetail::emu::inputs::Bound;
    let changed = |(b, after): (&dovetail::emu::inputs::Binding, &Vec<u8>)| match &b.bound {
        Bound::StorageBuffer(before) => {
            after.iter().zip(&before.0).filter(|(after, before)| after != before).map(|(after, _)| *after).collect()
        }
        _ => Vec::new(),
    };
    inputs.bindings.iter().zip(results).map(changed).collect()
}

/// Compute modules of a source, an even sample.
fn sample(folder: &Path, count: usize) -> Vec<PathBuf> {
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| {
            let name = p.to_string_lossy();
            name.ends_with(".spv") && !name.contains("_cm1") && !name.contains("_cm2") && name.contains(&only)
        })
        .collect();
    all.sort();
    let step = all.len().div_ceil(count.max(1)).max(1);
    all.into_iter().step_by(step).collect()
}

#[test]
fn compute_shaders_agree() {
    let test = "real_shaders::compute_shaders_agree";
    let folder = root().join("corpus/ggml");
    let Ok(spec) = std::fs::read_to_string(folder.join("spec.toml")) else {
        return support::without(test, "there is no corpus: ./dev corpus --small fetches it");
    };
    let looked_up = include_str!("../testdata/corpus/ggml-spec.toml");
    let spec = SpecFile::parse(&(spec + looked_up)).expect("the specialization files");
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let count = std::env::var("DOVETAIL_SAMPLE").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let paths = sample(&folder, count);
    let next = AtomicUsize::new(0);
    let fates = Mutex::new(BTreeMap::<Fate, usize>::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // Big shaders nest deep.
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            let work = || {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (fate, why) = run(vulkan, path, &spec);
                    eprintln!("{}: {fate:?}: {why}", path.file_stem().unwrap_or_default().to_string_lossy());
                    *fates.lock().expect("the fates").entry(fate).or_default() += 1;
                }
            };
            worker.spawn_scoped(scope, work).expect("a thread");
        }
    });
    let fates = fates.into_inner().expect("the fates");
    eprintln!("{} shaders: {fates:?}", paths.len());
    assert_eq!(fates.get(&Fate::Differs), None, "results differ");
    assert_eq!(fates.get(&Fate::NotRun), None, "code that the emulator cannot run");
    let agreed = fates.get(&Fate::Agreed).copied().unwrap_or(0);
    assert!(agreed * 2 >= paths.len(), "{agreed} of {} prove something", paths.len());
}

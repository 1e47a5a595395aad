//! Tests the front end: the interpreter runs its IR, lavapipe runs the same SPIR-V, and both must agree.
//!
//! Each case of `testdata/coverage` runs on two seeds. It counts only if it can fail: it wrote something, the seeds
//! give different results, and few of its values are undefined. Shaders that do not depend on the subgroup size must
//! agree at every size.

use crate::cases::Case;
use crate::support::{assembly, glsl, root};
use crate::vulkan::Lavapipe;
use crate::{support, vulkan};
use dovetail::compile::opt;
use dovetail::compile::opt::{dce, fold};
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{Bound, Inputs};
use dovetail::ir::interp::{MemoryVerdict, Options};
use dovetail::ir::watch::Unwatched;
use dovetail::ir::{AluOp, Op, Shader, Terminator};
use dovetail::proof::{self, bytes_of, interpreted, proves_nothing};
use dovetail::target::{Stage, WaveSize};
use rayon::prelude::*;
use std::path::PathBuf;

/// Runs the interpreter, and compares with lavapipe's result in every writable binding.
fn judge(case: &Case, ir: &Shader, inputs: &Inputs, theirs: &[Vec<u8>], lanes: u32) -> Result<MemoryVerdict, String> {
    let options = Options { subgroup_size: lanes, shadow: true, limit: 2_000_000, ..Options::default() };
    let known = interpreted(ir, inputs, options).map_err(|e| e.to_string())?;
    let own = bytes_of(&known).map_err(|e| e.to_string())?;
    proof::judge(case.floor, inputs, &known, &own, theirs).map_err(|e| e.to_string())
}

/// Runs a case on both with two seeds; `Err` says what differs or why it proves nothing.
fn run(vulkan: &Lavapipe, case: &Case, module: &[u8]) -> Result<String, String> {
    let spec: Vec<(u32, u64)> = case.spec.iter().map(|s| (s.0, s.1)).collect();
    let parsed = Module::new(module.to_vec()).map_err(|e| e.to_string())?;
    let ir = translate(&parsed, "main", Stage::Compute, &spec).map_err(|e| e.to_string())?;
    dovetail::ir::verify::verify(&ir).map_err(|e| e.to_string())?;
    let mut better = ir.clone();
    opt::run(&mut better, &TuningOptions::default(), &mut Unwatched).map_err(|e| e.to_string())?;
    let shader = vulkan::Shader { module, entry: "main", spec: &case.spec };
    let sizes = if case.subgroups { vec![vulkan.subgroup_size] } else { vec![vulkan.subgroup_size, 64] };
    let mut results = Vec::new();
    let mut verdict = MemoryVerdict::default();
    for seed in [1, 2] {
        let inputs = case.inputs(seed);
        let theirs = match case.unjudged {
            false => vulkan.compute(shader, &inputs).bindings,
            true => alone(&ir, &inputs, vulkan.subgroup_size)?,
        };
        for &lanes in &sizes[..if seed == 1 { sizes.len() } else { 1 }] {
            verdict = judge(case, &ir, &inputs, &theirs, lanes)
                .map_err(|e| format!("seed {seed}, subgroups of {lanes}: {e}"))?;
            judge(case, &better, &inputs, &theirs, lanes)
                .map_err(|e| format!("optimised, seed {seed}, subgroups of {lanes}: {e}"))?;
        }
        let made = theirs.iter().zip(&inputs.bindings).filter(|(after, b)| was_written(&b.bound, after));
        results.push(made.map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>());
    }
    if let Some(why) = proves_nothing(&verdict, &results) {
        return Err(why);
    }
    let MemoryVerdict { exact, floats, loose, uncertain, not_finite, written, .. } = verdict;
    Ok(format!(
        "{written} values written; {exact} words exact, {floats} floats ({loose} loose), {uncertain} uncertain, {not_finite} not finite"
    ))
}

/// The interpreter's results, where lavapipe is no reference.
fn alone(ir: &Shader, inputs: &Inputs, lanes: u32) -> Result<Vec<Vec<u8>>, String> {
    let options = Options { subgroup_size: lanes, shadow: true, limit: 2_000_000, ..Options::default() };
    let known = interpreted(ir, inputs, options).map_err(|e| e.to_string())?;
    bytes_of(&known).map_err(|e| e.to_string())
}

/// Whether a run changed what is bound.
fn was_written(bound: &Bound, after: &[u8]) -> bool {
    bound.writable().is_some_and(|before| before.0 != after)
}

/// Shaders as in applications, with their inputs.
const REAL: &[(&str, &str)] = &[
    ("blur", "// grid 1 4 1\n// texels 0 R8G8B8A8_UNORM 64 4 combined\n// texels 1 R16G16B16A16_SFLOAT 64 4 storage"),
    ("fft256", "// grid 2 1 1\n// floor 64\n// at 0 floats 1024 -1 1"),
    (
        "gemm_f32",
        "// grid 1 1 1\n// floor 64\n// push dwords 64 64 16\n// at 0 floats 1024 -1 1\n// at 1 floats 1024 -1 1\n// at 2 zeros 4096",
    ),
    (
        "light_cull",
        "// grid 2 2 1\n// texels 2 R32_SFLOAT 32 32 combined\n// uniform 0 dwords 1065353216 0 0 0 0 1065353216 0 0 0 0 1065353216 0 0 0 0 1065353216 , dwords 1065353216 0 0 0 0 1065353216 0 0 0 0 1065353216 0 0 0 0 1065353216 200 0 0 0\n// at 1 floats 1600 -3 8\n// at 3 zeros 1028",
    ),
    (
        "particles",
        "// grid 2 1 1\n// at 0 floats 1024 -0.1 4\n// uniform 1 floats 36 -1 1 , dwords 100 1008981770 77 0\n// at 2 zeros 256",
    ),
    ("softmax", "// grid 3 1 1\n// floor 64\n// subgroups\n// push dwords 100 1065353216\n// at 0 floats 300 -2 2"),
];

/// Runs cases concurrently; fails with all errors.
fn run_all(test: &str, paths: &[(PathBuf, Option<&str>)]) {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    assert!(!paths.is_empty());
    let failed: Vec<String> = paths
        .par_iter()
        .filter_map(|(path, header)| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let source = std::fs::read_to_string(path).expect("a case");
            let case = Case::new(&name, header.unwrap_or(&source));
            let assembled = path.extension().is_some_and(|e| e == "spvasm");
            let module = if assembled { assembly(test, path) } else { glsl(test, path, &case.target) };
            let started = std::time::Instant::now();
            match run(vulkan, &case, &module?) {
                Ok(summary) => {
                    eprintln!("{name}: {summary}; {:.1} s", started.elapsed().as_secs_f32());
                    None
                }
                Err(why) => Some(format!("{name}: {why}")),
            }
        })
        .collect();
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), paths.len(), failed.join("\n"));
}

/// Another operation of the same shape.
fn sibling(op: AluOp) -> Option<AluOp> {
    use AluOp as A;
    let pairs = [
        (A::IAdd, A::ISub),
        (A::IAnd, A::IOr),
        (A::LShr, A::AShr),
        (A::SMin, A::SMax),
        (A::UMin, A::UMax),
        (A::SLt, A::SGe),
        (A::ULt, A::ULe),
        (A::UGt, A::UGe),
        (A::IEq, A::INe),
        (A::IMul, A::IXor),
        (A::FAdd, A::FSub),
        (A::FMul, A::FDiv),
        (A::FMin, A::FMax),
        (A::FFloor, A::FCeil),
        (A::FOLt, A::FOGe),
    ];
    let other = |&(a, b): &(A, A)| if op == a { Some(b) } else { (op == b).then_some(a) };
    pairs.iter().find_map(other)
}

/// Copies of this shader with one operation changed, or one branch inverted.
fn mutants(ir: &Shader) -> Vec<(String, Shader)> {
    let mut out = Vec::new();
    let live = ir.blocks.iter().flat_map(|b| &b.insts);
    for &id in live {
        if let Op::Alu(op, flags) = ir.inst(id).op
            && let Some(other) = sibling(op)
        {
            let mut mutant = ir.clone();
            mutant.inst_mut(id).op = Op::Alu(other, flags);
            out.push((format!("{} in `{}`", other.name(), ir.inst_text(ir.inst(id))), mutant));
        }
    }
    for block in ir.block_ids() {
        if let Some(Terminator::Branch { cond, .. }) = ir.block(block).term() {
            let mut mutant = ir.clone();
            mutant.block_mut(block).end.turn(cond);
            out.push((format!("{block} branches the other way"), mutant));
        }
    }
    out
}

/// The cases would detect a wrong front end: most shaders with one mistake give other results. The rest are
/// mistakes that no input reveals: a product with 1 turned into a quotient, a path that no lane takes.
#[test]
fn mistakes_are_seen() {
    const SOME: usize = 24;
    let test = "interpreted_compute::mistakes_are_seen";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let names = ["integers_32", "floats_32", "geometry", "composites", "functions", "switches", "buffers", "pointers"];
    let (mut seen, mut missed) = (0, Vec::new());
    for name in names {
        let path = root().join("testdata/coverage").join(name).with_extension("comp");
        let case = Case::new(name, &std::fs::read_to_string(&path).expect("a case"));
        let Some(module) = glsl(test, &path, &case.target) else { return };
        let parsed = Module::new(module.clone()).expect("a module");
        let mut ir = translate(&parsed, "main", Stage::Compute, &[]).expect("a shader that is translated");
        // A mistake in what nothing needs is none, nor is a difference from 0 in place of a sum.
        fold::run(&mut ir, WaveSize::W32).expect("a shader");
        dce::run(&mut ir, WaveSize::W32).expect("a shader");
        let inputs = case.inputs(1);
        let shader = vulkan::Shader { module: &module, entry: "main", spec: &[] };
        let theirs = vulkan.compute(shader, &inputs).bindings;
        let all = mutants(&ir);
        let step = all.len().div_ceil(SOME);
        for (what, mutant) in all.iter().step_by(step) {
            match judge(&case, mutant, &inputs, &theirs, vulkan.subgroup_size) {
                Err(_) => seen += 1,
                Ok(_) => missed.push(format!("{name}: {what}")),
            }
        }
    }
    eprintln!("{seen} mistakes seen, not seen: {missed:?}");
    // A mistake may cause an out-of-bounds read, whose result is undefined.
    assert!(seen >= 120 && missed.len() * 5 <= seen, "{seen} mistakes seen, not seen: {missed:#?}");
}

#[test]
fn real_shaders_agree() {
    let paths = REAL.iter().map(|(name, header)| {
        let path = root().join("testdata/shaders").join(name).with_extension("comp");
        (path, Some(*header))
    });
    run_all("interpreted_compute::real_shaders_agree", &paths.collect::<Vec<_>>());
}

#[test]
fn coverage_cases_agree() {
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let mut paths: Vec<_> = std::fs::read_dir(root().join("testdata/coverage"))
        .expect("the cases")
        .map(|entry| entry.expect("the cases").path())
        .filter(|p| p.extension().is_some_and(|e| e == "comp" || e == "spvasm") && p.to_string_lossy().contains(&only))
        .map(|path| (path, None))
        .collect();
    paths.sort();
    run_all("interpreted_compute::coverage_cases_agree", &paths);
}

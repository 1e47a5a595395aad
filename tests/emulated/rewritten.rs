//! Coverage cases that `spirv-opt` has rewritten: whatever its passes do, a module means the same as before, so its
//! results have to be those of the original. The shaders that the passes leave look unlike those of any front end.
//!
//! Each case is rewritten twice, by one to twelve passes that are chosen at random from its name; once it runs in waves
//! of 32, once of 64. `DOVETAIL_CASE` selects cases, `DOVETAIL_REWRITES` is the number of times (2).

use crate::cases::Case;
use crate::chosen::ChosenCompiler;
use crate::compute_cases::coverage_modules;
use crate::support::tool;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate_judged;
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::Inputs;
use dovetail::ir::Shader;
use dovetail::ir::interp::Options;
use dovetail::pipeline::ShaderRef;
use dovetail::proof::{Pipelines, Random, interpreted, judge};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Stage, WaveSize};

/// Passes that keep the meaning. Not among them: `replace-invalid-opcode`, which takes derivatives in compute shaders
/// for invalid, `amd-ext-to-khr`, whose cube faces differ at an edge, and passes of loops that do not always end.
const PASSES: &[&str] = &[
    "-O",
    "-Os",
    "ccp",
    "cfg-cleanup",
    "code-sink",
    "combine-access-chains",
    "compact-ids",
    "convert-local-access-chains",
    "copy-propagate-arrays",
    "eliminate-dead-branches",
    "eliminate-dead-code-aggressive",
    "eliminate-dead-functions",
    "eliminate-dead-inserts",
    "eliminate-local-multi-store",
    "eliminate-local-single-block",
    "eliminate-local-single-store",
    "if-conversion",
    "inline-entry-points-exhaustive",
    "legalize-hlsl",
    "local-redundancy-elimination",
    "loop-unroll",
    "loop-unroll-partial=3",
    "merge-blocks",
    "merge-return",
    "private-to-local",
    "reduce-load-size",
    "redundancy-elimination",
    "scalar-replacement=0",
    "simplify-instructions",
    "ssa-rewrite",
    "strength-reduction",
    "unify-const",
    "upgrade-memory-model",
    "vector-dce",
    "workaround-1209",
    "wrap-opkill",
];

/// Between one and twelve of them.
fn passes(name: &str, time: u64) -> Vec<String> {
    let seed = name.bytes().fold(time, |seed, byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
    let mut random = Random::new(seed);
    let mut below = |most: usize| (random.bits() % most as u64) as usize;
    let count = 1 + below(12);
    let flag = |pass: &str| if pass.starts_with('-') { pass.to_owned() } else { format!("--{pass}") };
    (0..count).map(|_| flag(PASSES[below(PASSES.len())])).collect()
}

/// A route, and what its pipeline leaves in each binding.
type Left = (&'static str, Vec<Vec<u8>>);

/// What a module leaves in the bindings of the inputs, by route.
fn results(
    case: &Case,
    (module, ir): (&Module, &Shader),
    wave: WaveSize,
    inputs: &Inputs,
) -> Result<Vec<Left>, String> {
    let entry = |s: &(u32, u64, usize)| SpecializationEntry { stage: None, id: s.0, value: s.1 };
    let state = dovetail::template::state(std::slice::from_ref(ir)).map_err(|e| e.to_string())?;
    let state = PipelineState { specialization: case.spec.iter().map(entry).collect(), ..state };
    let shader = ShaderRef::new(module, "main", Stage::Compute, wave).with_spec_ids(case.spec.iter().map(|s| s.0));
    let pipelines = Pipelines::new(vec![shader], state, &ChosenCompiler::new()).map_err(|e| e.to_string())?;
    let run = |(name, elf): &(&'static str, Vec<u8>)| {
        let ran = pipelines.run(elf, inputs, RunLimits { instructions: 100_000_000, ..RunLimits::default() });
        ran.map(|ran| (*name, ran.bindings)).map_err(|e| format!("{name}: {e}"))
    };
    pipelines.elfs.iter().map(run).collect()
}

/// Compares what a case leaves with what its rewritten module leaves.
fn compare(case: &Case, original: &Module, rewritten: &Module, wave: WaveSize) -> Result<(), String> {
    let spec: Vec<(u32, u64)> = case.spec.iter().map(|s| (s.0, s.1)).collect();
    let translated = |module| translate_judged(module, "main", Stage::Compute, &spec).map_err(|e| e.to_string());
    let (before, after) = (translated(original)?, translated(rewritten)?);
    let inputs = case.inputs(1);
    let expected = results(case, (original, &before), wave, &inputs).map_err(|why| format!("the original: {why}"))?;
    let Some((_, expected)) = expected.last() else { return Err("no pipeline".to_owned()) };
    for (route, left) in &results(case, (rewritten, &after), wave, &inputs)? {
        if left == expected {
            continue;
        }
        let options = Options { subgroup_size: wave.lanes(), shadow: true, limit: 10_000_000, ..Options::default() };
        let known = interpreted(&after, &inputs, options).map_err(|e| e.to_string())?;
        judge(case.floor, &inputs, &known, left, expected).map_err(|e| format!("{route}: {e}"))?;
    }
    Ok(())
}

#[test]
fn rewritten_cases_leave_the_same() {
    let test = "rewritten::rewritten_cases_leave_the_same";
    let Some(rewriter) = tool(test, "spirv-opt") else { return };
    let Some(cases) = coverage_modules(test) else { return };
    let times = std::env::var("DOVETAIL_REWRITES").map_or(2, |times| times.parse().expect("a number"));
    let (mut failed, mut done) = (Vec::new(), 0);
    for (case, module) in &cases {
        let original = Module::new(module.clone()).expect("a module");
        for time in 0..times {
            let passes = passes(&case.name, time);
            let words: Vec<&str> =
                ["--preserve-spec-constants"].into_iter().chain(passes.iter().map(String::as_str)).collect();
            let output = rewriter.output(&[&words[..], &["-", "-o", "-"]].concat(), module);
            // It refuses what a pass does not know.
            if !output.status.success() {
                continue;
            }
            done += 1;
            let wave = if time % 2 == 0 { WaveSize::W32 } else { WaveSize::W64 };
            let rewritten = Module::new(output.stdout).expect("a module");
            if let Err(why) = compare(case, &original, &rewritten, wave) {
                failed.push(format!("{} after {}: {why}", case.name, passes.join(" ")));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {done} differ:\n{}", failed.len(), failed.join("\n"));
    assert!(done * 10 > cases.len() * times as usize * 9, "only {done} were rewritten");
}

//! Fixed findings of the fuzzer stay fixed, and every target passes its seeds and a short run.
//!
//! The targets are those of `tests/fuzz`. A file of `testdata/fuzz/TARGET` is an input that once made its reader panic,
//! hang, use too much memory or report an internal error.

#[path = "../fuzz/export.rs"]
mod export;
#[path = "../fuzz/mutate.rs"]
mod mutate;
#[path = "../fuzz/native/mod.rs"]
mod native;
#[path = "../fuzz/random.rs"]
mod random;
#[path = "../fuzz/reconvergence/mod.rs"]
mod reconvergence;
#[path = "../fuzz/recording.rs"]
mod recording;
#[path = "../fuzz/seeds.rs"]
mod seeds;
#[path = "../fuzz/service.rs"]
mod service;
#[path = "../fuzz/spirv.rs"]
mod spirv;
#[path = "../fuzz/store.rs"]
mod store;
#[path = "../fuzz/targets.rs"]
mod targets;

use crate::{link_support, shapes, support};
use std::fs;
use std::path::Path;
use std::time::Duration;
use targets::{TARGETS, Target};

/// Number of mutated inputs per target, in a debug build.
const CHANGED: u64 = 400;
/// Limit of CPU time for one input in a debug build, which is about ten times slower than the fuzzing build.
const MOST: Duration = Duration::from_secs(10);

fn past(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fuzz").join(target.name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|e| e.expect("a finding").path()).collect();
    files.sort();
    files.iter().map(|path| (path.display().to_string(), fs::read(path).expect("a finding"))).collect()
}

/// Runs on a stack as small as the smallest in the product.
fn judged(target: &'static Target, inputs: Vec<(String, Vec<u8>)>) {
    let run = move || {
        for (name, input) in inputs {
            let start = thread_time();
            if let Err(what) = target.judge(&input) {
                panic!("{name}: {what}");
            }
            let took = thread_time() - start;
            assert!(took < MOST, "{name}: {took:?}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn thread_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[test]
fn past_findings_stay_mended() {
    for target in TARGETS {
        judged(target, past(target));
    }
}

/// A shader that is rejected proves nothing.
#[test]
fn past_shaders_are_compared() {
    let target = TARGETS.iter().find(|t| t.name == "native").expect("a target");
    let past = past(target);
    assert!(past.len() >= 18, "{} cases", past.len());
    for (name, input) in past {
        assert_eq!(target.answer(&input), "as it should be", "{name}");
    }
}

#[test]
fn every_target_survives_its_seeds_and_some_changes() {
    for target in TARGETS {
        let last = target.seeds().len() as u64 + CHANGED;
        judged(target, (0..last).map(|n| (format!("{} input {n}", target.name), target.input(1, n))).collect());
    }
}

/// Programs of the target `reconvergence` are valid and nearly all end: what is refused proves nothing.
#[test]
fn random_programs_prove_something() {
    let target = TARGETS.iter().find(|t| t.name == "reconvergence").expect("a target");
    let inputs: Vec<_> = (4..104).map(|n| target.input(2, n)).collect();
    let ended = inputs.iter().filter(|input| !target.answer(input).contains("malformed")).count();
    assert!(ended >= 95, "{ended} of {}", inputs.len());
    let Some(tool) = support::tool("random_programs_prove_something", "spirv-val") else { return };
    for input in &inputs[..40] {
        let module = reconvergence::module_of(input).expect("an input");
        tool.run(&["--target-env", "vulkan1.3", "-"], &module);
    }
}

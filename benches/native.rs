//! Compares the native code generator with LLVM and, if available, with Mesa's RADV with ACO: CPU time of compiles and
//! the generated code, stage by stage.
//!
//! `./dev bench --bench native -- [--target GPU] [--runs N] [--sets NAME,…] [--most N] [--no-llvm] [--json FILE]
//! [--each]`. The shaders are those of `testdata/shaders` and of each fetched set of `corpus/`, at most `--most` per set, evenly
//! spread. docs/benchmarks.md describes the comparison.

#[path = "../tests/support/alloc.rs"]
mod alloc;
#[path = "native/code.rs"]
mod code;
#[path = "native/measure.rs"]
mod measure;
#[path = "native/radv.rs"]
mod radv;
#[path = "native/report.rs"]
mod report;
#[path = "native/scale.rs"]
mod scale;
#[path = "native/shaders.rs"]
mod shaders;
#[path = "support/mod.rs"]
mod support;

use dovetail::target::Gpu;
use measure::{Bench, Measured};
use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// Arguments of the command line.
pub struct Args {
    /// What is compiled for.
    pub target: Gpu,
    /// Compiles of each shader; the minimum time counts.
    pub runs: usize,
    /// Sets to use; empty: all available ones.
    pub sets: Vec<String>,
    /// Most shaders per set.
    pub most: usize,
    /// Compare with LLVM.
    pub llvm: bool,
    /// File for all figures of all shaders.
    pub json: Option<PathBuf>,
    /// Print a line for each shader as it is measured.
    pub each: bool,
}

impl Args {
    fn read() -> Self {
        let mut out =
            Self { target: Gpu::default(), runs: 9, sets: Vec::new(), most: 60, llvm: true, json: None, each: false };
        // `cargo test --benches` only checks that it runs.
        if !support::times::measuring() {
            (out.runs, out.most, out.sets) = (1, 1, vec!["testdata".to_owned()]);
        }
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--target" => out.target = value().parse().expect("--target: a GPU"),
                "--runs" => out.runs = value().parse().expect("--runs: a number"),
                "--most" => out.most = value().parse().expect("--most: a number"),
                "--sets" => out.sets = value().split(',').map(str::to_owned).collect(),
                "--json" => out.json = Some(value().into()),
                "--no-llvm" => out.llvm = false,
                "--each" => out.each = true,
                _ => {}
            }
        }
        out
    }
}

fn main() {
    let args = Args::read();
    let shaders = shaders::all(&args);
    let mut bench = Bench::new(args.target);
    let measured: Vec<Measured> = shaders.iter().map(|shader| bench.measure(shader, &args)).collect();
    report::print(&measured, bench.radv_name());
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&measured).expect("plain data");
        std::fs::write(file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
    if support::times::measuring() {
        scale::print(args.runs);
    }
}

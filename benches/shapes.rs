//! Whether the time of a compile is linear in the number of constructs that lanes part in: CPU time of each phase on the
//! shapes of `tests/support/mask_shapes.rs`, by their number of steps.
//!
//! `cargo bench --bench shapes -- [--shape PART-OF-A-NAME] [--steps N,…] [--wave 32|64] [--all] [--once]`. Printed are
//! phases that take a twentieth of the time at some size (`--all`: every one), and by what power of the number of steps
//! each grew at last. `--once` compiles once, for a profiler.

#[path = "../tests/support/mask_shapes.rs"]
mod mask_shapes;
#[path = "../tests/support/shape_module.rs"]
mod shape_module;
#[path = "support/mod.rs"]
mod support;

use dovetail::check;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::corpus::spec::SpecFile;
use dovetail::error::Result;
use dovetail::ir::watch::{Made, Watch};
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::target::{Stage, WaveSize};
use mask_shapes::{MASK_SHAPES, MaskShape};
use spirv::ExecutionModel;
use std::time::Duration;
use support::{Input, cpu, times};

struct Args {
    shape: String,
    steps: Vec<u32>,
    wave: WaveSize,
    all: bool,
    once: bool,
}

impl Args {
    fn read() -> Self {
        let steps = if times::measuring() { vec![125, 250, 500, 1_000, 2_000] } else { vec![8] };
        let mut out = Self { shape: String::new(), steps, wave: WaveSize::W64, all: false, once: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--shape" => out.shape = value(),
                "--steps" => out.steps = value().split(',').map(|n| n.parse().expect("--steps: numbers")).collect(),
                "--wave" if value() == "32" => out.wave = WaveSize::W32,
                "--all" => out.all = true,
                "--once" => out.once = true,
                _ => {}
            }
        }
        out
    }
}

/// Times of the phases in the order of their ends; runs of one phase are added. Checks that the generator makes of its own
/// work are phases of their own.
#[derive(Default)]
struct Phases {
    times: Vec<(String, Duration)>,
    last: Duration,
}

impl Phases {
    fn begin() -> Self {
        Self { times: Vec::new(), last: cpu() }
    }

    fn end(&mut self, name: &str) {
        let took = cpu() - self.last;
        match self.times.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += took,
            None => self.times.push((name.to_owned(), took)),
        }
        self.last = cpu();
    }
}

impl Watch for Phases {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        match made {
            Made::Check(check) => {
                self.end(&format!("(before {phase})"));
                check()?;
                self.end(&format!("check: {phase}"));
            }
            Made::Group(_) | Made::Picture(_) => {}
            _ => self.end(phase),
        }
        Ok(())
    }
}

/// Compiles, links and checks a shape.
fn measured((name, steps): &MaskShape, count: u32, wave: WaveSize) -> Result<Phases> {
    let bytes = mask_shapes::module(ExecutionModel::GLCompute, *steps, count);
    let mut input = Input::new(name, bytes, Stage::Compute, &SpecFile::default()).expect("a compute shader");
    input.request.wave = wave;
    let state = support::state(&[&input]).expect("a template");
    let mut phases = Phases::begin();
    let elf = BuiltInCompiler::new().compile_watched(&input.module, &input.request, &mut phases)?;
    let linked = link(&[&elf.0[..]], &state, Placement::Adjacent, &EmitGlue)?;
    phases.end("link");
    let report = check::check(&linked)?;
    if let Some(finding) = report.errors().next() {
        panic!("{name}, {count}: {finding}");
    }
    phases.end("verify --code");
    Ok(phases)
}

fn print(shape: &MaskShape, args: &Args) {
    let runs = if args.once { 1 } else { 2 };
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for (n, count) in args.steps.iter().enumerate() {
        for _ in 0..runs {
            let phases = measured(shape, *count, args.wave).unwrap_or_else(|e| panic!("{}, {count}: {e}", shape.0));
            let all = ("all".to_owned(), phases.times.iter().map(|(_, took)| *took).sum());
            for (name, took) in phases.times.into_iter().chain([all]) {
                let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    rows.push((name, vec![f64::INFINITY; args.steps.len()]));
                    rows.len() - 1
                });
                let least = &mut rows[at].1[n];
                *least = least.min(took.as_secs_f64() * 1e3);
            }
        }
    }
    let total = rows.iter().find(|row| row.0 == "all").map(|row| row.1.clone()).unwrap_or_default();
    let heads: String = args.steps.iter().map(|n| format!(" {n} |")).collect();
    println!("\n| {}, ms |{heads} power |\n| --- |{} ---: |", shape.0, " ---: |".repeat(args.steps.len()));
    for (name, times) in rows {
        if !args.all && !times.iter().zip(&total).any(|(time, all)| time.is_finite() && *time > 0.05 * all) {
            continue;
        }
        let cells: String = times.iter().map(|time| format!(" {time:.2} |")).collect();
        let power = match (&times[..], &args.steps[..]) {
            ([.., one, two], [.., less, more]) => (two / one).ln() / (f64::from(*more) / f64::from(*less)).ln(),
            _ => f64::NAN,
        };
        println!("| {name} |{cells} {power:.2} |");
    }
}

fn main() {
    let args = Args::read();
    MASK_SHAPES.iter().filter(|shape| shape.0.contains(&args.shape)).for_each(|shape| print(shape, &args));
}

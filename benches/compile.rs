//! Time of a compile by phase: Dovetail's share, and that of LLVM's optimizer and code generator.
//!
//! Besides criterion's estimates it prints tables: each phase over the shaders of testdata and over a sample of the
//! corpus. With `DOVETAIL_BENCH_LIST` it prints the CPU time of each pipeline in the list instead, to compare with
//! another compiler.

#[path = "support/mod.rs"]
mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dovetail::compile::backend::Generator;
use dovetail::compile::generators::LlvmCompiler;
use dovetail::compile::llvm::Llvm;
use dovetail::compile::{Compiler, passes, unlinked};
use dovetail::error::Result;
use dovetail::ir::watch::{Timings, Unwatched};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;
use support::times::measuring;
use support::{Input, cpu};

/// The sample has one in this many modules of the corpus.
const CORPUS_STEP: usize = 20;
/// Rows of the tables, with the phase that ends each: preceding phases without a row count in it.
const ROWS: [(&str, &str); 7] = [
    ("parse and translate", "upper"),
    ("passes", "lower"),
    ("to LLVM IR", "llvm"),
    ("LLVM optimizer", "llvm-opt"),
    ("LLVM code generator", "asm"),
    ("reading LLVM's object", "object"),
    ("unlinked ELF", "elf"),
];
/// The rows that are LLVM's.
const LLVM: std::ops::Range<usize> = 3..5;

type Split = [Duration; ROWS.len()];

/// CPU time of a compile, phase by phase.
fn split(compiler: &LlvmCompiler, input: &Input) -> Result<Split> {
    let mut watch = Timings::new(cpu, Unwatched);
    black_box(compiler.compile_watched(&input.module, &input.request, &mut watch)?);
    let mut split = Split::default();
    let mut row = 0;
    for (phase, took) in watch.phases {
        split[row] += took;
        row += usize::from(ROWS[row].1 == phase && row + 1 < ROWS.len());
    }
    Ok(split)
}

/// The minimum of several runs, phase by phase: other load on the machine can only add time.
fn best(compiler: &LlvmCompiler, input: &Input, runs: usize) -> Result<Split> {
    let mut best = split(compiler, input)?;
    for _ in 1..runs {
        for (least, now) in best.iter_mut().zip(split(compiler, input)?) {
            *least = now.min(*least);
        }
    }
    Ok(best)
}

fn ours(split: &Split) -> Duration {
    split.iter().enumerate().filter(|(i, _)| !LLVM.contains(i)).map(|(_, d)| *d).sum()
}

fn percent(part: Duration, all: Duration) -> f64 {
    100.0 * part.as_secs_f64() / all.as_secs_f64().max(1e-9)
}

fn table(what: &str, inputs: &[Input], runs: usize) {
    let compiler = LlvmCompiler::new();
    let mut total = Split::default();
    let mut each = Vec::new();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for input in inputs {
        match best(&compiler, input, runs) {
            Ok(split) => {
                total.iter_mut().zip(split).for_each(|(t, d)| *t += d);
                each.push((percent(ours(&split), split.iter().sum()), ours(&split), &input.name));
            }
            Err(e) => *refused.entry(e.to_string()).or_default() += 1,
        }
    }
    let all: Duration = total.iter().sum();
    println!("\n| {what}: {} shaders | CPU ms | share |\n| --- | ---: | ---: |", each.len());
    for ((phase, _), time) in ROWS.iter().zip(&total) {
        println!("| {phase} | {:.1} | {:.1} % |", time.as_secs_f64() * 1e3, percent(*time, all));
    }
    println!("| **ours together** | {:.1} | {:.1} % |", ours(&total).as_secs_f64() * 1e3, percent(ours(&total), all));
    refused.iter().for_each(|(why, n)| println!("not compiled: {n} × {why}"));
    each.sort_by_key(|(_, ours, _)| std::cmp::Reverse(*ours));
    for (share, ours, name) in each.iter().take(5) {
        println!("most time in our part: {name}, {:.1} ms, {share:.0} %", ours.as_secs_f64() * 1e3);
    }
}

/// CPU milliseconds of each pipeline of the list: the median of several compiles.
fn list(pipelines: &[support::Listed]) {
    let compiler = LlvmCompiler::new();
    println!("name\tcpu_ms");
    for pipeline in pipelines {
        let compile = || -> Result<Duration> {
            let start = cpu();
            for input in &pipeline.stages {
                black_box(compiler.compile(&input.module, &input.request)?);
            }
            Ok(cpu() - start)
        };
        match (0..5).map(|_| compile()).collect::<Result<Vec<_>>>() {
            Ok(mut times) => {
                times.sort_unstable();
                println!("{}\t{:.3}", pipeline.name, times[times.len() / 2].as_secs_f64() * 1e3);
            }
            Err(e) => println!("{}\t{e}", pipeline.name),
        }
    }
}

fn compile(c: &mut Criterion) {
    if let Some(pipelines) = support::listed() {
        return list(&pipelines);
    }
    let testdata = support::testdata();
    let compiler = LlvmCompiler::new();
    let mut group = c.benchmark_group("compile");
    for input in &testdata {
        let whole = || compiler.compile(&input.module, &input.request).expect("a shader of testdata");
        group.bench_function(&input.name, |b| b.iter(whole));
        let front = || passes::lower(input.translate().expect("translated"), &input.request).expect("lowered");
        group.bench_function(format!("{}, without LLVM", input.name), |b| b.iter(front));
        let passes::Lowered { shader, interface } = front();
        let code = Llvm.generate(shader, &interface, &input.request.options, &mut Unwatched).expect("code");
        let elf = |code| unlinked::write(code, interface.clone()).expect("an ELF");
        group.bench_function(format!("{}, unlinked ELF", input.name), |b| {
            b.iter_batched(|| code.clone(), elf, BatchSize::SmallInput)
        });
    }
    group.finish();
    table("testdata", &testdata, if measuring() { 10 } else { 1 });
    if measuring() {
        table(&format!("every {CORPUS_STEP}th module of corpus"), &support::corpus(CORPUS_STEP), 3);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = compile
}
criterion_main!(benches);

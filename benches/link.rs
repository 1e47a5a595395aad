//! Linking: from parts that have been read before, from bytes, each piece of glue, and `verify`.
//!
//! Besides criterion's estimates it prints p50 and p99 of many single links. With `DOVETAIL_BENCH_LIST` it prints those
//! of each pipeline of the list, to be set beside another linker's.

#[path = "support/remembering.rs"]
mod remembering;
#[path = "support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use dovetail::compile::Compiler;
use dovetail::compile::llvm::LlvmCompiler;
use dovetail::glue::{self, GlueKey, PieceKey};
use dovetail::link::{EmitGlue, Object, Placement, link, link_objects, verify};
use dovetail::state::PipelineState;
use remembering::remembering;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use support::Input;
use support::times::{Times, head, measuring};

/// Every so many pairs of the corpus are in the sample.
const CORPUS_STEP: usize = 5;
const RUNS: usize = 20_000;

/// A pipeline, compiled early.
struct Pipeline {
    name: String,
    elfs: Vec<Vec<u8>>,
    objects: Vec<Object>,
    state: PipelineState,
}

impl Pipeline {
    /// None where a stage is not supported, or where these parts cannot be linked.
    fn new(name: &str, stages: &[&Input]) -> Option<Self> {
        let compiler = LlvmCompiler::new();
        let elfs: Option<Vec<Vec<u8>>> =
            stages.iter().map(|i| Some(compiler.compile(&i.module, &i.request).ok()?.0)).collect();
        let elfs = elfs?;
        let objects: Option<Vec<Object>> = elfs.iter().map(|elf| Object::parse(elf).ok()).collect();
        let out = Self { name: name.to_owned(), elfs, objects: objects?, state: support::state(stages)? };
        out.of_bytes(Placement::Adjacent).ok()?;
        Some(out)
    }

    fn of_bytes(&self, placement: Placement) -> dovetail::error::Result<Vec<u8>> {
        let parts: Vec<&[u8]> = self.elfs.iter().map(Vec::as_slice).collect();
        link(&parts, &self.state, placement, &EmitGlue)
    }

    fn prepared(&self, placement: Placement, glue: &dyn dovetail::link::GlueSource) -> Vec<u8> {
        let objects: Vec<&Object> = self.objects.iter().collect();
        link_objects(&objects, &self.state, placement, glue).expect("it has been linked before").elf
    }

    fn bytes(&self) -> usize {
        self.elfs.iter().map(Vec::len).sum()
    }
}

/// Our own pairs and two compute shaders.
fn pipelines() -> Vec<Pipeline> {
    let inputs = support::testdata();
    let find = |name: &str| inputs.iter().find(|i| i.name == name);
    let pair = |vs, fs| Pipeline::new(&format!("{vs} + {fs}"), &[find(vs)?, find(fs)?]);
    let alone = |name| Pipeline::new(name, &[find(name)?]);
    let own =
        [pair("ui.vert", "ui.frag"), pair("skinned.vert", "pbr.frag"), alone("blur.comp"), alone("gemm_f32.comp")];
    own.into_iter().flatten().collect()
}

fn links(c: &mut Criterion) {
    if let Some(list) = support::listed() {
        head("pipeline of the list, from prepared parts");
        for listed in list {
            let stages: Vec<&Input> = listed.stages.iter().collect();
            let Some(pipeline) = Pipeline::new(&listed.name, &stages) else {
                println!("| {} | not linked | |", listed.name);
                continue;
            };
            let glue = remembering();
            Times::of(RUNS / 10, || pipeline.prepared(Placement::Adjacent, &glue)).row(&listed.name);
        }
        return;
    }
    let pipelines = pipelines();
    let mut group = c.benchmark_group("link");
    let mut rows = Vec::new();
    for pipeline in &pipelines {
        for placement in [Placement::Adjacent, Placement::Chained] {
            let place = format!("{placement:?}").to_lowercase();
            let glue = remembering();
            let name = |how: &str| format!("{}, {place}, {how}", pipeline.name);
            let mut run = |how: &str, f: &dyn Fn() -> Vec<u8>| {
                group.bench_function(name(how), |b| b.iter(f));
                rows.push((name(how), Times::of(RUNS, f)));
            };
            run("prepared, glue remembered", &|| pipeline.prepared(placement, &glue));
            if pipeline.objects.len() > 1 {
                run("prepared, glue emitted", &|| pipeline.prepared(placement, &EmitGlue));
            }
            run("from bytes", &|| pipeline.of_bytes(placement).expect("it has been linked before"));
        }
        let elf = pipeline.of_bytes(Placement::Adjacent).expect("it has been linked before");
        group.bench_function(format!("{}, verify", pipeline.name), |b| b.iter(|| verify(&elf)));
        rows.push((format!("{}, verify", pipeline.name), Times::of(RUNS / 10, || verify(&elf))));
    }
    group.finish();
    for pipeline in &pipelines {
        println!("{}: {} bytes of unlinked ELFs", pipeline.name, pipeline.bytes());
    }
    head("one link");
    rows.iter().for_each(|(name, times)| times.row(name));
}

/// Each kind of piece that our pipelines ask for.
fn pieces(c: &mut Criterion) {
    if support::listed().is_some() {
        return;
    }
    let asked: RefCell<BTreeMap<GlueKey, ()>> = RefCell::default();
    let note = |key: &GlueKey| {
        asked.borrow_mut().insert(key.clone(), ());
        glue::emit(key).map(Arc::new)
    };
    for pipeline in pipelines() {
        pipeline.prepared(Placement::Adjacent, &note);
        // The vertex stage alone asks for what stands in for a fragment shader.
        if let (Some(vertex), true) = (pipeline.objects.first(), pipeline.objects.len() > 1) {
            link_objects(&[vertex], &pipeline.state, Placement::Adjacent, &note).expect("a pipeline of depth alone");
        }
    }
    let mut group = c.benchmark_group("glue");
    let mut rows = Vec::new();
    for key in asked.borrow().keys() {
        let kind = match key.piece {
            PieceKey::Fetch(_) => "fetch prolog",
            PieceKey::ParamExport(_) => "parameter epilog",
            PieceKey::ColorExport(_) => "colour epilog",
            PieceKey::NullFragment => "null fragment shader",
        };
        let name =
            format!("{kind} of {} bytes, no. {}", glue::emit(key).expect("emitted before").code.len(), rows.len());
        group.bench_function(&name, |b| b.iter(|| glue::emit(key)));
        rows.push((name, Times::of(RUNS, || glue::emit(key))));
    }
    group.finish();
    head("one piece of glue");
    rows.iter().for_each(|(name, times)| times.row(name));
}

/// How real pairs spread.
fn corpus(_: &mut Criterion) {
    if support::listed().is_some() || !measuring() {
        return;
    }
    let mut medians = Vec::new();
    for (vertex, fragment) in support::corpus_pairs(CORPUS_STEP) {
        let Some(pipeline) = Pipeline::new(&vertex.name, &[&vertex, &fragment]) else { continue };
        let glue = remembering();
        let prepared = Times::of(500, || pipeline.prepared(Placement::Adjacent, &glue));
        let bytes = Times::of(500, || pipeline.of_bytes(Placement::Adjacent));
        medians.push((prepared.percentile(50), bytes.percentile(50)));
    }
    if medians.is_empty() {
        println!("\nno pairs of corpus/: fetch them with ./dev corpus");
        return;
    }
    println!("\n| {} pairs of corpus, adjacent | p50 ns of the median pair | of the slowest |", medians.len());
    println!("| --- | ---: | ---: |");
    let row = |name: &str, mut of: Vec<u64>| {
        of.sort_unstable();
        println!("| {name} | {} | {} |", of[of.len() / 2], of[of.len() - 1]);
    };
    row("prepared, glue remembered", medians.iter().map(|m| m.0).collect());
    row("from bytes", medians.iter().map(|m| m.1).collect());
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(800));
    targets = links, pieces, corpus
}
criterion_main!(benches);

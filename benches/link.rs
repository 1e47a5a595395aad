//! Linking: distinct pairs of the corpus compared with a copy of their bytes, the cost of state changes, from bytes and
//! from a cache, threads; and each pair of testdata, each piece of glue, and `verify`.
//!
//! Tables of p50, p95 and p99 of single links follow criterion's estimates. With `DOVETAIL_BENCH_LIST` it measures the
//! pipelines in the list as the distinct ones, to compare with another linker in one run.

#[path = "support/distinct.rs"]
mod distinct;
#[path = "support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use distinct::Pairs;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::glue::{self, GlueKey, PieceKey};
use dovetail::link::{EmitGlue, GlueSource, Job, Object, Placement, Plans, link, verify};
use dovetail::state::PipelineState;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use support::Input;
use support::times::{Times, head, measuring};

const RUNS: usize = 20_000;

/// A pipeline with compiled parts.
struct Pipeline {
    name: String,
    elfs: Vec<Vec<u8>>,
    objects: Vec<Object>,
    state: PipelineState,
    layout: ResolvedLayout,
}

impl Pipeline {
    /// `None` if a stage is not supported or the parts cannot be linked.
    fn new(name: &str, stages: &[&Input]) -> Option<Self> {
        let compiler = BuiltInCompiler::new();
        let elfs: Option<Vec<Vec<u8>>> =
            stages.iter().map(|i| Some(compiler.compile(&i.module, &i.request).ok()?.0)).collect();
        let elfs = elfs?;
        let objects: Option<Vec<Object>> = elfs.iter().map(|elf| Object::parse(elf).ok()).collect();
        let state = support::state(stages)?;
        let layout = ResolvedLayout::new(&state.layout).ok()?;
        let out = Self { name: name.to_owned(), elfs, objects: objects?, state, layout };
        out.of_bytes(Placement::Adjacent).ok()?;
        Some(out)
    }

    fn of_bytes(&self, placement: Placement) -> dovetail::error::Result<Vec<u8>> {
        let parts: Vec<&[u8]> = self.elfs.iter().map(Vec::as_slice).collect();
        link(&parts, &self.state, placement, &EmitGlue)
    }

    fn prepared(&self, placement: Placement, glue: &dyn GlueSource, plans: Option<&Plans>) -> Vec<u8> {
        let objects: Vec<&Object> = self.objects.iter().collect();
        let job = Job {
            objects: &objects,
            state: &self.state,
            layout: &self.layout,
            placement,
            glue,
            metadata: Default::default(),
            plans,
        };
        job.link().expect("it has been linked before").elf
    }

    fn bytes(&self) -> usize {
        self.elfs.iter().map(Vec::len).sum()
    }
}

/// The pairs of testdata and two compute shaders.
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
    if support::listed().is_some() {
        return;
    }
    let pipelines = pipelines();
    let mut group = c.benchmark_group("link");
    let mut rows = Vec::new();
    for pipeline in &pipelines {
        for placement in [Placement::Adjacent, Placement::Chained] {
            let place = format!("{placement:?}").to_lowercase();
            let plans = Plans::default();
            let name = |how: &str| format!("{}, {place}, {how}", pipeline.name);
            let mut run = |how: &str, f: &dyn Fn() -> Vec<u8>| {
                group.bench_function(name(how), |b| b.iter(f));
                rows.push((name(how), Times::of(RUNS, f)));
            };
            run("prepared", &|| pipeline.prepared(placement, &EmitGlue, Some(&plans)));
            if pipeline.objects.len() > 1 {
                run("prepared, nothing planned", &|| pipeline.prepared(placement, &EmitGlue, None));
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
    head("one link, into memory of its own");
    rows.iter().for_each(|(name, times)| times.row(name));
}

/// Each kind of glue that the pipelines use.
fn pieces(c: &mut Criterion) {
    if support::listed().is_some() {
        return;
    }
    let asked: RefCell<BTreeMap<GlueKey, ()>> = RefCell::default();
    let note = |key: &GlueKey| {
        asked.borrow_mut().insert(key.clone(), ());
        glue::emit(key).map(Arc::new)
    };
    for mut pipeline in pipelines() {
        pipeline.prepared(Placement::Adjacent, &note, None);
        // Only a lone vertex stage uses the replacement of a fragment shader.
        if pipeline.objects.len() > 1 {
            pipeline.objects.truncate(1);
            pipeline.prepared(Placement::Adjacent, &note, None);
        }
    }
    let mut group = c.benchmark_group("glue");
    let mut rows = Vec::new();
    for key in asked.borrow().keys() {
        let kind = match key.piece {
            PieceKey::Fetch(_) => "fetch prolog",
            PieceKey::ParamExport(_) => "parameter epilog",
            PieceKey::ColorExport(_) => "colour epilog",
            PieceKey::Ngg(_) | PieceKey::Vertices(_) => "NGG prologue",
            PieceKey::RingExport(_) => "ring epilog",
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

/// Many different pairs in sequence.
fn distinct_pairs(_: &mut Criterion) {
    if !measuring() {
        return;
    }
    match support::listed() {
        Some(list) => {
            let pairs = list.into_iter().filter_map(|listed| <[Input; 2]>::try_from(listed.stages).ok());
            Pairs::new(pairs.map(|[vertex, fragment]| (vertex, fragment)).collect()).report();
        }
        None => Pairs::new(support::corpus_pairs(1)).combined().report(),
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(800));
    targets = links, pieces, distinct_pairs
}
criterion_main!(benches);

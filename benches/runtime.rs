//! Overhead of the runtime, compared within one run with its components: a link without a handle with the Rust link,
//! from Rust and from C; polling a generation with a relaxed load; a hit with LMDB's own read and the digest. Groups:
//! `links`, `hits`, `many`.

#[path = "../tests/capi/cache.rs"]
mod cache;
#[path = "../tests/capi/library.rs"]
mod library;
#[path = "../tests/support/link_support.rs"]
mod link_support;
#[path = "support/raw_lmdb.rs"]
mod raw_lmdb;
#[path = "support/times.rs"]
mod times;

use criterion::{Criterion, criterion_group, criterion_main};
use dovetail::abi::layout::ResolvedLayout;
use dovetail::keys;
use dovetail::link::{EmitGlue, Job, Object, Placement, Plans};
use dovetail::runtime::{Context, ContextInfo, Layout, Pipeline, PipelineFlags, PipelineInfo, Shader, Size};
use dovetail::target::{Gpu, Stage};
use dovetail_testing as support;
use std::path::Path;
use std::process::Command;
use times::{Times, chosen, head, measuring, ratio_in_turn};

const RUNS: usize = 20_000;

fn context(dir: &Path) -> Context {
    let dir = dir.join("cache");
    let info = ContextInfo { cache_dir: Some(&dir), max_memory: 1 << 20, ..ContextInfo::new(Gpu::Gfx1030) };
    Context::new(&info).expect("a context")
}

fn shader(context: &Context, stage: Stage, module: &[u8]) -> Shader {
    Shader::new(context, &cache::shader_info(stage, module)).expect("a shader")
}

fn links(c: &mut Criterion) {
    if !chosen("links") {
        return;
    }
    let dir = cache::folder();
    let context = context(dir.path());
    let state = cache::state();
    let layout = Layout::new(&state.layout).expect("a layout");
    let parts = [link_support::vertex(), link_support::fragment()].map(|part| part.build());
    let objects = parts.each_ref().map(|elf| Object::parse(elf).expect("a part"));
    let objects: Vec<&Object> = objects.iter().collect();
    let (places, plans) = (ResolvedLayout::new(&state.layout).expect("a layout"), Plans::default());
    let [vs, fs] = [(Stage::Vertex, 1), (Stage::Fragment, 2)].map(|(s, n)| shader(&context, s, &cache::module(n)));
    let shaders = [&vs, &fs];
    let info = PipelineInfo {
        shaders: &shaders,
        layout: &layout,
        state: &state,
        placement: Placement::Adjacent,
        flags: PipelineFlags::default(),
        priority: 0,
        user: 0,
    };
    let [mut out, mut memory] = [vec![0; 1 << 16], vec![0; 1 << 16]];
    let (placement, plans) = (Placement::Adjacent, Some(&plans));
    let job = Job {
        objects: &objects,
        state: &state,
        layout: &places,
        placement,
        glue: &EmitGlue,
        metadata: Default::default(),
        plans,
    };
    let mut rust = || job.link_into(&mut memory).expect("a pipeline");
    let mut into = || context.link_into(&info, &mut out).expect("a pipeline");
    let create = || Pipeline::new(&context, &info).expect("a pipeline");
    let pipeline = create();
    let mut group = c.benchmark_group("runtime");
    group.bench_function("the Rust link", |b| b.iter(&mut rust));
    group.bench_function("link_into", |b| b.iter(&mut into));
    group.bench_function("create", |b| b.iter(create));
    group.bench_function("generation", |b| b.iter(|| pipeline.generation()));
    group.finish();

    head("a pipeline of two small parts");
    Times::of(RUNS, &mut rust).row("the Rust link");
    Times::of(RUNS, &mut into).row("link_into");
    Times::of(RUNS, create).row("create");
    if measuring() {
        println!("\nlink_into to the Rust link, in turn: {:.3}", ratio_in_turn(501, &mut into, &mut rust));
    }
    from_c(dir.path());
}

/// The same through the C interface, with the library as installed.
fn from_c(dir: &Path) {
    if !measuring() {
        return;
    }
    let library = library::Library::built();
    let program = dir.join("times");
    let source = support::root().join("tests/capi/times.c");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-std=c99", "-I"]).arg(support::root().join("include")).arg(source).arg("-o").arg(&program);
    assert!(cc.args(library.shared()).status().expect("cc").success());
    let done = Command::new(&program).arg(dir).arg(RUNS.to_string()).output().expect("the program");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    println!("\nfrom C: ns of each, p50 and p99 where they are timed one by one");
    print!("{}", String::from_utf8_lossy(&done.stdout));
    let bytes = std::fs::metadata(library.shared_file()).expect("the library").len();
    println!("shared library: {bytes} bytes with symbols");
}

fn hits(c: &mut Criterion) {
    if !chosen("hits") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let made = cache::Made::new(&dir.path().join("cache"));
    let mut part = link_support::vertex();
    // About 8 KiB, the size of a typical shader.
    part.code.splice(0..0, std::iter::repeat_n(link_support::S_NOP, 1800));
    let elf = part.build();
    let count = if measuring() { 1000 } else { 20 };
    let requests: Vec<_> = (0..count).map(|n| cache::request(Stage::Vertex, cache::module(n))).collect();
    let keys: Vec<_> = requests.iter().map(|r| keys::stage(r, &cache::compiler()).expect("a key")).collect();
    requests.iter().for_each(|request| made.put_bytes(request, &elf));
    let modules: Vec<Vec<u8>> = (0..count).map(cache::module).collect();

    let mut n = 0;
    let mut next = move || {
        n = (n + 389) % count as usize;
        n
    };
    let warm = context(dir.path());
    let held: Vec<Shader> = modules.iter().map(|module| shader(&warm, Stage::Vertex, module)).collect();
    let mut rows = Vec::new();
    let mut row = |name: &str, f: &mut dyn FnMut() -> usize| {
        c.bench_function(&format!("runtime/hit/{name}"), |b| b.iter(&mut *f));
        rows.push((name.to_owned(), Times::of(RUNS, f)));
    };
    row("the cache's hit", &mut || made.0.get(&keys[next()]).expect("a hit").len());
    row("BLAKE3 of its bytes", &mut || usize::from(blake3::keyed_hash(&keys[next()].0, &elf).as_bytes()[0]));
    let cold = ContextInfo::new(Gpu::Gfx1030);
    row("a context without a cache", &mut || usize::from(Context::new(&cold).is_ok()));
    row("a shader whose part is in memory", &mut || {
        usize::from(shader(&warm, Stage::Vertex, &modules[next()]).status().is_ok())
    });
    row("parsing a part", &mut || Object::parse(&elf).map_or(0, |object| object.open_symbols().len()));
    row("opening a context", &mut || usize::from(context(dir.path()).key().is_ok()));
    drop(held);
    let info = ContextInfo { max_memory: 64 << 20, exports: true, ..cold };
    let cache_dir = dir.path().join("cache");
    let source = Context::new(&ContextInfo { cache_dir: Some(&cache_dir), ..info }).expect("a context");
    let held: Vec<Shader> = modules.iter().map(|module| shader(&source, Stage::Vertex, module)).collect();
    let mut bytes = match source.export(&mut []).expect("an export") {
        Size::Incomplete(size) | Size::Written(size) => vec![0; size],
    };
    let mut export = || usize::from(source.export(&mut bytes).is_ok());
    let exported = Times::of(RUNS / 200, &mut export);
    let import =
        || Context::new(&info).and_then(|context| context.import(&bytes)).map_or(0, |taken| taken.parts as usize);
    let imported = Times::of(RUNS / 200, import);
    drop(held);
    // Last, because it maps the file.
    let raw = raw_lmdb::RawLmdb::open(&dir.path().join("cache/lmdb"));
    row("LMDB's own read", &mut || raw.get(&keys[next()].0).len());
    head(&format!("a part of {} bytes among {count}", elf.len()));
    rows.iter().for_each(|(name, times)| times.row(name));
    exported.row("an export of all");
    imported.row("an import of all into another context");
}

/// Opening a context whose cache has many entries. The goal is at most 2 ms at 100,000 entries.
fn many(_: &mut Criterion) {
    if !measuring() || !chosen("many") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let made = cache::Made::new(&dir.path().join("cache"));
    // Puts of several threads share a transaction, which waits for the disk.
    std::thread::scope(|scope| {
        for first in 0..100 {
            let made = &made;
            scope.spawn(move || {
                for n in (first..100_000u32).step_by(100) {
                    let key = dovetail::cache::Key(*blake3::hash(&n.to_le_bytes()).as_bytes());
                    made.0.put(&key, &n.to_le_bytes()).expect("a put");
                }
            });
        }
    });
    head("a cache of 100,000 entries");
    let open = || usize::from(context(dir.path()).key().is_ok());
    Times::of(RUNS / 20, open).row("opening a context");
    let first = || {
        let context = context(dir.path());
        usize::from(shader(&context, Stage::Vertex, &cache::module(1)).status().is_ok())
    };
    Times::of(RUNS / 20, first).row("opening a context, and a first miss");
}

criterion_group!(benches, links, hits, many);
criterion_main!(benches);

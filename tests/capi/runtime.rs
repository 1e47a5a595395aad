//! `dovetail::runtime` from Rust: sources of parts, outcomes of pipelines, flags without a service.

use crate::alloc::allocations;
use crate::cache::{self, Made, adding_module, module, put_unlinkable, put_whole, request, shader_info, state};
use crate::link_support;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::cache::{Cache, DEFAULT_MAP_BYTES, Key, LmdbStore, Store, StoreKind, entry};
use dovetail::compile::request::Module;
use dovetail::compile::variant_of;
use dovetail::error::{ErrorKind, FullCompile, Result};
use dovetail::keys;
use dovetail::link::{EmitGlue, Job, Object, Placement, Plans, link};
use dovetail::metadata::interface::StageKind;
use dovetail::runtime::{
    Answer, Context, ContextInfo, EventKind, Layout, ModuleRef, Phase, Pipeline, PipelineFlags, PipelineInfo,
    PipelineRoute, Shader, ShaderInfo, ShaderStatus, Size,
};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage};
use dovetail::toolchain::note_operands;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub fn context(dir: Option<&Path>) -> Context {
    Context::new(&ContextInfo { cache_dir: dir, max_memory: 1 << 20, exports: true, ..ContextInfo::new(Gpu::Gfx1030) })
        .expect("a context")
}

pub fn shader(context: &Context, stage: Stage, number: u32) -> Shader {
    Shader::new(context, &shader_info(stage, &module(number))).expect("a shader")
}

pub fn pair(context: &Context) -> [Shader; 2] {
    [shader(context, Stage::Vertex, 1), shader(context, Stage::Fragment, 2)]
}

/// A pipeline of these shaders with these flags, in the state of `link_support`.
pub fn of<'a>(
    shaders: &'a [&'a Shader],
    layout: &'a Layout,
    state: &'a PipelineState,
    flags: PipelineFlags,
) -> PipelineInfo<'a> {
    PipelineInfo { shaders, layout, state, placement: Placement::Adjacent, flags, priority: 0, user: 9 }
}

pub fn linked() -> Vec<u8> {
    let parts = [link_support::vertex().build(), link_support::fragment().build()];
    link(&[&parts[0], &parts[1]], &state(), Placement::Adjacent, &EmitGlue).expect("a pipeline")
}

pub const NONE: PipelineFlags = PipelineFlags::FAIL_ON_COMPILE;

#[test]
fn a_link_into_memory_is_the_link() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    // The handle's layout is used, whatever layout the state has.
    let other = PipelineState { layout: Default::default(), ..state };
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let info = of(&shaders, &layout, &other, NONE);
    let expect = linked();
    let mut out = vec![0xee; expect.len() + 3];
    for _ in 0..2 {
        let done = context.link_into(&info, &mut out).unwrap();
        assert_eq!(done, Answer::Ready((Size::Written(expect.len()), PipelineRoute::Linked)));
        assert!(out[..expect.len()] == expect && out[expect.len()..] == [0xee; 3]);
    }
    out.fill(0xaa);
    let done = context.link_into(&info, &mut out[..expect.len() - 1]).unwrap();
    assert_eq!(done, Answer::Ready((Size::Incomplete(expect.len()), PipelineRoute::Linked)));
    assert!(out.iter().all(|byte| *byte == 0xaa), "nothing is half written");
    let stats = context.stats().unwrap();
    assert_eq!((stats.links, stats.disk_hits, stats.memory_hits, stats.misses), (3, 2, 0, 0));
    // Another shader of the same request uses the part in memory.
    assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
    assert_eq!(context.stats().unwrap().memory_hits, 1);
}

/// Heap allocations of the Rust link into the caller's memory, for the programs' pipeline, and of `link_into`.
pub fn link_allocations(dir: &Path) -> (u64, u64) {
    let (context, state) = (context(Some(&dir.join("cache"))), state());
    let layout = Layout::new(&state.layout).unwrap();
    let places = ResolvedLayout::new(&state.layout).unwrap();
    let objects = [link_support::vertex(), link_support::fragment()].map(|part| Object::parse(&part.build()).unwrap());
    let objects = [&objects[0], &objects[1]];
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let info = of(&shaders, &layout, &state, NONE);
    let mut out = vec![0; 1 << 16];
    let plans = Plans::default();
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
    let [mut link, mut into] = [0; 2];
    // Twice, because the first link creates plans.
    for _ in 0..2 {
        link = allocations(|| job.link_into(&mut out).unwrap()).0;
        into = allocations(|| context.link_into(&info, &mut out).unwrap()).0;
    }
    (link, into)
}

#[test]
fn a_digest_stands_for_its_module() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let context = context(Some(dir.path()));
    let digest = request(Stage::Vertex, module(1)).module;
    let by_digest = ShaderInfo { module: ModuleRef::Digest(digest), ..shader_info(Stage::Vertex, &[]) };
    assert_eq!(Shader::new(&context, &by_digest).unwrap().status().unwrap(), ShaderStatus::Ready);
}

#[test]
fn specialization_decides_the_part_and_is_held_against_it() {
    let dir = tempfile::tempdir().unwrap();
    let made = cache::full(dir.path());
    let mut of_seven = request(Stage::Compute, module(3));
    of_seven.specialization = vec![(7, 40)];
    let mut part = link_support::compute();
    part.interface.specialization = vec![dovetail::kinds::SpecValue { id: 7, value: 40, default: 1 }];
    made.put(&of_seven, &part);
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let module = module(3);
    let with =
        |values| Shader::new(&context, &ShaderInfo { specialization: values, ..shader_info(Stage::Compute, &module) });
    // 8 is not a constant of the module; for 7 the last value counts.
    let right = with(&[(7, 1), (8, 3), (7, 40)]).unwrap();
    assert_eq!(right.status().unwrap(), ShaderStatus::Ready);
    let linked = context.link_into(&of(&[&right], &layout, &state, NONE), &mut [0; 1 << 16]).unwrap();
    assert!(matches!(linked, Answer::Ready((Size::Written(_), PipelineRoute::Linked))));
    assert_eq!(with(&[(7, 41)]).unwrap().status().unwrap(), ShaderStatus::NotCached);
}

#[test]
fn values_of_operands_are_the_links_and_decide_no_part() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(dir.path());
    let code = adding_module();
    let mut part = link_support::compute().load_symbol(20, "spec_7_0");
    part.interface.spec_operands = vec![dovetail::kinds::SpecOperand { id: 7, default: 1, bits: 32 }];
    made.put(&request(Stage::Compute, code.clone()), &part);
    let [context, other] = [(); 2].map(|()| context(Some(dir.path())));
    let state = state();
    let layout = Layout::new(&state.layout).unwrap();
    let module = Module::new(code.clone()).unwrap();
    let linked = |context: &Context, module, values: &[(u32, u64)]| {
        let info = ShaderInfo { module, specialization: values, ..shader_info(Stage::Compute, &[]) };
        let shader = Shader::new(context, &info).unwrap();
        let mut out = vec![0; 1 << 16];
        match context.link_into(&of(&[&shader], &layout, &state, NONE), &mut out).unwrap() {
            Answer::Ready((Size::Written(size), PipelineRoute::Linked)) => Some(out[..size].to_vec()),
            Answer::NotCached(_) => None,
            other => panic!("{other:?}"),
        }
    };
    let by_code = |values: &[(u32, u64)]| linked(&context, ModuleRef::Code(&code), values).expect("in the cache");
    let by_digest = |values: &[(u32, u64)]| linked(&other, ModuleRef::Digest(module.digest()), values);
    let (none, one, forty) = (by_code(&[]), by_code(&[(7, 1)]), by_code(&[(7, 40)]));
    assert_eq!(none, one, "the module's default");
    let changed = one.iter().zip(&forty).filter(|(a, b)| a != b).count();
    assert!((1..64).contains(&changed), "the value and the hashes: {changed} bytes");
    // A digest does not tell which constants are operands; somebody with the module must record it.
    assert_eq!(by_digest(&[]), Some(none));
    assert_eq!(by_digest(&[(7, 40)]), None);
    let values = [(7, 40)];
    let early = ShaderInfo {
        module: ModuleRef::Digest(module.digest()),
        specialization: &values,
        ..shader_info(Stage::Compute, &[])
    };
    let without_disk = Shader::new(&other, &ShaderInfo { no_disk: true, ..early }).unwrap();
    let early = Shader::new(&other, &early).unwrap();
    note_operands(&made.0, &module).unwrap();
    assert_eq!(by_digest(&[(7, 40)]), Some(forty.clone()));
    // Those that were created before it was recorded, or must not look, find it when they are used.
    for shader in [early, without_disk] {
        assert_eq!(shader.wait(Duration::ZERO).unwrap(), ShaderStatus::Ready);
    }
    // A shader with the code tells it, too.
    assert_eq!(linked(&context, ModuleRef::Digest(module.digest()), &[(7, 40)]), Some(forty));
}

#[test]
fn a_state_that_asks_for_a_variant_links_it() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(dir.path());
    let of = |known: bool| {
        let mut part = link_support::fragment();
        let StageKind::Fragment(f) = &mut part.interface.kind else { unreachable!() };
        (f.per_pixel, f.per_sample) = (!known, known);
        let mut request = request(Stage::Fragment, module(2));
        if known {
            request.known = variant_of(Stage::Fragment).unwrap();
        }
        (request, part)
    };
    made.put(&request(Stage::Vertex, module(1)), &link_support::vertex());
    made.put(&of(false).0, &of(false).1);
    let (context, mut state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let linked =
        |state: &PipelineState| context.link_into(&self::of(&shaders, &layout, state, NONE), &mut [0; 1 << 16]);
    let plain = linked(&state).unwrap();
    assert!(matches!(plain, Answer::Ready((Size::Written(_), PipelineRoute::Linked))), "{plain:?}");
    (state.color.samples, state.color.sample_shading) = (4, true);
    assert!(linked(&state).unwrap_err().full_compile().is_some());
    made.put(&of(true).0, &of(true).1);
    let shaded = linked(&state).unwrap();
    assert!(matches!(shaded, Answer::Ready((Size::Written(_), PipelineRoute::Linked))), "{shaded:?}");
}

#[test]
fn what_is_missing_is_taken_up_when_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    // The cache does not even have a manifest.
    let [vs, fs] = pair(&context);
    assert_eq!(vs.status().unwrap(), ShaderStatus::NotCached);
    let key = context.key().unwrap();
    let made = Made::new(dir.path());
    made.put(&request(Stage::Vertex, module(1)), &link_support::vertex());
    assert_eq!(vs.wait(Duration::ZERO).unwrap(), ShaderStatus::Ready);
    assert_ne!(context.key().unwrap(), key, "the cache says now whose code it holds");
    let shaders = [&vs, &fs];
    let info = of(&shaders, &layout, &state, NONE);
    let pipeline = Pipeline::new(&context, &info).unwrap();
    assert_eq!(pipeline.status().unwrap().phase, Phase::NotCached(Stage::Fragment));
    assert_eq!((pipeline.generation(), pipeline.read(&mut []).unwrap()), (0, None));
    assert_eq!(context.link_into(&info, &mut []).unwrap(), Answer::NotCached(Stage::Fragment));
    made.put(&request(Stage::Fragment, module(2)), &link_support::fragment());
    let status = pipeline.wait(1, Duration::ZERO).unwrap();
    assert_eq!((status.phase, status.generation), (Phase::Done(PipelineRoute::Linked), 1));
    let mut out = linked();
    let expect = std::mem::replace(&mut out, vec![0; status.bytes]);
    assert_eq!(pipeline.read(&mut out).unwrap(), Some((Size::Written(expect.len()), 1)));
    assert_eq!(out, expect);
    // Found by the vertex shader's own wait, by the pipeline's wait for the fragment shader, and by the link: one event
    // each.
    pipeline.wait(1, Duration::ZERO).unwrap();
    let events: Vec<_> = std::iter::from_fn(|| context.next_event().unwrap()).collect();
    let seen: Vec<_> = events.iter().map(|e| (e.kind, e.user, e.generation, e.failure.is_none())).collect();
    assert_eq!(
        seen,
        [(EventKind::Shader, 5, 0, true), (EventKind::Shader, 5, 0, true), (EventKind::Pipeline, 9, 1, true)]
    );
}

#[test]
fn the_descriptor_is_readable_while_there_are_events() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(Some(dir.path()));
    let shaders = [1, 2, 3].map(|n| shader(&context, Stage::Vertex, n));
    let made = Made::new(dir.path());
    (1..4).for_each(|n| made.put(&request(Stage::Vertex, module(n)), &link_support::vertex()));
    // An event from before the descriptor was requested.
    shaders[0].wait(Duration::ZERO).unwrap();
    let readable = || {
        let fd = context.event_fd().unwrap();
        let mut polled = [rustix::event::PollFd::from_borrowed_fd(fd.as_fd(), rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut polled, Some(&Default::default())).unwrap() == 1
    };
    assert!(readable());
    shaders[1].wait(Duration::ZERO).unwrap();
    shaders[2].wait(Duration::ZERO).unwrap();
    for left in [true, true, false] {
        assert!(readable());
        assert!(context.next_event().unwrap().is_some());
        assert_eq!(readable(), left);
    }
    assert!(context.next_event().unwrap().is_none() && !readable());
}

#[test]
fn without_the_disk_parts_are_pending_until_somebody_waits() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let modules = [module(1), module(2)];
    let cold = |stage, n: usize| {
        Shader::new(&context, &ShaderInfo { no_disk: true, ..shader_info(stage, &modules[n]) }).expect("a shader")
    };
    let [vs, fs] = [cold(Stage::Vertex, 0), cold(Stage::Fragment, 1)];
    assert_eq!(vs.status().unwrap(), ShaderStatus::Pending);
    let shaders = [&vs, &fs];
    let info = of(&shaders, &layout, &state, PipelineFlags::NO_DISK);
    assert_eq!(context.link_into(&info, &mut []).unwrap(), Answer::Pending(Stage::Vertex));
    let pipeline = Pipeline::new(&context, &info).unwrap();
    assert_eq!(pipeline.status().unwrap().phase, Phase::Pending(Stage::Vertex));
    assert_eq!(context.stats().unwrap().disk_hits, 0);
    assert_eq!(pipeline.wait(1, Duration::ZERO).unwrap().phase, Phase::Done(PipelineRoute::Linked));
    // Without a handle the flag still uses parts that others have found meanwhile.
    assert!(matches!(context.link_into(&info, &mut []).unwrap(), Answer::Ready(_)));
}

/// A disk on which each lookup takes as long as on a failing or remote one.
struct Slow {
    disk: LmdbStore,
    looks: Arc<AtomicU32>,
}

impl Store for Slow {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(100));
        self.disk.get(key)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.disk.put(key, bytes)
    }
}

#[test]
fn a_slow_disk_is_not_looked_at_for_what_is_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let looks = Arc::new(AtomicU32::new(0));
    let disk = LmdbStore::open(&dir.path().join("lmdb"), DEFAULT_MAP_BYTES);
    let slow = Cache::new(Box::new(Slow { disk, looks: looks.clone() }));
    let info = ContextInfo { max_memory: 1 << 20, ..ContextInfo::new(Gpu::Gfx1030) };
    let context = Context::with_cache(&info, slow).unwrap();
    let looked = || looks.load(Ordering::Relaxed);
    let state = state();
    let layout = Layout::new(&state.layout).unwrap();
    let mut out = vec![0; 1 << 16];
    // The compiler's name, two parts, and nothing for the link.
    let [vs, fs] = pair(&context);
    let before = looked();
    assert!(before >= 3);
    for _ in 0..3 {
        let [again, other] = pair(&context);
        let shaders = [&again, &other];
        let info = of(&shaders, &layout, &state, NONE);
        assert!(matches!(context.link_into(&info, &mut out).unwrap(), Answer::Ready(_)));
    }
    assert_eq!(looked(), before);
    // If the caller forbids the disk, only memory is searched.
    let module = module(3);
    let cold = ShaderInfo { no_disk: true, ..shader_info(Stage::Vertex, &module) };
    assert_eq!(Shader::new(&context, &cold).unwrap().status().unwrap(), ShaderStatus::Pending);
    assert_eq!(looked(), before);
    drop((vs, fs));
}

#[test]
fn whole_pipelines_are_taken_where_they_are_wanted_and_there() {
    let dir = tempfile::tempdir().unwrap();
    let made = cache::full(dir.path());
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let with = |flags| context.link_into(&of(&shaders, &layout, &state, flags), &mut [0; 1 << 16]).unwrap();
    assert!(matches!(with(PipelineFlags::PREFER_OPTIMIZED), Answer::Ready((_, PipelineRoute::Linked))));
    assert_eq!(with(PipelineFlags::LINK_TIME_OPTIMIZATION), Answer::NotCached(Stage::Fragment));
    put_whole(&made);
    for flags in [PipelineFlags::PREFER_OPTIMIZED, PipelineFlags::LINK_TIME_OPTIMIZATION] {
        assert!(matches!(with(flags), Answer::Ready((_, PipelineRoute::Whole(None)))), "{flags:?}");
    }
    assert!(matches!(with(PipelineFlags::NO_OPTIMIZE), Answer::Ready((_, PipelineRoute::Linked))));
    assert_eq!(context.stats().unwrap().wholes, 2);
}

#[test]
fn the_caller_chooses_the_version_of_the_metadata() {
    let dir = tempfile::tempdir().unwrap();
    cache::full(dir.path());
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let made = |flags| {
        let pipeline = Pipeline::new(&context, &of(&shaders, &layout, &state, flags)).unwrap();
        let mut elf = vec![0; pipeline.status().unwrap().bytes];
        pipeline.read(&mut elf).unwrap().expect("an ELF");
        let mut direct = vec![0; 1 << 16];
        let answer = context.link_into(&of(&shaders, &layout, &state, flags), &mut direct).unwrap();
        let Answer::Ready((Size::Written(size), PipelineRoute::Linked)) = answer else { panic!("{answer:?}") };
        assert_eq!(direct[..size], elf);
        (pipeline.key().unwrap(), elf)
    };
    let [(numbers, plain), (names, named)] = [NONE, PipelineFlags::NAMED_METADATA].map(made);
    assert_eq!(numbers, names, "the code is the same");
    let has = |elf: &[u8], text: &[u8]| elf.windows(text.len()).any(|window| window == text);
    assert!(has(&named, b".graphics_registers") && !has(&plain, b".graphics_registers"));
}

#[test]
fn what_cannot_be_linked_says_why_and_is_taken_whole_where_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let made = cache::full(dir.path());
    put_unlinkable(&made);
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let [vs, fs] = pair(&context);
    let shaders = [&vs, &fs];
    let info = of(&shaders, &layout, &state, NONE);
    let pipeline = Pipeline::new(&context, &info).unwrap();
    let Phase::NeedsWhole(why) = pipeline.status().unwrap().phase else { panic!("it was linked") };
    assert_eq!(why.full_compile(), Some(&FullCompile::Specialization { id: 7 }));
    let refused = context.link_into(&info, &mut []).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::NeedsFullCompile(_)), "{refused}");
    assert_eq!((pipeline.generation(), context.stats().unwrap().needs_whole), (0, 2));
    put_whole(&made);
    let status = pipeline.wait(1, Duration::ZERO).unwrap();
    assert_eq!(status.phase, Phase::Done(PipelineRoute::Whole(Some(FullCompile::Specialization { id: 7 }))));
    assert_eq!(pipeline.generation(), 1);
}

#[test]
fn damage_is_a_miss_and_what_is_no_part_fails_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let made = cache::full(dir.path());
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    // An entry with a wrong last byte under the key of module 4, and a valid entry that is not an ELF under 5.
    let key = |n| keys::stage(&request(Stage::Vertex, module(n)), &cache::compiler()).unwrap();
    let mut bytes = entry::encode(&key(4), &link_support::vertex().build()).expect("memory");
    *bytes.last_mut().unwrap() ^= 1;
    StoreKind::Lmdb.open(dir.path()).unwrap().put(&key(4), &bytes).unwrap();
    made.put_bytes(&request(Stage::Vertex, module(5)), b"no ELF");
    assert_eq!(shader(&context, Stage::Vertex, 4).status().unwrap(), ShaderStatus::NotCached);
    assert_eq!(context.stats().unwrap().bad, 1);
    let broken = shader(&context, Stage::Vertex, 5);
    let ShaderStatus::Failed(why) = broken.wait(Duration::ZERO).unwrap() else { panic!("it was read") };
    assert!(why.to_string().contains("vertex shader: malformed"), "{why}");
    let fs = shader(&context, Stage::Fragment, 2);
    let pipeline = Pipeline::new(&context, &of(&[&broken, &fs], &layout, &state, NONE)).unwrap();
    assert!(matches!(pipeline.status().unwrap().phase, Phase::Failed(_)));
    // Other shaders are not affected.
    assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
}

#[test]
fn nothing_is_written_and_no_folder_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("not there");
    let without = context(Some(&folder));
    assert_eq!(shader(&without, Stage::Vertex, 1).status().unwrap(), ShaderStatus::NotCached);
    assert!(!folder.exists());
    let memory = context(None);
    assert_eq!(shader(&memory, Stage::Vertex, 1).wait(Duration::ZERO).unwrap(), ShaderStatus::NotCached);
    // A shader of one context cannot be used in another.
    let of_other = shader(&without, Stage::Vertex, 1);
    let layout = Layout::new(&Default::default()).unwrap();
    let refused = memory.link_into(&of(&[&of_other], &layout, &state(), NONE), &mut []).unwrap_err();
    assert!(refused.to_string().contains("another context"), "{refused}");
    assert!(Pipeline::new(&memory, &of(&[], &layout, &state(), NONE)).is_err());
}

#[test]
fn a_budget_keeps_what_shaders_hold() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(dir.path());
    (0..64).for_each(|n| made.put(&request(Stage::Vertex, module(n)), &link_support::vertex()));
    let none = ContextInfo { cache_dir: Some(dir.path()), exports: true, ..ContextInfo::new(Gpu::Gfx1030) };
    let context = Context::new(&none).unwrap();
    let held: Vec<Shader> = (0..32).map(|n| shader(&context, Stage::Vertex, n)).collect();
    let bytes = context.stats().unwrap().memory_bytes;
    (32..64).for_each(|n| drop(shader(&context, Stage::Vertex, n)));
    assert!(context.stats().unwrap().memory_bytes <= 2 * bytes);
    let before = context.stats().unwrap();
    (0..32).for_each(|n| assert_eq!(shader(&context, Stage::Vertex, n).status().unwrap(), ShaderStatus::Ready));
    let after = context.stats().unwrap();
    assert_eq!((after.memory_hits - before.memory_hits, after.disk_hits - before.disk_hits), (32, 0));
    drop(held);
}

#[test]
fn threads_make_and_link_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let (context, state) = (context(Some(dir.path())), state());
    let layout = Layout::new(&state.layout).unwrap();
    let expect = linked();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut out = vec![0; expect.len()];
                for _ in 0..20 {
                    let [vs, fs] = pair(&context);
                    let shaders = [&vs, &fs];
                    let info = of(&shaders, &layout, &state, NONE);
                    let pipeline = Pipeline::new(&context, &info).unwrap();
                    drop((vs, fs));
                    assert_eq!(pipeline.read(&mut out).unwrap(), Some((Size::Written(expect.len()), 1)));
                    assert!(out == expect);
                }
            });
        }
    });
    assert_eq!(context.stats().unwrap().links, 160);
    assert!(context.next_event().unwrap().is_none(), "nothing happened after a create");
}

#[test]
fn a_cache_that_is_written_meanwhile_is_read_right() {
    let dir = tempfile::tempdir().unwrap();
    drop(cache::full(dir.path()));
    let context = context(Some(dir.path()));
    let writer = Cache::open(dir.path(), StoreKind::Lmdb).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..40u32 {
                writer.put(&dovetail::cache::Key(*blake3::hash(&n.to_le_bytes()).as_bytes()), &[7; 3000]).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            // A new context each time, so that the disk is read.
            let fresh = Context::new(&ContextInfo {
                cache_dir: Some(dir.path()),
                exports: true,
                ..ContextInfo::new(Gpu::Gfx1030)
            });
            assert_eq!(shader(&fresh.unwrap(), Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
        }
    });
    assert_eq!(context.stats().unwrap().bad, 0);
}

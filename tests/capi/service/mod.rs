//! A context with a service: its requests, and its handling of the answers. The service is a double that compiles
//! nothing.

mod faults;
mod forks;
mod inline;
mod pipelines;
mod slow;
mod slow_disk;
mod threads;
mod variants;

use crate::cache::{self, Made, compiler, module, request, shader_info, state};
use crate::link_support;
use crate::service_double::{Double, Reply, welcome};
use dovetail::compile::request::{CompilerId, ModuleDigest, StageRequest};
use dovetail::error::{Error, ErrorKind, FullCompile};
use dovetail::frame::Bytes;
use dovetail::keys;
use dovetail::link::Placement;
use dovetail::runtime::{
    Answer, Context, ContextInfo, Event, EventKind, Layout, Optimization, Phase, Pipeline, PipelineFlags, PipelineInfo,
    PipelineRoute, PipelineStatus, Reach, Shader, ShaderInfo, ShaderStatus,
};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage};
use dovetail::wire::{Ask, Hello, PartAnswer, PipelineAsk, Priority, StageAsk, Tell, Verdict};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(20);

/// A folder with a cache that has only a manifest.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        drop(Made::new(&folder.cache()));
        folder
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("socket")
    }

    fn context(&self) -> Context {
        self.context_of(Some(&self.cache()))
    }

    fn context_of(&self, cache_dir: Option<&Path>) -> Context {
        let socket = self.socket();
        let target = Gpu::Gfx1030;
        let info = ContextInfo {
            cache_dir,
            max_memory: 1 << 20,
            socket: Some(&socket),
            app: "a test",
            ..ContextInfo::new(target)
        };
        Context::new(&info).unwrap()
    }

    /// Starts a service that replies with `answers`.
    fn serve(&self, answers: impl Fn(&Ask) -> Vec<Reply> + Send + Sync + 'static) -> Double {
        Double::start(&self.socket(), welcome(compiler()), answers)
    }
}

fn key(request: &StageRequest) -> dovetail::cache::Key {
    keys::stage(request, &compiler()).unwrap()
}

/// The part for a request without known state, with the ELF attached.
fn part_of(request: &StageRequest) -> PartAnswer {
    let elf = match request.stage {
        Stage::Vertex => link_support::vertex().build(),
        Stage::Fragment => link_support::fragment().build(),
        Stage::Compute => link_support::compute().build(),
    };
    PartAnswer { key: key(request), elf: Some(Bytes(elf)) }
}

/// Answers every stage request at once.
fn honest(ask: &Ask) -> Vec<Reply> {
    match ask {
        Ask::Stage(StageAsk { id, request, .. }) => {
            vec![Reply::Tell(Tell::Stage { id: *id, part: Some(part_of(request)) })]
        }
        Ask::Ping { token } => vec![Reply::Tell(Tell::Pong { token: *token })],
        _ => vec![],
    }
}

/// Answers only pings.
fn silent(ask: &Ask) -> Vec<Reply> {
    match ask {
        Ask::Ping { token } => vec![Reply::Tell(Tell::Pong { token: *token })],
        _ => vec![],
    }
}

fn shader_with(context: &Context, stage: Stage, number: u32, change: impl FnOnce(&mut ShaderInfo<'_>)) -> Shader {
    let module = module(number);
    let mut info = shader_info(stage, &module);
    change(&mut info);
    Shader::new(context, &info).expect("a shader")
}

fn shader(context: &Context, stage: Stage, number: u32) -> Shader {
    shader_with(context, stage, number, |_| {})
}

fn pipeline(context: &Context, shaders: &[&Shader], flags: PipelineFlags) -> Pipeline {
    pipeline_in(context, shaders, flags, &state())
}

fn pipeline_in(context: &Context, shaders: &[&Shader], flags: PipelineFlags, state: &PipelineState) -> Pipeline {
    let layout = Layout::new(&state.layout).unwrap();
    let placement = Placement::Adjacent;
    let info = PipelineInfo { shaders, layout: &layout, state, placement, flags, priority: 0, user: 9 };
    Pipeline::new(context, &info).unwrap()
}

fn bytes(pipeline: &Pipeline) -> Vec<u8> {
    let mut out = vec![0; pipeline.status().unwrap().bytes];
    pipeline.read(&mut out).unwrap().expect("an ELF");
    out
}

/// The events until `last` has come, within a generous timeout.
fn events_until(context: &Context, last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let until = Instant::now() + LONG;
    let mut seen = Vec::new();
    while !seen.last().is_some_and(&last) {
        assert!(Instant::now() < until, "it did not come; what has: {seen:?}");
        match context.next_event().unwrap() {
            Some(event) => seen.push(event),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    seen
}

/// Polls for a condition that no call waits for.
fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_stage(ask: &Ask) -> bool {
    matches!(ask, Ask::Stage(_))
}

fn is_pipeline(ask: &Ask) -> bool {
    matches!(ask, Ask::Pipeline(_))
}

#[test]
fn hits_ask_nobody() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::NO_OPTIMIZE);
    assert_eq!((made.generation(), context.reach().unwrap()), (1, Reach::Idle));
    assert_eq!((context.stats().unwrap().asked, service.heard().len()), (0, 0));
}

#[test]
fn a_miss_is_asked_for_linked_and_told_of() {
    let folder = Folder::new();
    let service = folder.serve(honest);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::NO_OPTIMIZE);
    // The call did not wait, whatever the service has done by now.
    assert!(matches!(vs.status().unwrap(), ShaderStatus::Pending | ShaderStatus::Ready));
    let status = made.wait(1, LONG).unwrap();
    assert_eq!((status.phase, status.generation), (Phase::Done(PipelineRoute::Linked), 1));
    let seen = events_until(&context, |event| event.kind == EventKind::Pipeline);
    let seen: Vec<_> = seen.iter().map(|e| (e.kind, e.user, e.generation, e.failure.is_none())).collect();
    let part = (EventKind::Shader, 5, 0, true);
    assert_eq!(seen, [(EventKind::Service, 0, 1, true), part, part, (EventKind::Pipeline, 9, 1, true)]);
    // It is counted when it is taken.
    until("both are answered", || context.stats().unwrap().answered == 2);
    let stats = context.stats().unwrap();
    assert_eq!((stats.asked, stats.failed), (2, 0));
    assert!(matches!(context.reach().unwrap(), Reach::Connected(Some(_))));
    let Ask::Hello(hello) = &*service.until(1, |ask| matches!(ask, Ask::Hello(_))) else { unreachable!() };
    assert_eq!((hello.app.as_str(), hello.cache.is_some()), ("a test", true));
    // The part is now in memory, so another shader of the same request sends no request.
    assert_eq!(shader(&context, Stage::Vertex, 1).status().unwrap(), ShaderStatus::Ready);
    assert_eq!(service.count(is_stage), 2);
    drop((vs, fs, made, context));
    service.until(1, |ask| matches!(ask, Ask::Bye));
}

#[test]
fn an_answer_in_the_cache_is_read_there_and_sent_where_it_is_not() {
    let folder = Folder::new();
    let made = Made::new(&folder.cache());
    let here = welcome(compiler());
    let here = dovetail::wire::Welcome { inline_because: None, ..here };
    let service = Double::start(&folder.socket(), here, move |ask| {
        let Ask::Stage(StageAsk { id, request, inline, .. }) = ask else { return vec![] };
        let mut part = part_of(request);
        if !inline {
            // The vertex part is stored in the cache; the fragment part is only claimed to be.
            let elf = part.elf.take().unwrap();
            if request.stage == Stage::Vertex {
                made.put_bytes(request, &elf);
            }
        }
        vec![Reply::Tell(Tell::Stage { id: *id, part: Some(part) })]
    });
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!(fs.wait(LONG).unwrap(), ShaderStatus::Ready);
    let inline = |ask: &Ask| matches!(ask, Ask::Stage(StageAsk { inline: true, .. }));
    assert_eq!((service.count(is_stage), service.count(inline)), (3, 1));
    assert_eq!(context.reach().unwrap(), Reach::Connected(None));
}

#[test]
fn failures_have_their_kind_and_are_final() {
    let folder = Folder::new();
    let _service = folder.serve(|ask| match ask {
        Ask::Stage(StageAsk { id, .. }) => {
            let error = Error::unsupported("OpFoo", "instruction 7");
            vec![Reply::Tell(Tell::Failed { id: *id, error })]
        }
        _ => vec![],
    });
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let ShaderStatus::Failed(why) = vs.wait(LONG).unwrap() else { panic!("it was made") };
    assert!(matches!(why.kind(), ErrorKind::Unsupported { .. }), "{why}");
    let Phase::Failed(why) = made.wait(1, LONG).unwrap().phase else { panic!("it was made") };
    assert!(why.to_string().contains("OpFoo"), "{why}");
    let seen = events_until(&context, |event| event.kind == EventKind::Pipeline);
    assert!(seen.last().unwrap().failure.is_some());
    until("both parts fail", || context.stats().unwrap().failed == 2);
}

#[test]
fn a_module_is_sent_when_it_is_asked_for() {
    let folder = Folder::new();
    let digest = request(Stage::Vertex, module(1)).module;
    let none = ModuleDigest([9; 32]);
    let service = folder.serve(move |ask| match ask {
        Ask::Stage(_) => [digest, none].map(|digest| Reply::Tell(Tell::NeedModule { digest })).into(),
        _ => vec![],
    });
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    let sent = service.until(1, |ask| matches!(ask, Ask::Module { .. }));
    assert!(matches!(&*sent, Ask::Module { module: sent } if sent.0 == module(1)));
    service.until(1, |ask| matches!(ask, Ask::NoModule { digest } if *digest == none));
    drop(vs);
}

#[test]
fn a_busy_service_is_asked_later() {
    let folder = Folder::new();
    let tries = std::sync::atomic::AtomicU32::new(0);
    let service = folder.serve(move |ask| match ask {
        Ask::Stage(StageAsk { id, .. }) if tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 => {
            vec![Reply::Tell(Tell::Busy { id: *id, retry_ms: 50, limit: "requests".into() })]
        }
        ask => honest(ask),
    });
    let context = folder.context();
    let start = Instant::now();
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!(service.count(is_stage), 3);
}

#[test]
fn waiting_and_priorities_make_it_urgent_and_dropping_cancels() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    let Ask::Stage(StageAsk { id, class: Priority::Soon, .. }) = *service.until(1, is_stage) else { panic!() };
    let start = Instant::now();
    assert_eq!(vs.wait(Duration::from_millis(50)).unwrap(), ShaderStatus::Pending, "it is late");
    assert!(start.elapsed() >= Duration::from_millis(50));
    let class =
        |of: Priority| move |ask: &Ask| matches!(ask, Ask::Class { id: given, class } if (*given, *class) == (id, of));
    service.until(1, class(Priority::Waits));
    service.until(1, class(Priority::Soon));
    vs.set_priority(3);
    service.until(2, class(Priority::Waits));
    // A pipeline that waits for the part keeps the request alive.
    let fs = shader(&context, Stage::Fragment, 2);
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    drop((vs, fs));
    service.until(2, is_stage);
    made.set_priority(1);
    service.until(1, |ask| matches!(ask, Ask::Class { id: other, class: Priority::Waits } if *other != id));
    assert_eq!(made.wait(1, Duration::from_millis(20)).unwrap().phase, Phase::Pending(Stage::Vertex));
    assert_eq!(service.count(|ask| matches!(ask, Ask::Cancel { .. })), 0);
    drop(made);
    service.until(2, |ask| matches!(ask, Ask::Cancel { .. }));
    // A shader that is urgent from the start.
    let urgent = shader_with(&context, Stage::Vertex, 4, |info| info.priority = 1);
    service.until(1, |ask| matches!(ask, Ask::Stage(StageAsk { class: Priority::Waits, .. })));
    drop(urgent);
}

#[test]
fn nothing_is_asked_that_must_not_be_compiled() {
    let folder = Folder::new();
    let service = folder.serve(honest);
    let context = folder.context();
    let vs = shader_with(&context, Stage::Vertex, 1, |info| info.fail_on_compile = true);
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    assert_eq!((context.reach().unwrap(), service.heard().len()), (Reach::Idle, 0));
    // Another client's request compiles a part, but starts neither a whole-pipeline compile nor an optimization.
    let fs = shader(&context, Stage::Fragment, 2);
    let wanted = shader(&context, Stage::Vertex, 3);
    let made = pipeline(&context, &[&wanted, &fs], PipelineFlags::FAIL_ON_COMPILE);
    assert_eq!(made.wait(1, LONG).unwrap().optimization, Optimization::None);
    assert_eq!((made.generation(), service.count(is_pipeline)), (1, 0));
    let held = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    assert_eq!(held.wait(1, LONG).unwrap().phase, Phase::NotCached(Stage::Vertex));
}

#[test]
fn without_the_disk_the_thread_looks_there() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let cold = |stage, number| shader_with(&context, stage, number, |info| info.no_disk = true);
    let [vs, fs] = [cold(Stage::Vertex, 1), cold(Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::NO_DISK | PipelineFlags::NO_OPTIMIZE);
    assert_eq!(made.wait(1, LONG).unwrap().phase, Phase::Done(PipelineRoute::Linked));
    assert_eq!((service.count(is_stage), context.stats().unwrap().disk_hits), (0, 2));
}

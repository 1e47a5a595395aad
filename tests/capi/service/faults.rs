//! Services that die, hang, send wrong data, or do not match the cache.

use super::*;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

#[test]
fn without_a_service_that_answers_it_is_not_cached() {
    let folder = Folder::new();
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    let start = Instant::now();
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    assert!(start.elapsed() < LONG / 2, "nobody waits for a service that is not there");
    let Reach::Away(why) = context.reach().unwrap() else { panic!("it is there") };
    assert!(why.to_string().contains("socket"), "{why}");
    let fs = shader(&context, Stage::Fragment, 2);
    assert_eq!(fs.status().unwrap(), ShaderStatus::NotCached, "known at once");
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    assert_eq!(made.status().unwrap().phase, Phase::NotCached(Stage::Vertex));
    // The service starts: pending requests are sent, and the pipeline is linked.
    let _service = folder.serve(honest);
    until("the pipeline is linked", || made.generation() == 1);
}

#[test]
fn a_service_that_dies_is_asked_again_when_it_is_back() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    service.until(2, is_stage);
    drop(service);
    until("it is away", || matches!(context.reach().unwrap(), Reach::Away(_)));
    let service = folder.serve(honest);
    until("the pipeline is linked", || made.generation() == 1);
    assert_eq!(service.count(is_stage), 2);
    let kinds: Vec<_> = events_until(&context, |event| event.kind == EventKind::Pipeline)
        .iter()
        .filter(|event| event.kind == EventKind::Service)
        .map(|event| event.generation)
        .collect();
    assert_eq!(kinds, [1, 0, 1], "reached, gone, reached");
}

#[test]
fn what_is_imported_waits_for_the_service_to_say_whose_code_is_meant() {
    let other = CompilerId { sources: "others".into(), backend: "by foot".into() };
    for (of, asked) in [(compiler(), 0), (other, 2)] {
        let (folder, elsewhere) = (Folder::new(), tempfile::tempdir().unwrap());
        let bytes = crate::export::full(elsewhere.path());
        let service = Double::start(&folder.socket(), welcome(of.clone()), {
            let of = of.clone();
            move |ask| match ask {
                Ask::Stage(StageAsk { id, request, .. }) => {
                    let part = PartAnswer { key: keys::stage(request, &of).unwrap(), ..part_of(request) };
                    vec![Reply::Tell(Tell::Stage { id: *id, part: Some(part) })]
                }
                _ => vec![],
            }
        });
        let context = folder.context_of(None);
        let none = context.key().unwrap();
        assert_eq!(context.import(&bytes).unwrap().parts, 3);
        assert_eq!(context.key().unwrap(), none, "the service decides");
        for (stage, number) in [(Stage::Vertex, 1), (Stage::Fragment, 2)] {
            assert_eq!(shader(&context, stage, number).wait(LONG).unwrap(), ShaderStatus::Ready);
        }
        // Once the compiler is known, its parts are found, and another compiler's are not.
        assert_eq!(service.count(is_stage), asked, "{of:?}");
        assert_eq!(context.import(&bytes).is_ok(), asked == 0);
    }
}

/// A context that is given an existing connection.
fn connected(folder: &Folder, stream: &UnixStream, socket: Option<&Path>) -> Context {
    let (cache, target) = (folder.cache(), Gpu::Gfx1030);
    let connection = Some(stream.as_fd());
    let info = ContextInfo {
        cache_dir: Some(&cache),
        max_memory: 1 << 20,
        socket,
        connection,
        app: "inside",
        ..ContextInfo::new(target)
    };
    Context::new(&info).unwrap()
}

#[test]
fn a_connection_that_was_given_is_used_until_it_breaks() {
    let folder = Folder::new();
    let service = folder.serve(honest);
    let stream = UnixStream::connect(folder.socket()).unwrap();
    stream.set_nonblocking(true).unwrap();
    let context = connected(&folder, &stream, None);
    // The context has duplicated it.
    drop(stream);
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    drop(service);
    let fs = shader(&context, Stage::Fragment, 2);
    until("it is away", || matches!(context.reach().unwrap(), Reach::Away(_)));
    assert_eq!(fs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    // Without a socket path there is no other service to connect to.
    let service = folder.serve(honest);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((service.count(|_| true), fs.status().unwrap()), (0, ShaderStatus::NotCached));
}

#[test]
fn after_a_connection_that_was_given_the_socket_is_tried() {
    let folder = Folder::new();
    let elsewhere = folder.0.path().join("elsewhere");
    let outside = Double::start(&elsewhere, welcome(compiler()), honest);
    let stream = UnixStream::connect(&elsewhere).unwrap();
    let context = connected(&folder, &stream, Some(&folder.socket()));
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!(outside.count(is_stage), 1);
    drop(outside);
    let service = folder.serve(honest);
    let fs = shader(&context, Stage::Fragment, 2);
    until("the part is there", || fs.status().unwrap() == ShaderStatus::Ready);
    assert_eq!(service.count(is_stage), 1);
}

#[test]
fn what_was_given_and_is_no_connection_is_a_service_that_is_away() {
    let folder = Folder::new();
    let file = std::fs::File::open(folder.0.path()).unwrap();
    let [closed, _] = <[UnixStream; 2]>::from(UnixStream::pair().unwrap());
    for stream in [UnixStream::from(std::os::fd::OwnedFd::from(file)), closed] {
        let context = connected(&folder, &stream, None);
        assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::NotCached);
        let Reach::Away(why) = context.reach().unwrap() else { panic!("it is used") };
        assert!(why.to_string().contains("given"), "{why}");
    }
}

#[test]
fn a_service_that_hangs_is_taken_for_dead() {
    let folder = Folder::new();
    let service = folder.serve(|_| vec![]);
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    let start = Instant::now();
    // It is reported after 5 seconds without an answer to a ping.
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    assert!((Duration::from_secs(5)..LONG).contains(&start.elapsed()));
    assert_eq!(service.count(|ask| matches!(ask, Ask::Ping { .. })), 1);
    let Reach::Away(why) = context.reach().unwrap() else { panic!("it is there") };
    assert!(why.to_string().contains("said nothing"), "{why}");
}

#[test]
fn a_service_that_accepts_nobody_holds_nobody() {
    let folder = Folder::new();
    // A listener that never accepts, with a full queue.
    let listener = std::os::unix::net::UnixListener::bind(folder.socket()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let queued = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    let Reach::Away(why) = context.reach().unwrap() else { panic!("it is there") };
    assert!(why.to_string().contains("accepts no connection"), "{why}");
    let start = Instant::now();
    drop((vs, context));
    assert!(start.elapsed() < Duration::from_secs(5), "the context is closed");
    drop((queued, listener));
}

#[test]
fn a_service_that_refuses_is_away_for_its_reason() {
    let (unsupported, like_a_lost_connection) =
        (Error::unsupported("it", "no reason"), Error::environment("no reason"));
    // The refusal comes after the only request, or while the client sends another one.
    let stages = [&[Stage::Vertex][..], &[Stage::Vertex, Stage::Fragment]];
    for (refusal, stages) in [&unsupported, &like_a_lost_connection].iter().flat_map(|why| stages.map(|of| (*why, of)))
    {
        let (folder, refusal) = (Folder::new(), refusal.clone());
        let service = folder.serve(move |ask| match ask {
            Ask::Stage(_) => vec![Reply::Tell(Tell::Refused(refusal.clone())), Reply::Close],
            _ => vec![],
        });
        let context = folder.context();
        let shaders: Vec<Shader> = (1..).zip(stages).map(|(n, stage)| shader(&context, *stage, n)).collect();
        for shader in &shaders {
            assert_eq!(shader.wait(LONG).unwrap(), ShaderStatus::NotCached);
        }
        let Reach::Away(why) = context.reach().unwrap() else { panic!("it is there") };
        assert!(why.to_string().contains("no reason"), "{why}");
        // It is asked again.
        service.until(1 + 2 * stages.len(), is_stage);
    }
}

/// An answer that a service of another version may send.
#[derive(serde::Serialize)]
enum Newer {
    Failed { id: u64, error: &'static str },
}

#[test]
fn an_answer_of_another_version_is_the_failure_of_its_request() {
    let folder = Folder::new();
    let mut theirs = welcome(compiler());
    theirs.schema = "of another version".into();
    let service = Double::start(&folder.socket(), theirs, |ask| match ask {
        Ask::Stage(StageAsk { id, request, .. }) if request.stage == Stage::Vertex => {
            let newer = Newer::Failed { id: *id, error: "of a kind that does not exist yet" };
            vec![Reply::Raw(dovetail::frame::frame(&newer, 1 << 20).unwrap())]
        }
        ask => honest(ask),
    });
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let ShaderStatus::Failed(why) = vs.wait(LONG).unwrap() else { panic!("it was understood") };
    assert!(matches!(why.kind(), ErrorKind::Unsupported { .. }), "{why}");
    assert!(why.to_string().contains("client and service differ"), "{why}");
    assert_eq!(fs.wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!(service.count(|ask| matches!(ask, Ask::Hello(_))), 1, "over one connection");
}

#[test]
fn nonsense_ends_the_connection_and_is_no_code() {
    type Lie = fn(&StageAsk) -> Reply;
    let lies: [(&str, Lie); 5] = [
        ("at most", |_| Reply::Raw(vec![0xff; 64])),
        ("message", |_| Reply::Raw(vec![3, 0, 0, 0, 1, 2, 3])),
        ("the part of another request", |ask| {
            let other = request(Stage::Vertex, module(77));
            Reply::Tell(Tell::Stage {
                id: ask.id,
                part: Some(PartAnswer { key: key(&other), ..part_of(&ask.request) }),
            })
        }),
        ("a pipeline in place of a part", |ask| {
            Reply::Tell(Tell::Pipeline { id: ask.id, verdict: Verdict::Take(String::new()), parts: vec![] })
        }),
        ("no part", |ask| Reply::Tell(Tell::Stage { id: ask.id, part: None })),
    ];
    for (says, lie) in lies {
        let folder = Folder::new();
        let service = folder.serve(move |ask| match ask {
            Ask::Stage(ask) => vec![lie(ask)],
            _ => vec![],
        });
        let context = folder.context();
        let vs = shader(&context, Stage::Vertex, 1);
        service.until(1, is_stage);
        // Nobody waits for such a service, and the reason is named; the client retries.
        assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached, "{says}");
        let why = format!("{:?}", context.reach().unwrap());
        assert!(why.contains(says), "{says}: {why}");
        service.until(3, is_stage);
        assert_eq!(context.stats().unwrap().answered, 0);
        drop(service);
    }
}

#[test]
fn what_is_no_part_fails_and_other_ids_are_nobodys() {
    let folder = Folder::new();
    let _service = folder.serve(|ask| match ask {
        Ask::Stage(StageAsk { id, request, .. }) => {
            let mut part = part_of(request);
            if request.stage == Stage::Fragment {
                part.elf = Some(Bytes(b"no ELF".to_vec()));
            }
            let other = |id| Reply::Tell(Tell::Stage { id, part: Some(part_of(request)) });
            let failed = Tell::Failed { id: id + 1000, error: Error::bug("of nobody") };
            let wrong =
                if request.stage == Stage::Compute { Some(Bytes(link_support::vertex().build())) } else { None };
            part.elf = wrong.or(part.elf);
            let right = Reply::Tell(Tell::Stage { id: *id, part: Some(part) });
            vec![other(0), other(u64::MAX), Reply::Tell(failed), right, other(*id)]
        }
        _ => vec![],
    });
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::Ready);
    let ShaderStatus::Failed(why) = fs.wait(LONG).unwrap() else { panic!("it was taken") };
    assert!(matches!(why.kind(), ErrorKind::Malformed(_)), "{why}");
    let ShaderStatus::Failed(why) = shader(&context, Stage::Compute, 3).wait(LONG).unwrap() else { panic!("taken") };
    assert!(why.to_string().contains("a vertex shader's"), "{why}");
    assert!(matches!(context.reach().unwrap(), Reach::Connected(_)));
}

#[test]
fn another_compiler_is_not_used() {
    let folder = Folder::new();
    let other = CompilerId { sources: "others".into(), backend: "by foot".into() };
    let service = Double::start(&folder.socket(), welcome(other.clone()), honest);
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    assert_eq!(vs.wait(LONG).unwrap(), ShaderStatus::NotCached);
    let Reach::Away(why) = context.reach().unwrap() else { panic!("it is used") };
    assert!(why.to_string().contains("by foot") && why.to_string().contains("by hand"), "{why}");
    assert_eq!(service.count(is_stage), 0);
    // A context without a known compiler adopts this one.
    let context = folder.context_of(None);
    let none = context.key().unwrap();
    let vs = shader(&context, Stage::Vertex, 1);
    until("an ask", || service.count(is_stage) == 1);
    assert_ne!(context.key().unwrap(), none);
    drop(vs);
}

#[test]
fn another_schema_is_sent_everything_and_reads_nothing() {
    let folder = Folder::new();
    let mut theirs = welcome(compiler());
    theirs.schema = "of another version".into();
    // A service with another compiler's name.
    let service = Double::start(&folder.socket(), theirs, |ask| match ask {
        Ask::Stage(StageAsk { id, request, inline, .. }) => {
            assert!(inline);
            let key = dovetail::cache::Key([request.stage as u8; 32]);
            vec![Reply::Tell(Tell::Stage { id: *id, part: Some(PartAnswer { key, ..part_of(request) }) })]
        }
        _ => vec![],
    });
    let context = folder.context();
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    // A lookup would now find what is in the cache.
    drop(cache::full(&folder.cache()));
    let fs = shader(&context, Stage::Fragment, 2);
    assert_eq!(fs.wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!((service.count(is_stage), context.stats().unwrap().disk_hits), (2, 0));
}

#[test]
fn the_own_cache_is_read_again_after_a_connection_that_did_not_share_it() {
    let folder = Folder::new();
    let service = folder.serve(honest);
    let context = folder.context();
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    drop(cache::full(&folder.cache()));
    drop(service);
    until("it is away", || {
        // Whatever is missing makes the context reconnect.
        drop(shader(&context, Stage::Vertex, 9));
        matches!(context.reach().unwrap(), Reach::Away(_))
    });
    assert_eq!(shader(&context, Stage::Fragment, 2).status().unwrap(), ShaderStatus::Ready);
    assert_eq!(context.stats().unwrap().disk_hits, 1);
}

#[test]
fn a_cache_that_the_service_makes_when_it_is_started_is_read() {
    let folder = Folder::new();
    let dir = folder.0.path().join("made later");
    // The service of a socket activation makes its cache before it answers the first hello.
    let answers = |dir: PathBuf| {
        move |hello: &Hello| {
            std::fs::create_dir_all(&dir).unwrap();
            let why = hello.cache.is_none().then(|| "the client reads no cache".to_owned());
            dovetail::wire::Welcome { inline_because: why, ..welcome(compiler()) }
        }
    };
    let _service = Double::greeting(&folder.socket(), answers(dir.clone()), honest);
    let context = folder.context_of(Some(&dir));
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::Ready);
    assert_eq!(context.reach().unwrap(), Reach::Connected(None));
}

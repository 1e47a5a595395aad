//! Answers of the service: their source, and the number of compiles.

use crate::harness::{PATIENCE, Service, key, request};
use crate::smallest::shader;
use dovetail::cache::Key;
use dovetail::link::Object;
use dovetail::wire::{Ask, Priority, StageAsk, Tell};
use std::time::{Duration, Instant};

#[test]
fn one_shader_for_64_clients_is_compiled_once() {
    let service = Service::start(&["--workers=2"]);
    service.client();
    let barrier = std::sync::Barrier::new(64);
    let elfs: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let ask = || {
            let mut client = service.distant_client();
            barrier.wait();
            let (found, elf) = client.compile("main", Priority::Waits).expect("a part");
            assert_eq!(found, key("main"));
            elf.expect("one who reads no cache is sent the part")
        };
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client")).collect()
    });
    assert!(elfs.windows(2).all(|pair| pair[0] == pair[1]));
    Object::parse(&elfs[0]).expect("a part");
    let status = service.status();
    assert_eq!((status.compiled, status.requests, status.failed), (1, 64, 0), "{status:?}");
    assert_eq!(status.hits + status.coalesced, 63, "{status:?}");
}

#[test]
fn what_is_in_the_cache_is_named_and_sent_only_to_those_who_cannot_read_it() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    assert_eq!(client.welcome.inline_because, None);
    // A result that was just compiled is not in the cache yet, so it is sent.
    let (found, elf) = client.compile("main", Priority::Soon).expect("a part");
    let elf = elf.expect("a part that was just made");
    let cache = service.cache();
    while cache.get(&found).is_none() {
        std::thread::yield_now();
    }
    assert_eq!(cache.get(&found), Some(elf.clone()));
    client.until("kept", |_| true);
    let again = (0..).find_map(|_| match client.compile("main", Priority::Soon).expect("a part") {
        (key, None) => Some(key),
        // Its put has not been reported yet.
        (_, Some(_)) => None,
    });
    assert_eq!(again, Some(found));
    let mut distant = service.distant_client();
    assert!(distant.welcome.inline_because.as_ref().is_some_and(|why| why.contains("no cache")));
    assert_eq!(distant.compile("main", Priority::Soon), Ok((found, Some(elf))));
    assert_eq!(service.status().compiled, 1);
}

#[test]
fn one_who_only_looks_has_nothing_compiled() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let look = |id| {
        let (inline, cached_only) = (false, true);
        Ask::Stage(StageAsk { id, request: request("main"), class: Priority::Waits, inline, cached_only })
    };
    client.send(&look(1));
    assert!(matches!(client.next(), Tell::Stage { id: 1, part: None }));
    client.next_id();
    client.compile("main", Priority::Soon).expect("a part");
    client.send(&look(3));
    assert!(matches!(client.next(), Tell::Stage { id: 3, part: Some(_) }));
    assert_eq!(service.status().compiled, 1);
}

#[test]
fn modules_are_asked_for_once_and_of_those_who_have_them() {
    let mut service = Service::start(&["--workers=1"]);
    let (mut first, mut second) = (service.client(), service.client());
    // The first client is asked and no longer has the module; then the second is asked.
    first.sends_modules = false;
    first.ask("main", Priority::Soon);
    let Tell::NeedModule { digest } = first.next() else { panic!("no module was asked for") };
    assert_eq!(digest, request("main").module);
    second.ask("main", Priority::Soon);
    second.until("both wait", |status| status.coalesced == 1);
    first.send(&Ask::NoModule { digest });
    let refused = first.stage().expect_err("there is no module");
    assert!(refused.to_string().contains("no longer has the module"), "{refused}");
    second.stage().expect("a part");
    // A client that requests the same module with other options is not asked for it, even by another service.
    for again in [false, true] {
        if again {
            let stored = service.cache_dir().join("service/modules").join(Key(digest.0).to_string());
            let begun = Instant::now();
            while !stored.exists() {
                assert!(begun.elapsed() < PATIENCE, "the module is not stored");
                std::thread::sleep(Duration::from_millis(5));
            }
            service.kill();
            service.start_again();
        }
        let mut third = service.client();
        third.sends_modules = false;
        let other = dovetail::compile::request::StageRequest {
            options: dovetail::compile::request::TuningOptions { unroll: again, licm: false, ..Default::default() },
            ..request("main")
        };
        third.ask_for(shader("main"), other, Priority::Soon).expect("a service");
        third.stage().expect("a part");
    }
}

#[test]
fn a_client_that_does_not_send_a_module_holds_up_nobody_else() {
    let service = Service::start(&["--workers=1"]);
    let (mut silent, mut other) = (service.client(), service.client());
    silent.sends_modules = false;
    silent.ask("main", Priority::Soon);
    assert!(matches!(silent.next(), Tell::NeedModule { .. }));
    other.compile("main", Priority::Soon).expect("a part");
    silent.stage().expect("a part that another one's module gave");
}

#[test]
fn a_shader_that_cannot_be_compiled_fails_alone_and_with_its_reason() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let missing = dovetail::compile::request::StageRequest { entry_point: "other".into(), ..request("main") };
    client.ask_for(shader("main"), missing, Priority::Soon).expect("a service");
    let why = client.stage().expect_err("no such entry point");
    assert_eq!(why.exit_code(), 2, "{why}");
    client.compile("main", Priority::Soon).expect("a part");
}

#[test]
fn populate_can_have_a_service_compile() {
    let service = Service::start(&["--workers=2", "--fault=abort:bad"]);
    service.client();
    let shaders = service.dir.path().join("shaders");
    std::fs::create_dir(&shaders).expect("a folder");
    for entry in ["bad", "good1", "good2", "good3"] {
        std::fs::write(shaders.join(format!("{entry}.spv")), shader(entry)).expect("a file");
    }
    let populate = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let socket = format!("--service={}", service.socket().display());
        let out = command.args(["populate", "--json", &socket]).arg(&shaders).output().expect("the program");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {out:?}"));
        (out.status.code(), json["counts"].clone())
    };
    assert_eq!(populate(), (Some(1), serde_json::json!({ "compiled": 3, "failed": 1 })));
    assert_eq!(populate(), (Some(1), serde_json::json!({ "already cached": 3, "failed": 1 })));
    let status = service.status();
    assert_eq!((status.compiled, status.worker_deaths), (3, 2), "{status:?}");
    let cache = service.cache();
    while ["good1", "good2", "good3"].iter().any(|entry| cache.get(&key(entry)).is_none()) {
        // Its put completes shortly after its answer.
        std::thread::yield_now();
    }
    let nobody = std::process::Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(["populate", "--service=/nowhere"])
        .arg(&shaders)
        .output()
        .expect("the program");
    assert_eq!(nobody.status.code(), Some(5));
}

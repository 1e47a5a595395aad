//! Starting and stopping: two services, kills at any moment, clean shutdown, sockets from systemd.

use crate::harness::{Client, PATIENCE, Service, cached, command, key};
use crate::support;
use dovetail::link::Object;
use dovetail::wire::{Priority, Tell};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn one_socket_has_one_service_and_a_socket_that_was_left_is_replaced() {
    let mut service = Service::start(&["--workers=1"]);
    service.client();
    let mut second = command(service.dir.path(), &[]).spawn().expect("the program");
    let begun = Instant::now();
    while second.try_wait().expect("a process").is_none() {
        if begun.elapsed() > PATIENCE {
            second.kill().expect("a process");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(second.wait().expect("a process").code(), Some(5));
    assert!(service.log().contains("another service listens there"), "{}", service.log());
    service.client();
    // kill -9 leaves the socket behind.
    service.kill();
    assert!(service.socket().exists());
    service.start_again();
    service.client().compile("main", Priority::Soon).expect("a part");
}

#[test]
fn the_socket_is_for_this_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("made");
    let mut process = command(dir.path(), &[]).arg("--workers=1").env("XDG_RUNTIME_DIR", &folder).spawn().expect("it");
    let client = Client::connect(&dir.path().join("socket"), None);
    let mode = |path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let socket = mode(dir.path().join("socket"));
    drop(client);
    process.kill().and_then(|()| process.wait()).expect("a process");
    assert_eq!(socket, 0o600);
}

#[test]
fn an_orderly_end_finishes_what_runs_and_tells_everybody() {
    let mut service = Service::start(&["--workers=2"]);
    let mut client = service.client();
    let count = 400;
    (0..count).for_each(|n| _ = client.ask(&format!("main{n}"), Priority::Soon));
    client.stage().expect("a part");
    service.terminate();
    let (mut draining, mut answered) = (false, 1);
    while let Some(tell) = client.try_next() {
        match tell {
            Tell::Draining => draining = true,
            Tell::Stage { .. } => answered += 1,
            // A request that the service had not read when it was told to stop.
            Tell::Refused(e) if e.to_string().contains("the service ends") => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(service.wait().code(), Some(0));
    assert!(draining && answered < count, "{answered} were answered");
    assert!(!service.socket().exists(), "it leaves no socket");
    // Answered requests are stored, and the others are repeated.
    service.start_again();
    let mut client = service.client();
    (0..count).for_each(|n| _ = client.ask(&format!("main{n}"), Priority::Soon));
    (0..count).for_each(|_| _ = client.stage().expect("a part"));
    let status = client.status();
    assert!(status.hits >= answered as u64, "{answered} were answered: {status:?}");
}

#[test]
fn it_ends_when_nobody_has_needed_it_for_a_while() {
    let mut service = Service::start(&["--workers=1", "--idle-exit=1"]);
    let mut client = service.client();
    client.compile("main", Priority::Soon).expect("a part");
    std::thread::sleep(Duration::from_millis(1500));
    client.compile("other", Priority::Soon).expect("it does not end while there is a client");
    drop(client);
    assert_eq!(service.wait().code(), Some(0));
}

#[test]
fn metrics_are_in_their_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("metrics.prom");
    let mut service = Service::start(&["--workers=1", "--metrics-file", file.to_str().expect("a path")]);
    let mut client = service.client();
    // First by a compile, then from the cache.
    let since = Instant::now();
    let (key, _) = client.compile("main", Priority::Soon).expect("a part");
    while service.cache().get(&key).is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    client.compile("main", Priority::Waits).expect("a part");
    let took = since.elapsed().as_micros() as u64;
    let say = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.args(["service", "status", "--socket"]).arg(service.socket()).args(arguments);
        String::from_utf8(command.output().expect("the program").stdout).expect("text")
    };
    let status: serde_json::Value = serde_json::from_str(&say(&["--json"])).expect("JSON");
    let [waits, soon] = [0, 1].map(|class| &status["classes"][class]);
    assert_eq!((&waits["answer"]["count"], &waits["queue"]["count"]), (&1.into(), &0.into()), "{status}");
    assert_eq!((&soon["answer"]["count"], &soon["queue"]["count"]), (&1.into(), &1.into()), "{status}");
    // A result that is being stored is answered at once, in no time of the service's clock.
    for (least, times) in [(0, &waits["answer"]), (1, &soon["answer"]), (1, &status["compile"])] {
        let [p50, p95, p99] = ["p50_us", "p95_us", "p99_us"].map(|name| times[name].as_u64().expect("a number"));
        assert!(least <= p50 && p50 <= p95 && p95 <= p99 && p99 <= took, "{times}");
    }
    let said = say(&[]);
    assert!(
        said.contains("p95") && said.lines().any(|line| line.starts_with("soon") && line.contains(" 1 ")),
        "{said}"
    );
    service.terminate();
    service.wait();
    let text = std::fs::read_to_string(file).expect("metrics");
    for line in [
        "dovetail_compiled_total 1",
        "dovetail_request_seconds_count{class=\"waits\"} 1",
        "dovetail_queue_seconds_bucket{class=\"soon\",le=\"+Inf\"} 1",
        "dovetail_compile_cpu_seconds_count 1",
    ] {
        assert!(text.lines().any(|has| has == line), "{line}: {text}");
    }
}

#[test]
fn killed_at_any_moment_it_loses_nothing_that_was_committed() {
    killed(4, 60, 12);
}

/// Takes four minutes: `./dev test --full`.
#[test]
#[ignore = "takes minutes"]
fn killed_two_hundred_times_it_loses_nothing_that_was_committed() {
    killed(8, 1500, 200);
}

/// Clients request `each` shaders, pairs of them the same; every other client disconnects now and then, while the
/// service is killed again and again.
fn killed(clients: usize, each: usize, kills: usize) {
    let service = Service::start(&["--workers=2"]);
    let (socket, cache_dir) = (service.socket(), service.cache_dir());
    let finished = std::sync::atomic::AtomicUsize::new(0);
    let service = std::sync::Mutex::new(service);
    let mut committed: BTreeSet<String> = BTreeSet::new();
    std::thread::scope(|scope| {
        for number in 0..clients {
            let (socket, cache_dir, finished) = (&socket, &cache_dir, &finished);
            scope.spawn(move || {
                // Two clients request the same.
                let names = (0..each).map(|n| format!("main{}_{n}", number / 2));
                let mut open: BTreeSet<String> = names.collect();
                let begun = Instant::now();
                while !open.is_empty() {
                    assert!(begun.elapsed() < 10 * PATIENCE, "{} are never answered", open.len());
                    let Some(mut client) = Client::try_connect(socket, cached(cache_dir)) else {
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    // Repeat all unanswered requests.
                    let mut asked = std::collections::BTreeMap::new();
                    for name in &open {
                        let Ok(id) = client.try_ask(name, Priority::Soon) else { break };
                        asked.insert(id, name.clone());
                    }
                    let mut answers = 0;
                    while !asked.is_empty() {
                        answers += 1;
                        if number % 2 == 1 && answers % 40 == 0 {
                            // Disconnects with unanswered requests.
                            break;
                        }
                        let Some(tell) = client.try_next() else { break };
                        let Tell::Stage { id, part: Some(part) } = tell else { panic!("{tell:?}") };
                        let name = asked.remove(&id).expect("an id that was asked for");
                        assert_eq!(part.key, key(&name));
                        if let Some(elf) = part.elf {
                            Object::parse(&elf.0).expect("a part");
                        }
                        open.remove(&name);
                    }
                }
                finished.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
        // Kill at moments that differ between runs.
        let mut random = std::process::id();
        for _ in 0..kills {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            std::thread::sleep(Duration::from_millis(100 + u64::from(random >> 16) % 250));
            let mut service = service.lock().expect("the service");
            service.kill();
            let cache = service.cache();
            let there = |name: &String| cache.get(&key(name)).is_some();
            let lost: Vec<_> = committed.iter().filter(|name| !there(name)).collect();
            assert!(lost.is_empty(), "lost: {lost:?}");
            let names = (0..clients / 2).flat_map(|number| (0..each).map(move |n| format!("main{number}_{n}")));
            committed = names.filter(there).collect();
            assert_eq!(cache.stats().bad, 0);
            service.start_again();
        }
    });
    assert_eq!(finished.into_inner(), clients);
}

#[test]
fn a_lock_that_a_killed_service_has_left_behind_is_waited_for() {
    use rustix::fs::{FlockOperation, flock};
    let dir = tempfile::tempdir().expect("a folder");
    let lock = std::fs::File::create(dir.path().join("socket.lock")).expect("a file");
    flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("the lock");
    let start = || command(dir.path(), &["--workers=1".to_owned()]).spawn().expect("the program");
    let mut service = start();
    std::thread::sleep(Duration::from_millis(300));
    drop(lock);
    let mut client = Client::connect(&dir.path().join("socket"), None);
    client.compile("main", Priority::Soon).expect("a part");
    // The running service keeps the socket.
    assert_eq!(start().wait().expect("a process").code(), Some(5));
    client.compile("other", Priority::Soon).expect("a part");
    service.kill().and_then(|()| service.wait()).expect("a process");
}

/// The parent need not be systemd or know the process: a launcher creates the socket before anybody can connect.
#[test]
fn anybody_may_pass_the_socket() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let dir = tempfile::tempdir().expect("a folder");
    let with = |socket: std::os::fd::OwnedFd| {
        let mut service = command(dir.path(), &["--workers=1".to_owned(), "--idle-exit=1".to_owned()]);
        service.env_remove("LISTEN_PID").env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0").stdin(socket);
        service.spawn().expect("the program")
    };
    let path = dir.path().join("passed");
    let mut service = with(UnixListener::bind(&path).expect("a socket").into());
    let mut client = Client::connect(&path, None);
    client.compile("main", Priority::Soon).expect("a part");
    drop(client);
    assert!(service.wait().expect("a process").success());
    assert!(path.exists() && !dir.path().join("socket").exists(), "it is not the service's, and it has made no other");
    // One end of a connected pair cannot listen.
    let (end, _other) = UnixStream::pair().expect("sockets");
    assert_eq!(with(end.into()).wait().expect("a process").code(), Some(5));
    let log = std::fs::read_to_string(dir.path().join("log")).expect("its log");
    assert!(log.contains("it does not listen"), "{log}");
}

#[test]
fn systemd_may_pass_the_socket() {
    let test = "life::systemd_may_pass_the_socket";
    if support::tool(test, "systemd-socket-activate").is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let socket = dir.path().join("activated");
    let mut activator = Command::new("systemd-socket-activate")
        .arg("-l")
        .arg(&socket)
        .arg(env!("CARGO_BIN_EXE_dovetail"))
        .args(["serve", "--dedicated", "--workers=1", "--idle-exit=1", "--cache"])
        .arg(dir.path().join("cache"))
        .stderr(Stdio::null())
        .spawn()
        .expect("systemd-socket-activate");
    let mut client = Client::connect(&socket, None);
    client.compile("main", Priority::Soon).expect("a part");
    drop(client);
    assert!(activator.wait().expect("a process").success());
}

#[test]
fn a_cache_that_was_deleted_is_made_anew() {
    let service = Service::start(&["--workers=1"]);
    let mut before = service.client();
    assert_eq!(before.welcome.inline_because, None);
    before.compile("main", Priority::Soon).expect("a part");
    let begun = Instant::now();
    while service.cache().get(&key("main")).is_none() {
        assert!(begun.elapsed() < PATIENCE, "it is not kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_dir_all(service.cache_dir()).expect("the cache");
    while !service.log().contains("was deleted, and is made anew") {
        assert!(begun.elapsed() < PATIENCE, "{}", service.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    // A client that reads the new directory, and one that has named the old one.
    let mut after = service.client();
    assert_eq!(after.welcome.inline_because, None);
    for client in [&mut before, &mut after] {
        client.compile("main", Priority::Soon).expect("a part");
    }
    while service.cache().get(&key("main")).is_none() {
        assert!(begun.elapsed() < PATIENCE, "it is not kept in the new cache");
        std::thread::sleep(Duration::from_millis(5));
    }
}

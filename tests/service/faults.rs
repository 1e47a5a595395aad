//! Crashing workers, and full disks.

use crate::harness::{Service, key, request};
use crate::smallest::shader;
use crate::support;
use dovetail::error::{Death, ErrorKind};
use dovetail::service::poison_dir;
use dovetail::wire::Priority;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The entry point `bad` ends its worker. All other requests are served, it is not tried again, and every client gets
/// the reason.
fn one_shader_is_poison(fault: &str, more: &[&str], death: Death, words: &str) {
    let fault = format!("--fault={fault}:bad");
    let arguments: Vec<&str> = [&["--workers=2", fault.as_str()], more].concat();
    let mut service = Service::start(&arguments);
    let mut client = service.client();
    for n in 0..8 {
        client.ask(&format!("good{n}"), Priority::Soon);
    }
    client.ask("bad", Priority::Soon);
    let mut failures = Vec::new();
    for _ in 0..9 {
        failures.extend(client.stage().err());
    }
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    let ErrorKind::Quarantined { death: found, detail } = failure.kind() else { panic!("{failure}") };
    assert!(*found == death && detail.contains(words), "{failure}");
    let status = client.status();
    assert_eq!((status.poisoned, status.worker_deaths, status.compiled), (1, 2, 8), "{status:?}");

    // The answer is sent before the record is written.
    let (record, begun) = (poison_dir(&service.cache_dir()).join(key("bad").to_string()), std::time::Instant::now());
    while !record.exists() {
        assert!(begun.elapsed() < crate::harness::PATIENCE, "it is not recorded");
        std::thread::yield_now();
    }
    // It is not tried again, even by another service,
    for again in [false, true] {
        if again {
            service.kill();
            service.start_again();
        }
        let mut client = service.client();
        let refused = client.compile("bad", Priority::Waits).expect_err("poison").to_string();
        assert!(refused.contains(words) && refused.contains("after 2 tries"), "{refused}");
        let status = client.status();
        assert_eq!((status.poison_hits, status.worker_deaths), (1, if again { 0 } else { 2 }), "{status:?}");
    }
    // until it is removed from the list.
    let poison = |what: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let out = command.args(["service", "poison"]).args(what).arg("--cache").arg(service.cache_dir()).output();
        String::from_utf8(out.expect("the program").stdout).expect("text")
    };
    let listed = poison(&["list"]);
    assert!(listed.contains(&key("bad").to_string()) && listed.contains("compute shader `bad`"), "{listed}");
    assert_eq!(poison(&["clear", &key("bad").to_string()]), "1 cleared\n");
    let mut client = service.client();
    let tried = client.compile("bad", Priority::Waits).expect_err("it kills still").to_string();
    assert!(!tried.contains("tries"), "{tried}");
    assert_eq!(client.status().worker_deaths, 2);
}

#[test]
fn a_shader_that_aborts_its_worker_is_poison() {
    one_shader_is_poison("abort", &[], Death::Crashed, "signal 6");
}

#[test]
fn a_shader_that_hangs_its_worker_is_poison() {
    one_shader_is_poison("hang", &["--deadline=1"], Death::TimedOut, "of processor time");
}

#[test]
fn a_shader_that_eats_memory_is_poison() {
    one_shader_is_poison("hoard", &["--worker-memory=128"], Death::OutOfMemory, "more than 512 MiB");
}

#[test]
fn a_worker_that_babbles_is_not_believed() {
    one_shader_is_poison("babble", &[], Death::Garbled, "");
}

#[test]
fn a_worker_that_somebody_kills_is_replaced() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    client.compile("first", Priority::Soon).expect("a part");
    for n in 0..20 {
        for worker in service.children() {
            let worker = rustix::process::Pid::from_raw(worker).expect("a process");
            // It may have exited meanwhile.
            let _ = rustix::process::kill_process(worker, rustix::process::Signal::KILL);
        }
        client.compile(&format!("main{n}"), Priority::Soon).expect("a part, by the second try if need be");
    }
    assert_eq!(client.status().poisoned, 0);
}

#[test]
fn a_request_whose_workers_are_always_killed_fails_without_a_record() {
    let service = Service::start(&["--workers=1", "--fault=sleep:main"]);
    let mut client = service.client();
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for worker in service.children() {
                    let worker = rustix::process::Pid::from_raw(worker).expect("a process");
                    let _ = rustix::process::kill_process(worker, rustix::process::Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let outcome = client.compile("main", Priority::Soon);
        done.store(true, Ordering::Relaxed);
        outcome
    });
    let error = outcome.expect_err("no worker lived").to_string();
    assert!(error.contains("signal 9"), "{error}");
    assert_eq!(service.status().poisoned, 0);
}

#[test]
fn what_nobody_waits_for_has_the_lowest_priority() {
    let service = Service::start(&["--workers=2", "--fault=sleep:idle"]);
    let mut client = service.client();
    client.ask("idle", Priority::Populate);
    // A worker's job requires its module first.
    let mut watch = service.client();
    std::thread::scope(|scope| {
        scope.spawn(|| client.try_next());
        watch.until("it is compiled", |status| status.busy == 1);
        let nice = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
            let fields = stat.rsplit_once(')').expect("a name").1.to_owned();
            fields.split_whitespace().nth(16).expect("a priority").parse::<i32>().expect("a number")
        };
        // The tests themselves may run with a lower priority.
        let own = nice(service.process.id() as i32);
        let begun = std::time::Instant::now();
        let mut found = Vec::new();
        while found != [own, 19] {
            assert!(begun.elapsed() < crate::harness::PATIENCE, "priorities: {found:?}");
            found = service.children().into_iter().map(nice).collect();
            found.sort_unstable();
        }
        // A job that a thread waits for gets the other worker.
        watch.compile("now", Priority::Waits).expect("a part");
        let service = rustix::process::Pid::from_child(&service.process);
        rustix::process::kill_process(service, rustix::process::Signal::KILL).expect("a process");
    });
}

#[test]
fn on_a_full_disk_everybody_is_still_served_until_there_is_room_again() {
    let test = "faults::on_a_full_disk_everybody_is_still_served_until_there_is_room_again";
    let dir = tempfile::tempdir().expect("a folder");
    let [disk, room, socket] = ["disk", "room", "socket"].map(|name| dir.path().join(name));
    std::fs::create_dir(&disk).expect("a folder");
    // A disk of 4 MiB in a mount namespace, of which 256 KiB are free until the file `room` is there, for two minutes at most.
    let script = "mount -t tmpfs -o size=4m none \"$1\" && head -c 3932160 /dev/zero >\"$1/ballast\" || exit 1
        (for n in $(seq 1200); do [ ! -e \"$2\" ] || break; sleep 0.1; done; rm \"$1/ballast\") &
        shift 2 && exec \"$@\"";
    let unshared = |command: &mut Command| {
        command.args(["-Urm", "sh", "-c", script, "sh"]).args([&disk, &room]);
    };
    let mut probe = Command::new("unshare");
    unshared(&mut probe);
    std::fs::write(&room, "").expect("a file");
    if !probe.arg("true").output().is_ok_and(|out| out.status.success()) {
        return support::without(test, "no user namespace with a tmpfs in it");
    }
    std::fs::remove_file(&room).expect("the file");
    let log = std::fs::File::create(dir.path().join("log")).expect("a log");
    let mut service = Command::new("unshare");
    unshared(&mut service);
    let mut service = service
        .arg(env!("CARGO_BIN_EXE_dovetail"))
        .args(["serve", "--dedicated", "--workers=1", "--cache"])
        .arg(disk.join("cache"))
        .arg("--socket")
        .arg(&socket)
        .stderr(log)
        .spawn()
        .expect("unshare");
    let mut client = crate::harness::Client::connect(&socket, None);
    let compile = |client: &mut crate::harness::Client, numbers: std::ops::Range<u32>| {
        for n in numbers {
            let module = shader(&format!("main{n}"));
            client.ask_for(module, request(&format!("main{n}")), Priority::Soon).expect("a service");
            let (_, elf) = client.stage().expect("a part, kept or not");
            assert!(elf.is_some());
        }
    };
    compile(&mut client, 0..200);
    // The load is checked only twice a second.
    let full = client.until("nothing is put", |status| status.unkept > 0 && status.not_kept_because.is_some());
    let why = full.not_kept_because.unwrap_or_default();
    assert!(why.contains("tried again in") && why.contains("space"), "{why}");
    std::fs::write(&room, "").expect("a file");
    let before = client.until("it is tried again", |status| status.not_kept_because.is_none());
    compile(&mut client, 200..300);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let after = client.status();
    service.kill().and_then(|()| service.wait()).expect("a process");
    assert_eq!((before.compiled, after.compiled), (200, 300));
    assert_eq!((after.unkept, after.not_kept_because), (before.unkept, None));
}

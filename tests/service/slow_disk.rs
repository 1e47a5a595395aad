//! A disk that does not answer, in a running service: a library that is preloaded into it holds up its reads or its
//! writes of the cache.

use crate::harness::{Client, PATIENCE, Service, key, request};
use crate::support::{root, run};
use dovetail::error::ErrorKind;
use dovetail::link::Placement;
use dovetail::state::PipelineState;
use dovetail::wire::{Ask, PipelineAsk, Priority};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than a compile takes on a busy machine, and than the service's patience with its disk.
const SOON: Duration = Duration::from_secs(10);

/// A service whose disk can be held up.
struct Slow(Service);

impl Slow {
    fn start(arguments: &[&str]) -> Self {
        Self(Service::start_with(arguments, |command, dir| {
            let library = dir.join("slow_disk.so");
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]).arg(root().join("tests/service/slow_disk.c"));
            cc.arg("-o").arg(&library).arg("-ldl");
            run(cc);
            command.env("LD_PRELOAD", library).env("SLOW_DISK", dir);
        }))
    }

    fn switch(&self, what: &str) -> PathBuf {
        self.0.dir.path().join(what)
    }

    fn hold_up(&self, what: &str) {
        fs::write(self.switch(what), "").expect("a file");
    }

    fn release(&self, what: &str) {
        fs::remove_file(self.switch(what)).expect("the file");
    }

    /// Waits until the cache has this part.
    fn until_kept(&self, entry: &str) {
        let (cache, begun) = (self.0.cache(), Instant::now());
        while cache.get(&key(entry)).is_none() {
            assert!(begun.elapsed() < PATIENCE, "{entry} is not kept");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the cache has this part and the service's loop knows it: until then it answers from memory.
    fn until_found(&self, client: &mut Client, entry: &str) {
        self.until_kept(entry);
        while client.status().hits == 0 {
            client.compile(entry, Priority::Soon).expect("a part");
        }
    }

    /// The output of `dovetail service status`.
    fn said(&self) -> String {
        let mut status = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let done = status.args(["service", "status", "--socket"]).arg(self.0.socket()).output().expect("the program");
        String::from_utf8(done.stdout).expect("text")
    }
}

/// Compiles, and returns how long it took.
fn timed(client: &mut Client, entry: &str) -> Duration {
    let begun = Instant::now();
    client.compile(entry, Priority::Waits).expect("a part");
    begun.elapsed()
}

#[test]
fn while_writes_are_held_up_everybody_is_served() {
    let slow = Slow::start(&["--workers=2", "--fault=abort:bad"]);
    let mut client = slow.0.client();
    client.compile("kept", Priority::Soon).expect("a part");
    slow.until_found(&mut client, "kept");
    slow.hold_up("writes");
    // More than there are threads for writing.
    let slowest = (0..40).map(|n| timed(&mut client, &format!("new{n}"))).max().expect("forty");
    assert!(slowest < SOON, "{slowest:?}");
    let hits = client.status().hits;
    assert!(timed(&mut client, "kept") < SOON);
    assert_eq!(client.status().hits, hits + 1, "what is cached is read");
    // A shader is refused although its record is not written yet.
    for _ in 0..2 {
        let failure = client.compile("bad", Priority::Soon).expect_err("it kills workers");
        assert!(matches!(failure.kind(), ErrorKind::Quarantined { .. }), "{failure}");
    }
    assert_eq!(client.status().worker_deaths, 2);
    client.until("the reason", |status| status.not_kept_because.is_some());
    let said = slow.said();
    assert!(said.contains("nothing is stored") && said.contains("a write has not returned for"), "{said}");
    slow.release("writes");
    (0..40).for_each(|n| slow.until_kept(&format!("new{n}")));
    let status = client.until("it writes", |status| status.not_kept_because.is_none());
    assert_eq!((status.unkept, status.poisoned), (0, 1), "{status:?}");
}

#[test]
fn while_reads_are_held_up_shaders_are_compiled_without_a_lookup() {
    let slow = Slow::start(&["--workers=2", "--fault=abort:bad"]);
    let mut client = slow.0.distant_client();
    let (_, kept) = client.compile("kept", Priority::Soon).expect("a part");
    client.compile("bad", Priority::Soon).expect_err("it kills workers");
    slow.until_found(&mut client, "kept");
    slow.hold_up("reads");
    let (begun, again) = (Instant::now(), client.compile("kept", Priority::Waits).expect("a part"));
    assert!(begun.elapsed() < SOON && again.1 == kept, "{:?}", begun.elapsed());
    client.until("the reason", |status| status.not_read_because.is_some());
    // From now on nobody waits for the disk at all.
    let begun = Instant::now();
    let compiled = client.status().compiled;
    (0..40).for_each(|n| _ = timed(&mut client, &format!("new{n}")));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(client.status().compiled, compiled + 40);
    let refused = client.compile("bad", Priority::Soon).expect_err("it is poison").to_string();
    assert!(refused.contains("after 2 tries"), "{refused}");
    let said = slow.said();
    assert!(said.contains("the cache is not read: a read has not returned for"), "{said}");
    slow.release("reads");
    client.until("it reads", |status| status.not_read_because.is_none());
    let (hits, compiled) = (client.status().hits, client.status().compiled);
    assert!(client.compile("kept", Priority::Waits).expect("a part").1 == kept);
    let status = client.status();
    assert_eq!((status.hits, status.compiled), (hits + 1, compiled), "{status:?}");
}

#[test]
fn a_service_whose_disk_is_held_up_ends_when_it_is_told_to() {
    let metrics = tempfile::tempdir().expect("a folder");
    let file = format!("--metrics-file={}", metrics.path().join("cache/metrics").display());
    fs::create_dir(metrics.path().join("cache")).expect("a folder");
    let mut slow = Slow::start(&["--workers=1", "--grace=1", &file]);
    let mut client = slow.0.client();
    client.compile("first", Priority::Soon).expect("a part");
    // Its row is written when the service ends.
    let (id, stages, state) = (client.next_id(), vec![request("first")], PipelineState::default());
    let (placement, class, uses, inline) = (Placement::Adjacent, Priority::Optimize, 1, true);
    client.send(&Ask::Pipeline(PipelineAsk { id, stages, state, placement, class, uses, inline }));
    ["reads", "writes"].iter().for_each(|what| slow.hold_up(what));
    client.compile("second", Priority::Soon).expect("a part");
    let begun = Instant::now();
    slow.0.terminate();
    assert!(slow.0.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(1 + 1 + 5) + SOON, "{:?}", begun.elapsed());
}

#[test]
fn reads_that_fail_once_cost_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let library = dir.path().join("faulty_disk.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]).arg(root().join("tests/service/faulty_disk.c"));
    cc.arg("-o").arg(&library).arg("-ldl");
    run(cc);
    let populate = |name: &str, faults: &str| {
        fs::write(dir.path().join(format!("{name}.spv")), crate::smallest::shader(name)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.args(["populate", "--cache=cache", "--jobs=1", &format!("{name}.spv")]).current_dir(dir.path());
        command.env("LD_PRELOAD", &library).env("FAULTY_READS", faults);
        let out = command.output().expect("the program");
        (out.status.success(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
    };
    for (name, faults, found) in [("a", "0", "compiled"), ("b", "2", "compiled"), ("a", "0", "already cached")] {
        let (done, said) = populate(name, faults);
        assert!(done && said.contains(found) && !said.contains("set aside"), "{name}: {said}");
    }
    assert!(!dir.path().join("cache/lmdb.bad-1").exists());
    // A disk that stays broken costs the store, as before, and not the results.
    let (_, said) = populate("c", "1000000");
    assert!(said.contains("cannot be read"), "{said}");
}

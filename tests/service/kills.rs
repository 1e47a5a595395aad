//! kill -9 of the service, its workers and its clients, at moments that differ in each run, while eight clients work.
//! Each client is a process that uses the library, as a game does.
//!
//! A client that is not killed must finish with correct code for everything; cached entries must remain; and killed
//! processes must leave nothing behind.

use crate::harness::{PATIENCE, Service, compute_shader, key, link_compute};
use crate::smallest::shader;
use dovetail::cache::{Cache, Key};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::Module;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::runtime::{Context, ContextInfo, Shader, ShaderStatus};
use dovetail::state::PipelineState;
use dovetail::target::Gpu;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Number of concurrent clients.
const CLIENTS: usize = 8;
/// Shaders per client, and how many of them it waits for at a time.
const SHADERS: u64 = 48;
const AT_ONCE: u64 = 8;

/// Environment variable that gives a client its number and the folder of the service, set by the test that starts it.
const TASK: &str = "DOVETAIL_TEST_CLIENT";

/// Each shader is requested by two clients.
fn names(client: u64) -> impl Iterator<Item = String> {
    (0..SHADERS).map(move |n| format!("main{}_{n}", client / 2))
}

/// Not a test by itself: the client that is killed. It records each shader, and the digest of the pipeline linked from
/// it.
#[test]
#[ignore = "started by the tests of this file"]
fn client() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (number, dir) = task.split_once(' ').unwrap();
    let (number, dir): (u64, &Path) = (number.parse().unwrap(), Path::new(dir));
    let (cache, socket) = (dir.join("cache"), dir.join("socket"));
    let target = Gpu::Gfx1030;
    let info =
        ContextInfo { cache_dir: Some(&cache), socket: Some(&socket), app: "a client", ..ContextInfo::new(target) };
    let context = loop {
        // The folder may not exist yet.
        match Context::new(&info) {
            Ok(context) => break context,
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut notes = fs::File::options().append(true).create(true).open(dir.join(format!("client-{number}"))).unwrap();
    let all: Vec<String> = names(number).collect();
    for names in all.chunks(AT_ONCE as usize) {
        let made = names.iter().map(|name| {
            let module = shader(name);
            (name, Shader::new(&context, &compute_shader(&module, name)).unwrap())
        });
        for (name, shader) in made.collect::<Vec<_>>() {
            let begun = Instant::now();
            loop {
                match shader.wait(PATIENCE).unwrap() {
                    ShaderStatus::Ready => break,
                    // The service is away at the moment.
                    ShaderStatus::NotCached => std::thread::sleep(Duration::from_millis(5)),
                    ShaderStatus::Pending => {}
                    ShaderStatus::Failed(why) => panic!("{name}: {why}"),
                }
                assert!(begun.elapsed() < 10 * PATIENCE, "{name} never comes: {:?}", context.reach());
            }
            let elf = link_compute(&context, &shader);
            // In one write, so that a kill cuts between lines, or leaves one line incomplete.
            notes.write_all(format!("{name} {}\n", blake3::hash(&elf)).as_bytes()).unwrap();
        }
    }
    assert_eq!(context.stats().unwrap().bad, 0);
}

pub fn start(dir: &Path, number: u64) -> (u64, Child) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::client", "--ignored", "--nocapture"])
        .env(TASK, format!("{number} {}", dir.display()))
        .stdout(Stdio::null())
        .stderr(fs::File::options().append(true).create(true).open(dir.join("clients")).unwrap())
        .spawn()
        .unwrap();
    (number, child)
}

/// Checks that a client finished correctly.
pub fn succeeded(dir: &Path, number: u64, status: ExitStatus) {
    let said = || fs::read_to_string(dir.join("clients")).unwrap_or_default();
    assert!(status.success(), "client {number}: {status}: {}", said());
}

/// Running clients, and the results of the others.
struct Clients<'a> {
    dir: &'a Path,
    running: Vec<(u64, Child)>,
    next: u64,
    finished: u64,
    killed: BTreeSet<u64>,
}

impl Clients<'_> {
    /// Replaces clients that have finished.
    fn refill(&mut self) {
        let dir = self.dir;
        self.running.retain_mut(|(number, child)| match child.try_wait().unwrap() {
            None => true,
            Some(status) => {
                succeeded(dir, *number, status);
                self.finished += 1;
                false
            }
        });
        while self.running.len() < CLIENTS {
            self.running.push(start(dir, self.next));
            self.next += 1;
        }
    }

    /// Kills one of them; false if it has just finished.
    fn kill(&mut self, which: usize) -> bool {
        let (number, mut child) = self.running.swap_remove(which % CLIENTS);
        child.kill().unwrap();
        let finished = child.wait().unwrap().success();
        if finished {
            self.finished += 1;
        } else {
            self.killed.insert(number);
        }
        !finished
    }

    fn finish(&mut self) {
        for (number, child) in &mut self.running {
            succeeded(self.dir, *number, child.wait().unwrap());
            self.finished += 1;
        }
    }
}

impl Drop for Clients<'_> {
    /// After a failed test they would wait for a service that never comes.
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Records of all clients. A truncated line does not count.
fn notes(dir: &Path, clients: u64) -> BTreeMap<u64, Vec<(String, String)>> {
    let of = |number| {
        let text = fs::read_to_string(dir.join(format!("client-{number}"))).unwrap_or_default();
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.split_once(' '));
        (number, lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect())
    };
    (0..clients).map(of).collect()
}

/// Contents of the cache.
#[derive(Default)]
struct Committed {
    seen: BTreeMap<String, Vec<u8>>,
    keys: BTreeMap<String, Key>,
}

impl Committed {
    /// Checks that everything seen before is still there, byte for byte, and adds what is new.
    fn look(&mut self, cache: &Cache, clients: u64) {
        for name in (0..clients).step_by(2).flat_map(names) {
            let key = self.keys.entry(name.clone()).or_insert_with_key(|name| key(name));
            let found = cache.get(key);
            match self.seen.get(&name) {
                Some(elf) => assert!(found.as_ref() == Some(elf), "{name} was in the cache"),
                None => _ = found.map(|elf| self.seen.insert(name, elf)),
            }
        }
        assert_eq!((cache.stats().bad, cache.notices()), (0, Vec::new()));
    }
}

/// The pipeline of a shader, built without a service.
fn expected(compiler: &BuiltInCompiler, name: &str) -> (Vec<u8>, String) {
    let module = Module::new(shader(name)).unwrap();
    let part = compiler.compile(&module, &crate::harness::request(name)).unwrap().0;
    let elf = link(&[&part], &PipelineState::default(), Placement::Adjacent, &EmitGlue).unwrap();
    (part, blake3::hash(&elf).to_string())
}

/// Kills this many of each kind in turn: a worker, a client, the service. Two workers are never killed under the same
/// service, so that no shader is mistaken for poison.
fn survive(kills: usize) {
    let mut service = Service::start(&["--workers=2"]);
    let dir = service.dir.path().to_owned();
    let mut random = std::process::id();
    let mut random = move || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) as usize
    };
    let mut clients = Clients { dir: &dir, running: Vec::new(), next: 0, finished: 0, killed: BTreeSet::new() };
    let mut committed = Committed::default();
    let mut orphans = Vec::new();
    let begun = Instant::now();
    let mut workers = 0;
    for _ in 0..kills {
        let since = Instant::now();
        loop {
            clients.refill();
            std::thread::sleep(Duration::from_millis(random() as u64 % 60));
            let children = service.children();
            let Some(pid) = children.get(random() % children.len().max(1)) else {
                assert!(since.elapsed() < PATIENCE, "no worker: {}", service.log());
                continue;
            };
            // If it has exited meanwhile, another one is killed.
            if kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL).is_ok() {
                workers += 1;
                break;
            }
        }
        clients.refill();
        std::thread::sleep(Duration::from_millis(random() as u64 % 60));
        while !clients.kill(random()) {
            clients.refill();
        }
        clients.refill();
        std::thread::sleep(Duration::from_millis(random() as u64 % 60));
        orphans.extend(service.children());
        service.kill();
        committed.look(&service.cache(), clients.next);
        service.start_again();
    }
    clients.finish();
    let status = service.status();
    assert_eq!((status.poisoned, status.unkept), (0, 0), "{status:?}");
    // Each client that finished has recorded everything, and every record equals the compiler's result.
    let (compiler, notes) = (BuiltInCompiler::new(), notes(&dir, clients.next));
    let mut made = BTreeMap::new();
    let mut pipelines = 0;
    for (number, noted) in &notes {
        if !clients.killed.contains(number) {
            assert!(noted.iter().map(|(name, _)| name.clone()).eq(names(*number)), "client {number}: {noted:?}");
        }
        for (name, digest) in noted {
            let (_, right) = made.entry(name.clone()).or_insert_with(|| expected(&compiler, name));
            assert_eq!(digest, right, "client {number}: {name}");
            pipelines += 1;
        }
    }
    committed.look(&service.cache(), clients.next);
    for (name, elf) in &committed.seen {
        let (right, _) = made.entry(name.clone()).or_insert_with(|| expected(&compiler, name));
        assert!(elf == right, "{name} in the cache");
    }
    // Workers end with their service.
    let since = Instant::now();
    let lives =
        |pid: &i32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("\0worker"));
    while let Some(pid) = orphans.iter().find(|pid| lives(pid) && !service.children().contains(pid)) {
        assert!(since.elapsed() < PATIENCE, "worker {pid} has outlived its service");
        std::thread::sleep(Duration::from_millis(20));
    }
    println!(
        "{kills} services, {workers} workers and {} clients killed in {} s: {} clients came to their end, {pipelines} pipelines \
         of {} shaders, {} parts committed",
        clients.killed.len(),
        begun.elapsed().as_secs(),
        clients.finished,
        made.len(),
        committed.seen.len()
    );
}

#[test]
fn services_workers_and_clients_are_killed() {
    survive(4);
}

/// Takes some minutes: `./dev test --full`.
#[test]
#[ignore = "takes minutes"]
fn two_hundred_services_workers_and_clients_are_killed() {
    survive(200);
}

//! SIGSTOP of a worker, the service and a client: processes that do not need the stopped one continue, and those that
//! do are served by another one, or later.

use crate::harness::{PATIENCE, Service, compute_shader, key, link_compute};
use crate::kills;
use crate::smallest::shader;
use dovetail::runtime::{Context, ContextInfo, Shader, ShaderStatus};
use dovetail::target::Gpu;
use dovetail::wire::Priority;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::{Duration, Instant};

/// A stopped process. It continues when this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Self {
        let stopped = Self(Pid::from_raw(pid as i32).expect("a process"));
        kill_process(stopped.0, Signal::STOP).expect("a process");
        // The signal takes a moment to reach each thread.
        let begun = Instant::now();
        let stops = |task: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(task.expect("a thread").path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
        };
        while !std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process").all(stops) {
            assert!(begun.elapsed() < PATIENCE, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been killed meanwhile.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn a_worker_that_is_stopped_is_replaced() {
    let mut service = Service::start(&["--workers=1", "--deadline=1"]);
    let mut client = service.client();
    client.compile("first", Priority::Soon).expect("a part");
    let [worker] = service.children()[..] else { panic!("one worker") };
    let stopped = Stopped::new(worker as u32);
    // It uses no processor time, so it never reaches that deadline, but the limit on waiting after ten seconds.
    let begun = Instant::now();
    client.compile("next", Priority::Soon).expect("a part, by another worker");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert!(!service.children().contains(&worker), "it is killed");
    assert_eq!(client.status().poisoned, 0, "the shader is not to blame");
    drop(stopped);
    service.kill();
}

#[test]
fn while_the_service_is_stopped_what_is_cached_is_linked() {
    let service = Service::start(&["--workers=1"]);
    service.client().compile("kept", Priority::Soon).expect("a part");
    // The answer is sent before the result is stored.
    let (disk, begun) = (service.cache(), Instant::now());
    while disk.get(&key("kept")).is_none() {
        assert!(begun.elapsed() < PATIENCE, "it is not kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (cache, socket) = (service.cache_dir(), service.socket());
    let info = ContextInfo { cache_dir: Some(&cache), socket: Some(&socket), ..ContextInfo::new(Gpu::Gfx1030) };
    let stopped = Stopped::new(service.process.id());
    let context = Context::new(&info).expect("a context");
    let (kept, new) = (shader("kept"), shader("new"));
    let missing = Shader::new(&context, &compute_shader(&new, "new")).expect("a shader");
    let cached = Shader::new(&context, &compute_shader(&kept, "kept")).expect("a shader");
    assert_eq!(cached.status().expect("a status"), ShaderStatus::Ready);
    link_compute(&context, &cached);
    // A wait is limited by its caller's timeout.
    let begun = Instant::now();
    assert_ne!(missing.wait(Duration::from_millis(300)).expect("a status"), ShaderStatus::Ready);
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    drop(stopped);
    let begun = Instant::now();
    while missing.wait(PATIENCE).expect("a status") != ShaderStatus::Ready {
        assert!(begun.elapsed() < PATIENCE, "it never comes: {:?}", context.reach());
        std::thread::sleep(Duration::from_millis(5));
    }
    link_compute(&context, &missing);
}

/// Number of shaders recorded by a client of `kills`.
fn noted(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("client-0")).unwrap_or_default().lines().count()
}

#[test]
fn a_client_that_is_stopped_holds_nobody() {
    let service = Service::start(&["--workers=1"]);
    service.client();
    let (_, mut child) = kills::start(service.dir.path(), 0);
    let begun = Instant::now();
    while noted(service.dir.path()) == 0 {
        assert!(begun.elapsed() < PATIENCE, "it does nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    let stopped = Stopped::new(child.id());
    let before = noted(service.dir.path());
    let mut other = service.client();
    for n in 0..20 {
        other.compile(&format!("other{n}"), Priority::Soon).expect("a part");
    }
    assert_eq!(noted(service.dir.path()), before, "it is stopped");
    drop(stopped);
    let status = child.wait().expect("a process");
    kills::succeeded(service.dir.path(), 0, status);
}

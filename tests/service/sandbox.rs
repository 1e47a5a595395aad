//! The sandbox of the workers, from inside: everything that compiling does not need is refused, and compiling works.

use crate::harness::{PATIENCE, Service};
use crate::support::{self, glsl, root, run};
use dovetail::compile::Compiler;
use dovetail::compile::request::{GeneratorKind, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::spirv::reflect;
use dovetail::compile::worker::{WorkerConfig, WorkerPool};
use dovetail::error::ErrorKind;
use dovetail::target::Gpu;
use dovetail::wire::Priority;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Preloads `escape.c`, which tries every call from a worker with its sandbox in force.
fn with_escape(command: &mut Command, dir: &Path) {
    let library = dir.join("escape.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]).arg(root().join("tests/service/escape.c"));
    cc.arg("-o").arg(&library);
    run(cc);
    command.env("LD_PRELOAD", library);
}

/// Runs the command as root of a user namespace in which there are no others.
fn without_namespaces(command: &mut Command, _: &Path) {
    let mut unshared = Command::new("unshare");
    unshared.args(["-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""]);
    unshared.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        value.map(|value| unshared.env(name, value));
    }
    *command = unshared;
}

fn can_do_nothing(test: &str, service: &Service) {
    let mut client = service.client();
    let sandbox = client.status().sandbox;
    if sandbox.contains("no seccomp") {
        return support::without(test, &sandbox);
    }
    let said = client.compile("bad", Priority::Soon).expect_err("it ends").to_string();
    assert!(said.contains("escape: the worker could do nothing"), "{said}");
}

#[test]
fn a_worker_that_was_taken_over_can_do_nothing() {
    let test = "sandbox::a_worker_that_was_taken_over_can_do_nothing";
    can_do_nothing(test, &Service::start_with(&["--workers=1"], with_escape));
}

#[test]
fn where_there_are_no_namespaces_it_can_do_nothing_either() {
    let test = "sandbox::where_there_are_no_namespaces_it_can_do_nothing_either";
    let mut probe = Command::new("true");
    without_namespaces(&mut probe, Path::new("/"));
    if !probe.output().is_ok_and(|out| out.status.success()) {
        return support::without(test, "no user namespace in which others can be forbidden");
    }
    let service = Service::start_with(&["--workers=1"], |command, dir| {
        with_escape(command, dir);
        without_namespaces(command, dir);
    });
    let sandbox = service.status().sandbox;
    assert!(sandbox.contains("no user namespace ("), "{sandbox}");
    can_do_nothing(test, &service);
}

#[test]
fn a_worker_has_no_rights_of_its_user() {
    let service = Service::start(&["--workers=1", "--fault=sleep:sleeps"]);
    let mut client = service.client();
    client.ask("sleeps", Priority::Soon);
    let mut watch = service.client();
    let worker = std::thread::scope(|scope| {
        scope.spawn(|| client.try_next());
        let status = watch.until("it is compiled", |status| status.busy == 1);
        let [worker] = service.children()[..] else { panic!("{:?}", service.children()) };
        let text = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a process");
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).expect("a field of proc(5)");
            line.rsplit_once('\t').expect("a value").1.to_owned()
        };
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(value(set), "0000000000000000", "{set}");
        }
        assert_eq!((value("NoNewPrivs:"), value("Seccomp:")), ("1".into(), "2".into()));
        if status.sandbox.contains(", user namespace") {
            assert_eq!(value("CapBnd:"), "0000000000000000");
            let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/user")).ok();
            // Reading it requires a right over the process, which its parent may lack.
            let theirs = namespace(worker.unsigned_abs());
            assert!(theirs.is_none() || theirs != namespace(service.process.id()), "{theirs:?}");
        }
        let service = rustix::process::Pid::from_child(&service.process);
        rustix::process::kill_process(service, rustix::process::Signal::KILL).expect("a process");
        worker
    });
    let begun = Instant::now();
    // A process that nobody has waited for is still there.
    let state = || std::fs::read_to_string(format!("/proc/{worker}/status"));
    while state().is_ok_and(|state| !state.contains("State:\tZ")) {
        assert!(begun.elapsed() < PATIENCE, "the worker outlives its service");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// SPIR-V of `testdata`: what is there as binary and, if there is a compiler for it, what is there as GLSL.
fn shaders(test: &str) -> Vec<(String, Vec<u8>)> {
    let files = |folder: &str| {
        let folder = std::fs::read_dir(root().join("testdata").join(folder)).expect("a folder");
        let mut files: Vec<PathBuf> = folder.map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    };
    let is = |file: &Path, names: &[&str]| file.extension().is_some_and(|name| names.iter().any(|n| name == *n));
    let mut found = Vec::new();
    for file in ["golden", "spirv"].into_iter().flat_map(files).filter(|file| is(file, &["spv"])) {
        found.push((file.display().to_string(), std::fs::read(&file).expect("a shader")));
    }
    for file in ["coverage", "shaders"].into_iter().flat_map(files).filter(|file| is(file, &["comp", "vert", "frag"])) {
        let Some(module) = glsl(test, &file, "vulkan1.3") else { break };
        found.push((file.display().to_string(), module));
    }
    found
}

/// Every call that the list of allowed ones lacks ends the worker, so a shader fails here that needs one.
#[test]
fn compiling_needs_no_more_calls() {
    let test = "sandbox::compiling_needs_no_more_calls";
    let shaders = shaders(test);
    let mut compiled = 0;
    // With memory of the heap, and with a mapping for each piece that is not small.
    for allocator in ["MALLOC_MMAP_THRESHOLD_=33554432", "MALLOC_MMAP_THRESHOLD_=2048"] {
        let worker = [allocator, env!("CARGO_BIN_EXE_dovetail"), "worker", "--kill-on-refused-call"];
        let config = WorkerConfig {
            program: "env".into(),
            args: worker.map(str::to_owned).into(),
            memory_mib: 2048,
            deadline: Duration::from_secs(60),
        };
        let pool = WorkerPool::start(config, 2).expect("workers");
        for (name, bytes) in &shaders {
            let module = Module::new(bytes.clone()).expect("a module");
            let Ok(info) = reflect(&module) else { continue };
            for generator in [GeneratorKind::Native, GeneratorKind::Llvm] {
                for entry in &info.entry_points {
                    let Some(stage) = entry.stage else { continue };
                    let request = StageRequest {
                        target: Gpu::Gfx1030,
                        stage,
                        module: module.digest(),
                        entry_point: entry.name.clone(),
                        specialization: Vec::new(),
                        wave: default_wave(Gpu::default(), stage, false),
                        options: TuningOptions { generator, ..Default::default() },
                        known: Default::default(),
                    };
                    match pool.compile(&module, &request) {
                        Ok(_) => compiled += 1,
                        // What is unsupported needs no calls either.
                        Err(e) => assert!(!matches!(e.kind(), ErrorKind::Quarantined { .. }), "{name}: {e}"),
                    }
                }
            }
        }
    }
    assert!(compiled > shaders.len(), "{compiled} of {} shaders", shaders.len());
}

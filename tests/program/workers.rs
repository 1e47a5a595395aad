//! A compiler that aborts, hangs, exhausts memory or writes invalid output costs one shader, and the run continues.

use crate::smallest::shader;
use dovetail::cache::{Cache, Key, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{Module, StageRequest, default_wave};
use dovetail::keys;
use dovetail::target::{Gpu, Stage};
use std::path::Path;
use std::process::Command;

/// Key of the shader with this entry point, in a request of `populate`.
fn key(entry: &str) -> Key {
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: Module::new(shader(entry)).unwrap().digest(),
        entry_point: entry.into(),
        specialization: Vec::new(),
        wave: default_wave(Gpu::default(), Stage::Compute, false),
        options: Default::default(),
        known: Default::default(),
    };
    keys::stage(&request, BuiltInCompiler::new().id()).unwrap()
}

/// Runs `populate` on a folder; returns the exit code and the result for each shader name.
fn populate(dir: &Path, extra: &[&str]) -> (Option<i32>, serde_json::Value) {
    let out = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(["populate", "--json", "--jobs", "2", "--cache"])
        .arg(dir.join("cache"))
        .arg(dir.join("in"))
        .args(extra)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let json =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}\n{}", String::from_utf8_lossy(&out.stderr)));
    (out.status.code(), json)
}

fn result(json: &serde_json::Value, name: &str) -> String {
    let shaders = json["shaders"].as_array().unwrap();
    let of = shaders.iter().find(|s| s["name"].as_str().unwrap().ends_with(name)).unwrap();
    format!("{}: {}", of["result"].as_str().unwrap(), of["why"].as_str().unwrap_or_default())
}

fn one_shader_is_lost(fault: &str, extra: &[&str], how: &str) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    for entry in ["bad", "good1", "good2", "good3"] {
        std::fs::write(dir.path().join(format!("in/{entry}.spv")), shader(entry)).unwrap();
    }
    let fault = format!("--fault={fault}:bad");
    let mut all = vec![fault.as_str()];
    all.extend_from_slice(extra);
    let (code, json) = populate(dir.path(), &all);
    assert_eq!(code, Some(1));
    let bad = result(&json, "bad");
    assert!(bad.contains(how), "{bad}");
    for good in ["good1", "good2", "good3"] {
        assert_eq!(result(&json, good), "compiled: ");
    }
    // Without the fault the lost one compiles, and the others are not compiled again.
    let (code, json) = populate(dir.path(), &[]);
    assert_eq!(code, Some(0));
    assert_eq!(result(&json, "bad"), "compiled: ");
    assert_eq!(json["counts"]["already cached"], 3);
    let (_, json) = populate(dir.path(), &[]);
    assert_eq!(json["counts"]["already cached"], 4);
    assert!(json["counts"]["compiled"].is_null());
}

#[test]
fn an_abort_costs_one_shader() {
    one_shader_is_lost("abort", &[], "failed: the compiler crashed on this shader: signal 6");
}

#[test]
fn a_hang_costs_one_shader() {
    let how = "timed_out: the compiler timed out on this shader: no answer in 3.";
    one_shader_is_lost("hang", &["--deadline=3"], how);
}

#[test]
fn a_worker_that_waits_for_nothing_is_ended() {
    let how = "timed_out: the compiler timed out on this shader: no answer: it has waited for 1";
    one_shader_is_lost("sleep", &["--deadline=1"], how);
}

const HUNGER: &str =
    "failed: the compiler ran out of memory on this shader: it needs more than 1024 MiB (--worker-memory)";

#[test]
fn hunger_costs_one_shader() {
    one_shader_is_lost("hoard", &["--worker-memory=1024"], HUNGER);
}

#[test]
fn hunger_in_llvm_is_called_so_too() {
    one_shader_is_lost("hoard-in-llvm", &["--worker-memory=1024"], HUNGER);
}

#[test]
fn the_least_memory_is_enough_for_a_small_shader() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    std::fs::write(dir.path().join("in/good.spv"), shader("good")).unwrap();
    let (code, json) = populate(dir.path(), &["--worker-memory=64"]);
    assert_eq!((code, result(&json, "good").as_str()), (Some(0), "compiled: "));
}

#[test]
fn one_bad_input_costs_itself_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(path("in/empty folder")).unwrap();
    std::fs::create_dir(path("nothing here")).unwrap();
    std::fs::write(path("in/good.spv"), shader("good")).unwrap();
    std::fs::write(path("in/empty.spv"), b"").unwrap();
    std::fs::write(path("in/text.spv"), b"no shader").unwrap();
    std::fs::write(path("in/\u{1b}[2Jclear.spv"), b"no shader").unwrap();
    std::fs::File::create(path("in/sparse.bin")).unwrap().set_len(3 << 30).unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    let given = ["missing", "nothing here", "fifo"].map(|name| path(name).to_str().unwrap().to_owned());
    let mut extra: Vec<&str> = given.iter().map(String::as_str).collect();
    extra.extend(["/dev/zero", "--search"]);
    let (code, json) = populate(dir.path(), &extra);
    assert_eq!((code, result(&json, "good").as_str()), (Some(1), "compiled: "));
    let errors = json["input_errors"].as_array().unwrap();
    let bad =
        ["empty.spv", "text.spv", "sparse.bin", "missing", "nothing here", "fifo", "/dev/zero", "u{1b}[2Jclear.spv"];
    assert_eq!(errors.len(), bad.len(), "{errors:?}");
    for name in bad {
        let of = errors.iter().find(|e| e["path"].as_str().unwrap().ends_with(name));
        assert!(of.is_some_and(|e| e["why"].as_str().unwrap().contains(name)), "{name}: {errors:?}");
    }
    // The same as text; without a terminal the output has no control sequences.
    let mut words = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    words.args(["populate", "--search", "--cache"]).arg(path("cache")).arg(path("in")).args(&given);
    let out = words.output().unwrap();
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(
        text.contains("inputs that could not be read completely: 7") && text.contains("fifo: not an ordinary file"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
    // The same for all other messages.
    std::fs::copy(path("in/good.spv"), path("\u{1b}[31mred.spv")).unwrap();
    let out =
        Command::new(env!("CARGO_BIN_EXE_dovetail")).arg("compile").arg(path("\u{1b}[31mred.spv")).output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(said.contains("/\\u{1b}[31mred.spv: "), "{said:?}");
}

#[test]
fn modules_of_more_bytes_than_may_wait_all_come_through() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    for n in 0..8 {
        // Several ids with names of 40,000 bytes each: 400 KiB, of which two may be in flight at once.
        let mut module = shader(&format!("main{n}"));
        let name: Vec<u8> =
            [10_002u32 << 16 | 5, 1].iter().chain(&[0x6161_6161; 10_000]).flat_map(|w| w.to_le_bytes()).collect();
        let ended = [&name[..name.len() - 4], &[0; 4]].concat();
        // Names come after the execution modes, before the first type.
        let words: Vec<u32> = module.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        let (mut at, mut types) = (5, 0);
        while types == 0 {
            if words[at] & 0xffff == 19 { types = at } else { at += (words[at] >> 16) as usize }
        }
        module.splice(4 * types..4 * types, ended.repeat(10));
        std::fs::write(dir.path().join(format!("in/{n}.spv")), module).unwrap();
    }
    let (code, json) = populate(dir.path(), &["--input-memory=1"]);
    assert_eq!((code, json["counts"]["compiled"].as_u64()), (Some(0), Some(8)), "{json}");
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    let refused = [
        ("--jobs=0", "1..=1024"),
        ("--jobs=100000", "1..=1024"),
        ("--worker-memory=0", "64..=1048576"),
        ("--worker-memory=99999999999999", "64..=1048576"),
        ("--deadline=0", "1..=86400"),
        ("--input-memory=0", "1..=1048576"),
    ];
    for (option, range) in refused {
        let out = Command::new(env!("CARGO_BIN_EXE_dovetail")).args(["populate", "nowhere", option]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(range), "{option}: {said}");
    }
}

#[test]
fn babble_costs_one_shader() {
    one_shader_is_lost("babble", &[], "failed: the compiler wrote invalid output");
}

#[test]
fn a_killed_run_loses_nothing_that_was_finished() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("in")).unwrap();
    for entry in ["bad", "good1", "good2", "good3"] {
        std::fs::write(dir.path().join(format!("in/{entry}.spv")), shader(entry)).unwrap();
    }
    let mut run = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(["populate", "--jobs", "2", "--fault=hang:bad", "--deadline=600", "--cache"])
        .arg(dir.path().join("cache"))
        .arg(dir.path().join("in"))
        .spawn()
        .unwrap();
    // The hanging shader occupies one worker, and the other compiles the rest; a third process may read concurrently.
    std::fs::create_dir_all(dir.path().join("cache")).unwrap();
    let cache = Cache::open(&dir.path().join("cache"), StoreKind::Lmdb).unwrap();
    let keys = ["good1", "good2", "good3"].map(key);
    let start = std::time::Instant::now();
    while keys.iter().any(|k| cache.get(k).is_none()) {
        assert!(start.elapsed().as_secs() < 120, "the other shaders do not get done");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(run.try_wait().unwrap().is_none(), "the run must still be waiting for the hanging shader");
    run.kill().unwrap();
    run.wait().unwrap();
    let (code, json) = populate(dir.path(), &[]);
    assert_eq!((code, json["counts"]["already cached"].as_u64()), (Some(0), Some(3)));
}

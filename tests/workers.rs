//! A compiler that aborts, hangs, hoards memory or babbles costs one shader, and the run goes on.
#![cfg(all(feature = "cli", feature = "llvm"))]

use dovetail::cache::{Cache, Key, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::llvm::LlvmCompiler;
use dovetail::compile::request::{Module, StageRequest, default_wave};
use dovetail::keys;
use dovetail::target::{GfxIp, Stage};
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{AddressingModel, Capability, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel};
use std::path::Path;
use std::process::Command;

/// The smallest compute shader with this entry point.
fn shader(entry: &str) -> Vec<u8> {
    let mut b = dr::Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let ty = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, ty).unwrap();
    b.begin_block(None).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, entry, []);
    b.execution_mode(main, ExecutionMode::LocalSize, [64, 1, 1]);
    b.module().assemble().iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Key of the shader with this entry point, as `populate` asks for it.
fn key(entry: &str) -> Key {
    let request = StageRequest {
        target: GfxIp::Gfx1030,
        stage: Stage::Compute,
        module: Module::new(shader(entry)).unwrap().digest(),
        entry_point: entry.into(),
        specialization: Vec::new(),
        wave: default_wave(Stage::Compute, false),
        options: Default::default(),
        known: Default::default(),
    };
    keys::stage(&request, LlvmCompiler::new().id()).unwrap()
}

/// Runs `populate` over a folder; gives the exit code and result by shader name.
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
    one_shader_is_lost("hang", &["--deadline=3"], "timed_out: the compiler timed out");
}

#[test]
fn hunger_costs_one_shader() {
    one_shader_is_lost("hoard", &["--worker-memory=2048"], "failed: the compiler ran out of memory");
}

#[test]
fn babble_costs_one_shader() {
    one_shader_is_lost("babble", &[], "failed: the compiler gave a garbled answer");
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
    // The hanging shader holds one worker, the other one gets through the rest; a third process may look on.
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

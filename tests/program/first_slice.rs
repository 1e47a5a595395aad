//! End to end on foreign shaders: a compute kernel of llama.cpp and a pair of Qt's, from SPIR-V through the cache to
//! pipelines that load, linked in both layouts and compiled as a whole.

use crate::support;
use crate::support::root;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = "ggml/libggml-vulkan.soft_max_f32.comp.spv";
const PAIR: [&str; 2] = [
    "pyside6/libQt6Quick.qt-project.org_scenegraph_shaders_ng_distancefieldtext.vert.spv",
    "pyside6/libQt6Quick.qt-project.org_scenegraph_shaders_ng_distancefieldtext.frag.spv",
];

/// Standard output of a run that must succeed.
fn dovetail(dir: &Path, args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_dovetail")).current_dir(dir).args(args).output().expect("it starts");
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(out.status.success(), "{args:?}: {}\n{}\n{}", out.status, said[0], said[1]);
    said[0].clone()
}

/// A folder with the shaders of `names` in `in/`; `None` without the corpus.
fn folder(test: &str, names: &[&str]) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(dir.path().join("in")).expect("a folder");
    for name in names {
        let from = root().join("corpus").join(name);
        if !from.is_file() {
            support::without(test, &format!("there is no corpus/{name}: ./dev corpus --small fetches it"));
            return None;
        }
        std::fs::copy(&from, dir.path().join("in").join(file(name))).expect("a copy");
    }
    Some(dir)
}

fn file(name: &str) -> PathBuf {
    Path::new(name).file_name().expect("a name").into()
}

/// Compiles `in/`, links it in both layouts from the cache alone, and compiles it as a whole.
fn slice(dir: &Path, populate: &[&str], shaders: &[&str], loads: &str) {
    let compiled = dovetail(dir, &[&["populate", "in", "--cache", "c"], populate].concat());
    assert!(compiled.contains("100.0 %  compiled"), "{compiled}");
    let link = [&["link", "--state", "state.toml", "--cache", "c", "-o", "p.elf"], shaders].concat();
    for layout in ["adjacent", "chained"] {
        let said = dovetail(dir, &[&link[..], &["--no-compile", "--layout", layout]].concat());
        assert!(said.starts_with("linked "), "{said}");
        assert!(dovetail(dir, &["verify", "p.elf"]).contains(loads));
    }
    assert!(dovetail(dir, &[&link[..], &["--whole"]].concat()).starts_with("compiled whole "));
    assert!(dovetail(dir, &["verify", "p.elf"]).contains(loads));
}

#[test]
fn a_compute_kernel() {
    let Some(dir) = folder("first_slice::a_compute_kernel", &[KERNEL]) else { return };
    let dir = dir.path();
    // A row of 128 numbers per workgroup.
    std::fs::write(dir.join("spec.toml"), "[[module]]\nname = \"*\"\nvalues = { 0 = 128 }\n").expect("written");
    let kernel = format!("in/{}", file(KERNEL).display());
    let state = dovetail(dir, &["state", "template", &kernel]);
    let specialized = state
        .replace("# [[specialization]]", "[[specialization]]")
        .replace("# stage = \"compute\"\n# id = 0\n# value = 32", "stage = \"compute\"\nid = 0\nvalue = 128");
    assert_ne!(state, specialized);
    std::fs::write(dir.join("state.toml"), specialized).expect("written");
    slice(dir, &["--spec", "spec.toml"], &["--cs", &kernel], "loads (compute)");
}

#[test]
fn a_vertex_and_a_fragment_shader() {
    let Some(dir) = folder("first_slice::a_vertex_and_a_fragment_shader", &PAIR) else { return };
    let dir = dir.path();
    let [vs, fs] = PAIR.map(|name| format!("in/{}", file(name).display()));
    dovetail(dir, &["state", "template", &vs, &fs, "-o", "state.toml"]);
    slice(dir, &[], &["--vs", &vs, "--fs", &fs], "loads (vertex, fragment)");
}

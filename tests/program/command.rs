//! The program, and the modules of `testdata/golden`, which need no tool.

use crate::support::root;
use std::path::Path;
use std::process::{Command, Output};

/// The program in this folder.
pub fn dovetail(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dovetail")).current_dir(dir).args(args).output().expect("the program")
}

/// Standard error of a run.
pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Standard output of a run that must succeed.
pub fn good(dir: &Path, args: &[&str]) -> String {
    let out = dovetail(dir, args);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{args:?}: {}\n{text}\n{}", out.status, said(&out));
    text
}

/// Standard error of a run that must fail with this exit code.
pub fn refused(dir: &Path, args: &[&str], code: i32) -> String {
    let out = dovetail(dir, args);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {}", said(&out));
    said(&out)
}

pub const LINK: [&str; 9] =
    ["link", "--vs", "ui.vert.spv", "--fs", "ui.frag.spv", "--state", "state.toml", "--cache", "c"];

/// A folder with `ui.vert.spv`, `ui.frag.spv`, and their state in `state.toml`.
pub fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["ui.vert.spv", "ui.frag.spv"] {
        std::fs::copy(root().join("testdata/golden").join(name), dir.path().join(name)).expect("a module");
    }
    good(dir.path(), &["state", "template", "ui.vert.spv", "ui.frag.spv", "-o", "state.toml"]);
    dir
}

/// Compiles GLSL into `NAME.spv` of a folder; `None` if the compiler is missing.
#[must_use]
pub fn glsl(test: &str, dir: &Path, name: &str, source: &str) -> Option<()> {
    std::fs::write(dir.join(name), source).expect("a source");
    let module = crate::support::glsl(test, &dir.join(name), "vulkan1.1")?;
    std::fs::write(dir.join(format!("{name}.spv")), module).expect("a module");
    Some(())
}

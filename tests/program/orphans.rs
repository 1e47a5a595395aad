//! A command waits for every process it started before it exits.

use crate::{shaders, support};
use std::process::Command;

/// The children of this process, exited or not, by number and name.
fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        // Processes may exit meanwhile.
        let Ok(stat) = std::fs::read_to_string(entry.unwrap().path().join("stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(')') else { continue };
        if rest.split_whitespace().nth(1) == Some(me.as_str()) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn a_command_leaves_no_process_behind() {
    let test = "orphans::a_command_leaves_no_process_behind";
    if !support::alone(test) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = shaders::spirv(test, dir.path(), "gemm_f32.comp") else { return };
    // Orphans of our children become our children.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let runs: [&[&str]; 6] = [
        &["--jobs=2"],
        &["--fault=abort:main", "--cache=a"],
        &["--fault=hang:main", "--cache=h", "--deadline=1"],
        &["--fault=babble:main", "--cache=b"],
        &["--fault=hoard:main", "--cache=m", "--worker-memory=512"],
        &["--worker-memory=64", "--cache=s"],
    ];
    for run in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.env("XDG_CACHE_HOME", dir.path());
        let out = command.current_dir(dir.path()).arg("populate").arg(".").args(run).output().unwrap();
        assert!(out.status.code().is_some_and(|code| code <= 1), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(children(), Vec::<String>::new(), "{run:?}");
    }
}

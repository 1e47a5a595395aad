//! README's worked example and its section for drivers, followed word by word: their commands, with the program at the start
//! of docs/capi.md.

use crate::harness::PATIENCE;
use crate::library::Library;
use crate::support::root;
use rustix::process::{Pid, Signal};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The first block of commands after a heading.
fn commands<'t>(text: &'t str, heading: &str) -> &'t str {
    let section = text.split_once(heading).expect("the heading").1;
    section.split("```\n").nth(1).expect("a block of commands")
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a script");
}

/// A process group, of which nothing remains after this.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Usually nothing is left.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.0), Signal::KILL);
    }
}

/// A folder like a clone whose release build is done: `cargo` does nothing.
fn clone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["docs", "testdata"] {
        symlink(root().join(name), at(name)).expect("a link");
    }
    fs::create_dir_all(at("target/release")).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_dovetail"), at("target/release/dovetail")).expect("a link");
    fs::create_dir(at("bin")).expect("a folder");
    script(&at("bin/cargo"), "true");
    folder
}

/// The search path of a clone: its own programs first.
fn path(clone: &Path) -> String {
    format!("{}:{}", clone.join("bin").display(), std::env::var("PATH").expect("a path"))
}

#[test]
fn the_worked_example_works_as_it_is_written() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let commands = commands(&readme, "\n## A worked example\n");
    let folder = clone();
    let run = || {
        let mut shell = Command::new("bash");
        shell.current_dir(folder.path()).env("PATH", path(folder.path())).env_remove("CARGO_TARGET_DIR");
        let done = shell.args(["-e", "-c", commands]).output().expect("bash");
        let (said, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{}: {said}{log}", done.status);
        said.into_owned()
    };
    let first = run();
    let modules = fs::read_dir(root().join("testdata/golden")).expect("a folder").flatten();
    let modules = modules.filter(|file| file.path().extension().is_some_and(|e| e == "spv")).count();
    for (words, times) in
        [("  compiled\n", 1), ("linked ui.elf\n", 1), (" cache ", 2), ("ui.elf: loads (vertex, fragment)\n", 1)]
    {
        assert_eq!(first.matches(words).count(), times, "{words}: {first}");
    }
    assert!(first.starts_with(&format!("{modules} shaders in ")), "{first}");
    // What its comment promises.
    let second = run();
    assert!(second.contains("  already cached\n") && !second.contains("  compiled\n"), "{second}");
}

/// `dev` installs the libraries of this test.
#[test]
fn the_section_for_drivers_works_as_it_is_written() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let commands = commands(&readme, "\n## In a driver\n");
    for step in ["./dev capi --prefix", "cargo build --release"] {
        assert!(commands.contains(step), "{step}");
    }
    let folder = clone();
    let at = |name: &str| folder.path().join(name);
    let built = Library::built().shared_file();
    let built = built.parent().expect("a folder").display();
    script(&at("dev"), &format!("exec '{}' \"$@\" --built '{built}'", root().join("dev").display()));
    // The manual's program must also be free of warnings.
    script(&at("bin/cc"), "exec /usr/bin/cc -Wall -Wextra -pedantic -Werror \"$@\"");
    let mut shell = Command::new("timeout");
    shell.current_dir(folder.path()).env("PATH", path(folder.path())).env_remove("CARGO_TARGET_DIR");
    shell.arg(PATIENCE.as_secs().to_string()).args(["bash", "-e", "-c", commands]);
    // Files, because a service that the commands leave behind would hold the end of a pipe.
    let output = |name: &str| fs::File::create(at(name)).expect("a file");
    let mut shell = Group(shell.stdout(output("said")).stderr(output("log")).spawn().expect("timeout"));
    let done = shell.0.wait().expect("timeout");
    let read = |name: &str| fs::read_to_string(at(name)).expect("text");
    let (said, log) = (read("said"), read("log"));
    assert!(done.success(), "{done}: {said}{log}");
    let linked = |said: &str| said.contains("linked; generation 1\n") && said.contains("bytes for the GPU");
    assert!(linked(&said), "{said}{log}");
    // Without the service, from what it has stored before it ended.
    let begun = Instant::now();
    while at("serve.sock").exists() {
        assert!(begun.elapsed() < PATIENCE, "the service does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = commands.lines().find(|line| line.starts_with("./driver ")).expect("the program's command");
    let mut shell = Command::new("bash");
    shell.current_dir(folder.path()).env("LD_LIBRARY_PATH", at("installed/lib")).args(["-e", "-c", run]);
    let said = String::from_utf8(shell.output().expect("bash").stdout).expect("text");
    assert!(linked(&said), "{said}");
}

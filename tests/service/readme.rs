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

/// Standard output of commands in a clone, which must succeed.
fn run(folder: &Path, commands: &str) -> String {
    let mut shell = Command::new("bash");
    shell.current_dir(folder).env("PATH", path(folder)).env_remove("CARGO_TARGET_DIR");
    let done = shell.args(["-e", "-c", commands]).output().expect("bash");
    let (said, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{}: {said}{log}", done.status);
    said.into_owned()
}

#[test]
fn the_worked_example_works_as_it_is_written() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let commands = commands(&readme, "\n## A worked example\n");
    let folder = clone();
    let first = run(folder.path(), commands);
    let modules = fs::read_dir(root().join("testdata/golden")).expect("a folder").flatten();
    let modules = modules.filter(|file| file.path().extension().is_some_and(|e| e == "spv")).count();
    for (words, times) in
        [("  compiled\n", 1), ("linked ui.elf\n", 1), (" cache ", 2), ("ui.elf: loads (vertex, fragment)\n", 1)]
    {
        assert_eq!(first.matches(words).count(), times, "{words}: {first}");
    }
    assert!(first.starts_with(&format!("{modules} shaders in ")), "{first}");
    // What its comment promises.
    let second = run(folder.path(), commands);
    assert!(second.contains("  already cached\n") && !second.contains("  compiled\n"), "{second}");
}

#[test]
fn a_pack_of_one_machine_is_linked_from_on_another_as_it_is_written() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let commands = commands(&readme, "\n## Packs\n");
    let folder = clone();
    let at = |name: &str| folder.path().join(name);
    let (first, second) = commands.split_once("# 2.").expect("the second machine");
    let made = run(folder.path(), first);
    // Which compilers there are depends on how the program was built.
    let written = made.lines().find(|line| line.starts_with("  for gfx1030, gfx1033, by "));
    assert!(written.is_some_and(|line| line.contains("native ")), "{made}");
    // The other machine has what was sent to it, and no compiler's cache.
    fs::remove_dir_all(at("farm-cache")).expect("the farm's cache");
    fs::remove_file(at("farm.key")).expect("the secret key");
    let setting = first.lines().find(|line| line.starts_with("dovetail=")).expect("the program");
    let linked = run(folder.path(), &format!("{setting}\n#{second}"));
    for words in ["added golden 1, signed by ", "accepted: golden 1: ", "linked ui.elf\n"] {
        assert_eq!(linked.matches(words).count(), 1, "{words}: {linked}");
    }
    assert_eq!(linked.matches(" cache ").count(), 2, "{linked}");
    // Nothing was written beside the pack, and it is what was linked from.
    let names = |folder: &str| {
        let found = fs::read_dir(at(folder)).expect("a folder").map(|found| found.expect("a file").file_name());
        let mut names: Vec<String> = found.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names("installed"), ["packs"]);
    let packs = names("installed/packs");
    assert!(packs.len() == 3 && packs[0].starts_with("golden-1-") && packs[1..] == ["list", "list.lock"], "{packs:?}");
    let link = commands.lines().find(|line| line.starts_with("$dovetail link ")).expect("a link");
    let without = format!("{setting}\n{}", link.replace("--cache installed", "--cache empty"));
    let mut shell = Command::new("bash");
    let refused = shell.current_dir(folder.path()).args(["-c", &without]).output().expect("bash");
    assert_eq!(refused.status.code(), Some(4), "without the pack");
    // A temporary folder is deleted by its owner.
    run(folder.path(), "chmod -R u+w installed");
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

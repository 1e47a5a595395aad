//! The program's outputs with failures of the environment: full disks, closed pipes, limits, read-only media, damaged
//! caches.

use crate::{shaders, support};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DOVETAIL: &str = env!("CARGO_BIN_EXE_dovetail");
const LINK: [&str; 11] = [
    "link",
    "--vs",
    "in/ui.vert.spv",
    "--fs",
    "in/ui.frag.spv",
    "--state",
    "state.toml",
    "--cache",
    "c",
    "-o",
    "p.elf",
];

fn dovetail(dir: &Path, args: &[&str]) -> Output {
    Command::new(DOVETAIL).current_dir(dir).args(args).output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn good(dir: &Path, args: &[&str]) {
    let out = dovetail(dir, args);
    assert!(out.status.success(), "{args:?}: {}: {}", out.status, said(&out));
}

/// A folder with the shaders `in/`, their states, a filled cache `c`, and the pipelines `p.elf` and `k.elf`.
fn prepared(test: &str) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("in")).unwrap();
    for name in ["ui.vert", "ui.frag", "gemm_f32.comp"] {
        shaders::spirv(test, &dir.path().join("in"), name)?;
    }
    let dir_path = dir.path();
    good(dir_path, &["state", "template", "in/ui.vert.spv", "in/ui.frag.spv", "-o", "state.toml"]);
    good(dir_path, &["populate", "in", "--cache", "c"]);
    good(dir_path, &LINK);
    Some(dir)
}

/// Runs through a shell, which sets limits and redirects: `$0` is the program, `$@` its arguments.
fn shell(dir: &Path, script: &str, args: &[&str]) -> Output {
    Command::new("sh").current_dir(dir).args(["-c", script, DOVETAIL]).args(args).output().unwrap()
}

const PRINTING: [&[&str]; 9] = [
    &["populate", "in", "--cache", "c"],
    &["populate", "in", "--cache", "c", "--json"],
    &LINK,
    &["compile", "in/ui.vert.spv"],
    &["compile", "in/ui.vert.spv", "--dump", "upper", "--dump", "waits"],
    &["inspect", "p.elf"],
    &["verify", "--code", "p.elf"],
    &["verify", "--json", "p.elf"],
    &["state", "template", "in/ui.vert.spv", "in/ui.frag.spv"],
];

#[test]
fn an_output_that_cannot_be_written_is_an_error_with_a_code() {
    let Some(dir) = prepared("an_output_that_cannot_be_written_is_an_error_with_a_code") else { return };
    let dir = dir.path();
    for args in PRINTING {
        let out = shell(dir, "exec \"$0\" \"$@\" > /dev/full", args);
        assert_eq!(out.status.code(), Some(5), "{args:?}: {}", said(&out));
        assert!(said(&out).contains("standard output: ") && !said(&out).contains("panicked"), "{}", said(&out));

        let mut closed = Command::new(DOVETAIL);
        closed.current_dir(dir).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut closed = closed.spawn().unwrap();
        drop(closed.stdout.take());
        let out = closed.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(5), "{args:?}: {}", said(&out));
        assert!(!said(&out).contains("panicked"), "{}", said(&out));

        let out = shell(dir, "exec \"$0\" \"$@\" 2> /dev/full", args);
        assert_eq!(out.status.code(), Some(0), "{args:?}");
    }
    for args in [&["--help"][..], &["inspect", "absent.elf"]] {
        let out = shell(dir, "exec \"$0\" \"$@\" > /dev/full 2> /dev/full", args);
        assert!(out.status.code().is_some_and(|code| code != 101), "{args:?}: {}", out.status);
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let Some(dir) = prepared("a_file_is_written_whole_or_not_at_all") else { return };
    let dir = dir.path();
    fs::write(dir.join("inputs.toml"), shaders::UI_INPUTS).unwrap();
    let elf = fs::read(dir.join("p.elf")).unwrap();
    let writing: [(&[&str], &str); 5] = [
        (&["compile", "in/ui.vert.spv", "-o", "out/u.elf"], "out/u.elf"),
        (&["state", "template", "in/ui.vert.spv", "-o", "out/s.toml"], "out/s.toml"),
        (
            &["link", "--cs", "in/gemm_f32.comp.spv", "--state", "cs.toml", "--cache", "c", "-o", "out/k.elf"],
            "out/k.elf",
        ),
        (&["run", "p.elf", "--state", "state.toml", "--bindings", "inputs.toml", "-o", "out"], "out/target0.bin"),
        (&["corpus", "extract", "in", "-o", "out"], "out/index.json"),
    ];
    good(dir, &["state", "template", "in/gemm_f32.comp.spv", "-o", "cs.toml"]);
    for (args, file) in writing {
        let out_dir = dir.join("out");
        fs::create_dir(&out_dir).unwrap();
        // No file may grow at all, as on a full disk. The limit's signal would end the process.
        let out = shell(dir, "ulimit -f 0; exec \"$0\" \"$@\"", args);
        assert_eq!(out.status.code(), Some(5), "{args:?}: {}: {}", out.status, said(&out));
        assert!(said(&out).contains("out/"), "{}", said(&out));
        assert_eq!(fs::read_dir(&out_dir).unwrap().count(), 0, "{args:?} left something");
        // The old contents must remain.
        fs::write(dir.join(file), "before").unwrap();
        shell(dir, "ulimit -f 0; exec \"$0\" \"$@\"", args);
        assert_eq!(fs::read_to_string(dir.join(file)).unwrap(), "before", "{args:?}");
        good(dir, args);
        assert!(fs::metadata(dir.join(file)).unwrap().len() > 6, "{args:?}");
        fs::remove_dir_all(&out_dir).unwrap();
    }
    // A cache that cannot be written loses only its own entries.
    let out =
        shell(dir, "ulimit -f 100; exec \"$0\" \"$@\"", &[&LINK[..7], &["--cache", "full", "-o", "q.elf"]].concat());
    assert!(out.status.success() && fs::read(dir.join("q.elf")).unwrap() == elf, "{}", said(&out));
    let out = shell(dir, "ulimit -f 0; exec \"$0\" \"$@\"", &["populate", "in", "--cache", "new"]);
    assert_eq!(out.status.code(), Some(5), "{}", said(&out));
    assert!(said(&out).contains("File too large"), "{}", said(&out));
}

/// Runs with the folder `c` mounted read-only, which also stops root. `None` if the system does not allow mounting.
fn read_only(test: &str, dir: &Path, args: &[&str]) -> Option<Output> {
    let mount =
        "mount --bind c c && mount -o remount,ro,bind c && ! touch c/x 2> /dev/null || exit 99; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.current_dir(dir).args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, DOVETAIL]).args(args);
    match command.output() {
        Ok(out) if out.status.code() != Some(99) && !said(&out).starts_with("unshare: ") => Some(out),
        _ => {
            support::skip(test, "no mount in a user namespace");
            None
        }
    }
}

#[test]
fn a_cache_on_media_that_cannot_be_written_is_read() {
    let test = "a_cache_on_media_that_cannot_be_written_is_read";
    let Some(dir) = prepared(test) else { return };
    let dir = dir.path();
    let elf = fs::read(dir.join("p.elf")).unwrap();
    fs::remove_file(dir.join("p.elf")).unwrap();
    let Some(out) = read_only(test, dir, &[&LINK[..], &["--no-compile"]].concat()) else { return };
    assert!(out.status.success() && out.stderr.is_empty(), "{}", said(&out));
    assert!(fs::read(dir.join("p.elf")).unwrap() == elf);
    // What the cache lacks is compiled, and not stored.
    good(dir, &["state", "template", "in/gemm_f32.comp.spv", "-o", "cs.toml"]);
    let compute =
        ["link", "--cs", "in/gemm_f32.comp.spv", "--state", "cs.toml", "--cache", "c", "--no-unroll", "-o", "k.elf"];
    let out = read_only(test, dir, &compute).expect("it mounted before");
    assert!(out.status.success() && said(&out).contains("not stored: "), "{}", said(&out));
    assert!(said(&out).contains("Read-only file system"), "{}", said(&out));
    good(dir, &["verify", "k.elf"]);
    // Filling it fails before anything is compiled.
    let out = read_only(test, dir, &["populate", "in", "--cache", "c"]).expect("it mounted before");
    assert_eq!((out.status.code(), out.stdout.len()), (Some(5), 0), "{}", said(&out));
    assert!(said(&out).contains("Read-only file system"), "{}", said(&out));
}

#[test]
fn a_damaged_cache_costs_time_only() {
    let Some(dir) = prepared("a_damaged_cache_costs_time_only") else { return };
    let dir = dir.path();
    let elf = fs::read(dir.join("p.elf")).unwrap();
    let file = dir.join("c/lmdb/data.mdb");
    let whole = fs::read(&file).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    let half = whole.len() / 2;
    let damaged: [Vec<u8>; 8] = [
        Vec::new(),
        whole[..4096].to_vec(),
        whole[..half].to_vec(),
        whole[..whole.len() - 4096].to_vec(),
        flipped(16),
        flipped(4096 + 136),
        flipped(half / 4096 * 4096 + 12),
        vec![0xff; whole.len()],
    ];
    for (index, bytes) in damaged.iter().enumerate() {
        for command in [&LINK[..], &["populate", "in", "--cache", "c"]] {
            fs::remove_dir_all(dir.join("c")).unwrap();
            fs::create_dir_all(dir.join("c/lmdb")).unwrap();
            fs::write(&file, bytes).unwrap();
            let out = dovetail(dir, command);
            assert_eq!(out.status.code(), Some(0), "damage {index}: {command:?}: {}", said(&out));
            assert!(said(&out).lines().count() <= 1, "damage {index}: {}", said(&out));
            good(dir, &LINK);
            assert!(fs::read(dir.join("p.elf")).unwrap() == elf, "damage {index}: other bytes");
        }
    }
}

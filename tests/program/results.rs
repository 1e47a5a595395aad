//! Results on standard output (`-o -`), and reports as JSON (`--json`).

use crate::command::{LINK, dovetail, folder, good, refused, said};
use std::fs;

#[test]
fn a_result_goes_to_standard_output_and_the_report_to_standard_error() {
    let dir = folder();
    let dir = dir.path();
    let link = |out: &str| dovetail(dir, &[&LINK[..], &["-o", out]].concat());
    let to_file = link("p.elf");
    assert!(to_file.stdout.starts_with(b"linked p.elf"));
    let to_output = link("-");
    assert!(to_output.stdout == fs::read(dir.join("p.elf")).unwrap());
    assert!(said(&to_output).starts_with("linked standard output\n"), "{}", said(&to_output));

    good(dir, &["compile", "ui.vert.spv", "-o", "v.elf"]);
    let compiled = dovetail(dir, &["compile", "ui.vert.spv", "-o", "-", "--timings", "--dump", "lower"]);
    assert!(compiled.stdout == fs::read(dir.join("v.elf")).unwrap());
    assert!(said(&compiled).contains("; ---- lower\n") && said(&compiled).contains("phase "), "{}", said(&compiled));

    let template = ["state", "template", "ui.vert.spv", "ui.frag.spv"];
    let state = fs::read_to_string(dir.join("state.toml")).unwrap();
    assert_eq!(good(dir, &template), state);
    assert_eq!(good(dir, &[&template[..], &["-o", "-"]].concat()), state);
    assert!(!dir.join("-").exists());
    // Several files need a folder.
    for args in [&["run", "p.elf", "--bindings", "x.toml", "-o", "-"][..], &["corpus", "extract", ".", "-o", "-"]] {
        assert!(refused(dir, args, 2).contains("name a folder"), "{args:?}");
    }
    assert!(!dir.join("-").exists());
}

/// Every command that reports, with arguments that make it do so.
#[test]
fn every_report_can_be_json() {
    let dir = folder();
    let dir = dir.path();
    good(dir, &[&LINK[..], &["-o", "p.elf"]].concat());
    fs::write(dir.join("inputs.toml"), crate::shaders::UI_INPUTS).unwrap();
    fs::create_dir(dir.join("records")).unwrap();
    let reports: [(&[&str], i32); 14] = [
        (&["populate", "ui.vert.spv", "--cache", "c"], 0),
        (
            &[
                "link",
                "--vs",
                "ui.vert.spv",
                "--fs",
                "ui.frag.spv",
                "--state",
                "state.toml",
                "--cache",
                "c",
                "-o",
                "q.elf",
            ],
            0,
        ),
        (&["compile", "ui.vert.spv"], 0),
        (&["compile", "ui.vert.spv", "--timings"], 0),
        (&["inspect", "p.elf"], 0),
        (&["diff", "p.elf", "q.elf"], 0),
        (&["verify", "--code", "p.elf"], 0),
        (&["run", "p.elf", "--state", "state.toml", "--bindings", "inputs.toml", "--stats"], 0),
        (&["bisect", "ui.frag.spv"], 3),
        (&["state", "template", "ui.vert.spv"], 0),
        (&["corpus", "extract", "ui.vert.spv", "ui.frag.spv", "-o", "extracted"], 0),
        (&["corpus", "check", "extracted", "--cache", "c"], 0),
        (&["service", "poison", "list", "--cache", "records"], 0),
        (&["service", "poison", "clear", "--all", "--cache", "records"], 0),
    ];
    for (args, code) in reports {
        let out = dovetail(dir, &[args, &["--json"]].concat());
        assert_eq!(out.status.code(), Some(code), "{args:?}: {}", said(&out));
        let json: serde_json::Result<serde_json::Value> = serde_json::from_slice(&out.stdout);
        assert!(
            json.is_ok_and(|json| json.is_object() || json.is_array()),
            "{args:?}: {}",
            String::from_utf8_lossy(&out.stdout)
        );
    }
}

/// No command is forgotten: each that has no `--json` is listed here with the reason.
#[test]
fn commands_without_json_report_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let help = |path: &[&str]| good(dir.path(), &[path, &["--help"]].concat());
    let commands = |text: &str| -> Vec<String> {
        let list = text.split_once("Commands:\n").map_or("", |(_, list)| list).split("\n\n").next().unwrap_or_default();
        // Continued descriptions are indented further.
        let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help")
            .map(str::to_owned)
            .collect()
    };
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut without = Vec::new();
    while let Some(path) = open.pop() {
        let text = help(&path.iter().map(String::as_str).collect::<Vec<_>>());
        let inner = commands(&text);
        if inner.is_empty() && !text.contains("--json") {
            without.push(path.join(" "));
        }
        open.extend(inner.into_iter().map(|name| [&path[..], &[name]].concat()));
    }
    // It runs until it is stopped; `service status` reports.
    assert_eq!(without, ["serve"]);
}

#[test]
fn the_default_cache_is_that_of_the_service() {
    let dir = folder();
    let populate = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.path().join("caches"));
        String::from_utf8(command.args(["populate", "ui.vert.spv"]).output().expect("the program").stdout)
            .expect("text")
    };
    assert!(populate().contains("  compiled\n"));
    // docs/service.md
    assert!(dir.path().join("caches/dovetail/lmdb/data.mdb").exists());
    assert!(populate().contains("  already cached\n"));
}

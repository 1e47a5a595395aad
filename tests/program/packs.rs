//! `dovetail pack`: farms, updates, and packs that are refused.

use crate::command::{LINK, dovetail, folder, good, refused, said};
use std::fs;
use std::path::Path;
use std::process::Command;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A farm's cache of both shaders, and its pack.
fn farm(dir: &Path) {
    good(dir, &["pack", "key", "farm"]);
    good(dir, &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "farm"]);
    good(dir, &["pack", "create", "--cache", "farm", "--name", "game", "--version", "1", "-o", "game-1.pack"]);
    good(dir, &["pack", "sign", "game-1.pack", "--key", "farm.key"]);
}

#[test]
fn a_farm_of_two_workers_makes_the_pack_of_one() {
    let dir = folder();
    let dir = dir.path();
    farm(dir);
    for (worker, shader) in [("a", "ui.vert.spv"), ("b", "ui.frag.spv")] {
        good(dir, &["populate", shader, "--cache", worker]);
        let out = format!("{worker}.pack.zst");
        good(dir, &["pack", "create", "--cache", worker, "--name", worker, "--version", "7", "-o", &out]);
    }
    let merge = ["pack", "merge", "--name", "game", "--version", "1"];
    good(dir, &[&merge[..], &["b.pack.zst", "a.pack.zst", "-o", "merged.pack"]].concat());
    assert_eq!(fs::read(dir.join("merged.pack")).unwrap(), fs::read(dir.join("game-1.pack")).unwrap());
    // So the signature of one is that of the other.
    good(
        dir,
        &["pack", "verify", "merged.pack", "--signed", "--signature", "game-1.pack.minisig", "--trust", "farm.pub"],
    );
    let piped = dovetail(dir, &[&merge[..], &["a.pack.zst", "b.pack.zst", "-o", "-"]].concat());
    assert_eq!(piped.stdout, fs::read(dir.join("game-1.pack")).unwrap());
    // And a cache on it compiles nothing.
    good(dir, &["pack", "add", "merged.pack", "--unsigned", "--cache", "c"]);
    let summary = json(&good(dir, &["populate", "ui.vert.spv", "ui.frag.spv", "--cache", "c", "--json"]));
    assert_eq!(summary["counts"], serde_json::json!({ "already cached": 2 }), "{summary}");
}

#[test]
fn an_update_is_small_and_exact() {
    let dir = folder();
    let dir = dir.path();
    farm(dir);
    good(dir, &["populate", "ui.vert.spv", "ui.frag.spv", "--no-unroll", "--cache", "farm"]);
    let create = ["pack", "create", "--cache", "farm", "--name", "game", "--version", "2", "--json", "-o"];
    let made = json(&good(dir, &[&create[..], &["game-2.pack"]].concat()));
    // Other options, the same code.
    assert!(made["keys"].as_u64() > made["payloads"].as_u64(), "{made}");
    let diff = ["pack", "diff", "game-1.pack", "game-2.pack", "-o", "update.dvd", "--json"];
    let difference = json(&good(dir, &diff));
    assert_eq!(
        (&difference["dropped"], &difference["added"], &difference["payload_bytes"]),
        (&0.into(), &2.into(), &0.into())
    );
    good(dir, &["pack", "apply", "game-1.pack", "update.dvd", "-o", "again.pack"]);
    assert_eq!(fs::read(dir.join("again.pack")).unwrap(), fs::read(dir.join("game-2.pack")).unwrap());
    assert!(refused(dir, &["pack", "apply", "game-2.pack", "update.dvd", "-o", "x"], 2).contains("this delta is for"));
    assert!(!dir.join("x").exists());
    let listed = json(&good(dir, &["pack", "list", "game-1.pack", "game-2.pack", "--json"]));
    assert_eq!(listed[1]["root"], made["root"]);
    let wrong = listed[0]["root"].as_str().unwrap();
    assert!(refused(dir, &["pack", "verify", "game-2.pack", "--root", wrong], 2).contains("its root is"));
}

#[test]
fn what_is_not_accepted_says_why_and_what_would_be() {
    let dir = folder();
    let dir = dir.path();
    farm(dir);
    let add = |more: &[&'static str]| [&["pack", "add", "--cache", "c"], more].concat();
    assert!(refused(dir, &add(&["game-1.pack"]), 5).contains("put the public key (*.pub) into"));
    fs::create_dir(dir.join("trust")).unwrap();
    fs::copy(dir.join("farm.pub"), dir.join("trust/farm.pub")).unwrap();
    // Of another name, because its signature is not there.
    fs::copy(dir.join("game-1.pack"), dir.join("copy.pack")).unwrap();
    assert!(refused(dir, &add(&["copy.pack", "--trust", "trust"]), 5).contains("add it with --unsigned"));
    let bytes = fs::read(dir.join("game-1.pack")).unwrap();
    let mut broken = bytes.clone();
    broken[100] ^= 4;
    fs::write(dir.join("copy.pack"), &broken).unwrap();
    assert!(refused(dir, &add(&["copy.pack", "--unsigned"]), 2).contains("copy.pack"));
    let out = dovetail(dir, &["pack", "verify", "copy.pack"]);
    assert_eq!(out.status.code(), Some(1), "{}", said(&out));
    assert!(String::from_utf8_lossy(&out.stdout).contains("damaged: key "));
    fs::write(dir.join("copy.pack"), &bytes[..bytes.len() - 9]).unwrap();
    assert!(refused(dir, &["pack", "verify", "copy.pack"], 2).contains("copy it again"));
    assert!(refused(dir, &["pack", "verify", "ui.vert.spv"], 2).contains("not a pack"));
    assert!(
        refused(dir, &["pack", "create", "--cache", "none", "--name", "a", "--version", "1", "-o", "x"], 5)
            .contains("populate")
    );
    assert!(refused(dir, &["pack", "create", "--name", "A/b", "--version", "1", "-o", "x"], 2).contains("a-z"));
    good(dir, &add(&["game-1.pack", "--trust", "trust"]));
    good(dir, &["pack", "create", "--cache", "farm", "--name", "game", "--version", "0", "-o", "game-0.pack"]);
    good(dir, &["pack", "sign", "game-0.pack", "--key", "farm.key"]);
    assert!(refused(dir, &add(&["game-0.pack", "--trust", "trust"]), 5).contains("--downgrade"));
    good(dir, &add(&["game-0.pack", "--trust", "trust", "--downgrade"]));
    // A pack that is damaged later is named, and what it had is missing.
    let listed = json(&good(dir, &["pack", "list", "--cache", "c", "--json"]));
    let path = dir.join(listed[0]["path"].as_str().unwrap());
    fs::write(&path, &broken).unwrap();
    assert_eq!(dovetail(dir, &["pack", "list", "--cache", "c"]).status.code(), Some(1));
    let missing = refused(dir, &[&LINK[..], &["-o", "p.elf", "--no-compile"]].concat(), 4);
    assert!(missing.contains("not the pack that was added"), "{missing}");
    good(dir, &["pack", "remove", "game", "--cache", "c"]);
    assert!(refused(dir, &["pack", "remove", "game", "--cache", "c"], 5).contains("no pack `game`"));
}

#[test]
fn a_withdrawn_pack_is_left_out_by_the_next_command() {
    let dir = folder();
    let dir = dir.path();
    farm(dir);
    let trust = dir.join("config/dovetail/trust");
    fs::create_dir_all(&trust).unwrap();
    fs::copy(dir.join("farm.pub"), trust.join("farm.pub")).unwrap();
    let run = |args: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        program.current_dir(dir).env("XDG_CONFIG_HOME", dir.join("config")).args(args).output().expect("the program")
    };
    let link = [&LINK[..], &["-o", "p.elf", "--no-compile"]].concat();
    assert!(run(&["pack", "add", "game-1.pack", "--cache", "c"]).status.success());
    assert!(run(&link).status.success());
    let root = json(&good(dir, &["pack", "list", "game-1.pack", "--json"]))[0]["root"].as_str().unwrap().to_owned();
    let list = trust.join("farm.withdrawn.toml");
    fs::write(&list, format!("roots = [\"{root}\"]\n")).unwrap();
    assert_eq!(run(&link).status.code(), Some(5), "a list without a signature");
    good(dir, &["pack", "sign", list.to_str().unwrap(), "--key", "farm.key"]);
    let out = run(&link);
    assert!(out.status.code() == Some(4) && said(&out).contains("its signer has withdrawn it"), "{}", said(&out));
    // Also for drivers, which check no signature.
    assert!(fs::read_to_string(dir.join("c/packs/list")).unwrap().contains("\nwithdrawn "));
    let out = run(&["pack", "add", "game-1.pack", "--cache", "c"]);
    assert!(out.status.code() == Some(5) && said(&out).contains("withdrawn"), "{}", said(&out));
}

#[test]
fn every_command_of_packs_teaches() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["create", "merge", "diff", "apply", "verify", "key", "sign", "add", "remove", "list"] {
        let help = good(dir.path(), &["pack", command, "--help"]);
        assert!(help.contains("Example") && help.contains("--json"), "{help}");
    }
}

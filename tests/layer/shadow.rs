//! Checks the dispatches that the layer saves, with inputs and results, against the application's, and replays them.

use crate::cases::Case;
use crate::support::{glsl, root};
use crate::vulkan::{Lavapipe, Shader};
use crate::{ABORT, APPLICATION, Scenery};
use dovetail::emu::inputs::Inputs;
use dovetail::proof::{Bundle, Outputs};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The application that dispatches [`FOLLOWED`] and [`REFUSED`].
pub const CASES: &str = "cases";

/// The application of `dispatches.rs`.
pub const DISPATCHES: &str = "dispatches";

/// Coverage cases with all kinds of resources.
const FOLLOWED: &[&str] = &[
    "block_compressed",
    "buffers",
    "depth_and_stencil",
    "descriptor_arrays",
    "image_operands",
    "image_shapes",
    "images",
    "numbers_of_the_dispatch",
    "samplers_apart",
    "specialization",
    "storage_8_16",
    "subgroup_unused",
];
/// Cases that cannot be followed, with the reasons.
const REFUSED: &[(&str, &str)] =
    &[("physical_pointers", "buffer device addresses"), ("subgroup_votes", "subgroups of another size")];

/// A case, and its SPIR-V, if it was compiled for the application.
fn case(name: &str, folder: &Path) -> (Case, PathBuf) {
    let source = std::fs::read_to_string(root().join(format!("testdata/coverage/{name}.comp"))).expect("a case");
    (Case::new(name, &source), folder.join(format!("{name}.spv")))
}

fn names() -> impl Iterator<Item = &'static str> {
    FOLLOWED.iter().copied().chain(REFUSED.iter().map(|(name, _)| *name))
}

/// The application: dispatches every case; the output shows the results.
pub fn cases(folder: &Path) -> String {
    let vulkan = Lavapipe::get().expect("lavapipe");
    let run = |name: &str| {
        let (case, path) = case(name, folder);
        let module = std::fs::read(path).expect("a shader");
        vulkan.compute(Shader { module: &module, entry: "main", spec: &case.spec }, &case.inputs(1)).bindings
    };
    let left: BTreeMap<&str, Vec<Vec<u8>>> = names().map(|name| (name, run(name))).collect();
    serde_json::to_string(&left).expect("JSON")
}

pub fn replay(bundle: &Path) -> (Option<i32>, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_dovetail")).arg("replay").arg(bundle).output().expect("dovetail");
    (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

/// Compares a dispatch's bundle with the application's inputs and results.
fn compare(bundle: &Bundle, name: &str, given: &Inputs, left: &[Vec<u8>]) {
    let (seen, Outputs { bindings: results, .. }) = (&bundle.inputs, &bundle.expected);
    assert_eq!(seen.grid, given.grid, "{name}");
    assert!(seen.push_constants.0.starts_with(&given.push_constants.0), "{name}");
    for (binding, result) in seen.bindings.iter().zip(results) {
        let slot = binding.slot();
        let n = given.bindings.iter().position(|one| one.slot() == slot).expect("a binding that was given");
        assert_eq!(binding, &given.bindings[n], "{name}: {slot:?} before");
        assert!(binding.bound.writable().is_none() || result == &left[n], "{name}: {slot:?} after");
    }
    let written =
        given.bindings.iter().zip(left).filter(|(b, after)| b.bound.writable().is_some_and(|d| d.0 != **after));
    for (binding, _) in written {
        assert!(seen.bindings.contains(binding), "{name}: {:?} was written", binding.slot());
    }
}

/// The summary of a shadow, and its bundles.
pub fn read(folder: &Path) -> (Value, Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a folder").path());
    let (mut bundles, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    bundles.sort();
    let [summary] = &files[..] else { panic!("{files:?}") };
    (serde_json::from_slice(&std::fs::read(summary).expect("a summary")).expect("JSON"), bundles)
}

#[test]
fn dispatches_are_saved_with_what_was_given_and_what_came_of_it() {
    const NAME: &str = "dispatches_are_saved_with_what_was_given_and_what_came_of_it";
    let Some(stage) = Scenery::set(NAME) else { return };
    for name in names() {
        let source = root().join(format!("testdata/coverage/{name}.comp"));
        let Some(module) = glsl(NAME, &source, &case(name, stage.dir.path()).0.target) else { return };
        std::fs::write(stage.path(&format!("{name}.spv")), module).expect("a shader");
    }
    let plain = stage.run(&[(APPLICATION, CASES)]);
    assert_eq!(stage.layered(&[(APPLICATION, CASES), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let left: BTreeMap<String, Vec<Vec<u8>>> = serde_json::from_str(&plain.0).expect("what it left");

    let (summary, bundles) = read(&stage.path("shadow"));
    let summary = &summary["dispatches"];
    let reasons: BTreeMap<&str, u64> = REFUSED.iter().map(|(_, reason)| (*reason, 1)).collect();
    assert_eq!(summary["reasons"], serde_json::json!(reasons), "{summary}");
    assert_eq!((&summary["written"], &summary["pending"]), (&FOLLOWED.len().into(), &0.into()), "{summary}");
    assert_eq!(bundles.len(), FOLLOWED.len());
    let modules: BTreeMap<Vec<u8>, &str> =
        names().map(|name| (std::fs::read(stage.path(&format!("{name}.spv"))).expect("a shader"), name)).collect();
    for path in &bundles {
        let bundle = Bundle::load(path).expect("a bundle");
        let name = modules[bundle.modules[0].bytes()];
        compare(&bundle, name, &case(name, stage.dir.path()).0.inputs(1), &left[name]);
        let (code, says) = replay(path);
        assert_eq!(code, Some(0), "{name}: {says}");
    }
    // The summary of a killed application counts every bundle in the folder.
    let killed = [(APPLICATION, CASES), (ABORT, "1"), ("DOVETAIL_LAYER_SHADOW", "killed")];
    assert_eq!(stage.layered(&killed), (plain.0, false));
    let (summary, saved) = read(&stage.path("killed"));
    assert_eq!((&summary["dispatches"]["written"], saved.len()), (&saved.len().into(), bundles.len()));
    let wrong = bundles.iter().find(|path| path.join("expected/set0-binding1-0.bin").is_file()).expect("a result");
    spoil(&wrong.join("expected/set0-binding1-0.bin"));
    let (code, says) = replay(wrong);
    assert!(code == Some(6) && says.contains("set 0, binding 1 at byte"), "{code:?} {says}");
}

/// Changes the first nonzero value: a value that is never written would agree with anything.
pub fn spoil(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a result");
    let byte = bytes.iter_mut().find(|byte| **byte != 0).expect("a result that is not zero");
    *byte ^= 0x55;
    std::fs::write(path, bytes).expect("a result");
}

/// The number of a bundle's case in `dispatches.rs` or `draw_application.rs`.
pub fn number(bundle: &Bundle) -> u64 {
    bundle.state.specialization.iter().map(|entry| entry.value).next().expect("a constant")
}

#[test]
fn what_cannot_be_followed_is_counted_and_stays_as_it_is() {
    const NAME: &str = "what_cannot_be_followed_is_counted_and_stays_as_it_is";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, DISPATCHES)]);
    assert!(plain.1);
    assert_eq!(stage.layered(&[(APPLICATION, DISPATCHES), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let (summary, bundles) = read(&stage.path("shadow"));
    let summary = &summary["dispatches"];
    let expected = serde_json::json!({
        "all": 16, "passed_over": 1, "pending": 0, "written": 9, "bytes": summary["bytes"],
        "reasons": {
            "conditional rendering": 1,
            "not submitted": 1,
            "resources that share memory": 1,
            "submitted again before it was read": 1,
            "update after bind": 1,
            "workgroups that do not begin at 0": 1,
        },
    });
    assert_eq!(summary, &expected);
    let left: Vec<Vec<u32>> = serde_json::from_str(&plain.0).expect("numbers");
    let mut seen = Vec::new();
    for path in &bundles {
        let bundle = Bundle::load(path).expect("a bundle");
        let case = number(&bundle);
        seen.push((case, bundle.manifest.seed));
        let (code, says) = replay(path);
        assert_eq!(code, Some(0), "{case}: {says}");
        // Later changes to the same buffer are in no bundle.
        if ![3, 6].contains(&case) {
            let result: Vec<u8> = left[case as usize - 1].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bundle.expected.bindings[2], result, "{case}");
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (5, 1), (6, 1), (9, 1), (14, 1)]);
}

#[test]
fn limits_hold() {
    const NAME: &str = "limits_hold";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, DISPATCHES)]);
    for (limit, written, over) in [("MIB", 0, 12), ("MOST", 0, 0), ("EACH", 0, 0)] {
        let name = format!("DOVETAIL_LAYER_SHADOW_{limit}");
        let given = [(APPLICATION, DISPATCHES), ("DOVETAIL_LAYER_SHADOW", limit), (&name, "0")];
        assert_eq!(stage.layered(&given), plain);
        let (summary, bundles) = read(&stage.path(limit));
        let summary = &summary["dispatches"];
        assert_eq!((bundles.len(), &summary["written"]), (0, &written.into()), "{summary}");
        let found = summary["reasons"].get("over the limit of bytes").and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(found, over, "{summary}");
    }
    // A folder that cannot be created.
    std::fs::write(stage.path("file"), b"no folder").expect("a file");
    assert_eq!(stage.layered(&[(APPLICATION, DISPATCHES), ("DOVETAIL_LAYER_SHADOW", "file/shadow")]), plain);
}

//! Pairs of a vertex and a fragment shader, with inputs made from their declarations: every pipeline draws the same on
//! the emulator as on lavapipe.
//!
//! With `DOVETAIL_PAIRS` set, all pairs of the extracted corpora whose names contain its value are compared too, and
//! each outcome is printed; `DOVETAIL_PAIRS_IN` names another folder with an extracted corpus.

use crate::chosen::ChosenCompiler;
use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::compile::request::Module;
use dovetail::proof::{Case, Fate, Judge, Report, Spirv, Tools, compute, pair};
use dovetail::target::Gpu;
use std::collections::BTreeMap;

fn judged(vulkan: &Lavapipe, vertex: &[u8], fragment: &[u8]) -> Report {
    let [vertex, fragment] = [vertex, fragment].map(|module| Spirv { module, entry: "main", spec: &[] });
    let tools = Tools {
        target: Gpu::default(),
        compiler: &ChosenCompiler::new(),
        options: &Default::default(),
        judge: vulkan,
        budget: Default::default(),
        on_difference: &|_| (),
    };
    pair(&vertex, &fragment, &tools)
}

fn computed(vulkan: &Lavapipe, module: Vec<u8>) -> Report {
    let module = Module::new(module).expect("a module");
    let tools = Tools {
        target: Gpu::default(),
        compiler: &ChosenCompiler::new(),
        options: &Default::default(),
        judge: vulkan,
        budget: Default::default(),
        on_difference: &|_| (),
    };
    compute(&Case { module: &module, entry: "main", spec: &[], choices: &[] }, &tools)
}

/// Compares pairs of GLSL files; fails with those that do not agree.
fn agree(test: &str, pairs: &[(&str, &str)], fates: &[Fate]) {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let dir = root().join("testdata");
    let mut failed = Vec::new();
    for (vertex, fragment) in pairs {
        let read = |name: &str| glsl(test, &dir.join(name), "vulkan1.2");
        let (Some(a), Some(b)) = (read(vertex), read(fragment)) else { return };
        let report = judged(vulkan, &a, &b);
        eprintln!("{vertex}, {fragment}: {report:?}");
        if !fates.contains(&report.fate) || report.same_as_whole != Some(true) {
            failed.push(format!("{vertex}, {fragment}: {}: {}", report.fate, report.reason));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn pairs_agree() {
    let pairs = [
        ("shaders/ui.vert", "shaders/ui.frag"),
        ("draws/varied.vert", "draws/varied.frag"),
        ("draws/skin.vert", "draws/skin.frag"),
        ("draws/halves.vert", "draws/halves.frag"),
    ];
    agree("reflected_pairs::pairs_agree", &pairs, &[Fate::Agreed]);
    // Lavapipe 22.3 does not have VK_EXT_mutable_descriptor_type.
    agree("reflected_pairs::pairs_agree", &[("draws/heap.vert", "draws/heap.frag")], &[Fate::AgreedWithInterpreter]);
}

/// A scene in front of the eye is found whatever the position is computed from: matrices as structures of columns or
/// rows, quaternions, nodes by address, blocks declared as words, points whose size depends on the distance.
#[test]
fn scenes_are_found_by_evaluation() {
    let shaded = ["columns", "rows", "quaternion", "addressed"].map(|v| format!("pairs/{v}.vert"));
    let mut pairs: Vec<(&str, &str)> = shaded.iter().map(|v| (v.as_str(), "pairs/shaded.frag")).collect();
    pairs.push(("pairs/particles.vert", "pairs/particles.frag"));
    pairs.push(("pairs/words.vert", "pairs/words.frag"));
    agree("reflected_pairs::scenes_are_found_by_evaluation", &pairs, &[Fate::Agreed]);
}

/// Only the interpreter can check these: lavapipe lacks such attachments, or the capability.
#[test]
fn contents_are_made_for_what_lavapipe_cannot_run() {
    let pairs = ["attached", "weighed", "vertices"].map(|f| ("pairs/columns.vert", format!("pairs/{f}.frag")));
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(v, f)| (*v, f.as_str())).collect();
    agree("reflected_pairs::contents_are_made_for_what_lavapipe_cannot_run", &pairs, &[Fate::AgreedWithInterpreter]);
}

/// Distances that a fragment shader reads; textures from arrays, selected by values that must be in range.
#[test]
fn contents_are_made() {
    let test = "reflected_pairs::contents_are_made";
    agree(test, &[("pairs/cut.vert", "pairs/cut.frag")], &[Fate::Agreed]);
    // Lavapipe lacks arrays without a length, but gets some scenes right.
    let either = [Fate::Agreed, Fate::AgreedWithInterpreter];
    agree(test, &[("pairs/columns.vert", "pairs/chosen.frag")], &either);
}

/// Parts that leave loads and results to each other: attributes that a body reads late or not at all, results that stay in the registers
/// of other values, that are constants, or that several exports share.
#[test]
fn joints_keep_what_parts_leave() {
    agree("reflected_pairs::joints_keep_what_parts_leave", &[("pairs/late.vert", "pairs/kept.frag")], &[Fate::Agreed]);
}

/// The same for compute shaders: descriptors of arrays, texels of three channels, and addresses in two words.
#[test]
fn contents_are_made_for_compute_shaders() {
    let test = "reflected_pairs::contents_are_made_for_compute_shaders";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    for name in ["chosen", "halves"] {
        let path = root().join("testdata/pairs").join(name).with_extension("comp");
        let Some(module) = glsl(test, &path, "vulkan1.2") else { return };
        let report = computed(vulkan, module);
        assert_eq!(report.fate, Fate::Agreed, "{name}: {}", report.reason);
    }
}

/// An array without a length, which lavapipe does not advertise: a difference is not counted, and the feature is named.
#[test]
fn nobody_is_held_to_what_the_driver_lacks() {
    let test = "reflected_pairs::nobody_is_held_to_what_the_driver_lacks";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let Some(module) = glsl(test, &root().join("testdata/pairs/heap.comp"), "vulkan1.2") else { return };
    let lack = vulkan.lacks(&Spirv { module: &module, entry: "main", spec: &[] });
    let report = computed(vulkan, module);
    let Some(lack) = lack else {
        return assert_eq!(report.fate, Fate::Agreed, "{}", report.reason);
    };
    assert!(lack.contains("runtimeDescriptorArray"), "{lack}");
    match report.fate {
        Fate::Agreed => {}
        fate => assert_eq!((fate, report.reason), (Fate::AgreedWithInterpreter, lack)),
    }
}

#[test]
fn pairs_of_the_corpus() {
    let test = "reflected_pairs::pairs_of_the_corpus";
    let Ok(only) = std::env::var("DOVETAIL_PAIRS") else { return };
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    let folders = match std::env::var_os("DOVETAIL_PAIRS_IN") {
        Some(folder) => vec![folder.into()],
        None => ["warzone2100", "pyside6"].map(|source| root().join("corpus").join(source)).to_vec(),
    };
    for dir in folders {
        let Ok(list) = std::fs::read_to_string(dir.join("pairs.tsv")) else { continue };
        for line in list.lines().skip(1).filter(|line| line.contains(&only)) {
            let [_, vertex, fragment] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
            let [a, b] = [vertex, fragment].map(|name| std::fs::read(dir.join(name)).expect("a module"));
            let start = std::time::Instant::now();
            let report = judged(vulkan, &a, &b);
            let milliseconds = start.elapsed().as_millis();
            let short = |name: &str| name.trim_end_matches(".spv").rsplit('_').next().unwrap_or_default().to_owned();
            *fates.entry(report.fate).or_default() += 1;
            println!(
                "{}\t{}\t{}\t{:?}\t{:?}\t{}\t{}\t{vertex}\t{fragment}",
                report.fate,
                short(vertex),
                milliseconds,
                report.same_as_whole,
                report.same_bytes,
                report.floats,
                report.reason
            );
        }
    }
    println!("{fates:?}");
}

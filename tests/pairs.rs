//! Pairs of a vertex and a fragment shader, with inputs made from what they declare: every pipeline of them draws on the
//! emulator what lavapipe draws.
//!
//! With `DOVETAIL_PAIRS` set, all pairs of the extracted corpora whose names contain its value are judged too, and what
//! became of each is printed.
#![cfg(feature = "llvm")]

mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use dovetail::compile::llvm::LlvmCompiler;
use dovetail::proof::{Fate, Report, Spirv, Tools, pair};
use std::collections::BTreeMap;
use support::{glsl, root};
use vulkan::Lavapipe;

fn judged(vulkan: &Lavapipe, vertex: &[u8], fragment: &[u8]) -> Report {
    let [vertex, fragment] = [vertex, fragment].map(|module| Spirv { module, entry: "main", spec: &[] });
    let tools =
        Tools { compiler: &LlvmCompiler::new(), judge: vulkan, budget: Default::default(), on_difference: &|_| () };
    pair(&vertex, &fragment, &tools)
}

#[test]
fn pairs_agree() {
    let test = "pairs::pairs_agree";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let dir = root().join("testdata");
    let mut failed = Vec::new();
    for (vertex, fragment, fate) in [
        ("shaders/ui.vert", "shaders/ui.frag", Fate::Agreed),
        ("draws/varied.vert", "draws/varied.frag", Fate::Agreed),
        ("draws/skin.vert", "draws/skin.frag", Fate::Agreed),
        ("draws/halves.vert", "draws/halves.frag", Fate::Agreed),
        // Lavapipe 22.3 does not have VK_EXT_mutable_descriptor_type.
        ("draws/heap.vert", "draws/heap.frag", Fate::AgreedWithInterpreter),
    ] {
        let read = |name: &str| glsl(test, &dir.join(name), "vulkan1.1");
        let (Some(a), Some(b)) = (read(vertex), read(fragment)) else { return };
        let report = judged(vulkan, &a, &b);
        eprintln!("{vertex}, {fragment}: {report:?}");
        if report.fate != fate || report.same_as_whole != Some(true) {
            failed.push(format!("{vertex}, {fragment}: {}: {}", report.fate, report.reason));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn pairs_of_the_corpus() {
    let test = "pairs::pairs_of_the_corpus";
    let Ok(only) = std::env::var("DOVETAIL_PAIRS") else { return };
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    for source in ["warzone2100", "pyside6"] {
        let dir = root().join("corpus").join(source);
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

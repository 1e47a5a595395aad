//! Broken IR text never causes a panic: parser, verifier and, on accepted text, every pass.

use dovetail::compile::passes::{PASSES, Pass, PassContext};
use dovetail::compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions};
use dovetail::ir::parse::parse;
use dovetail::ir::uniform::Uniformity;
use dovetail::ir::verify::{verify, verify_between};
use dovetail::ir::{Shader, ShaderLevel};
use dovetail::target::{Gpu, WaveSize};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// The texts of all file cases.
fn seeds() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/ir");
    let mut seeds = Vec::new();
    for area in fs::read_dir(root).expect("the test data folder") {
        for case in fs::read_dir(area.expect("an area").path()).expect("an area").map(|e| e.expect("a case").path()) {
            let text = fs::read_to_string(case).expect("a readable case");
            seeds.push(
                text.split("; STATE\n")
                    .next()
                    .and_then(|t| t.split("; EXPECT\n").next())
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
    }
    seeds.sort();
    seeds
}

/// A mutation. It works on words, because most texts with changed words still parse.
#[derive(Clone, Debug)]
enum Change {
    DropLine(usize),
    CopyLine(usize, usize),
    CopyWord(usize, usize),
    Byte(usize, u8),
    Cut(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let n = 0usize..4096;
    prop_oneof![
        n.clone().prop_map(Change::DropLine),
        (n.clone(), n.clone()).prop_map(|(a, b)| Change::CopyLine(a, b)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Change::CopyWord(a, b)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Change::CopyWord(a, b)),
        (n.clone(), any::<u8>()).prop_map(|(a, b)| Change::Byte(a, b)),
        n.prop_map(Change::Cut),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<&str> = text.split(' ').collect();
    match *change {
        Change::DropLine(i) if !lines.is_empty() => {
            let at = i % lines.len();
            lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, l)| format!("{l}\n")).collect()
        }
        Change::CopyLine(from, to) if !lines.is_empty() => {
            let mut lines = lines.clone();
            lines.insert(to % lines.len(), lines[from % lines.len()]);
            lines.join("\n")
        }
        Change::CopyWord(from, to) => {
            let mut words = words.clone();
            let (from, to) = (from % words.len(), to % words.len());
            words[to] = words[from];
            words.join(" ")
        }
        Change::Byte(at, byte) if !text.is_empty() => {
            let mut bytes = text.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Change::Cut(at) => text.chars().take(at).collect(),
        _ => text.to_owned(),
    }
}

/// A request without known state.
fn unknown(shader: &Shader, wave: WaveSize) -> StageRequest {
    StageRequest {
        target: Gpu::Gfx1030,
        stage: shader.stage,
        module: ModuleDigest([0; 32]),
        entry_point: String::new(),
        specialization: Vec::new(),
        wave,
        options: TuningOptions::default(),
        known: KnownState::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn broken_text_is_refused_or_read(seed in 0usize..4096, changes in prop::collection::vec(change(), 1..4)) {
        static SEEDS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(seeds);
        let seeds = &*SEEDS;
        let text = changes.iter().fold(seeds[seed % seeds.len()].clone(), |text, c| apply(&text, c));
        let Ok(shader) = parse(&text) else { return Ok(()) };
        let printed = shader.to_string();
        let again = parse(&printed).map(|s| s.to_string());
        prop_assert_eq!(again.as_ref(), Ok(&printed));
        let whole = verify(&shader).is_ok() && shader.level == ShaderLevel::Upper;
        if verify_between(&shader).is_err() {
            return Ok(());
        }
        let _ = Uniformity::of(&shader);
        for (name, pass) in PASSES {
            for wave in [WaveSize::W32, WaveSize::W64] {
                let mut shader = shader.clone();
                let done = match pass {
                    Pass::Plain(pass) => pass(&mut shader, wave),
                    Pass::Gpu(pass) => pass(&mut shader, Gpu::default().facts()),
                    Pass::Known(_) => continue,
                };
                if done.is_ok() {
                    let verified = verify_between(&shader);
                    prop_assert!(verified.is_ok(), "after {}: {:?}\n{}", name, verified, shader);
                }
            }
        }
        if whole {
            let request = unknown(&shader, WaveSize::W32);
            let mut cx = PassContext::new(&request).expect("nothing that could be wrong");
            let mut shader = shader;
            for (name, pass) in PASSES {
                if pass.run(&mut shader, &mut cx).is_err() {
                    break;
                }
                let verified = verify_between(&shader);
                prop_assert!(verified.is_ok(), "after {}: {:?}\n{}", name, verified, shader);
            }
        }
    }
}

//! What stages are told and what they tell: pairs of `testdata/stages` drawn by linked and whole pipelines on the emulator,
//! and by lavapipe.
//!
//! The fragment shader's header has what to draw: `// draw TOPOLOGY VERTICES [INSTANCES FIRST_VERTEX FIRST_INSTANCE]`,
//! `// indices N…`, `// depth COMPARE CLEAR`, `// extent WIDTH HEIGHT` (32 32), `// attachment FORMAT` by location,
//! `// alike: WHY` lavapipe is not asked, the first two attachments must be the same; `// edges N` pixels that may differ (12), `// step X` that numbers may be off, and resources as coverage cases have them.
#![cfg(feature = "llvm")]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/scene.rs"]
mod scene;
mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use cases::Case;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::target::Stage;
use scene::{EDGES, Scene};
use support::{glsl, root};
use vulkan::Lavapipe;

fn draw(test: &str, vulkan: &Lavapipe, name: &str) -> Option<()> {
    let path = root().join("testdata/stages").join(name);
    let source = |extension| std::fs::read_to_string(path.with_extension(extension)).expect("a shader");
    let case = Case::new(name, &source("frag"));
    let [vertex, fragment] = ["vert", "frag"].map(|stage| glsl(test, &path.with_extension(stage), &case.target));
    let (vertex, fragment) = (vertex?, fragment?);
    let ir = |spirv: &[u8], stage| {
        let module = Module::new(spirv.to_vec()).expect("a module");
        translate(&module, "main", stage, &[]).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let shaders = [ir(&vertex, Stage::Vertex), ir(&fragment, Stage::Fragment)];
    let state = dovetail::template::state(&shaders).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut inputs = case.inputs(1);
    inputs.draw = Some(case.draw().expect("a draw"));
    let mut scene = Scene { vertex, fragment, state, inputs };
    if case.has("alike:") {
        scene.judge_alike(name, case.number("step"));
        return Some(());
    }
    scene.judge(vulkan, name, case.number("edges").map_or(EDGES, |n| n as usize), case.number("step"));
    Some(())
}

#[test]
fn stages_agree() {
    let test = "stages::stages_agree";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let entries = std::fs::read_dir(root().join("testdata/stages")).expect("the cases");
    let paths =
        entries.map(|entry| entry.expect("a case").path()).filter(|p| p.extension().is_some_and(|e| e == "frag"));
    let mut names: Vec<String> = paths
        .filter_map(|p| Some(p.file_stem()?.to_string_lossy().into_owned()))
        .filter(|n| n.contains(&only))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names {
        if draw(test, vulkan, &name).is_none() {
            return;
        }
        eprintln!("{name} agrees");
    }
}

//! Inputs and outputs of stages: draws the pairs of `testdata/stages` with linked and whole pipelines on the emulator
//! and on lavapipe; also the screens of `testdata/draw`.
//!
//! A fragment shader is GLSL (`.frag`), or assembly where GLSL cannot express it (`.frag.spvasm`). Its header describes
//! the draw: `// draw TOPOLOGY VERTICES [INSTANCES FIRST_VERTEX FIRST_INSTANCE]` (triangles 3), `// indices N…`, `//
//! depth COMPARE CLEAR`, `// stencil CLEAR REFERENCE`, `// blend product|through` (by a second colour), `// extent
//! WIDTH HEIGHT` (32 32), `// attachment FORMAT` by location, `// samples N [shaded]` (set by the state; `shaded`: per
//! sample), `// alpha_to_one`, `// edges N` pixels that may differ (12), `// step X` tolerance of values, and resources
//! as in coverage cases. `// interpreted: WHY` uses the interpreter as the reference instead of lavapipe. `// alike:
//! WHY` uses no reference: the first two attachments must be equal.

use crate::cases::Case;
use crate::scene::{EDGES, Scene};
use crate::support;
use crate::support::{assembly, glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::target::Stage;
use std::path::{Path, PathBuf};

fn draw(test: &str, vulkan: &Lavapipe, name: &str, vertex: &Path, fragment: &Path) -> Option<()> {
    let case = Case::new(name, &std::fs::read_to_string(fragment).expect("a shader"));
    let assembled = fragment.extension().is_some_and(|e| e == "spvasm");
    let fragment = if assembled { assembly(test, fragment)? } else { glsl(test, fragment, &case.target)? };
    let vertex = glsl(test, vertex, &case.target)?;
    let ir = |spirv: &[u8], stage| {
        let module = Module::new(spirv.to_vec()).expect("a module");
        translate(&module, "main", stage, &[]).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let shaders = [ir(&vertex, Stage::Vertex), ir(&fragment, Stage::Fragment)];
    let state = dovetail::template::state(&shaders).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut inputs = case.inputs(1);
    inputs.draw = Some(case.draw());
    let mut scene = Scene { vertex, fragment, state, inputs };
    if case.has("interpreted:") {
        scene.judge_interpreted(name);
        return Some(());
    }
    if case.has("alike:") {
        scene.judge_alike(name, case.number("step").map(|n| n as f32));
        return Some(());
    }
    scene.judge(
        vulkan,
        name,
        case.number("edges").map_or(EDGES, |n| n as usize),
        case.number("step").map(|n| n as f32),
    );
    Some(())
}

/// Fragment shaders of a folder, sorted; `DOVETAIL_CASE` selects some.
fn fragments(folder: &str) -> Vec<PathBuf> {
    let only = std::env::var("DOVETAIL_CASE").unwrap_or_default();
    let entries = std::fs::read_dir(root().join("testdata").join(folder)).expect("the cases");
    let paths = entries.map(|entry| entry.expect("a case").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|p| p.to_string_lossy().ends_with(".frag") || p.to_string_lossy().ends_with(".frag.spvasm"))
        .filter(|p| name(p).contains(&only))
        .collect();
    paths.sort();
    paths
}

/// The name of a case.
fn name(fragment: &Path) -> String {
    let file = fragment.file_name().unwrap_or_default().to_string_lossy();
    file.split('.').next().unwrap_or_default().to_owned()
}

fn draw_all(test: &str, cases: &[(PathBuf, PathBuf)]) {
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    for (vertex, fragment) in cases {
        let name = name(fragment);
        if draw(test, vulkan, &name, vertex, fragment).is_none() {
            return;
        }
        eprintln!("{name} agrees");
    }
}

#[test]
fn stages_agree() {
    let vertex = |fragment: &Path| fragment.with_file_name(name(fragment)).with_extension("vert");
    let pairs = fragments("stages").into_iter().map(|fragment| (vertex(&fragment), fragment));
    draw_all("draw_cases::stages_agree", &pairs.collect::<Vec<_>>());
}

/// The screens of `testdata/draw`, in machine code.
#[test]
fn screens_agree() {
    let screen = root().join("testdata/draw/screen.vert");
    let ours = fragments("draw").into_iter().filter(|p| name(p) != "triangle");
    draw_all("draw_cases::screens_agree", &ours.map(|fragment| (screen.clone(), fragment)).collect::<Vec<_>>());
}

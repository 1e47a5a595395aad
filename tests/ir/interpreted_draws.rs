//! Draws: the interpreter runs vertices and quads, lavapipe draws the same, and the attachments must agree.
//!
//! One triangle covers the screen, so every quad is complete. A case counts as in `interpreted_compute`.

use crate::cases::Case;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use crate::{support, vulkan};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{Draw, Inputs, TargetAttachment};
use dovetail::ir::Shader;
use dovetail::ir::interp::{MemoryVerdict, Options};
use dovetail::proof::interpreted_draw;
use dovetail::state::VertexInputState;
use dovetail::target::Stage;

const SIZE: u32 = 16;

fn shader(module: &[u8], stage: Stage) -> Shader {
    let module = Module::new(module.to_vec()).expect("a module");
    let ir = translate(&module, "main", stage, &[]).expect("a shader that is translated");
    dovetail::ir::verify::verify(&ir).expect("sound IR");
    ir
}

fn run(vulkan: &Lavapipe, case: &Case, vertex: &[u8], module: &[u8]) -> Result<String, String> {
    let (vs, fs) = (shader(vertex, Stage::Vertex), shader(module, Stage::Fragment));
    let mut results = Vec::new();
    let mut sum = MemoryVerdict::default();
    for seed in [1, 2] {
        let mut inputs = case.inputs(seed);
        let target = |(location, format): (usize, &String)| TargetAttachment::new(location as u32, format.clone());
        inputs.draw = Some(Draw {
            targets: case.targets.iter().enumerate().map(target).collect(),
            ..Draw::new(Default::default(), 3, [SIZE, SIZE])
        });
        let one = |module| vulkan::Shader { module, entry: "main", spec: &[] };
        let theirs = vulkan.draw(one(vertex), Some(one(module)), &VertexInputState::default(), &inputs);
        for lanes in [vulkan.subgroup_size, 32, 64] {
            let options = Options { subgroup_size: lanes, shadow: true, ..Default::default() };
            let attributes = VertexInputState::default();
            let drawn = interpreted_draw(&vs, Some(&fs), &attributes, &inputs, options).map_err(|e| e.to_string())?;
            let known = drawn
                .bindings
                .iter()
                .zip(&theirs.bindings)
                .filter_map(|(known, theirs)| Some((known.as_ref()?, theirs)));
            for (n, (known, theirs)) in drawn.targets.iter().zip(&theirs.targets).chain(known).enumerate() {
                let verdict = known.judge_between(&known.bytes().map_err(|e| e.to_string())?, theirs, case.floor);
                if !verdict.wrong.is_empty() {
                    let some: Vec<_> = verdict.wrong.iter().take(6).collect();
                    let count = verdict.wrong.len();
                    return Err(format!("seed {seed}, {lanes} lanes, output {n}: {count} differ: {some:#?}"));
                }
                sum.add(&verdict);
            }
        }
        results.push(theirs.targets);
    }
    let MemoryVerdict { exact, floats, loose, uncertain, not_finite, written, .. } = sum;
    let summary = format!(
        "{written} values written; {exact} words exact, {floats} floats ({loose} loose), {uncertain} uncertain, {not_finite} not finite"
    );
    if written == 0 || results[0] == results[1] {
        return Err("writes nothing, or two seeds give the same".into());
    }
    if not_finite * 20 > written || (uncertain + loose) * 10 > written {
        return Err(format!("proves too little: {summary}"));
    }
    Ok(summary)
}

#[test]
fn fragments_agree() {
    let test = "interpreted_draws::fragments_agree";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let dir = root().join("testdata/draw");
    let Some(vertex) = glsl(test, &dir.join("screen.vert"), "vulkan1.1") else { return };
    let mut failed = Vec::new();
    for name in ["inputs", "derivatives", "discards", "sampling", "control", "physical"] {
        let path = dir.join(name).with_extension("frag");
        let case = Case::new(name, &std::fs::read_to_string(&path).expect("a case"));
        let Some(module) = glsl(test, &path, &case.target) else { return };
        match run(vulkan, &case, &vertex, &module) {
            Ok(summary) => eprintln!("{name}: {summary}"),
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A vertex whose position is undefined may be anywhere, so nothing is known of what its triangle covers: not where the
/// position that the interpreter takes is clipped away, either.
#[test]
fn a_triangle_with_an_undefined_corner_is_not_judged() {
    let test = "interpreted_draws::a_triangle_with_an_undefined_corner_is_not_judged";
    let folder = tempfile::tempdir().expect("a folder");
    let drawn = |first: &str| {
        let texts = [
            ("a.vert", format!("void main() {{ vec4 p; if ({first}) p = vec4(-1, -1, 0, 1); gl_Position = p; }}")),
            ("a.frag", "layout(location = 0) out vec4 c; void main() { c = vec4(1); }".to_owned()),
        ];
        let modules = texts.map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#version 450\n{text}")).expect("a file");
            glsl(test, &path, "vulkan1.1")
        });
        let [Some(vertex), Some(fragment)] = modules else { return None };
        let (vertex, fragment) = (shader(&vertex, Stage::Vertex), shader(&fragment, Stage::Fragment));
        let targets = vec![TargetAttachment::new(0, "R32G32B32A32_SFLOAT".to_owned())];
        let draw = Draw { targets, ..Draw::new(Default::default(), 3, [SIZE, SIZE]) };
        let inputs = Inputs { draw: Some(draw), ..Default::default() };
        let options = Options { shadow: true, ..Default::default() };
        let attributes = VertexInputState::default();
        Some(interpreted_draw(&vertex, Some(&fragment), &attributes, &inputs, options).expect("a picture").edges)
    };
    let (Some(all), Some(one), Some(none)) =
        (drawn("gl_VertexIndex < 4"), drawn("gl_VertexIndex < 2"), drawn("gl_VertexIndex > 4"))
    else {
        return;
    };
    assert_eq!((all, one, none), (0, (SIZE * SIZE) as usize, (SIZE * SIZE) as usize));
}

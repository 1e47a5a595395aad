//! Failing cases made on purpose: saved as bundles, shrunk, and repeated by `dovetail replay`, which must find the
//! deliberate error and nothing else.

use crate::chosen::ChosenCompiler;
use crate::support::{glsl, root};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::RunLimits;
use dovetail::emu::inputs::{
    BindingElement, Bound, Compare, Depth, Draw, Image, InputBytes, Inputs, Sampler, Slot, StoredPointer,
    TargetAttachment, Topology, VertexBuffer, ViewShape,
};
use dovetail::ir::interp::Options;
use dovetail::proof::{
    Bundle, Cause, ComparedOutput, Effort, Outputs, Replay, ResultPlace, Runner, Saved, StageEntry, bytes_of,
    interpreted,
};
use dovetail::state::SpecializationEntry;
use dovetail::target::{Stage, WaveSize};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Every invocation writes one dword; its literal can be located in machine code.
const SHADER: &str = "#version 450
layout(local_size_x = 8) in;
layout(constant_id = 3) const uint factor = 1;
layout(set = 0, binding = 0) buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint b[]; };
layout(push_constant) uniform P { uint added; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = (a[i] ^ 0x1234567u) * factor + added;
}
";
const BY_ADDRESS: &str = "#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(push_constant) uniform P { Words from; Words to; Words unused; } p;
void main() {
    uint i = gl_GlobalInvocationID.x;
    p.to.at[i] = p.from.at[i] * 3u;
}
";
const LITERAL: u32 = 0x0123_4567;

/// A budget that does not depend on the load of the machine.
const BUDGET: Effort = Effort { runs: 200, time: Duration::from_secs(600) };

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at * 4..at * 4 + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn stage(stage: Stage) -> StageEntry {
    StageEntry { stage, entry_point: "main".to_owned(), wave: WaveSize::W32 }
}

/// The shader on four workgroups, in a state with a value for the constant.
fn compute(test: &str, folder: &Path) -> Option<Bundle> {
    compute_with(SHADER, test, folder)
}

/// Another shader with the same interface.
fn compute_with(shader: &str, test: &str, folder: &Path) -> Option<Bundle> {
    let source = folder.join("literal.comp");
    std::fs::write(&source, shader).expect("the source");
    let module = Module::new(glsl(test, &source, "vulkan1.1")?).expect("a module");
    let ir = translate(&module, "main", Stage::Compute, &[]).expect("a shader");
    let mut bundle = Bundle::new(test, 7, "interpreter", vec![(stage(Stage::Compute), module)]);
    bundle.state = dovetail::template::state(&[ir]).expect("a state");
    bundle.state.specialization = vec![SpecializationEntry { stage: None, id: 3, value: 3 }];
    let bind =
        |binding, data| BindingElement { set: 0, binding, element: 0, bound: Bound::StorageBuffer(InputBytes(data)) };
    bundle.inputs = Inputs {
        bindings: vec![bind(0, words((0..32u32).map(|n| n.wrapping_mul(0x9e37_79b9) | 1))), bind(1, vec![0; 128])],
        push_constants: InputBytes(words([77])),
        grid: [4, 1, 1],
        ..Default::default()
    };
    Some(bundle)
}

/// The shader's correct results.
fn right(inputs: &Inputs) -> Outputs {
    let data = |n: usize| match &inputs.bindings[n].bound {
        Bound::StorageBuffer(data) => data.0.clone(),
        other => panic!("{other:?}"),
    };
    let (from, mut to) = (data(0), data(1));
    let added = word(&inputs.push_constants.0, 0);
    for n in (0..to.len() / 4).take(8 * inputs.grid[0] as usize) {
        let value = (word(&from, n) ^ LITERAL).wrapping_mul(3).wrapping_add(added);
        to[n * 4..n * 4 + 4].copy_from_slice(&value.to_le_bytes());
    }
    Outputs { bindings: vec![from, to], ..Default::default() }
}

fn replay(folder: &Path, bundle: &Path, arguments: &[&str]) -> (i32, String, String) {
    program("replay", folder, bundle, arguments)
}

fn program(command: &str, folder: &Path, path: &Path, arguments: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .current_dir(folder)
        .arg(command)
        .arg(path)
        .args(arguments)
        .output()
        .expect("the program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().expect("a code"), text(&out.stdout), text(&out.stderr))
}

fn saved(bundle: &Bundle, folder: &Path, runner: &Runner, ask: &dyn Fn(&Inputs) -> Outputs) -> Saved {
    let mut ask = |inputs: &Inputs| Ok(ask(inputs));
    bundle.clone().save_failure(folder, runner, BUDGET, &mut ask).expect("saved")
}

/// Place, first byte and invocation of the difference that a route reports.
fn difference(replay: &Replay, route: &str) -> (ResultPlace, usize, usize, Option<[u32; 6]>) {
    let (_, answer) = replay.routes.iter().find(|(name, _)| *name == route).expect("a route");
    let ComparedOutput::Differs(found) = answer else { panic!("{answer}") };
    let writer = found.writer.map(|w| {
        let [a, b, c] = w.workgroup;
        let [x, y, z] = w.local;
        [a, b, c, x, y, z]
    });
    (found.place, found.count, found.at[0], writer)
}

#[test]
fn a_result_that_depends_on_the_order_accuses_nobody() {
    let test = "a_result_that_depends_on_the_order_accuses_nobody";
    let dir = tempfile::tempdir().expect("a folder");
    let appending = SHADER.replace("b[i] =", "if (i < 16u) b[1u + atomicAdd(b[0], 1u)] =");
    let Some(mut bundle) = compute_with(&appending, test, dir.path()) else { return };
    let Bound::StorageBuffer(from) = &bundle.inputs.bindings[0].bound else { panic!("a buffer") };
    let from = from.0.clone();
    let value = |n: usize| (word(&from, n) ^ LITERAL).wrapping_mul(3).wrapping_add(77);
    let in_order = |place: fn(usize) -> usize| {
        words((0..32).map(|n| match n {
            0 => 16,
            1..=16 => value(place(n - 1)),
            _ => 0,
        }))
    };
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    let mut cause = |left: Vec<u8>| {
        bundle.expected = Outputs { bindings: vec![from.clone(), left], ..Default::default() };
        runner.run(&bundle.inputs, &bundle.expected).expect("a replay").cause
    };
    assert_eq!(cause(in_order(|n| n)), Cause::None);
    assert_eq!(cause(in_order(|n| 15 - n)), Cause::Order);
}

#[test]
fn a_race_is_called_by_its_name() {
    let test = "a_race_is_called_by_its_name";
    let dir = tempfile::tempdir().expect("a folder");
    let racy = SHADER.replace("b[i] =", "b[i & ~1u] =");
    let Some(mut bundle) = compute_with(&racy, test, dir.path()) else { return };
    let Bound::StorageBuffer(from) = &bundle.inputs.bindings[0].bound else { panic!("a buffer") };
    let from = from.0.clone();
    // The first of each two invocations comes last.
    let value = |n: usize| (word(&from, n) ^ LITERAL).wrapping_mul(3).wrapping_add(77);
    let left = words((0..32).map(|n| if n % 2 == 0 { value(n) } else { 0 }));
    bundle.expected = Outputs { bindings: vec![from.clone(), left], ..Default::default() };
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    let replayed = runner.run(&bundle.inputs, &bundle.expected).expect("a replay");
    assert_eq!(replayed.cause, Cause::Race, "{replayed:?}");
    let path = bundle.save(dir.path()).expect("saved");
    let (code, says, _) = replay(dir.path(), &path, &[]);
    let race = "racy: set 0, binding 1, byte 0 is written by invocation [0, 0, 0] of workgroup [0, 0, 0] and written by \
                invocation [1, 0, 0] of workgroup [0, 0, 0] without an order";
    assert!(code == 6 && says.contains(race) && !says.contains("differs:"), "{says}");
}

#[test]
fn a_wrong_judge_is_found_out_and_replayed_until_mended() {
    let test = "a_wrong_judge_is_found_out_and_replayed_until_mended";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(bundle) = compute(test, dir.path()) else { return };
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    // Wrong where invocation 21 writes, if it read a value above a thousand.
    let wrong = |inputs: &Inputs| {
        let mut outputs = right(inputs);
        if word(&outputs.bindings[0], 21) > 1000 && outputs.bindings[1].len() > 84 && inputs.grid[0] > 2 {
            outputs.bindings[1][84] ^= 1;
        }
        outputs
    };
    let failure = saved(&bundle, dir.path(), &runner, &wrong);
    assert!(failure.smallest && failure.runs < 150, "{} runs", failure.runs);
    assert_eq!(failure.path, dir.path().join(format!("{test}-7")));
    assert_eq!(failure.replay.cause, Cause::FrontEndOrJudge);
    let place = ResultPlace::Binding { set: 0, binding: 1, element: 0 };
    for route in ["linked", "linked, chained", "whole"] {
        assert_eq!(difference(&failure.replay, route), (place, 1, 84, Some([2, 0, 0, 5, 0, 0])), "{route}");
    }

    let small = Bundle::load(&failure.path).expect("the bundle");
    assert_eq!((small.inputs.grid, &small.inputs.push_constants.0[..]), ([3, 1, 1], &[0; 4][..]));
    let mut least = vec![0; 22];
    least[21] = 1001;
    assert_eq!(small.inputs.bindings[0].bound, Bound::StorageBuffer(InputBytes(words(least))));
    assert_eq!(small.inputs.bindings[1].bound, Bound::StorageBuffer(InputBytes(vec![0; 88])));
    assert_eq!(small.manifest.failed, ["linked", "linked, chained", "whole"]);
    assert!(small.manifest.compiler.backend.contains("native "), "{:?}", small.manifest.compiler);

    let (code, said, _) = replay(dir.path(), &failure.path, &[]);
    assert_eq!(code, 6, "{said}");
    for part in [
        "binding 1 at byte 84",
        "invocation [5, 0, 0] of workgroup [2, 0, 0]",
        "the front end, or with the judge",
        "--trace local:2,0,0:5,0,0",
        "judged by interpreter",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    let (code, said, _) = replay(dir.path(), &failure.path, &["--route", "chained", "--json", "--keep", "elfs"]);
    let json: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, json["routes"].as_array().map(Vec::len)), (6, Some(1)));
    assert_eq!(json["routes"][0][1]["differs"]["at"][0], 84);
    assert!(dir.path().join("elfs/chained.elf").exists() && !dir.path().join("elfs/whole.elf").exists());

    // With a wrong reference, no phase of the generator makes a difference.
    let (code, said, _) = program("bisect", dir.path(), &failure.path, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, json[0]["verdict"].as_str()), (6, Some("broken without any phase")), "{said}");

    let expected = failure.path.join("expected/set0-binding1-0.bin");
    std::fs::write(expected, &right(&small.inputs).bindings[1]).expect("mended");
    let (code, said, _) = replay(dir.path(), &failure.path, &[]);
    assert!(code == 0 && said.matches("agrees").count() == 4, "{code}\n{said}");
}

#[test]
fn nothing_shrinks_from_under_a_pointer() {
    let test = "nothing_shrinks_from_under_a_pointer";
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("address.comp");
    std::fs::write(&source, BY_ADDRESS).expect("the source");
    let Some(module) = glsl(test, &source, "vulkan1.2") else { return };
    let module = Module::new(module).expect("a module");
    let ir = translate(&module, "main", Stage::Compute, &[]).expect("a shader");
    let mut bundle = Bundle::new(test, 7, "interpreter", vec![(stage(Stage::Compute), module)]);
    bundle.state = dovetail::template::state(std::slice::from_ref(&ir)).expect("a state");
    let slot = |binding| Slot { set: 0, binding, element: 0 };
    let bind = |binding| {
        let bound = Bound::PhysicalStorageBuffer(InputBytes(words((0..64u32).map(|n| n * 5 + 1))));
        BindingElement { set: 0, binding, element: 0, bound }
    };
    let pointer = |byte, to| StoredPointer { within: None, byte, to: slot(to), offset: 0 };
    bundle.inputs = Inputs {
        bindings: vec![bind(0), bind(1)],
        push_constants: InputBytes(vec![0; 24]),
        pointers: vec![pointer(0, 0), pointer(8, 1), pointer(16, 0)],
        grid: [2, 1, 1],
        ..Default::default()
    };
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    // A driver would crash on what the interpreter rejects.
    let wrong = |inputs: &Inputs| {
        let known = interpreted(&ir, inputs, Options::default()).expect("accesses inside of buffers");
        let mut bindings = bytes_of(&known).expect("bytes");
        bindings[1][20] ^= 1;
        Outputs { bindings, ..Default::default() }
    };
    let failure = saved(&bundle, dir.path(), &runner, &wrong);
    assert_eq!(failure.replay.cause, Cause::FrontEndOrJudge);
    let small = Bundle::load(&failure.path).expect("the bundle");
    assert_eq!((small.inputs.grid, &small.inputs.pointers[..]), ([1; 3], &[pointer(0, 0), pointer(8, 1)][..]));
    for binding in &small.inputs.bindings {
        assert_eq!(
            binding.bound,
            Bound::PhysicalStorageBuffer(InputBytes(vec![0; 32])),
            "what eight invocations reach"
        );
    }
    let (code, said, _) = replay(dir.path(), &failure.path, &[]);
    assert!(
        code == 6 && said.contains("binding 1 at byte 20") && said.contains("invocation [5, 0, 0]"),
        "{code}\n{said}"
    );
}

#[test]
fn wrong_machine_code_is_told_from_a_wrong_link() {
    let test = "wrong_machine_code_is_told_from_a_wrong_link";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(bundle) = compute(test, dir.path()) else { return };
    let sound = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    assert!(sound.run(&bundle.inputs, &right(&bundle.inputs)).expect("a replay").agrees());
    let routes = |runner: &Runner| runner.pipelines.elfs.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(routes(&sound), ["linked", "linked, chained", "whole"]);
    for (wrong, cause) in [(&["linked, chained"][..], Cause::Linking), (&routes(&sound)[..], Cause::CodeGeneration)] {
        let mut runner = sound.clone();
        for (_, elf) in runner.pipelines.elfs.iter_mut().filter(|(name, _)| wrong.contains(name)) {
            let at = elf.windows(4).position(|w| w == LITERAL.to_le_bytes()).expect("the literal is in the code");
            elf[at] ^= 0x10;
        }
        let failure = saved(&bundle, dir.path(), &runner, &right);
        assert_eq!(failure.replay.cause, cause);
        let small = Bundle::load(&failure.path).expect("the bundle");
        assert_eq!(small.manifest.failed, wrong);
        // A single value is wrong whatever the inputs, so none of them needs to remain.
        let (first, second) = (&small.inputs.bindings[0].bound, &small.inputs.bindings[1].bound);
        assert_eq!((first, small.inputs.grid), (&Bound::StorageBuffer(InputBytes(vec![0; 4])), [1, 1, 1]));
        assert_eq!(second, &Bound::StorageBuffer(InputBytes(vec![0; 4])));
        let difference = difference(&failure.replay, "linked, chained");
        assert_eq!((difference.1, difference.2, difference.3), (1, 0, Some([0; 6])));
        runner.pipelines.elfs.retain(|(name, _)| *name == "linked, chained");
        let alone = runner.run(&small.inputs, &small.expected).expect("a replay");
        assert_eq!(alone.cause, Cause::BelowFrontEnd);
        // The code of this build is correct.
        assert_eq!(replay(dir.path(), &failure.path, &[]).0, 0);
    }
    let report = bundle.clone().report_failure(dir.path(), &ChosenCompiler::new(), &mut |inputs| Ok(right(inputs)));
    assert!(report.contains("no bundle: every route agrees"), "{report}");
}

#[test]
fn the_interpreter_can_be_the_judge() {
    let test = "the_interpreter_can_be_the_judge";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(mut bundle) = compute(test, dir.path()) else { return };
    let ir = translate(&bundle.modules[0], "main", Stage::Compute, &[(3, 3)]).expect("a shader");
    let known = interpreted(&ir, &bundle.inputs, Options { shadow: true, ..Options::default() }).expect("a run");
    bundle.expected.bindings = known.iter().map(|k| k.as_ref().unwrap().bytes().unwrap()).collect();
    assert_eq!(bundle.expected, right(&bundle.inputs));
    let path = bundle.save(dir.path()).expect("saved");
    assert_eq!(replay(dir.path(), &path, &[]).0, 0);
    let (code, said, _) = program("bisect", dir.path(), dir.path(), &[]);
    assert!(code == 0 && said.contains(": agrees"), "{said}");
    let again = bundle.save(dir.path()).expect("saved over what is there");
    assert_eq!((&again, std::fs::read_dir(dir.path()).expect("a folder").count()), (&path, 2));
}

#[test]
fn a_bundle_that_is_none_is_refused_by_the_file() {
    let test = "a_bundle_that_is_none_is_refused_by_the_file";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(mut bundle) = compute(test, dir.path()) else { return };
    bundle.expected = right(&bundle.inputs);
    for (file, contents, code) in [
        ("bundle.toml", "format = 1", 2),
        ("state.toml", "[layout", 2),
        ("inputs.toml", "grid = [1, 1]", 2),
        ("inputs.toml", "draw = { vertices = 3, extent = [4, 4] }", 2),
        ("compute.spv", "no module", 2),
        ("expected/set0-binding1-0.bin", "short", 2),
    ] {
        let path = bundle.save(dir.path()).expect("saved");
        std::fs::write(path.join(file), contents).expect("a file");
        let (found, _, said) = replay(dir.path(), &path, &[]);
        let file = if contents.starts_with("draw") { "bundle.toml" } else { file };
        assert!(found == code && said.contains(file), "{file}: {found}, {said}");
    }
    let path = bundle.save(dir.path()).expect("saved");
    std::fs::remove_file(path.join("expected/set0-binding1-0.bin")).expect("removed");
    let (found, _, said) = replay(dir.path(), &path, &[]);
    assert!(found == 5 && said.contains("set0-binding1-0.bin"), "{found}, {said}");
    let text = std::fs::read_to_string(path.join("bundle.toml")).expect("text");
    std::fs::write(path.join("bundle.toml"), text.replacen("format = 1", "format = 2", 1)).expect("a file");
    assert_eq!(replay(dir.path(), &path, &[]).0, 3);
}

fn floats(x: &[f32]) -> InputBytes {
    InputBytes(x.iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// A triangle over the whole of an attachment.
fn drawn(test: &str) -> Option<Bundle> {
    let shaders = root().join("testdata/shaders");
    let module = |name: &str| Some(Module::new(glsl(test, &shaders.join(name), "vulkan1.1")?).expect("a module"));
    let (Some(vertex), Some(fragment)) = (module("ui.vert"), module("ui.frag")) else { return None };
    let ir = [(&vertex, Stage::Vertex), (&fragment, Stage::Fragment)];
    let ir = ir.map(|(module, stage)| translate(module, "main", stage, &[]).expect("a shader"));
    let stages = vec![(stage(Stage::Vertex), vertex), (stage(Stage::Fragment), fragment)];
    let mut bundle = Bundle::new(test, 1, "lavapipe", stages);
    bundle.state = dovetail::template::state(&ir).expect("a state");
    let texels: Vec<u8> = (0..4 * 4 * 4).map(|n| n * 3 + 60).collect();
    let image = Image {
        format: "R8G8B8A8_UNORM".to_owned(),
        shape: ViewShape::D2,
        extent: [4, 4, 1],
        layers: 1,
        arrayed: false,
        levels: 1,
        samples: 1,
        swizzle: Default::default(),
        data: InputBytes(texels),
    };
    let bound = Bound::CombinedImageSampler(image, Sampler::default());
    let buffer = |binding, stride, data: &[f32]| VertexBuffer { binding, stride, data: floats(data) };
    let clear = [0.0, 0.0, 0.0, 1.0];
    bundle.inputs = Inputs {
        bindings: vec![BindingElement { set: 0, binding: 0, element: 0, bound }],
        push_constants: floats(&[1.0, 1.0, 0.0, 0.0]),
        draw: Some(Draw {
            instances: 2,
            vertex_buffers: vec![
                buffer(0, 8, &[-1.0, -1.0, 3.0, -1.0, -1.0, 3.0]),
                buffer(1, 8, &[0.0, 0.0, 2.0, 0.0, 0.0, 2.0]),
                buffer(2, 16, &[1.0; 12]),
            ],
            targets: vec![TargetAttachment { clear, ..TargetAttachment::new(0, "R8G8B8A8_UNORM") }],
            ..Draw::new(Topology::TriangleList, 3, [8, 8])
        }),
        ..Default::default()
    };
    Some(bundle)
}

/// What the whole pipeline leaves.
fn left(runner: &Runner, inputs: &Inputs) -> Outputs {
    let (_, elf) = runner.pipelines.elfs.last().expect("the whole pipeline");
    let left = runner.pipelines.run(elf, inputs, RunLimits::default()).expect("a run");
    let targets = left.targets.expect("targets").colors.into_iter().map(|t| t.data).collect();
    Outputs { bindings: left.bindings, targets, ..Outputs::default() }
}

#[test]
fn a_draw_is_judged_by_pixels() {
    let test = "a_draw_is_judged_by_pixels";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(bundle) = drawn(test) else { return };
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    // Wrong at pixel 3, 2, if it exists.
    let wrong = |inputs: &Inputs| {
        let mut outputs = left(&runner, inputs);
        let extent = inputs.draw.as_ref().expect("a draw").extent;
        if extent[0] > 3 && extent[1] > 2 {
            outputs.targets[0][(2 * extent[0] as usize + 3) * 4] ^= 0x80;
        }
        outputs
    };
    let failure = saved(&bundle, dir.path(), &runner, &wrong);
    let small = Bundle::load(&failure.path).expect("the bundle");
    let draw = small.inputs.draw.as_ref().expect("a draw");
    assert_eq!((draw.extent, draw.vertices, draw.instances), ([4, 3], 1, 1));
    // The interpreter agrees with the pipelines, so only the expected result differs.
    assert_eq!(failure.replay.cause, Cause::FrontEndOrJudge);
    let (code, said, _) = replay(dir.path(), &failure.path, &[]);
    assert!(code == 6 && said.contains("target 0 at pixel 3, 2"), "{code}\n{said}");
    assert!(said.contains("--trace pixel:3,2"), "{said}");
    std::fs::write(failure.path.join("expected/target0.bin"), &left(&runner, &small.inputs).targets[0])
        .expect("mended");
    assert_eq!(replay(dir.path(), &failure.path, &[]).0, 0);
}

/// Vulkan leaves an attachment undefined where a fragment without this output covers it.
#[test]
fn an_attachment_that_the_shader_does_not_write_is_undefined() {
    let test = "an_attachment_that_the_shader_does_not_write_is_undefined";
    let dir = tempfile::tempdir().expect("a folder");
    let Some(mut bundle) = drawn(test) else { return };
    let mut second = bundle.state.color.attachments[0].clone();
    second.location = 1;
    bundle.state.color.attachments.push(second);
    let draw = bundle.inputs.draw.as_mut().expect("a draw");
    draw.targets.push(TargetAttachment::new(1, "R8G8B8A8_UNORM"));
    // The triangle covers the upper left half.
    draw.vertex_buffers[0].data = floats(&[-1.0, -1.0, 1.0, -1.0, -1.0, 1.0]);
    let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
    bundle.expected = left(&runner, &bundle.inputs);
    bundle.expected.targets[1] = vec![0; 4 * 64];
    // Whatever a driver leaves under the triangle is right.
    bundle.expected.targets[1][..4].copy_from_slice(&[1, 2, 3, 4]);
    let path = bundle.save(dir.path()).expect("a bundle");
    let (code, said, _) = replay(dir.path(), &path, &[]);
    assert!(code == 0 && said.contains("target 1: the fragment shader does not write it"), "{code}\n{said}");
    // Beside it nothing changes, and the other attachment is defined.
    for (target, pixel) in [(1, 63), (0, 9)] {
        let mut wrong = bundle.clone();
        wrong.expected.targets[target][4 * pixel] ^= 0x80;
        let path = wrong.save(&dir.path().join("wrong")).expect("a bundle");
        let (code, said, _) = replay(dir.path(), &path, &[]);
        assert!(code == 6 && said.contains(&format!("in target {target} at")), "{code}\n{said}");
    }
    // Where nothing is written it is what it was.
    bundle.inputs.draw.as_mut().expect("a draw").targets[1].write_mask = 0;
    let path = bundle.save(&dir.path().join("masked")).expect("a bundle");
    assert_eq!(replay(dir.path(), &path, &[]).0, 6);
}

/// OpenGL's depths go from -w to w.
#[test]
fn the_interpreter_has_the_depths_of_opengl() {
    let test = "the_interpreter_has_the_depths_of_opengl";
    let Some(mut bundle) = drawn(test) else { return };
    let draw = bundle.inputs.draw.as_mut().expect("a draw");
    draw.depth = Some(Depth { compare: Compare::Always, write: true, clear: 0.25 });
    for opengl in [false, true] {
        bundle.inputs.draw.as_mut().expect("a draw").fixed.negative_one_to_one = opengl;
        let runner = Runner::new(&bundle, &ChosenCompiler::new()).expect("pipelines");
        let (_, elf) = runner.pipelines.elfs.last().expect("the whole pipeline");
        let targets = runner.pipelines.run(elf, &bundle.inputs, RunLimits::default()).expect("a run").targets;
        let depths = targets.expect("targets").depth.expect("depths").data;
        // The shader's depth is 0, half of the way from -1 to 1.
        assert_eq!(depths[9], if opengl { 0.5 } else { 0.0 });
        let depth = depths.iter().flat_map(|depth| depth.to_le_bytes()).collect();
        let expected = Outputs { depth, ..left(&runner, &bundle.inputs) };
        let replay = runner.run(&bundle.inputs, &expected).expect("a replay");
        assert_eq!((replay.cause, replay.interpreter), (Cause::None, ComparedOutput::Agrees), "{opengl}");
    }
}

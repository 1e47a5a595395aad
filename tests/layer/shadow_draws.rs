//! Checks the draws that the layer saves, with inputs and results, against the application's, and replays them.

use crate::draw_application::{CORNERS, INDICES, SHIFTS};
use crate::easel::{CLEAR, FACTOR, SIZE};
use crate::shadow::{number, read, replay, spoil};
use crate::{APPLICATION, Scenery, states};
use dovetail::capture::Recording;
use dovetail::emu::inputs::{Bound, Cull, Draw};
use dovetail::proof::Bundle;
use std::collections::BTreeMap;

/// The application of `draw_application.rs`.
pub const DRAWS: &str = "draws";

fn corners() -> Vec<u8> {
    CORNERS.iter().flat_map(|(at, color)| [at.map(f32::to_le_bytes).concat(), color.to_vec()].concat()).collect()
}

fn words(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Compares a draw's bundle with the application's inputs.
fn compare(case: u64, bundle: &Bundle) -> Draw {
    let inputs = &bundle.inputs;
    let draw = inputs.draw.clone().expect("a draw");
    assert_eq!(draw.extent, SIZE, "{case}");
    assert_eq!(inputs.push_constants.0, words(&FACTOR), "{case}");
    let [vertices, shifts] = &draw.vertex_buffers[..] else { panic!("{case}: {:?}", draw.vertex_buffers) };
    assert!(corners().starts_with(&vertices.data.0) && words(SHIFTS.as_flattened()).starts_with(&shifts.data.0));
    let last = draw.indices.iter().copied().max().unwrap_or(draw.first_vertex + draw.vertices - 1);
    assert!(vertices.data.0.len() >= 16 * (last as usize + 1), "{case}: {}", vertices.data.0.len());
    assert_eq!((vertices.stride, shifts.stride), (16, 8), "{case}");
    let kinds: Vec<_> = inputs.bindings.iter().map(|binding| binding.bound.kind()).collect();
    assert_eq!(kinds.len(), 3, "{case}: {kinds:?}");
    let Bound::UniformBuffer(added) = &inputs.bindings[0].bound else { panic!("{case}: {kinds:?}") };
    assert_eq!(added.0, words(&[0.0625, 0.03125, 0.0, 0.0]), "{case}");
    // The shader's result in memory.
    assert_eq!(bundle.expected.bindings[2][..4], (case as u32).to_le_bytes(), "{case}");
    draw
}

#[test]
fn draws_are_saved_with_what_was_given_and_what_came_of_it() {
    const NAME: &str = "draws_are_saved_with_what_was_given_and_what_came_of_it";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, DRAWS)]);
    assert!(plain.1);
    assert_eq!(stage.layered(&[(APPLICATION, DRAWS), ("DOVETAIL_LAYER_SHADOW", "shadow")]), plain);
    let left: BTreeMap<u64, Vec<u8>> = serde_json::from_str(&plain.0).expect("pictures");
    let (summary, bundles) = read(&stage.path("shadow"));
    let expected = serde_json::json!({
        "all": 28, "passed_over": 1, "pending": 0, "written": 19, "bytes": summary["draws"]["bytes"],
        "reasons": {
            "multisampled image": 1,
            "primitive restart": 1,
            "query in the render pass": 2,
            "secondary command buffer whose pipeline layout is destroyed": 1,
            "secondary command buffer with vkCmdWaitEvents": 1,
            "several subpasses": 2,
        },
    });
    assert_eq!(summary["draws"], expected, "{summary}");
    let cleared = CLEAR.repeat((SIZE[0] * SIZE[1]) as usize);
    let mut seen = Vec::new();
    for path in &bundles {
        let bundle = Bundle::load(path).expect("a bundle");
        let (case, turn) = (number(&bundle), bundle.manifest.seed);
        seen.push((case, turn));
        let draw = compare(case, &bundle);
        let before = &draw.fixed.before;
        // Each vertex input makes a pipeline of its own.
        let position = bundle.state.vertex.attributes.iter().find(|attribute| attribute.location == 0);
        let is_first_of_seven = case == 7 && position.is_some_and(|position| position.offset == 0);
        assert_eq!(
            before.targets[0].0 == cleared,
            [1, 4, 5, 8, 11, 13, 17, 20, 24, 25].contains(&case) || (case, turn) == (6, 1) || is_first_of_seven,
            "{case}"
        );
        // Cases 1 and 17 and the first draws of 6, 7, 11 and 25 are followed by other draws.
        let last = ![1, 11, 17, 25].contains(&case) && (case, turn) != (6, 1) && !is_first_of_seven;
        let picture = &left[&match case {
            1 | 17 => case + 1,
            _ => case,
        }];
        assert_eq!(bundle.expected.targets[0] == *picture, last, "{case}");
        assert_eq!(bundle.expected.depth.len(), if draw.depth.is_some() { cleared.len() } else { 0 }, "{case}");
        match case {
            2 => assert_eq!((draw.first_vertex, draw.vertices, draw.fixed.depth_bits), (4, 6, Some(16))),
            3 => assert_eq!(draw.fixed.scissor.expect("a part").from, [9, 0]),
            4 => {
                let given: Vec<u32> = INDICES[2..8].iter().map(|n| u32::from(*n)).collect();
                assert_eq!((&draw.indices, draw.instances, draw.first_instance), (&given, 2, 1));
                assert_eq!((draw.fixed.cull, draw.fixed.clockwise), (Cull::Back, true));
            }
            5 => assert_eq!(draw.fixed.blend_constants, [0.75, 0.5, 0.25, 0.125]),
            6 => {
                assert_eq!(draw.fixed.stencil.expect("a test").map(|face| face.reference), [9, 129]);
                assert!(turn == 2 || before.stencil.0.iter().all(|value| *value == 65));
                assert_ne!(bundle.expected.stencil, before.stencil.0);
            }
            13 => assert_eq!(draw.fixed.depth_bias.map(|bias| [bias.constant, bias.slope]), Some([-7_000.0, 1.5])),
            18 => assert_eq!((draw.first_vertex, draw.vertices, draw.fixed.depth_bits), (4, 6, Some(16))),
            19 => {
                let view = draw.fixed.viewport.expect("one of its own");
                assert_eq!((view.x, view.height, draw.fixed.scissor.expect("a part").from), (3.5, -21.5, [0, 7]));
                assert_eq!((draw.instances, draw.fixed.blend_constants), (2, [0.75, 0.5, 0.25, 0.125]));
                // It begins with the cleared contents.
                let one = (13 * SIZE[0] as usize) * 4;
                assert_eq!(before.targets[0].0[one..one + 4], [64, 191, 128, 255]);
            }
            _ => {}
        }
        let (code, says) = replay(path);
        assert_eq!(code, Some(0), "{case}: {says}");
        assert!(says.contains("changed") && !says.contains("proves nothing"), "{case}: {says}");
    }
    seen.sort_unstable();
    let seen: Vec<String> = seen.into_iter().map(|(case, turn)| format!("{case}.{turn}")).collect();
    assert_eq!(seen.join(" "), "1.1 2.1 3.1 4.1 5.1 6.1 6.2 7.1 7.1 8.1 11.1 13.1 17.1 18.1 19.1 19.2 20.1 24.1 25.1");
    for file in ["target0.bin", "depth.bin"] {
        let wrong = bundles.iter().find(|path| path.join("expected").join(file).is_file()).expect("a result");
        let right = std::fs::read(wrong.join("expected").join(file)).expect("a result");
        spoil(&wrong.join("expected").join(file));
        let (code, says) = replay(wrong);
        assert!(code == Some(6) && says.contains("differs"), "{file}: {code:?} {says}");
        std::fs::write(wrong.join("expected").join(file), right).expect("a result");
    }
}

#[test]
fn each_vertex_input_that_commands_set_makes_a_recorded_pipeline() {
    const NAME: &str = "each_vertex_input_that_commands_set_makes_a_recorded_pipeline";
    let Some(stage) = Scenery::set(NAME) else { return };
    let plain = stage.run(&[(APPLICATION, DRAWS)]);
    assert_eq!(stage.layered(&[(APPLICATION, DRAWS), ("DOVETAIL_LAYER_DIR", "out")]), plain);
    let [archive] = &stage.archives("out")[..] else { panic!("{:?}", stage.archives("out")) };
    let recording = Recording::open(archive, 1 << 20).expect("an archive");
    let (known, refused): (Vec<_>, Vec<_>) = states(&recording).into_iter().partition(Result::is_ok);
    // Those of cases 7 and 8, as the application created them.
    let refused: Vec<String> = refused.into_iter().map(|e| e.unwrap_err().to_string()).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused.iter().all(|e| e.starts_with("unsupported: VK_DYNAMIC_STATE_")), "{refused:?}");
    let mut inputs = Vec::new();
    for state in known.into_iter().map(|known| known.unwrap().state) {
        let case = state.specialization[0].value;
        let first =
            |location| state.vertex.attributes.iter().find(move |one| one.location == location).cloned().unwrap();
        if matches!(case, 7 | 8) {
            let strides: Vec<_> = state.vertex.bindings.iter().map(|binding| binding.stride).collect();
            assert_eq!(strides, [16, 8]);
            inputs.push((case, first(0).offset, first(1).format.to_string()));
        }
    }
    inputs.sort();
    let [usual, other] = ["R8G8B8A8_UNORM", "R8G8_UNORM"].map(str::to_owned);
    assert_eq!(inputs, [(7, 0, usual.clone()), (7, 16, other), (8, 0, usual)]);
    let (summary, code) = stage.populate("out");
    assert_eq!((&summary["pipelines"]["failed"], code), (&serde_json::json!([]), Some(0)), "{summary}");
    assert_eq!(summary["pipelines"]["whole"], serde_json::json!({}), "{summary}");
}

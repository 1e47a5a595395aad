//! Compares draws pixel by pixel: linked and whole pipelines on the emulator against lavapipe.

use crate::scene::{Arrangement, EDGES, Scene};
use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::Lavapipe;
use dovetail::emu::inputs::{
    Address, BindingElement, Blend, BlendEquation, BlendFactor, BlendOp, Border, Bound, Compare, Depth, Draw, Image,
    InputBytes, Inputs, Sampler, TargetAttachment, Topology, VertexBuffer, ViewShape,
};
use dovetail::emu::{self, LoadedPipeline, Machine, RunLimits};
use dovetail::ir::ResourceKind;
use dovetail::metadata::registers::StageRegisters;
use dovetail::state::{
    BindingLayout, PipelineState, PrimitiveKind, SetLayout, VertexAttribute, VertexBinding, VertexInputState,
};
use dovetail::target::{Gpu, HardwareStage};
use std::collections::BTreeSet;
use std::path::Path;

fn floats(x: &[f32]) -> InputBytes {
    InputBytes(x.iter().flat_map(|x| x.to_le_bytes()).collect())
}

fn target(location: u32, format: &str) -> TargetAttachment {
    TargetAttachment { clear: [0.0, 0.0, 0.0, 1.0], ..TargetAttachment::new(location, format) }
}

/// The shader pair `varied`.
fn varied(test: &str, topology: Topology, vertices: &[[f32; 8]]) -> Option<Scene> {
    let targets = vec![target(0, "R8G8B8A8_UNORM"), target(1, "R32G32B32A32_UINT"), target(2, "R32G32B32A32_SFLOAT")];
    pair(test, "varied", topology, vertices, targets)
}

/// A shader pair whose vertices have position and colour.
fn pair(
    test: &str,
    name: &str,
    topology: Topology,
    vertices: &[[f32; 8]],
    targets: Vec<TargetAttachment>,
) -> Option<Scene> {
    let path = root().join("testdata/draws").join(name);
    let [vertex, fragment] = ["vert", "frag"].map(|stage| glsl(test, &path.with_extension(stage), "vulkan1.1"));
    let format = "R32G32B32A32_SFLOAT".parse().expect("a format");
    let attribute = |location, offset| VertexAttribute { location, binding: 0, format, offset };
    let vertex_input = VertexInputState {
        bindings: vec![VertexBinding { binding: 0, stride: 32, rate: Default::default(), divisor: 1 }],
        attributes: vec![attribute(0, 0), attribute(1, 16)],
    };
    Some(Scene {
        vertex: vertex?,
        fragment: fragment?,
        state: PipelineState { vertex: vertex_input, ..Default::default() },
        inputs: Inputs {
            draw: Some(Draw {
                vertex_buffers: vec![VertexBuffer { binding: 0, stride: 32, data: floats(&vertices.concat()) }],
                targets,
                ..Draw::new(topology, vertices.len() as u32, [48, 40])
            }),
            ..Default::default()
        },
    })
}

fn lavapipe(test: &str) -> Option<&'static Lavapipe> {
    Lavapipe::get().map_err(|why| support::skip(test, &why)).ok()
}

/// Deterministic pseudo-random numbers from -1 to 1.
fn noise(seed: u32) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Vertices up to `reach` half screens from the centre. (Where lavapipe clips, it returns NaN for values interpolated
/// linearly in screen space.)
fn corners(count: usize, seed: u32, reach: f32) -> Vec<[f32; 8]> {
    let mut next = noise(seed);
    let mut corner = || {
        let w = 1.5 + next();
        let color = [next(), next(), next()].map(|c| c.abs());
        [next() * reach * w, next() * reach * w, (next() * 0.5 + 0.5) * w, w, color[0], color[1], color[2], 0.75]
    };
    (0..count).map(|_| corner()).collect()
}

#[test]
fn triangles_meet_the_judge() {
    let test = "draws::triangles_meet_the_judge";
    let Some(vulkan) = lavapipe(test) else { return };
    for seed in 1..4 {
        let Some(mut scene) = varied(test, Topology::TriangleStrip, &corners(7, seed, 0.99)) else { return };
        scene.judge(vulkan, &format!("strip {seed}"), EDGES, None);
        if let Some(draw) = &mut scene.inputs.draw {
            draw.topology = Topology::TriangleList;
            draw.indices = vec![4, 1, 0, 3, 2, 1, 5, 4, 2];
            draw.vertices = 9;
            draw.first_vertex = 1;
            draw.instances = 2;
            draw.first_instance = 3;
            draw.depth = Some(Depth { clear: 0.9, compare: Compare::LessOrEqual, write: true });
            let over = |source, destination, op| BlendEquation { source, destination, op };
            draw.targets[0].blend = Some(Blend {
                color: over(BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add),
                alpha: over(BlendFactor::One, BlendFactor::One, BlendOp::Max),
            });
            draw.targets[2].format = "R16G16B16A16_SFLOAT".to_owned();
            draw.targets[1].write_mask = 0b1101;
        }
        scene.judge(vulkan, &format!("indexed {seed}"), EDGES, None);
    }
}

/// Waves of primitive shaders that are full, and that have primitives without vertices.
#[test]
fn waves_are_full_or_empty() {
    let test = "draws::waves_are_full_or_empty";
    for count in [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257] {
        let Some(mut scene) = varied(test, Topology::PointList, &corners(count, 5, 0.9)) else { return };
        scene.take_colors_from_draw();
        scene.judge_primitive_shader(&format!("{count} points"));
    }
    for triangles in [33, 65, 256] {
        let Some(mut scene) = varied(test, Topology::TriangleList, &corners(4, 7, 0.9)) else { return };
        if let Some(draw) = &mut scene.inputs.draw {
            draw.indices = (0..triangles).flat_map(|n| [n % 4, (n + 1) % 4, (n + 2) % 4]).collect();
            draw.vertices = 3 * triangles;
        }
        scene.take_colors_from_draw();
        scene.judge_primitive_shader(&format!("{triangles} triangles of four vertices"));
    }
}

#[test]
fn what_crosses_the_eye_is_clipped() {
    let test = "draws::what_crosses_the_eye_is_clipped";
    let Some(vulkan) = lavapipe(test) else { return };
    let mut floor = corners(6, 9, 1.3);
    for (n, vertex) in floor.iter_mut().enumerate() {
        // Every third vertex is behind the eye.
        let w = if n % 3 == 2 { -0.5 } else { 1.0 + n as f32 * 0.3 };
        (vertex[2], vertex[3]) = (w - 0.4, w);
    }
    let Some(mut scene) = varied(test, Topology::TriangleList, &floor) else { return };
    scene.inputs.draw.iter_mut().for_each(|draw| draw.targets.truncate(2));
    scene.judge(vulkan, "behind", EDGES, None);
}

#[test]
fn distances_clip_and_are_read() {
    let test = "draws::distances_clip_and_are_read";
    let Some(vulkan) = lavapipe(test) else { return };
    for seed in 1..4 {
        let targets = vec![target(0, "R32G32B32A32_SFLOAT")];
        let vertices = corners(7, seed, 0.99);
        let Some(mut scene) = pair(test, "clipped", Topology::TriangleStrip, &vertices, targets) else { return };
        scene.judge(vulkan, &format!("distances {seed}"), EDGES, None);
    }
}

#[test]
fn points_meet_the_judge() {
    let test = "draws::points_meet_the_judge";
    let Some(vulkan) = lavapipe(test) else { return };
    let points = corners(24, 5, 0.9);
    // Lavapipe draws the visible rest of points whose centre is outside, so all are inside.
    let Some(mut scene) = varied(test, Topology::PointList, &points) else { return };
    scene.judge(vulkan, "points", EDGES, None);
}

#[test]
fn lines_meet_the_judge() {
    let test = "draws::lines_meet_the_judge";
    let Some(vulkan) = lavapipe(test) else { return };
    let Some(mut scene) = varied(test, Topology::LineStrip, &corners(9, 3, 0.9)) else { return };
    scene.inputs.draw.iter_mut().for_each(|draw| draw.targets.truncate(2));
    scene.judge(vulkan, "lines", EDGES, None);
}

/// Lavapipe has no barycentric coordinates, so the test itself states them.
#[test]
fn points_lines_and_triangles_have_their_own_weights() {
    let test = "draws::points_lines_and_triangles_have_their_own_weights";
    // Three triangles, so that the emulator begins with each of the three slots; three lines, three points.
    let row = |y: f32, more: &[[f32; 2]]| {
        let first: Vec<[f32; 2]> = [[-1.0, y], [1.0, y]].iter().chain(more).copied().collect();
        first.into_iter().map(|[x, y]| [x, y, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0]).collect::<Vec<[f32; 8]>>()
    };
    let rows = [-0.9, -0.3, 0.3];
    let lines = rows.map(|y| row(y, &[])).concat();
    let triangles = rows.map(|y| row(y, &[[-1.0, y + 0.5]])).concat();
    let points: Vec<[f32; 8]> = rows.map(|y| [0.0, y, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0]).to_vec();
    let cases = [
        (PrimitiveKind::Points, Topology::PointList, points),
        (PrimitiveKind::Lines, Topology::LineList, lines),
        (PrimitiveKind::Triangles, Topology::TriangleList, triangles),
    ];
    for (kind, topology, vertices) in cases {
        let targets = vec![TargetAttachment { clear: [0.0; 4], ..target(0, "R32G32B32A32_SFLOAT") }];
        let Some(mut scene) = pair(test, "weights", topology, &vertices, targets) else { return };
        scene.state.raster.primitive = kind;
        scene.take_colors_from_draw();
        for (route, _, elf) in scene.pipelines() {
            let drawn = emu::run(&elf, &scene.state.layout, &scene.inputs, RunLimits::default());
            let targets = drawn.unwrap_or_else(|e| panic!("{kind:?}, {route}: {e}")).targets.expect("targets");
            let texels =
                targets.colors[0].data.as_chunks::<16>().0.iter().map(|texel| {
                    [0, 1, 2, 3].map(|n| f32::from_le_bytes([0, 1, 2, 3].map(|byte| texel[4 * n + byte])))
                });
            let mut seen = 0;
            for (n, [a, b, c, same]) in texels.enumerate().filter(|(_, [a, b, c, _])| a + b + c != 0.0) {
                seen += 1;
                // From -1 to 1 across 48 pixels.
                let along = ((n % 48) as f32 + 0.5) / 48.0;
                let expected = match kind {
                    PrimitiveKind::Points => [1.0, 0.0, 0.0],
                    PrimitiveKind::Lines => [1.0 - along, along, 0.0],
                    PrimitiveKind::Triangles => [1.0 - along - c, along, c],
                };
                let near = [a, b, c].iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-3);
                assert!(near && same == 1.0, "{kind:?}, {route}, pixel {n}: {:?}, expected {expected:?}", [a, b, c]);
            }
            assert!(seen >= 60, "{kind:?}, {route}: {seen} pixels");
        }
    }
}

/// Lavapipe of Mesa 22 draws only the first view in dynamic rendering, so the test itself states each layer's contents.
#[test]
fn every_view_is_drawn_to_its_layer() {
    let test = "draws::every_view_is_drawn_to_its_layer";
    let screen = [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]].map(|[x, y]| [x, y, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0]);
    for (name, view_mask, reads) in [("views", 0b1011, true), ("views", 0, true), ("views_unread", 0b110, false)] {
        let targets = vec![target(0, "R32G32B32A32_SINT")];
        let Some(mut scene) = pair(test, name, Topology::TriangleList, &screen, targets) else { return };
        scene.inputs.draw.iter_mut().for_each(|draw| draw.view_mask = view_mask);
        scene.take_colors_from_draw();
        for (route, _, elf) in scene.pipelines() {
            let at = format!("{name} {view_mask:#b}, {route}");
            let drawn = emu::run(&elf, &scene.state.layout, &scene.inputs, RunLimits::default());
            let targets = drawn.unwrap_or_else(|e| panic!("{at}: {e}")).targets.expect("targets");
            let [target] = &targets.colors[..] else { panic!("{at}: not one attachment") };
            let numbers = target.data.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect::<Vec<_>>();
            let layers: Vec<&[i32]> = numbers.chunks(48 * 40 * 4).collect();
            assert_eq!(layers.len(), if view_mask == 0 { 1 } else { 32 - view_mask.leading_zeros() as usize }, "{at}");
            for (layer, numbers) in (0i32..).zip(layers) {
                let expected = match (view_mask.max(1) >> layer & 1 == 1, reads) {
                    (false, _) => [0, 0, 0, 1],
                    (true, true) => [layer, layer, layer, 7],
                    (true, false) => [9, 8, layer, 7],
                };
                let wrong = numbers.chunks(4).find(|texel| *texel != expected);
                assert_eq!(wrong, None, "{at}: layer {layer}, not {expected:?}");
            }
        }
    }
}

#[test]
fn a_texture_is_drawn() {
    let test = "draws::a_texture_is_drawn";
    let shaders = root().join("testdata/shaders");
    let read = |name: &str| glsl(test, &shaders.join(Path::new(name)), "vulkan1.1");
    let (Some(vulkan), Some(vertex), Some(fragment)) = (lavapipe(test), read("ui.vert"), read("ui.frag")) else {
        return;
    };
    let mut next = noise(7);
    let data = InputBytes((0..16 * 8 * 4).map(|_| (next() * 127.0 + 128.0) as u8).collect());
    let image = Image {
        format: "R8G8B8A8_UNORM".to_owned(),
        shape: ViewShape::D2,
        extent: [16, 8, 1],
        layers: 1,
        arrayed: false,
        levels: 1,
        samples: 1,
        swizzle: Default::default(),
        data,
    };
    let format = |name: &str| name.parse().expect("a format");
    let attribute = |location, name| VertexAttribute { location, binding: location, format: format(name), offset: 0 };
    let binding = |binding, stride| VertexBinding { binding, stride, rate: Default::default(), divisor: 1 };
    let buffer = |binding, stride, data: &[f32]| VertexBuffer { binding, stride, data: floats(data) };
    let set = BindingLayout {
        binding: 0,
        kind: ResourceKind::CombinedImageSampler.into(),
        count: 1,
        dynamic: false,
        offset: None,
        samplers: Vec::new(),
    };
    let mut state = PipelineState {
        vertex: VertexInputState {
            bindings: vec![binding(0, 8), binding(1, 8), binding(2, 16)],
            attributes: vec![
                attribute(0, "R32G32_SFLOAT"),
                attribute(1, "R32G32_SFLOAT"),
                attribute(2, "R32G32B32A32_SFLOAT"),
            ],
        },
        ..Default::default()
    };
    state.layout.sets = vec![SetLayout { set: 0, root: None, bindings: vec![set] }];
    state.layout.push_constant_bytes = 16;
    for (linear, address, border) in [
        (false, Address::Repeat, Border::default()),
        (true, Address::MirroredRepeat, Border::default()),
        (true, Address::MirrorClampToEdge, Border::default()),
        (true, Address::ClampToBorder, Border::TransparentBlack),
        (true, Address::ClampToBorder, Border::OpaqueBlack),
        (false, Address::ClampToBorder, Border::OpaqueWhite),
        (true, Address::ClampToBorder, Border::Custom([0.25, 1.0, 0.5, 0.75])),
    ] {
        let (mag_linear, min_linear, address) = (linear, linear, [address; 3]);
        let sampler = Sampler { mag_linear, min_linear, address, border, ..Default::default() };
        let bound = Bound::CombinedImageSampler(image.clone(), sampler);
        let inputs = Inputs {
            bindings: vec![BindingElement { set: 0, binding: 0, element: 0, bound }],
            push_constants: floats(&[1.0, 1.0, 0.0, 0.0]),
            draw: Some(Draw {
                vertex_buffers: vec![
                    buffer(0, 8, &[-0.93, -0.91, 0.9, -0.7, -0.5, 0.8, 0.7, 0.9]),
                    buffer(1, 8, &[-0.3, -0.2, 1.3, 0.1, 0.0, 1.4, 1.2, 1.1]),
                    buffer(2, 16, &[1.0; 16]),
                ],
                targets: vec![target(0, "B8G8R8A8_UNORM")],
                ..Draw::new(Topology::TriangleStrip, 4, [64, 48])
            }),
            ..Default::default()
        };
        let mut scene = Scene { vertex: vertex.clone(), fragment: fragment.clone(), state: state.clone(), inputs };
        scene.judge(vulkan, &format!("texture, linear {linear}, {address:?}, {border:?}"), EDGES, None);
    }
}

/// Scratch in both stages, with an even and an odd number of user-data SGPRs. The hardware loads the wave's scratch
/// offset after them, and a prolog must not overwrite it.
#[test]
fn scratch_is_the_waves_own() {
    let test = "draws::scratch_is_the_waves_own";
    let Some(vulkan) = lavapipe(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut parities = BTreeSet::new();
    for step in ["push.a", "(push.a + push.b)"] {
        let spirv = ["vert", "frag"].map(|stage| {
            let text = std::fs::read_to_string(root().join("testdata/draws/scratch").with_extension(stage));
            let path = folder.path().join("scratch").with_extension(stage);
            std::fs::write(&path, text.expect("a shader").replace("STEP push.a", &format!("STEP {step}")))
                .expect("a file");
            glsl(test, &path, "vulkan1.1")
        });
        let [Some(vertex), Some(fragment)] = spirv else { return };
        let targets = vec![target(0, "R32G32B32A32_SFLOAT")];
        let Some(mut scene) = pair(test, "varied", Topology::TriangleStrip, &corners(5, 2, 0.99), targets) else {
            return;
        };
        (scene.vertex, scene.fragment) = (vertex, fragment);
        let rows: Vec<f32> = (0..64).map(|n| (n * 37 % 64) as f32 * 0.25).collect();
        scene.inputs.bindings =
            vec![BindingElement { set: 0, binding: 0, element: 0, bound: Bound::UniformBuffer(floats(&rows)) }];
        scene.inputs.push_constants = InputBytes([5u32, 13].into_iter().flat_map(u32::to_le_bytes).collect());
        scene.inputs.draw.iter_mut().for_each(|draw| draw.extent = [24, 20]);
        let kind = ResourceKind::UniformBuffer;
        let binding = BindingLayout {
            binding: 0,
            kind: kind.into(),
            count: 1,
            dynamic: false,
            offset: None,
            samplers: Vec::new(),
        };
        scene.state.layout.sets = vec![SetLayout { set: 0, root: None, bindings: vec![binding] }];
        scene.state.layout.push_constant_bytes = 8;
        scene.judge_in(&Arrangement::all(), vulkan, step, EDGES, None);
        for (route, _, elf) in scene.pipelines_in(&[Arrangement::SMALL]) {
            let words = LoadedPipeline::load(&mut Machine::new(Gpu::Gfx1030), &elf).expect("a pipeline").registers;
            for stage in [HardwareStage::Vs, HardwareStage::Ps] {
                let scratch = words.field(StageRegisters::of(stage).expect("its registers").scratch_en);
                assert_eq!(scratch, 1, "{route}: no scratch in hardware stage {stage:?} proves nothing");
            }
            let vertex = StageRegisters::of(HardwareStage::Vs).expect("its registers");
            parities.insert(words.field(vertex.user_sgpr) % 2);
        }
    }
    assert_eq!(parities.len(), 2, "an even and an odd number of user SGPRs");
}

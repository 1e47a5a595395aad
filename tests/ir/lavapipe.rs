//! Tests of the reference itself: lavapipe runs shaders whose results can be computed by hand.

use crate::support;
use crate::support::{glsl, root};
use crate::vulkan::{Lavapipe, Shader};
use dovetail::emu::inputs::{
    BindingElement, Bound, Draw, InputBytes, Inputs, TargetAttachment, Topology, VertexBuffer,
};
use dovetail::state::{VertexAttribute, VertexBinding, VertexInputState};

fn lavapipe(test: &str) -> Option<&'static Lavapipe> {
    Lavapipe::get().map_err(|why| support::skip(test, &why)).ok()
}

fn floats(x: &[f32]) -> InputBytes {
    InputBytes(x.iter().flat_map(|x| x.to_le_bytes()).collect())
}

fn storage(binding: u32, data: InputBytes) -> BindingElement {
    BindingElement { set: 0, binding, element: 0, bound: Bound::StorageBuffer(data) }
}

fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn shader(module: &[u8]) -> Shader<'_> {
    Shader { module, entry: "main", spec: &[] }
}

#[test]
fn matrices_multiply() {
    let test = "lavapipe::matrices_multiply";
    let (Some(vulkan), Some(module)) =
        (lavapipe(test), glsl(test, &root().join("testdata/shaders/gemm_f32.comp"), "vulkan1.1"))
    else {
        return;
    };
    const N: usize = 64;
    let a: Vec<f32> = (0..N * N).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..N * N).map(|i| (i % 5) as f32 - 1.0).collect();
    let size = N as u32;
    let inputs = Inputs {
        bindings: vec![storage(0, floats(&a)), storage(1, floats(&b)), storage(2, InputBytes(vec![0; N * N * 4]))],
        push_constants: InputBytes([size; 3].iter().flat_map(|x| x.to_le_bytes()).collect()),
        grid: [1, 1, 1],
        ..Default::default()
    };
    let c = as_floats(&vulkan.compute(shader(&module), &inputs).bindings[2]);
    for (row, column) in [(0, 0), (3, 17), (63, 63)] {
        let want: f32 = (0..N).map(|k| a[row * N + k] * b[k * N + column]).sum();
        assert_eq!(c[row * N + column], want, "row {row}, column {column}");
    }
}

#[test]
fn rows_become_shares() {
    let test = "lavapipe::rows_become_shares";
    let (Some(vulkan), Some(module)) =
        (lavapipe(test), glsl(test, &root().join("testdata/shaders/softmax.comp"), "vulkan1.1"))
    else {
        return;
    };
    const ROWS: usize = 3;
    const N: usize = 300;
    let a: Vec<f32> = (0..ROWS * N).map(|i| (i * 37 % 101) as f32 / 50.0).collect();
    let push = [(N as u32).to_le_bytes(), 1.0f32.to_le_bytes()].concat();
    let inputs = Inputs {
        bindings: vec![storage(0, floats(&a))],
        push_constants: InputBytes(push),
        grid: [ROWS as u32, 1, 1],
        ..Default::default()
    };
    let shares = as_floats(&vulkan.compute(shader(&module), &inputs).bindings[0]);
    for (row, before) in shares.chunks(N).zip(a.chunks(N)) {
        let whole: f32 = before.iter().map(|x| x.exp()).sum();
        for (share, x) in row.iter().zip(before) {
            assert!((share - x.exp() / whole).abs() < 1e-6, "{share} of {x}");
        }
    }
}

#[test]
fn particles_fall() {
    let test = "lavapipe::particles_fall";
    let (Some(vulkan), Some(module)) =
        (lavapipe(test), glsl(test, &root().join("testdata/shaders/particles.comp"), "vulkan1.1"))
    else {
        return;
    };
    let mut uniform = vec![0u8; 160];
    uniform[4..8].copy_from_slice(&(-10.0f32).to_le_bytes());
    uniform[144..148].copy_from_slice(&2u32.to_le_bytes());
    uniform[148..152].copy_from_slice(&0.5f32.to_le_bytes());
    // The first lives on, the second expires, the third is beyond the count.
    let before: [[f32; 8]; 3] = [[0., 9., 0., 4., 1., 0., 0., 0.], [0., 9., 0., 0.25, 0., 0., 0., 0.], [7.0; 8]];
    let inputs = Inputs {
        bindings: vec![
            storage(0, floats(&before.concat())),
            BindingElement { set: 0, binding: 1, element: 0, bound: Bound::UniformBuffer(InputBytes(uniform)) },
            storage(2, InputBytes(vec![0; 16])),
        ],
        push_constants: InputBytes::default(),
        grid: [1, 1, 1],
        ..Default::default()
    };
    let out = vulkan.compute(shader(&module), &inputs).bindings;
    let after = as_floats(&out[0]);
    assert!(after[0] > 0.0 && after[1] < 9.0 && after[3] == 3.5, "{after:?}");
    assert_eq!((after[11], &after[16..]), (3.0, &before[2][..]));
    // Number 1 died.
    assert_eq!(out[2][..8], [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_triangle_covers_its_pixels() {
    let test = "lavapipe::a_triangle_covers_its_pixels";
    let path = root().join("testdata/draw/triangle");
    let stage = |name: &str| glsl(test, &path.with_extension(name), "vulkan1.1");
    let (Some(vulkan), Some(vs), Some(fs)) = (lavapipe(test), stage("vert"), stage("frag")) else { return };
    let state = VertexInputState {
        bindings: vec![VertexBinding { binding: 0, stride: 20, rate: Default::default(), divisor: 1 }],
        attributes: vec![
            VertexAttribute { location: 0, binding: 0, format: "R32G32_SFLOAT".parse().unwrap(), offset: 0 },
            VertexAttribute { location: 1, binding: 0, format: "R32G32B32_SFLOAT".parse().unwrap(), offset: 8 },
        ],
    };
    let vertices = [[-1.0, -1.0, 1.0, 0.0, 0.0], [3.0, -1.0, 1.0, 0.0, 0.0], [-1.0, 3.0, 1.0, 0.0, 0.0]].concat();
    let inputs = Inputs {
        draw: Some(Draw {
            vertex_buffers: vec![VertexBuffer { binding: 0, stride: 20, data: floats(&vertices) }],
            targets: vec![TargetAttachment::new(0, "R8G8B8A8_UNORM")],
            ..Draw::new(Topology::TriangleList, 3, [4, 4])
        }),
        ..Default::default()
    };
    let outputs = vulkan.draw(shader(&vs), Some(shader(&fs)), &state, &inputs);
    assert_eq!(outputs.targets[0], [255, 0, 0, 255].repeat(16));
}

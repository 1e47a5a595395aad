//! The picture as inputs of `dovetail run`: mesh, view, texture, attachments.

use super::geometry::{self, Vec3, cross, dot, mesh, normalize, sub};
use dovetail::emu::inputs::{
    Address, BindingElement, Bound, Compare, Depth, Draw, Image, InputBytes, Inputs, Sampler, TargetAttachment,
    Topology, VertexBuffer, ViewShape,
};

const EYE: Vec3 = [1.5, 1.25, 5.4];
const MIDDLE: Vec3 = [0.0, -0.22, 0.0];
const SUN: Vec3 = [0.42, 0.74, 0.52];

fn bytes(numbers: impl IntoIterator<Item = f32>) -> InputBytes {
    InputBytes(numbers.into_iter().flat_map(f32::to_le_bytes).collect())
}

/// World to clip space, column by column: y down, depth 0 to 1.
fn clip_from_world(eye: Vec3, middle: Vec3) -> [f32; 16] {
    let back = normalize(sub(eye, middle));
    let right = normalize(cross([0.0, 1.0, 0.0], back));
    let up = cross(back, right);
    let (focus, near, far) = (2.22, 1.0, 30.0);
    let rows = [
        [right[0] * focus, right[1] * focus, right[2] * focus, -dot(right, eye) * focus],
        [-up[0] * focus, -up[1] * focus, -up[2] * focus, dot(up, eye) * focus],
        {
            let k = far / (far - near);
            [-back[0] * k, -back[1] * k, -back[2] * k, (dot(back, eye) - near) * k]
        },
        [-back[0], -back[1], -back[2], dot(back, eye)],
    ];
    std::array::from_fn(|n| rows[n % 4][n / 4])
}

/// Lacquer with bands and specks of gold; every level the mean of the one before.
fn lacquer(size: u32) -> Image {
    let texel = |x: u32, y: u32| -> [f32; 4] {
        let [u, v] = [x, y].map(|n| (n as f32 + 0.5) / size as f32);
        let wave = |a: f32, b: f32, c: f32| ((u * a + v * b + c) * std::f32::consts::TAU).sin();
        let cloud = 0.5 + 0.25 * wave(1.0, 2.0, 0.1) + 0.15 * wave(-3.0, 1.0, 0.7) + 0.1 * wave(5.0, 4.0, 0.3);
        // Two bands that cross, thin and bright.
        let band = |phase: f32| 1.0 - ((phase - phase.round()).abs() * 2.0 * size as f32 / 11.0).min(1.0);
        let crossing = band(u + v + 0.04 * wave(0.0, 2.0, 0.0)).max(band(u - v + 0.04 * wave(2.0, 0.0, 0.5)));
        let gold = (crossing * 3.0).min(1.0);
        let lacquer = [0.012 + 0.05 * cloud, 0.08 + 0.16 * cloud, 0.15 + 0.20 * cloud];
        let metal = [0.95, 0.62, 0.24];
        let mix = |n: usize| lacquer[n] + (metal[n] - lacquer[n]) * gold;
        [mix(0), mix(1), mix(2), gold]
    };
    let mut level: Vec<[f32; 4]> = (0..size * size).map(|n| texel(n % size, n / size)).collect();
    let (mut data, mut width, mut levels) = (Vec::new(), size as usize, 0);
    let curve = |x: f32| if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
    loop {
        let byte = |x: f32| (x * 255.0).round() as u8;
        data.extend(
            level.iter().flat_map(|[r, g, b, a]| [byte(curve(*r)), byte(curve(*g)), byte(curve(*b)), byte(*a)]),
        );
        levels += 1;
        if width == 1 {
            break;
        }
        width /= 2;
        let mean = |n: usize| {
            let at = n / width * 4 * width + n % width * 2;
            let four = [at, at + 1, at + 2 * width, at + 2 * width + 1].map(|at| level[at]);
            std::array::from_fn(|c| four.iter().map(|t| t[c]).sum::<f32>() / 4.0)
        };
        level = (0..width * width).map(mean).collect();
    }
    image(size, levels, data)
}

fn image(size: u32, levels: u32, data: Vec<u8>) -> Image {
    Image {
        format: "R8G8B8A8_SRGB".into(),
        shape: ViewShape::D2,
        extent: [size, size, 1],
        layers: 1,
        arrayed: false,
        levels,
        samples: 1,
        swizzle: Default::default(),
        data: InputBytes(data),
    }
}

fn target() -> TargetAttachment {
    // The backdrop, as the floor fades into it.
    let clear = [0.0388, 0.0465, 0.0688, 1.0];
    TargetAttachment { clear, ..TargetAttachment::new(0, "R8G8B8A8_SRGB") }
}

/// The knot, in a picture of `size` by `size` pixels; `detail` from 1.
pub fn knot(size: u32, detail: u32) -> Inputs {
    let sun = normalize(SUN);
    let geometry::Mesh { vertices, indices } = mesh(40 * detail, 6 * detail, 14 * detail, sun);
    let count = indices.len() as u32;
    let view = clip_from_world(EYE, MIDDLE).into_iter().chain(EYE).chain([1.0]).chain(sun).chain([0.0]);
    let sampler = Sampler {
        mag_linear: true,
        min_linear: true,
        mip_linear: true,
        address: [Address::Repeat; 3],
        max_lod: 12.0,
        ..Default::default()
    };
    let bind = |binding, bound| BindingElement { set: 0, binding, element: 0, bound };
    Inputs {
        bindings: vec![
            bind(0, Bound::UniformBuffer(bytes(view))),
            bind(1, Bound::CombinedImageSampler(lacquer(256), sampler)),
        ],
        draw: Some(Draw {
            indices,
            vertex_buffers: vec![VertexBuffer { binding: 0, stride: 24, data: InputBytes(vertices) }],
            targets: vec![target()],
            depth: Some(Depth { clear: 1.0, compare: Compare::Less, write: true }),
            ..Draw::new(Topology::TriangleList, count, [size; 2])
        }),
        ..Default::default()
    }
}

/// A picture of `size` by `size` pixels to half its size.
pub fn half(size: u32, picture: Vec<u8>) -> Inputs {
    let sampler =
        Sampler { mag_linear: true, min_linear: true, address: [Address::ClampToEdge; 3], ..Default::default() };
    let bound = Bound::CombinedImageSampler(image(size, 1, picture), sampler);
    Inputs {
        bindings: vec![BindingElement { set: 0, binding: 0, element: 0, bound }],
        draw: Some(Draw { targets: vec![target()], ..Draw::new(Topology::TriangleList, 3, [size / 2; 2]) }),
        ..Default::default()
    }
}

//! A knot over a floor as vertices and indices: 24 bytes a vertex, position, normal, place in the texture, light.
//!
//! How much of sun and sky each vertex sees is worked out here, with the knot taken for a chain of balls.

use std::f32::consts::TAU;

/// Three components.
pub type Vec3 = [f32; 3];

/// Thickness of the knot, and where the floor is.
const RADIUS: f32 = 0.34;
const FLOOR: f32 = -1.78;
/// Half the floor's width.
const REACH: f32 = 7.0;
/// Balls in the chain.
const BALLS: usize = 160;

pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn scale(a: Vec3, s: f32) -> Vec3 {
    a.map(|x| x * s)
}

pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    add(a, scale(b, -1.0))
}

pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn normalize(a: Vec3) -> Vec3 {
    scale(a, 1.0 / dot(a, a).sqrt())
}

/// Vertices and indices of triangles.
#[derive(Default)]
pub struct Mesh {
    pub vertices: Vec<u8>,
    pub indices: Vec<u32>,
}

/// The trefoil.
fn curve(t: f32) -> Vec3 {
    let (s, c) = t.sin_cos();
    let (s2, c2) = (2.0 * t).sin_cos();
    scale([s + 2.0 * s2, c - 2.0 * c2, -1.15 * (3.0 * t).sin()], 0.56)
}

/// The mesh with so many rings of so many vertices, and so many squares a side of floor.
pub fn mesh(rings: u32, around: u32, squares: u32, sun: Vec3) -> Mesh {
    let mut out = Mesh::default();
    for ring in 0..=rings {
        let t = ring as f32 / rings as f32 * TAU;
        let middle = curve(t);
        let (before, after) = (curve(t - 0.01), curve(t + 0.01));
        let along = normalize(sub(after, before));
        let bend = sub(add(before, after), scale(middle, 2.0));
        let side = normalize(cross(along, bend));
        let up = cross(side, along);
        for n in 0..=around {
            let (s, c) = (n as f32 / around as f32 * TAU).sin_cos();
            let normal = add(scale(up, c), scale(side, s));
            let at = add(middle, scale(normal, RADIUS));
            let place = [ring as f32 / rings as f32, n as f32 / around as f32];
            out.vertex(at, normal, place, Some(t), sun);
        }
    }
    grid(&mut out.indices, 0, rings, around);
    let first = (out.vertices.len() / 24) as u32;
    for z in 0..=squares {
        for x in 0..=squares {
            // Closer together in the middle, where shadows are.
            let [x, z] =
                [x, z].map(|n| n as f32 / squares as f32 * 2.0 - 1.0).map(|u| u * (0.35 + 0.65 * u * u) * REACH);
            out.vertex([x, FLOOR, z], [0.0, 1.0, 0.0], [0.0; 2], None, sun);
        }
    }
    grid(&mut out.indices, first, squares, squares);
    out
}

fn grid(indices: &mut Vec<u32>, first: u32, rows: u32, columns: u32) {
    for row in 0..rows {
        for column in 0..columns {
            let a = first + row * (columns + 1) + column;
            let b = a + columns + 1;
            indices.extend([a, b, a + 1, a + 1, b, b + 1]);
        }
    }
}

impl Mesh {
    /// `on` is where on the knot it is, if it is.
    fn vertex(&mut self, at: Vec3, normal: Vec3, place: [f32; 2], on: Option<f32>, sun: Vec3) {
        let [sunlight, skylight] = light(at, normal, on, sun);
        self.vertices.extend(at.iter().flat_map(|x| x.to_le_bytes()));
        let ten = |x: f32| (x * 511.0).round() as i32 as u32 & 0x3ff;
        let packed = ten(normal[0]) | ten(normal[1]) << 10 | ten(normal[2]) << 20;
        self.vertices.extend(packed.to_le_bytes());
        self.vertices.extend(place.iter().flat_map(|x| ((x * 65535.0).round() as u16).to_le_bytes()));
        let kind = if on.is_some() { 1.0 } else { 0.0 };
        self.vertices.extend([sunlight, skylight, kind, 1.0].map(|x: f32| (x * 255.0).round() as u8));
    }
}

/// Visible shares of the sun and of the sky at a point.
fn light(at: Vec3, normal: Vec3, on: Option<f32>, sun: Vec3) -> [f32; 2] {
    let (mut sunlight, mut hidden) = (1f32, 0f32);
    for ball in 0..BALLS {
        let t = ball as f32 / BALLS as f32 * TAU;
        // The knot does not hide itself from where it is.
        let apart = on.map_or(TAU, |own| (own - t).abs().min(TAU - (own - t).abs()));
        if apart < 0.5 {
            continue;
        }
        let to = sub(curve(t), at);
        let along = dot(to, sun);
        if along > 0.0 {
            let miss = dot(to, to) - along * along;
            let edge = (miss.max(0.0).sqrt() - RADIUS) / (0.16 * along + 0.02);
            sunlight = sunlight.min((0.5 + 0.5 * edge).clamp(0.0, 1.0));
        }
        let distance = dot(to, to).sqrt().max(RADIUS * 0.6);
        let facing = (dot(normal, to) / distance + 0.25).clamp(0.0, 1.0);
        hidden += facing * (RADIUS / distance).powi(2) * 0.09;
    }
    let smooth = sunlight * sunlight * (3.0 - 2.0 * sunlight);
    [smooth, (-hidden).exp()]
}

//! Cubes: the face that a direction hits, the coordinates on it, and texels beyond its edges.
//!
//! The emulator has separate code for the same facts, so the two check each other and share no mistakes.

use super::shadow::Shadow;
use dovetail_ir::number::decode;
use dovetail_ir::{Bits, LaneOp};

/// A change of coordinates, each with its error bound.
pub(super) type Step = [(f64, f64); 3];

/// The length in texels of a difference of coordinates, with bounds, by Vulkan's formula. Vulkan also allows
/// approximations from the largest component up to 1.4 times the sum; such wide bounds would prove nothing about the
/// level, and no implementation compared here uses them.
pub(super) fn length(apart: Step, size: [i64; 3]) -> [f64; 3] {
    let texels = [0, 1, 2].map(|n| (apart[n].0 * size[n] as f64, apart[n].1 * size[n] as f64));
    let off: f64 = texels.iter().map(|t| t.1).sum();
    let length = texels.iter().map(|t| t.0 * t.0).sum::<f64>().sqrt();
    [length - off, length, length + off]
}

/// Face and its coordinates in [0, 1].
pub(super) fn face(direction: [f64; 3]) -> (i64, f64, f64) {
    let (face, s, t, major) = hit(direction);
    (face, (s / major.abs() + 1.0) / 2.0, (t / major.abs() + 1.0) / 2.0)
}

/// Face, its coordinates times the magnitude of the major axis, and the major axis.
fn hit([x, y, z]: [f64; 3]) -> (i64, f64, f64, f64) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if az >= ax && az >= ay {
        if z >= 0.0 { (4, x, -y, z) } else { (5, -x, -y, z) }
    } else if ay >= ax {
        if y >= 0.0 { (2, x, z, y) } else { (3, x, -z, y) }
    } else if x >= 0.0 {
        (0, -z, -y, x)
    } else {
        (1, z, -y, x)
    }
}

/// The result of a cube operation on a direction. It is exact, but which face a direction hits that is not known
/// exactly is not known either; nor is it for NaN, and for denormals, which may be flushed before they are compared.
pub(super) fn primitive(op: LaneOp, direction: [(u64, Shadow); 3]) -> (f64, Shadow) {
    let parts = direction.map(|(bits, _)| decode(bits, Bits::B32));
    let (face, s, t, major) = hit(parts);
    let result = match op {
        LaneOp::CubeId => face as f64,
        LaneOp::CubeS => s,
        LaneOp::CubeT => t,
        _ => 2.0 * major,
    };
    let plain = |x: &f64| *x == 0.0 || x.abs() >= f64::from(f32::MIN_POSITIVE);
    let known = direction.iter().all(|(_, shadow)| shadow.is_exact()) && parts.iter().all(plain);
    (result, if known { Shadow::NONE } else { Shadow::UNCERTAIN })
}

/// The texel beyond a face's edge, on the adjacent face; `None` at a corner.
pub(super) fn over_edge(layer: i64, [x, y]: [i64; 2], size: i64) -> Option<(i64, [i64; 2])> {
    let inside = [x, y].map(|n| (0..size).contains(&n));
    match inside {
        [true, true] => return Some((layer, [x, y])),
        [false, false] => return None,
        _ => {}
    }
    let [s, t] = [x, y].map(|n| (2 * n + 1) as f64 / size as f64 - 1.0);
    let (face, s, t) = face(direction(layer.rem_euclid(6), s, t));
    let texel = |n: f64| ((n * size as f64).floor() as i64).clamp(0, size - 1);
    Some((layer - layer.rem_euclid(6) + face, [texel(s), texel(t)]))
}

/// The direction of a point on a face, whose coordinates go from -1 to 1.
fn direction(face: i64, s: f64, t: f64) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The length of a step in direction space, in texels of the face that it hits; `None` if the step reaches another
/// face.
pub(super) fn on_face(at: [f64; 3], step: Step, size: i64) -> Option<[f64; 3]> {
    let to: [f64; 3] = std::array::from_fn(|n| at[n] + step[n].0 * 1e-6);
    let ((from_face, s, t), (to_face, u, v)) = (face(at), face(to));
    let major = at.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let off = step.iter().map(|(_, off)| off).sum::<f64>() / (2.0 * major);
    let apart = [((u - s) * 1e6, off), ((v - t) * 1e6, off), (0.0, 0.0)];
    (from_face == to_face).then(|| length(apart, [size, size, 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_meet_their_faces() {
        for number in 0..6 {
            let (found, s, t) = face(direction(number, 0.5, -0.25));
            assert_eq!((found, s, t), (number, 0.75, 0.375));
        }
    }

    #[test]
    fn a_step_is_measured_on_the_face_that_it_is_seen_from() {
        let step = [(0.1, 1e-3), (0.0, 0.0), (0.0, 0.0)];
        let near = |found: Option<[f64; 3]>, expected: [f64; 3]| {
            let found = found.expect("one face");
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        // A tenth of half a face is 1.6 texels, with a bound of 0.016 in each direction.
        near(on_face([0.2, 0.1, 1.0], step, 32), [1.6 - 0.032, 1.6, 1.6 + 0.032]);
        near(on_face([0.4, 0.2, -2.0], step, 32), [0.8 - 0.016, 0.8, 0.8 + 0.016]);
        assert_eq!(on_face([1.0 - 1e-9, 0.0, 1.0], step, 32), None);
    }

    #[test]
    fn beyond_an_edge_lies_a_neighbour() {
        let size = 8;
        let centre = |n: i64| (2 * n + 1) as f64 / size as f64 - 1.0;
        for layer in 0..6 {
            for n in 0..size {
                for place in [[-1, n], [size, n], [n, -1], [n, size]] {
                    let (other, [x, y]) = over_edge(layer, place, size).expect("one face");
                    assert_ne!(other, layer);
                    assert!([x, y].into_iter().any(|c| c == 0 || c == size - 1));
                    let [a, b] =
                        [direction(layer, centre(place[0]), centre(place[1])), direction(other, centre(x), centre(y))];
                    let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                    assert!(apart < 3.0 / size as f64, "{layer} {place:?}: {other} {x} {y}");
                }
            }
            assert_eq!(over_edge(layer, [3, 4], size), Some((layer, [3, 4])));
            assert_eq!(over_edge(layer, [-1, size], size), None);
        }
        assert_eq!(over_edge(8, [3, -1], size).map(|(layer, _)| layer / 6), Some(1));
    }
}

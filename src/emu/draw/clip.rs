//! Clips a primitive to the part inside all planes.
//!
//! A vertex of that part is given by three weights of the primitive's vertices, and a plane by its distance from each
//! vertex: every attribute is linear in the weights.

/// Weights of the three vertices.
pub type Weights = [f64; 3];

/// The weights of the vertices themselves.
pub const CORNERS: [Weights; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// An interpolated value, given those of the vertices.
pub fn at(weights: &Weights, values: &[f64; 3]) -> f64 {
    weights.iter().zip(values).map(|(w, v)| if *w == 0.0 { 0.0 } else { w * v }).sum()
}

/// Returns the part of the outline inside the planes; `closed` joins its last vertex with the first. Empty if all is
/// outside.
pub fn clip(mut outline: Vec<Weights>, closed: bool, planes: &[[f64; 3]]) -> Vec<Weights> {
    for plane in planes {
        let mut kept = Vec::with_capacity(outline.len() + 1);
        for (n, corner) in outline.iter().enumerate() {
            let here = at(corner, plane);
            // A vertex with NaN is outside.
            if here >= 0.0 {
                kept.push(*corner);
            }
            let last = n + 1 == outline.len();
            let next = if last { outline.first().filter(|_| closed) } else { outline.get(n + 1) };
            if let Some(next) = next {
                let there = at(next, plane);
                if here >= 0.0 && there < 0.0 {
                    kept.push(between(corner, next, here, there));
                } else if here < 0.0 && there >= 0.0 {
                    kept.push(between(next, corner, there, here));
                }
            }
        }
        outline = kept;
    }
    outline
}

/// Intersection with a plane, always computed from the inner side: two primitives that share the edge get the same
/// vertex.
fn between(inner: &Weights, outer: &Weights, inside: f64, outside: f64) -> Weights {
    let t = inside / (inside - outside);
    std::array::from_fn(|n| inner[n] + (outer[n] - inner[n]) * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_cut_off() {
        assert_eq!(clip(CORNERS.to_vec(), true, &[[1.0, 0.0, 2.0]]), CORNERS);
        assert!(clip(CORNERS.to_vec(), true, &[[-1.0, -1.0, -2.0]]).is_empty());
        let cut = clip(CORNERS.to_vec(), true, &[[-1.0, 1.0, 1.0]]);
        assert_eq!(cut, [[0.5, 0.5, 0.0], CORNERS[1], CORNERS[2], [0.5, 0.0, 0.5]]);
        let line = clip(CORNERS[..2].to_vec(), false, &[[1.0, -3.0, 0.0]]);
        assert_eq!(line, [CORNERS[0], [0.75, 0.25, 0.0]]);
        assert!(clip(CORNERS.to_vec(), true, &[[f64::NAN; 3]]).is_empty());
    }
}

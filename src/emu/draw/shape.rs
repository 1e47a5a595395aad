//! The triangles on the screen that primitives cover: points are squares, lines rectangles, and polygons are filled or
//! drawn as lines or points.

use super::Corner;
use super::clip::Weights;
use super::raster;
use crate::inputs::{FixedFunction, PolygonMode};

/// The triangles of a point; the weights of the second and third vertex are the point coordinates.
pub(super) fn point(corner: &Corner, size: f64) -> Vec<[Corner; 3]> {
    square(corner, size, |s, t| [1.0 - s - t, s, t])
}

/// The triangles of a line. Values change only along the line: where its end is not at a right angle to it, a vertex
/// has the values of the nearest place on the line.
pub(super) fn line([from, to]: [&Corner; 2], fixed: &FixedFunction) -> Vec<[Corner; 3]> {
    let places = raster::line([from.at, to.at], fixed.width(), fixed.bresenham);
    let along = [to.at[0] - from.at[0], to.at[1] - from.at[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let corner = |n: usize| {
        let at = places[n];
        let part = ((at[0] - from.at[0]) * along[0] + (at[1] - from.at[1]) * along[1]) / square;
        let end = if n < 2 { from } else { to };
        Corner { at, ..if fixed.bresenham && part.is_finite() { between(from, to, part) } else { *end } }
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(corner);
    vec![[a, b, c], [b, d, c]]
}

/// The values of a corner at this part of the way between two; its position is that of the first.
fn between(from: &Corner, to: &Corner, part: f64) -> Corner {
    let mix = |a: f64, b: f64| a + (b - a) * part;
    let inverse_w = mix(from.inverse_w, to.inverse_w);
    Corner {
        at: from.at,
        depth: mix(from.depth, to.depth),
        inverse_w,
        perspective: std::array::from_fn(|n| {
            mix(from.perspective[n] * from.inverse_w, to.perspective[n] * to.inverse_w) / inverse_w
        }),
        linear: std::array::from_fn(|n| mix(from.linear[n], to.linear[n])),
    }
}

/// The triangles of a polygon that clipping has left of a triangle. Lines and points are those of the triangle itself,
/// not of the edges and vertices that clipping adds. `sizes`: edge lengths in pixels of the triangle's vertices as
/// points.
pub(super) fn polygon(outline: &[Corner], fixed: &FixedFunction, sizes: [f64; 3]) -> Vec<[Corner; 3]> {
    let next = || outline.iter().cycle().skip(1);
    match (fixed.polygon_mode, outline) {
        (PolygonMode::Fill, [first, rest @ ..]) => rest.windows(2).map(|pair| [*first, pair[0], pair[1]]).collect(),
        (PolygonMode::Line, _) => {
            let sides = outline.iter().zip(next()).filter(|(from, to)| share_a_side(from, to));
            sides.flat_map(|(from, to)| line([from, to], fixed)).collect()
        }
        (PolygonMode::Point, _) => {
            let vertex = |corner: &Corner| corner.perspective.iter().position(|weight| *weight == 1.0);
            let vertices = outline.iter().filter_map(|corner| Some((corner, sizes[vertex(corner)?])));
            vertices.flat_map(|(corner, size)| square(corner, size, |_, _| corner.perspective)).collect()
        }
        (PolygonMode::Fill, []) => Vec::new(),
    }
}

/// Whether two corners are on one side of the triangle: the opposite vertex has no weight in either.
fn share_a_side(from: &Corner, to: &Corner) -> bool {
    (0..3).any(|n| from.perspective[n] == 0.0 && to.perspective[n] == 0.0)
}

fn square(corner: &Corner, size: f64, weights: impl Fn(f64, f64) -> Weights) -> Vec<[Corner; 3]> {
    let at = |s: f64, t: f64| {
        let at = [corner.at[0] + (s - 0.5) * size, corner.at[1] + (t - 0.5) * size];
        let weights = weights(s, t);
        Corner { at, perspective: weights, linear: weights, ..*corner }
    };
    let [a, b, c, d] = [at(0.0, 0.0), at(1.0, 0.0), at(0.0, 1.0), at(1.0, 1.0)];
    vec![[a, b, c], [b, d, c]]
}

//! Interpolants of a quad: at the centre of each pixel, at its samples, and at its centroid.

use super::clip::Weights;
use super::raster::{Coverage, Point};
use super::samples::MAX_SAMPLES;

/// Interpolants at a position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spot {
    /// Sample position: pixels from the pixel's top left corner.
    pub place: [f32; 2],
    /// Perspective weights of the second and third vertex.
    pub perspective: [f32; 2],
    /// Screen-linear weights of the second and third vertex.
    pub linear: [f32; 2],
    /// Depth.
    pub depth: f32,
    /// w of the clip-space position.
    pub w: f32,
}

/// One pixel of a quad, covered or not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QuadPixel {
    /// Interpolants at the pixel's centre.
    pub centre: Spot,
    /// Interpolants at the shaded sample; if the whole pixel is shaded, at the first.
    pub sample: Spot,
    /// Interpolants at a point of the pixel inside the primitive.
    pub centroid: Spot,
    /// Samples that the primitive covers, one bit per sample.
    pub covered: u32,
    /// Samples that the result is written to, one bit per sample.
    pub live: u32,
    /// Whether the primitive covers the whole pixel.
    pub fully: bool,
    /// Depth of each sample.
    pub depths: [f32; MAX_SAMPLES],
}

/// 2 × 2 pixels of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quad {
    /// Index of the primitive.
    pub primitive: usize,
    /// The first pixel.
    pub at: [u32; 2],
    /// Shaded pixels, one bit per pixel.
    pub covered: u8,
    /// The shaded sample in per-sample shading.
    pub sample: Option<u32>,
    /// The four pixels.
    pub lanes: [QuadPixel; 4],
}

/// A vertex on the screen.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub at: Point,
    pub depth: f64,
    pub inverse_w: f64,
    /// Weights of the primitive's vertices, perspective and screen-linear.
    pub perspective: Weights,
    pub linear: Weights,
}

/// Interpolants of every pixel of a quad, for one sample or for the whole pixel.
pub(super) fn quad(
    primitive: usize,
    corners: &[Corner; 3],
    coverage: &Coverage,
    places: &[Point],
    only: Option<u32>,
) -> Quad {
    let lanes: [QuadPixel; 4] = std::array::from_fn(|n| {
        let covered = coverage.covered[n];
        let at = |sample: usize| spot(corners, coverage.at_samples[sample][n], places[sample]);
        let centre = spot(corners, coverage.weights[n], [0.5; 2]);
        let all = places.len() as u32 == covered.count_ones();
        let mut depths = [0.0; MAX_SAMPLES];
        (0..places.len()).for_each(|sample| depths[sample] = at(sample).depth);
        QuadPixel {
            centre,
            sample: at(only.unwrap_or(0) as usize),
            centroid: if all || covered == 0 { centre } else { at(covered.trailing_zeros() as usize) },
            covered,
            live: covered & only.map_or(u32::MAX, |sample| 1 << sample),
            fully: coverage.fully >> n & 1 == 1,
            depths,
        }
    });
    let covered = (0..4).filter(|n| lanes[*n].live != 0).fold(0, |mask, n| mask | 1 << n);
    Quad { primitive, at: coverage.at, covered, sample: only, lanes }
}

fn spot(corners: &[Corner; 3], weights: Weights, place: Point) -> Spot {
    let sum = |value: &dyn Fn(&Corner) -> f64| -> f64 { weights.iter().zip(corners).map(|(w, c)| w * value(c)).sum() };
    let inverse_w = sum(&|c| c.inverse_w);
    let perspective = |n: usize| (sum(&|c| c.perspective[n] * c.inverse_w) / inverse_w) as f32;
    let linear = |n: usize| sum(&|c| c.linear[n]) as f32;
    Spot {
        place: place.map(|x| x as f32),
        perspective: [perspective(1), perspective(2)],
        linear: [linear(1), linear(2)],
        depth: sum(&|c| c.depth) as f32,
        w: (1.0 / inverse_w) as f32,
    }
}

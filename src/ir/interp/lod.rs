//! The level of detail of an image sample, and how far it may differ between implementations.

use super::cube::{Step, face, length, on_face};
use super::image::Operands;
use super::machine::Machine;
use super::wave::Wave;
use dovetail_ir::number::decode;
use dovetail_ir::{Bits, Dim, ImageOp, ImageOperand, Inst, LodMode};

/// Precision of a level of detail and of the weight between levels: `mipmapPrecisionBits` is at least 4, and is 4 in
/// lavapipe.
pub(super) const LEVEL_STEP: f64 = 1.0 / 16.0;

impl Machine<'_> {
    /// The level of detail before the sampler's bias and clamp, between its smallest and largest possible values;
    /// `None`: it may be any.
    pub(super) fn level_of_detail(
        &mut self,
        wave: &Wave,
        inst: &Inst,
        operands: &Operands<'_>,
        lane: usize,
        mask: u64,
    ) -> Option<[f64; 3]> {
        use ImageOperand as O;
        let image = operands.image;
        let extra = operands.float(O::Lod).unwrap_or_default();
        let size = match inst.args.first().and_then(|&v| self.texture(wave, v, lane)) {
            Some(texture) => texture.size(0),
            None => return Some([0.0; 3]),
        };
        let cube = image.dim == Dim::Cube;
        let derived = self.shader.has_derivatives();
        let all = |what: fn(u8) -> O| [0, 1, 2].map(|n| operands.float(what(n)).unwrap_or_default());
        let lengths = match image.lod {
            _ if !matches!(image.op, ImageOp::Sample | ImageOp::Gather(_)) => return Some([0.0; 3]),
            LodMode::Zero => return Some([0.0; 3]),
            LodMode::Explicit => return Some(quantized(extra)),
            LodMode::Implicit | LodMode::Bias if !derived => return Some(quantized(extra)),
            LodMode::Gradient => {
                let at = all(O::Coord);
                let along = |gradient: Step| match cube {
                    true => on_face(at.map(|c| c.0), gradient, size[0]),
                    false => Some(length(gradient, size)),
                };
                [along(all(O::GradX)), along(all(O::GradY))]
            }
            LodMode::Implicit | LodMode::Bias => {
                let coords = self.quad(wave, inst, operands, (lane, mask))?;
                let places = coords.map(|c| c.map(|c| c.0));
                if cube && places.iter().any(|at| face(*at).0 != face(places[0]).0) {
                    return None;
                }
                // The differences may be those of either row or column; on a cube, they may be seen from any of the
                // four lanes.
                differences(&coords).map(|each| {
                    let each = each.into_iter().flat_map(|apart| {
                        let seen = if cube { &places[..] } else { &places[..1] };
                        seen.iter().map(move |at| match cube {
                            true => on_face(*at, apart, size[0]),
                            false => Some(length(apart, size)),
                        })
                    });
                    let around = |a: [f64; 3], b: [f64; 3]| [a[0].min(b[0]), a[1], a[2].max(b[2])];
                    each.reduce(|a, b| Some(around(a?, b?))).flatten()
                })
            }
        };
        let [Some(x), Some(y)] = lengths else { return None };
        let extra = if image.lod == LodMode::Gradient { (0.0, 0.0) } else { extra };
        let [low, lod, high]: [f64; 3] = std::array::from_fn(|n| x[n].max(y[n]).max(0.0).log2());
        let off = extra.1 + LEVEL_STEP;
        Some([low + extra.0 - off, lod + extra.0, high + extra.0 + off])
    }

    /// The sides of a pixel's footprint, each as it may be computed: in x, then in y. `None`: they may be any.
    pub(super) fn sides(
        &self,
        wave: &Wave,
        inst: &Inst,
        operands: &Operands<'_>,
        at: (usize, u64),
    ) -> Option<[Vec<Step>; 2]> {
        use ImageOperand as O;
        let all = |what: fn(u8) -> O| vec![[0, 1, 2].map(|n| operands.float(what(n)).unwrap_or_default())];
        match operands.image.lod {
            LodMode::Gradient => Some([all(O::GradX), all(O::GradY)]),
            _ => self.quad(wave, inst, operands, at).map(|coords| differences(&coords).map(Vec::from)),
        }
    }

    /// The coordinates of the lanes of a quad; `None` if one of them is inactive.
    fn quad(&self, wave: &Wave, inst: &Inst, operands: &Operands<'_>, (lane, mask): (usize, u64)) -> Option<[Step; 4]> {
        let quad = lane / 4 * 4;
        let all = mask >> quad & 15 == 15;
        all.then(|| std::array::from_fn(|n| self.coordinates(wave, inst, operands, quad + n)))
    }

    /// The coordinates of a lane, each with its error bound.
    fn coordinates(&self, wave: &Wave, inst: &Inst, operands: &Operands<'_>, lane: usize) -> Step {
        let mut at = [(0.0, 0.0); 3];
        for (meaning, &v) in operands.meaning.iter().zip(&inst.args) {
            if let ImageOperand::Coord(n) = meaning {
                let (bits, shadow) = self.arg(wave, v, lane);
                at[usize::from(*n)] = (decode(bits, Bits::B32), shadow.bound.max(0.0));
            }
        }
        at
    }
}

/// The differences of a quad's coordinates in x, of either row, and in y, of either column.
fn differences(coords: &[Step; 4]) -> [[Step; 2]; 2] {
    [[(0, 1), (2, 3)], [(0, 2), (1, 3)]].map(|pairs| {
        pairs.map(|(from, to): (usize, usize)| {
            let [from, to] = [coords[from], coords[to]];
            std::array::from_fn(|n| (to[n].0 - from[n].0, to[n].1 + from[n].1))
        })
    })
}

/// An explicit level, which may be rounded up or down.
fn quantized((lod, off): (f64, f64)) -> [f64; 3] {
    [((lod - off) / LEVEL_STEP).floor() * LEVEL_STEP, lod, ((lod + off) / LEVEL_STEP).ceil() * LEVEL_STEP]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_given_may_be_rounded() {
        assert_eq!(quantized((0.25, 0.0)), [0.25; 3]);
        assert_eq!(quantized((0.26, 0.0)), [0.25, 0.26, 0.3125]);
        assert_eq!(quantized((0.25, 0.01)), [0.1875, 0.25, 0.3125]);
    }

    #[test]
    fn a_length_is_off_by_what_its_parts_are() {
        let found = length([(0.25, 0.0), (-0.5, 0.01), (7.0, 0.0)], [12, 8, 0]);
        let expected = [5.0 - 0.08, 5.0, 5.0 + 0.08];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}

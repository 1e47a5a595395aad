//! The level of detail that an image is sampled at, and how far implementations may be apart in it.

use super::super::{Bits, Dim, ImageOp, ImageOperand, Inst, LodMode};
use super::cube::{face, on_face};
use super::exec::Machine;
use super::number::decode;
use super::texture::Operands;
use super::wave::Wave;
use crate::target::Stage;

impl Machine<'_> {
    /// The level that sampling is at, before the sampler has its say, between the least and the most that it may be; none
    /// where it may be any.
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
        let given = |(lod, off): (f64, f64)| [lod - off, lod, lod + off];
        let derived = self.shader.stage == Stage::Fragment;
        let all = |what: fn(u8) -> O| [0, 1, 2].map(|n| operands.float(what(n)).unwrap_or_default());
        let lengths = match image.lod {
            _ if !matches!(image.op, ImageOp::Sample) => return Some([0.0; 3]),
            LodMode::Zero => return Some([0.0; 3]),
            LodMode::Explicit => return Some(given(extra)),
            LodMode::Implicit | LodMode::Bias if !derived => return Some(given(extra)),
            LodMode::Gradient => {
                let at = all(O::Coord);
                let along = |gradient: [(f64, f64); 3]| match cube {
                    true => on_face(at.map(|c| c.0), gradient.map(|g| g.0), size[0]),
                    false => Some(length(gradient, size)),
                };
                [along(all(O::GradX)), along(all(O::GradY))]
            }
            LodMode::Implicit | LodMode::Bias => {
                let quad = lane / 4 * 4;
                let coords = |lane: usize| -> [(f64, f64); 3] {
                    let mut at = [(0.0, 0.0); 3];
                    for (meaning, &v) in operands.meaning.iter().zip(&inst.args) {
                        if let O::Coord(n) = meaning {
                            let (bits, shadow) = self.arg(wave, v, lane);
                            at[usize::from(*n)] = (decode(bits, Bits::B32), shadow.bound.max(0.0));
                        }
                    }
                    at
                };
                if mask >> quad & 15 != 15 {
                    return None;
                }
                let here = coords(quad);
                if cube && (1..4).any(|n| face(coords(quad + n).map(|c| c.0)).0 != face(here.map(|c| c.0)).0) {
                    return None;
                }
                [1, 2].map(|step| {
                    let there = coords(quad + step);
                    let apart = [0, 1, 2].map(|n| (there[n].0 - here[n].0, there[n].1 + here[n].1));
                    let at = here.map(|c| c.0);
                    match cube {
                        true => on_face(at, apart.map(|c| c.0), size[0]),
                        false => Some(length(apart, size)),
                    }
                })
            }
        };
        let [Some(x), Some(y)] = lengths else { return None };
        let extra = if image.lod == LodMode::Gradient { (0.0, 0.0) } else { extra };
        let [low, lod, high]: [f64; 3] = std::array::from_fn(|n| x[n].max(y[n]).max(0.0).log2());
        // Logarithms are approximate, and projected lengths more so.
        let off = extra.1 + if cube { 0.3 } else { 0.02 };
        Some([low + extra.0 - off, lod + extra.0, high + extra.0 + off])
    }
}

/// The length of a difference of coordinates in texels: Vulkan lets it be as little as its greatest component, and as much
/// as the sum of all, and the coordinates may be off.
pub(super) fn length(apart: [(f64, f64); 3], size: [i64; 3]) -> [f64; 3] {
    let texels = [0, 1, 2].map(|n| (apart[n].0.abs() * size[n] as f64, apart[n].1 * size[n] as f64));
    let off: f64 = texels.iter().map(|t| t.1).sum();
    let [greatest, squares, sum] =
        texels.iter().fold([0.0, 0.0, 0.0], |[g, q, s]: [f64; 3], (d, _)| [d.max(g), q + d * d, s + d]);
    [greatest - off, squares.sqrt(), sum + off]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_between_its_greatest_part_and_their_sum() {
        let found = length([(0.25, 0.0), (-0.5, 0.01), (7.0, 0.0)], [12, 8, 0]);
        let expected = [4.0 - 0.08, 5.0, 7.0 + 0.08];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}

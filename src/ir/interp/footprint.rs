//! Anisotropic filtering. Vulkan leaves open which texels of a pixel's footprint are read, and their weights. So the result
//! is known to be between the least and the greatest of them, and no better.

use super::cube::{Step, length};
use super::image::Operands;
use super::lod::LEVEL_STEP;
use super::machine::Machine;
use super::texture::{Coords, Filter, InterpretedSampler, Sampled, Texture};
use super::wave::Wave;
use dovetail_ir::{Dim, ImageOp, ImageOperand, Inst, LodMode};

/// Largest number of texels that are read for one sample.
const MOST_TEXELS: f64 = 16_384.0;

/// The part of an image that a pixel may cover.
pub(super) struct Footprint {
    /// Half its width and height in coordinates.
    reach: [f64; 2],
    /// First and last level of detail, before the sampler's bias and limits.
    levels: [f64; 2],
}

impl Machine<'_> {
    /// The footprint of a sample if an anisotropic filter applies to it; `Some(None)`: it may be any.
    pub(super) fn footprint(
        &mut self,
        wave: &Wave,
        inst: &Inst,
        operands: &Operands<'_>,
        at: (usize, u64),
        sampler: &InterpretedSampler,
    ) -> Option<Option<Footprint>> {
        let image = operands.image;
        let derived = match image.lod {
            LodMode::Implicit | LodMode::Bias => self.shader.has_derivatives(),
            mode => mode == LodMode::Gradient,
        };
        if sampler.anisotropy <= 1.0 || image.op != ImageOp::Sample || !derived || image.dim == Dim::D1 {
            return None;
        }
        let size = inst.args.first().and_then(|&v| self.texture(wave, v, at.0))?.size(0);
        Some(self.sides(wave, inst, operands, at).filter(|_| image.dim == Dim::D2).map(|sides| {
            let lengths = sides.each_ref().map(|side| side.iter().map(|step| length(*step, size)));
            let [x, y] = lengths.map(|all| all.fold([f64::INFINITY, 0.0], |a, b| [a[0].min(b[0]), b[2].max(a[1])]));
            let (shorter, longer) = (x[0].min(y[0]), x[0].max(y[0]));
            let most = x[1].max(y[1]);
            let bias = operands.float(ImageOperand::Lod).filter(|_| image.lod == LodMode::Bias).unwrap_or_default();
            let reach = |n: usize| -> f64 {
                let of = |side: &Vec<Step>| side.iter().map(|step| step[n].0.abs() + step[n].1).fold(0.0, f64::max);
                sides.iter().map(of).sum()
            };
            let least = shorter.max(longer / sampler.anisotropy).max(0.0);
            let levels = [least.log2() + bias.0 - bias.1 - LEVEL_STEP, most.log2() + bias.0 + bias.1 + LEVEL_STEP];
            Footprint { reach: [reach(0), reach(1)], levels }
        }))
    }
}

impl Texture {
    /// What any filter over the footprint may give.
    pub(super) fn within(
        &self,
        sampler: &InterpretedSampler,
        at: &Coords,
        footprint: &Footprint,
        reference: Option<(f64, f64)>,
    ) -> Sampled {
        const UNKNOWN: Sampled = [(0.0, f64::INFINITY); 4];
        let last = self.levels.len().saturating_sub(1) as f64;
        let [first, end] = footprint.levels.map(|lod| sampler.limited(lod).clamp(0.0, last));
        let (mut low, mut high) = ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4]);
        let mut behind: f64 = 0.0;
        for level in first.floor() as usize..=end.ceil() as usize {
            let size = self.size(level);
            let range = |n: usize| {
                let scale = if sampler.unnormalized { 1.0 } else { size[n] as f64 };
                let reach = (footprint.reach[n] + at.error[n]) * scale + 1.5;
                let center = at.at[n] * scale + at.offset[n];
                (center - reach, center + reach)
            };
            let [x, y] = [range(0), range(1)];
            let texels = (x.1 - x.0 + 1.0) * (y.1 - y.0 + 1.0);
            if texels.is_nan() || texels > MOST_TEXELS {
                return UNKNOWN;
            }
            for place in pairs(x, y) {
                let axis = |n: usize| {
                    let center = place[n] as f64 + 0.5;
                    Self::taps(center, 0.0, size[n], Filter::Nearest, sampler.address[n]).0[0].0
                };
                let (texel, shadows) = match axis(0).zip(axis(1)) {
                    Some((x, y)) => self.texel(level, [x, y, 0], at.layer),
                    None => (self.border(sampler), [Default::default(); 4]),
                };
                for n in 0..4 {
                    let (value, close) = self.value(sampler, texel[n], reference);
                    if close || value.is_nan() {
                        return UNKNOWN;
                    }
                    (low[n], high[n]) = (low[n].min(value), high[n].max(value));
                    behind = behind.max(shadows[n].bound);
                }
            }
        }
        let rounded = |x: f64| if self.integer { 0.0 } else { x.abs() * 1e-6 + 2.0 * self.step };
        std::array::from_fn(|n| {
            let middle = (low[n] + high[n]) / 2.0;
            (middle, (high[n] - low[n]) / 2.0 + behind + rounded(high[n].abs().max(low[n].abs())))
        })
    }
}

/// All texels of a range of columns and one of rows.
fn pairs(x: (f64, f64), y: (f64, f64)) -> impl Iterator<Item = [i64; 2]> {
    let whole = |(from, to): (f64, f64)| from.floor() as i64..=to.floor() as i64;
    whole(y).flat_map(move |y| whole(x).map(move |x| [x, y]))
}

#[cfg(test)]
mod tests {
    use super::super::shadow::Shadow;
    use super::*;

    /// Texels of one row, 0 to 7.
    fn row() -> Texture {
        let texel = |x: u8| ([f32::from(x).to_bits(); 4], [Shadow::NONE; 4]);
        Texture { extent: [8, 1, 1], levels: vec![(0..8).map(texel).collect()], ..Texture::default() }
    }

    #[test]
    fn a_sample_is_between_the_texels_of_its_footprint() {
        let sampler = InterpretedSampler { anisotropy: 4.0, lod: [0.0, 9.0, 0.0], ..InterpretedSampler::default() };
        let sampler = InterpretedSampler { address: [super::super::texture::AddressMode::ClampToEdge; 3], ..sampler };
        let [error, offset] = [[0.0; 3]; 2];
        let at = Coords { at: [0.5, 0.5, 0.0], error, offset, count: 2, layer: 0, cube: false };
        let footprint = |reach: f64| Footprint { reach: [reach, 0.0], levels: [-1.0, 0.5] };
        // The middle is 4, its reach 1.5 texels, or 2.5.
        for (reach, least, greatest) in [(0.0, 2.0, 5.0), (0.125, 1.0, 6.0)] {
            let (value, bound) = row().within(&sampler, &at, &footprint(reach), None)[0];
            assert!((value - bound - least).abs() < 1e-4 && (value + bound - greatest).abs() < 1e-4, "{value} {bound}");
        }
        assert!(row().within(&sampler, &at, &footprint(1e6), None)[0].1.is_infinite());
    }
}

//! Images: texels as 32-bit components, nearest and linear sampling, loads, stores and queries.
//!
//! The caller decodes the format. The bound of a sampled value allows 8 bits for the weight between texels, as lavapipe
//! and the hardware report. If nearest sampling or a face's edge is too close to decide, the result is uncertain. Integers are
//! not filtered, so with a linear filter they are uncertain.
//!
//! Anisotropic filters are in `footprint`.

use super::cube::over_edge;
use super::shadow::Shadow;

/// A texel: four 32-bit components, and the exact value and error bound of each.
pub type ShadowedTexel = ([u32; 4], [Shadow; 4]);

/// An image, a cube (six layers per cube) or a texel buffer.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Width, height, depth of level 0.
    pub extent: [u32; 3],
    /// Number of layers; with multisampling, each sample is one.
    pub layers: u32,
    /// Samples per texel.
    pub samples: u32,
    /// Components are integers: decides missing and border components.
    pub integer: bool,
    /// Distance between neighbouring values of a normalised format, in which filters may compute; 0 for floats.
    pub step: f64,
    /// Sources of the view's components: 0 zero, 1 one, 4 to 7 a component. The texels have this order already; the
    /// sampler's border has not.
    pub selects: [u8; 4],
    /// Texels of each level: layer (or slice) by layer, row by row.
    pub levels: Vec<Vec<ShadowedTexel>>,
}

impl Default for Texture {
    /// One layer without levels.
    fn default() -> Self {
        let (selects, levels) = ([4, 5, 6, 7], Vec::new());
        Self { extent: [1; 3], layers: 1, samples: 1, integer: false, step: 0.0, selects, levels }
    }
}

/// Sampler filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Nearest texel.
    #[default]
    Nearest,
    /// Weighted average.
    Linear,
}

/// Addressing beyond an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum AddressMode {
    #[default]
    Repeat,
    MirroredRepeat,
    ClampToEdge,
    ClampToBorder,
    MirrorClampToEdge,
}

/// A sampler.
#[derive(Clone, Copy, Debug, Default)]
pub struct InterpretedSampler {
    /// Filter for magnification.
    pub mag: Filter,
    /// Filter for minification.
    pub min: Filter,
    /// Filter between levels.
    pub mip: Filter,
    /// Addressing in u, v and w.
    pub address: [AddressMode; 3],
    /// Least and greatest level of detail, and the bias.
    pub lod: [f64; 3],
    /// The words of the border's components, in images of floats and of integers.
    pub border: [[u32; 4]; 2],
    /// Comparison: which of less, equal, greater pass.
    pub compare: Option<[bool; 3]>,
    /// Coordinates in texels.
    pub unnormalized: bool,
    /// Filtering at the edge of a cube's face uses the address modes.
    pub non_seamless: bool,
    /// Largest ratio of a footprint that is filtered along its longer side; up to 1: none.
    pub anisotropy: f64,
}

impl InterpretedSampler {
    /// A level of detail with the bias, within the sampler's limits.
    pub(super) fn limited(&self, lod: f64) -> f64 {
        let [least, greatest, bias] = self.lod;
        (lod + bias).clamp(least, greatest.max(least))
    }
}

/// A sampled value and its bound.
pub(super) type Sampled = [(f64, f64); 4];

impl Texture {
    pub(super) fn size(&self, level: usize) -> [i64; 3] {
        self.extent.map(|x| i64::from((x >> level.min(31)).max(1)))
    }

    /// Index of a texel; `None` if it is outside.
    pub(super) fn place(&self, level: usize, [x, y, z]: [i64; 3], layer: i64) -> Option<(usize, usize)> {
        let size = self.size(level);
        let inside = [x, y, z].iter().zip(size).all(|(n, size)| (0..size).contains(n));
        if !inside || !(0..i64::from(self.layers)).contains(&layer) || level >= self.levels.len() {
            return None;
        }
        // A volume has one layer; other images have one slice.
        let slice = layer.max(z);
        usize::try_from((slice * size[1] + y) * size[0] + x).ok().map(|n| (level, n))
    }

    /// A texel; zeros outside.
    pub fn texel(&self, level: usize, at: [i64; 3], layer: i64) -> ShadowedTexel {
        let place = self.place(level, at, layer);
        let texel = place.and_then(|(level, n)| self.levels.get(level)?.get(n));
        texel.copied().unwrap_or(([0; 4], [Shadow::NONE; 4]))
    }

    /// The taps of one axis with their weights, and whether the choice is too close to decide.
    pub(super) fn taps(
        n: f64,
        error: f64,
        size: i64,
        filter: Filter,
        mode: AddressMode,
    ) -> (Vec<(Option<i64>, f64)>, bool) {
        let wrap = |i: i64| match mode {
            AddressMode::Repeat => Some(i.rem_euclid(size)),
            AddressMode::MirroredRepeat => {
                let i = i.rem_euclid(2 * size);
                Some(if i < size { i } else { 2 * size - 1 - i })
            }
            AddressMode::ClampToEdge => Some(i.clamp(0, size - 1)),
            AddressMode::ClampToBorder => (0..size).contains(&i).then_some(i),
            AddressMode::MirrorClampToEdge => Some(if i < 0 { -1 - i } else { i }.min(size - 1)),
        };
        match filter {
            Filter::Nearest => {
                let close = (n - error).floor() != (n + error).floor();
                (vec![(wrap(n.floor() as i64), 1.0)], close)
            }
            Filter::Linear => {
                (Self::taps_beyond(n, error).into_iter().map(|(i, weight)| (wrap(i), weight)).collect(), false)
            }
        }
    }

    /// The taps of an axis before addressing: they may be beyond the edge. Near a texel's centre its neighbour on the
    /// other side has no weight, but may have some within the coordinate's error.
    fn taps_beyond(n: f64, error: f64) -> Vec<(i64, f64)> {
        let base = (n - 0.5).floor();
        let weight = n - 0.5 - base;
        let at = |step| (base as i64).saturating_add(step);
        let mut taps = vec![(at(0), 1.0 - weight), (at(1), weight)];
        if weight < error {
            taps.push((at(-1), 0.0));
        }
        if 1.0 - weight < error {
            taps.push((at(2), 0.0));
        }
        taps
    }

    /// The reference of a comparison, and the distance at which a comparison is too close to decide. Normalised depths
    /// are compared with a reference that is clamped to their range; then every implementation has the same one.
    fn compared(&self, (reference, off): (f64, f64)) -> (f64, f64) {
        match self.step > 0.0 {
            true if reference - off >= 1.0 => (1.0, 0.0),
            true if reference + off <= 0.0 => (0.0, 0.0),
            true => (reference.clamp(0.0, 1.0), 1e-5 + off),
            false => (reference, 1e-5 + off),
        }
    }

    /// The border as a texel.
    pub(super) fn border(&self, sampler: &InterpretedSampler) -> [u32; 4] {
        let [floats, integers] = sampler.border;
        let (border, one) = if self.integer { (integers, 1) } else { (floats, 1f32.to_bits()) };
        self.selects.map(|select| match select {
            0 => 0,
            1 => one,
            component => border[usize::from(component & 3)],
        })
    }

    /// The number of a component, or the result of its comparison, and whether that is too close to decide.
    pub(super) fn value(&self, sampler: &InterpretedSampler, word: u32, reference: Option<(f64, f64)>) -> (f64, bool) {
        // A double holds every integer of 32 bits.
        let v = if self.integer { f64::from(word) } else { f64::from(f32::from_bits(word)) };
        let (Some(reference), Some([less, equal, greater])) = (reference, sampler.compare) else { return (v, false) };
        let (reference, near) = self.compared(reference);
        let pass = match reference.partial_cmp(&v) {
            Some(std::cmp::Ordering::Less) => less,
            Some(std::cmp::Ordering::Equal) => equal,
            Some(std::cmp::Ordering::Greater) => greater,
            None => false,
        };
        (f64::from(u8::from(pass)), (reference - v).abs() < near)
    }

    /// A filtered sample of one level. `error` is the coordinates' error in texels.
    pub(super) fn level(
        &self,
        sampler: &InterpretedSampler,
        filter: Filter,
        level: usize,
        at: &Coords,
        reference: Option<(f64, f64)>,
    ) -> Sampled {
        let size = self.size(level);
        let mut axes = Vec::new();
        let mut close = self.integer && filter == Filter::Linear;
        for (n, &size) in size.iter().enumerate() {
            if n >= at.count {
                axes.push(vec![(Some(0), 1.0)]);
                continue;
            }
            let scale = if sampler.unnormalized { 1.0 } else { size as f64 };
            let x = at.at[n] * scale + at.offset[n];
            let error = at.error[n] * scale + x.abs() * 2f64.powi(-22) + 1.0 / 512.0;
            let (taps, unsure) = match at.cube && !sampler.non_seamless && filter == Filter::Linear {
                true => (Self::taps_beyond(x, error).into_iter().map(|(i, weight)| (Some(i), weight)).collect(), false),
                false => Self::taps(x, error, size, filter, sampler.address[n]),
            };
            close |= unsure;
            axes.push(taps);
        }
        let (mut sum, mut low, mut high) = ([0.0; 4], [f64::INFINITY; 4], [f64::NEG_INFINITY; 4]);
        let mut behind: f64 = 0.0;
        for (z, wz) in &axes[2] {
            for (y, wy) in &axes[1] {
                for (x, wx) in &axes[0] {
                    let weight = wx * wy * wz;
                    let inside = x.zip(*y).zip(*z);
                    let (texel, shadows) = match inside {
                        Some(((x, y), _)) if at.cube && !sampler.non_seamless => {
                            let over = over_edge(at.layer, [x, y], size[0]);
                            // Three faces meet at a corner, where filtering is implementation-defined.
                            close |= over.is_none() && weight != 0.0;
                            let (layer, [x, y]) = over.unwrap_or((at.layer, [x, y]));
                            self.texel(level, [x, y, 0], layer)
                        }
                        Some(((x, y), z)) => self.texel(level, [x, y, z], at.layer),
                        None => (self.border(sampler), [Shadow::NONE; 4]),
                    };
                    for n in 0..4 {
                        let (v, unsure) = self.value(sampler, texel[n], reference);
                        close |= unsure;
                        sum[n] += weight * v;
                        low[n] = low[n].min(v);
                        high[n] = high[n].max(v);
                        let inexact = self.integer && !shadows[n].is_exact();
                        behind = behind.max(if inexact { f64::INFINITY } else { shadows[n].bound.max(0.0) });
                    }
                }
            }
        }
        let error: f64 = at.error.iter().zip(size).map(|(e, size)| e * size as f64).sum();
        // Each axis may round its result, and the weights are rounded too.
        let rounded = self.step * (1.0 + at.count as f64) / 2.0;
        std::array::from_fn(|n| {
            let spread = high[n] - low[n];
            let weights =
                if filter == Filter::Linear { spread * (error + at.count as f64 * 1.5 / 256.0) + rounded } else { 0.0 };
            let rounded = if self.integer { 0.0 } else { sum[n].abs() * 1e-6 };
            (sum[n], if close { f64::INFINITY } else { weights + behind + rounded })
        })
    }

    /// A sample at a level of detail that may be between two levels.
    pub(super) fn sample_between(
        &self,
        sampler: &InterpretedSampler,
        at: &Coords,
        [low, lod, high]: [f64; 3],
        reference: Option<(f64, f64)>,
    ) -> Sampled {
        let limit = |lod: f64| sampler.limited(lod);
        let mut result = self.sample(sampler, at, lod, reference);
        // Between whole levels the result is linear in the level.
        for end in
            [low, low.ceil().min(high), high.floor().max(low), high].into_iter().filter(|end| limit(*end) != limit(lod))
        {
            // For magnification the level does not matter.
            let other =
                if limit(end).max(limit(lod)) <= 0.0 { result } else { self.sample(sampler, at, end, reference) };
            for (result, other) in result.iter_mut().zip(other) {
                result.1 = result.1.max(other.1 + (result.0 - other.0).abs());
            }
        }
        result
    }

    /// The level that a gather reads, and whether it may read another.
    pub(super) fn gathered_level(&self, sampler: &InterpretedSampler, lods: [f64; 3]) -> (usize, bool) {
        let last = self.levels.len().saturating_sub(1) as f64;
        let [low, lod, high] = lods.map(|lod| sampler.limited(lod).clamp(0.0, last));
        // A filter that mixes two levels leaves open which of them is read.
        let same = match sampler.mip {
            Filter::Nearest => (low - lod.round()).abs() < 0.5 && (high - lod.round()).abs() < 0.5,
            Filter::Linear => low == high && lod.fract() == 0.0,
        };
        (lod.round() as usize, !same)
    }

    pub(super) fn sample(
        &self,
        sampler: &InterpretedSampler,
        at: &Coords,
        lod: f64,
        reference: Option<(f64, f64)>,
    ) -> Sampled {
        let last = self.levels.len().saturating_sub(1) as f64;
        let lod = sampler.limited(lod);
        let filter = if lod <= 0.0 { sampler.mag } else { sampler.min };
        let lod = lod.clamp(0.0, last);
        if sampler.mip == Filter::Nearest {
            let level = (lod + 0.5).ceil() - 1.0;
            // At the halfway point either level may be read.
            let close = lod > 0.0 && lod < last && (lod + 0.5).fract() == 0.0;
            let mut result = self.level(sampler, filter, level.max(0.0) as usize, at, reference);
            result.iter_mut().filter(|_| close).for_each(|r| r.1 = f64::INFINITY);
            return result;
        }
        let (low, weight) = (lod.floor(), lod.fract());
        let a = self.level(sampler, filter, low as usize, at, reference);
        let b = self.level(sampler, filter, (low + 1.0).min(last) as usize, at, reference);
        std::array::from_fn(|n| {
            let value = a[n].0 * (1.0 - weight) + b[n].0 * weight;
            let between = if self.integer && weight != 0.0 { f64::INFINITY } else { self.step / 2.0 };
            (value, a[n].1.max(b[n].1) + between)
        })
    }
}

/// Sampling coordinates.
pub(super) struct Coords {
    pub at: [f64; 3],
    pub error: [f64; 3],
    /// Offset in texels of the level that is read.
    pub offset: [f64; 3],
    pub count: usize,
    pub layer: i64,
    pub cube: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_covers_the_levels_that_may_be_read() {
        let level = |x: f32| vec![([x.to_bits(); 4], [Shadow::NONE; 4])];
        let levels = vec![level(0.0), level(1.0), level(0.0)];
        let texture = Texture { levels, ..Texture::default() };
        let [error, offset] = [[0.0; 3]; 2];
        let at = Coords { at: [0.5; 3], error, offset, count: 2, layer: 0, cube: false };
        let sampler = |mip| InterpretedSampler { mip, lod: [0.0, 2.0, 0.0], ..InterpretedSampler::default() };
        let one = |mip, lod| texture.sample_between(&sampler(mip), &at, lod, None)[0];
        let near = |(value, bound): (f64, f64), expected: (f64, f64)| {
            assert!((value - expected.0).abs() < 1e-5 && (bound - expected.1).abs() < 1e-5, "{value} {bound}");
        };
        near(one(Filter::Linear, [0.25; 3]), (0.25, 0.0));
        near(one(Filter::Linear, [0.2, 0.25, 0.375]), (0.25, 0.125));
        // Between the ends the second level is read alone.
        near(one(Filter::Linear, [0.5, 0.5, 1.5]), (0.5, 0.5));
        near(one(Filter::Linear, [-3.0, -2.0, 0.0]), (0.0, 0.0));
        near(one(Filter::Nearest, [0.3, 0.4, 0.45]), (0.0, 0.0));
        near(one(Filter::Nearest, [0.3, 0.4, 0.55]), (0.0, 1.0));
        assert!(one(Filter::Nearest, [0.5; 3]).1.is_infinite());
    }

    #[test]
    fn the_centre_of_a_texel_may_be_on_either_side_of_it() {
        let levels = vec![[1f32, 0.0, 0.0, 0.0].map(|x| ([x.to_bits(); 4], [Shadow::NONE; 4])).to_vec()];
        let texture = Texture { extent: [4, 1, 1], levels, ..Texture::default() };
        let bound = |x: f64| {
            let [error, offset] = [[0.0; 3]; 2];
            let at = Coords { at: [x / 4.0, 0.5, 0.0], error, offset, count: 2, layer: 0, cube: false };
            let linear =
                InterpretedSampler { min: Filter::Linear, mag: Filter::Linear, ..InterpretedSampler::default() };
            texture.sample_between(&linear, &at, [0.0; 3], None)[0].1
        };
        assert!(bound(1.5) > 0.0 && bound(1.51) == 0.0 && bound(2.5) == 0.0);
    }

    #[test]
    fn references_are_clamped_to_the_range_of_normalised_depths() {
        let levels = vec![vec![([1f32.to_bits(); 4], [Shadow::NONE; 4])]];
        let one = |step: f64, reference: (f64, f64)| {
            let texture = Texture { step, levels: levels.clone(), ..Texture::default() };
            let compare = Some([true, true, false]);
            let sampler = InterpretedSampler { compare, ..InterpretedSampler::default() };
            let [error, offset] = [[0.0; 3]; 2];
            let at = Coords { at: [0.5; 3], error, offset, count: 2, layer: 0, cube: false };
            texture.level(&sampler, Filter::Nearest, 0, &at, Some(reference))[0]
        };
        let (passes, bound) = one(1.0 / 65535.0, (1.5, 1e-3));
        assert!(passes == 1.0 && bound < 1e-5, "the texel is 1: {passes} {bound}");
        assert!(one(0.0, (1.5, 1e-3)).0 == 0.0 && one(1.0 / 65535.0, (1.0, 1e-3)).1.is_infinite());
    }

    #[test]
    fn integers_are_read_as_they_are() {
        let levels = vec![[1u32, 0xffff_fffe].map(|x| ([x; 4], [Shadow::NONE; 4])).to_vec()];
        let texture = Texture { extent: [2, 1, 1], integer: true, levels, ..Texture::default() };
        let one = |x: f64| {
            let [error, offset] = [[0.0; 3]; 2];
            let at = Coords { at: [x, 0.5, 0.0], error, offset, count: 2, layer: 0, cube: false };
            let border = InterpretedSampler {
                address: [AddressMode::ClampToBorder; 3],
                border: [[1f32.to_bits(); 4], [1; 4]],
                ..InterpretedSampler::default()
            };
            texture.sample_between(&border, &at, [0.0; 3], None)[0]
        };
        assert_eq!([0.25, 0.75, 1.75].map(one), [(1.0, 0.0), (f64::from(0xffff_fffeu32), 0.0), (1.0, 0.0)]);
        assert!(one(0.5).1.is_infinite(), "between the two");
    }
}

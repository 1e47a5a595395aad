//! Sampling: filters texels at coordinates and a level of detail (isa-gfx10 4.5, 4.6).
//!
//! Weights are exact, where the hardware has 8 bits (K), so that errors which rounding would hide show up. Integer
//! texels are never filtered. Each texel is wrapped on its own, so a sample at an edge may mix border and texels.

use super::cube;
use super::descriptor::{DescriptorShape, SamplerDescriptor};
use super::texture::{TexelPosition, TextureView};
use crate::format::DataFormat;
use crate::memory::Memory;
use dovetail_base::error::Result;

/// Coordinates of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coordinates {
    /// s, t, r; for a cube, the coordinates on the face, from 0.
    pub at: [f32; 3],
    /// Layer; for a cube, 6 * cube + face.
    pub layer: f32,
    /// Texel offset.
    pub offset: [i32; 3],
    /// Coordinates are in texels.
    pub unnormalized: bool,
    /// They are on a face of a cube.
    pub cube: bool,
}

/// The part of an image that a pixel covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// The level of detail of its samples.
    pub level: f32,
    /// The change of coordinates along its longer side.
    pub along: [f32; 3],
    /// Number of samples.
    pub samples: u32,
}

impl Footprint {
    /// One sample.
    pub fn point(level: f32) -> Self {
        Self { level, along: [0.0; 3], samples: 1 }
    }
}

/// An image with its sampler.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    /// Memory.
    pub memory: &'a Memory,
    /// The image.
    pub texture: &'a TextureView,
    /// The sampler.
    pub sampler: &'a SamplerDescriptor,
    /// The reference of a comparison.
    pub reference: Option<f32>,
}

/// Two neighbouring texels in one direction, and the weight of the second.
#[derive(Clone, Copy)]
struct Neighbours {
    first: i32,
    weight: f64,
}

impl Neighbours {
    fn new(at: f32, texels: u32, offset: i32, linear: bool, unnormalized: bool) -> Self {
        let at = if unnormalized { f64::from(at) } else { f64::from(at) * f64::from(texels) };
        let at = at + f64::from(offset);
        if linear {
            let first = (at - 0.5).floor();
            Self { first: first as i32, weight: (at - 0.5 - first).clamp(0.0, 1.0) }
        } else {
            Self { first: at.floor() as i32, weight: 0.0 }
        }
    }

    fn each(self) -> impl Iterator<Item = (i32, f64)> {
        let pair = [(self.first, 1.0 - self.weight), (self.first.saturating_add(1), self.weight)];
        pair.into_iter().filter(|(_, weight)| *weight > 0.0)
    }
}

impl Sampled<'_> {
    /// The level of detail from the derivatives of the coordinates in x and in y.
    pub fn level_of(&self, dx: [f32; 3], dy: [f32; 3], unnormalized: bool) -> f32 {
        self.length(dx, unnormalized).max(self.length(dy, unnormalized)).log2() as f32
    }

    /// The length of a difference of coordinates in texels of level 0.
    fn length(&self, step: [f32; 3], unnormalized: bool) -> f64 {
        let scaled = step.iter().zip(self.texture.extent(0)).take(self.directions());
        let square = |(d, n): (&f32, u32)| (f64::from(*d) * if unnormalized { 1.0 } else { f64::from(n) }).powi(2);
        scaled.map(square).sum::<f64>().sqrt()
    }

    /// The samples along the longer side of a pixel's footprint, by Vulkan's formula for anisotropic filtering; Vulkan
    /// leaves open how the hardware chooses them. One sample if the footprint is square, or the sampler's filters are
    /// not anisotropic.
    pub fn footprint(&self, dx: [f32; 3], dy: [f32; 3], unnormalized: bool) -> Footprint {
        let most = 1u32 << self.sampler.anisotropy;
        let [x, y] = [dx, dy].map(|step| self.length(step, unnormalized));
        let (longer, shorter, along) = if x >= y { (x, y, dx) } else { (y, x, dy) };
        let flat = matches!(self.texture.image.shape, DescriptorShape::D2 | DescriptorShape::D2Array);
        let ratio = (longer / shorter).ceil();
        let samples = match flat && longer > 0.0 && ratio.is_finite() {
            true => (ratio as u32).clamp(1, most),
            false if flat && longer > 0.0 && longer.is_finite() => most,
            false => 1,
        };
        Footprint { level: (longer / f64::from(samples)).log2() as f32, along, samples }
    }

    /// Number of filtered directions.
    fn directions(&self) -> usize {
        match self.texture.image.shape {
            DescriptorShape::D1 | DescriptorShape::D1Array => 1,
            DescriptorShape::D3 => 3,
            _ => 2,
        }
    }

    /// Clamps a level of detail to the sampler's range and to the shader's own minimum.
    pub fn clamped(&self, lod: f32, least: f32) -> f32 {
        let [min, max] = self.sampler.lod;
        let lod = if lod.is_nan() { 0.0 } else { lod + self.sampler.bias };
        lod.min(max).max(min).max(least).max(self.texture.image.min_lod)
    }

    /// The two levels of the view that a level of detail selects, and the weight of the second.
    pub fn levels(&self, lod: f32) -> (u32, u32, f64) {
        let last = self.texture.image.levels() - 1;
        let lod = f64::from(lod).clamp(0.0, f64::from(last));
        match self.sampler.mip {
            0 => (0, 0, 0.0),
            // Halfway rounds down.
            1 => {
                let level = ((lod + 0.5).ceil() - 1.0).max(0.0) as u32;
                (level, level, 0.0)
            }
            _ => (lod as u32, (lod as u32 + 1).min(last), lod.fract()),
        }
    }

    /// The mean of the samples of a footprint, swizzled by the view.
    pub fn sample_along(&self, at: &Coordinates, footprint: &Footprint, lod: f32) -> Result<[u32; 4]> {
        if footprint.samples == 1 || self.texture.format.is_integer() {
            return self.sample(at, lod);
        }
        let count = f64::from(footprint.samples);
        let mut sum = [0.0; 4];
        for n in 1..=footprint.samples {
            let part = f64::from(n) / (count + 1.0) - 0.5;
            let moved = |n: usize| (f64::from(at.at[n]) + f64::from(footprint.along[n]) * part) as f32;
            let one = self.sample(&Coordinates { at: [moved(0), moved(1), at.at[2]], ..*at }, lod)?;
            sum.iter_mut().zip(one).for_each(|(sum, one)| *sum += f64::from(f32::from_bits(one)));
        }
        Ok(sum.map(|sum| ((sum / count) as f32).to_bits()))
    }

    /// The filtered components, swizzled by the view.
    pub fn sample(&self, at: &Coordinates, lod: f32) -> Result<[u32; 4]> {
        let (first, second, weight) = self.levels(lod);
        let linear = if lod > 0.0 { self.sampler.min_linear } else { self.sampler.mag_linear };
        let one = self.level(at, first, linear)?;
        if weight == 0.0 || self.texture.format.is_integer() {
            return Ok(self.texture.selected(one));
        }
        let other = self.level(at, second, linear)?;
        let mixed = std::array::from_fn(|n| {
            let [a, b] = [one, other].map(|c| f64::from(f32::from_bits(c[n])));
            ((a + (b - a) * weight) as f32).to_bits()
        });
        Ok(self.texture.selected(mixed))
    }

    fn level(&self, at: &Coordinates, level: u32, linear: bool) -> Result<[u32; 4]> {
        let linear = linear && !self.texture.format.is_integer();
        let sides = self.neighbours(at, level, linear);
        let mut sum = [0.0f64; 4];
        let mut total = 0.0;
        for (z, wz) in sides[2].each() {
            for (y, wy) in sides[1].each() {
                for (x, wx) in sides[0].each() {
                    let Some(texel) = self.texel(at, level, [x, y, z])? else { continue };
                    if !linear {
                        return Ok(texel);
                    }
                    let weight = wx * wy * wz;
                    total += weight;
                    for (sum, component) in sum.iter_mut().zip(texel) {
                        *sum += weight * f64::from(f32::from_bits(component));
                    }
                }
            }
        }
        // At the corner of a cube there are only three texels, so divide by their total weight.
        Ok(sum.map(|sum| ((sum / total) as f32).to_bits()))
    }

    fn neighbours(&self, at: &Coordinates, level: u32, linear: bool) -> [Neighbours; 3] {
        let extent = self.texture.extent(level);
        let directions = self.directions();
        std::array::from_fn(|n| {
            if n < directions {
                Neighbours::new(at.at[n], extent[n], at.offset[n], linear, at.unnormalized)
            } else {
                Neighbours { first: 0, weight: 0.0 }
            }
        })
    }

    /// One component of the four texels that bilinear filtering would mix, in `gather4` order.
    pub fn gather(&self, at: &Coordinates, lod: f32, component: usize) -> Result<[u32; 4]> {
        let (level, ..) = self.levels(lod);
        let [x, y, _] = self.neighbours(at, level, true).map(|side| side.first);
        let mut out = [0; 4];
        for (out, [dx, dy]) in out.iter_mut().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
            let place = [x.saturating_add(dx), y.saturating_add(dy), 0];
            let texel = match self.texel(at, level, place)? {
                Some(texel) => texel,
                // A cube's corner lacks this texel: take one next to it.
                None => self.texel(at, level, [x + 1 - dx, y + dy, 0])?.unwrap_or_default(),
            };
            *out = self.texture.selected(texel).get(component).copied().unwrap_or(0);
        }
        Ok(out)
    }

    /// A texel, with the sampler's addressing applied beyond edges; `None` where three faces of a cube meet.
    fn texel(&self, at: &Coordinates, level: u32, [x, y, z]: [i32; 3]) -> Result<Option<[u32; 4]>> {
        let extent = self.texture.extent(level);
        let mut layer = (at.layer.round_ties_even() as u32).min(extent[2].saturating_sub(1));
        let place = if at.cube && !self.sampler.no_cube_wrap {
            let Some((face, [x, y])) = cube::texel(layer % 6, [x, y], extent[0]) else { return Ok(None) };
            layer = layer - layer % 6 + face;
            Some([x, y, layer])
        } else {
            let clamp = |n: usize, i| self.sampler.clamp[n].texel(i, extent[n]);
            match self.directions() {
                1 => clamp(0, x).map(|x| [x, 0, layer]),
                2 => clamp(0, x).zip(clamp(1, y)).map(|(x, y)| [x, y, layer]),
                _ => clamp(0, x).zip(clamp(1, y)).zip(clamp(2, z)).map(|((x, y), z)| [x, y, z]),
            }
        };
        let texel = match place {
            Some(at) => self.texture.texel(self.memory, TexelPosition { level, at, sample: 0 })?,
            None => None,
        };
        let texel = texel.unwrap_or_else(|| self.border());
        Ok(Some(match self.reference {
            Some(reference) => {
                // Normalised depth is in 0 to 1, and the reference is clamped to that range.
                let fixed = [DataFormat::DEPTH_16, DataFormat::DEPTH_24].contains(&self.texture.image.format);
                let reference = if fixed { reference.clamp(0.0, 1.0) } else { reference };
                let passes = self.sampler.compare.passes(reference, f32::from_bits(texel[0]));
                [f32::from(u8::from(passes)).to_bits(), 0, 0, 1f32.to_bits()]
            }
            None => texel,
        }))
    }

    fn border(&self) -> [u32; 4] {
        let one = self.texture.format.select([0; 4], 1);
        match self.sampler.border {
            0 => [0; 4],
            1 => [0, 0, 0, one],
            2 => [one; 4],
            _ => self.memory.border(self.sampler.palette).unwrap_or_default(),
        }
    }
}

//! Sampling: level of detail, wrapping, filtering, comparison (isa-gfx10 4.5, 4.6).
//!
//! Weights have 8 bits of fraction (K). An anisotropic filter is taken as its isotropic one: the footprint is the longer
//! derivative's. Comparison is done per texel, before filtering.

use super::descriptor::{Sampler, Shape, Texture};
use super::{Address, Variant};
use crate::emu::memory::Memory;
use crate::emu::mode::from_f16;
use crate::emu::wave::Wave;
use crate::error::{Error, Result};
use crate::isa::instruction::ImageFields;

/// What the address registers of a lane say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    offset: [i32; 3],
    bias: f32,
    reference: f32,
    /// Derivatives by x and by y.
    gradients: [[f32; 3]; 2],
    coordinates: [f32; 3],
    layer: f32,
    /// Given level, or its lower bound.
    lod: f32,
}

impl Request {
    /// Reads the registers in the order that the variant says.
    pub fn read(address: &mut Address<'_>, shape: Shape, variant: Variant) -> Result<Self> {
        let mut out = Self::default();
        if variant.offset {
            let packed = address.dword()?;
            out.offset = [0, 8, 16].map(|low| (packed << (26 - low)).cast_signed() >> 26);
        }
        if variant.bias {
            let word = address.dword()?;
            out.bias = if address.fields.a16 { from_f16(word as u16) as f32 } else { f32::from_bits(word) };
        }
        if variant.compare {
            out.reference = f32::from_bits(address.dword()?);
        }
        if variant.gradients {
            for direction in &mut out.gradients {
                for axis in direction.iter_mut().take(shape.axes()) {
                    *axis = if variant.half_gradients {
                        from_f16(address.half()?) as f32
                    } else {
                        f32::from_bits(address.dword()?)
                    };
                }
                address.end_halves();
            }
        }
        for axis in out.coordinates.iter_mut().take(shape.axes()) {
            *axis = address.float()?;
        }
        if shape.layered() {
            out.layer = address.float()?;
        }
        if variant.lod || variant.clamp {
            out.lod = address.float()?;
        }
        Ok(out)
    }

    /// Coordinates of the lanes right and below in the quad, whether they are active or not.
    pub fn neighbours(
        &self,
        wave: &Wave,
        fields: &ImageFields,
        lane: usize,
        shape: Shape,
        variant: Variant,
    ) -> Result<[[f32; 3]; 2]> {
        if variant.gradients || variant.lod || variant.zero {
            return Ok([self.coordinates; 2]);
        }
        let at = |lane: usize| {
            let mut address = Address::new(wave, fields, lane);
            Self::read(&mut address, shape, variant).map(|request| request.coordinates)
        };
        // Differences of the own row and column: left to right, top to bottom.
        let difference = |from: usize, to: usize| -> Result<[f32; 3]> {
            let (from, to) = (at(from)?, at(to)?);
            Ok([0, 1, 2].map(|n| self.coordinates[n] + (to[n] - from[n])))
        };
        Ok([difference(lane & !1, lane | 1)?, difference(lane & !2, lane | 2)?])
    }
}

/// The texture unit for one instruction.
pub struct Unit<'a> {
    pub texture: &'a Texture,
    pub sampler: &'a Sampler,
    pub shape: Shape,
    pub memory: &'a Memory,
    pub unnormalized: bool,
}

/// Level of detail before and after its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Lod {
    raw: f32,
    bounded: f32,
}

/// Texel coordinates before wrapping, and the weight of the next.
#[derive(Clone, Copy, Debug)]
struct Tap {
    first: i64,
    weight: f32,
}

impl Unit<'_> {
    fn unnormalized(&self) -> bool {
        self.unnormalized || self.sampler.unnormalized()
    }

    /// The level of detail that a lane wants.
    pub fn lod(&self, request: &Request, neighbours: &[[f32; 3]; 2], variant: Variant) -> Lod {
        let base = if variant.zero {
            0.0
        } else if variant.lod {
            request.lod
        } else {
            let size = self.texture.extent(self.texture.levels[0]);
            let length = |direction: &[f32; 3]| {
                let scaled = (0..self.shape.axes()).map(|n| f64::from(direction[n]) * f64::from(size[n]));
                scaled.map(|x| x * x).sum::<f64>().sqrt()
            };
            let differences = neighbours.map(|other| [0, 1, 2].map(|n| other[n] - request.coordinates[n]));
            let directions = if variant.gradients { &request.gradients } else { &differences };
            length(&directions[0]).max(length(&directions[1])).log2() as f32
        };
        let raw = base + (self.sampler.bias() + request.bias);
        let [low, high] = self.sampler.lod_range();
        let low = low.max(self.texture.min_lod);
        let low = if variant.clamp { low.max(request.lod) } else { low };
        // NaN, as of no derivative at all, becomes the lower bound.
        Lod { raw, bounded: raw.max(low).min(high.max(low)) }
    }

    /// What `get_lod` returns: within the levels there are, and as computed.
    pub fn get_lod(&self, lod: Lod) -> [u32; 4] {
        let most = (self.texture.levels[1] - self.texture.levels[0]) as f32;
        [lod.bounded.clamp(0.0, most).to_bits(), lod.raw.to_bits(), 0, 0]
    }

    /// Filtered components.
    pub fn sample(&self, request: &Request, lod: Lod, variant: Variant) -> Result<[u32; 4]> {
        let magnified = lod.bounded <= 0.0;
        let linear = self.sampler.linear(magnified);
        let [first, last] = self.texture.levels;
        let most = (last - first) as f32;
        let inside = lod.bounded.clamp(0.0, most);
        let level = |lod: f32| first + (lod as u32).min(last - first);
        match self.sampler.mip_filter() {
            0 => self.level(request, first, linear, variant),
            // Halfway between two levels the lower number wins.
            1 => self.level(request, level((inside + 0.5).ceil() - 1.0), linear, variant),
            _ => {
                let weight = quantized(inside - inside.floor());
                let near = self.level(request, level(inside.floor()), linear, variant)?;
                if weight == 0.0 {
                    return Ok(near);
                }
                let far = self.level(request, level(inside.floor() + 1.0), linear, variant)?;
                Ok(self.blend(&[(near, 1.0 - weight), (far, weight)]))
            }
        }
    }

    /// The four texels of a bilinear filter, one channel of each, counter-clockwise from the lower left.
    pub fn gather(&self, request: &Request, lod: Lod, variant: Variant, dmask: u8) -> Result<[u32; 4]> {
        let level =
            if variant.lod { self.texture.levels[0] + lod.bounded.max(0.0) as u32 } else { self.texture.levels[0] };
        let level = level.min(self.texture.levels[1]);
        let taps = self.taps(request, level, true);
        let channel = dmask.trailing_zeros() as usize & 3;
        let [x, y] = [taps[0].first, taps[1].first];
        let mut out = [0; 4];
        for (out, (dx, dy)) in out.iter_mut().zip([(0, 1), (1, 1), (1, 0), (0, 0)]) {
            let texel = self.texel(request, [x + dx, y + dy, taps[2].first], level, variant)?;
            *out = texel[channel];
        }
        Ok(out)
    }

    fn taps(&self, request: &Request, level: u32, linear: bool) -> [Tap; 3] {
        let size = self.texture.extent(level);
        [0, 1, 2].map(|n| {
            if n >= self.shape.axes() {
                return Tap { first: 0, weight: 0.0 };
            }
            let coordinate = f64::from(request.coordinates[n]);
            // A cube's coordinates are between 1 and 2.
            let coordinate = if self.shape == Shape::Cube { coordinate - 1.0 } else { coordinate };
            let at = if self.unnormalized() { coordinate } else { coordinate * f64::from(size[n]) };
            let at = at + f64::from(request.offset[n]);
            let linear = if n == 2 { self.sampler.linear_depth() } else { linear };
            if !linear {
                return Tap { first: at.floor() as i64, weight: 0.0 };
            }
            let at = at - 0.5;
            let weight = quantized((at - at.floor()) as f32);
            // Rounded up to the next texel.
            let carry = i64::from(weight == 1.0);
            Tap { first: at.floor() as i64 + carry, weight: if carry == 1 { 0.0 } else { weight } }
        })
    }

    fn level(&self, request: &Request, level: u32, linear: bool, variant: Variant) -> Result<[u32; 4]> {
        let taps = self.taps(request, level, linear);
        let mut parts = Vec::with_capacity(8);
        for corner in 0..8u8 {
            let mut weight = 1.0;
            let mut at = [0; 3];
            for n in 0..3 {
                let next = corner >> n & 1 == 1;
                at[n] = taps[n].first + i64::from(next);
                weight *= if next { taps[n].weight } else { 1.0 - taps[n].weight };
            }
            if weight != 0.0 {
                parts.push((self.texel(request, at, level, variant)?, weight));
            }
        }
        Ok(self.blend(&parts))
    }

    /// Weighted sum, or the least or greatest, by the sampler.
    fn blend(&self, parts: &[([u32; 4], f32)]) -> [u32; 4] {
        if let [(only, _)] = parts {
            return *only;
        }
        [0, 1, 2, 3].map(|n| {
            let values = parts.iter().map(|(texel, weight)| (f32::from_bits(texel[n]), *weight));
            let value = match self.sampler.reduction() {
                1 => values.map(|(value, _)| value).fold(f32::INFINITY, f32::min),
                2 => values.map(|(value, _)| value).fold(f32::NEG_INFINITY, f32::max),
                _ => values.map(|(value, weight)| f64::from(value) * f64::from(weight)).sum::<f64>() as f32,
            };
            value.to_bits()
        })
    }

    /// A texel after wrapping, with what is beyond the edge; compared, if that is asked for.
    fn texel(&self, request: &Request, at: [i64; 3], level: u32, variant: Variant) -> Result<[u32; 4]> {
        let size = self.texture.extent(level).map(i64::from);
        let most = f32::from(u16::try_from(self.texture.layers()).unwrap_or(u16::MAX)) - 1.0;
        let (at, layer) = if self.shape == Shape::Cube {
            // Faces count by 8 for each cube of an array.
            let face = request.layer.round_ties_even().max(0.0) as i64;
            let (at, within) = cube_texel([at[0], at[1]], face & 7, size[0], self.sampler.no_cube_wrap());
            (Some([at[0], at[1], 0]), (face >> 3) * 6 + within)
        } else {
            let mut wrapped = Some(at);
            for n in 0..self.shape.axes() {
                let place = wrap(self.sampler.clamp(n), at[n], size[n])?;
                wrapped = wrapped.zip(place).map(|(mut all, place)| {
                    all[n] = place;
                    all
                });
            }
            let layer =
                if self.shape.layered() { request.layer.round_ties_even().clamp(0.0, most.max(0.0)) } else { 0.0 };
            (wrapped, layer as i64)
        };
        let format = &self.texture.format;
        let components = match at.and_then(|at| self.texture.address(at, layer, 0, level)) {
            Some(address) => format.decode(self.memory.read(address, format.bytes())?),
            None if at.is_none() => self.sampler.border(format.is_integer())?,
            None => [0; 4],
        };
        if !variant.compare {
            // The border's colour takes the same way.
            return Ok(self.texture.select(components));
        }
        let (reference, texel) = (request.reference, f32::from_bits(components[0]));
        let passes = match self.sampler.compare() {
            0 => false,
            1 => reference < texel,
            2 => reference == texel,
            3 => reference <= texel,
            4 => reference > texel,
            5 => reference != texel,
            6 => reference >= texel,
            _ => true,
        };
        let result = f32::from(u8::from(passes)).to_bits();
        Ok(self.texture.select([result, 0, 0, 1f32.to_bits()]))
    }
}

/// To 8 bits of fraction.
fn quantized(weight: f32) -> f32 {
    (weight * 256.0).round() / 256.0
}

/// The texel that a coordinate stands for; none beyond the edge.
fn wrap(mode: u32, at: i64, size: i64) -> Result<Option<i64>> {
    let mirrored = |at: i64| if at < 0 { -1 - at } else { at };
    Ok(match mode {
        0 => Some(at.rem_euclid(size)),
        1 => {
            let within = at.rem_euclid(2 * size);
            Some(if within < size { within } else { 2 * size - 1 - within })
        }
        2 => Some(at.clamp(0, size - 1)),
        3 => Some(mirrored(at).min(size - 1)),
        6 => Some(at).filter(|at| (0..size).contains(at)),
        7 => Some(mirrored(at)).filter(|at| *at < size),
        _ => return Err(Error::unsupported("texture wrapping", format!("mode {mode}"))),
    })
}

/// A texel beside a face lies on the neighbour. Beside a corner there is none: the edge's texel stands for it (K).
fn cube_texel([x, y]: [i64; 2], face: i64, size: i64, apart: bool) -> ([i64; 2], i64) {
    let inside = |at: i64| (0..size).contains(&at);
    if inside(x) && inside(y) || apart {
        return ([x, y].map(|at| at.clamp(0, size - 1)), face);
    }
    let y = if inside(x) { y } else { y.clamp(0, size - 1) };
    let unit = |at: i64| (2 * at + 1 - size) as f64 / size as f64;
    let (s, t) = (unit(x), unit(y));
    let [dx, dy, dz] = match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    };
    let (face, s, t, major) = if dz.abs() >= dx.abs() && dz.abs() >= dy.abs() {
        if dz < 0.0 { (5, -dx, -dy, -dz) } else { (4, dx, -dy, dz) }
    } else if dy.abs() >= dx.abs() {
        if dy < 0.0 { (3, dx, -dz, -dy) } else { (2, dx, dz, dy) }
    } else if dx < 0.0 {
        (1, dz, -dy, -dx)
    } else {
        (0, -dz, -dy, dx)
    };
    let texel = |at: f64| (((at / major + 1.0) / 2.0 * size as f64).floor() as i64).clamp(0, size - 1);
    ([texel(s), texel(t)], face)
}

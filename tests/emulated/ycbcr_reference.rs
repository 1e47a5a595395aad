//! Y'CBCR conversion by the specification's formulas, in 64 bits and texel by texel: the reference for the pass. It
//! shares only the state's field names with the pass.

use dovetail::emu::inputs::{Address, Image, InputBytes, Sampler, ViewShape};
use dovetail::state::{ChromaFilter, ChromaLocation, Swizzle, VkFormat, YcbcrConversion, YcbcrModel, YcbcrRange};

use ChromaFilter::{Linear, Nearest};
use ChromaLocation::{CositedEven, Midpoint};

pub const WIDTH: u32 = 8;
pub const HEIGHT: u32 = 6;

/// A conversion, and the sampler's own filter.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub conversion: YcbcrConversion,
    pub filter: ChromaFilter,
}

impl Case {
    pub fn new(format: &str) -> Self {
        let conversion = YcbcrConversion {
            format: VkFormat::named(format).expect("a format"),
            model: YcbcrModel::Ycbcr709,
            range: YcbcrRange::Narrow,
            components: [Swizzle::Identity; 4],
            x_chroma_offset: Midpoint,
            y_chroma_offset: CositedEven,
            chroma_filter: Linear,
            explicit_reconstruction: false,
        };
        Self { conversion, filter: Linear }
    }

    pub fn sampler(&self) -> Sampler {
        let linear = self.filter == Linear;
        Sampler {
            mag_linear: linear,
            min_linear: linear,
            address: [Address::ClampToEdge; 3],
            conversion: Some(self.conversion),
            ..Default::default()
        }
    }
}

/// The reference's handwritten description of a format.
#[derive(Clone, Copy)]
pub struct Known {
    pub name: &'static str,
    pub bits: u32,
    pub padding: u32,
    /// Whether chroma has half the width, half the height.
    pub half: [bool; 2],
    pub packing: Packing,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Packing {
    /// Separate luma, CB and CR.
    Three,
    /// Luma, and CB with CR.
    Two,
    /// One texel holds two pixels; positions of the first luma, CB, CR.
    Packed([usize; 3]),
}

pub const fn known(name: &'static str, bits: u32, half: [bool; 2], packing: Packing) -> Known {
    let padding = if bits == 8 { 0 } else { 16 - bits };
    Known { name, bits, padding, half, packing }
}

pub const QUARTER: [bool; 2] = [true, true];
pub const HALF: [bool; 2] = [true, false];
pub const ALL: [bool; 2] = [false, false];
pub const GBGR: Packing = Packing::Packed([0, 1, 3]);
pub const BGRG: Packing = Packing::Packed([1, 0, 2]);

pub const FORMATS: &[Known] = &[
    known("G8B8G8R8_422_UNORM", 8, HALF, GBGR),
    known("B8G8R8G8_422_UNORM", 8, HALF, BGRG),
    known("G8_B8_R8_3PLANE_420_UNORM", 8, QUARTER, Packing::Three),
    known("G8_B8R8_2PLANE_420_UNORM", 8, QUARTER, Packing::Two),
    known("G8_B8_R8_3PLANE_422_UNORM", 8, HALF, Packing::Three),
    known("G8_B8R8_2PLANE_422_UNORM", 8, HALF, Packing::Two),
    known("G8_B8_R8_3PLANE_444_UNORM", 8, ALL, Packing::Three),
    known("G10X6B10X6G10X6R10X6_422_UNORM_4PACK16", 10, HALF, GBGR),
    known("G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16", 10, QUARTER, Packing::Two),
    known("B12X4G12X4R12X4G12X4_422_UNORM_4PACK16", 12, HALF, BGRG),
    known("G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16", 12, QUARTER, Packing::Three),
    known("G16B16G16R16_422_UNORM", 16, HALF, GBGR),
    known("G16_B16_R16_3PLANE_420_UNORM", 16, QUARTER, Packing::Three),
    known("G16_B16R16_2PLANE_420_UNORM", 16, QUARTER, Packing::Two),
    known("G16_B16_R16_3PLANE_444_UNORM", 16, ALL, Packing::Three),
];

/// Luma, CB and CR as values between 0 and 1, with the row width of each.
pub struct Planes {
    pub values: [Vec<f64>; 3],
    pub extents: [[i64; 2]; 3],
}

pub fn noise(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    }
}

/// Random planes, as values and as the bytes of an image.
pub fn contents(known: Known, seed: u32) -> (Planes, Image) {
    let mut next = noise(seed);
    let chroma = [WIDTH >> u32::from(known.half[0]), HEIGHT >> u32::from(known.half[1])];
    let extents = [[WIDTH, HEIGHT], chroma, chroma];
    let words: [Vec<u16>; 3] = extents.map(|[w, h]| (0..w * h).map(|_| (next() as u16) >> (16 - known.bits)).collect());
    let most = f64::from((1u32 << known.bits) - 1);
    let values = words.each_ref().map(|plane| plane.iter().map(|x| f64::from(*x) / most).collect());
    let mut data = Vec::new();
    let mut put = |x: u16| match known.bits {
        8 => data.push(x as u8),
        _ => data.extend((x << known.padding).to_le_bytes()),
    };
    let [luma, cb, cr] = &words;
    match known.packing {
        Packing::Three => words.iter().flatten().for_each(|x| put(*x)),
        Packing::Two => {
            luma.iter().for_each(|x| put(*x));
            cb.iter().zip(cr).for_each(|(b, r)| [*b, *r].into_iter().for_each(&mut put));
        }
        Packing::Packed([first, b, r]) => {
            for (n, pair) in luma.chunks(2).enumerate() {
                let mut texel = [0; 4];
                (texel[first], texel[first + 2], texel[b], texel[r]) = (pair[0], pair[1], cb[n], cr[n]);
                texel.into_iter().for_each(&mut put);
            }
        }
    }
    let image = Image {
        format: known.name.to_owned(),
        shape: ViewShape::D2,
        extent: [WIDTH, HEIGHT, 1],
        layers: 1,
        arrayed: false,
        levels: 1,
        samples: 1,
        swizzle: Default::default(),
        data: InputBytes(data),
    };
    (Planes { values, extents: extents.map(|e| e.map(i64::from)) }, image)
}

impl Planes {
    fn at(&self, plane: usize, x: i64, y: i64) -> f64 {
        let [w, h] = self.extents[plane];
        self.values[plane][(y.clamp(0, h - 1) * w + x.clamp(0, w - 1)) as usize]
    }

    /// The plane, filtered at a position in its own texels.
    fn filtered(&self, plane: usize, [x, y]: [f64; 2], filter: ChromaFilter) -> f64 {
        texels([x, y], filter).into_iter().map(|(x, y, weight)| weight * self.at(plane, x, y)).sum()
    }
}

/// The texels that a filter reads ("Texel Filtering"), with their weights.
pub fn texels([x, y]: [f64; 2], filter: ChromaFilter) -> Vec<(i64, i64, f64)> {
    if filter == Nearest {
        return vec![(x.floor() as i64, y.floor() as i64, 1.0)];
    }
    let (x, y) = (x - 0.5, y - 0.5);
    let (i, j, a, b) = (x.floor() as i64, y.floor() as i64, x - x.floor(), y - y.floor());
    vec![(i, j, (1.0 - a) * (1.0 - b)), (i + 1, j, a * (1.0 - b)), (i, j + 1, (1.0 - a) * b), (i + 1, j + 1, a * b)]
}

/// "Explicit reconstruction": chroma samples for one luma texel, in one direction.
pub fn reconstructed(at: i64, half: bool, location: ChromaLocation, filter: ChromaFilter) -> Vec<(i64, f64)> {
    let i = at.div_euclid(2);
    match (half, filter, location, at.rem_euclid(2)) {
        (false, ..) => vec![(at, 1.0)],
        (true, Nearest, ..) | (true, Linear, CositedEven, 0) => vec![(i, 1.0)],
        (true, Linear, CositedEven, _) => vec![(i, 0.5), (i + 1, 0.5)],
        (true, Linear, Midpoint, 0) => vec![(i - 1, 0.25), (i, 0.75)],
        (true, Linear, Midpoint, _) => vec![(i, 0.75), (i + 1, 0.25)],
    }
}

/// The converted colour at a coordinate.
pub fn reference(case: &Case, known: Known, planes: &Planes, [u, v]: [f32; 2]) -> [f64; 4] {
    let c = &case.conversion;
    let place = [f64::from(u) * f64::from(WIDTH), f64::from(v) * f64::from(HEIGHT)];
    let luma = planes.filtered(0, place, case.filter);
    let locations = [c.x_chroma_offset, c.y_chroma_offset];
    let chroma = |plane: usize| {
        if known.half == ALL {
            return planes.filtered(plane, place, case.filter);
        }
        if !c.explicit_reconstruction {
            let of = |n: usize| match (known.half[n], locations[n]) {
                (false, _) => place[n],
                (true, CositedEven) => 0.5 * (place[n] + 0.5),
                (true, Midpoint) => 0.5 * place[n],
            };
            return planes.filtered(plane, [of(0), of(1)], c.chroma_filter);
        }
        let mut sum = 0.0;
        for (x, y, weight) in texels(place, case.filter) {
            let (x, y) = (x.clamp(0, i64::from(WIDTH) - 1), y.clamp(0, i64::from(HEIGHT) - 1));
            for (i, a) in reconstructed(x, known.half[0], locations[0], c.chroma_filter) {
                for (j, b) in reconstructed(y, known.half[1], locations[1], c.chroma_filter) {
                    sum += weight * a * b * planes.at(plane, i, j);
                }
            }
        }
        sum
    };
    let read = [chroma(2), luma, chroma(1), 1.0];
    let swizzled: Vec<f64> = (0..4)
        .map(|n| match c.components[n] {
            Swizzle::Identity => read[n],
            Swizzle::Zero => 0.0,
            Swizzle::One => 1.0,
            Swizzle::R => read[0],
            Swizzle::G => read[1],
            Swizzle::B => read[2],
            Swizzle::A => read[3],
        })
        .collect();
    let &[r, g, b, a] = &swizzled[..] else { unreachable!("four channels") };
    if c.model == YcbcrModel::RgbIdentity {
        return [r, g, b, a];
    }
    let (most, step) = (f64::from(known.bits).exp2() - 1.0, f64::from(known.bits - 8).exp2());
    let [cr, y, cb] = match c.range {
        YcbcrRange::Full => {
            let middle = f64::from(known.bits - 1).exp2() / most;
            [r - middle, g, b - middle]
        }
        YcbcrRange::Narrow => {
            let chroma = |x: f64| (x * most - 128.0 * step) / (224.0 * step);
            [chroma(r), (g * most - 16.0 * step) / (219.0 * step), chroma(b)]
        }
    };
    match c.model {
        YcbcrModel::RgbIdentity | YcbcrModel::YcbcrIdentity => [cr, y, cb, a],
        YcbcrModel::Ycbcr709 => {
            let green = y - (0.33480248 * cr + 0.13397432 * cb) / 0.7152;
            [y + 1.5748 * cr, green, y + 1.8556 * cb, a]
        }
        YcbcrModel::Ycbcr601 => [y + 1.402 * cr, y - (0.419198 * cr + 0.202008 * cb) / 0.587, y + 1.772 * cb, a],
        YcbcrModel::Ycbcr2020 => {
            let green = y - (0.38737742 * cr + 0.11156702 * cb) / 0.6780;
            [y + 1.4746 * cr, green, y + 1.8814 * cb, a]
        }
    }
}

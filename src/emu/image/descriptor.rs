//! Image and sampler descriptors, and where texels lie (isa-gfx10 4.4, 4.5).
//!
//! Images are linear: the emulator's user makes them. The samples of a multisampled image are slices of their own, behind
//! one another, sample 0 first: a convention of ours, for the hardware has no linear one.

use crate::emu::format::Format;
use crate::emu::wave::Wave;
use crate::error::{Error, Result};
use crate::isa::Scalar;

/// What kind of image a T# describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    Msaa,
    MsaaArray,
}

impl Shape {
    /// The shape of the `dim` field of an instruction.
    pub fn of_dim(dim: u8) -> Self {
        match dim {
            0 => Self::D1,
            1 => Self::D2,
            2 => Self::D3,
            3 => Self::Cube,
            4 => Self::D1Array,
            5 => Self::D2Array,
            6 => Self::Msaa,
            _ => Self::MsaaArray,
        }
    }

    /// Coordinates without layer and sample.
    pub fn axes(self) -> usize {
        match self {
            Self::D1 | Self::D1Array => 1,
            Self::D3 => 3,
            _ => 2,
        }
    }

    /// A layer, or face, follows the coordinates.
    pub fn layered(self) -> bool {
        matches!(self, Self::Cube | Self::D1Array | Self::D2Array | Self::MsaaArray)
    }

    /// A sample number comes last.
    pub fn multisampled(self) -> bool {
        matches!(self, Self::Msaa | Self::MsaaArray)
    }
}

/// An image.
#[derive(Clone, Debug)]
pub struct Texture {
    base: u64,
    /// Width, height, depth of level 0.
    size: [u32; 3],
    /// Elements from one row to the next of a single level, where the descriptor says so.
    pitch: Option<u32>,
    /// Format.
    pub format: Format,
    selects: [u8; 4],
    /// First and last level of the view.
    pub levels: [u32; 2],
    /// Levels in memory, the greatest number.
    max_mip: u32,
    first_slice: u32,
    last_slice: u32,
    samples: u32,
    three: bool,
    /// Lowest level of detail, of the view.
    pub min_lod: f32,
}

impl Texture {
    /// The image in eight scalar registers; none for a null descriptor.
    ///
    /// # Errors
    /// Unsupported: a tiling or a format that is not done.
    pub fn read(wave: &Wave, first: Scalar) -> Result<Option<Self>> {
        Self::new([0, 1, 2, 3, 4, 5, 6, 7].map(|n| wave.sgpr(first, n)))
    }

    /// The image of eight dwords.
    pub fn new(d: [u32; 8]) -> Result<Option<Self>> {
        let kind = d[3] >> 28;
        if kind < 8 {
            return Ok(None);
        }
        let tiling = d[3] >> 20 & 0x1f;
        if tiling != 0 {
            return Err(Error::unsupported("image tiling", format!("mode {tiling}: images are linear here")));
        }
        let number = d[1] >> 20 & 0x1ff;
        let format = u16::try_from(number).ok().and_then(Format::of_image);
        let format = format.ok_or_else(|| Error::unsupported("image format", format!("number {number}")))?;
        let (first_slice, depth) = (d[4] >> 16, d[4] & 0xffff);
        let multisampled = kind >= 14;
        let three = kind == 10;
        let last_level = d[3] >> 16 & 15;
        let max_mip = d[5] >> 4 & 15;
        let flat = matches!(kind, 8 | 9 | 14);
        Ok(Some(Self {
            base: (u64::from(d[0]) | u64::from(d[1] & 0xff) << 32) << 8,
            size: [
                (d[1] >> 30 | (d[2] & 0x3fff) << 2) + 1,
                (d[2] >> 14 & 0xffff) + 1,
                if three { depth + 1 } else { 1 },
            ],
            pitch: (flat && depth != 0).then_some(depth + 1),
            format,
            selects: [0, 3, 6, 9].map(|low| (d[3] >> low & 7) as u8),
            levels: if multisampled { [0, 0] } else { [d[3] >> 12 & 15, last_level] },
            max_mip: if multisampled { 0 } else { max_mip },
            first_slice: if three { 0 } else { first_slice },
            last_slice: if flat { first_slice } else { depth },
            samples: if multisampled { 1 << last_level } else { 1 },
            three,
            min_lod: (d[1] >> 8 & 0xfff) as f32 / 256.0,
        }))
    }

    /// Width, height, depth of a level.
    pub fn extent(&self, level: u32) -> [u32; 3] {
        self.size.map(|size| (size >> level).max(1))
    }

    /// Layers of the view.
    pub fn layers(&self) -> u32 {
        if self.three { 1 } else { self.last_slice.saturating_sub(self.first_slice) + 1 }
    }

    /// Bytes of a row of a level.
    fn row(&self, level: u32) -> u64 {
        let bytes = self.format.bytes() as u64;
        match self.pitch {
            Some(pitch) if self.max_mip == 0 => u64::from(pitch) * bytes,
            _ => (u64::from(self.extent(level)[0]) * bytes).next_multiple_of(256),
        }
    }

    fn level_bytes(&self, level: u32) -> u64 {
        self.row(level) * u64::from(self.extent(level)[1])
    }

    /// The address of a texel, if it is in the image. The smallest level comes first in memory.
    pub fn address(&self, [x, y, z]: [i64; 3], layer: i64, sample: u32, level: u32) -> Option<u64> {
        let [width, height, depth] = self.extent(level).map(i64::from);
        let inside = |at: i64, size: i64| (0..size).contains(&at);
        let known = inside(x, width) && inside(y, height) && inside(z, depth);
        if !known || !inside(layer, i64::from(self.layers())) || level > self.levels[1] || sample >= self.samples {
            return None;
        }
        let slice = if self.three {
            z.unsigned_abs()
        } else {
            (u64::from(self.first_slice) + layer.unsigned_abs()) * u64::from(self.samples) + u64::from(sample)
        };
        let slice_bytes: u64 = (0..=self.max_mip).map(|level| self.level_bytes(level)).sum();
        let before: u64 = (level + 1..=self.max_mip).map(|level| self.level_bytes(level)).sum();
        let within = y.unsigned_abs() * self.row(level) + x.unsigned_abs() * self.format.bytes() as u64;
        Some(self.base.wrapping_add(slice * slice_bytes + before + within))
    }

    /// Components in the order that the view selects.
    pub fn select(&self, components: [u32; 4]) -> [u32; 4] {
        self.selects.map(|select| self.format.select(components, select))
    }
}

/// A sampler.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    d: [u32; 4],
}

impl Sampler {
    /// The sampler in four scalar registers.
    pub fn read(wave: &Wave, first: Scalar) -> Self {
        Self { d: [0, 1, 2, 3].map(|n| wave.sgpr(first, n)) }
    }

    fn field(&self, dword: usize, low: u32, width: u32) -> u32 {
        self.d[dword] >> low & ((1 << width) - 1)
    }

    /// What becomes of coordinates beyond the edge, on an axis.
    pub fn clamp(&self, axis: usize) -> u32 {
        self.field(0, 3 * axis as u32, 3)
    }

    /// Relation of a comparison.
    pub fn compare(&self) -> u32 {
        self.field(0, 12, 3)
    }

    /// Coordinates are texels.
    pub fn unnormalized(&self) -> bool {
        self.field(0, 15, 1) == 1
    }

    /// A cube's faces end at their edges.
    pub fn no_cube_wrap(&self) -> bool {
        self.field(0, 28, 1) == 1
    }

    /// Blend, minimum, maximum.
    pub fn reduction(&self) -> u32 {
        self.field(0, 29, 2)
    }

    /// Bounds of the level of detail.
    pub fn lod_range(&self) -> [f32; 2] {
        [self.field(1, 0, 12), self.field(1, 12, 12)].map(|lod| lod as f32 / 256.0)
    }

    /// Added to the level of detail.
    pub fn bias(&self) -> f32 {
        ((self.d[2] << 18).cast_signed() >> 18) as f32 / 256.0
    }

    /// Linear filtering, for a magnified or a minified image. (Anisotropy widens the footprint; here it does not.)
    pub fn linear(&self, magnified: bool) -> bool {
        self.field(2, if magnified { 20 } else { 22 }, 2) & 1 == 1
    }

    /// Linear filtering in depth.
    pub fn linear_depth(&self) -> bool {
        self.field(2, 24, 2) == 2
    }

    /// Between levels: 0 none, 1 nearest, 2 linear.
    pub fn mip_filter(&self) -> u32 {
        self.field(2, 26, 2)
    }

    /// The colour beyond the edge.
    pub fn border(&self, integer: bool) -> Result<[u32; 4]> {
        let one = if integer { 1 } else { 1f32.to_bits() };
        match self.field(3, 30, 2) {
            0 => Ok([0; 4]),
            1 => Ok([0, 0, 0, one]),
            2 => Ok([one; 4]),
            _ => Err(Error::unsupported("border colour", "of a palette")),
        }
    }
}

//! T# and S#, the descriptors of images and samplers: dwords to fields and back (isa-gfx10 4.4, 4.5).
//!
//! Decoding a field value that this emulator lacks (tiling, minima of texels) is an error. The hardware has no
//! linear layout for multisampled images; here each sample is a slice of its own, and samples vary fastest.

use dovetail_base::error::{Error, Result};

/// Shape of an image, by its number in a T#.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DescriptorShape {
    D1 = 8,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2Msaa,
    D2MsaaArray,
}

impl DescriptorShape {
    const ALL: [Self; 8] =
        [Self::D1, Self::D2, Self::D3, Self::Cube, Self::D1Array, Self::D2Array, Self::D2Msaa, Self::D2MsaaArray];

    /// Texels have several samples.
    pub fn multisampled(self) -> bool {
        self >= Self::D2Msaa
    }

    /// The depth field holds the last slice.
    pub fn layered(self) -> bool {
        matches!(self, Self::Cube | Self::D1Array | Self::D2Array | Self::D2MsaaArray)
    }
}

/// A view of an image, linear in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageDescriptor {
    /// Byte address, a multiple of 256.
    pub base: u64,
    /// Format number.
    pub format: u16,
    /// Width, height of level 0.
    pub extent: [u32; 2],
    /// Shape.
    pub shape: DescriptorShape,
    /// Layered: last slice. 3D: depth − 1 of level 0. Otherwise, if not 0, row pitch − 1 of a single level.
    pub depth: u32,
    /// First slice.
    pub base_array: u32,
    /// A 3D image is viewed as a range of slices; the depth field gives the last.
    pub slices_of_3d: bool,
    /// First level of the view.
    pub base_level: u32,
    /// Last level of the view; multisampled: log2 of samples.
    pub last_level: u32,
    /// Last level of the image.
    pub max_mip: u32,
    /// Lowest level of detail for sampling.
    pub min_lod: f32,
    /// Source of each component: 0 zero, 1 one, 4 to 7 X to W.
    pub selects: [u8; 4],
}

const fn field(word: u32, high: u32, low: u32) -> u32 {
    word << (31 - high) >> (31 - high + low)
}

impl ImageDescriptor {
    /// The identity swizzle.
    pub const IDENTITY: [u8; 4] = [4, 5, 6, 7];

    /// Decodes eight dwords; `None` is the null descriptor.
    ///
    /// # Errors
    /// Unsupported: tiling, compression.
    pub fn new(d: [u32; 8]) -> Result<Option<Self>> {
        let Some(shape) = DescriptorShape::ALL.into_iter().find(|s| *s as u32 == field(d[3], 31, 28)) else {
            return Ok(None);
        };
        let mode = field(d[3], 24, 20);
        if mode != 0 {
            return Err(Error::unsupported("tiled image", format!("swizzle mode {mode}")));
        }
        if field(d[6], 21, 21) != 0 {
            return Err(Error::unsupported("compressed image", ""));
        }
        Ok(Some(Self {
            base: u64::from(d[0]) << 8 | u64::from(field(d[1], 7, 0)) << 40,
            format: field(d[1], 28, 20) as u16,
            extent: [(field(d[1], 31, 30) | field(d[2], 13, 0) << 2) + 1, field(d[2], 29, 14) + 1],
            shape,
            depth: field(d[4], 15, 0),
            base_array: field(d[4], 31, 16),
            slices_of_3d: field(d[5], 3, 0) != 0,
            base_level: field(d[3], 15, 12),
            last_level: field(d[3], 19, 16),
            max_mip: field(d[5], 7, 4),
            min_lod: field(d[1], 19, 8) as f32 / 256.0,
            selects: [0, 3, 6, 9].map(|low| field(d[3], low + 2, low) as u8),
        }))
    }

    /// The eight dwords.
    pub fn dwords(&self) -> [u32; 8] {
        let [width, height] = self.extent.map(|n| n.saturating_sub(1));
        let selects = (0..).step_by(3).zip(self.selects).map(|(low, s)| u32::from(s) << low).sum::<u32>();
        [
            (self.base >> 8) as u32,
            (self.base >> 40) as u32 & 0xff
                | ((self.min_lod * 256.0) as u32 & 0xfff) << 8
                | u32::from(self.format) << 20
                | (width & 3) << 30,
            width >> 2 & 0x3fff | (height & 0xffff) << 14 | 1 << 31,
            selects | self.base_level << 12 | self.last_level << 16 | (self.shape as u32) << 28,
            self.depth & 0xffff | self.base_array << 16,
            u32::from(self.slices_of_3d) | self.max_mip << 4 | 4 << 20,
            0,
            0,
        ]
    }

    /// Samples per texel.
    pub fn samples(&self) -> u32 {
        if self.shape.multisampled() { 1 << self.last_level } else { 1 }
    }

    /// Levels of the view.
    pub fn levels(&self) -> u32 {
        if self.shape.multisampled() { 1 } else { (self.last_level + 1).saturating_sub(self.base_level).max(1) }
    }

    /// Layers of the view, or for 3D the depth of a level of the image.
    pub fn layers(&self, level: u32) -> u32 {
        match self.shape {
            DescriptorShape::D3 if self.slices_of_3d => (self.depth + 1).saturating_sub(self.base_array),
            DescriptorShape::D3 => ((self.depth + 1) >> level.min(31)).max(1),
            _ if self.shape.layered() => (self.depth + 1).saturating_sub(self.base_array),
            _ => 1,
        }
    }
}

/// Addressing beyond an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the hardware's own")]
pub enum Clamp {
    Wrap,
    Mirror,
    LastTexel,
    MirrorOnceLastTexel,
    Border,
    MirrorOnceBorder,
}

impl Clamp {
    const NUMBERS: [(u32, Self); 6] = [
        (0, Self::Wrap),
        (1, Self::Mirror),
        (2, Self::LastTexel),
        (3, Self::MirrorOnceLastTexel),
        (6, Self::Border),
        (7, Self::MirrorOnceBorder),
    ];

    /// The texel that the sampler reads for texel `i` of a row of `n`; `None`: the border.
    pub fn texel(self, i: i32, n: u32) -> Option<u32> {
        let (i, last) = (i64::from(i), i64::from(n) - 1);
        let once = if i < 0 { -1 - i } else { i };
        let found = match self {
            Self::Wrap => i.rem_euclid(last + 1),
            Self::Mirror => {
                let around = i.rem_euclid(2 * (last + 1));
                around.min(2 * last + 1 - around)
            }
            Self::LastTexel => i.clamp(0, last),
            Self::MirrorOnceLastTexel => once.min(last),
            Self::Border => i,
            Self::MirrorOnceBorder => once,
        };
        u32::try_from(found).ok().filter(|i| *i < n)
    }
}

/// Comparison function of a sampler: compares the reference with the texel. Bits: less, equal, greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareFunction(pub u32);

impl CompareFunction {
    /// Whether the comparison of the reference with a value holds.
    pub fn passes(self, reference: f32, value: f32) -> bool {
        let bit = match reference.partial_cmp(&value) {
            Some(std::cmp::Ordering::Less) => 1,
            Some(std::cmp::Ordering::Equal) => 2,
            Some(std::cmp::Ordering::Greater) => 4,
            // A NaN satisfies only "not equal" and "always".
            None => return matches!(self.0, 5 | 7),
        };
        self.0 & bit != 0
    }
}

/// Sampling state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerDescriptor {
    /// Addressing beyond the edges, per direction.
    pub clamp: [Clamp; 3],
    /// Comparison.
    pub compare: CompareFunction,
    /// Coordinates are in texels.
    pub unnormalized: bool,
    /// Filtering at a cube's edges does not read the neighbour face.
    pub no_cube_wrap: bool,
    /// Lowest and highest level of detail.
    pub lod: [f32; 2],
    /// Added to the level of detail.
    pub bias: f32,
    /// Linear filter for magnification.
    pub mag_linear: bool,
    /// Linear filter for minification.
    pub min_linear: bool,
    /// Filter between levels: 0 level 0 only, 1 nearest, 2 linear.
    pub mip: u32,
    /// Binary logarithm of the largest ratio of a footprint that is filtered along its longer side; 0: none.
    pub anisotropy: u32,
    /// 0 transparent black, 1 opaque black, 2 opaque white, 3 the colour [`Self::palette`].
    pub border: u32,
    /// Number of a colour in the table of border colours.
    pub palette: u32,
}

impl SamplerDescriptor {
    /// Decodes four dwords.
    ///
    /// # Errors
    /// Unsupported: reduction, half borders.
    pub fn new(d: [u32; 4]) -> Result<Self> {
        let refuse = |refused: bool, what: &str| match refused {
            true => Err(Error::unsupported("sampler", what)),
            false => Ok(()),
        };
        let clamp = |low: u32| {
            let number = field(d[0], low + 2, low);
            let found = Clamp::NUMBERS.into_iter().find(|(n, _)| *n == number);
            found.map(|(_, clamp)| clamp).ok_or_else(|| Error::unsupported("sampler", format!("clamp {number}")))
        };
        refuse(field(d[0], 30, 29) != 0, "minimum or maximum of texels")?;
        // Anisotropic filters have numbers of their own, and so has each a ratio.
        let anisotropic = field(d[2], 21, 21) | field(d[2], 23, 23) != 0;
        Ok(Self {
            clamp: [clamp(0)?, clamp(3)?, clamp(6)?],
            compare: CompareFunction(field(d[0], 14, 12)),
            unnormalized: field(d[0], 15, 15) == 1,
            no_cube_wrap: field(d[0], 28, 28) == 1,
            lod: [field(d[1], 11, 0) as f32 / 256.0, field(d[1], 23, 12) as f32 / 256.0],
            bias: ((d[2] << 18).cast_signed() >> 18) as f32 / 256.0,
            mag_linear: field(d[2], 20, 20) == 1,
            min_linear: field(d[2], 22, 22) == 1,
            mip: field(d[2], 27, 26),
            anisotropy: if anisotropic { field(d[0], 11, 9).min(4) } else { 0 },
            border: field(d[3], 31, 30),
            palette: field(d[3], 11, 0),
        })
    }

    /// The four dwords.
    pub fn dwords(&self) -> [u32; 4] {
        let clamp = |clamp: Clamp| Clamp::NUMBERS.into_iter().find(|(_, c)| *c == clamp).map_or(0, |(n, _)| n);
        let [min, max] = self.lod.map(|x| ((x * 256.0) as u32).min(0xfff));
        let filter = |linear: bool| u32::from(linear) | u32::from(self.anisotropy > 0) << 1;
        [
            clamp(self.clamp[0])
                | clamp(self.clamp[1]) << 3
                | clamp(self.clamp[2]) << 6
                | self.anisotropy << 9
                | self.compare.0 << 12
                | u32::from(self.unnormalized) << 15
                | u32::from(self.no_cube_wrap) << 28,
            min | max << 12,
            ((self.bias * 256.0) as i32).clamp(-0x2000, 0x1fff).cast_unsigned() & 0x3fff
                | filter(self.mag_linear) << 20
                | filter(self.min_linear) << 22
                | self.mip << 26,
            self.palette | self.border << 30,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dwords_are_read_as_they_are_written() {
        let image = ImageDescriptor {
            base: 0x7f12_3456_7800,
            format: 130,
            extent: [1023, 77],
            shape: DescriptorShape::Cube,
            depth: 11,
            base_array: 6,
            slices_of_3d: false,
            base_level: 1,
            last_level: 4,
            max_mip: 9,
            min_lod: 1.5,
            selects: [6, 5, 4, 1],
        };
        assert_eq!(ImageDescriptor::new(image.dwords()), Ok(Some(image)));
        assert_eq!(ImageDescriptor::new([0; 8]), Ok(None));
        // The recipe of the design notes.
        let recipe = ImageDescriptor { selects: ImageDescriptor::IDENTITY, ..image }.dwords();
        assert_eq!(recipe[3], 0xfac | 1 << 12 | 4 << 16 | 11 << 28);
        let sampler = SamplerDescriptor {
            clamp: [Clamp::Wrap, Clamp::Border, Clamp::Mirror],
            compare: CompareFunction(3),
            unnormalized: false,
            no_cube_wrap: true,
            lod: [0.5, 12.25],
            bias: -1.25,
            mag_linear: true,
            min_linear: false,
            mip: 2,
            anisotropy: 3,
            border: 3,
            palette: 77,
        };
        assert_eq!(SamplerDescriptor::new(sampler.dwords()), Ok(sampler));
        assert!(SamplerDescriptor::new([1 << 29, 0, 0, 0]).is_err());
    }

    #[test]
    fn edges() {
        let row = |clamp: Clamp| (-3..6).map(move |i| clamp.texel(i, 3)).map(|i| i.map_or(-1, |i| i as i32));
        let row = |clamp| row(clamp).collect::<Vec<i32>>();
        assert_eq!(row(Clamp::Wrap), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(row(Clamp::Mirror), [2, 1, 0, 0, 1, 2, 2, 1, 0]);
        assert_eq!(row(Clamp::LastTexel), [0, 0, 0, 0, 1, 2, 2, 2, 2]);
        assert_eq!(row(Clamp::MirrorOnceLastTexel), [2, 1, 0, 0, 1, 2, 2, 2, 2]);
        assert_eq!(row(Clamp::Border), [-1, -1, -1, 0, 1, 2, -1, -1, -1]);
        assert_eq!(row(Clamp::MirrorOnceBorder), [2, 1, 0, 0, 1, 2, -1, -1, -1]);
    }

    #[test]
    fn a_comparison_is_three_bits() {
        let table = (0..8).map(|n| [1.0, 2.0, 3.0].map(|x| CompareFunction(n).passes(x, 2.0)));
        let less_equal_greater: Vec<[bool; 3]> = table.collect();
        assert_eq!(less_equal_greater[1], [true, false, false]);
        assert_eq!(less_equal_greater[3], [true, true, false]);
        assert_eq!(less_equal_greater[5], [true, false, true]);
        assert_eq!(less_equal_greater[7], [true; 3]);
        assert!(CompareFunction(5).passes(f32::NAN, 0.0) && !CompareFunction(2).passes(f32::NAN, 0.0));
    }
}

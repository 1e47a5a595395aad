//! Block-compressed formats (isa-gfx10 4.3): 4 × 4 texels in 8 or 16 bytes, which `bcdec_rs` decodes.
//!
//! BC6H and BC7 are exact by definition. The others interpolate between two colours; decoders do this in 8 bits or in
//! more, and widen the 5 and 6 bits of a colour before that or after it, so they differ ([`Compression::slack`]).

use super::mode::from_f16;
use dovetail_abi::formats::Number;

/// Width and height of a block.
pub const EDGE: u32 = 4;
/// Texels of a block.
const TEXELS: usize = 16;

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Colours of 5 or 6 bits, and one that may be transparent.
    Bc1,
    /// The same, with 4 bits of alpha.
    Bc2,
    /// The same, with interpolated alpha.
    Bc3,
    /// One interpolated channel.
    Bc4,
    /// Two.
    Bc5,
    /// Unsigned halves.
    Bc6Unsigned,
    /// Signed halves.
    Bc6Signed,
    /// Colours of 8 bits.
    Bc7,
}

/// Image format number of the first row of [`ROWS`].
pub const FIRST: u16 = 169;

/// Compression and number format, in the order of the hardware's numbers.
pub const ROWS: [(Compression, Number); 14] = {
    use Compression::{Bc1, Bc2, Bc3, Bc4, Bc5, Bc6Signed, Bc6Unsigned, Bc7};
    use Number::{Float, Snorm, Srgb, Unorm};
    [
        (Bc1, Unorm),
        (Bc1, Srgb),
        (Bc2, Unorm),
        (Bc2, Srgb),
        (Bc3, Unorm),
        (Bc3, Srgb),
        (Bc4, Unorm),
        (Bc4, Snorm),
        (Bc5, Unorm),
        (Bc5, Snorm),
        (Bc6Unsigned, Float),
        (Bc6Signed, Float),
        (Bc7, Unorm),
        (Bc7, Srgb),
    ]
};

/// The image format number of a Vulkan name without prefix, and the sources of red, green, blue and alpha.
pub fn named(name: &str) -> Option<(u16, [u8; 4])> {
    const RGBA: [u8; 4] = [4, 5, 6, 7];
    const RGB: [u8; 4] = [4, 5, 6, 1];
    const NAMES: [(&str, u16, [u8; 4]); 16] = [
        ("BC1_RGB_UNORM", 169, RGB),
        ("BC1_RGB_SRGB", 170, RGB),
        ("BC1_RGBA_UNORM", 169, RGBA),
        ("BC1_RGBA_SRGB", 170, RGBA),
        ("BC2_UNORM", 171, RGBA),
        ("BC2_SRGB", 172, RGBA),
        ("BC3_UNORM", 173, RGBA),
        ("BC3_SRGB", 174, RGBA),
        ("BC4_UNORM", 175, [4, 0, 0, 1]),
        ("BC4_SNORM", 176, [4, 0, 0, 1]),
        ("BC5_UNORM", 177, [4, 5, 0, 1]),
        ("BC5_SNORM", 178, [4, 5, 0, 1]),
        ("BC6H_UFLOAT", 179, RGB),
        ("BC6H_SFLOAT", 180, RGB),
        ("BC7_UNORM", 181, RGBA),
        ("BC7_SRGB", 182, RGBA),
    ];
    let bare = name.strip_suffix("_BLOCK")?;
    NAMES.into_iter().find(|(name, ..)| *name == bare).map(|(_, number, selects)| (number, selects))
}

impl Compression {
    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        if matches!(self, Self::Bc1 | Self::Bc4) { 8 } else { 16 }
    }

    /// Bits of the channels of a decoded texel, X first.
    pub fn widths(self) -> &'static [u8] {
        match self {
            Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7 => &[8; 4],
            Self::Bc4 => &[8],
            Self::Bc5 => &[8; 2],
            Self::Bc6Unsigned | Self::Bc6Signed => &[16; 3],
        }
    }

    /// How far another correct decoder may be from this one, in steps of 8 bits.
    pub fn slack(self, channel: usize) -> f64 {
        match (self, channel) {
            (Self::Bc2, 3) | (Self::Bc6Unsigned | Self::Bc6Signed | Self::Bc7, _) => 0.0,
            // The transparent colour of BC1 has an exact alpha.
            (Self::Bc1, 3) => 0.0,
            // A colour is rounded when it is widened, and each product of an interpolation may be.
            _ => 2.0,
        }
    }

    /// The components of a block's texels, row by row; zeros if bytes are missing.
    pub fn decode(self, number: Number, block: &[u8]) -> [[u32; 4]; TEXELS] {
        let mut out = [[0; 4]; TEXELS];
        if block.len() < self.bytes() {
            return out;
        }
        let one = 1f32.to_bits();
        match self {
            Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7 => {
                let mut texels = [0; 4 * TEXELS];
                let decode = match self {
                    Self::Bc1 => bcdec_rs::bc1,
                    Self::Bc2 => bcdec_rs::bc2,
                    Self::Bc3 => bcdec_rs::bc3,
                    _ => bcdec_rs::bc7,
                };
                decode(block, &mut texels, 16);
                let plain = super::DataFormat::new(&[8; 4], number);
                out.iter_mut().zip(texels.chunks_exact(4)).for_each(|(to, from)| *to = plain.decode(from));
            }
            Self::Bc4 => {
                let mut texels = [0.0f32; TEXELS];
                bcdec_rs::bc4_float(block, &mut texels, 4, number == Number::Snorm);
                out.iter_mut().zip(texels).for_each(|(to, red)| *to = [red.to_bits(), 0, 0, one]);
            }
            Self::Bc5 => {
                let mut texels = [0.0f32; 2 * TEXELS];
                bcdec_rs::bc5_float(block, &mut texels, 8, number == Number::Snorm);
                let pairs = texels.as_chunks::<2>().0;
                out.iter_mut().zip(pairs).for_each(|(to, [red, green])| *to = [red.to_bits(), green.to_bits(), 0, one]);
            }
            Self::Bc6Unsigned | Self::Bc6Signed => {
                let mut texels = [0u16; 3 * TEXELS];
                bcdec_rs::bc6h_half(block, &mut texels, 12, self == Self::Bc6Signed);
                for (to, from) in out.iter_mut().zip(texels.as_chunks::<3>().0) {
                    let [red, green, blue] = from.map(|half| (from_f16(half) as f32).to_bits());
                    *to = [red, green, blue, one];
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataFormat, NamedFormat};

    fn decode(name: &str, block: &[u8], at: [u32; 2]) -> [f32; 4] {
        let named = NamedFormat::new(name).expect("a format");
        assert_eq!(DataFormat::of_image(named.number).as_ref(), Some(&named.format), "{name}");
        let texel = named.format.decode_at(block, at);
        named.selects.map(|select| f32::from_bits(named.format.select(texel, select)))
    }

    #[test]
    fn texels_are_where_their_bits_are() {
        // Red and blue, and the index of each texel: the first row 0 1 2 3, the last 1.
        let block = [0x00, 0xf8, 0x1f, 0x00, 0b1110_0100, 0, 0, 0b0101_0101];
        let [red, blue] = [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        assert_eq!(
            [[0, 0], [1, 0], [0, 1], [3, 3]].map(|at| decode("BC1_RGB_UNORM_BLOCK", &block, at)),
            [red, blue, red, blue]
        );
        let between = decode("BC1_RGB_UNORM_BLOCK", &block, [2, 0]);
        assert!((between[0] - 2.0 / 3.0).abs() < 2.0 / 255.0 && between[1] == 0.0, "{between:?}");
        // In the other order there is a transparent colour.
        let turned = [0x1f, 0x00, 0x00, 0xf8, 0b1110_0100, 0, 0, 0];
        assert_eq!(decode("BC1_RGBA_UNORM_BLOCK", &turned, [3, 0]), [0.0; 4]);
        assert_eq!(decode("BC1_RGB_UNORM_BLOCK", &turned, [3, 0]), [0.0, 0.0, 0.0, 1.0]);
        // Alpha of 4 bits; index 1 of 3 bits.
        let alpha = [[0x50, 0, 0, 0, 0, 0, 0, 0xf0], block].concat();
        assert_eq!([[1, 0], [3, 3], [0, 0]].map(|at| decode("BC2_UNORM_BLOCK", &alpha, at)[3]), [1.0 / 3.0, 1.0, 0.0]);
        let channel = [200, 100, 1, 0, 0, 0, 0, 0];
        assert_eq!(decode("BC4_UNORM_BLOCK", &channel, [0, 0]), [100.0 / 255.0, 0.0, 0.0, 1.0]);
        let both = [[0x81, 0x7f, 0, 0, 0, 0, 0, 0], [0x7f, 0x81, 0b111, 0, 0, 0, 0, 0]].concat();
        let corner = decode("BC5_SNORM_BLOCK", &both, [0, 0]);
        assert!(corner[0] == -1.0 && (corner[1] + 5.0 / 7.0).abs() < 1e-6, "{corner:?}");
        assert_eq!(decode("BC3_UNORM_BLOCK", &[channel, block].concat(), [0, 0])[3], 100.0 / 255.0);
    }

    #[test]
    fn every_name_is_read_and_every_block_decodes() {
        let names = ["BC1_RGB", "BC1_RGBA", "BC2", "BC3", "BC4", "BC5", "BC6H", "BC7"];
        let names = names.iter().flat_map(|name| ["UNORM", "SRGB", "SNORM", "UFLOAT", "SFLOAT"].map(|n| (*name, n)));
        let known: Vec<String> = names
            .map(|(name, number)| format!("{name}_{number}_BLOCK"))
            .filter(|name| NamedFormat::new(name).is_ok())
            .collect();
        assert_eq!(known.len(), 16, "{known:?}");
        proptest::proptest!(|(block: [u8; 16], at in proptest::array::uniform2(0..EDGE))| {
            for name in &known {
                let texel = decode(name, &block, at);
                let range = if name.contains("NORM") || name.contains("SRGB") { -1.0..=1.0 } else { -65504.0..=65504.0 };
                proptest::prop_assert!(texel.iter().all(|x| range.contains(x)), "{name}: {texel:?}");
            }
        });
        assert!(NamedFormat::new("BC7_UNORM_BLOCK").unwrap().encode([0; 4]).is_err());
    }
}

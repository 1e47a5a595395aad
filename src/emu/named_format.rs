//! Maps Vulkan's format names to hardware formats: descriptor number, and the component of each channel.

use super::block;
use super::format::DataFormat;
use dovetail_abi::formats;
use dovetail_abi::formats::{Channel, Number};
use dovetail_base::error::{Error, Result};

/// A format by its Vulkan name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFormat {
    /// Components in memory.
    pub format: DataFormat,
    /// Sources of red, green, blue and alpha: 0 zero, 1 one, 4 to 7 a component.
    pub selects: [u8; 4],
    /// Its number in descriptors.
    pub number: u16,
    numbers: Number,
    widths: Vec<u8>,
}

impl NamedFormat {
    /// The format of a Vulkan name, with or without prefix.
    ///
    /// # Errors
    /// Malformed: no such format. Unsupported: a format that descriptors or the emulator lack.
    pub fn new(name: &str) -> Result<Self> {
        let bare = name.strip_prefix("VK_FORMAT_").unwrap_or(name);
        // Depth and stencil are read as red; a 64-bit texel is read as two dwords.
        let as_color = match bare {
            "D16_UNORM" => "R16_UNORM",
            "D32_SFLOAT" => "R32_SFLOAT",
            "S8_UINT" => "R8_UINT",
            "X8_D24_UNORM_PACK32" => return Ok(Self::depth_24()),
            "R64_UINT" => "R32G32_UINT",
            "R64_SINT" => "R32G32_SINT",
            other => other,
        };
        if let Some((number, selects)) = block::named(bare) {
            let (compression, numbers) = block::ROWS[usize::from(number - block::FIRST)];
            let format = DataFormat::of_image(number).ok_or_else(|| Error::bug("a format without a number"))?;
            return Ok(Self { selects, number, numbers, widths: compression.widths().to_vec(), format });
        }
        let parsed = formats::Format::parse(as_color)?;
        let format = DataFormat::new(&parsed.widths(), parsed.number);
        let known = (0..256).find(|n| DataFormat::of_image(*n).is_some_and(|known| known == format));
        let shared = parsed.channels.iter().any(|(channel, _)| *channel == Channel::E);
        let descriptor = known.filter(|_| !shared).ok_or_else(|| Error::unsupported("image format", bare))?;
        let select = |component| match (parsed.position(component), component) {
            (Some(position), _) => 4 + position,
            (None, 3) => 1,
            (None, _) => 0,
        };
        Ok(Self {
            selects: [0, 1, 2, 3].map(select),
            number: descriptor,
            numbers: parsed.number,
            widths: parsed.widths().to_vec(),
            format,
        })
    }

    /// Depth in the low 24 bits of a word; the others are undefined.
    fn depth_24() -> Self {
        let (widths, numbers) = (vec![24, 8], Number::Unorm);
        let format = DataFormat::new(&widths, numbers);
        Self { selects: [4, 0, 0, 1], number: DataFormat::DEPTH_24, numbers, widths, format }
    }

    /// Red, green, blue, alpha of a texel.
    pub fn decode(&self, texel: &[u8]) -> [u32; 4] {
        let components = self.format.decode(texel);
        self.selects.map(|select| self.format.select(components, select))
    }

    /// The texel of a red, green, blue, alpha colour.
    pub fn encode(&self, color: [u32; 4]) -> Result<Vec<u8>> {
        self.format.encode([4, 5, 6, 7].map(|wanted| {
            let channel = self.selects.iter().position(|select| *select == wanted);
            channel.and_then(|channel| color.get(channel)).copied().unwrap_or(0)
        }))
    }

    /// Channels that a texel holds: 0 is red.
    pub fn channels(&self) -> impl Iterator<Item = usize> {
        self.selects.into_iter().enumerate().filter(|(_, select)| *select >= 4).map(|(channel, _)| channel)
    }

    /// Whether texels are normalised.
    pub fn is_normalized(&self) -> bool {
        matches!(self.numbers, formats::Number::Unorm | formats::Number::Snorm | formats::Number::Srgb)
    }

    /// Whether logic operations apply: to integers and normalised integers on a line, not to floats and sRGB.
    pub fn takes_logic(&self) -> bool {
        matches!(self.numbers, Number::Unorm | Number::Snorm | Number::Uint | Number::Sint)
    }

    /// Bits of a channel.
    pub fn width(&self, channel: usize) -> u32 {
        let component = self.selects.get(channel).and_then(|select| select.checked_sub(4));
        component.and_then(|n| self.widths.get(usize::from(n))).copied().unwrap_or(0).into()
    }

    /// The component in which a channel is stored; the first for one that is not.
    fn component(&self, channel: usize) -> usize {
        self.selects.get(channel).map_or(0, |select| usize::from(select.saturating_sub(4)))
    }

    /// The stored bits of a colour's channel.
    ///
    /// # Errors
    /// Unsupported: a format that cannot be written.
    pub fn stored(&self, channel: usize, value: u32) -> Result<u32> {
        let mut color = [0; 4];
        if let Some(to) = color.get_mut(channel) {
            *to = value;
        }
        let word = self.encode(color)?.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        Ok((word >> self.low(channel)) as u32 & self.mask(channel))
    }

    /// The value of a channel's stored bits.
    pub fn value(&self, channel: usize, stored: u32) -> u32 {
        let word = u128::from(stored & self.mask(channel)) << self.low(channel);
        self.decode(&word.to_le_bytes()[..self.format.bytes()]).get(channel).copied().unwrap_or(0)
    }

    /// The lowest bit of a channel in a texel.
    fn low(&self, channel: usize) -> u32 {
        self.widths.iter().take(self.component(channel)).map(|width| u32::from(*width)).sum()
    }

    /// All bits of a channel, from the lowest.
    pub fn mask(&self, channel: usize) -> u32 {
        u32::MAX.checked_shr(32 - self.width(channel)).unwrap_or(0)
    }

    /// The stored bits to which a number near `low` to `high` may be converted: Vulkan allows both integers between
    /// which it lies. `None`: more than `most`.
    pub fn conversions(&self, channel: usize, [low, high]: [f64; 2], most: usize) -> Option<Vec<u32>> {
        let signed = match self.numbers {
            Number::Unorm => false,
            Number::Snorm => true,
            _ => return None,
        };
        let largest = f64::from(self.mask(channel) >> u32::from(signed));
        let least = if signed { -1.0 } else { 0.0 };
        let [low, high] = [low, high].map(|x| x.clamp(least, 1.0) * largest);
        let (first, last) = (low.floor() as i64, high.ceil() as i64);
        let count = usize::try_from(last - first + 1).ok().filter(|count| *count <= most)?;
        Some((first..).take(count).map(|n| n as u32 & self.mask(channel)).collect())
    }

    /// Distance between neighbouring values of a channel near `x`; 0 for integers and for formats that do not round.
    pub fn step(&self, channel: usize, x: f32) -> f64 {
        let width = i32::from(self.widths.get(self.component(channel)).copied().unwrap_or(0));
        let fraction = match width {
            32 | 64 => return 0.0,
            16 => 10,
            11 => 6,
            _ => 5,
        };
        match self.numbers {
            formats::Number::Unorm => 1.0 / (2f64.powi(width) - 1.0),
            formats::Number::Snorm => 1.0 / (2f64.powi(width - 1) - 1.0),
            // The slope of the curve is at most 2.4 times that of a line.
            formats::Number::Srgb => 2.4 / 255.0,
            formats::Number::Float => f64::from(x.abs()).max(2f64.powi(-14)) * 2f64.powi(-fraction),
            _ => 0.0,
        }
    }

    /// A value clamped to the range of a texel.
    pub fn limited(&self, x: f32) -> f32 {
        match self.numbers {
            Number::Unorm | Number::Srgb => x.clamp(0.0, 1.0),
            Number::Snorm => x.clamp(-1.0, 1.0),
            _ => x,
        }
    }

    /// A texel with the channels in `mask` from `new`, and the other bits from `old`.
    pub fn keep(&self, mask: u8, new: &[u8], old: &[u8]) -> Vec<u8> {
        let mut taken = 0u128;
        let mut low = 0;
        for (wanted, width) in (4..).zip(&self.widths) {
            let channel = self.selects.iter().position(|select| *select == wanted);
            if channel.is_some_and(|channel| mask >> channel & 1 == 1) {
                taken |= (u128::MAX >> (128 - u32::from(*width))) << low;
            }
            low += u32::from(*width);
        }
        let bits = taken.to_le_bytes();
        new.iter().zip(old).zip(bits).map(|((new, old), bits)| new & bits | old & !bits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_and_orders() {
        let read = |name| NamedFormat::new(name).map(|f| (f.number, f.selects)).unwrap();
        assert_eq!(read("R8G8B8A8_UNORM"), (56, [4, 5, 6, 7]));
        assert_eq!(read("B8G8R8A8_SRGB"), (130, [6, 5, 4, 7]));
        assert_eq!(read("R5G6B5_UNORM_PACK16"), (133, [6, 5, 4, 1]));
        assert_eq!(read("D32_SFLOAT"), (22, [4, 0, 0, 1]));
        assert_eq!(read("A8_UNORM"), (1, [0, 0, 0, 4]));
        assert_eq!(read("S8_UINT"), (5, [4, 0, 0, 1]));
        assert_eq!(read("X8_D24_UNORM_PACK32"), (141, [4, 0, 0, 1]));
        let depth = NamedFormat::new("X8_D24_UNORM_PACK32").unwrap();
        assert_eq!(depth.decode(&[0xff, 0xff, 0x7f, 0xa5]).map(f32::from_bits)[..2], [0.499_999_97, 0.0]);
        assert_eq!(read("R64_UINT"), (62, [4, 5, 0, 1]));
        for name in ["R8G8B8_UNORM", "E5B9G9R9_UFLOAT_PACK32", "NONSENSE"] {
            assert!(NamedFormat::new(name).is_err(), "{name}");
        }
    }

    #[test]
    fn numbers_are_converted_to_either_neighbour() {
        let packed = NamedFormat::new("B5G6R5_UNORM_PACK16").unwrap();
        assert_eq!([0, 1, 2, 3].map(|channel| packed.width(channel)), [5, 6, 5, 0]);
        assert_eq!(packed.stored(1, 0.5f32.to_bits()), Ok(32));
        assert_eq!(f32::from_bits(packed.value(1, 63)), 1.0);
        assert_eq!(packed.conversions(1, [0.5; 2], 9), Some(vec![31, 32]));
        assert_eq!(packed.conversions(1, [1.0, 7.0], 9), Some(vec![63]));
        assert_eq!(packed.conversions(0, [0.0, 1.0], 9), None);
        let signed = NamedFormat::new("R8_SNORM").unwrap();
        assert_eq!(signed.conversions(0, [-1.5, -0.995], 9), Some(vec![0x81, 0x82]));
    }

    #[test]
    fn channels_that_are_not_written_keep_their_bits() {
        let format = NamedFormat::new("R5G6B5_UNORM_PACK16").unwrap();
        assert_eq!(format.keep(0b001, &[0xff, 0xff], &[0, 0]), [0, 0xf8]);
        assert_eq!(format.keep(0b110, &[0, 0], &[0xff, 0xff]), [0, 0xf8]);
    }
}

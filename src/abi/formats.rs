//! Decodes vertex and colour formats: channels from the lowest bit up, number format, and the hardware's numbers.
//!
//! [`Format::of`] looks a format up by Vulkan's number. To add a format, add a line to [`ROWS`], which the tests check
//! against the grammar of Vulkan's names. To make it fetchable, add its layout to the facts of each family.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_state::VkFormat;
use smallvec::SmallVec;

/// Meaning of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Red, first component.
    R,
    /// Green.
    G,
    /// Blue.
    B,
    /// Alpha, fourth component.
    A,
    /// Exponent shared by the others.
    E,
}

impl Channel {
    /// Index of its component in a shader value; `None` for the exponent.
    pub const fn component(self) -> Option<u8> {
        match self {
            Self::R => Some(0),
            Self::G => Some(1),
            Self::B => Some(2),
            Self::A => Some(3),
            Self::E => None,
        }
    }
}

/// Number format of a channel. In the order of the hardware's numbers within a layout, except sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Number {
    /// Unsigned normalised: 0..1.
    Unorm,
    /// Signed normalised: -1..1.
    Snorm,
    /// Unsigned integer, converted to float.
    Uscaled,
    /// Signed integer, converted to float.
    Sscaled,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// Float, signed or unsigned as the layout says.
    Float,
    /// Unsigned normalised, 0..1 on the sRGB curve; alpha is linear.
    Srgb,
}

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Channels and their widths in bits, lowest bits (first in memory) first.
    pub channels: &'static [(Channel, u8)],
    /// Number format of the channels.
    pub number: Number,
    /// The channels share a word, which is loaded and aligned as a whole.
    pub packed: bool,
}

/// Formats with consecutive numbers: first number, channels, number formats, packed.
type Row = (u32, &'static [(Channel, u8)], &'static [Number], bool);

/// Every vertex and colour format, in the order of Vulkan's numbers.
#[rustfmt::skip]
const ROWS: &[Row] = {
    use Channel::{A, B, E, G, R};
    use Number::{Float, Sint, Snorm, Sscaled, Uint, Unorm, Uscaled};
    const BYTES: &[Number] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Number::Srgb];
    const TENS: &[Number] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint];
    const HALVES: &[Number] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float];
    const WORDS: &[Number] = &[Uint, Sint, Float];
    &[
        (1, &[(G, 4), (R, 4)], &[Unorm], true),
        (2, &[(A, 4), (B, 4), (G, 4), (R, 4)], &[Unorm], true),
        (3, &[(A, 4), (R, 4), (G, 4), (B, 4)], &[Unorm], true),
        (4, &[(B, 5), (G, 6), (R, 5)], &[Unorm], true),
        (5, &[(R, 5), (G, 6), (B, 5)], &[Unorm], true),
        (6, &[(A, 1), (B, 5), (G, 5), (R, 5)], &[Unorm], true),
        (7, &[(A, 1), (R, 5), (G, 5), (B, 5)], &[Unorm], true),
        (8, &[(B, 5), (G, 5), (R, 5), (A, 1)], &[Unorm], true),
        (9, &[(R, 8)], BYTES, false),
        (16, &[(R, 8), (G, 8)], BYTES, false),
        (23, &[(R, 8), (G, 8), (B, 8)], BYTES, false),
        (30, &[(B, 8), (G, 8), (R, 8)], BYTES, false),
        (37, &[(R, 8), (G, 8), (B, 8), (A, 8)], BYTES, false),
        (44, &[(B, 8), (G, 8), (R, 8), (A, 8)], BYTES, false),
        (51, &[(R, 8), (G, 8), (B, 8), (A, 8)], BYTES, true),
        (58, &[(B, 10), (G, 10), (R, 10), (A, 2)], TENS, true),
        (64, &[(R, 10), (G, 10), (B, 10), (A, 2)], TENS, true),
        (70, &[(R, 16)], HALVES, false),
        (77, &[(R, 16), (G, 16)], HALVES, false),
        (84, &[(R, 16), (G, 16), (B, 16)], HALVES, false),
        (91, &[(R, 16), (G, 16), (B, 16), (A, 16)], HALVES, false),
        (98, &[(R, 32)], WORDS, false),
        (101, &[(R, 32), (G, 32)], WORDS, false),
        (104, &[(R, 32), (G, 32), (B, 32)], WORDS, false),
        (107, &[(R, 32), (G, 32), (B, 32), (A, 32)], WORDS, false),
        (110, &[(R, 64)], WORDS, false),
        (113, &[(R, 64), (G, 64)], WORDS, false),
        (116, &[(R, 64), (G, 64), (B, 64)], WORDS, false),
        (119, &[(R, 64), (G, 64), (B, 64), (A, 64)], WORDS, false),
        (122, &[(R, 11), (G, 11), (B, 10)], &[Float], true),
        (123, &[(R, 9), (G, 9), (B, 9), (E, 5)], &[Float], true),
        (1_000_340_000, &[(B, 4), (G, 4), (R, 4), (A, 4)], &[Unorm], true),
        (1_000_340_001, &[(R, 4), (G, 4), (B, 4), (A, 4)], &[Unorm], true),
        (1_000_470_000, &[(R, 5), (G, 5), (B, 5), (A, 1)], &[Unorm], true),
        (1_000_470_001, &[(A, 8)], &[Unorm], false),
    ]
};

impl Format {
    /// The format of a `VkFormat` number.
    ///
    /// # Errors
    /// Malformed: the format is for neither vertex attributes nor colours (undefined, depth, compressed, video).
    /// Unsupported: a colour format with padded channels.
    pub fn of(format: VkFormat) -> Result<Self> {
        let row = ROWS.partition_point(|(first, ..)| *first <= format.0).checked_sub(1).and_then(|row| ROWS.get(row));
        row.and_then(|(first, channels, numbers, packed)| {
            let number = *numbers.get(usize::try_from(format.0 - first).ok()?)?;
            Some(Self { channels, number, packed: *packed })
        })
        .ok_or_else(|| match format.is_padded() {
            true => {
                Error::unsupported("colour format", format!("{format}: the render back ends have no padded channels"))
            }
            false => Error::malformed(format!("`{format}` is not a vertex or colour format")),
        })
    }

    /// The format of a Vulkan name, with or without `VK_FORMAT_`. Files give formats by name.
    ///
    /// # Errors
    /// Malformed: no such format, or one for neither vertex attributes nor colours.
    pub fn parse(name: &str) -> Result<Self> {
        Self::of(VkFormat::named(name)?)
    }

    /// Widths of the channels in bits, lowest first.
    pub fn widths(&self) -> SmallVec<[u8; 4]> {
        self.channels.iter().map(|(_, bits)| *bits).collect()
    }

    /// Position of a shader component (0 to 3) among the channels.
    pub fn position(&self, component: u8) -> Option<u8> {
        let found = self.channels.iter().position(|(channel, _)| channel.component() == Some(component));
        found.and_then(|position| u8::try_from(position).ok())
    }

    /// Width of its widest colour channel.
    pub fn max_bits(&self) -> u8 {
        self.channels.iter().filter(|(c, _)| *c != Channel::E).map(|(_, bits)| *bits).max().unwrap_or(0)
    }

    /// Whether it has alpha.
    pub fn has_alpha(&self) -> bool {
        self.position(3).is_some()
    }

    /// Whether colour attachments may have this format: 64-bit and scaled formats are for vertices only.
    pub fn is_color(&self) -> bool {
        self.max_bits() <= 32 && !matches!(self.number, Number::Uscaled | Number::Sscaled)
    }
}

/// The number in typed buffer loads of a layout with a number format, or `None`; widths lowest first.
pub fn buffer_number(gfx: Gpu, widths: &[u8], number: Number) -> Option<u8> {
    let layout = gfx.facts().buffer_layouts.iter().find(|layout| layout.widths == widths)?;
    layout.number(number as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The grammar of Vulkan's names: channel letter and width, repeated; number format; with `PACKn` the first channel
    // named is the most significant. The tests derive formats from names and compare them with the table, which is
    // written by numbers.

    /// A format as parsed from its name.
    struct Spelled {
        channels: SmallVec<[(Channel, u8); 4]>,
        number: Number,
        packed: bool,
    }

    const NORMS: &[Number] = &[Number::Unorm, Number::Snorm];
    const SCALED: &[Number] = &[Number::Uscaled, Number::Sscaled];
    const INTS: &[Number] = &[Number::Uint, Number::Sint];
    const UNORM: &[Number] = &[Number::Unorm];
    const FLOAT: &[Number] = &[Number::Float];
    const SRGB: &[Number] = &[Number::Srgb];

    /// Layouts in one word, widths from the lowest bit up, and their number formats.
    const PACKED: [(&[u8], &[&[Number]]); 9] = [
        (&[4, 4], &[UNORM]),
        (&[4, 4, 4, 4], &[UNORM]),
        (&[5, 6, 5], &[UNORM]),
        (&[1, 5, 5, 5], &[UNORM]),
        (&[5, 5, 5, 1], &[UNORM]),
        (&[8, 8, 8, 8], &[NORMS, SCALED, INTS, SRGB]),
        (&[10, 10, 10, 2], &[NORMS, SCALED, INTS]),
        (&[11, 11, 10], &[FLOAT]),
        (&[9, 9, 9, 5], &[FLOAT]),
    ];

    /// Layouts of equal channels, by width.
    const ARRAYS: [(u8, &[&[Number]]); 4] = [
        (8, &[NORMS, SCALED, INTS, SRGB]),
        (16, &[NORMS, SCALED, INTS, FLOAT]),
        (32, &[INTS, FLOAT]),
        (64, &[INTS, FLOAT]),
    ];

    impl Spelled {
        fn read(name: &str) -> Option<Self> {
            let mut words = name.split('_');
            let mut channels = read_channels(words.next()?)?;
            let number = match words.next()? {
                "UNORM" => Number::Unorm,
                "SNORM" => Number::Snorm,
                "USCALED" => Number::Uscaled,
                "SSCALED" => Number::Sscaled,
                "UINT" => Number::Uint,
                "SINT" => Number::Sint,
                // In these names, unsigned floats are in packed words, signed floats are not.
                "SFLOAT" if !name.contains("_PACK") => Number::Float,
                "UFLOAT" if name.contains("_PACK") => Number::Float,
                "SRGB" => Number::Srgb,
                _ => return None,
            };
            let mut suffix = words.next();
            let pack = suffix.and_then(|word| word.strip_prefix("PACK"));
            if let Some(width) = pack {
                channels.reverse();
                let bits: u32 = channels.iter().map(|(_, bits)| u32::from(*bits)).sum();
                if width.parse() != Ok(bits) {
                    return None;
                }
                suffix = words.next();
            }
            let vendor = matches!(suffix, None | Some("KHR" | "EXT"));
            (vendor && words.next().is_none()).then_some(Self { channels, number, packed: pack.is_some() })
        }

        fn exists(&self) -> bool {
            use Channel::{A, B, E, G, R};
            let widths = self.widths();
            let allowed = if self.packed {
                PACKED.iter().find(|(layout, _)| **layout == *widths).map(|(_, numbers)| *numbers)
            } else {
                let width = widths.first().copied().filter(|w| widths.iter().all(|other| other == w));
                ARRAYS.iter().find(|(layout, _)| Some(*layout) == width).map(|(_, numbers)| *numbers)
            };
            let order: SmallVec<[Channel; 4]> = self.channels.iter().map(|(channel, _)| *channel).collect();
            let bytes = widths.iter().all(|width| *width == 8);
            let orders: &[&[Channel]] = match (self.packed, widths.len()) {
                (true, 2) => &[&[G, R]],
                (true, 3) => &[&[R, G, B], &[B, G, R]],
                (true, _) => &[&[R, G, B, A], &[B, G, R, A], &[A, B, G, R], &[A, R, G, B], &[R, G, B, E]],
                (false, 1) if bytes && self.number == Number::Unorm => &[&[R], &[A]],
                (false, 3 | 4) if bytes => &[&[R, G, B], &[B, G, R], &[R, G, B, A], &[B, G, R, A]],
                (false, _) => &[&[R], &[R, G], &[R, G, B], &[R, G, B, A]],
            };
            let known = |numbers: &[&[Number]]| numbers.iter().any(|some| some.contains(&self.number));
            allowed.is_some_and(known) && orders.contains(&order.as_slice())
        }

        fn widths(&self) -> SmallVec<[u8; 4]> {
            self.channels.iter().map(|(_, bits)| *bits).collect()
        }

        /// Parses a name; `None` if no such format can exist.
        fn parse(name: &str) -> Option<Self> {
            Self::read(name).filter(Self::exists)
        }
    }

    fn read_channels(word: &str) -> Option<SmallVec<[(Channel, u8); 4]>> {
        let mut channels = SmallVec::new();
        let mut rest = word;
        while let Some(letter) = rest.chars().next() {
            let channel = match letter {
                'R' => Channel::R,
                'G' => Channel::G,
                'B' => Channel::B,
                'A' => Channel::A,
                'E' => Channel::E,
                _ => return None,
            };
            rest = rest.get(1..)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            channels.push((channel, rest.get(..end)?.parse().ok()?));
            rest = rest.get(end..)?;
        }
        (1..=4).contains(&channels.len()).then_some(channels)
    }

    /// Vulkan's names of vertex and colour formats, one line per layout: channels, numbers, suffix.
    const NAMES: &[(&str, &str, &str)] = &[
        ("R4G4", "UNORM", "_PACK8"),
        ("R4G4B4A4 B4G4R4A4", "UNORM", "_PACK16"),
        ("A4R4G4B4 A4B4G4R4", "UNORM", "_PACK16"),
        ("R5G6B5 B5G6R5 R5G5B5A1 B5G5R5A1 A1R5G5B5 A1B5G5R5", "UNORM", "_PACK16"),
        ("R8 R8G8 R8G8B8 B8G8R8 R8G8B8A8 B8G8R8A8", "UNORM SNORM USCALED SSCALED UINT SINT SRGB", ""),
        ("A8B8G8R8", "UNORM SNORM USCALED SSCALED UINT SINT SRGB", "_PACK32"),
        ("A2R10G10B10 A2B10G10R10", "UNORM SNORM USCALED SSCALED UINT SINT", "_PACK32"),
        ("R16 R16G16 R16G16B16 R16G16B16A16", "UNORM SNORM USCALED SSCALED UINT SINT SFLOAT", ""),
        ("R32 R32G32 R32G32B32 R32G32B32A32", "UINT SINT SFLOAT", ""),
        ("R64 R64G64 R64G64B64 R64G64B64A64", "UINT SINT SFLOAT", ""),
        ("B10G11R11 E5B9G9R9", "UFLOAT", "_PACK32"),
        ("A8", "UNORM", ""),
    ];

    #[test]
    fn every_vulkan_name_is_read() {
        let mut count = 0;
        for (layouts, numbers, suffix) in NAMES {
            for layout in layouts.split(' ') {
                for number in numbers.split(' ') {
                    let name = format!("{layout}_{number}{suffix}");
                    let format = Format::parse(&name).unwrap_or_else(|e| panic!("{e}"));
                    assert_eq!(format.packed, !suffix.is_empty(), "{name}");
                    count += 1;
                }
            }
        }
        // `VkFormat` 1 to 123 are these; A8, A1B5G5R5 and two orders of 4-bit channels came later.
        assert_eq!(count, 123 + 4);
    }

    #[test]
    fn the_table_is_what_the_names_say() {
        let mut count = 0;
        for (number, name) in VkFormat::all() {
            match (Format::of(number), Spelled::parse(name)) {
                (Ok(format), Some(spelled)) => {
                    assert_eq!(format.channels, spelled.channels.as_slice(), "{name}");
                    assert_eq!((format.number, format.packed), (spelled.number, spelled.packed), "{name}");
                    count += 1;
                }
                (Err(_), None) => {}
                (ours, spelled) => panic!("{name}: the table says {ours:?}, its name is read: {}", spelled.is_some()),
            }
        }
        assert_eq!(count, 123 + 4);
        for number in [0, 124, 184, 185, 1_000_339_999, 1_000_340_002, 1_000_470_002, u32::MAX] {
            assert!(Format::of(VkFormat(number)).is_err(), "{number}");
        }
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for name in [
            "",
            "R",
            "R8",
            "R8_",
            "R7_UNORM",
            "R8_SFLOAT",
            "R32_UNORM",
            "G8_UNORM",
            "R8G8_UNORM_PACK16",
            "R8G8B8A8_UNORM_PACK16",
            "R8G8B8A8_UNORM_KHR_EXT",
            "R8R8_UNORM",
            "R999_UNORM",
            "R8G8B8A8R8_UNORM",
            "D32_SFLOAT",
            "BC1_RGB_UNORM_BLOCK",
            "R8é_UNORM",
            "B16G16R16A16_UNORM",
            "A16_UNORM",
            "R32_UFLOAT",
            "B10G11R11_SFLOAT_PACK32",
        ] {
            assert!(Format::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn channels_are_in_memory_order() {
        let order = |name| {
            let format: Format = Format::parse(name).unwrap_or_else(|e| panic!("{e}"));
            let text: Vec<String> = format.channels.iter().map(|(c, bits)| format!("{c:?}{bits}")).collect();
            text.join(" ")
        };
        assert_eq!(order("R8G8B8A8_UNORM"), "R8 G8 B8 A8");
        assert_eq!(order("A8B8G8R8_UNORM_PACK32"), "R8 G8 B8 A8");
        assert_eq!(order("A2B10G10R10_UNORM_PACK32"), "R10 G10 B10 A2");
        assert_eq!(order("A2R10G10B10_UNORM_PACK32"), "B10 G10 R10 A2");
        assert_eq!(order("B10G11R11_UFLOAT_PACK32"), "R11 G11 B10");
        assert_eq!(order("E5B9G9R9_UFLOAT_PACK32"), "R9 G9 B9 E5");
        assert_eq!(order("VK_FORMAT_B8G8R8A8_SRGB"), "B8 G8 R8 A8");
    }

    #[test]
    fn buffer_numbers_are_the_hardwares() {
        let number = |name: &str| {
            let format = Format::parse(name).unwrap_or_else(|e| panic!("{e}"));
            buffer_number(Gpu::Gfx1030, &format.widths(), format.number)
        };
        assert_eq!(number("R8_UNORM"), Some(1));
        assert_eq!(number("R16_SFLOAT"), Some(13));
        assert_eq!(number("R32_UINT"), Some(20));
        assert_eq!(number("R32_SFLOAT"), Some(22));
        assert_eq!(number("B10G11R11_UFLOAT_PACK32"), Some(36));
        assert_eq!(number("A2B10G10R10_UNORM_PACK32"), Some(50));
        assert_eq!(number("R8G8B8A8_UNORM"), Some(56));
        assert_eq!(number("R32G32_SFLOAT"), Some(64));
        assert_eq!(number("R16G16B16A16_SFLOAT"), Some(71));
        assert_eq!(number("R32G32B32_SFLOAT"), Some(74));
        assert_eq!(number("R32G32B32A32_SFLOAT"), Some(77));
        assert_eq!(number("R8G8B8A8_SRGB"), None);
        assert_eq!(number("R64_SFLOAT"), None);
        assert_eq!(number("R5G6B5_UNORM_PACK16"), None);
    }
}

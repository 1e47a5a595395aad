//! Image formats of Y'CBCR conversions: the image descriptors through which a texel is read, and which of their
//! components are red (CR), green (Y'), blue (CB) and alpha. Derived from Vulkan's names (the specification's
//! "Formats").
//!
//! | format | image descriptors |
//! |---|---|
//! | several planes | one per plane, with one channel or two in the order of the name, and the plane's extent |
//! | packed 4:2:2 | two of the same memory: luma, two channels, with the image's width; chroma, four channels, with half of it |
//! | any other | the image's own |
//!
//! Channels are UNORM, of 8 or 16 bits; padding (`X6`, `X4`) belongs to its channel. Packed formats are read without
//! the hardware's filter for them; the image must be linear in memory.

use super::VkFormat;
use smallvec::SmallVec;

/// Location of a channel of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneChannel {
    /// Number of the image descriptor.
    pub image: u8,
    /// Its component.
    pub component: u8,
}

/// One image descriptor of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneView {
    /// The plane of memory.
    pub plane: u8,
    /// Number of channels; 0: those of the format itself.
    pub channels: u8,
    /// Whether the width, the height is halved.
    pub half: [bool; 2],
}

/// The image descriptors of a format and their contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Image descriptors in order; the first has luma.
    pub views: SmallVec<[PlaneView; 3]>,
    /// Location of red, green, blue, alpha; a missing alpha is 1.
    pub channels: [Option<PlaneChannel>; 4],
    /// Whether chroma has half the width, half the height.
    pub subsampled: [bool; 2],
    /// Bits per colour channel.
    pub bits: u32,
    /// Zero padding bits below them that the descriptor's format reads too.
    pub padding: u32,
}

/// A channel in a name: its letter, bits, padding.
type Named = (char, u32, u32);

impl Planes {
    /// The planes of a format; `None` for a format that conversions do not support.
    pub fn of(format: VkFormat) -> Option<Self> {
        let mut words = format.name()?.split('_').peekable();
        let mut planes: SmallVec<[SmallVec<[Named; 4]>; 3]> = SmallVec::new();
        while let Some(plane) = words.next_if(|word| word.starts_with(['R', 'G', 'B', 'A'])) {
            planes.push(channels(plane)?);
        }
        let rest: SmallVec<[&str; 4]> = words.collect();
        if !rest.contains(&"UNORM") {
            return None;
        }
        let subsampled = [rest.iter().any(|word| matches!(*word, "420" | "422")), rest.contains(&"420")];
        let (_, bits, padding) = *planes.iter().flatten().find(|(letter, ..)| *letter == 'G')?;
        let alike = |(letter, b, p): &Named| *letter == 'A' || (*b, *p) == (bits, padding);
        if !planes.iter().flatten().all(alike) {
            return None;
        }
        let mut out = Self { views: SmallVec::new(), channels: [None; 4], subsampled, bits, padding };
        match &planes[..] {
            [one] if subsampled[0] => out.packed(one),
            [one] => out.whole(one),
            several => out.several(several),
        }
        out.channels[..3].iter().all(Option::is_some).then_some(out)
    }

    fn set(&mut self, letter: char, image: usize, component: usize) {
        if let Some(to) = "RGBA".find(letter).and_then(|n| self.channels.get_mut(n)) {
            *to = Some(PlaneChannel { image: image as u8, component: component as u8 });
        }
    }

    /// Two luma samples and one of each chroma form a texel. The first luma of the pair determines the component.
    fn packed(&mut self, texel: &[Named]) {
        self.views.push(PlaneView { plane: 0, channels: 2, half: [false, false] });
        self.views.push(PlaneView { plane: 0, channels: 4, half: [true, false] });
        for (n, (letter, ..)) in texel.iter().enumerate() {
            match letter {
                'G' => self.set('G', 0, n % 2),
                other => self.set(*other, 1, n),
            }
        }
    }

    /// The descriptor orders the components.
    fn whole(&mut self, texel: &[Named]) {
        self.views.push(PlaneView { plane: 0, channels: 0, half: [false, false] });
        for (letter, ..) in texel {
            self.set(*letter, 0, "RGBA".find(*letter).unwrap_or(0));
        }
    }

    fn several(&mut self, planes: &[SmallVec<[Named; 4]>]) {
        for (n, plane) in planes.iter().enumerate() {
            let half = if n == 0 { [false, false] } else { self.subsampled };
            self.views.push(PlaneView { plane: n as u8, channels: plane.len() as u8, half });
            for (component, (letter, ..)) in plane.iter().enumerate() {
                self.set(*letter, n, component);
            }
        }
    }
}

/// The channels of a plane: `B10X6R10X6`.
fn channels(text: &str) -> Option<SmallVec<[Named; 4]>> {
    let mut out: SmallVec<[Named; 4]> = SmallVec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let digits = rest.get(1..)?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at(end);
        let bits = number.parse().ok()?;
        match (letter, out.last_mut()) {
            ('X', Some((_, _, padding))) => *padding = bits,
            _ => out.push((letter, bits, 0)),
        }
        rest = after;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planes(name: &str) -> Planes {
        Planes::of(VkFormat::named(name).unwrap()).unwrap_or_else(|| panic!("{name}"))
    }

    /// Image and component of red, green, blue and alpha.
    fn found(name: &str) -> [Option<(u8, u8)>; 4] {
        planes(name).channels.map(|channel| channel.map(|c| (c.image, c.component)))
    }

    #[test]
    fn channels_are_where_the_name_says() {
        assert_eq!(found("G8_B8_R8_3PLANE_420_UNORM"), [Some((2, 0)), Some((0, 0)), Some((1, 0)), None]);
        assert_eq!(found("G8_B8R8_2PLANE_420_UNORM"), [Some((1, 1)), Some((0, 0)), Some((1, 0)), None]);
        assert_eq!(found("G8B8G8R8_422_UNORM"), [Some((1, 3)), Some((0, 0)), Some((1, 1)), None]);
        assert_eq!(found("B8G8R8G8_422_UNORM"), [Some((1, 2)), Some((0, 1)), Some((1, 0)), None]);
        let own = [Some((0, 0)), Some((0, 1)), Some((0, 2)), Some((0, 3))];
        assert_eq!(found("A2B10G10R10_UNORM_PACK32"), own);
        assert_eq!(found("R10X6G10X6B10X6A10X6_UNORM_4PACK16"), own);
    }

    #[test]
    fn extents_and_bits_are_those_of_the_name() {
        let of = |name: &str| {
            let p = planes(name);
            (p.subsampled, p.bits, p.padding, p.views.len())
        };
        assert_eq!(of("G16_B16R16_2PLANE_422_UNORM"), ([true, false], 16, 0, 2));
        assert_eq!(of("G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16"), ([true, true], 10, 6, 3));
        assert_eq!(of("B12X4G12X4R12X4G12X4_422_UNORM_4PACK16"), ([true, false], 12, 4, 2));
        assert_eq!(of("G8_B8_R8_3PLANE_444_UNORM"), ([false, false], 8, 0, 3));
        assert_eq!(
            planes("G8_B8R8_2PLANE_420_UNORM").views[1],
            PlaneView { plane: 1, channels: 2, half: [true, true] }
        );
        assert_eq!(planes("G8B8G8R8_422_UNORM").views[1], PlaneView { plane: 0, channels: 4, half: [true, false] });
    }

    #[test]
    fn what_has_no_three_like_channels_is_not_read() {
        for name in ["R8_UNORM", "R8G8B8A8_UINT", "R5G6B5_UNORM_PACK16", "R32G32B32A32_SFLOAT", "R10X6_UNORM_PACK16"] {
            assert_eq!(Planes::of(VkFormat::named(name).unwrap()), None, "{name}");
        }
        assert_eq!(Planes::of(VkFormat(1_000_156_099)), None);
    }
}

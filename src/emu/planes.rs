//! Images in the formats of Y'CBCR conversions: each plane is an image of its own, and each of [`Planes::views`] gets a
//! descriptor, as a driver writes them.

use super::image::ImageDescriptor;
use super::inputs::{Image, InputBytes, Sampler};
use super::machine::Machine;
use super::named_format::NamedFormat;
use super::placed::{Home, sampler_words, texels as plain_texels};
use dovetail_base::error::{Context, Error, Result};
use dovetail_state::{ImmutableSampler, PlaneView, Planes, SamplerWords, VkFormat};

impl Sampler {
    /// The sampler as the resource layout states it.
    pub fn immutable(&self) -> ImmutableSampler {
        ImmutableSampler { words: SamplerWords(sampler_words(self)), conversion: self.conversion }
    }
}

/// The planes of an image, if no single descriptor can hold its format.
pub(super) fn of(image: &Image) -> Option<Planes> {
    let planes = Planes::of(VkFormat::named(&image.format).ok()?)?;
    (planes.views.len() > 1 || planes.padding > 0).then_some(planes)
}

/// The format of a view: channels of 8 or 16 bits.
fn format(planes: &Planes, view: PlaneView) -> Result<&'static str> {
    Ok(match (view.channels, planes.bits + planes.padding) {
        (1, 8) => "R8_UNORM",
        (2, 8) => "R8G8_UNORM",
        (4, 8) => "R8G8B8A8_UNORM",
        (1, 16) => "R16_UNORM",
        (2, 16) => "R16G16_UNORM",
        (0 | 4, 16) => "R16G16B16A16_UNORM",
        (channels, bits) => return Err(Error::unsupported("plane", format!("{channels} channels of {bits} bits"))),
    })
}

/// Writes the planes to memory; returns their descriptors, one after the other.
pub(super) fn texels(machine: &mut Machine, image: &Image, planes: &Planes) -> Result<(Home, Vec<u32>)> {
    let [width, height, _] = image.extent;
    if image.levels != 1
        || image.samples > 1
        || [width, height].iter().zip(planes.subsampled).any(|(n, s)| s && n % 2 > 0)
    {
        return Err(Error::malformed("an image with planes has one level, one sample, and even extents"));
    }
    image.check_identity()?;
    let mut data = image.data.0.as_slice();
    let (mut rows, mut words, mut last) = (Vec::new(), Vec::new(), None);
    for view in &planes.views {
        let format = format(planes, *view).at(|| image.format.clone())?;
        let extent = [width >> u32::from(view.half[0]), height >> u32::from(view.half[1]), 1];
        if last == Some(view.plane) {
            words.extend(again(&words, format, extent)?);
            continue;
        }
        last = Some(view.plane);
        let named = NamedFormat::new(format)?;
        let bytes = extent.iter().product::<u32>() as usize * image.layers as usize * named.format.bytes();
        let (own, later) =
            data.split_at_checked(bytes).ok_or_else(|| Error::malformed("a plane with too few texels"))?;
        data = later;
        let plane = Image { format: format.into(), extent, data: InputBytes(own.to_vec()), ..image.clone() };
        let (home, descriptor) = plain_texels(machine, &plane, &[])?;
        if let Home::Rows(more) = home {
            rows.extend(more);
        }
        words.extend(descriptor);
    }
    if !data.is_empty() {
        return Err(Error::malformed("an image with too many texels"));
    }
    Ok((Home::Rows(rows), words))
}

/// A descriptor of the last plane's memory in another format.
fn again(words: &[u32], format: &str, [width, height, _]: [u32; 3]) -> Result<[u32; 8]> {
    let before = words.last_chunk().copied().map(ImageDescriptor::new).transpose()?.flatten();
    let before = before.ok_or_else(|| Error::bug("a view of a plane that is not in memory"))?;
    let named = NamedFormat::new(format)?;
    let seen = ImageDescriptor { format: named.number, selects: named.selects, extent: [width, height], ..before };
    Ok(seen.dwords())
}

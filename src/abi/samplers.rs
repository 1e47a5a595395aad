//! Immutable samplers in a layout: checks them, and computes the size of descriptors that convert from Y'CBCR.
//!
//! An immutable sampler keeps its 16 bytes in the table, and the driver writes its words there: code that was compiled
//! without the layout reads them like any sampler. If a combined descriptor's sampler converts, the descriptor has an
//! image descriptor for each view of [`Planes`] one after the other, 32 bytes each, then the sampler. All elements of
//! an array have the size of the largest.

use dovetail_base::error::{Error, Result};
use dovetail_base::kinds::ResourceKind;
use dovetail_state::{BindingKind, BindingLayout, Planes, YcbcrConversion};

/// Size of an image descriptor in bytes.
pub const IMAGE_BYTES: u32 = 32;

/// Byte offset of the sampler in a combined image and sampler with one image; further images come between them.
pub const COMBINED_SAMPLER_OFFSET: u32 = IMAGE_BYTES;

/// Number of image descriptors of one element.
pub(super) fn images(b: &BindingLayout) -> u32 {
    let conversions = b.samplers.iter().filter_map(|sampler| sampler.conversion);
    let views = conversions.filter_map(|c| Planes::of(c.format)).filter_map(|p| u32::try_from(p.views.len()).ok());
    views.max().unwrap_or(1).max(1)
}

/// The planes of a conversion's format.
///
/// # Errors
/// Unsupported: its format.
pub fn planes(conversion: &YcbcrConversion) -> Result<Planes> {
    let of = || format!("{}", conversion.format);
    Planes::of(conversion.format).ok_or_else(|| Error::unsupported("format of a Y'CBCR conversion", of()))
}

/// Checks the immutable samplers of a binding.
///
/// # Errors
/// Malformed: a number of samplers that differs from the number of elements, samplers in a binding without samplers or
/// of mutable kind, or a conversion without an image.
/// Unsupported: a conversion's format.
pub(super) fn check_samplers(b: &BindingLayout) -> Result<()> {
    if b.samplers.is_empty() {
        return Ok(());
    }
    let has = match b.kind {
        BindingKind::One(ResourceKind::CombinedImageSampler) => true,
        BindingKind::One(ResourceKind::Sampler) => !b.converts(),
        _ => false,
    };
    if !has {
        let what = if b.converts() { "a sampler that converts" } else { "an immutable sampler" };
        return Err(Error::malformed(format!("{what} in a binding of {}", b.kind)));
    }
    let (given, count) = (b.samplers.len(), b.count.max(1));
    if u32::try_from(given) != Ok(count) {
        return Err(Error::malformed(format!("{given} immutable samplers for {count} elements: give one for each")));
    }
    b.samplers.iter().filter_map(|sampler| sampler.conversion.as_ref()).try_for_each(|c| planes(c).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use crate::layout::ResolvedLayout;
    use dovetail_base::error::Result;
    use dovetail_base::kinds::{KindSet, ResourceKind as K};
    use dovetail_reloc::symbol::PartLetter;
    use dovetail_state::*;

    fn sampler(format: Option<&str>) -> ImmutableSampler {
        let conversion = format.map(|format| YcbcrConversion {
            format: VkFormat::named(format).unwrap(),
            model: YcbcrModel::Ycbcr709,
            range: YcbcrRange::Narrow,
            components: [Swizzle::Identity; 4],
            x_chroma_offset: ChromaLocation::Midpoint,
            y_chroma_offset: ChromaLocation::Midpoint,
            chroma_filter: ChromaFilter::Linear,
            explicit_reconstruction: false,
        });
        ImmutableSampler { words: SamplerWords([1, 2, 3, 4]), conversion }
    }

    fn layout(kind: impl Into<BindingKind>, count: u32, formats: &[Option<&str>]) -> Result<ResolvedLayout> {
        let samplers = formats.iter().map(|format| sampler(*format)).collect();
        let first = BindingLayout { binding: 0, kind: kind.into(), count, dynamic: false, offset: None, samplers };
        let second =
            BindingLayout { binding: 1, kind: K::Sampler.into(), count: 1, samplers: Vec::new(), ..first.clone() };
        let sets = vec![SetLayout { set: 0, root: None, bindings: vec![first, second] }];
        ResolvedLayout::new(&ResourceLayout { sets, ..Default::default() })
    }

    #[test]
    fn planes_stand_behind_each_other_before_the_sampler() {
        let at = |formats: &[Option<&str>]| {
            let layout = layout(K::CombinedImageSampler, formats.len() as u32, formats).unwrap();
            let place = layout.binding(0, 0).unwrap();
            let images = [0, 1, 2].map(|n| place.image_offset(n));
            let after = layout.binding(0, 1).unwrap().offset;
            (place.stride, images, place.part_offset(PartLetter::Sampler), after)
        };
        assert_eq!(at(&[None, None]), (48, [Some(0), None, None], Some(32), 96), "as without immutable samplers");
        let two = Some("G8_B8R8_2PLANE_420_UNORM");
        assert_eq!(at(&[two]), (80, [Some(0), Some(32), None], Some(64), 80));
        assert_eq!(at(&[Some("G8B8G8R8_422_UNORM")]).0, 80);
        assert_eq!(at(&[Some("B8G8R8A8_UNORM")]).0, 48);
        let most = at(&[two, None, Some("G8_B8_R8_3PLANE_444_UNORM")]);
        assert_eq!(most, (112, [Some(0), Some(32), Some(64)], Some(96), 336));
    }

    #[test]
    fn samplers_stand_where_there_are_some_one_for_each_element() {
        let why = |kind: BindingKind, count, formats: &[Option<&str>]| layout(kind, count, formats).unwrap_err();
        let one = |kind: K, formats: &[Option<&str>]| why(kind.into(), 1, formats).to_string();
        layout(K::Sampler, 2, &[None, None]).unwrap();
        assert!(one(K::SampledImage, &[None]).contains("an immutable sampler in a binding of SampledImage"));
        assert!(one(K::Sampler, &[Some("G8_B8R8_2PLANE_420_UNORM")]).contains("a sampler that converts"));
        assert!(why(BindingKind::Mutable(KindSet::of(&[K::Sampler])), 1, &[None]).to_string().contains("mutable"));
        assert!(why(K::Sampler.into(), 3, &[None]).to_string().contains("1 immutable samplers for 3 elements"));
        let why = why(K::CombinedImageSampler.into(), 1, &[Some("R5G6B5_UNORM_PACK16")]);
        assert!(why.to_string().contains("R5G6B5_UNORM_PACK16") && why.exit_code() == 3, "{why}");
    }
}

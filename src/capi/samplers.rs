//! Immutable samplers: distributes the header's list to the layout's bindings and converts Vulkan's numbers to enums.

use super::guard::{Answer, argument};
use super::state::bits;
use super::types::Sampler;
use dovetail_state::{ImmutableSampler, ResourceLayout, SamplerWords, YcbcrConversion, YcbcrNumbers};

/// Adds each sampler to the binding it names.
pub(super) fn add_samplers(layout: &mut ResourceLayout, given: &[Sampler]) -> Answer<()> {
    let mut given: Vec<&Sampler> = given.iter().collect();
    given.sort_by_key(|sampler| (sampler.set, sampler.binding, sampler.element));
    for sampler in given {
        let Sampler { set, binding, element, .. } = *sampler;
        let bindings = layout.sets.iter_mut().filter(|s| s.set == set).flat_map(|s| &mut s.bindings);
        let Some(to) = bindings.into_iter().find(|b| b.binding == binding) else {
            return argument(format!("a sampler for set {set} binding {binding}, which does not exist"));
        };
        if usize::try_from(element) != Ok(to.samplers.len()) {
            let wanted = to.samplers.len();
            return argument(format!(
                "a sampler for set {set} binding {binding} element {element} instead of {wanted}"
            ));
        }
        to.samplers.push(immutable(sampler)?);
    }
    Ok(())
}

fn immutable(given: &Sampler) -> Answer<ImmutableSampler> {
    let Sampler {
        set: _,
        binding: _,
        element: _,
        words,
        format,
        model,
        range,
        components: [r, g, b, a],
        x_chroma_offset,
        y_chroma_offset,
        chroma_filter,
        explicit_reconstruction,
        reserved,
    } = *given;
    bits("`reserved` of a sampler", reserved, 0)?;
    let words = SamplerWords(words);
    if format == 0 {
        let rest = [model, range, r, g, b, a, x_chroma_offset, y_chroma_offset, chroma_filter, explicit_reconstruction];
        return match rest {
            [0, ..] if rest == [0; 10] => Ok(ImmutableSampler { words, conversion: None }),
            _ => argument("a sampler with a conversion but without `format`"),
        };
    }
    let numbers = YcbcrNumbers {
        format,
        model,
        range,
        components: [r, g, b, a],
        x_chroma_offset,
        y_chroma_offset,
        chroma_filter,
        explicit_reconstruction,
    };
    let conversion = YcbcrConversion::of_numbers(&numbers)
        .map(Some)
        .or_else(|(field, number)| argument(format!("`{field}` {number} of a sampler")))?;
    Ok(ImmutableSampler { words, conversion })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::kinds::ResourceKind;
    use dovetail_state::{
        BindingLayout, ChromaFilter, ChromaLocation, SetLayout, Swizzle, VkFormat, YcbcrModel, YcbcrRange,
    };

    const PLAIN: Sampler = Sampler {
        set: 1,
        binding: 2,
        element: 0,
        words: [1, 2, 3, 4],
        format: 0,
        model: 0,
        range: 0,
        components: [0; 4],
        x_chroma_offset: 0,
        y_chroma_offset: 0,
        chroma_filter: 0,
        explicit_reconstruction: 0,
        reserved: 0,
    };

    fn added(given: &[Sampler]) -> Option<Vec<ImmutableSampler>> {
        let kind = ResourceKind::CombinedImageSampler.into();
        let binding = BindingLayout { binding: 2, kind, count: 2, dynamic: false, offset: None, samplers: Vec::new() };
        let sets = vec![SetLayout { set: 1, root: None, bindings: vec![binding] }];
        let mut layout = ResourceLayout { sets, ..ResourceLayout::default() };
        add_samplers(&mut layout, given).ok()?;
        Some(layout.sets[0].bindings[0].samplers.clone())
    }

    #[test]
    fn numbers_are_vulkans_and_elements_are_all_there() {
        let converting = Sampler {
            element: 1,
            format: 1_000_156_003,
            model: 4,
            range: 1,
            components: [5, 0, 3, 2],
            x_chroma_offset: 1,
            chroma_filter: 1,
            ..PLAIN
        };
        let found = added(&[converting, PLAIN]).unwrap();
        assert_eq!(found[0], ImmutableSampler { words: SamplerWords([1, 2, 3, 4]), conversion: None });
        let conversion = YcbcrConversion {
            format: VkFormat::named("G8_B8R8_2PLANE_420_UNORM").unwrap(),
            model: YcbcrModel::Ycbcr2020,
            range: YcbcrRange::Narrow,
            components: [Swizzle::B, Swizzle::Identity, Swizzle::R, Swizzle::One],
            x_chroma_offset: ChromaLocation::Midpoint,
            y_chroma_offset: ChromaLocation::CositedEven,
            chroma_filter: ChromaFilter::Linear,
            explicit_reconstruction: false,
        };
        assert_eq!(found[1].conversion, Some(conversion));
        for wrong in [
            Sampler { set: 0, ..PLAIN },
            Sampler { element: 1, ..PLAIN },
            Sampler { range: 1, ..PLAIN },
            Sampler { reserved: 1, ..PLAIN },
            Sampler { element: 0, model: 5, ..converting },
            Sampler { element: 0, explicit_reconstruction: 2, ..converting },
        ] {
            assert_eq!(added(&[wrong]), None);
        }
        assert_eq!(added(&[PLAIN, PLAIN]), None, "an element is given once");
    }
}

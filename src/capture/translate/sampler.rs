//! Translates the immutable samplers of bindings that convert from Y'CBCR. All other samplers are the driver's matter.
//!
//! An archive has a conversion's create info in the `pNext` chain of its sampler.

use super::tables;
use crate::model::{Binding, Next, Sampler, s_type};
use crate::source::DefinitionSource;
use dovetail_base::error::{Error, Result};
use dovetail_state::{ImmutableSampler, SamplerWords, YcbcrConversion, YcbcrNumbers};
use serde_json::Value;

/// The samplers of a binding; empty if the code does not depend on them.
///
/// # Errors
/// Unsupported: state without a counterpart in a sampler's words, by name. Malformed: a conversion without a member.
pub(super) fn immutable(binding: &Binding, source: &dyn DefinitionSource) -> Result<Vec<ImmutableSampler>> {
    let mut samplers = Vec::new();
    for name in &binding.immutable_samplers {
        // An element without a sampler has no conversion; nothing else is known of it.
        let given = if name.is_none() { Sampler::default() } else { (*source.sampler(*name)?).clone() };
        tables::chain(&given.p_next)?;
        samplers.push((Next::find(&given.p_next, s_type::YCBCR_CONVERSION_CREATE).map(conversion).transpose()?, given));
    }
    if samplers.iter().all(|(conversion, _)| conversion.is_none()) {
        return Ok(Vec::new());
    }
    let of =
        |(conversion, given): &(_, Sampler)| Ok(ImmutableSampler { words: words(given)?, conversion: *conversion });
    samplers.iter().map(of).collect()
}

fn conversion(given: &Next) -> Result<YcbcrConversion> {
    let malformed = |name: &str| Error::malformed(format!("`{name}` of a Y'CBCR conversion"));
    let number = |value: Option<&Value>| value.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let member = |name: &str| number(given.other.get(name)).ok_or_else(|| malformed(name));
    let components = given.other.get("components").and_then(Value::as_array);
    let component = |n: usize| number(components.and_then(|all| all.get(n))).ok_or_else(|| malformed("components"));
    let numbers = YcbcrNumbers {
        format: member("format")?,
        model: member("ycbcrModel")?,
        range: member("ycbcrRange")?,
        components: [component(0)?, component(1)?, component(2)?, component(3)?],
        x_chroma_offset: member("xChromaOffset")?,
        y_chroma_offset: member("yChromaOffset")?,
        chroma_filter: member("chromaFilter")?,
        explicit_reconstruction: member("forceExplicitReconstruction")?,
    };
    YcbcrConversion::of_numbers(&numbers)
        .map_err(|(field, number)| Error::unsupported("Y'CBCR conversion", format!("{field} {number}")))
}

/// The descriptor S# (isa-gfx10 4.5) of a Vulkan sampler. Fields without a counterpart in Vulkan are 0: anisotropy
/// thresholds, performance, coordinate rounding.
fn words(given: &Sampler) -> Result<SamplerWords> {
    /// `VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT`; the flag of descriptor buffers does not affect sampling.
    const NO_CUBE_WRAP: u32 = 4;
    const DESCRIPTOR_BUFFER: u32 = 8;
    let unknown = |what: &str, number: u32| Error::unsupported("sampler", format!("{what} {number}"));
    let pick =
        |what: &str, number: u32, all: &[u32]| all.get(number as usize).copied().ok_or_else(|| unknown(what, number));
    // Hardware values in Vulkan's order: repeat, mirror, clamp to edge, clamp to border, mirror clamp to edge.
    let address = |mode| pick("address mode", mode, &[0, 1, 2, 6, 3]);
    let ratio = if given.anisotropy_enable != 0 { given.max_anisotropy } else { 1.0 };
    let anisotropy = [2.0, 4.0, 8.0, 16.0].iter().filter(|least| ratio >= **least).count() as u32;
    let filter = |number| pick("filter", number, if anisotropy > 0 { &[2, 3] } else { &[0, 1] });
    let compare =
        if given.compare_enable != 0 { pick("comparison", given.compare_op, &[0, 1, 2, 3, 4, 5, 6, 7])? } else { 0 };
    let reduction = Next::find(&given.p_next, s_type::SAMPLER_REDUCTION).and_then(|next| next.reduction_mode);
    let border = pick("border colour", given.border_color, &[0, 0, 1, 1, 2, 2])?;
    let other = given.flags & !(NO_CUBE_WRAP | DESCRIPTOR_BUFFER);
    if other != 0 {
        return Err(unknown("flags", other));
    }
    let lod = |lod: f32| ((lod * 256.0) as u32).min(0xfff);
    let bias = ((given.mip_lod_bias * 256.0) as i32).clamp(-0x2000, 0x1fff).cast_unsigned() & 0x3fff;
    Ok(SamplerWords([
        address(given.address_mode_u)?
            | address(given.address_mode_v)? << 3
            | address(given.address_mode_w)? << 6
            | anisotropy << 9
            | compare << 12
            | u32::from(given.unnormalized_coordinates != 0) << 15
            | u32::from(given.flags & NO_CUBE_WRAP != 0) << 28
            | pick("reduction mode", reduction.unwrap_or(0), &[0, 1, 2])? << 29,
        lod(given.min_lod) | lod(given.max_lod) << 12,
        bias | filter(given.mag_filter)? << 20
            | filter(given.min_filter)? << 22
            | pick("mipmap mode", given.mipmap_mode, &[1, 2])? << 26,
        border << 30,
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_hardware() {
        let plain = Sampler { max_lod: 0.25, address_mode_u: 2, address_mode_v: 3, ..Sampler::default() };
        assert_eq!(words(&plain), Ok(SamplerWords([2 | 6 << 3, 64 << 12, 1 << 26, 0])));
        let linear = Sampler {
            mag_filter: 1,
            min_filter: 1,
            mipmap_mode: 1,
            address_mode_w: 4,
            mip_lod_bias: -1.5,
            min_lod: 1.0,
            max_lod: 1000.0,
            border_color: 4,
            compare_enable: 1,
            compare_op: 5,
            ..Sampler::default()
        };
        let wanted = [3 << 6 | 5 << 12, 256 | 0xfff << 12, 0x3e80 | 1 << 20 | 1 << 22 | 2 << 26, 2 << 30];
        assert_eq!(words(&linear), Ok(SamplerWords(wanted)));
        let sharp = Sampler { anisotropy_enable: 1, max_anisotropy: 8.0, mag_filter: 1, ..plain.clone() };
        let SamplerWords([first, _, third, _]) = words(&sharp).unwrap();
        assert_eq!((first >> 9 & 7, third >> 20 & 15), (3, 3 | 2 << 2));
        for (what, refused) in [
            ("filter", Sampler { mag_filter: 1_000_015_000, ..plain.clone() }),
            ("border colour", Sampler { border_color: 1_000_287_003, ..plain.clone() }),
            ("flags", Sampler { flags: 1, ..plain.clone() }),
        ] {
            assert!(words(&refused).unwrap_err().to_string().contains(what), "{what}");
        }
    }
}

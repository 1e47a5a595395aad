//! Immutable samplers of a layout, and their Y'CBCR conversions.
//!
//! Vulkan's "Sampler Y'CBCR Conversion" defines the conversion; `compile/passes/lower_ycbcr.rs` implements each field.

use super::VkFormat;
use serde::{Deserialize, Serialize};

/// An immutable sampler (`pImmutableSamplers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImmutableSampler {
    /// The descriptor.
    pub words: SamplerWords,
    /// Its Y'CBCR conversion, if it has one; only in combined descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<YcbcrConversion>,
}

/// The four dwords of a sampler's descriptor, S# (isa-gfx10 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SamplerWords(pub [u32; 4]);

impl SamplerWords {
    /// `XY_MAG_FILTER` and `XY_MIN_FILTER`, bits 20 and 22 of dword 2, two each: 0 nearest, 1 linear.
    const FILTERS: [u32; 2] = [20, 22];

    /// The filters for magnification and minification; `None` if one of them is anisotropic.
    pub fn filters(self) -> [Option<ChromaFilter>; 2] {
        Self::FILTERS.map(|low| match self.0[2] >> low & 3 {
            0 => Some(ChromaFilter::Nearest),
            1 => Some(ChromaFilter::Linear),
            _ => None,
        })
    }

    /// The same sampler with another filter.
    #[must_use]
    pub fn filtered(self, filter: ChromaFilter) -> Self {
        let Self([a, b, mut c, d]) = self;
        for low in Self::FILTERS {
            c = c & !(3 << low) | u32::from(filter == ChromaFilter::Linear) << low;
        }
        Self([a, b, c, d])
    }
}

/// `VkSamplerYcbcrConversionCreateInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YcbcrConversion {
    /// Format of the image; in a file Vulkan's name without `VK_FORMAT_`. See [`super::Planes`].
    pub format: VkFormat,
    /// The colour model.
    #[serde(default)]
    pub model: YcbcrModel,
    /// Encoding range of values; ignored by [`YcbcrModel::RgbIdentity`].
    #[serde(default)]
    pub range: YcbcrRange,
    /// Sources of red, green, blue and alpha, before range expansion.
    #[serde(default)]
    pub components: [Swizzle; 4],
    /// Position of chroma samples in x, for formats whose chroma has half the width.
    #[serde(default)]
    pub x_chroma_offset: ChromaLocation,
    /// Position of chroma samples in y, for formats whose chroma has half the height.
    #[serde(default)]
    pub y_chroma_offset: ChromaLocation,
    /// Filter for chroma.
    #[serde(default)]
    pub chroma_filter: ChromaFilter,
    /// Chroma is reconstructed for each texel before texels are filtered.
    #[serde(default)]
    pub explicit_reconstruction: bool,
}

/// [`YcbcrConversion`] in Vulkan's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of `YcbcrConversion`")]
pub struct YcbcrNumbers {
    pub format: u32,
    pub model: u32,
    pub range: u32,
    pub components: [u32; 4],
    pub x_chroma_offset: u32,
    pub y_chroma_offset: u32,
    pub chroma_filter: u32,
    pub explicit_reconstruction: u32,
}

impl YcbcrConversion {
    /// The conversion of these numbers.
    ///
    /// # Errors
    /// The field, and its number that Vulkan does not define.
    pub fn of_numbers(given: &YcbcrNumbers) -> Result<Self, (&'static str, u32)> {
        use YcbcrModel::{RgbIdentity, Ycbcr601, Ycbcr709, Ycbcr2020, YcbcrIdentity};
        fn one<T: Copy>(field: &'static str, number: u32, all: &[T]) -> Result<T, (&'static str, u32)> {
            usize::try_from(number).ok().and_then(|n| all.get(n)).copied().ok_or((field, number))
        }
        let swizzle = |number| Swizzle::of_number(number).ok_or(("components", number));
        let location = |field, number| one(field, number, &[ChromaLocation::CositedEven, ChromaLocation::Midpoint]);
        let filters = [ChromaFilter::Nearest, ChromaFilter::Linear];
        let [r, g, b, a] = given.components;
        Ok(Self {
            format: VkFormat(given.format),
            model: one("model", given.model, &[RgbIdentity, YcbcrIdentity, Ycbcr709, Ycbcr601, Ycbcr2020])?,
            range: one("range", given.range, &[YcbcrRange::Full, YcbcrRange::Narrow])?,
            components: [swizzle(r)?, swizzle(g)?, swizzle(b)?, swizzle(a)?],
            x_chroma_offset: location("x_chroma_offset", given.x_chroma_offset)?,
            y_chroma_offset: location("y_chroma_offset", given.y_chroma_offset)?,
            chroma_filter: one("chroma_filter", given.chroma_filter, &filters)?,
            explicit_reconstruction: one("explicit_reconstruction", given.explicit_reconstruction, &[false, true])?,
        })
    }
}

/// `VkSamplerYcbcrModelConversion`, in the order of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YcbcrModel {
    /// No conversion.
    #[default]
    RgbIdentity,
    /// Only the range is expanded; the colours stay Y'CBCR.
    YcbcrIdentity,
    /// BT.709.
    #[serde(rename = "ycbcr_709")]
    Ycbcr709,
    /// BT.601.
    #[serde(rename = "ycbcr_601")]
    Ycbcr601,
    /// BT.2020, with constant coefficients.
    #[serde(rename = "ycbcr_2020")]
    Ycbcr2020,
}

/// `VkSamplerYcbcrRange`, in the order of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YcbcrRange {
    /// Full range.
    #[default]
    Full,
    /// Head and foot room (ITU "narrow").
    Narrow,
}

/// `VkComponentSwizzle`, in the order of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum Swizzle {
    #[default]
    Identity,
    Zero,
    One,
    R,
    G,
    B,
    A,
}

impl Swizzle {
    /// The swizzle of this number; `None` if Vulkan does not define it.
    pub fn of_number(number: u32) -> Option<Self> {
        use Swizzle::{A, B, G, Identity, One, R, Zero};
        [Identity, Zero, One, R, G, B, A].get(usize::try_from(number).ok()?).copied()
    }

    /// Whether red, green, blue and alpha stay what they are.
    pub fn are_identity(all: &[Self; 4]) -> bool {
        all.iter().zip([Self::R, Self::G, Self::B, Self::A]).all(|(one, own)| [Self::Identity, own].contains(one))
    }

    /// Of each component of a view, where it comes from. `own`: the sources of red, green, blue and alpha without the
    /// swizzle; `zero` and `one`: those of the constants.
    pub fn of_view<T: Copy>(all: [Self; 4], own: [T; 4], zero: T, one: T) -> [T; 4] {
        std::array::from_fn(|n| match all[n] {
            Self::Identity => own[n],
            Self::Zero => zero,
            Self::One => one,
            Self::R => own[0],
            Self::G => own[1],
            Self::B => own[2],
            Self::A => own[3],
        })
    }
}

/// `VkChromaLocation`, in the order of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChromaLocation {
    /// At the first of the two luma samples.
    #[default]
    CositedEven,
    /// Halfway between the two.
    Midpoint,
}

/// `VkFilter` of chroma, in the order of its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum ChromaFilter {
    #[default]
    Nearest,
    Linear,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_replaced_and_nothing_else() {
        use ChromaFilter::{Linear, Nearest};
        let words = SamplerWords([1, 2, 0xffaf_ffff, 4]);
        assert_eq!(words.filters(), [None, None]);
        assert_eq!(words.filtered(Linear), SamplerWords([1, 2, 0xff5f_ffff, 4]));
        assert_eq!(words.filtered(Nearest).0[2], 0xff0f_ffff);
        assert_eq!(SamplerWords([0, 0, 1 << 20, 0]).filters(), [Some(Linear), Some(Nearest)]);
    }

    #[test]
    fn a_file_names_conversions() {
        let text = "words = [1, 2, 3, 4]\n[conversion]\nformat = \"G8_B8R8_2PLANE_420_UNORM\"\nmodel = \"ycbcr_709\"\n\
                    range = \"narrow\"\ncomponents = [\"identity\", \"identity\", \"identity\", \"one\"]\n\
                    y_chroma_offset = \"midpoint\"\n";
        let sampler: ImmutableSampler = toml::from_str(text).unwrap();
        let conversion = sampler.conversion.unwrap();
        assert_eq!((sampler.words, conversion.model), (SamplerWords([1, 2, 3, 4]), YcbcrModel::Ycbcr709));
        assert_eq!((conversion.format, conversion.components[3]), (VkFormat(1_000_156_003), Swizzle::One));
        let bytes = rmp_serde::to_vec_named(&sampler).unwrap();
        assert_eq!(rmp_serde::from_slice::<ImmutableSampler>(&bytes).unwrap(), sampler);
        let again = toml::to_string_pretty(&sampler).unwrap();
        assert_eq!(toml::from_str::<ImmutableSampler>(&again).unwrap(), sampler);
        let why = toml::from_str::<ImmutableSampler>("words = [0, 0, 0, 0]\n[conversion]\nformat = \"NV12\"");
        assert!(why.unwrap_err().to_string().contains("`NV12`"));
    }
}

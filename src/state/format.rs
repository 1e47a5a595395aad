//! Formats by Vulkan's numbers, and by name in files.
//!
//! A link works on numbers, as a driver does. State files, cache keys and messages use Vulkan's names without
//! `VK_FORMAT_`. Every core format has a name here, including those that are neither a vertex attribute nor a colour,
//! see `abi::formats`. To add a format: a line in [`LATER`].

use dovetail_base::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A `VkFormat`, any number; in text its name without `VK_FORMAT_`, such as `R32G32B32_SFLOAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VkFormat(pub u32);

impl VkFormat {
    /// The format with this name, with or without `VK_FORMAT_` and an extension suffix.
    ///
    /// # Errors
    /// Malformed: no such name.
    pub fn named(name: &str) -> Result<Self> {
        let plain = name.strip_prefix("VK_FORMAT_").unwrap_or(name);
        let plain = ["_KHR", "_EXT"].iter().find_map(|suffix| plain.strip_suffix(suffix)).unwrap_or(plain);
        Self::all()
            .find_map(|(format, its)| (its == plain).then_some(format))
            .ok_or_else(|| Error::malformed(format!("`{name}` is not a vertex or colour format")))
    }

    /// Its name; `None` for formats not listed here.
    pub fn name(self) -> Option<&'static str> {
        let core = usize::try_from(self.0).ok().and_then(|number| CORE.get(number));
        let later = || LATER.iter().find(|(number, _)| *number == self.0).map(|(_, name)| name);
        core.or_else(later).copied()
    }

    /// Whether it is of one plane, its channels padded to 16 bits: Vulkan lets an implementation offer these as colour formats.
    pub fn is_padded(self) -> bool {
        self.name().is_some_and(|name| name.starts_with("R10X6") || name.starts_with("R12X4"))
    }

    /// Every format that has a name.
    pub fn all() -> impl Iterator<Item = (Self, &'static str)> {
        let core = (0..).zip(CORE).map(|(number, name)| (Self(number), *name));
        core.chain(LATER.iter().map(|(number, name)| (Self(*number), *name)))
    }
}

/// The name, or the number of a format without one here.
impl fmt::Display for VkFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "VkFormat {}", self.0),
        }
    }
}

impl FromStr for VkFormat {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::named(name)
    }
}

/// A number without a name is serialized as text, because a key must distinguish any two formats; deserializing it
/// fails.
impl Serialize for VkFormat {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => to.serialize_str(name),
            None => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for VkFormat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let unknown = || format!("a Vulkan format's name; `{name}` is not a vertex or colour format");
        Self::named(&name).map_err(|_| serde::de::Error::custom(unknown()))
    }
}

/// Formats after Vulkan 1.0, in the order of their numbers.
const LATER: &[(u32, &str)] = &[
    (1_000_156_000, "G8B8G8R8_422_UNORM"),
    (1_000_156_001, "B8G8R8G8_422_UNORM"),
    (1_000_156_002, "G8_B8_R8_3PLANE_420_UNORM"),
    (1_000_156_003, "G8_B8R8_2PLANE_420_UNORM"),
    (1_000_156_004, "G8_B8_R8_3PLANE_422_UNORM"),
    (1_000_156_005, "G8_B8R8_2PLANE_422_UNORM"),
    (1_000_156_006, "G8_B8_R8_3PLANE_444_UNORM"),
    (1_000_156_007, "R10X6_UNORM_PACK16"),
    (1_000_156_008, "R10X6G10X6_UNORM_2PACK16"),
    (1_000_156_009, "R10X6G10X6B10X6A10X6_UNORM_4PACK16"),
    (1_000_156_010, "G10X6B10X6G10X6R10X6_422_UNORM_4PACK16"),
    (1_000_156_011, "B10X6G10X6R10X6G10X6_422_UNORM_4PACK16"),
    (1_000_156_012, "G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16"),
    (1_000_156_013, "G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16"),
    (1_000_156_014, "G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16"),
    (1_000_156_015, "G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16"),
    (1_000_156_016, "G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16"),
    (1_000_156_017, "R12X4_UNORM_PACK16"),
    (1_000_156_018, "R12X4G12X4_UNORM_2PACK16"),
    (1_000_156_019, "R12X4G12X4B12X4A12X4_UNORM_4PACK16"),
    (1_000_156_020, "G12X4B12X4G12X4R12X4_422_UNORM_4PACK16"),
    (1_000_156_021, "B12X4G12X4R12X4G12X4_422_UNORM_4PACK16"),
    (1_000_156_022, "G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16"),
    (1_000_156_023, "G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16"),
    (1_000_156_024, "G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16"),
    (1_000_156_025, "G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16"),
    (1_000_156_026, "G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16"),
    (1_000_156_027, "G16B16G16R16_422_UNORM"),
    (1_000_156_028, "B16G16R16G16_422_UNORM"),
    (1_000_156_029, "G16_B16_R16_3PLANE_420_UNORM"),
    (1_000_156_030, "G16_B16R16_2PLANE_420_UNORM"),
    (1_000_156_031, "G16_B16_R16_3PLANE_422_UNORM"),
    (1_000_156_032, "G16_B16R16_2PLANE_422_UNORM"),
    (1_000_156_033, "G16_B16_R16_3PLANE_444_UNORM"),
    (1_000_330_000, "G8_B8R8_2PLANE_444_UNORM"),
    (1_000_330_001, "G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16"),
    (1_000_330_002, "G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16"),
    (1_000_330_003, "G16_B16R16_2PLANE_444_UNORM"),
    (1_000_340_000, "A4R4G4B4_UNORM_PACK16"),
    (1_000_340_001, "A4B4G4R4_UNORM_PACK16"),
    (1_000_470_000, "A1B5G5R5_UNORM_PACK16"),
    (1_000_470_001, "A8_UNORM"),
];

/// The formats of Vulkan 1.0, indexed by their numbers.
#[rustfmt::skip]
const CORE: &[&str] = &[
    "UNDEFINED", "R4G4_UNORM_PACK8", "R4G4B4A4_UNORM_PACK16", "B4G4R4A4_UNORM_PACK16", "R5G6B5_UNORM_PACK16",
    "B5G6R5_UNORM_PACK16", "R5G5B5A1_UNORM_PACK16", "B5G5R5A1_UNORM_PACK16", "A1R5G5B5_UNORM_PACK16", "R8_UNORM",
    "R8_SNORM", "R8_USCALED", "R8_SSCALED", "R8_UINT", "R8_SINT", "R8_SRGB", "R8G8_UNORM", "R8G8_SNORM", "R8G8_USCALED",
    "R8G8_SSCALED", "R8G8_UINT", "R8G8_SINT", "R8G8_SRGB", "R8G8B8_UNORM", "R8G8B8_SNORM", "R8G8B8_USCALED",
    "R8G8B8_SSCALED", "R8G8B8_UINT", "R8G8B8_SINT", "R8G8B8_SRGB", "B8G8R8_UNORM", "B8G8R8_SNORM", "B8G8R8_USCALED",
    "B8G8R8_SSCALED", "B8G8R8_UINT", "B8G8R8_SINT", "B8G8R8_SRGB", "R8G8B8A8_UNORM", "R8G8B8A8_SNORM",
    "R8G8B8A8_USCALED", "R8G8B8A8_SSCALED", "R8G8B8A8_UINT", "R8G8B8A8_SINT", "R8G8B8A8_SRGB", "B8G8R8A8_UNORM",
    "B8G8R8A8_SNORM", "B8G8R8A8_USCALED", "B8G8R8A8_SSCALED", "B8G8R8A8_UINT", "B8G8R8A8_SINT", "B8G8R8A8_SRGB",
    "A8B8G8R8_UNORM_PACK32", "A8B8G8R8_SNORM_PACK32", "A8B8G8R8_USCALED_PACK32", "A8B8G8R8_SSCALED_PACK32",
    "A8B8G8R8_UINT_PACK32", "A8B8G8R8_SINT_PACK32", "A8B8G8R8_SRGB_PACK32", "A2R10G10B10_UNORM_PACK32",
    "A2R10G10B10_SNORM_PACK32", "A2R10G10B10_USCALED_PACK32", "A2R10G10B10_SSCALED_PACK32", "A2R10G10B10_UINT_PACK32",
    "A2R10G10B10_SINT_PACK32", "A2B10G10R10_UNORM_PACK32", "A2B10G10R10_SNORM_PACK32", "A2B10G10R10_USCALED_PACK32",
    "A2B10G10R10_SSCALED_PACK32", "A2B10G10R10_UINT_PACK32", "A2B10G10R10_SINT_PACK32", "R16_UNORM", "R16_SNORM",
    "R16_USCALED", "R16_SSCALED", "R16_UINT", "R16_SINT", "R16_SFLOAT", "R16G16_UNORM", "R16G16_SNORM",
    "R16G16_USCALED", "R16G16_SSCALED", "R16G16_UINT", "R16G16_SINT", "R16G16_SFLOAT", "R16G16B16_UNORM",
    "R16G16B16_SNORM", "R16G16B16_USCALED", "R16G16B16_SSCALED", "R16G16B16_UINT", "R16G16B16_SINT", "R16G16B16_SFLOAT",
    "R16G16B16A16_UNORM", "R16G16B16A16_SNORM", "R16G16B16A16_USCALED", "R16G16B16A16_SSCALED", "R16G16B16A16_UINT",
    "R16G16B16A16_SINT", "R16G16B16A16_SFLOAT", "R32_UINT", "R32_SINT", "R32_SFLOAT", "R32G32_UINT", "R32G32_SINT",
    "R32G32_SFLOAT", "R32G32B32_UINT", "R32G32B32_SINT", "R32G32B32_SFLOAT", "R32G32B32A32_UINT", "R32G32B32A32_SINT",
    "R32G32B32A32_SFLOAT", "R64_UINT", "R64_SINT", "R64_SFLOAT", "R64G64_UINT", "R64G64_SINT", "R64G64_SFLOAT",
    "R64G64B64_UINT", "R64G64B64_SINT", "R64G64B64_SFLOAT", "R64G64B64A64_UINT", "R64G64B64A64_SINT",
    "R64G64B64A64_SFLOAT", "B10G11R11_UFLOAT_PACK32", "E5B9G9R9_UFLOAT_PACK32", "D16_UNORM", "X8_D24_UNORM_PACK32",
    "D32_SFLOAT", "S8_UINT", "D16_UNORM_S8_UINT", "D24_UNORM_S8_UINT", "D32_SFLOAT_S8_UINT", "BC1_RGB_UNORM_BLOCK",
    "BC1_RGB_SRGB_BLOCK", "BC1_RGBA_UNORM_BLOCK", "BC1_RGBA_SRGB_BLOCK", "BC2_UNORM_BLOCK", "BC2_SRGB_BLOCK",
    "BC3_UNORM_BLOCK", "BC3_SRGB_BLOCK", "BC4_UNORM_BLOCK", "BC4_SNORM_BLOCK", "BC5_UNORM_BLOCK", "BC5_SNORM_BLOCK",
    "BC6H_UFLOAT_BLOCK", "BC6H_SFLOAT_BLOCK", "BC7_UNORM_BLOCK", "BC7_SRGB_BLOCK", "ETC2_R8G8B8_UNORM_BLOCK",
    "ETC2_R8G8B8_SRGB_BLOCK", "ETC2_R8G8B8A1_UNORM_BLOCK", "ETC2_R8G8B8A1_SRGB_BLOCK", "ETC2_R8G8B8A8_UNORM_BLOCK",
    "ETC2_R8G8B8A8_SRGB_BLOCK", "EAC_R11_UNORM_BLOCK", "EAC_R11_SNORM_BLOCK", "EAC_R11G11_UNORM_BLOCK",
    "EAC_R11G11_SNORM_BLOCK", "ASTC_4X4_UNORM_BLOCK", "ASTC_4X4_SRGB_BLOCK", "ASTC_5X4_UNORM_BLOCK",
    "ASTC_5X4_SRGB_BLOCK", "ASTC_5X5_UNORM_BLOCK", "ASTC_5X5_SRGB_BLOCK", "ASTC_6X5_UNORM_BLOCK", "ASTC_6X5_SRGB_BLOCK",
    "ASTC_6X6_UNORM_BLOCK", "ASTC_6X6_SRGB_BLOCK", "ASTC_8X5_UNORM_BLOCK", "ASTC_8X5_SRGB_BLOCK",
    "ASTC_8X6_UNORM_BLOCK", "ASTC_8X6_SRGB_BLOCK", "ASTC_8X8_UNORM_BLOCK", "ASTC_8X8_SRGB_BLOCK",
    "ASTC_10X5_UNORM_BLOCK", "ASTC_10X5_SRGB_BLOCK", "ASTC_10X6_UNORM_BLOCK", "ASTC_10X6_SRGB_BLOCK",
    "ASTC_10X8_UNORM_BLOCK", "ASTC_10X8_SRGB_BLOCK", "ASTC_10X10_UNORM_BLOCK", "ASTC_10X10_SRGB_BLOCK",
    "ASTC_12X10_UNORM_BLOCK", "ASTC_12X10_SRGB_BLOCK", "ASTC_12X12_UNORM_BLOCK", "ASTC_12X12_SRGB_BLOCK",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_lead_to_their_numbers() {
        let mut seen = BTreeSet::new();
        for (format, name) in VkFormat::all() {
            assert!(seen.insert(name), "{name} twice");
            for spelled in [name.to_owned(), format!("VK_FORMAT_{name}"), format!("{name}_KHR")] {
                assert_eq!(VkFormat::named(&spelled).unwrap(), format, "{spelled}");
            }
        }
        assert_eq!(VkFormat(37).to_string(), "R8G8B8A8_UNORM");
        assert_eq!(VkFormat(185).to_string(), "VkFormat 185");
        assert!(
            ["", "R8", "VK_FORMAT_", "R8_UNORM_KHR_KHR", "VkFormat 185"].iter().all(|n| VkFormat::named(n).is_err())
        );
    }

    #[test]
    fn files_and_messages_have_names() {
        let bytes = rmp_serde::to_vec_named(&VkFormat(37)).unwrap();
        assert_eq!(bytes, rmp_serde::to_vec_named("R8G8B8A8_UNORM").unwrap());
        assert_eq!(rmp_serde::from_slice::<VkFormat>(&bytes).unwrap(), VkFormat(37));
        let unknown = [VkFormat(185), VkFormat(u32::MAX)].map(|format| rmp_serde::to_vec_named(&format).unwrap());
        assert_ne!(unknown[0], unknown[1]);
        let refused = rmp_serde::from_slice::<VkFormat>(&unknown[0]).unwrap_err().to_string();
        assert!(refused.contains("`VkFormat 185` is not a vertex or colour format"), "{refused}");
    }
}

//! Images, texel buffers and samplers for a shader's declarations: small, with random texels, in the declared format.

use super::declared::{Declared, ImageType};
use super::random::Random;
use dovetail_base::error::{Error, Result};
use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::{Address, Compare, Image, InputBytes, Sampler, Texels, ViewShape};
use rspirv::spirv::{Dim, ImageFormat};

/// Edge length in texels.
const EDGE: u32 = 16;
/// Size of a texel buffer in texels.
const TEXELS: usize = 4096;

/// A sampler with visible effects: each direction has a different repeat mode.
pub(super) fn sampler(linear: bool, depth: Option<bool>) -> Sampler {
    Sampler {
        mag_linear: linear,
        min_linear: linear,
        address: [Address::Repeat, Address::ClampToEdge, Address::MirroredRepeat],
        compare: (depth == Some(true)).then_some(Compare::LessOrEqual),
        ..Default::default()
    }
}

/// An image of a type.
///
/// # Errors
/// Unsupported: a format for which no texels can be generated.
pub(super) fn image(declared: &Declared, ty: ImageType, range: [f64; 2], random: &mut Random) -> Result<Image> {
    let (shape, extent, faces) = match ty.dim {
        Dim::Dim1D => (ViewShape::D1, [EDGE, 1, 1], 1),
        Dim::Dim2D | Dim::DimRect | Dim::DimSubpassData => (ViewShape::D2, [EDGE, EDGE, 1], 1),
        Dim::Dim3D => (ViewShape::D3, [EDGE, EDGE, EDGE / 2], 1),
        Dim::DimCube => (ViewShape::Cube, [EDGE, EDGE, 1], 6),
        other => return Err(Error::unsupported("contents", format!("an image of {other:?}"))),
    };
    let layers = if ty.arrayed { 2 * faces } else { faces };
    let format = format(declared, ty)?;
    let samples = ty.samples();
    let count = extent.iter().product::<u32>() * layers * samples;
    let data = contents(&format, count as usize, range, random)?;
    Ok(Image {
        format,
        shape,
        extent,
        layers,
        arrayed: ty.arrayed,
        levels: 1,
        samples,
        swizzle: Default::default(),
        data,
    })
}

/// A texel buffer of a type.
///
/// # Errors
/// Unsupported: a format for which no texels can be generated.
pub(super) fn texels(declared: &Declared, ty: ImageType, range: [f64; 2], random: &mut Random) -> Result<Texels> {
    let format = format(declared, ty)?;
    Ok(Texels { data: contents(&format, TEXELS, range, random)?, format })
}

/// The format that the type names, or a simple one for its components.
pub(super) fn format(declared: &Declared, ty: ImageType) -> Result<String> {
    if ty.depth {
        return Ok("D32_SFLOAT".into());
    }
    if ty.format != ImageFormat::Unknown {
        return named(ty.format).ok_or_else(|| Error::unsupported("contents", format!("{:?}", ty.format)));
    }
    let integer = declared.is_integer(ty.sampled);
    let bits = declared.operand(ty.sampled, 0);
    let signed = declared.operand(ty.sampled, 1) == 1;
    Ok(match (integer, bits, signed) {
        (true, 64, true) => "R64_SINT",
        (true, 64, false) => "R64_UINT",
        (true, _, true) => "R32G32B32A32_SINT",
        (true, _, false) => "R32G32B32A32_UINT",
        _ => "R32G32B32A32_SFLOAT",
    }
    .into())
}

/// Vulkan's name of a SPIR-V format: channels, their width, and number type.
fn named(format: ImageFormat) -> Option<String> {
    use ImageFormat as F;
    match format {
        F::R11fG11fB10f => return Some("B10G11R11_UFLOAT_PACK32".into()),
        F::Rgb10A2 => return Some("A2B10G10R10_UNORM_PACK32".into()),
        F::Rgb10a2ui => return Some("A2B10G10R10_UINT_PACK32".into()),
        F::R64ui => return Some("R64_UINT".into()),
        F::R64i => return Some("R64_SINT".into()),
        _ => {}
    }
    let name = format!("{format:?}").to_uppercase();
    let end = name.find(|c: char| c.is_ascii_digit())?;
    let (channels, rest) = name.split_at(end);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let kind = match rest.get(digits.len()..)? {
        "" => "UNORM",
        "SNORM" => "SNORM",
        "F" => "SFLOAT",
        "UI" => "UINT",
        "I" => "SINT",
        _ => return None,
    };
    let channels: String = channels.chars().map(|c| format!("{c}{digits}")).collect();
    Some(format!("{channels}_{kind}"))
}

/// The usual range of floats in images.
pub(super) const UNIT: [f64; 2] = [0.0, 1.0];

/// Texels: floats in a range, but not below 0 if the format has none; integers of any bits.
fn contents(format: &str, count: usize, [low, high]: [f64; 2], random: &mut Random) -> Result<InputBytes> {
    let named = NamedFormat::new(format)?;
    let bytes = named.format.bytes();
    let low = if format.contains("UFLOAT") || format.starts_with('D') { low.max(0.0) } else { low };
    let plain = named.format.is_integer() || named.is_normalized() && !format.starts_with('D');
    let mut data = Vec::with_capacity(count * bytes);
    for _ in 0..count {
        if plain {
            data.extend((0..bytes).map(|_| random.bits() as u8));
        } else {
            let color = [(); 4].map(|()| (random.between(low, high) as f32).to_bits());
            data.extend(named.encode(color)?);
        }
    }
    Ok(InputBytes(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_vulkans_names() {
        for (format, name) in [
            (ImageFormat::Rgba8, "R8G8B8A8_UNORM"),
            (ImageFormat::Rg16f, "R16G16_SFLOAT"),
            (ImageFormat::R32ui, "R32_UINT"),
            (ImageFormat::Rgba16Snorm, "R16G16B16A16_SNORM"),
            (ImageFormat::R8i, "R8_SINT"),
            (ImageFormat::R11fG11fB10f, "B10G11R11_UFLOAT_PACK32"),
        ] {
            assert_eq!(named(format).as_deref(), Some(name));
            assert!(contents(name, 2, UNIT, &mut Random::new(1)).is_ok_and(|data| !data.0.is_empty()), "{name}");
        }
    }
}

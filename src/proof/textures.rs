//! Textures for a draw: smooth, so that the bounds of samples are narrow, with different levels.

use super::declared::{Declared, ImageType};
use super::images;
use super::random::Random;
use dovetail_base::error::{Error, Result};
use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::{Address, Bound, Compare, Image, InputBytes, Sampler, ViewShape};
use dovetail_ir::ResourceKind;
use rspirv::spirv::Dim;

/// Edge length in texels.
const EDGE: u32 = 32;
/// Levels.
const LEVELS: u32 = 4;

/// Largest difference of a texel from a row of the identity.
const ROWS: f64 = 0.03;

/// Properties of the contents of textures and images.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    /// Exclusive bound of integers in storage images.
    pub below: u64,
    /// Contrast of texels around grey, up to about 1.
    pub contrast: f64,
    /// Whether neighbouring texels are nearly the rows of identity matrices: shaders fetch matrices from textures.
    pub rows: bool,
}

/// The resource for a descriptor that is not a buffer.
///
/// # Errors
/// Unsupported: a kind or a format for which no contents can be generated.
pub(super) fn bound(
    declared: &Declared,
    kind: ResourceKind,
    types: &[u32],
    compared: bool,
    fill: Fill,
    random: &mut Random,
) -> Result<Bound> {
    let ty = types.iter().find_map(|ty| declared.image(*ty));
    let ty = || ty.ok_or_else(|| Error::bug("an image without a type"));
    let linear = |ty: ImageType| !declared.is_integer(ty.sampled);
    Ok(match kind {
        ResourceKind::CombinedImageSampler => {
            let ty = ty()?;
            Bound::CombinedImageSampler(
                image(declared, ty, true, compared, fill, random)?,
                sampler(linear(ty), compared, random),
            )
        }
        ResourceKind::SampledImage => Bound::SampledImage(image(declared, ty()?, true, compared, fill, random)?),
        ResourceKind::InputAttachment => Bound::InputAttachment(image(declared, ty()?, true, compared, fill, random)?),
        ResourceKind::StorageImage => Bound::StorageImage(image(declared, ty()?, false, false, fill, random)?),
        ResourceKind::Sampler => Bound::Sampler(sampler(true, compared, random)),
        ResourceKind::UniformTexelBuffer => {
            Bound::UniformTexelBuffer(images::texels(declared, ty()?, images::UNIT, random)?)
        }
        ResourceKind::StorageTexelBuffer => {
            Bound::StorageTexelBuffer(images::texels(declared, ty()?, images::UNIT, random)?)
        }
        other => return Err(Error::unsupported("contents", format!("{other:?}"))),
    })
}

fn sampler(linear: bool, compared: bool, random: &mut Random) -> Sampler {
    let mut address = || [Address::Repeat, Address::ClampToEdge, Address::MirroredRepeat][(random.bits() % 3) as usize];
    Sampler {
        mag_linear: linear,
        min_linear: linear,
        mip_linear: linear,
        address: [address(), address(), address()],
        compare: compared.then_some(Compare::LessOrEqual),
        max_lod: LEVELS as f32,
        ..Default::default()
    }
}

fn image(
    declared: &Declared,
    ty: ImageType,
    sampled: bool,
    compared: bool,
    fill: Fill,
    random: &mut Random,
) -> Result<Image> {
    let (shape, extent, faces) = match ty.dim {
        Dim::Dim1D => (ViewShape::D1, [EDGE, 1, 1], 1),
        Dim::Dim2D | Dim::DimRect | Dim::DimSubpassData => (ViewShape::D2, [EDGE, EDGE, 1], 1),
        Dim::Dim3D => (ViewShape::D3, [EDGE, EDGE, 8], 1),
        Dim::DimCube => (ViewShape::Cube, [EDGE, EDGE, 1], 6),
        other => return Err(Error::unsupported("contents", format!("an image of {other:?}"))),
    };
    let layers = if ty.arrayed { 2 * faces } else { faces };
    let samples = ty.samples();
    let levels = if sampled && samples == 1 && ty.dim != Dim::DimSubpassData { LEVELS } else { 1 };
    let float = sampled && !declared.is_integer(ty.sampled);
    let rows = fill.rows && float && !compared;
    let format = match (compared, float, random.bits() % 4) {
        _ if rows => "R32G32B32A32_SFLOAT".to_owned(),
        (true, ..) => "D32_SFLOAT".to_owned(),
        (false, true, 0) => "R8G8B8A8_UNORM".to_owned(),
        (false, true, _) => "R32G32B32A32_SFLOAT".to_owned(),
        _ => images::format(declared, ty)?,
    };
    let named = NamedFormat::new(&format)?;
    let mut waves = || [0, 1, 2].map(|_| random.between(0.3, 1.2)).map(|n| n * std::f64::consts::PI);
    let channels = [waves(), waves(), waves(), waves()];
    let mut data = Vec::new();
    for level in 0..levels {
        let [width, height, depth] = extent.map(|n| (n >> level).max(1));
        for (slice, y, x) in (0..layers * depth * samples)
            .flat_map(|z| (0..height).map(move |y| (z, y)))
            .flat_map(|(z, y)| (0..width).map(move |x| (z, y, x)))
        {
            let at = [(x, width), (y, height), (slice, 4)].map(|(n, of)| (f64::from(n) + 0.5) / f64::from(of));
            let color = std::array::from_fn(|n| match (float || compared, channels[n]) {
                (true, _) if rows => {
                    let one = f64::from(u8::from(x as usize % 4 == n));
                    ((one + random.between(-ROWS, ROWS)) as f32).to_bits()
                }
                (true, waves) => {
                    let phase: f64 = waves.iter().zip(at).map(|(wave, at)| wave * at).sum();
                    ((0.5 + fill.contrast * (0.4 * phase.sin() - 0.04 * f64::from(level))) as f32).to_bits()
                }
                (false, _) if named.format.is_integer() => (random.bits() % fill.below.max(1)) as u32,
                (false, _) => (random.between(0.0, 1.0) as f32).to_bits(),
            });
            data.extend(named.encode(color)?);
        }
    }
    Ok(Image {
        format,
        shape,
        extent,
        layers,
        arrayed: ty.arrayed,
        levels,
        samples,
        swizzle: Default::default(),
        data: InputBytes(data),
    })
}

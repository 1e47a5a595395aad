//! Images of the inputs: tightly packed texels to linear images and back, samplers to their descriptors.

use crate::emu::image::{Clamp, Compare, ImageDescriptor, Place, SamplerDescriptor, Shape, Texture};
use crate::emu::inputs::{self, Address};
use crate::emu::machine::Machine;
use crate::emu::named_format::NamedFormat;
use crate::error::{Error, Result};

/// Puts an image into memory.
///
/// # Errors
/// Malformed: sizes that do not go together. Unsupported: the format.
pub fn upload(machine: &mut Machine, image: &inputs::Image) -> Result<Texture> {
    let format = NamedFormat::new(&image.format)?;
    let [width, height, deep] = image.extent;
    if [width, height, deep, image.layers].iter().any(|n| !(1..=16384).contains(n)) || !(1..=15).contains(&image.levels)
    {
        return Err(Error::malformed(format!("an image of {width} × {height} × {deep}, {} layers", image.layers)));
    }
    let shape = match (image.shape, image.arrayed) {
        (inputs::Shape::D1, false) => Shape::D1,
        (inputs::Shape::D1, true) => Shape::D1Array,
        (inputs::Shape::D2, false) => Shape::D2,
        (inputs::Shape::D2, true) => Shape::D2Array,
        (inputs::Shape::D3, _) => Shape::D3,
        (inputs::Shape::Cube, _) => Shape::Cube,
    };
    let slices = match shape {
        Shape::D3 => deep,
        _ if shape.layered() => image.layers,
        _ => 1,
    };
    let descriptor = ImageDescriptor {
        base: 0,
        format: format.number,
        extent: [width, height],
        shape,
        depth: if shape == Shape::D3 || shape.layered() { slices - 1 } else { 0 },
        base_array: 0,
        slices_of_3d: false,
        base_level: 0,
        last_level: image.levels - 1,
        max_mip: image.levels - 1,
        min_lod: 0.0,
        selects: format.selects,
    };
    let mut texture = Texture::new(descriptor)?;
    let bytes = texture.slice_bytes() * u64::from(slices);
    let bytes = usize::try_from(bytes).map_err(|_| Error::malformed("an image without end"))?;
    texture.image.base = machine.alloc(bytes)?;
    let mut data = image.data.0.as_slice();
    for (address, bytes) in rows(&texture) {
        let (row, rest) =
            data.split_at_checked(bytes).ok_or_else(|| Error::malformed("an image without enough texels"))?;
        machine.write(address, row)?;
        data = rest;
    }
    if !data.is_empty() {
        return Err(Error::malformed(format!("an image with {} bytes too many", data.len())));
    }
    Ok(texture)
}

/// The texels of an image, tightly packed.
pub fn download(machine: &Machine, texture: &Texture) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (address, bytes) in rows(texture) {
        out.extend_from_slice(machine.read(address, bytes)?);
    }
    Ok(out)
}

/// Every row of texels, level by level and slice by slice: its address and bytes.
fn rows(texture: &Texture) -> Vec<(u64, usize)> {
    let mut out = Vec::new();
    for level in 0..texture.image.levels() {
        let [width, height, layers] = texture.extent(level);
        for n in 0..height * layers {
            let at = [0, n % height, n / height];
            let bytes = width as usize * texture.format.bytes();
            out.extend(texture.address(Place { level, at, sample: 0 }).map(|address| (address, bytes)));
        }
    }
    out
}

/// The descriptor of a sampler.
pub fn sampler(sampler: &inputs::Sampler) -> SamplerDescriptor {
    let clamp = |address| match address {
        Address::Repeat => Clamp::Wrap,
        Address::MirroredRepeat => Clamp::Mirror,
        Address::ClampToEdge => Clamp::LastTexel,
        Address::ClampToBorder => Clamp::Border,
    };
    SamplerDescriptor {
        clamp: sampler.address.map(clamp),
        compare: Compare(sampler.compare.map_or(0, |compare| compare as u32)),
        unnormalized: sampler.unnormalized,
        no_cube_wrap: false,
        lod: [sampler.min_lod, sampler.max_lod],
        bias: sampler.lod_bias,
        mag_linear: sampler.mag_linear,
        min_linear: sampler.min_linear,
        mip: if sampler.mip_linear { 2 } else { 1 },
        border: if sampler.border_white { 2 } else { 0 },
    }
}

//! Images and samplers in the machine's memory, with descriptors as a driver writes them.

use super::image::{
    Clamp, CompareFunction as CompareBits, DescriptorShape as HwShape, ImageDescriptor, SamplerDescriptor,
    TexelPosition, TextureView,
};
use super::inputs::{Address, Border, Compare, Image, Sampler, ViewShape};
use super::machine::Machine;
use super::named_format::NamedFormat;
use dovetail_base::error::{Error, Result};
use dovetail_state::Swizzle;

/// Location of the contents of a binding.
#[derive(Debug)]
pub(super) enum Home {
    Bytes(u64, usize),
    /// Rows: address and length in bytes, in the order of the input's data.
    Rows(Vec<(u64, usize)>),
    Nothing,
}

impl Home {
    /// Address of a buffer; 0 for other resources.
    pub(super) fn address(&self) -> u64 {
        match self {
            Self::Bytes(address, _) => *address,
            Self::Rows(_) | Self::Nothing => 0,
        }
    }
}

/// Writes an image to memory, except the levels that are absent.
pub(super) fn texels(machine: &mut Machine, image: &Image, absent: &[u32]) -> Result<(Home, Vec<u32>)> {
    let format = NamedFormat::new(&image.format)?;
    let [width, height, depth] = image.extent;
    let several = image.samples > 1;
    if several
        && (image.shape != ViewShape::D2 || image.levels != 1 || !image.samples.is_power_of_two() || image.samples > 8)
    {
        return Err(Error::malformed(format!("an image of {} samples and {} levels", image.samples, image.levels)));
    }
    let shape = match (image.shape, image.arrayed) {
        (ViewShape::D2, false) if several => HwShape::D2Msaa,
        (ViewShape::D2, true) if several => HwShape::D2MsaaArray,
        (ViewShape::D1, false) => HwShape::D1,
        (ViewShape::D1, true) => HwShape::D1Array,
        (ViewShape::D2, false) => HwShape::D2,
        (ViewShape::D2, true) => HwShape::D2Array,
        (ViewShape::D3, _) => HwShape::D3,
        (ViewShape::Cube, _) => HwShape::Cube,
    };
    let slices = if shape == HwShape::D3 { depth } else { image.layers };
    // A multisampled image has log2 of its sample count in the last-level field.
    let last_level = if several { image.samples.ilog2() } else { image.levels.saturating_sub(1) };
    let mut descriptor = ImageDescriptor {
        base: 0,
        format: format.number,
        extent: [width, height],
        shape,
        depth: if shape == HwShape::D3 || shape.layered() { slices.saturating_sub(1) } else { 0 },
        base_array: 0,
        slices_of_3d: false,
        base_level: 0,
        last_level,
        max_mip: last_level,
        min_lod: 0.0,
        selects: Swizzle::of_view(image.swizzle, format.selects, 0, 1),
    };
    let bytes =
        TextureView::new(descriptor)?.slice_bytes() * u64::from(slices.max(1)) * u64::from(image.samples.max(1));
    descriptor.base = machine.alloc(bytes as usize)?;
    let texture = TextureView::new(descriptor)?;
    let mut rows = Vec::new();
    let mut data = image.data.0.as_slice();
    for level in 0..image.levels {
        let [width, height, slices] = texture.extent(level);
        let [across, down] = format.format.elements([width, height]);
        let bytes = across as usize * format.format.bytes();
        let rows_of = |slice| (0..image.samples).flat_map(move |sample| (0..down).map(move |y| (slice, sample, y)));
        for (slice, sample, y) in (0..slices).flat_map(rows_of) {
            let first = y * format.format.block()[1];
            let row = texture.address(TexelPosition { level, at: [0, first, slice], sample });
            let (Some(row), Some((now, later))) = (row, data.split_at_checked(bytes)) else {
                return Err(Error::malformed("an image with too few texels"));
            };
            if absent.contains(&level) {
                machine.set_absent(row, bytes);
            } else {
                machine.write(row, now)?;
            }
            rows.push((row, bytes));
            data = later;
        }
    }
    if !data.is_empty() {
        return Err(Error::malformed("an image with too many texels"));
    }
    Ok((Home::Rows(rows), descriptor.dwords().to_vec()))
}

/// The descriptor of a sampler, whose border colour is in the machine's table if it is the application's own.
pub(super) fn sampler(machine: &mut Machine, s: &Sampler) -> Result<Vec<u32>> {
    let [first, second, third, fourth] = sampler_words(s);
    let palette = match s.border {
        Border::Custom(color) => machine.add_border(color.map(f32::to_bits))?,
        Border::CustomInteger(color) => machine.add_border(color)?,
        _ => 0,
    };
    Ok(vec![first, second, third, fourth | palette])
}

/// The descriptor of a sampler, without the number of its border colour.
pub(super) fn sampler_words(s: &Sampler) -> [u32; 4] {
    let compare = s.compare.map_or(0, |compare| match compare {
        Compare::Never => 0,
        Compare::Less => 1,
        Compare::Equal => 2,
        Compare::LessOrEqual => 3,
        Compare::Greater => 4,
        Compare::NotEqual => 5,
        Compare::GreaterOrEqual => 6,
        Compare::Always => 7,
    });
    let descriptor = SamplerDescriptor {
        clamp: s.address.map(|address| match address {
            Address::Repeat => Clamp::Wrap,
            Address::MirroredRepeat => Clamp::Mirror,
            Address::ClampToEdge => Clamp::LastTexel,
            Address::ClampToBorder => Clamp::Border,
            Address::MirrorClampToEdge => Clamp::MirrorOnceLastTexel,
        }),
        compare: CompareBits(compare),
        unnormalized: s.unnormalized,
        no_cube_wrap: s.non_seamless,
        lod: [s.min_lod, s.max_lod],
        bias: s.lod_bias,
        mag_linear: s.mag_linear,
        min_linear: s.min_linear,
        mip: if s.mip_linear { 2 } else { 1 },
        anisotropy: [2.0, 4.0, 8.0, 16.0].iter().filter(|least| s.anisotropy >= **least).count() as u32,
        border: match s.border {
            Border::TransparentBlack => 0,
            Border::OpaqueBlack => 1,
            Border::OpaqueWhite => 2,
            Border::Custom(_) | Border::CustomInteger(_) => 3,
        },
        palette: 0,
    };
    descriptor.dwords()
}

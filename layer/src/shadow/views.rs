//! Images and samplers as a bundle has them.

use super::commands::Commands;
use super::objects::{ImageView, Objects};
use super::plan::Source;
use super::reason::Reason;
use ash::vk;
use ash::vk::Handle;
use dovetail::capture::{Hash, Sampler};
use dovetail::emu::NamedFormat;
use dovetail::emu::inputs::{Address, Bytes, Compare, Image, Sampler as Sampling, Shape, Slot};
use dovetail::state::VkFormat;

/// The image of a descriptor without its texels, and a source with its bytes for each level.
///
/// # Errors
/// The reason why it cannot be followed.
pub fn image(objects: &Objects, info: vk::DescriptorImageInfo) -> Result<(Image, Vec<(Source, u64)>), Reason> {
    if info.image_view.is_null() {
        return Err(Reason::Null);
    }
    let view = objects.image_views.get(&info.image_view).ok_or(Reason::Object)?;
    let whole = objects.images.get(&view.image).ok_or(Reason::Object)?;
    whole.usable.clone()?;
    if whole.samples != vk::SampleCountFlags::TYPE_1 {
        return Err(Reason::Samples);
    }
    let name = VkFormat(view.format.as_raw() as u32).to_string();
    let own = VkFormat(whole.format.as_raw() as u32).to_string();
    let [format, own] = [&name, &own].map(|name| NamedFormat::new(name).map(|named| named.format.bytes() as u64));
    let texel = format.ok().filter(|bytes| own.is_ok_and(|own| own == *bytes)).ok_or(Reason::Format)?;
    let (shape, arrayed) = shape(view, whole.kind)?;
    let range = view.range;
    let count = |given: u32, all: u32, first: u32| {
        let rest = all.saturating_sub(first);
        if given == vk::REMAINING_MIP_LEVELS { rest } else { given.min(rest) }
    };
    let levels = count(range.level_count, whole.levels, range.base_mip_level);
    let layers = count(range.layer_count, whole.layers, range.base_array_layer);
    let extent = |level: u32| {
        let part = |whole: u32| whole.checked_shr(level).unwrap_or(0).max(1);
        vk::Extent3D {
            width: part(whole.extent.width),
            height: part(whole.extent.height),
            depth: part(whole.extent.depth),
        }
    };
    let level = |level: u32| {
        let extent = extent(level);
        let texels = [extent.width, extent.height, extent.depth, layers].into_iter().map(u64::from);
        let bytes = texels.fold(texel, u64::saturating_mul);
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: range.aspect_mask,
            mip_level: level,
            base_array_layer: range.base_array_layer,
            layer_count: layers,
        };
        (Source::Image { image: view.image, layout: info.image_layout, layers, extent }, bytes)
    };
    let first = extent(range.base_mip_level);
    let image = Image {
        format: name,
        shape,
        extent: [first.width, first.height, first.depth],
        layers,
        arrayed,
        levels,
        samples: 1,
        data: Bytes::default(),
    };
    Ok((image, (0..levels).map(|n| level(range.base_mip_level + n)).collect()))
}

fn shape(view: &ImageView, image: vk::ImageType) -> Result<(Shape, bool), Reason> {
    use vk::ImageType as I;
    use vk::ImageViewType as V;
    let one_aspect = view.range.aspect_mask.as_raw().is_power_of_two();
    if !view.plain || !one_aspect {
        return Err(Reason::View);
    }
    match (view.kind, image) {
        (V::TYPE_1D, I::TYPE_1D) => Ok((Shape::D1, false)),
        (V::TYPE_1D_ARRAY, I::TYPE_1D) => Ok((Shape::D1, true)),
        (V::TYPE_2D, I::TYPE_2D) => Ok((Shape::D2, false)),
        (V::TYPE_2D_ARRAY, I::TYPE_2D) => Ok((Shape::D2, true)),
        (V::TYPE_3D, I::TYPE_3D) => Ok((Shape::D3, false)),
        (V::CUBE, I::TYPE_2D) => Ok((Shape::Cube, false)),
        (V::CUBE_ARRAY, I::TYPE_2D) => Ok((Shape::Cube, true)),
        _ => Err(Reason::View),
    }
}

/// The sampler that the layout of a set has for a descriptor.
pub fn immutable(commands: &Commands, objects: &Objects, slot: Slot) -> Option<Hash> {
    let declared = commands.set(objects, slot.set)?.declared(slot.binding)?;
    declared.immutable_samplers.get(slot.element as usize).copied()
}

/// A sampler.
///
/// # Errors
/// It does what a bundle cannot say.
pub fn sampler(given: &Sampler) -> Result<Sampling, Reason> {
    const LINEAR: u32 = 1;
    const COMPARE: [Compare; 8] = [
        Compare::Never,
        Compare::Less,
        Compare::Equal,
        Compare::LessOrEqual,
        Compare::Greater,
        Compare::NotEqual,
        Compare::GreaterOrEqual,
        Compare::Always,
    ];
    let address = |number: u32| match number {
        0 => Ok(Address::Repeat),
        1 => Ok(Address::MirroredRepeat),
        2 => Ok(Address::ClampToEdge),
        3 => Ok(Address::ClampToBorder),
        _ => Err(Reason::Sampler),
    };
    let address = [address(given.address_mode_u)?, address(given.address_mode_v)?, address(given.address_mode_w)?];
    let compare = COMPARE.get(given.compare_op as usize).copied().filter(|_| given.compare_enable != 0);
    let anisotropic = given.anisotropy_enable != 0 && given.max_anisotropy > 1.0;
    let filters = given.min_filter.max(given.mag_filter).max(given.mipmap_mode);
    // Transparent black, and opaque white.
    let border = matches!(given.border_color, 0 | 1 | 4 | 5) || !address.contains(&Address::ClampToBorder);
    let extended = given.flags != 0 || !given.p_next.is_empty();
    if anisotropic || filters > LINEAR || !border || extended {
        return Err(Reason::Sampler);
    }
    Ok(Sampling {
        mag_linear: given.mag_filter == LINEAR,
        min_linear: given.min_filter == LINEAR,
        mip_linear: given.mipmap_mode == LINEAR,
        address,
        compare,
        min_lod: given.min_lod,
        max_lod: given.max_lod,
        lod_bias: given.mip_lod_bias,
        border_white: matches!(given.border_color, 4 | 5),
        unnormalized: given.unnormalized_coordinates != 0,
        // Samplers that convert are refused with their chains.
        conversion: None,
    })
}

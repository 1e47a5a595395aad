//! Converts images, attachments and samplers to a bundle's form.

use super::bound::BindPoint;
use super::objects::{Image as Whole, ImageView, Objects};
use super::reason::Reason;
use super::region::Source;
use ash::vk;
use ash::vk::Handle;
use dovetail_capture::{Hash, Next, Sampler, s_type};
use dovetail_emu::inputs::{Address, Border, Compare, Image, InputBytes, Sampler as Sampling, Slot, ViewShape};
use dovetail_emu::{DataFormat, NamedFormat};
use dovetail_state::{Swizzle, VkFormat};

/// The image of a descriptor without its texels, and for each level its source and size in bytes.
///
/// # Errors
/// Why it cannot be followed.
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
    let range = view.range;
    let [name, own] = [view.format, whole.format].map(|format| seen(format, range.aspect_mask));
    let [format, own] = [&name, &own].map(|name| NamedFormat::new(name).map(|named| named.format));
    let same = |a: &DataFormat, b: &DataFormat| (a.bytes(), a.block()) == (b.bytes(), b.block());
    let format = format.ok().filter(|format| own.is_ok_and(|own| same(format, &own))).ok_or(Reason::Format)?;
    let (shape, arrayed) = shape(view, whole.kind)?;
    let count = |given: u32, all: u32, first: u32| {
        let rest = all.saturating_sub(first);
        if given == vk::REMAINING_MIP_LEVELS { rest } else { given.min(rest) }
    };
    let levels = count(range.level_count, whole.levels, range.base_mip_level);
    let layers = count(range.layer_count, whole.layers, range.base_array_layer);
    let extent = |level: u32| level_extent(whole, level);
    let level = |level: u32| {
        let extent = extent(level);
        let [across, down] = format.elements([extent.width, extent.height]);
        let elements = [across, down, extent.depth, layers].into_iter().map(u64::from);
        let bytes = elements.fold(format.bytes() as u64, u64::saturating_mul);
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: range.aspect_mask,
            mip_level: level,
            base_array_layer: range.base_array_layer,
            layer_count: layers,
        };
        let (layout, whole) = (info.image_layout, aspects(whole.format, info.image_layout));
        (Source::Image { image: view.image, layout, layers, extent, whole }, bytes)
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
        swizzle: view.swizzle,
        data: InputBytes::default(),
    };
    Ok((image, (0..levels).map(|n| level(range.base_mip_level + n)).collect()))
}

fn level_extent(whole: &Whole, level: u32) -> vk::Extent3D {
    let part = |all: u32| all.checked_shr(level).unwrap_or(0).max(1);
    let vk::Extent3D { width, height, depth } = whole.extent;
    vk::Extent3D { width: part(width), height: part(height), depth: part(depth) }
}

/// The name of the format in which a shader reads an aspect of an image, and a copy has it.
fn seen(format: vk::Format, aspect: vk::ImageAspectFlags) -> String {
    use vk::Format as F;
    let seen = match (aspects(format, vk::ImageLayout::GENERAL), aspect) {
        (all, vk::ImageAspectFlags::STENCIL) if all.contains(aspect) => F::S8_UINT,
        (all, vk::ImageAspectFlags::DEPTH) if all.contains(aspect) => match format {
            F::D16_UNORM_S8_UINT => F::D16_UNORM,
            F::D24_UNORM_S8_UINT => F::X8_D24_UNORM_PACK32,
            F::D32_SFLOAT_S8_UINT => F::D32_SFLOAT,
            other => other,
        },
        _ => format,
    };
    VkFormat(seen.as_raw() as u32).to_string()
}

/// The aspects that a layout transition covers: all of a format, unless the layout is one of a single aspect.
fn aspects(format: vk::Format, layout: vk::ImageLayout) -> vk::ImageAspectFlags {
    use vk::Format as F;
    use vk::ImageLayout as L;
    match layout {
        L::DEPTH_ATTACHMENT_OPTIMAL | L::DEPTH_READ_ONLY_OPTIMAL => return vk::ImageAspectFlags::DEPTH,
        L::STENCIL_ATTACHMENT_OPTIMAL | L::STENCIL_READ_ONLY_OPTIMAL => return vk::ImageAspectFlags::STENCIL,
        _ => {}
    }
    match format {
        F::D16_UNORM | F::X8_D24_UNORM_PACK32 | F::D32_SFLOAT => vk::ImageAspectFlags::DEPTH,
        F::S8_UINT => vk::ImageAspectFlags::STENCIL,
        F::D16_UNORM_S8_UINT | F::D24_UNORM_S8_UINT | F::D32_SFLOAT_S8_UINT => {
            vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL
        }
        _ => vk::ImageAspectFlags::COLOR,
    }
}

/// One aspect of an attachment.
pub struct Attached {
    pub format: vk::Format,
    pub extent: [u32; 2],
    pub source: Source,
    pub bytes: u64,
}

/// The whole level that an attachment's view shows.
///
/// # Errors
/// Why it cannot be followed.
pub fn attachment(
    objects: &Objects,
    view: vk::ImageView,
    layout: vk::ImageLayout,
    aspect: vk::ImageAspectFlags,
) -> Result<Attached, Reason> {
    let view = objects.image_views.get(&view).ok_or(Reason::Object)?;
    let whole = objects.images.get(&view.image).ok_or(Reason::Object)?;
    whole.usable.clone()?;
    let range = view.range;
    match () {
        () if whole.samples != vk::SampleCountFlags::TYPE_1 => return Err(Reason::Samples),
        () if !view.plain || !Swizzle::are_identity(&view.swizzle) || whole.kind != vk::ImageType::TYPE_2D => {
            return Err(Reason::View);
        }
        () if range.layer_count != 1 && (range.base_array_layer, whole.layers) != (0, 1) => {
            return Err(Reason::Layered);
        }
        () => {}
    }
    let extent = level_extent(whole, range.base_mip_level);
    let texel = match aspect {
        vk::ImageAspectFlags::STENCIL => 1,
        vk::ImageAspectFlags::DEPTH => depth_form(view.format).ok_or(Reason::Format)?.0,
        _ => {
            let named = NamedFormat::new(&VkFormat(view.format.as_raw() as u32).to_string());
            named.map_err(|_| Reason::Format)?.format.bytes() as u64
        }
    };
    let layers = vk::ImageSubresourceLayers {
        aspect_mask: aspect,
        mip_level: range.base_mip_level,
        base_array_layer: range.base_array_layer,
        layer_count: 1,
    };
    let source = Source::Image { image: view.image, layout, layers, extent, whole: aspects(whole.format, layout) };
    let bytes = texel.saturating_mul(extent.width.into()).saturating_mul(extent.height.into());
    Ok(Attached { format: view.format, extent: [extent.width, extent.height], source, bytes })
}

/// Bytes of a copied depth value, and the bits of its integer if it is one.
pub fn depth_form(format: vk::Format) -> Option<(u64, Option<u8>)> {
    use vk::Format as F;
    match format {
        F::D16_UNORM | F::D16_UNORM_S8_UINT => Some((2, Some(16))),
        F::X8_D24_UNORM_PACK32 | F::D24_UNORM_S8_UINT => Some((4, Some(24))),
        F::D32_SFLOAT | F::D32_SFLOAT_S8_UINT => Some((4, None)),
        _ => None,
    }
}

fn shape(view: &ImageView, image: vk::ImageType) -> Result<(ViewShape, bool), Reason> {
    use vk::ImageType as I;
    use vk::ImageViewType as V;
    let aspects = view.range.aspect_mask;
    // A comparison gives red, and compares what red was before the swizzle.
    let moved = aspects == vk::ImageAspectFlags::DEPTH && !matches!(view.swizzle[0], Swizzle::Identity | Swizzle::R);
    if !view.plain || !aspects.as_raw().is_power_of_two() || moved {
        return Err(Reason::View);
    }
    match (view.kind, image) {
        (V::TYPE_1D, I::TYPE_1D) => Ok((ViewShape::D1, false)),
        (V::TYPE_1D_ARRAY, I::TYPE_1D) => Ok((ViewShape::D1, true)),
        (V::TYPE_2D, I::TYPE_2D) => Ok((ViewShape::D2, false)),
        (V::TYPE_2D_ARRAY, I::TYPE_2D) => Ok((ViewShape::D2, true)),
        (V::TYPE_3D, I::TYPE_3D) => Ok((ViewShape::D3, false)),
        (V::CUBE, I::TYPE_2D) => Ok((ViewShape::Cube, false)),
        (V::CUBE_ARRAY, I::TYPE_2D) => Ok((ViewShape::Cube, true)),
        _ => Err(Reason::View),
    }
}

/// The immutable sampler that a set's layout has for a descriptor.
pub fn immutable(bound: &BindPoint, objects: &Objects, slot: Slot) -> Option<Hash> {
    let declared = bound.set(objects, slot.set)?.declared(slot.binding)?;
    declared.immutable_samplers.get(slot.element as usize).copied()
}

/// Indexed by `VkCompareOp`.
pub const COMPARE: [Compare; 8] = [
    Compare::Never,
    Compare::Less,
    Compare::Equal,
    Compare::LessOrEqual,
    Compare::Greater,
    Compare::NotEqual,
    Compare::GreaterOrEqual,
    Compare::Always,
];

/// Converts a sampler.
///
/// # Errors
/// A bundle cannot express it.
pub fn sampler(given: &Sampler) -> Result<Sampling, Reason> {
    const LINEAR: u32 = 1;
    const FLOAT_CUSTOM: u32 = 1_000_287_003;
    const INT_CUSTOM: u32 = 1_000_287_004;
    let address = |number: u32| match number {
        0 => Ok(Address::Repeat),
        1 => Ok(Address::MirroredRepeat),
        2 => Ok(Address::ClampToEdge),
        3 => Ok(Address::ClampToBorder),
        4 => Ok(Address::MirrorClampToEdge),
        _ => Err(Reason::Sampler),
    };
    let address = [address(given.address_mode_u)?, address(given.address_mode_v)?, address(given.address_mode_w)?];
    let compare = COMPARE.get(given.compare_op as usize).copied().filter(|_| given.compare_enable != 0);
    let custom = Next::find(&given.p_next, s_type::BORDER_COLOR).and_then(|next| next.border_color);
    let filters = given.min_filter.max(given.mag_filter).max(given.mipmap_mode);
    let border = match given.border_color {
        0 | 1 => Some(Border::TransparentBlack),
        2 | 3 => Some(Border::OpaqueBlack),
        4 | 5 => Some(Border::OpaqueWhite),
        // The application's own, which nothing reads.
        _ if !address.contains(&Address::ClampToBorder) => Some(Border::default()),
        FLOAT_CUSTOM => custom.map(|words| Border::Custom(words.map(f32::from_bits))),
        INT_CUSTOM => custom.map(Border::CustomInteger),
        _ => None,
    };
    let border = border.ok_or(Reason::Sampler)?;
    // The mean of texels is what filters compute without the structure.
    let read = |next: &Next| match next.s_type {
        s_type::SAMPLER_REDUCTION => next.reduction_mode == Some(0),
        other => other == s_type::BORDER_COLOR,
    };
    let flags = vk::SamplerCreateFlags::from_raw(given.flags);
    let non_seamless = vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT;
    if filters > LINEAR || !(flags & !non_seamless).is_empty() || !given.p_next.iter().all(read) {
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
        border,
        unnormalized: given.unnormalized_coordinates != 0,
        non_seamless: flags.contains(non_seamless),
        anisotropy: if given.anisotropy_enable != 0 { given.max_anisotropy } else { 0.0 },
        // Samplers with a conversion are refused because of their chains.
        conversion: None,
    })
}

//! Images and samplers of a run on lavapipe: creation, filling, and reading back.

use super::Run;
use ash::vk;
use dovetail::emu::NamedFormat;
use dovetail::emu::inputs::{Address, Border, Compare, Image, Sampler, ViewShape};

/// An image of a run, with the buffer that its texels are copied from and to.
#[derive(Clone)]
pub(super) struct Picture {
    pub(super) image: vk::Image,
    pub(super) view: vk::ImageView,
    pub(super) staging: usize,
    pub(super) regions: Vec<vk::BufferImageCopy>,
    pub(super) range: vk::ImageSubresourceRange,
}

fn all() -> impl Iterator<Item = vk::Format> {
    let four_bits = [vk::Format::A4R4G4B4_UNORM_PACK16, vk::Format::A4B4G4R4_UNORM_PACK16];
    (1..=184).chain(1_000_156_000..=1_000_156_033).map(vk::Format::from_raw).chain(four_bits)
}

/// Names of formats.
pub(super) fn formats() -> impl Iterator<Item = String> {
    all().map(|f| format!("{f:?}"))
}

/// The format with this name.
pub(super) fn format(name: &str) -> vk::Format {
    all().find(|f| format!("{f:?}") == name).unwrap_or_else(|| panic!("no format {name}"))
}

/// Bytes per texel, from the bits per channel in the name.
pub(super) fn texel_bytes(name: &str) -> u64 {
    let channels = name.split('_').next().unwrap_or_default();
    let bits = channels.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
    bits.sum::<u64>() / 8
}

impl Run<'_> {
    pub(super) fn sampler(&mut self, s: &Sampler) -> vk::Sampler {
        let filter = |linear| if linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
        let [u, v, w] = s.address.map(|a| match a {
            Address::Repeat => vk::SamplerAddressMode::REPEAT,
            Address::MirroredRepeat => vk::SamplerAddressMode::MIRRORED_REPEAT,
            Address::ClampToEdge => vk::SamplerAddressMode::CLAMP_TO_EDGE,
            Address::ClampToBorder => vk::SamplerAddressMode::CLAMP_TO_BORDER,
            Address::MirrorClampToEdge => vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE,
        });
        let border = match s.border {
            Border::TransparentBlack => vk::BorderColor::FLOAT_TRANSPARENT_BLACK,
            Border::OpaqueBlack => vk::BorderColor::FLOAT_OPAQUE_BLACK,
            Border::OpaqueWhite => vk::BorderColor::FLOAT_OPAQUE_WHITE,
            Border::Custom(_) => vk::BorderColor::FLOAT_CUSTOM_EXT,
            Border::CustomInteger(_) => vk::BorderColor::INT_CUSTOM_EXT,
        };
        let mip = if s.mip_linear { vk::SamplerMipmapMode::LINEAR } else { vk::SamplerMipmapMode::NEAREST };
        let flags = match s.non_seamless {
            true => vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT,
            false => vk::SamplerCreateFlags::empty(),
        };
        let mut custom = vk::SamplerCustomBorderColorCreateInfoEXT::default().custom_border_color(match s.border {
            Border::Custom(float32) => vk::ClearColorValue { float32 },
            Border::CustomInteger(uint32) => vk::ClearColorValue { uint32 },
            _ => vk::ClearColorValue::default(),
        });
        let mut info = vk::SamplerCreateInfo::default()
            .flags(flags)
            .mag_filter(filter(s.mag_linear))
            .min_filter(filter(s.min_linear))
            .mipmap_mode(mip)
            .address_mode_u(u)
            .address_mode_v(v)
            .address_mode_w(w)
            .min_lod(s.min_lod)
            .max_lod(s.max_lod)
            .mip_lod_bias(s.lod_bias)
            .border_color(border)
            .unnormalized_coordinates(s.unnormalized)
            .compare_enable(s.compare.is_some())
            .compare_op(s.compare.map_or(vk::CompareOp::NEVER, compare))
            .anisotropy_enable(s.anisotropy > 1.0)
            .max_anisotropy(s.anisotropy.max(1.0));
        if matches!(s.border, Border::Custom(_) | Border::CustomInteger(_)) {
            info = info.push_next(&mut custom);
        }
        // SAFETY: the device is alive, the info is a local.
        let sampler = unsafe { self.vulkan.device.create_sampler(&info, None) }.expect("vkCreateSampler");
        self.owned.samplers.push(sampler);
        sampler
    }

    /// Creates an image and records the upload of its contents; it ends in the general layout.
    pub(super) fn picture(&mut self, image: &Image) -> Picture {
        assert!(image.samples == 1, "an image of several samples: nothing can be copied into one");
        let named = NamedFormat::new(&image.format).expect("a format").format;
        let mut regions = Vec::new();
        let mut offset = 0;
        for level in 0..image.levels {
            let [width, height, depth] = image.extent.map(|x| (x >> level).max(1));
            let layers = vk::ImageSubresourceLayers::default()
                .aspect_mask(aspect(&image.format))
                .mip_level(level)
                .layer_count(image.layers);
            let extent = vk::Extent3D { width, height, depth };
            let region = vk::BufferImageCopy::default().buffer_offset(offset).image_subresource(layers);
            regions.push(region.image_extent(extent));
            let [across, down] = named.elements([width, height]);
            let elements = [across, down, depth, image.layers].map(u64::from);
            offset += named.bytes() as u64 * elements.iter().product::<u64>();
        }
        assert_eq!(offset, image.data.0.len() as u64, "an image's data are all of its texels");
        let staging = self.buffer(&image.data.0);
        let picture = self.empty_picture(image, regions, staging);
        self.barrier(&picture, vk::ImageLayout::UNDEFINED);
        // SAFETY: the regions lie inside of image and buffer, both alive.
        unsafe {
            let from = self.owned.buffers[staging].buffer;
            let general = vk::ImageLayout::GENERAL;
            let device = &self.vulkan.device;
            device.cmd_copy_buffer_to_image(self.commands, from, picture.image, general, &picture.regions);
        }
        self.barrier(&picture, vk::ImageLayout::GENERAL);
        picture
    }

    pub(super) fn empty_picture(
        &mut self,
        image: &Image,
        regions: Vec<vk::BufferImageCopy>,
        staging: usize,
    ) -> Picture {
        self.attachment(image, regions, staging, 1)
    }

    /// Creates an image with several samples per pixel, only for attachments.
    pub(super) fn attachment(
        &mut self,
        image: &Image,
        regions: Vec<vk::BufferImageCopy>,
        staging: usize,
        samples: u32,
    ) -> Picture {
        use vk::ImageUsageFlags as U;
        let (ty, view) = match (image.shape, image.arrayed) {
            (ViewShape::D1, false) => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D),
            (ViewShape::D1, true) => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D_ARRAY),
            (ViewShape::D2, false) => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D),
            (ViewShape::D2, true) => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D_ARRAY),
            (ViewShape::D3, _) => (vk::ImageType::TYPE_3D, vk::ImageViewType::TYPE_3D),
            (ViewShape::Cube, false) => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE),
            (ViewShape::Cube, true) => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE_ARRAY),
        };
        let depth = is_depth_or_stencil(&image.format);
        let storage = ["SRGB", "BLOCK", "USCALED", "SSCALED"].iter().all(|s| !image.format.contains(s)) && !depth;
        let attach = if depth { U::DEPTH_STENCIL_ATTACHMENT } else { U::COLOR_ATTACHMENT };
        let mut usage = U::TRANSFER_SRC | U::TRANSFER_DST | U::SAMPLED;
        usage |= if storage { U::STORAGE } else { U::empty() };
        let attached = image.shape == ViewShape::D2 && !image.arrayed && !image.format.contains("BLOCK");
        usage |= if attached { attach } else { U::empty() };
        if samples > 1 {
            usage = attach;
        }
        let cube = image.shape == ViewShape::Cube;
        let flags = if cube { vk::ImageCreateFlags::CUBE_COMPATIBLE } else { Default::default() };
        let [width, height, depth] = image.extent;
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(format(&image.format))
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(image.levels)
            .array_layers(image.layers)
            .samples(vk::SampleCountFlags::from_raw(samples))
            .usage(usage);
        let [r, g, b, a] = image.swizzle.map(|part| vk::ComponentSwizzle::from_raw(part as i32));
        let range = vk::ImageSubresourceRange::default()
            .aspect_mask(aspect(&image.format))
            .level_count(image.levels)
            .layer_count(image.layers);
        let device = &self.vulkan.device;
        // SAFETY: the image is bound to memory of its own size before its view is made.
        unsafe {
            let made = device.create_image(&info, None).expect("vkCreateImage");
            let memory = self.memory(device.get_image_memory_requirements(made).size);
            device.bind_image_memory(made, memory, 0).expect("vkBindImageMemory");
            let info = vk::ImageViewCreateInfo::default()
                .image(made)
                .view_type(view)
                .format(format(&image.format))
                .components(vk::ComponentMapping { r, g, b, a })
                .subresource_range(range);
            let view = device.create_image_view(&info, None).expect("vkCreateImageView");
            self.owned.images.push(made);
            self.owned.views.push(view);
            Picture { image: made, view, staging, regions, range }
        }
    }

    /// Full memory barrier; leaves the image in the general layout.
    pub(super) fn barrier(&self, picture: &Picture, from: vk::ImageLayout) {
        let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = [vk::ImageMemoryBarrier::default()
            .image(picture.image)
            .subresource_range(picture.range)
            .old_layout(from)
            .new_layout(vk::ImageLayout::GENERAL)
            .src_access_mask(all)
            .dst_access_mask(all)];
        let stages = vk::PipelineStageFlags::ALL_COMMANDS;
        // SAFETY: the image is alive and the command buffer is being recorded.
        unsafe {
            let device = &self.vulkan.device;
            device.cmd_pipeline_barrier(self.commands, stages, stages, Default::default(), &[], &[], &barrier);
        }
    }
}

fn is_depth_or_stencil(format: &str) -> bool {
    ["D", "X8_D", "S8"].iter().any(|first| format.starts_with(first))
}

fn aspect(format: &str) -> vk::ImageAspectFlags {
    let stencil = if format.contains("S8") { vk::ImageAspectFlags::STENCIL } else { Default::default() };
    match is_depth_or_stencil(format) {
        true if format.starts_with('S') => stencil,
        true => vk::ImageAspectFlags::DEPTH | stencil,
        false => vk::ImageAspectFlags::COLOR,
    }
}

pub(super) fn compare(c: Compare) -> vk::CompareOp {
    match c {
        Compare::Never => vk::CompareOp::NEVER,
        Compare::Less => vk::CompareOp::LESS,
        Compare::Equal => vk::CompareOp::EQUAL,
        Compare::LessOrEqual => vk::CompareOp::LESS_OR_EQUAL,
        Compare::Greater => vk::CompareOp::GREATER,
        Compare::NotEqual => vk::CompareOp::NOT_EQUAL,
        Compare::GreaterOrEqual => vk::CompareOp::GREATER_OR_EQUAL,
        Compare::Always => vk::CompareOp::ALWAYS,
    }
}

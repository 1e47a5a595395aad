//! Conversions from Y'CBCR on lavapipe: samplers that ask for one, and images of several planes.

use super::picture::{Picture, format};
use super::{Lavapipe, Pointee, Run};
use ash::vk;
use dovetail::emu::inputs::{Binding, Bound, Image, Sampler};
use dovetail::state::{ChromaFilter, Planes, VkFormat, YcbcrConversion};
use std::collections::BTreeMap;

impl Lavapipe {
    /// What can be done with a format.
    pub fn features(&self, name: &str) -> vk::FormatFeatureFlags {
        // SAFETY: the instance and its device are alive.
        let has = unsafe { self.instance.get_physical_device_format_properties(self.physical, format(name)) };
        has.optimal_tiling_features
    }
}

/// Names of the planes of memory.
const ASPECTS: [vk::ImageAspectFlags; 3] =
    [vk::ImageAspectFlags::PLANE_0, vk::ImageAspectFlags::PLANE_1, vk::ImageAspectFlags::PLANE_2];

impl Run<'_> {
    /// The samplers of bindings in which one converts, in the order of elements, which are all bound.
    pub(super) fn immutable(&self, pointees: &[Pointee]) -> BTreeMap<(u32, u32), Vec<vk::Sampler>> {
        let converts =
            |b: &&Binding| matches!(&b.bound, Bound::CombinedImageSampler(_, sampler) if sampler.conversion.is_some());
        let mut found: BTreeMap<(u32, u32), Vec<vk::Sampler>> =
            self.inputs.bindings.iter().filter(converts).map(|b| ((b.set, b.binding), Vec::new())).collect();
        let mut all: Vec<_> = self.inputs.bindings.iter().zip(pointees).collect();
        all.sort_by_key(|(b, _)| b.element);
        for (b, to) in all {
            found.entry((b.set, b.binding)).and_modify(|samplers| samplers.push(to.image.sampler));
        }
        found
    }

    /// An image and its sampler, which may convert.
    pub(super) fn combined(&mut self, image: &Image, sampler: &Sampler) -> (Picture, vk::Sampler) {
        let conversion = sampler.conversion.as_ref().map(|c| self.conversion(c));
        let picture = match conversion {
            Some(conversion) => self.converted_picture(image, conversion),
            None => self.picture(image),
        };
        (picture, self.sampler_of(sampler, conversion))
    }

    /// The conversion's own object.
    fn conversion(&mut self, c: &YcbcrConversion) -> vk::SamplerYcbcrConversion {
        let [r, g, b, a] = c.components.map(|s| vk::ComponentSwizzle::from_raw(s as i32));
        let chroma = if c.chroma_filter == ChromaFilter::Linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
        let info = vk::SamplerYcbcrConversionCreateInfo::default()
            .format(format(c.format.name().expect("a name")))
            .ycbcr_model(vk::SamplerYcbcrModelConversion::from_raw(c.model as i32))
            .ycbcr_range(vk::SamplerYcbcrRange::from_raw(c.range as i32))
            .components(vk::ComponentMapping { r, g, b, a })
            .x_chroma_offset(vk::ChromaLocation::from_raw(c.x_chroma_offset as i32))
            .y_chroma_offset(vk::ChromaLocation::from_raw(c.y_chroma_offset as i32))
            .chroma_filter(chroma)
            .force_explicit_reconstruction(c.explicit_reconstruction);
        // SAFETY: the device is alive, the info is a local.
        let made = unsafe { self.vulkan.device.create_sampler_ycbcr_conversion(&info, None) };
        let made = made.expect("vkCreateSamplerYcbcrConversion");
        self.owned.conversions.push(made);
        made
    }

    /// An image that is only sampled, through a conversion, with its contents on the way.
    fn converted_picture(&mut self, image: &Image, conversion: vk::SamplerYcbcrConversion) -> Picture {
        let planes = Planes::of(VkFormat::named(&image.format).expect("a format")).expect("planes");
        let [width, height, _] = image.extent;
        let (mut regions, mut offset) = (Vec::new(), 0);
        let count = planes.views.iter().map(|view| view.plane).max().map_or(1, |last| u32::from(last) + 1);
        for plane in 0..count {
            let view = planes.views.iter().find(|view| u32::from(view.plane) == plane).expect("a view");
            let aspect = if count > 1 { ASPECTS[plane as usize] } else { vk::ImageAspectFlags::COLOR };
            let layers = vk::ImageSubresourceLayers::default().aspect_mask(aspect).layer_count(1);
            let [width, height] = [width >> u32::from(view.half[0]), height >> u32::from(view.half[1])];
            let extent = vk::Extent3D { width, height, depth: 1 };
            let region = vk::BufferImageCopy::default().buffer_offset(offset).image_subresource(layers);
            regions.push(region.image_extent(extent));
            let channels = if view.channels == 0 { 4 } else { u64::from(view.channels) };
            offset += u64::from(width * height) * channels * u64::from(planes.bits + planes.padding) / 8;
        }
        assert_eq!(offset, image.data.0.len() as u64, "an image's data are all of its texels");
        let usage =
            vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::SAMPLED;
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format(&image.format))
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(usage);
        let range =
            vk::ImageSubresourceRange::default().aspect_mask(vk::ImageAspectFlags::COLOR).level_count(1).layer_count(1);
        let staging = self.buffer(&image.data.0);
        let mut through = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let device = &self.vulkan.device;
        // SAFETY: the image is bound to memory of its own size before its view is made; the regions lie inside of image
        // and buffer, both alive.
        unsafe {
            let made = device.create_image(&info, None).expect("vkCreateImage");
            let memory = self.memory(device.get_image_memory_requirements(made).size);
            device.bind_image_memory(made, memory, 0).expect("vkBindImageMemory");
            let info = vk::ImageViewCreateInfo::default()
                .image(made)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(format(&image.format))
                .subresource_range(range)
                .push_next(&mut through);
            let view = device.create_image_view(&info, None).expect("vkCreateImageView");
            self.owned.images.push(made);
            self.owned.views.push(view);
            let picture = Picture { image: made, view, staging, regions, range };
            self.barrier(&picture, vk::ImageLayout::UNDEFINED);
            let (from, general) = (self.owned.buffers[staging].buffer, vk::ImageLayout::GENERAL);
            device.cmd_copy_buffer_to_image(self.commands, from, picture.image, general, &picture.regions);
            self.barrier(&picture, general);
            picture
        }
    }
}

//! The application's buffers, images, views and descriptor sets, by handle.

use super::passes::Variants;
use super::reason::Reason;
use ash::vk;
use dovetail_capture::{Binding, SetLayout};
use dovetail_state::Swizzle;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The objects of a device, by handle.
#[derive(Default)]
pub struct Objects {
    pub buffers: BTreeMap<vk::Buffer, Buffer>,
    pub buffer_views: BTreeMap<vk::BufferView, BufferView>,
    pub images: BTreeMap<vk::Image, Image>,
    /// The images of each swapchain, with their common description.
    pub swapchains: BTreeMap<vk::SwapchainKHR, (Image, Vec<vk::Image>)>,
    pub image_views: BTreeMap<vk::ImageView, ImageView>,
    pub sets: BTreeMap<vk::DescriptorSet, Set>,
    /// Render passes and framebuffers, or why draws in them cannot be followed.
    pub passes: BTreeMap<vk::RenderPass, Result<Variants, Reason>>,
    pub framebuffers: BTreeMap<vk::Framebuffer, Result<Vec<vk::ImageView>, Reason>>,
    pub templates: BTreeMap<vk::DescriptorUpdateTemplate, Template>,
}

/// A buffer.
pub struct Buffer {
    pub size: u64,
    /// Whether it can be copied, or why not.
    pub usable: Result<(), Reason>,
    /// Memory and offset, once it is bound.
    pub memory: Option<(vk::DeviceMemory, u64)>,
}

/// A texel buffer's view.
#[derive(Clone, Copy)]
pub struct BufferView {
    pub buffer: vk::Buffer,
    pub format: vk::Format,
    pub offset: u64,
    pub range: u64,
}

/// An image.
#[derive(Clone)]
pub struct Image {
    pub kind: vk::ImageType,
    pub format: vk::Format,
    pub extent: vk::Extent3D,
    pub levels: u32,
    pub layers: u32,
    pub samples: vk::SampleCountFlags,
    pub usable: Result<(), Reason>,
}

/// A view of an image.
#[derive(Clone, Copy)]
pub struct ImageView {
    pub image: vk::Image,
    pub kind: vk::ImageViewType,
    pub format: vk::Format,
    pub range: vk::ImageSubresourceRange,
    pub swizzle: [Swizzle; 4],
    /// No structure extends it.
    pub plain: bool,
}

/// A descriptor set, or the pushed descriptors that replace one.
#[derive(Clone)]
pub struct Set {
    pub layout: Arc<SetLayout>,
    pub pool: vk::DescriptorPool,
    descriptors: BTreeMap<(u32, u32), Descriptor>,
}

/// A descriptor that was written.
#[derive(Clone, Copy)]
pub struct Descriptor {
    pub kind: vk::DescriptorType,
    pub resource: Resource,
}

/// The resource of a descriptor.
#[derive(Clone, Copy)]
pub enum Resource {
    Buffer(vk::DescriptorBufferInfo),
    Texels(vk::BufferView),
    Image(vk::DescriptorImageInfo),
    /// The resource of a type that is not followed.
    Other,
}

/// An update template; the bind point is that of a template for push descriptors.
#[derive(Clone)]
pub struct Template {
    pub point: vk::PipelineBindPoint,
    pub entries: Arc<[TemplateEntry]>,
}

/// An entry of an update template: a number of descriptors at an offset of the application's data.
#[derive(Clone, Copy)]
pub struct TemplateEntry {
    pub binding: u32,
    pub element: u32,
    pub count: u32,
    pub kind: vk::DescriptorType,
    pub offset: usize,
    pub stride: usize,
}

impl Set {
    /// A set without written descriptors.
    pub fn new(layout: Arc<SetLayout>, pool: vk::DescriptorPool) -> Self {
        Self { layout, pool, descriptors: BTreeMap::new() }
    }

    /// A descriptor, if it was written.
    pub fn get(&self, binding: u32, element: u32) -> Option<Descriptor> {
        self.descriptors.get(&(binding, element)).copied()
    }

    /// Writes consecutive descriptors; after the last one of a binding comes the next binding.
    pub fn write(&mut self, mut binding: u32, mut element: u32, written: impl IntoIterator<Item = Descriptor>) {
        for descriptor in written {
            (binding, element) = self.put(binding, element, Some(descriptor));
        }
    }

    /// Writes or removes one descriptor; returns the position after it.
    pub fn put(&mut self, binding: u32, element: u32, descriptor: Option<Descriptor>) -> (u32, u32) {
        let place = self.place(binding, element);
        match descriptor {
            Some(descriptor) => drop(self.descriptors.insert(place, descriptor)),
            None => drop(self.descriptors.remove(&place)),
        }
        (place.0, place.1.saturating_add(1))
    }

    /// Descriptors of this set, for [`Self::write`] to another.
    pub fn read(&self, mut binding: u32, mut element: u32, count: u32) -> Vec<Option<Descriptor>> {
        let one = |_| {
            (binding, element) = self.place(binding, element);
            let found = self.get(binding, element);
            element = element.saturating_add(1);
            found
        };
        (0..count).map(one).collect()
    }

    /// A binding of its layout.
    pub fn declared(&self, binding: u32) -> Option<&Binding> {
        self.layout.bindings.iter().find(|one| one.binding == binding)
    }

    fn place(&self, binding: u32, element: u32) -> (u32, u32) {
        if element < self.declared(binding).map_or(0, |one| one.descriptor_count) {
            return (binding, element);
        }
        let later = self.layout.bindings.iter().filter(|one| one.binding > binding && one.descriptor_count > 0);
        later.map(|one| one.binding).min().map_or((binding, element), |next| (next, 0))
    }

    /// Bindings with dynamic offsets and their descriptor counts, in the order of the offsets.
    pub fn dynamic(&self) -> Vec<(u32, u32)> {
        let dynamic = |kind: u32| {
            let kind = vk::DescriptorType::from_raw(kind as i32);
            matches!(kind, vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC)
        };
        let found = self.layout.bindings.iter().filter(|one| dynamic(one.descriptor_type));
        let mut found: Vec<_> = found.map(|one| (one.binding, one.descriptor_count)).collect();
        found.sort_unstable();
        found
    }
}

//! Reads Vulkan's structures for writing descriptors into [`Descriptor`]s.
//!
//! A list is followed only if Vulkan says that it is valid for the descriptor's type.

use super::objects::{Descriptor, Resource, Set, TemplateEntry};
use crate::read::list;
use ash::vk;
use std::ffi::c_void;

/// Which structure describes descriptors of a type.
enum Form {
    Buffer,
    Texels,
    Image,
    /// Bytes instead of descriptors.
    Inline,
    Other,
}

fn form(kind: vk::DescriptorType) -> Form {
    use vk::DescriptorType as T;
    match kind {
        T::UNIFORM_BUFFER | T::UNIFORM_BUFFER_DYNAMIC | T::STORAGE_BUFFER | T::STORAGE_BUFFER_DYNAMIC => Form::Buffer,
        T::UNIFORM_TEXEL_BUFFER | T::STORAGE_TEXEL_BUFFER => Form::Texels,
        T::SAMPLER | T::COMBINED_IMAGE_SAMPLER | T::SAMPLED_IMAGE | T::STORAGE_IMAGE | T::INPUT_ATTACHMENT => {
            Form::Image
        }
        T::INLINE_UNIFORM_BLOCK => Form::Inline,
        _ => Form::Other,
    }
}

/// Writes descriptors to a set.
///
/// # Safety
/// The structure is valid.
pub unsafe fn write(set: &mut Set, given: &vk::WriteDescriptorSet<'_>) {
    let (kind, count) = (given.descriptor_type, given.descriptor_count);
    let described = |resource| Descriptor { kind, resource };
    // SAFETY: a valid structure has the list for its type.
    let written: Vec<Descriptor> = unsafe {
        match form(kind) {
            Form::Buffer => {
                list(given.p_buffer_info, count).iter().map(|one| described(Resource::Buffer(*one))).collect()
            }
            Form::Texels => {
                list(given.p_texel_buffer_view, count).iter().map(|one| described(Resource::Texels(*one))).collect()
            }
            Form::Image => list(given.p_image_info, count).iter().map(|one| described(Resource::Image(*one))).collect(),
            Form::Inline => vec![described(Resource::Other)],
            Form::Other => (0..count).map(|_| described(Resource::Other)).collect(),
        }
    };
    let element = if matches!(form(kind), Form::Inline) { 0 } else { given.dst_array_element };
    set.write(given.dst_binding, element, written);
}

/// The entries of an update template.
///
/// # Safety
/// The info is valid.
pub unsafe fn template(given: &vk::DescriptorUpdateTemplateCreateInfo<'_>) -> Vec<TemplateEntry> {
    let entry = |given: &vk::DescriptorUpdateTemplateEntry| TemplateEntry {
        binding: given.dst_binding,
        element: given.dst_array_element,
        count: given.descriptor_count,
        kind: given.descriptor_type,
        offset: given.offset,
        stride: given.stride,
    };
    // SAFETY: a valid info has that many entries.
    unsafe { list(given.p_descriptor_update_entries, given.descriptor_update_entry_count) }.iter().map(entry).collect()
}

/// Writes what a template takes from the application's data.
///
/// # Safety
/// The template describes the data.
pub unsafe fn write_template(set: &mut Set, entries: &[TemplateEntry], data: *const c_void) {
    for entry in entries {
        // SAFETY: as the caller says.
        let resources: Vec<Resource> = unsafe {
            match form(entry.kind) {
                Form::Buffer => taken(entry, data).into_iter().map(Resource::Buffer).collect(),
                Form::Texels => taken(entry, data).into_iter().map(Resource::Texels).collect(),
                Form::Image => taken(entry, data).into_iter().map(Resource::Image).collect(),
                Form::Inline => vec![Resource::Other],
                Form::Other => vec![Resource::Other; entry.count as usize],
            }
        };
        let element = if matches!(form(entry.kind), Form::Inline) { 0 } else { entry.element };
        let one = |resource| Descriptor { kind: entry.kind, resource };
        set.write(entry.binding, element, resources.into_iter().map(one).collect::<Vec<_>>());
    }
}

/// Owned copies of descriptor writes.
pub struct Writes(Vec<Write>);

struct Write {
    binding: u32,
    element: u32,
    kind: vk::DescriptorType,
    resources: Resources,
}

enum Resources {
    Buffers(Vec<vk::DescriptorBufferInfo>),
    Texels(Vec<vk::BufferView>),
    Images(Vec<vk::DescriptorImageInfo>),
}

impl Writes {
    /// Copies of Vulkan's structures; `None` if one of them has more than buffers and images.
    ///
    /// # Safety
    /// The structures are valid.
    pub unsafe fn given(writes: &[vk::WriteDescriptorSet<'_>]) -> Option<Self> {
        let one = |given: &vk::WriteDescriptorSet<'_>| {
            let (kind, count) = (given.descriptor_type, given.descriptor_count);
            // SAFETY: a valid structure has the list that its type requires.
            let resources = unsafe {
                match form(kind) {
                    Form::Buffer => Resources::Buffers(list(given.p_buffer_info, count).to_vec()),
                    Form::Texels => Resources::Texels(list(given.p_texel_buffer_view, count).to_vec()),
                    Form::Image => Resources::Images(list(given.p_image_info, count).to_vec()),
                    Form::Inline | Form::Other => return None,
                }
            };
            let write = Write { binding: given.dst_binding, element: given.dst_array_element, kind, resources };
            given.p_next.is_null().then_some(write)
        };
        writes.iter().map(one).collect::<Option<_>>().map(Self)
    }

    /// Copies of a template's writes, as [`Self::given`].
    ///
    /// # Safety
    /// The template describes the data.
    pub unsafe fn of_template(entries: &[TemplateEntry], data: *const c_void) -> Option<Self> {
        let one = |entry: &TemplateEntry| {
            // SAFETY: as the caller says.
            let resources = unsafe {
                match form(entry.kind) {
                    Form::Buffer => Resources::Buffers(taken(entry, data)),
                    Form::Texels => Resources::Texels(taken(entry, data)),
                    Form::Image => Resources::Images(taken(entry, data)),
                    Form::Inline | Form::Other => return None,
                }
            };
            Some(Write { binding: entry.binding, element: entry.element, kind: entry.kind, resources })
        };
        entries.iter().map(one).collect::<Option<_>>().map(Self)
    }

    /// Calls `work` with the writes as Vulkan's structures.
    pub fn with(&self, work: impl FnOnce(&[vk::WriteDescriptorSet<'_>])) {
        work(&self.0.iter().map(Write::given).collect::<Vec<_>>());
    }
}

impl Write {
    fn given(&self) -> vk::WriteDescriptorSet<'_> {
        let given = vk::WriteDescriptorSet::default()
            .dst_binding(self.binding)
            .dst_array_element(self.element)
            .descriptor_type(self.kind);
        match &self.resources {
            Resources::Buffers(all) => given.buffer_info(all),
            Resources::Texels(all) => given.texel_buffer_view(all),
            Resources::Images(all) => given.image_info(all),
        }
    }
}

/// Reads a template entry's structures from the application's data.
///
/// # Safety
/// There are that many structures of this type; they need not be aligned.
unsafe fn taken<T: Copy>(entry: &TemplateEntry, data: *const c_void) -> Vec<T> {
    let place = data.cast::<u8>().wrapping_add(entry.offset);
    // SAFETY: as the caller says.
    let one =
        |n: u32| unsafe { place.wrapping_add((n as usize).wrapping_mul(entry.stride)).cast::<T>().read_unaligned() };
    (0..entry.count).map(one).collect()
}

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
/// The data is what the template describes.
pub unsafe fn write_template(set: &mut Set, entries: &[TemplateEntry], data: *const c_void) {
    for entry in entries {
        let one = |n: u32| {
            let place = data.cast::<u8>().wrapping_add((n as usize).wrapping_mul(entry.stride));
            let place = place.wrapping_add(entry.offset);
            // SAFETY: as the caller says, there is a structure of the type's form; it need not be aligned.
            let resource = unsafe {
                match form(entry.kind) {
                    Form::Buffer => Resource::Buffer(place.cast::<vk::DescriptorBufferInfo>().read_unaligned()),
                    Form::Texels => Resource::Texels(place.cast::<vk::BufferView>().read_unaligned()),
                    Form::Image => Resource::Image(place.cast::<vk::DescriptorImageInfo>().read_unaligned()),
                    Form::Inline | Form::Other => Resource::Other,
                }
            };
            Descriptor { kind: entry.kind, resource }
        };
        let inline = matches!(form(entry.kind), Form::Inline);
        let (element, count) = if inline { (0, 1) } else { (entry.element, entry.count) };
        set.write(entry.binding, element, (0..count).map(one).collect::<Vec<_>>());
    }
}

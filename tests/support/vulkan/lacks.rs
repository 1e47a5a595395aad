//! Capabilities that modules declare, and those for which the driver does not have the feature.

use ash::vk;
use spirv::Capability;

/// A capability, and the feature that it needs.
pub type Lack = (Capability, &'static str);

/// Capabilities of descriptor indexing that a module may not declare without a feature, where it is not there, and one that
/// is wrong. Drivers run such
/// modules, and some right: lavapipe of Mesa 22.3 samples zeros out of an array without a length where invocations choose.
pub fn lacking(has: &vk::PhysicalDeviceVulkan12Features<'_>) -> Vec<Lack> {
    use Capability as C;
    let features = [
        (has.runtime_descriptor_array, C::RuntimeDescriptorArray, "runtimeDescriptorArray"),
        (
            has.shader_input_attachment_array_dynamic_indexing,
            C::InputAttachmentArrayDynamicIndexing,
            "shaderInputAttachmentArrayDynamicIndexing",
        ),
        (
            has.shader_uniform_texel_buffer_array_dynamic_indexing,
            C::UniformTexelBufferArrayDynamicIndexing,
            "shaderUniformTexelBufferArrayDynamicIndexing",
        ),
        (
            has.shader_storage_texel_buffer_array_dynamic_indexing,
            C::StorageTexelBufferArrayDynamicIndexing,
            "shaderStorageTexelBufferArrayDynamicIndexing",
        ),
        (
            has.shader_uniform_buffer_array_non_uniform_indexing,
            C::UniformBufferArrayNonUniformIndexing,
            "shaderUniformBufferArrayNonUniformIndexing",
        ),
        (
            has.shader_sampled_image_array_non_uniform_indexing,
            C::SampledImageArrayNonUniformIndexing,
            "shaderSampledImageArrayNonUniformIndexing",
        ),
        (
            has.shader_storage_buffer_array_non_uniform_indexing,
            C::StorageBufferArrayNonUniformIndexing,
            "shaderStorageBufferArrayNonUniformIndexing",
        ),
        (
            has.shader_storage_image_array_non_uniform_indexing,
            C::StorageImageArrayNonUniformIndexing,
            "shaderStorageImageArrayNonUniformIndexing",
        ),
        (
            has.shader_input_attachment_array_non_uniform_indexing,
            C::InputAttachmentArrayNonUniformIndexing,
            "shaderInputAttachmentArrayNonUniformIndexing",
        ),
        (
            has.shader_uniform_texel_buffer_array_non_uniform_indexing,
            C::UniformTexelBufferArrayNonUniformIndexing,
            "shaderUniformTexelBufferArrayNonUniformIndexing",
        ),
        (
            has.shader_storage_texel_buffer_array_non_uniform_indexing,
            C::StorageTexelBufferArrayNonUniformIndexing,
            "shaderStorageTexelBufferArrayNonUniformIndexing",
        ),
    ];
    let lacking = features.into_iter().filter(|(has, ..)| *has == vk::FALSE);
    // Lavapipe of Mesa 22.3 takes every offset for zero.
    let offsets = (C::InterpolationFunction, "offsets of interpolateAtOffset");
    lacking.map(|(_, capability, name)| (capability, name)).chain([offsets]).collect()
}

/// The capabilities that a module declares, by their numbers.
pub fn capabilities(module: &[u8]) -> Vec<u32> {
    // They come first after the header of five words. Each has two: length and opcode, and the capability.
    let pairs = module.get(20..).unwrap_or_default().as_chunks::<8>().0.iter().map(|pair| u64::from_le_bytes(*pair));
    pairs.map_while(|pair| (pair as u32 == 2 << 16 | 17).then_some((pair >> 32) as u32)).collect()
}

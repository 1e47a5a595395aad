//! Capabilities that modules declare, and those whose features the driver lacks.

use ash::vk;
use spirv::Capability;

/// A capability, and the feature that it requires.
pub type Lack = (Capability, &'static str);

/// Capabilities of descriptor indexing and of subgroups that a module may not declare without a feature, if the feature is
/// missing, and one whose implementation is wrong. Drivers run such modules, some correctly: lavapipe of Mesa 22.3 samples
/// zeros from an array without a length if invocations select the element.
pub fn lacking(has: &vk::PhysicalDeviceVulkan12Features<'_>, subgroups: vk::SubgroupFeatureFlags) -> Vec<Lack> {
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
    use vk::SubgroupFeatureFlags as S;
    let operations = [
        (S::VOTE, C::GroupNonUniformVote, "subgroup votes"),
        (S::ARITHMETIC, C::GroupNonUniformArithmetic, "subgroup arithmetic"),
        (S::BALLOT, C::GroupNonUniformBallot, "subgroup ballots"),
        (S::SHUFFLE, C::GroupNonUniformShuffle, "subgroup shuffles"),
        (S::SHUFFLE_RELATIVE, C::GroupNonUniformShuffleRelative, "relative subgroup shuffles"),
        (S::CLUSTERED, C::GroupNonUniformClustered, "clustered subgroup operations"),
        (S::QUAD, C::GroupNonUniformQuad, "quad operations"),
        // VK_SUBGROUP_FEATURE_ROTATE_BIT
        (S::from_raw(0x200), C::GroupNonUniformRotateKHR, "subgroup rotations"),
    ];
    let operations =
        operations.map(|(bit, capability, name)| (vk::Bool32::from(subgroups.contains(bit)), capability, name));
    let lacking = features.into_iter().chain(operations).filter(|(has, ..)| *has == vk::FALSE);
    // Lavapipe of Mesa 22.3 treats every offset as zero.
    let offsets = (C::InterpolationFunction, "offsets of interpolateAtOffset");
    lacking.map(|(_, capability, name)| (capability, name)).chain([offsets]).collect()
}

/// The capabilities that a module declares, by their numbers.
pub fn capabilities(module: &[u8]) -> Vec<u32> {
    // They directly follow the five-word header. Each has two words: length and opcode, and the capability.
    let pairs = module.get(20..).unwrap_or_default().as_chunks::<8>().0.iter().map(|pair| u64::from_le_bytes(*pair));
    pairs.map_while(|pair| (pair as u32 == 2 << 16 | 17).then_some((pair >> 32) as u32)).collect()
}

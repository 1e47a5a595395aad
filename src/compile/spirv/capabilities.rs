//! Supported features: an allow-list of capabilities, and the memory models.
//!
//! To support a capability: translate its instructions, then add it here.

use super::instruction::SpirvInst;
use dovetail_base::error::{Error, Result};
use rspirv::dr::Operand;
use spirv::{AddressingModel, Capability as C, MemoryModel};

/// Checks that all instructions that a capability enables are translated.
///
/// # Errors
/// Unsupported, by name.
pub fn check(capability: C) -> Result<()> {
    match capability {
        C::Matrix
        | C::Shader
        | C::Float16
        | C::Float64
        | C::Int8
        | C::Int16
        | C::Int64
        | C::Int64Atomics
        | C::Int64ImageEXT
        | C::Groups
        | C::StorageBuffer16BitAccess
        | C::UniformAndStorageBuffer16BitAccess
        | C::StoragePushConstant16
        | C::StorageInputOutput16
        | C::StorageBuffer8BitAccess
        | C::UniformAndStorageBuffer8BitAccess
        | C::StoragePushConstant8
        | C::UniformBufferArrayDynamicIndexing
        | C::SampledImageArrayDynamicIndexing
        | C::StorageBufferArrayDynamicIndexing
        | C::StorageImageArrayDynamicIndexing
        | C::ClipDistance
        | C::CullDistance
        | C::SampleRateShading
        | C::ImageGatherExtended
        | C::ImageGatherBiasLodAMD
        | C::StorageImageMultisample
        | C::StorageImageExtendedFormats
        | C::StorageImageReadWithoutFormat
        | C::StorageImageWriteWithoutFormat
        | C::ImageReadWriteLodAMD
        | C::Float16ImageAMD
        | C::ImageCubeArray
        | C::SampledCubeArray
        | C::ImageMSArray
        | C::ImageRect
        | C::SampledRect
        | C::Image1D
        | C::Sampled1D
        | C::ImageBuffer
        | C::SampledBuffer
        | C::ImageQuery
        | C::InputAttachment
        | C::MinLod
        | C::SparseResidency
        | C::DerivativeControl
        | C::ComputeDerivativeGroupQuadsKHR
        | C::ComputeDerivativeGroupLinearKHR
        | C::InterpolationFunction
        | C::MultiViewport
        | C::ShaderLayer
        | C::ShaderViewportIndex
        | C::ShaderViewportIndexLayerEXT
        | C::Geometry
        | C::DrawParameters
        | C::MultiView
        | C::DeviceGroup
        | C::StencilExportEXT
        | C::FragmentBarycentricKHR
        | C::FragmentShadingRateKHR
        | C::FragmentFullyCoveredEXT
        | C::FragmentDensityEXT
        | C::SampleMaskPostDepthCoverage
        | C::GroupNonUniform
        | C::GroupNonUniformVote
        | C::GroupNonUniformArithmetic
        | C::GroupNonUniformBallot
        | C::GroupNonUniformShuffle
        | C::GroupNonUniformShuffleRelative
        | C::GroupNonUniformClustered
        | C::GroupNonUniformQuad
        | C::GroupNonUniformRotateKHR
        | C::SubgroupBallotKHR
        | C::SubgroupVoteKHR
        | C::QuadControlKHR
        | C::ShaderNonUniform
        | C::RuntimeDescriptorArray
        | C::InputAttachmentArrayDynamicIndexing
        | C::UniformTexelBufferArrayDynamicIndexing
        | C::StorageTexelBufferArrayDynamicIndexing
        | C::UniformBufferArrayNonUniformIndexing
        | C::SampledImageArrayNonUniformIndexing
        | C::StorageBufferArrayNonUniformIndexing
        | C::StorageImageArrayNonUniformIndexing
        | C::InputAttachmentArrayNonUniformIndexing
        | C::UniformTexelBufferArrayNonUniformIndexing
        | C::StorageTexelBufferArrayNonUniformIndexing
        | C::VulkanMemoryModel
        | C::VulkanMemoryModelDeviceScope
        | C::PhysicalStorageBufferAddresses
        | C::VariablePointersStorageBuffer
        | C::VariablePointers
        | C::DemoteToHelperInvocation
        | C::ShaderClockKHR
        | C::DotProduct
        | C::DotProductInputAll
        | C::DotProductInput4x8Bit
        | C::DotProductInput4x8BitPacked
        | C::WorkgroupMemoryExplicitLayoutKHR
        | C::WorkgroupMemoryExplicitLayout8BitAccessKHR
        | C::WorkgroupMemoryExplicitLayout16BitAccessKHR
        | C::AtomicFloat32AddEXT
        | C::AtomicFloat32MinMaxEXT
        | C::DenormPreserve
        | C::DenormFlushToZero
        | C::SignedZeroInfNanPreserve
        | C::RoundingModeRTE
        | C::RoundingModeRTZ
        | C::ExpectAssumeKHR
        | C::ReplicatedCompositesEXT
        | C::BFloat16TypeKHR
        | C::BFloat16DotProductKHR => Ok(()),
        _ => Err(Error::unsupported(format!("capability {capability:?}"), "")),
    }
}

/// Checks the model: logical addressing, or physical addresses of storage buffers only.
///
/// # Errors
/// Unsupported models, by name.
pub fn check_memory_model(inst: &SpirvInst<'_>) -> Result<()> {
    match (inst.operand(0)?, inst.operand(1)?) {
        (
            Operand::AddressingModel(AddressingModel::Logical | AddressingModel::PhysicalStorageBuffer64),
            Operand::MemoryModel(MemoryModel::Simple | MemoryModel::GLSL450 | MemoryModel::Vulkan),
        ) => Ok(()),
        (a, m) => Err(Error::unsupported("memory model", format!("{a:?} {m:?}")).at(inst.place())),
    }
}

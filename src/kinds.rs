//! Terms of shader interfaces that the IR, the pipeline state and the metadata share.

use serde::{Deserialize, Serialize};

/// Kinds of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum ResourceKind {
    UniformBuffer,
    StorageBuffer,
    SampledImage,
    Sampler,
    CombinedImageSampler,
    StorageImage,
    UniformTexelBuffer,
    StorageTexelBuffer,
    InputAttachment,
}

impl ResourceKind {
    /// Whether a variable of the kind `used` can use a descriptor of this kind: the same kind, or its half of a
    /// combined one (Vulkan, "Shader Resource and Descriptor Type Correspondence").
    pub fn serves(self, used: Self) -> bool {
        used == self || self == Self::CombinedImageSampler && matches!(used, Self::SampledImage | Self::Sampler)
    }
}

/// A fragment shader's promise about the depth it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum DepthMode {
    #[default]
    Any,
    Greater,
    Less,
    Unchanged,
}

/// A specialization constant that shaped code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpecValue {
    /// `SpecId`.
    pub id: u32,
    /// Value for which the code was compiled.
    pub value: u64,
    /// Value without specialization.
    pub default: u64,
}

/// A specialization constant that is a relocation in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpecOperand {
    /// `SpecId`.
    pub id: u32,
    /// Value without specialization.
    pub default: u64,
    /// Width: 1 (a boolean), 8, 16, 32 or 64.
    pub bits: u8,
}

/// Numeric kind of an interface variable's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumericKind {
    /// IEEE float of its width.
    Float,
    /// Signed integer.
    Sint,
    /// Unsigned integer.
    Uint,
}

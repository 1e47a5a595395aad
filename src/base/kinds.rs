//! Terms of shader interfaces that the IR, the pipeline state and the metadata share.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

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

/// A set of kinds. In files a list of names.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct KindSet(u16);

impl KindSet {
    /// All kinds, in the order of their declaration.
    const ALL: [ResourceKind; 9] = {
        use ResourceKind as K;
        [
            K::UniformBuffer,
            K::StorageBuffer,
            K::SampledImage,
            K::Sampler,
            K::CombinedImageSampler,
            K::StorageImage,
            K::UniformTexelBuffer,
            K::StorageTexelBuffer,
            K::InputAttachment,
        ]
    };

    /// The set of these kinds.
    pub const fn of(kinds: &[ResourceKind]) -> Self {
        let (mut set, mut n) = (0, 0);
        while n < kinds.len() {
            set |= 1 << kinds[n] as u16;
            n += 1;
        }
        Self(set)
    }

    /// The kinds, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = ResourceKind> {
        Self::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// Whether the kind is in it.
    pub const fn contains(self, kind: ResourceKind) -> bool {
        self.meets(Self::of(&[kind]))
    }

    /// Whether a kind is in both.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<ResourceKind> for KindSet {
    fn from_iter<I: IntoIterator<Item = ResourceKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u16))
    }
}

impl fmt::Debug for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for KindSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for KindSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Self::from_iter)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_a_bit_for_every_kind() {
        for (n, kind) in KindSet::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, n);
            assert_eq!(KindSet::from_iter([kind]).iter().collect::<Vec<_>>(), [kind]);
        }
        let all = KindSet::from_iter(KindSet::ALL);
        let bytes = rmp_serde::to_vec(&all).unwrap();
        assert_eq!(rmp_serde::from_slice::<KindSet>(&bytes).unwrap(), all);
    }
}

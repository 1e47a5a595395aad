//! A caller's permissions and preferences, as bits, with the same numbers in Rust and in C.

use dovetail_link::MetadataVersion;
use std::ops::BitOr;

/// Flags of a pipeline, and of a link without a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipelineFlags(u32);

impl PipelineFlags {
    /// Never compile anything for this pipeline (`VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT`). It is
    /// linked when parts arrive that were requested for others.
    pub const FAIL_ON_COMPILE: Self = Self(1);
    /// The call looks in memory only. A part that is not there is pending: the context's thread looks on the disk if
    /// there is a service, else [`super::Pipeline::wait`] does.
    pub const NO_DISK: Self = Self(2);
    /// Use a pipeline compiled as a whole if the cache has its parts, before linking.
    pub const PREFER_OPTIMIZED: Self = Self(4);
    /// No background compile of a pipeline that could be linked. No effect without a service.
    pub const NO_OPTIMIZE: Self = Self(8);
    /// Only accept a pipeline compiled as a whole; if the cache lacks its parts, a service is asked for it.
    pub const LINK_TIME_OPTIMIZATION: Self = Self(16);

    /// Metadata 3.0, with register fields by name, instead of 2.6. This allocates; 2.6 does not. GPUs from gfx12 on have no 2.6, so
    /// they get 3.0 without the flag too.
    pub const NAMED_METADATA: Self = Self(32);

    /// Each ELF is returned once: [`super::Pipeline::read`] drops the library's copy.
    pub const READ_ONCE: Self = Self(64);

    const ALL: u32 = 127;

    /// The flags with these bits; `None` if other bits are set.
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits & !Self::ALL == 0).then_some(Self(bits))
    }

    /// Its bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all of these are set.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Version of the metadata to write.
    pub(super) fn metadata(self) -> MetadataVersion {
        if self.has(Self::NAMED_METADATA) { MetadataVersion::Named } else { MetadataVersion::Registers }
    }

    /// These flags without `NO_DISK`.
    pub(super) fn without_no_disk(self) -> Self {
        Self(self.0 & !Self::NO_DISK.0)
    }
}

impl BitOr for PipelineFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

//! Operations that go through a descriptor, which the hardware takes from scalar registers.

use super::image::MimgInst;
use super::memory::Access;
use super::op::Op;

impl Op {
    /// Number of leading operands that are descriptors (lower level).
    pub const fn descriptors(&self) -> usize {
        match self {
            Self::BufferLoad { .. }
            | Self::BufferStore { .. }
            | Self::BufferAtomic { .. }
            | Self::TexelLoad { .. }
            | Self::TexelStore { .. }
            | Self::TexelAtomic { .. }
            | Self::TypedLoad { .. } => 1,
            Self::Mimg(mimg) => 1 + MimgInst::samples(mimg) as usize,
            _ => 0,
        }
    }

    /// The flags of an access through a descriptor (lower level).
    pub const fn descriptor_access(&self) -> Option<&Access> {
        match self {
            Self::BufferLoad { access, .. }
            | Self::BufferStore { access, .. }
            | Self::BufferAtomic { access, .. }
            | Self::TexelLoad { access }
            | Self::TexelStore { access }
            | Self::TexelAtomic { access, .. } => Some(access),
            Self::Mimg(mimg) => Some(&mimg.access),
            _ => None,
        }
    }

    /// The same flags, to change.
    pub const fn descriptor_access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Self::BufferLoad { access, .. }
            | Self::BufferStore { access, .. }
            | Self::BufferAtomic { access, .. }
            | Self::TexelLoad { access }
            | Self::TexelStore { access }
            | Self::TexelAtomic { access, .. } => Some(access),
            Self::Mimg(mimg) => Some(&mut mimg.access),
            _ => None,
        }
    }
}

//! Operations that go through a descriptor, which the hardware takes from scalar registers.

use super::amd::AmdOp;
use super::image::{MimgInst, MimgOp};
use super::memory::{Access, AtomicOp};
use super::op::Op;

impl Op {
    /// Number of leading operands that are descriptors (lower level).
    pub const fn descriptors(&self) -> usize {
        match self {
            Self::BufferLoad { .. }
            | Self::BufferStore { .. }
            | Self::BufferAtomic { .. }
            | Self::Target(AmdOp::TexelLoad { .. })
            | Self::Target(AmdOp::TexelStore { .. })
            | Self::Target(AmdOp::TexelAtomic { .. })
            | Self::Target(AmdOp::TypedLoad { .. }) => 1,
            Self::Target(AmdOp::Mimg(mimg)) => 1 + MimgInst::samples(mimg) as usize,
            _ => 0,
        }
    }

    /// Whether it writes through a descriptor (lower level).
    pub const fn writes_by_descriptor(&self) -> bool {
        match self {
            Self::BufferStore { .. } | Self::Target(AmdOp::TexelStore { .. }) => true,
            Self::BufferAtomic { op, .. } | Self::Target(AmdOp::TexelAtomic { op, .. }) => {
                !matches!(op, AtomicOp::Load)
            }
            Self::Target(AmdOp::Mimg(mimg)) => match mimg.op {
                MimgOp::Atomic(op) => !matches!(op, AtomicOp::Load),
                MimgOp::Store | MimgOp::StoreMip => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// The flags of an access through a descriptor (lower level).
    pub const fn descriptor_access(&self) -> Option<&Access> {
        match self {
            Self::BufferLoad { access, .. }
            | Self::BufferStore { access, .. }
            | Self::BufferAtomic { access, .. }
            | Self::Target(AmdOp::TexelLoad { access, .. })
            | Self::Target(AmdOp::TexelStore { access })
            | Self::Target(AmdOp::TexelAtomic { access, .. }) => Some(access),
            Self::Target(AmdOp::Mimg(mimg)) => Some(&mimg.access),
            _ => None,
        }
    }

    /// The same flags, to change.
    pub const fn descriptor_access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Self::BufferLoad { access, .. }
            | Self::BufferStore { access, .. }
            | Self::BufferAtomic { access, .. }
            | Self::Target(AmdOp::TexelLoad { access, .. })
            | Self::Target(AmdOp::TexelStore { access })
            | Self::Target(AmdOp::TexelAtomic { access, .. }) => Some(access),
            Self::Target(AmdOp::Mimg(mimg)) => Some(&mut mimg.access),
            _ => None,
        }
    }
}

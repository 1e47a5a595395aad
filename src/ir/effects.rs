//! Side effects of operations; only these decide which instructions may be removed.

use super::amd::AmdOp;
use super::image::{ImageOp, MimgOp};
use super::memory::{AtomicOp, FenceOrder, MemoryClasses, Scope};
use super::op::Op;

impl Op {
    /// Whether a barrier or a fence orders accesses to memory between invocations.
    pub fn orders_memory(&self) -> bool {
        match *self {
            Self::Barrier { memory: scope, order, classes, .. } | Self::Fence { scope, order, classes } => {
                scope != Scope::Invocation && order != FenceOrder::None && classes != MemoryClasses::default()
            }
            _ => false,
        }
    }

    /// Whether the instruction has to stay even if its result is unused.
    pub const fn has_side_effects(&self) -> bool {
        match self {
            Self::LocalStore { .. }
            | Self::SharedStore { .. }
            | Self::BufferStore { .. }
            | Self::GlobalStore { .. }
            | Self::Target(AmdOp::TexelStore { .. })
            | Self::StoreOutput { .. }
            | Self::Barrier { .. }
            | Self::Fence { .. }
            | Self::DemoteIf
            | Self::EndIfDead
            | Self::StayInLoop
            | Self::Target(AmdOp::Export { .. }) => true,
            Self::SharedAtomic(op) => !matches!(op, AtomicOp::Load),
            Self::BufferAtomic { op, access }
            | Self::GlobalAtomic { op, access }
            | Self::Target(AmdOp::TexelAtomic { op, access }) => access.volatile || !matches!(op, AtomicOp::Load),
            Self::SharedLoad { access, .. }
            | Self::BufferLoad { access, .. }
            | Self::GlobalLoad { access, .. }
            | Self::Target(AmdOp::TexelLoad { access, .. }) => access.volatile,
            Self::Image(image) => match image.op {
                ImageOp::Store => true,
                ImageOp::Atomic(op) => image.access.volatile || !matches!(op, AtomicOp::Load),
                _ => image.access.volatile,
            },
            Self::Target(AmdOp::Mimg(image)) => match image.op {
                MimgOp::Store | MimgOp::StoreMip | MimgOp::Atomic(_) => true,
                _ => image.access.volatile,
            },
            _ => false,
        }
    }
}

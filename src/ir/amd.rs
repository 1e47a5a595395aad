//! Operations of AMD's hardware: what lowering makes of descriptors, inputs, outputs and exchanges between lanes. The
//! lower level only, but for the cube primitives.

use super::image::MimgInst;
use super::interface::ExportTarget;
use super::lanes::LaneOp;
use super::memory::{Access, AtomicOp};
use super::types::Align;

/// Words with the ids of a workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkgroupWord {
    /// That along x.
    X,
    /// 16 bits of that along y, and above them of that along z.
    Yz,
}

/// An operation of AMD's hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AmdOp {
    /// → high 32 bits of every driver address (those of the program counter).
    AddressHigh,
    /// → a word with ids of the workgroup, where they are in no entry register.
    WorkgroupIds(WorkgroupWord),
    /// address (b64), offset (b32, zero-extended) → T from memory that is constant while the shader runs.
    TableLoad {
        /// Known alignment of the sum.
        align: Align,
    },
    /// See [`MimgInst::operands`].
    Mimg(MimgInst),
    /// descriptor, index (b32) → vector or scalar of 32-bit components, converted by the descriptor's format.
    TexelLoad {
        /// One more lane: 0 if the texel is resident.
        sparse: bool,
        /// Access flags.
        access: Access,
    },
    /// descriptor, index, value.
    TexelStore {
        /// Access flags.
        access: Access,
    },
    /// descriptor, index, data (compare-exchange: new value, comparator) → old value.
    TexelAtomic {
        /// Operation on the memory.
        op: AtomicOp,
        /// Access flags.
        access: Access,
    },
    /// descriptor, vertex index → vector or scalar of 32-bit components, converted from this format.
    TypedLoad {
        /// Unified buffer format number of the generation (pal-abi 8.3).
        format: u8,
        /// Byte offset within the element.
        offset: u32,
    },
    /// i, j, primitive mask → interpolated attribute channel.
    Interp {
        /// Attribute number.
        attr: u32,
        /// Channel, 0 to 3.
        channel: u8,
    },
    /// primitive mask → attribute channel of one vertex, not interpolated: 0 P10, 1 P20, 2 P0.
    InterpMov {
        /// Attribute number.
        attr: u32,
        /// Channel, 0 to 3.
        channel: u8,
        /// Selector.
        vertex: u8,
    },
    /// four b32 (undefined where not enabled): written to a target. Compressed: only the first two, 16-bit pairs.
    Export {
        /// Destination.
        target: ExportTarget,
        /// Enabled channels (compressed: 0x3 and 0xC per pair).
        enable: u8,
        /// Values are pairs of 16-bit components.
        compressed: bool,
        /// Last of its kind.
        done: bool,
        /// The EXEC mask is the valid mask.
        valid_mask: bool,
    },
    /// Lane and cube primitives.
    Lane(LaneOp),
}

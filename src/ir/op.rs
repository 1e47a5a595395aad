//! The operations. Fields are here, operands (in the order each variant documents) in [`super::Inst::args`].

use super::alu::{AluOp, FpFlags};
use super::amd::AmdOp;
use super::ids::{ConstTableId, LocalId, ResourceId, SymbolId};
use super::image::ImageInst;
use super::interface::{BuiltIn, Interp, InterpPlace, OutputSlot};
use super::lanes::{DerivativeKind, SubgroupOp};
use super::memory::{Access, AtomicOp, BufferKind, DescriptorPart, FenceOrder, MemoryClasses, Scope};
use super::types::Align;
use dovetail_base::kinds::NumericKind;

/// An operation. "→ T" is its result; without an arrow there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    // ---- values, both levels
    /// → scalar with these bits.
    Const(u64),
    /// → any value of the type, but the same at every use.
    Undef,
    /// Arithmetic on scalars, see the table of [`AluOp`]; at the lower level also on two halves of a dword each
    /// ([`AluOp::has_packed`]).
    Alu(AluOp, FpFlags),
    /// scalars… → vector.
    Compose,
    /// vector → one lane.
    Extract(u8),
    /// value → same total bits as another type; lane 0 is lowest.
    Bitcast,

    // ---- memory, both levels. Offsets are b32 bytes.
    /// offset → T from a local (scratch) variable.
    LocalLoad {
        /// Variable that is accessed.
        local: LocalId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset, value.
    LocalStore {
        /// Variable that is accessed.
        local: LocalId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset → T from a constant table.
    ConstLoad {
        /// Table that is read.
        table: ConstTableId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset → T from workgroup memory (LDS).
    SharedLoad {
        /// Known alignment of the address.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// offset, value.
    SharedStore {
        /// Known alignment of the address.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// offset, data (for compare-exchange: new value, comparator) → old value.
    SharedAtomic(AtomicOp),
    /// descriptor, offset → T; out of range gives 0. Lower level: at most one instruction's width, see
    /// `legalize_memory`.
    BufferLoad {
        /// Uniform or storage.
        kind: BufferKind,
        /// Known alignment of the offset.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// descriptor, offset, value. Out-of-range stores are dropped. Upper level: helpers do not store, as for every
    /// memory write. Lower level: width as [`Op::BufferLoad`]; every active lane stores unless [`Access::live_only`]
    /// is set, as for every write through a descriptor.
    BufferStore {
        /// Known alignment of the offset.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// descriptor, offset, data (compare-exchange: new value, comparator) → old value, undefined in lanes that do not execute it.
    /// Helpers: as for stores.
    BufferAtomic {
        /// Operation on the memory.
        op: AtomicOp,
        /// Access flags.
        access: Access,
    },
    /// address (b64) → T from global memory.
    GlobalLoad {
        /// Known alignment.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// address, value. Upper level: helpers do not store, as for all memory writes. Lower level: every active lane
    /// stores.
    GlobalStore {
        /// Known alignment.
        align: Align,
        /// Access flags.
        access: Access,
    },
    /// address, data (compare-exchange: new value, comparator) → old value. Helpers: as for stores.
    GlobalAtomic {
        /// Operation on the memory.
        op: AtomicOp,
        /// Access flags.
        access: Access,
    },

    /// descriptor → size of the bound range in bytes. Upper level only.
    BufferSize,

    // ---- interfaces, upper level only
    /// index (b32) → descriptor: [`super::Type::DESC4`] for buffers, samplers, texel buffers, `DESC8` for images.
    Descriptor {
        /// Binding.
        resource: ResourceId,
        /// Part of a combined image and sampler.
        part: DescriptorPart,
        /// Whether the index may differ between lanes.
        non_uniform: bool,
    },
    /// offset → T from the push constants.
    PushConstant {
        /// Known alignment of the offset.
        align: Align,
    },
    /// (for [`Interp`] at an offset: x, y; at a sample: its index) → one component of a stage input.
    LoadInput {
        /// Location.
        location: u32,
        /// Component within it, 0 to 3. For 64 bits: the first of two for a fragment input; for a vertex input, which
        /// is fetched as the whole attribute of its location, the channel.
        component: u8,
        /// Numeric kind of the bits: decides fetch defaults and conversions.
        kind: NumericKind,
        /// Interpolation of a fragment input; `Flat` for a vertex input.
        interp: Interp,
    },
    /// (at an offset: x, y; at a sample: its index) → one component of a built-in input: b1 for booleans, else b32 (64
    /// bits for subgroup masks: two components).
    LoadBuiltIn {
        /// Built-in that is read.
        builtin: BuiltIn,
        /// Component.
        component: u8,
        /// Location in the pixel, if it is interpolated; otherwise `Center`.
        place: InterpPlace,
    },
    /// value. Only in the block that returns, once per slot.
    StoreOutput {
        /// Destination.
        slot: OutputSlot,
        /// Numeric kind of the bits.
        kind: NumericKind,
    },
    /// See [`ImageInst::operands`].
    Image(ImageInst),
    /// See [`SubgroupOp`].
    Subgroup(SubgroupOp),
    /// value → difference to the neighbouring pixel.
    Derivative(DerivativeKind),

    // ---- order and lifetime, both levels
    /// Waits for all invocations of the scope and orders memory as its fields say. Lower level: only waits (compute
    /// workgroups), or only prevents motion across it (subgroups); separate fences order the memory.
    Barrier {
        /// Invocations that wait.
        exec: Scope,
        /// Invocations for which memory is ordered.
        memory: Scope,
        /// Direction of the order.
        order: FenceOrder,
        /// Kinds of memory.
        classes: MemoryClasses,
    },
    /// Orders memory without waiting.
    Fence {
        /// Invocations for which memory is ordered.
        scope: Scope,
        /// Direction of the order.
        order: FenceOrder,
        /// Kinds of memory.
        classes: MemoryClasses,
    },
    /// condition (b1): where true, the invocation becomes a helper.
    DemoteIf,
    /// If no lane of the wave is a live pixel, the wave ends here, with the export that the hardware waits for
    /// ([`super::LowerInfo::color_export`], `depth_export`). Lower level only, after [`Op::DemoteIf`]. A code generator may
    /// omit it: such a wave has no side effects.
    EndIfDead,
    /// → whether the invocation is a helper now (b1). Upper level only.
    IsHelper,
    /// index → the same; not defined from this bound on. Upper level, and only in translations for judges
    /// (`spirv::translate_judged`).
    Within(u32),
    /// → token (b32, no bits): names the innermost loop around its block, for [`Op::StayInLoop`].
    LoopToken,
    /// token: although this block leaves the token's loop, it runs within the iteration that it leaves, before other lanes
    /// go on. It is a block of the loop, and so are the blocks on the way to it ([`Loops`](super::loops::Loops)).
    StayInLoop,
    /// → device clock, b64.
    ReadClock(Scope),

    /// → 32-bit value that the linker fills in. Upper level: of specialization constants only.
    Reloc(SymbolId),

    // ---- lower level only
    /// value → the same value, opaque to optimisation: it knows neither the operands of the value nor that both are equal.
    /// Numbers are uniform for the wave. See `lower_waterfalls`.
    Opaque,
    /// An operation of the hardware that the shader is lowered for.
    Target(AmdOp),
}

impl Op {
    /// Reads a built-in that is not interpolated, or interpolated at the pixel's centre.
    pub const fn load_builtin(builtin: BuiltIn, component: u8) -> Self {
        Self::LoadBuiltIn { builtin, component, place: InterpPlace::Center }
    }

    /// The scratch variable that it accesses.
    pub const fn local(&self) -> Option<LocalId> {
        match self {
            Self::LocalLoad { local, .. } | Self::LocalStore { local, .. } => Some(*local),
            _ => None,
        }
    }
}

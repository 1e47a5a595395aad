//! The operations. Payload here, operands (in the order each variant documents) in [`super::Inst::args`].

use super::alu::{AluOp, FpFlags};
use super::image::{ImageInst, MimgInst};
use super::shader::{ConstTableId, LocalId, ResourceId, SymbolId};
use super::types::Align;

/// What an instruction does. "→ T" is the result; no arrow, no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    // ---- values, both levels
    /// → scalar with these bits.
    Const(u64),
    /// → any value of the type, the same at every use.
    Undef,
    /// Arithmetic on scalars, see the table of [`AluOp`].
    Alu(AluOp, FpFlags),
    /// scalars… → vector of them.
    Compose,
    /// vector → its lane.
    Extract(u8),
    /// value → same total bits in another shape; lane 0 is lowest.
    Bitcast,

    // ---- memory, both levels. Offsets are b32 bytes.
    /// offset → T from a local (scratch) variable.
    LocalLoad {
        /// Which variable.
        local: LocalId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset, value.
    LocalStore {
        /// Which variable.
        local: LocalId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset → T from a constant table.
    ConstLoad {
        /// Which table.
        table: ConstTableId,
        /// Known alignment of the address.
        align: Align,
    },
    /// offset → T from workgroup memory (LDS).
    SharedLoad {
        /// Known alignment of the address.
        align: Align,
        /// How.
        access: Access,
    },
    /// offset, value.
    SharedStore {
        /// Known alignment of the address.
        align: Align,
        /// How.
        access: Access,
    },
    /// offset, data (for compare-exchange: new value, comparator) → old value.
    SharedAtomic(AtomicOp),
    /// descriptor, offset → T; out of range gives 0.
    BufferLoad {
        /// Uniform or storage.
        kind: BufferKind,
        /// Known alignment of the offset.
        align: Align,
        /// How.
        access: Access,
    },
    /// descriptor, offset, value; out of range is dropped.
    BufferStore {
        /// Known alignment of the offset.
        align: Align,
        /// How.
        access: Access,
    },
    /// descriptor, offset, data (compare-exchange: new value, comparator) → old value.
    BufferAtomic {
        /// What.
        op: AtomicOp,
        /// How.
        access: Access,
    },
    /// descriptor → size of the bound range in bytes.
    BufferSize,
    /// address (b64) → T from global memory.
    GlobalLoad {
        /// Known alignment.
        align: Align,
        /// How.
        access: Access,
    },
    /// address, value.
    GlobalStore {
        /// Known alignment.
        align: Align,
        /// How.
        access: Access,
    },
    /// address, data (compare-exchange: new value, comparator) → old value.
    GlobalAtomic {
        /// What.
        op: AtomicOp,
        /// How.
        access: Access,
    },

    // ---- interfaces, upper level only
    /// index (b32) → descriptor: [`super::Type::DESC4`] for buffers, samplers, texel buffers, `DESC8` for images.
    Descriptor {
        /// Which binding.
        resource: ResourceId,
        /// Which half of a combined image and sampler.
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
        /// Component within it, 0 to 3.
        component: u8,
        /// What the bits are: decides fetch defaults and conversions.
        kind: NumericKind,
        /// How a fragment input comes to a pixel; `Flat` for a vertex input.
        interp: Interp,
    },
    /// → one component of a built-in input: b1 for truth values, else b32 (64 bits for subgroup masks: two components).
    LoadBuiltIn {
        /// Which.
        builtin: BuiltIn,
        /// Component.
        component: u8,
    },
    /// value. Only in the block that returns, once per slot.
    StoreOutput {
        /// Where to.
        slot: OutputSlot,
        /// What the bits are.
        kind: NumericKind,
    },
    /// See [`ImageInst::operands`].
    Image(ImageInst),
    /// See [`SubgroupOp`].
    Subgroup(SubgroupOp),
    /// value → difference to the neighbouring pixel.
    Derivative(DerivativeKind),

    // ---- order and lifetime, both levels
    /// Wait for all invocations of the scope, with memory made visible as told.
    Barrier {
        /// Who waits.
        exec: Scope,
        /// For whom memory is ordered.
        memory: Scope,
        /// Which order.
        order: FenceOrder,
        /// Which memory.
        classes: MemoryClasses,
    },
    /// Memory order without waiting.
    Fence {
        /// For whom.
        scope: Scope,
        /// Which order.
        order: FenceOrder,
        /// Which memory.
        classes: MemoryClasses,
    },
    /// condition (b1): where true, the invocation becomes a helper.
    DemoteIf,
    /// → whether the invocation is a helper now (b1).
    IsHelper,
    /// → device clock, b64.
    ReadClock(Scope),

    // ---- lower level only
    /// → 32-bit value that the linker fills in.
    Reloc(SymbolId),
    /// → high 32 bits of every driver address (those of the program counter).
    AddressHigh,
    /// address (b64), offset (b32, zero-extended) → T from memory that never changes while the shader runs.
    TableLoad {
        /// Known alignment of the sum.
        align: Align,
    },
    /// See [`MimgInst::operands`].
    Mimg(MimgInst),
    /// descriptor, index (b32) → vector or scalar of 32-bit components, converted by the descriptor's format.
    TexelLoad {
        /// How.
        access: Access,
    },
    /// descriptor, index, value.
    TexelStore {
        /// How.
        access: Access,
    },
    /// descriptor, index, data (compare-exchange: new value, comparator) → old value.
    TexelAtomic {
        /// What.
        op: AtomicOp,
        /// How.
        access: Access,
    },
    /// descriptor, vertex index → vector or scalar of 32-bit components, converted by this format.
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
        /// Where to.
        target: ExportTarget,
        /// Enabled channels (compressed: 0x3 and 0xC per pair).
        enable: u8,
        /// Values are pairs of 16 bits.
        compressed: bool,
        /// Last of its kind.
        done: bool,
        /// The EXEC mask is the valid mask.
        valid_mask: bool,
    },
    /// Lane and cube primitives.
    Amd(AmdOp),
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// Seen by other invocations at device scope.
    pub coherent: bool,
    /// Every access happens.
    pub volatile: bool,
    /// Not worth keeping in a cache.
    pub nontemporal: bool,
    /// The descriptor may differ between lanes.
    pub non_uniform: bool,
    /// Never written while the shader runs: may be read through the scalar cache.
    pub read_only: bool,
}

/// Which rules a buffer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferKind {
    /// Uniform buffer: never written.
    Uniform,
    /// Storage buffer.
    Storage,
}

/// Which descriptor of a binding is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DescriptorPart {
    /// Buffer, 4 dwords.
    Buffer,
    /// Image, 8 dwords.
    Image,
    /// Sampler, 4 dwords.
    Sampler,
    /// Texel buffer, 4 dwords.
    TexelBuffer,
}

/// Read-modify-write operations. Floats where the name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Plain atomic read (data operands absent).
    Load,
    /// Plain atomic write (result unused).
    Store,
    /// Exchange.
    Exchange,
    /// Compare and exchange.
    CompareExchange,
    /// Integer sum.
    IAdd,
    /// Integer difference.
    ISub,
    /// Signed minimum.
    SMin,
    /// Unsigned minimum.
    UMin,
    /// Signed maximum.
    SMax,
    /// Unsigned maximum.
    UMax,
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
    /// Float sum.
    FAdd,
    /// Float minimum.
    FMin,
    /// Float maximum.
    FMax,
}

/// What the bits of an interface variable are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumericKind {
    /// IEEE float of its width.
    Float,
    /// Signed integer.
    Sint,
    /// Unsigned integer.
    Uint,
}

/// How a fragment input comes to a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interp {
    /// The provoking vertex's value.
    Flat,
    /// Interpolated with these barycentric coordinates.
    At {
        /// Perspective-correct, or linear in the screen (`NoPerspective`).
        perspective: bool,
        /// Where in the pixel.
        place: InterpPlace,
    },
    /// One vertex's own value (explicit vertex parameter): 0, 1 or 2.
    Vertex(u8),
}

/// Where in a pixel an input is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InterpPlace {
    /// Its centre.
    Center,
    /// A covered point.
    Centroid,
    /// The sample that is shaded.
    Sample,
    /// Centre plus the two operands.
    AtOffset,
    /// The sample of the operand's number.
    AtSample,
}

/// Built-in inputs, with their number of components where not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum BuiltIn {
    VertexIndex,
    InstanceIndex,
    BaseVertex,
    BaseInstance,
    DrawIndex,
    ViewIndex,
    DeviceIndex,
    /// 4.
    FragCoord,
    /// b1.
    FrontFacing,
    /// 2.
    PointCoord,
    SampleId,
    /// 2.
    SamplePosition,
    /// One component a 32-sample word.
    SampleMaskIn,
    /// b1, as the invocation started.
    HelperInvocation,
    PrimitiveId,
    Layer,
    ViewportIndex,
    /// Up to 8.
    ClipDistance,
    /// Up to 8.
    CullDistance,
    /// 3: perspective barycentric coordinates.
    BaryCoord,
    /// 3: linear ones.
    BaryCoordNoPersp,
    /// 3.
    NumWorkgroups,
    /// 3.
    WorkgroupId,
    /// 3.
    LocalInvocationId,
    LocalInvocationIndex,
    SubgroupSize,
    SubgroupLocalInvocationId,
    SubgroupId,
    NumSubgroups,
    /// 2: low and high half of the mask, likewise the following.
    SubgroupEqMask,
    SubgroupGeMask,
    SubgroupGtMask,
    SubgroupLeMask,
    SubgroupLtMask,
}

/// Where an output component goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutputSlot {
    /// A location: parameter of a vertex shader, colour of a fragment shader.
    Location {
        /// Location.
        location: u32,
        /// Component, 0 to 3.
        component: u8,
        /// Dual-source index, else 0.
        index: u8,
    },
    /// Position, component 0 to 3.
    Position(u8),
    /// Point size.
    PointSize,
    /// Clip distance.
    ClipDistance(u8),
    /// Cull distance.
    CullDistance(u8),
    /// Layer.
    Layer,
    /// Viewport index.
    ViewportIndex,
    /// Depth.
    FragDepth,
    /// Stencil reference.
    FragStencilRef,
    /// Sample mask, first word.
    SampleMask,
}

/// Operations across the lanes of a subgroup. Lane masks are b64. Operands: the value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupOp {
    /// → b1: the lowest active lane.
    Elect,
    /// b1 → b64.
    Ballot,
    /// b1 → b1.
    All,
    /// b1 → b1.
    Any,
    /// value → b1.
    AllEqual,
    /// value, lane (uniform) → value.
    Broadcast,
    /// value → value of the lowest active lane.
    BroadcastFirst,
    /// value, lane → value.
    Shuffle,
    /// value, mask → value.
    ShuffleXor,
    /// value, delta → value of the lane that much lower.
    ShuffleUp,
    /// value, delta → value of the lane that much higher.
    ShuffleDown,
    /// value, delta → rotated within clusters of this size (0: the subgroup).
    Rotate(u8),
    /// value → reduced over clusters of this size (0: the subgroup).
    Reduce(ReduceOp, u8),
    /// value → scan with itself.
    InclusiveScan(ReduceOp),
    /// value → scan without itself.
    ExclusiveScan(ReduceOp),
    /// value, lane of the quad → value.
    QuadBroadcast,
    /// value → value.
    QuadSwap(QuadSwap),
}

/// Across which axis a quad swaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuadSwap {
    /// Left and right.
    Horizontal,
    /// Top and bottom.
    Vertical,
    /// Both.
    Diagonal,
}

/// What a reduction or scan computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReduceOp {
    IAdd,
    FAdd,
    IMul,
    FMul,
    SMin,
    UMin,
    FMin,
    SMax,
    UMax,
    FMax,
    And,
    Or,
    Xor,
}

/// Which difference of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivativeKind {
    /// Down rather than right.
    pub vertical: bool,
    /// Of the own row or column, rather than one for the quad.
    pub fine: bool,
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum Scope {
    Invocation,
    Subgroup,
    Workgroup,
    /// Device and queue family.
    Device,
    System,
}

/// Which way memory is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum FenceOrder {
    None,
    Acquire,
    Release,
    AcqRel,
}

/// Which memory a fence orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryClasses {
    /// Buffers and global memory.
    pub buffer: bool,
    /// Images.
    pub image: bool,
    /// Workgroup memory.
    pub shared: bool,
}

/// Export targets of the hardware (pal-abi 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportTarget {
    /// Colour 0 to 7.
    Mrt(u8),
    /// Depth, stencil, sample mask.
    MrtZ,
    /// Nothing, only the valid mask.
    Null,
    /// Position vector 0 to 3.
    Pos(u8),
    /// Parameter 0 to 31.
    Param(u8),
}

impl ExportTarget {
    /// The number in the instruction.
    pub const fn number(self) -> u8 {
        match self {
            Self::Mrt(n) => n,
            Self::MrtZ => 8,
            Self::Null => 9,
            Self::Pos(n) => 12 + n,
            Self::Param(n) => 32 + n,
        }
    }
}

/// Lane primitives of the hardware; all but the cube ones are convergent (must not be moved).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AmdOp {
    /// T → T of the lowest active lane; uniform.
    ReadFirstLane,
    /// b32, lane (uniform) → b32.
    ReadLane,
    /// value b32 (uniform), lane (uniform), old b32 → old with that lane replaced.
    WriteLane,
    /// → b64 mask of active lanes where b1 is true.
    Ballot,
    /// mask b64 → number of its ones below the own lane, b32.
    MaskBitCount,
    /// old b32, source b32 → moved within rows of 16 (DPP); a lane without source takes old, or 0 by `bound_zero`.
    Dpp {
        /// `dpp_ctrl`.
        ctrl: u16,
        /// Rows written.
        row_mask: u8,
        /// Banks written.
        bank_mask: u8,
        /// Lanes without a source get 0.
        bound_zero: bool,
    },
    /// old b32, source b32 → lane of the other row of the pair, by 4-bit selectors.
    PermlaneX16 {
        /// Selectors of lanes 0 to 7.
        low: u32,
        /// Selectors of lanes 8 to 15.
        high: u32,
        /// Read lanes that are off too.
        fetch_inactive: bool,
    },
    /// lane × 4 (b32), value b32 → value of that lane (of the own 32 lanes on gfx10).
    BPermute,
    /// value b32, identity b32 → identity in lanes that are off.
    SetInactive,
    /// b32 → b32, computed with all lanes on.
    StrictWwm,
    /// b32 → b32, computed with helper lanes on.
    Wqm,
    /// → b1: a real pixel, not a helper, at this point.
    LiveMask,
    /// x, y, z → cube face, s, t, and twice the major axis.
    CubeId,
    /// See [`AmdOp::CubeId`].
    CubeS,
    /// See [`AmdOp::CubeId`].
    CubeT,
    /// See [`AmdOp::CubeId`].
    CubeMa,
}

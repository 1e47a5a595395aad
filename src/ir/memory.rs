//! Memory as seen by operations: kinds of memory, access flags, ordering.

use super::types::Bits;

/// Flags of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// Seen by other invocations at device scope.
    pub coherent: bool,
    /// Every access must happen.
    pub volatile: bool,
    /// Non-temporal: not worth caching.
    pub nontemporal: bool,
    /// The descriptor may differ between lanes.
    pub non_uniform: bool,
    /// An operand may differ between lanes, as far as is known (lower-level buffer loads).
    pub divergent: bool,
    /// Never written while the shader runs: may be read through the scalar cache.
    pub read_only: bool,
    /// Helpers do not do it (writes through a descriptor in a fragment shader, lower level).
    pub live_only: bool,
}

impl Access {
    /// None of these.
    pub const PLAIN: Self = Self {
        coherent: false,
        volatile: false,
        nontemporal: false,
        non_uniform: false,
        divergent: false,
        read_only: false,
        live_only: false,
    };
}

impl Access {
    /// Whether a load from a buffer of this kind uses the scalar cache (lower level), which neither sees writes nor
    /// takes divergent operands.
    pub fn is_scalar(self, kind: BufferKind) -> bool {
        self.may_be_scalar(kind) && !self.divergent
    }

    /// Whether it would use the scalar cache if its operands were uniform: nothing writes what it reads.
    pub fn may_be_scalar(self, kind: BufferKind) -> bool {
        self.is_unwritten(kind) && !self.non_uniform && !self.coherent && !self.volatile
    }

    /// Whether nothing writes a buffer of this kind while the shader runs.
    pub fn is_unwritten(self, kind: BufferKind) -> bool {
        kind == BufferKind::Uniform || self.read_only
    }
}

/// Kind of buffer access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferKind {
    /// Uniform buffer: never written.
    Uniform,
    /// Storage buffer.
    Storage,
}

/// Part of a binding's descriptor.
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
    /// Second image of a descriptor whose sampler converts from Y'CBCR, 8 dwords.
    Image1,
    /// Third image of such a descriptor, 8 dwords.
    Image2,
}

impl DescriptorPart {
    /// The image descriptors, by their number.
    pub const IMAGES: [Self; 3] = [Self::Image, Self::Image1, Self::Image2];

    /// The number of an image descriptor.
    pub fn image_number(self) -> Option<u32> {
        (0..).zip(Self::IMAGES).find_map(|(n, part)| (part == self).then_some(n))
    }
}

/// Atomic operations on a memory location. Operands are integers unless the name says otherwise. Each is relaxed: it
/// orders no other access and has no scope; `Op::Fence` and `Op::Barrier` provide that.
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

/// Kinds of memory with different sets of hardware atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicMemory {
    /// Workgroup memory.
    Shared,
    /// Memory by address.
    Global,
    /// Memory behind a descriptor: buffers, texel buffers, images.
    Descriptor,
}

impl AtomicOp {
    /// Whether code generators have one instruction for it; else `lower_atomics` expands it.
    pub const fn has_instruction(self, memory: AtomicMemory, bits: Bits) -> bool {
        match (self, memory, bits) {
            (Self::Store, ..) => false,
            (Self::FAdd, AtomicMemory::Shared, Bits::B32) => true,
            (Self::FAdd, ..) => false,
            (Self::FMin | Self::FMax, AtomicMemory::Descriptor, Bits::B64) => false,
            _ => true,
        }
    }
}

/// Invocations that take part.
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

/// Direction of memory ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum FenceOrder {
    None,
    Acquire,
    Release,
    AcqRel,
}

/// Kinds of memory that a fence orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryClasses {
    /// Buffers and global memory.
    pub buffer: bool,
    /// Images.
    pub image: bool,
    /// Workgroup memory.
    pub shared: bool,
}

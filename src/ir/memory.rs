//! Memory as operations name it: which, how it is accessed, and what orders it.

use super::types::Bits;

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
    /// An operand may differ between lanes, as far as is known (buffer loads of the lower level).
    pub divergent: bool,
    /// Never written while the shader runs: may be read through the scalar cache.
    pub read_only: bool,
}

impl Access {
    /// Whether a load from a buffer of this kind goes through the scalar cache (lower level), which neither sees writes
    /// nor takes operands that differ between lanes.
    pub fn is_scalar(self, kind: BufferKind) -> bool {
        self.may_be_scalar(kind) && !self.divergent
    }

    /// Whether it would go there if its operands were the same in all lanes: nothing writes what it reads.
    pub fn may_be_scalar(self, kind: BufferKind) -> bool {
        self.is_unwritten(kind) && !self.non_uniform && !self.coherent && !self.volatile
    }

    /// Whether nothing writes a buffer of this kind while the shader runs.
    pub fn is_unwritten(self, kind: BufferKind) -> bool {
        kind == BufferKind::Uniform || self.read_only
    }
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

/// Memory, as far as the atomics that the hardware has for it differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicMemory {
    /// Workgroup memory.
    Shared,
    /// By address.
    Global,
    /// Behind a descriptor: buffers, texel buffers, images.
    Descriptor,
}

impl AtomicOp {
    /// Whether code generators make one instruction of it; else `lower_atomics` makes something else of it.
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

//! The instruction: an [`Op`] with the operands that its encoding format has room for.
//!
//! One variant a format. An `Inst` can hold a nonsense pair of operation and format, or registers that do not exist;
//! `encode` refuses them, so code that writes instructions stays free of checks.

use super::{BufferFormat, Op, Scalar, Sgpr, Src, Vgpr};

/// One machine instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// Program control with its 16-bit operand.
    Sopp {
        /// Which.
        op: Op,
        /// Its operand; for a branch the signed distance in dwords from the next instruction.
        imm: u16,
    },
    /// Wait until at most so many operations are outstanding.
    Waitcnt(Waitcnt),
    /// Scalar, one source at most.
    Sop1 {
        /// Which.
        op: Op,
        /// First register written.
        dst: Scalar,
        /// The source, if it has one.
        src: Option<Src>,
    },
    /// Scalar, two sources.
    Sop2 {
        /// Which.
        op: Op,
        /// Register written.
        dst: Scalar,
        /// Sources.
        srcs: [Src; 2],
    },
    /// Scalar load.
    Smem {
        /// Which.
        op: Op,
        /// First register loaded.
        data: Sgpr,
        /// Low register of the 64-bit address.
        base: Sgpr,
        /// Bytes added, 21 bits signed.
        offset: i32,
        /// Register added.
        soffset: Option<Scalar>,
    },
    /// Vector, one source.
    Vop1 {
        /// Which.
        op: Op,
        /// Register written.
        dst: Vgpr,
        /// The source.
        src: Src,
    },
    /// Vector, two sources; in the long form where the second is no VGPR.
    Vop2 {
        /// Which.
        op: Op,
        /// Register written.
        dst: Vgpr,
        /// Sources.
        srcs: [Src; 2],
    },
    /// Vector with two or three sources of any kind.
    Vop3 {
        /// Which.
        op: Op,
        /// Register written.
        dst: Vgpr,
        /// Sources; [`Op::sources`] says how many count, the rest are `Src::Int(0)`.
        srcs: [Src; 3],
    },
    /// `mask ? srcs[1] : srcs[0]`, lane by lane, in the long form.
    Cndmask {
        /// Register written.
        dst: Vgpr,
        /// Chosen where the mask has 0, where it has 1.
        srcs: [Src; 2],
        /// The mask.
        mask: LaneMask,
    },
    /// Buffer load.
    Buffer(Buffer),
    /// Export.
    Exp {
        /// Where to.
        target: ExpTarget,
        /// What.
        sources: ExpSources,
        /// The last of its kind in this shader.
        done: bool,
        /// The lane mask says which pixels are alive.
        vm: bool,
    },
}

/// What `s_waitcnt` waits for: the greatest count of outstanding operations of each kind that lets it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waitcnt {
    /// Vector memory loads, 6 bits.
    pub vm: u8,
    /// Exports, 3 bits.
    pub exp: u8,
    /// Scalar memory, LDS and messages, 6 bits.
    pub lgkm: u8,
}

impl Waitcnt {
    /// Waits for nothing.
    pub const NONE: Self = Self { vm: 63, exp: 7, lgkm: 63 };
    /// All vector loads have arrived.
    pub const VM: Self = Self { vm: 0, ..Self::NONE };
    /// All scalar loads have arrived.
    pub const LGKM: Self = Self { lgkm: 0, ..Self::NONE };
}

/// A lane mask: one register in wave32, an even pair in wave64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneMask {
    /// 32 lanes.
    W32(Scalar),
    /// 64 lanes, named by its low register.
    W64(Scalar),
}

/// A load from a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Which.
    pub op: Op,
    /// First register loaded.
    pub data: Vgpr,
    /// What the lanes add to the address.
    pub address: BufferAddress,
    /// First of the four registers of the descriptor.
    pub resource: Sgpr,
    /// Scalar byte offset: a register or an inline constant.
    pub soffset: Src,
    /// Constant byte offset, 12 bits.
    pub offset: u16,
    /// The format, for typed loads.
    pub format: Option<BufferFormat>,
    /// Cache policy.
    pub cache: Cache,
}

/// What the lanes add to a buffer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferAddress {
    /// Nothing.
    Off,
    /// A record index (`idxen`).
    Index(Vgpr),
    /// A byte offset (`offen`).
    Offset(Vgpr),
    /// Index in this register, offset in the next.
    IndexOffset(Vgpr),
}

/// Cache policy bits of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cache {
    /// Globally coherent.
    pub glc: bool,
    /// System level coherent.
    pub slc: bool,
    /// Device level coherent.
    pub dlc: bool,
}

/// Where an export goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpTarget {
    /// Colour target 0 to 7.
    Mrt(u8),
    /// Depth, stencil, sample mask.
    Mrtz,
    /// Nowhere: only says that the shader is done.
    Null,
    /// Position vector 0 to 4.
    Pos(u8),
    /// Primitive.
    Prim,
    /// Parameter 0 to 31.
    Param(u8),
}

/// What an export sends; a source that is not there is `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpSources {
    /// Four dwords.
    Full([Option<Vgpr>; 4]),
    /// Two dwords of two halves each (`compr`).
    Packed([Option<Vgpr>; 2]),
}

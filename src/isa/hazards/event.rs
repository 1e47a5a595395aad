//! What an instruction can do, as far as hazards ask ([`Seen::is`](crate::Seen::is)).

use crate::{Counter, Op};

/// A property of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HazardEvent {
    /// One operation.
    Is(Op),
    /// An atomic of vector memory that depends on the denormal mode.
    FloatAtomic,
    /// A vector instruction.
    Vector,
    /// One that is more than an idle cycle.
    VectorOtherThanNop,
    /// A vector instruction with a scalar result.
    VectorWritesScalar,
    /// A vector instruction that writes EXEC: `v_cmpx`.
    VectorWritesExec,
    /// An instruction that reads EXEC, and is none of vector arithmetic.
    ReadsExecOutsideVector,
    /// A permutation of the lanes of rows.
    Permlane,
    /// Scalar arithmetic, program control, or scalar memory.
    Scalar,
    /// Scalar arithmetic with a result.
    ScalarResult,
    /// Scalar memory.
    ScalarMemory,
    /// Vector memory with a result, which vmcnt counts.
    VectorLoad,
    /// Vector memory without one, which vscnt counts.
    VectorStore,
    /// Vector memory.
    VectorMemory,
    /// LDS, or an access by address that may be one.
    Lds,
    /// An image access with a list of addresses, of four dwords or more.
    LongImage,
    /// An image access with a list of addresses.
    SeparateAddresses,
    /// A buffer access with bit 1 or 2 set in its constant offset.
    MisalignedBuffer,
    /// A branch or jump.
    Branch,
    /// A wait for any counter.
    AnyWait,
    /// A wait until a counter is 0.
    Drains(Counter),
    /// An `s_waitcnt_depctr` with these bits at 0.
    Clears(u16),
}

//! Sequences that depend on which registers vector instructions touched, and how long ago: gfx11 does not always see that
//! a result is not there yet. All are harmless after an `s_waitcnt_depctr` whose field of [`depctr`]
//! is 0; data of LDS that go directly to registers have a field of their own for vector instructions.
//!
//! Sources: LLVM, `GCNHazardRecognizer.cpp` (`fixVALUTransUseHazard`, `fixVALUPartialForwardingHazard`,
//! `fixVALUMaskWriteHazard`, `fixLdsDirectVALUHazard`, `fixLdsDirectVMEMHazard`); Mesa, `aco_insert_NOPs.cpp`. Where they
//! differ, the stricter one: Mesa ends `MaskWrite` where vector arithmetic reads another scalar register, LLVM does not;
//! it ends `LdsDirectAfterVector` by a `depctr`, and `LdsDirectAfterMemory` by a wait for the access' own counter, where LLVM
//! wants all of `s_waitcnt` at 0. One exception: near a transcendental LLVM has LDS wait for all vector instructions even if
//! none of them touches its register.

use dovetail_base::target::WaveSize;

/// A kind of sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterHazard {
    /// A transcendental writes a register, and vector arithmetic reads it with fewer than [`Self::VALUS_AFTER_TRANS`] vector
    /// instructions and fewer than [`Self::TRANS_AFTER_TRANS`] transcendentals between.
    TransUse,
    /// Vector arithmetic reads two registers, of which the first was written before, and the second after a scalar
    /// instruction wrote EXEC. The second at most [`Self::VALUS_AFTER_SECOND`] vector instructions ago, the first at most
    /// [`Self::VALUS_AFTER_FIRST`].
    PartialForwarding,
    /// Vector arithmetic reads scalar registers as a lane mask, something writes them, something reads them.
    MaskWrite,
    /// A vector instruction touches a register, and data of LDS go directly there. They have to wait until no more vector
    /// instructions are outstanding than came between, which the field of the instruction says; with a transcendental
    /// among them, until none is. After [`Self::VALUS_BEFORE_LDS_DIRECT`] it is done.
    LdsDirectAfterVector,
    /// A memory access uses a register, and data of LDS go directly there.
    LdsDirectAfterMemory,
    /// Vector arithmetic has ever read a pair of scalar registers, something writes one of them, and something reads that: a
    /// scalar instruction or vector arithmetic after a scalar one, vector arithmetic after vector arithmetic. M0, EXEC and
    /// NULL have none. Mesa ends it after 10 or 11 scalar instructions, which LLVM does not, and LLVM by scalar memory, buffers
    /// and images, which Mesa does not: here nothing but the wait ends it.
    PairWrite,
}

impl RegisterHazard {
    /// Vector instructions after a transcendental that make its result safe.
    pub const VALUS_AFTER_TRANS: u8 = 6;
    /// Transcendentals after another one that make its result safe.
    pub const TRANS_AFTER_TRANS: u8 = 2;
    /// Most vector instructions between the later one of two written registers and the instruction that reads both.
    pub const VALUS_AFTER_SECOND: u8 = 4;
    /// Most between the earlier one and that.
    pub const VALUS_AFTER_FIRST: u8 = Self::VALUS_AFTER_SECOND + 1 + 2;

    /// Vector instructions that make a register safe for data of LDS: all that their field can name.
    pub const VALUS_BEFORE_LDS_DIRECT: u8 = 15;

    /// LLVM's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransUse => "VALUTransUseHazard",
            Self::PartialForwarding => "VALUPartialForwardingHazard",
            Self::MaskWrite => "VALUMaskWriteHazard",
            Self::LdsDirectAfterVector => "LdsDirectVALUHazard",
            Self::LdsDirectAfterMemory => "LdsDirectVMEMHazard",
            Self::PairWrite => "VALUReadSGPRHazard",
        }
    }

    /// Whether waves of this size have it.
    pub const fn concerns(self, wave: WaveSize) -> bool {
        match self {
            Self::TransUse | Self::LdsDirectAfterVector | Self::LdsDirectAfterMemory | Self::PairWrite => true,
            Self::PartialForwarding | Self::MaskWrite => matches!(wave, WaveSize::W64),
        }
    }
}

/// Fields of the constant of `s_waitcnt_depctr`; one at 0 is waited for (LLVM, `AMDGPUBaseInfo`, `DepCtr`).
pub mod depctr {
    /// All vector results in vector registers.
    pub const VECTOR_RESULTS: u16 = 0xf000;
    /// All vector results in scalar registers other than VCC.
    pub const SCALARS_OF_VECTOR: u16 = 0x0e00;
    /// All sources of vector memory are read.
    pub const MEMORY_SOURCES: u16 = 0x001c;
    /// All vector results in VCC.
    pub const VCC_OF_VECTOR: u16 = 0x0002;
    /// All scalar results.
    pub const SCALARS: u16 = 0x0001;
}

/// gfx11.
pub(crate) const GFX11: &[RegisterHazard] = &[
    RegisterHazard::TransUse,
    RegisterHazard::PartialForwarding,
    RegisterHazard::MaskWrite,
    RegisterHazard::LdsDirectAfterVector,
    RegisterHazard::LdsDirectAfterMemory,
];

/// gfx11.5.
pub(crate) const GFX115: &[RegisterHazard] = &[
    RegisterHazard::PartialForwarding,
    RegisterHazard::MaskWrite,
    RegisterHazard::LdsDirectAfterVector,
    RegisterHazard::LdsDirectAfterMemory,
];

/// gfx12 (LLVM, `AMDGPUWaitSGPRHazards`; Mesa, `VALUReadSGPRHazard`). Data of LDS wait for vector memory by a bit of their own,
/// which is always clear.
pub(crate) const GFX12: &[RegisterHazard] = &[RegisterHazard::LdsDirectAfterVector, RegisterHazard::PairWrite];

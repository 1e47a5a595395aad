//! Sequences of instructions that the hardware does not interlock, by family.
//!
//! A row says what must not follow what. The generator keeps its code apart by them (`compile/native/hazards.rs`), and the
//! checker finds code that is not, each in its own way.

use super::{Op, Traits};

/// An instruction that must not come too soon after another one.
#[derive(Clone, Copy, Debug)]
pub struct Hazard {
    /// Traits of the earlier instruction.
    pub first: Traits,
    /// The later instruction.
    pub second: Op,
    /// Wait states that have to be between them: an instruction is one, `s_nop n` is n + 1. Vector arithmetic and waits
    /// for counters are as good as all of them.
    pub states: u8,
}

/// gfx10.3 (LLVM, `GCNHazardRecognizer::checkFPAtomicToDenormModeHazard`). The other hazards in LLVM's and Mesa's lists
/// are of gfx10.1 or of gfx11 and later.
pub(super) static GFX103: &[Hazard] = &[Hazard { first: Traits::FLOAT_ATOMIC, second: Op::SDenormMode, states: 3 }];

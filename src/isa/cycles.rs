//! Cycles of latency classes, for scheduling and for estimates of code.
//!
//! Round numbers, not measured on hardware: those of memory are what RDNA2 shaders see on a busy chip with most accesses
//! in a cache (Mesa's and LLVM's schedulers assume 100 to 500), the others follow from AMD's "RDNA2 ISA" and the
//! latencies that both schedulers give the units.

use super::{Latency, Op};
use crate::target::WaveSize;

impl Latency {
    /// Cycles from the issue of an instruction until its result can be read without a stall.
    pub const fn result(self) -> u32 {
        match self {
            Self::None | Self::Control => 1,
            Self::Salu => 2,
            Self::Smem => 200,
            Self::Valu => 5,
            Self::Wide | Self::QuarterRate | Self::Interp => 8,
            Self::Transcendental => 10,
            Self::Double => 22,
            Self::DoubleTranscendental => 24,
            Self::Lds => 60,
            Self::VectorMemory => 320,
            Self::Sample => 400,
            Self::Export => 16,
            Self::Message => 100,
        }
    }

    /// Cycles in which the wave issues nothing else of the unit.
    pub const fn issue(self, wave: WaveSize) -> u32 {
        let passes = match wave {
            WaveSize::W32 => 1,
            WaveSize::W64 => 2,
        };
        match self {
            Self::Valu | Self::Interp => passes,
            Self::Wide => 2 * passes,
            Self::Transcendental | Self::QuarterRate => 4 * passes,
            Self::Double => 16 * passes,
            Self::DoubleTranscendental => 20 * passes,
            _ => 1,
        }
    }
}

/// Estimated executions of code in so many nested loops: eight times for each loop, and for four loops at most.
pub const fn loop_weight(depth: u32) -> u64 {
    let depth = if depth < 4 { depth } else { 4 };
    8u64.pow(depth)
}

/// Whether an instruction only fills up the code.
pub const fn is_padding(op: Op) -> bool {
    matches!(op, Op::SNop | Op::SCodeEnd)
}

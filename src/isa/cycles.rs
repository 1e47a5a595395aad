//! Cycles of each latency class, for scheduling and for cost estimates of code.
//!
//! Round numbers, not measured on hardware. Memory latencies are those of a busy RDNA2 chip with most accesses hitting
//! a cache (Mesa's and LLVM's schedulers assume 100 to 500). The others follow from AMD's "RDNA2 ISA" and from the
//! latencies that both schedulers assign to the units.

use super::{Latency, Op};
use dovetail_base::target::WaveSize;

impl Latency {
    /// Whether the transcendental unit makes the result.
    pub const fn is_transcendental(self) -> bool {
        matches!(self, Self::Transcendental | Self::DoubleTranscendental)
    }

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

    /// Cycles during which the wave cannot issue another instruction to the unit.
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

/// Estimated number of executions of code at this loop depth: eight per loop, for four loops at most.
pub const fn loop_weight(depth: u32) -> u64 {
    let depth = if depth < 4 { depth } else { 4 };
    8u64.pow(depth)
}

/// Whether an instruction is only padding, or a hint about others.
pub const fn is_padding(op: Op) -> bool {
    matches!(op, Op::SNop | Op::SCodeEnd | Op::SDelayAlu)
}

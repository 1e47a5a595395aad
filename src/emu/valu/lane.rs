//! Signature of operations on one lane.

use crate::emu::mode::Mode;

/// Result of one lane from its operands' bits.
pub type LaneFn = fn(Mode, [u64; 3]) -> u64;

//! The signature of operations on one lane: the mode, and up to three sources' bits.

use crate::emu::mode::Mode;

/// Result of one lane from its operands' bits.
pub type LaneFn = fn(Mode, [u64; 3]) -> u64;

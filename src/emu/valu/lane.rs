//! Signature of operations on one lane: MODE and the bits of up to three sources.

use crate::mode::Mode;

/// Computes one lane's result from the bits of its operands.
pub type LaneFn = fn(Mode, [u64; 3]) -> u64;

//! The form that every operation of one lane has.

use crate::emu::mode::Mode;

/// What one lane computes of its operands' bits.
pub type Lane = fn(Mode, [u64; 3]) -> u64;

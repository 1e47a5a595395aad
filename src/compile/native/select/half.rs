//! Halves of dwords.

use crate::mir::OperandValue;

/// A 16-bit value as a half of a dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    /// The dword.
    pub word: OperandValue,
    /// The value is its high half.
    pub high: bool,
}

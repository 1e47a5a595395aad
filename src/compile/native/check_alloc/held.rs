//! What a location of allocated code may hold.

use crate::mir::{Operand, OperandValue, Val};
use dovetail_ir::SymbolId;

/// A content that a location may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldValue {
    /// A value of the original code.
    Val(Val),
    /// A constant.
    Const(u32),
    /// A literal that the linker fills in.
    Reloc(SymbolId),
    /// The content that an original instruction wrote to a fixed register.
    Fixed,
    /// The result with this number.
    Result(u32),
    /// EXEC, for the code after an access to memory for the first lane alone.
    Exec,
}

impl HeldValue {
    /// The content that an operand of the original code denotes.
    pub fn of(operand: &Operand) -> Option<Self> {
        match operand.what {
            OperandValue::Val(val) => Some(Self::Val(val)),
            OperandValue::Const(bits) => Some(Self::Const(bits)),
            OperandValue::Reloc(symbol) => Some(Self::Reloc(symbol)),
            OperandValue::Fixed(_) | OperandValue::Undef => None,
        }
    }
}

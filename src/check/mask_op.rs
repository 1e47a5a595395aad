//! Scalar operations on lane masks, of either width.

use dovetail_isa::Op;

/// Bitwise operation on the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskOp {
    Mov,
    /// Whole quad mode.
    Wqm,
    And,
    Or,
    Xor,
    /// Inverts the first operand.
    Andn1,
    /// Inverts the second operand.
    Andn2,
    /// Selects the first or the second operand.
    Select,
}

/// Role of EXEC in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskForm {
    /// An ordinary operand or none.
    Plain,
    /// EXEC is operand 2 and gets the result; dst gets the old EXEC.
    Save,
    /// EXEC is operand 2; EXEC and dst both get the result.
    Write,
}

/// Form and bitwise operation of a mask instruction.
pub(super) fn mask_op(op: Op) -> Option<(MaskForm, MaskOp)> {
    use MaskForm::{Plain, Save, Write};
    Some(match op {
        Op::SMovB32 | Op::SMovB64 => (Plain, MaskOp::Mov),
        Op::SWqmB32 | Op::SWqmB64 => (Plain, MaskOp::Wqm),
        Op::SAndB32 | Op::SAndB64 => (Plain, MaskOp::And),
        Op::SOrB32 | Op::SOrB64 => (Plain, MaskOp::Or),
        Op::SXorB32 | Op::SXorB64 => (Plain, MaskOp::Xor),
        Op::SAndn2B32 | Op::SAndn2B64 => (Plain, MaskOp::Andn2),
        Op::SCselectB32 | Op::SCselectB64 => (Plain, MaskOp::Select),
        Op::SAndSaveexecB32 | Op::SAndSaveexecB64 => (Save, MaskOp::And),
        Op::SOrSaveexecB32 | Op::SOrSaveexecB64 => (Save, MaskOp::Or),
        Op::SXorSaveexecB32 | Op::SXorSaveexecB64 => (Save, MaskOp::Xor),
        Op::SAndn1SaveexecB32 | Op::SAndn1SaveexecB64 => (Save, MaskOp::Andn1),
        Op::SAndn2SaveexecB32 | Op::SAndn2SaveexecB64 => (Save, MaskOp::Andn2),
        Op::SAndn1WrexecB32 | Op::SAndn1WrexecB64 => (Write, MaskOp::Andn1),
        Op::SAndn2WrexecB32 | Op::SAndn2WrexecB64 => (Write, MaskOp::Andn2),
        _ => return None,
    })
}

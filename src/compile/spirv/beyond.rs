//! Instructions newer than the decoder's grammar, decoded as a known form.
//!
//! A stand-in has operands of the same kinds, but types that valid modules never give it, so that its translation can
//! tell the two apart. To add one: its opcode and stand-in here, its capability, and an arm where the stand-in is
//! translated.

use spirv::Op;

/// SPV_VALVE_mixed_float_dot_product: f16 inputs with a 32-bit and with a 16-bit sum.
const CAPABILITIES: [u32; 2] = [6912, 6913];

/// Whether these words declare a capability that only this module knows.
pub fn is_capability(words: &[u32]) -> bool {
    matches!(words, [first, n] if first & 0xffff == Op::Capability as u32 && CAPABILITIES.contains(n))
}

/// The known instruction as which an opcode is decoded.
pub fn stand_in(opcode: u32) -> Option<Op> {
    match opcode {
        // OpFDot2MixAcc32VALVE, OpFDot2MixAcc16VALVE: integer dot products never have floats.
        6916 | 6917 => Some(Op::SDotAccSat),
        _ => None,
    }
}

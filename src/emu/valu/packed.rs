//! Packed f16 and mixed precision (isa-gfx10 3.5).

use super::lane::LaneFn;
use crate::mode::{Mode, from_f16};
use dovetail_isa::OperandKind;
use dovetail_isa::instruction::Modifiers;

/// Both halves of a packed operation.
pub fn both(lane: LaneFn, mode: Mode, mods: &Modifiers, kind: OperandKind, clamp: bool, values: [u64; 3]) -> u64 {
    let half = |select: u8, negate: u8| {
        let mut operands = [0; 3];
        for (i, (operand, value)) in operands.iter_mut().zip(values).enumerate() {
            let shift = if select >> i & 1 == 1 { 16 } else { 0 };
            let flip = if kind == OperandKind::PF16 && negate >> i & 1 == 1 { 0x8000 } else { 0 };
            *operand = value >> shift & 0xffff ^ flip;
        }
        let result = lane(mode, operands) & 0xffff;
        if clamp && kind == OperandKind::PF16 { clamped(mode, result) } else { result }
    };
    half(mods.op_sel, mods.neg) | half(mods.op_sel_hi, mods.neg_hi) << 16
}

fn clamped(mode: Mode, bits: u64) -> u64 {
    let x = from_f16(bits as u16);
    if x.is_nan() {
        return if mode.dx10_clamp() { 0 } else { bits };
    }
    mode.out16(x.clamp(0.0, 1.0))
}

/// `v_fma_mix`: each source is an f32, or the f16 that `op_sel` selects; the `neg_hi` field means absolute value.
pub fn mix(mode: Mode, mods: &Modifiers, kind: OperandKind, values: [u64; 3]) -> u64 {
    let mut operands = [0.0; 3];
    for (i, (operand, value)) in operands.iter_mut().zip(values).enumerate() {
        let bit = |set: u8| set >> i & 1 == 1;
        let mut x = match (bit(mods.op_sel_hi), bit(mods.op_sel)) {
            (false, _) => f64::from(mode.in32(value)),
            (true, false) => mode.in16(value),
            (true, true) => mode.in16(value >> 16),
        };
        if bit(mods.neg_hi) {
            x = x.abs();
        }
        *operand = if bit(mods.neg) { -x } else { x };
    }
    let [a, b, c] = operands;
    let clamp = |x: f64| match (mods.clamp, x.is_nan()) {
        (false, _) => x,
        (true, true) if mode.dx10_clamp() => 0.0,
        (true, true) => x,
        (true, false) => x.clamp(0.0, 1.0),
    };
    if kind == OperandKind::F16 {
        mode.out16(clamp(crate::mode::odd_add(a * b, c)))
    } else {
        mode.narrow32(clamp(crate::mode::odd_add(a * b, c)))
    }
}

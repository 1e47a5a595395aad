//! Interpolation from registers: a multiply-add whose parameters come from the first lanes of each quad, whatever EXEC says,
//! where a parameter load has left P0, P10 and P20 (AMD, "RDNA3 Instruction Set Architecture", VINTERP; LLVM,
//! `VINTERPInstructions.td`).
//!
//! Each is rounded once, to the format of its result; halves among the sources are widened first (K).

use super::lane::LaneFn;
use crate::mode::{Mode, Round, odd_add, to_f32};
use crate::wave::Lanes;
use dovetail_isa::Op;

/// An interpolation.
#[derive(Clone, Copy)]
pub struct Interpolation {
    /// The lane of the quad that has the factor.
    factor: usize,
    /// The lane of the quad that has the addend; `None`: each lane has its own.
    addend: Option<usize>,
    /// Function of a lane.
    lane: LaneFn,
}

/// The operation of an opcode.
pub fn resolve(op: Op) -> Option<Interpolation> {
    let first = |lane| Some(Interpolation { factor: 1, addend: Some(0), lane });
    let second = |lane| Some(Interpolation { factor: 2, addend: None, lane });
    match op {
        Op::VInterpP10F32 => first(|mode, values| fma(mode, values.map(|bits| mode.in32(bits)))),
        Op::VInterpP2InregF32 => second(|mode, values| fma(mode, values.map(|bits| mode.in32(bits)))),
        Op::VInterpP10F16F32 => first(|mode, values| mode.narrow32(sum(mode, values, true))),
        Op::VInterpP10RtzF16F32 => first(|mode, values| mode.out32(to_f32(sum(mode, values, true), Round::Zero))),
        Op::VInterpP2F16F32 => second(|mode, values| mode.out16(sum(mode, values, false))),
        Op::VInterpP2RtzF16F32 => second(|mode, values| mode.out16_rounded(sum(mode, values, false), Round::Zero)),
        _ => None,
    }
}

fn fma(mode: Mode, [factor, weight, addend]: [f32; 3]) -> u64 {
    mode.fma32(factor, weight, addend)
}

/// With a factor of 16 bits, and maybe such an addend; rounded to odd if inexact.
fn sum(mode: Mode, [factor, weight, addend]: [u64; 3], narrow: bool) -> f64 {
    let addend = if narrow { mode.in16(addend) } else { f64::from(mode.in32(addend)) };
    odd_add(mode.in16(factor) * f64::from(mode.in32(weight)), addend)
}

impl Interpolation {
    /// The result of a lane, from the operands of all.
    pub fn of(&self, mode: Mode, lane: usize, [factors, weights, addends]: &[Lanes; 3]) -> u64 {
        let quad = lane & !3;
        let addend = self.addend.map_or(lane, |n| quad + n);
        (self.lane)(mode, [factors[quad + self.factor], weights[lane], addends[addend]])
    }
}

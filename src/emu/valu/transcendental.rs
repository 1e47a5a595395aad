//! Reciprocals, roots, exponentials, logarithms, sines (isa-gfx10 3.6).
//!
//! The hardware approximates; the emulator rounds correctly, which is within any error bound. In f32 these operations
//! flush denormals whatever MODE says (K).

use super::lane::LaneFn;
use dovetail_isa::Op;
use std::f64::consts::TAU;

/// Operation of an opcode.
pub fn resolve(op: Op) -> Option<LaneFn> {
    macro_rules! single {
        (|$a:ident| $e:expr) => {
            |_, [a, _, _]| {
                let $a = f64::from(flush(f32::from_bits(a as u32)));
                u64::from(flush($e as f32).to_bits())
            }
        };
    }
    Some(match op {
        Op::VRcpF32 | Op::VRcpIflagF32 => single!(|a| 1.0 / a),
        Op::VRsqF32 => single!(|a| rsq(a)),
        Op::VSqrtF32 => single!(|a| a.sqrt()),
        Op::VExpF32 => single!(|a| a.exp2()),
        Op::VLogF32 => single!(|a| a.log2()),
        Op::VSinF32 => single!(|a| sin(a)),
        Op::VCosF32 => single!(|a| cos(a)),
        _ => return None,
    })
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// 1/√x; −∞ for −0.
pub(super) fn rsq(x: f64) -> f64 {
    if x == 0.0 { 1.0 / x } else { 1.0 / x.sqrt() }
}

/// The sine of an angle in turns.
pub(super) fn sin(turns: f64) -> f64 {
    let part = turns - turns.floor();
    // Multiples of a quarter turn are exact.
    if part == 0.0 || part == 0.5 { 0.0 } else { (part * TAU).sin() }
}

/// The cosine of an angle in turns.
pub(super) fn cos(turns: f64) -> f64 {
    let part = turns - turns.floor();
    if part == 0.25 || part == 0.75 { 0.0 } else { (part * TAU).cos() }
}

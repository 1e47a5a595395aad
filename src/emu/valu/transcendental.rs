//! Reciprocals, roots, exponentials, logarithms, sines (isa-gfx10 3.6).
//!
//! The hardware approximates; the correctly rounded value here is within any bound it may promise. In f32 these
//! operations flush denormals whatever MODE says (K).

use super::lane::LaneFn;
use std::f64::consts::TAU;

/// Operation of a mnemonic.
pub fn resolve(name: &str) -> Option<LaneFn> {
    macro_rules! single {
        (|$a:ident| $e:expr) => {
            |_, [a, _, _]| {
                let $a = f64::from(flush(f32::from_bits(a as u32)));
                u64::from(flush($e as f32).to_bits())
            }
        };
    }
    Some(match name {
        "v_rcp_f32" | "v_rcp_iflag_f32" => single!(|a| 1.0 / a),
        "v_rsq_f32" => single!(|a| rsq(a)),
        "v_sqrt_f32" => single!(|a| a.sqrt()),
        "v_exp_f32" => single!(|a| a.exp2()),
        "v_log_f32" => single!(|a| a.log2()),
        "v_sin_f32" => single!(|a| sin(a)),
        "v_cos_f32" => single!(|a| cos(a)),
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
    // Quarters are exact.
    if part == 0.0 || part == 0.5 { 0.0 } else { (part * TAU).sin() }
}

/// The cosine of an angle in turns.
pub(super) fn cos(turns: f64) -> f64 {
    let part = turns - turns.floor();
    if part == 0.25 || part == 0.75 { 0.0 } else { (part * TAU).cos() }
}

//! Bounds of a 32-bit offset, found without control flow: its low zero bits, and its largest value.

use super::{AluOp, Inst, Op, Shader, Value};

/// Number of operations that are examined at most.
const EFFORT: u32 = 24;

/// Number of low bits that are certainly zero.
pub fn low_zeros(shader: &Shader, v: Value) -> u32 {
    zeros(shader, v, &mut { EFFORT })
}

fn zeros(shader: &Shader, v: Value, left: &mut u32) -> u32 {
    if let Some(bits) = shader.as_const(v) {
        return (bits as u32).trailing_zeros();
    }
    let (Some(Inst { op: Op::Alu(op, _), args, .. }), Some(rest)) = (shader.def(v), left.checked_sub(1)) else {
        return 0;
    };
    *left = rest;
    let mut of = |n: usize| args.get(n).map_or(0, |v| zeros(shader, *v, left));
    let known = |n: usize| args.get(n).and_then(|v| shader.as_const(*v));
    let sum = match op {
        AluOp::Shl => known(1).map_or(0, |k| k.min(32) as u32) + of(0),
        AluOp::IMul => of(0) + of(1),
        AluOp::IAdd | AluOp::ISub | AluOp::IOr => of(0).min(of(1)),
        AluOp::IAnd => of(0).max(of(1)),
        AluOp::Select => of(1).min(of(2)),
        _ => 0,
    };
    sum.min(32)
}

/// The largest possible value.
pub fn greatest(shader: &Shader, v: Value) -> u64 {
    most(shader, v, &mut { EFFORT })
}

fn most(shader: &Shader, v: Value, left: &mut u32) -> u64 {
    let all = shader.ty(v).bits().mask();
    if let Some(bits) = shader.as_const(v) {
        return bits;
    }
    let (Some(Inst { op: Op::Alu(op, _), args, .. }), Some(rest)) = (shader.def(v), left.checked_sub(1)) else {
        return all;
    };
    *left = rest;
    let mut of = |n: usize| args.get(n).map_or(all, |v| most(shader, *v, left));
    let known = |n: usize| args.get(n).and_then(|v| shader.as_const(*v)).filter(|k| *k < 32);
    let bound = match op {
        AluOp::IAnd | AluOp::UMin => of(0).min(of(1)),
        AluOp::LShr => known(1).map_or(all, |k| of(0) >> k),
        AluOp::Shl => known(1).map_or(all, |k| of(0).saturating_mul(1 << k)),
        AluOp::IMul => of(0).saturating_mul(of(1)),
        AluOp::IAdd => of(0).saturating_add(of(1)),
        AluOp::UMax | AluOp::Select => of(args.len() - 2).max(of(args.len() - 1)),
        AluOp::ZExt => of(0),
        AluOp::UMod => of(1).saturating_sub(1),
        _ => all,
    };
    // A bound above the width means that the result may have wrapped.
    if bound > all { all } else { bound }
}

/// Whether none of the `length` offsets from `base + start` on wraps.
pub fn stays_in_range(shader: &Shader, base: Option<Value>, start: u32, length: u32) -> bool {
    let end = u64::from(start) + u64::from(length);
    let Some(base) = base else { return end <= 1 << 32 };
    let chunk = 1u64 << low_zeros(shader, base);
    u64::from(start) % chunk + u64::from(length) <= chunk || greatest(shader, base).saturating_add(end) <= 1 << 32
}

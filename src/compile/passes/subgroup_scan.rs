//! Reductions and scans over lanes, correct if any lanes are inactive: these contribute the identity.
//!
//! Every lane computes between `SetInactive` and `StrictWwm`. A step combines each lane's value with that of a lane 1,
//! 2, 4 or 8 away in its row of 16 (DPP), then across the two rows of a half, then across the halves.

use super::lower_subgroup::{Pieces, amd, joined, pieces};
use dovetail_base::target::WaveSize;
use dovetail_ir::{AluOp, Bits, Builder, LaneOp, ReduceOp, Type, Value};

/// An intermediate value, in all lanes.
pub(super) struct State {
    op: AluOp,
    ty: Type,
    value: Value,
    identity: Pieces,
}

/// Runs `steps` with all lanes active; inactive lanes have the identity.
pub(super) fn all_lanes(
    b: &mut Builder<'_>,
    v: Value,
    op: ReduceOp,
    steps: impl FnOnce(&mut Builder<'_>, &mut State),
) -> Value {
    let ty = b.ty(v);
    let identity = identity(b, op, ty);
    let identity = pieces(b, identity);
    let on: Pieces = pieces(b, v).iter().zip(&identity).map(|(&p, &i)| amd(b, LaneOp::SetInactive, &[p, i])).collect();
    let value = joined(b, &on, ty);
    let mut state = State { op: alu(op), ty, value, identity };
    steps(b, &mut state);
    let off: Pieces = pieces(b, state.value).iter().map(|&p| amd(b, LaneOp::StrictWwm, &[p])).collect();
    joined(b, &off, ty)
}

/// Combines clusters of this many lanes (a power of two up to the wave size); each lane gets its cluster's result.
pub(super) fn reduce(b: &mut Builder<'_>, s: &mut State, lanes: u32) {
    for distance in [1, 2, 4, 8] {
        if distance < lanes {
            s.combine(b, |b, p, identity| row(b, identity, p, 0x160 + distance as u16));
        }
    }
    if lanes >= 32 {
        s.combine(b, |b, p, _| other_row(b, p, 0, false));
    }
    if lanes >= 64 {
        let halves = [0, 32].map(|lane| s.moved(b, |b, p, _| read_lane(b, p, lane)));
        s.value = b.alu(s.op, &halves);
    }
}

/// Each lane gets the combination of the lanes up to itself.
pub(super) fn inclusive(b: &mut Builder<'_>, s: &mut State, wave: WaveSize) {
    for distance in [1, 2, 4, 8] {
        s.combine(b, |b, p, identity| row(b, identity, p, 0x110 + distance));
    }
    // The last lane of a row has the row's result: odd rows add the result of the row below.
    s.combine(b, |b, p, identity| {
        let last = other_row(b, p, u32::MAX, true);
        rows(b, identity, last, 0xa)
    });
    if wave == WaveSize::W64 {
        s.combine(b, |b, p, identity| {
            let last = read_lane(b, p, 31);
            rows(b, identity, last, 0xc)
        });
    }
}

/// Each lane gets the combination of the lanes below it: values move up by one lane, then [`inclusive`] runs.
pub(super) fn exclusive(b: &mut Builder<'_>, s: &mut State, wave: WaveSize) {
    s.value = s.moved(b, |b, p, identity| {
        let mut shifted = row(b, identity, p, 0x111);
        // DPP shifts do not cross rows, so the first lane of each row is written separately.
        for lane in (16..wave.lanes()).step_by(16) {
            let (below, to) = (read_lane(b, p, lane - 1), b.c32(lane));
            shifted = amd(b, LaneOp::WriteLane, &[below, to, shifted]);
        }
        shifted
    });
    inclusive(b, s, wave);
}

impl State {
    /// The value moved piece by piece; the closure gets a piece and its identity.
    fn moved(&self, b: &mut Builder<'_>, step: impl Fn(&mut Builder<'_>, Value, Value) -> Value) -> Value {
        let parts: Pieces = pieces(b, self.value).iter().zip(&self.identity).map(|(&p, &i)| step(b, p, i)).collect();
        joined(b, &parts, self.ty)
    }

    fn combine(&mut self, b: &mut Builder<'_>, step: impl Fn(&mut Builder<'_>, Value, Value) -> Value) {
        let other = self.moved(b, step);
        self.value = b.alu(self.op, &[other, self.value]);
    }
}

/// A value moved within rows; lanes without a source get the identity.
fn row(b: &mut Builder<'_>, identity: Value, v: Value, ctrl: u16) -> Value {
    amd(b, LaneOp::Dpp { ctrl, row_mask: 15, bank_mask: 15, bound_zero: false }, &[identity, v])
}

/// The value itself in some rows, the identity in the others.
fn rows(b: &mut Builder<'_>, identity: Value, v: Value, row_mask: u8) -> Value {
    amd(b, LaneOp::Dpp { ctrl: 0xe4, row_mask, bank_mask: 15, bound_zero: false }, &[identity, v])
}

/// The value of one lane of the other row of the pair.
fn other_row(b: &mut Builder<'_>, v: Value, selectors: u32, fetch_inactive: bool) -> Value {
    amd(b, LaneOp::PermlaneX16 { low: selectors, high: selectors, fetch_inactive }, &[v, v])
}

fn read_lane(b: &mut Builder<'_>, v: Value, lane: u32) -> Value {
    let lane = b.c32(lane);
    amd(b, LaneOp::ReadLane, &[v, lane])
}

fn alu(op: ReduceOp) -> AluOp {
    match op {
        ReduceOp::IAdd => AluOp::IAdd,
        ReduceOp::FAdd => AluOp::FAdd,
        ReduceOp::IMul => AluOp::IMul,
        ReduceOp::FMul => AluOp::FMul,
        ReduceOp::SMin => AluOp::SMin,
        ReduceOp::UMin => AluOp::UMin,
        ReduceOp::FMin => AluOp::FMin,
        ReduceOp::SMax => AluOp::SMax,
        ReduceOp::UMax => AluOp::UMax,
        ReduceOp::FMax => AluOp::FMax,
        ReduceOp::And => AluOp::IAnd,
        ReduceOp::Or => AluOp::IOr,
        ReduceOp::Xor => AluOp::IXor,
    }
}

/// The identity of an operator.
fn identity(b: &mut Builder<'_>, op: ReduceOp, ty: Type) -> Value {
    let ones = ty.bits().mask();
    let sign = (ones >> 1) + 1;
    // An exponent of all ones: all bits from its lowest to below the sign.
    let infinity = match ty.bits() {
        Bits::B16 => 0x7c00,
        Bits::B64 => 0x7ff0_0000_0000_0000,
        _ => 0x7f80_0000,
    };
    match op {
        // For floats too: -0 is the exact identity, but lane 0 of an exclusive scan returns it, and SPIR-V's identity
        // is +0.
        ReduceOp::IAdd | ReduceOp::FAdd | ReduceOp::Or | ReduceOp::Xor | ReduceOp::UMax => b.iconst(ty, 0),
        ReduceOp::IMul => b.iconst(ty, 1),
        ReduceOp::And | ReduceOp::UMin => b.iconst(ty, ones),
        ReduceOp::SMin => b.iconst(ty, ones >> 1),
        ReduceOp::SMax => b.iconst(ty, sign),
        ReduceOp::FMul => b.fconst(ty, 1.0),
        ReduceOp::FMin => b.iconst(ty, infinity),
        ReduceOp::FMax => b.iconst(ty, infinity | sign),
    }
}

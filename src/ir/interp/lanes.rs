//! Operations across the lanes of a wave: votes, shuffles, reductions, and differences in a quad.

use super::machine::Machine;
use super::shadow::{Shadow, of_float};
use super::wave::{Wave, lanes};
use dovetail_base::error::Result;
use dovetail_ir::number::{decode, float, integer};
use dovetail_ir::{AluOp, Bits, DerivativeKind, Inst, QuadSwap, ReduceOp, SubgroupOp};

/// Bits and their shadow.
type Lane = (u64, Shadow);

/// Runs a subgroup operation on the active lanes.
pub(super) fn subgroup(m: &Machine<'_>, wave: &mut Wave, inst: &Inst, op: SubgroupOp, mask: u64) -> Result<()> {
    use SubgroupOp as S;
    let size = m.options.subgroup_size as usize;
    let ty = inst.args.first().or(inst.result.as_ref()).map_or(Bits::B32, |&v| m.shader.ty(v).bits());
    let values: Vec<Lane> =
        (0..size).map(|lane| inst.args.first().map_or((0, Shadow::NONE), |&v| m.arg(wave, v, lane))).collect();
    let operand = |wave: &Wave, lane| inst.args.get(1).map_or((0, Shadow::NONE), |&v| m.arg(wave, v, lane));
    let active = || lanes(mask);
    let certain = Shadow::of_bits(&active().map(|l| values[l].1).collect::<Vec<_>>());
    let truths = active().fold(0, |bits, l| bits | (values[l].0 & 1) << l);
    let first = mask.trailing_zeros() as usize;
    // The value of a missing or inactive lane is undefined.
    let from = |at: Option<usize>| {
        let there = at.filter(|at| *at < size && mask >> at & 1 != 0);
        there.and_then(|at| values.get(at)).copied().unwrap_or((0, Shadow::UNCERTAIN))
    };
    let results: Vec<(usize, Lane)> = active()
        .map(|lane| {
            let (n, behind) = operand(wave, lane);
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            let shuffled = |at: Option<usize>| {
                let (bits, shadow) = from(at);
                (bits, if behind.is_exact() { shadow } else { Shadow::UNCERTAIN })
            };
            let result = match op {
                S::Elect => (u64::from(lane == first), Shadow::NONE),
                S::Ballot => (truths, certain),
                S::All => (u64::from(truths == mask), certain),
                S::Any => (u64::from(truths != 0), certain),
                S::AllEqual => (u64::from(active().all(|l| values[l].0 == values[first].0)), certain),
                S::Broadcast | S::Shuffle => shuffled(Some(n)),
                S::BroadcastFirst => from(Some(first)),
                S::ShuffleXor => shuffled(Some(lane ^ n)),
                S::ShuffleUp => shuffled(lane.checked_sub(n)),
                S::ShuffleDown => shuffled(lane.checked_add(n)),
                S::Rotate(cluster) => {
                    let cluster = if cluster == 0 { size } else { usize::from(cluster).min(size) };
                    let base = lane / cluster * cluster;
                    shuffled(Some(base + (lane - base).wrapping_add(n) % cluster))
                }
                S::Reduce(op, cluster) => {
                    let cluster = if cluster == 0 { size } else { usize::from(cluster).min(size) };
                    let base = lane / cluster * cluster;
                    fold(op, ty, active().filter(|l| (base..base + cluster).contains(l)).map(|l| values[l]))
                }
                S::InclusiveScan(op) => fold(op, ty, active().filter(|l| *l <= lane).map(|l| values[l])),
                S::ExclusiveScan(op) => fold(op, ty, active().filter(|l| *l < lane).map(|l| values[l])),
                S::QuadBroadcast => shuffled(Some(lane / 4 * 4 + n % 4)),
                S::QuadSwap(swap) => from(Some(
                    lane ^ match swap {
                        QuadSwap::Horizontal => 1,
                        QuadSwap::Vertical => 2,
                        QuadSwap::Diagonal => 3,
                    },
                )),
            };
            (lane, result)
        })
        .collect();
    // If it is uncertain whether a lane is active, every result that it contributes to is uncertain.
    let doubtful = wave.tainted & mask != 0 && !matches!(op, S::Broadcast | S::Shuffle | S::QuadBroadcast);
    for (lane, (bits, shadow)) in results {
        m.set(wave, inst, lane, bits, if doubtful { Shadow::UNCERTAIN } else { shadow });
    }
    Ok(())
}

/// A reduction in lane order; the identity if there are no values.
fn fold(op: ReduceOp, ty: Bits, values: impl Iterator<Item = Lane>) -> Lane {
    let (alu, identity) = match op {
        ReduceOp::IAdd => (AluOp::IAdd, 0),
        ReduceOp::IMul => (AluOp::IMul, 1),
        ReduceOp::FAdd => (AluOp::FAdd, super::encode(0.0, ty)),
        ReduceOp::FMul => (AluOp::FMul, super::encode(1.0, ty)),
        ReduceOp::SMin => (AluOp::SMin, ty.mask() >> 1),
        ReduceOp::SMax => (AluOp::SMax, (ty.mask() >> 1) + 1),
        ReduceOp::UMin => (AluOp::UMin, ty.mask()),
        ReduceOp::UMax => (AluOp::UMax, 0),
        ReduceOp::FMin => (AluOp::FMin, super::encode(f64::INFINITY, ty)),
        ReduceOp::FMax => (AluOp::FMax, super::encode(f64::NEG_INFINITY, ty)),
        ReduceOp::And => (AluOp::IAnd, ty.mask()),
        ReduceOp::Or => (AluOp::IOr, 0),
        ReduceOp::Xor => (AluOp::IXor, 0),
    };
    let combine = |x: Lane, y: Lane| {
        let (args, shadows) = ([x.0, y.0, 0], [x.1, y.1, Shadow::NONE]);
        if alu.takes_float() {
            let bits = float(alu, args, ty, ty).unwrap_or(0);
            (bits, of_float(alu, args, shadows, ty, ty, bits, Default::default()))
        } else {
            (integer(alu, args, ty, ty).unwrap_or(0), Shadow::of_bits(&shadows))
        }
    };
    values.reduce(combine).unwrap_or((identity, Shadow::NONE))
}

/// The difference to the neighbour in the quad: lanes 0 and 1 are above 2 and 3.
pub(super) fn derivative(m: &Machine<'_>, wave: &mut Wave, inst: &Inst, kind: DerivativeKind, mask: u64) -> Result<()> {
    let Some(&v) = inst.args.first() else { return Ok(()) };
    let ty = m.shader.ty(v).bits();
    for lane in lanes(mask) {
        let step = if kind.vertical { 2 } else { 1 };
        let difference = |low: usize| {
            let (x, y) = (m.arg(wave, v, low | step), m.arg(wave, v, low));
            let args = [x.0, y.0, 0];
            let bits = float(AluOp::FSub, args, ty, ty).unwrap_or(0);
            (bits, of_float(AluOp::FSub, args, [x.1, y.1, Shadow::NONE], ty, ty, bits, m.shader.modes.denorm))
        };
        let fine = difference(lane & !step);
        let (bits, shadow) = match kind.fine {
            true => fine,
            // Without a declaration as fine, both ways are allowed.
            false => {
                let (bits, shadow) = difference(lane / 4 * 4);
                let apart = (decode(bits, ty) - decode(fine.0, ty)).abs();
                let bound = shadow.bound.max(fine.1.bound) + apart;
                (bits, Shadow { bound, ..shadow })
            }
        };
        let whole = mask >> (lane / 4 * 4) & 15 == 15;
        m.set(wave, inst, lane, bits, if whole { shadow } else { Shadow::UNCERTAIN });
    }
    Ok(())
}

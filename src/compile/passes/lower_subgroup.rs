//! Turns subgroup operations and built-ins into lane primitives, for waves of 32 and 64 lanes.
//!
//! Lanes exchange 32 bits at a time: 64 bits are split in two, smaller values are widened (`Pieces`).
//! `subgroup_scan.rs` has reductions and scans. This runs before built-ins are lowered, because the subgroup's index
//! depends on the invocation's.

use super::local_id;
use super::lower_derivatives::quad_perm;
use super::subgroup_scan::{self, all_lanes};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    AluOp, AmdOp, Bits, BlockCall, Builder, BuiltIn, Inst, LaneOp, Merge, Op, QuadSwap, ReduceOp, Shader, SubgroupOp,
    Terminator, Type, Value,
};
use smallvec::{SmallVec, smallvec};

/// Lowers every subgroup operation, and the built-ins that depend only on the wave size.
///
/// # Errors
/// None but bugs.
pub fn run(shader: &mut Shader, wave: WaveSize) -> Result<()> {
    let stage = shader.stage;
    let wave = shader.lower.as_ref().map_or(wave, |lower| lower.wave);
    let workgroup = shader.modes.local_size.iter().fold(1u32, |n, &d| n.saturating_mul(d));
    rewrite(shader, |b, inst| match inst.op {
        Op::Subgroup(op) => operation(b, op, inst, wave, stage).map(Rewrite::Value),
        Op::LoadBuiltIn { builtin, component, .. } => {
            Ok(match builtin_value(b, builtin, component, wave, stage, workgroup) {
                Some(v) => Rewrite::Value(v),
                None => Rewrite::Keep,
            })
        }
        _ => Ok(Rewrite::Keep),
    })
}

/// A value as the 32-bit pieces in which lanes exchange it.
pub(super) type Pieces = SmallVec<[Value; 4]>;

/// Splits a value.
pub(super) fn pieces(b: &mut Builder<'_>, v: Value) -> Pieces {
    if b.ty(v) == Type::B64 {
        let both = b.bitcast(v, Type::vector(Bits::B32, 2).unwrap_or(Type::B64));
        b.split(both)
    } else {
        SmallVec::from_slice(&[b.convert(AluOp::ZExt, v, Type::B32)])
    }
}

/// Combines the pieces of a value.
pub(super) fn joined(b: &mut Builder<'_>, pieces: &[Value], ty: Type) -> Value {
    let whole = b.compose(pieces);
    if ty == Type::B64 { b.bitcast(whole, ty) } else { b.convert(AluOp::Trunc, whole, ty) }
}

/// Applies a primitive to every piece of a value.
fn moved(b: &mut Builder<'_>, v: Value, mut primitive: impl FnMut(&mut Builder<'_>, Value) -> Value) -> Value {
    let ty = b.ty(v);
    let mut parts = pieces(b, v);
    parts.iter_mut().for_each(|p| *p = primitive(b, *p));
    joined(b, &parts, ty)
}

pub(super) fn amd(b: &mut Builder<'_>, op: LaneOp, args: &[Value]) -> Value {
    b.value(Op::Target(AmdOp::Lane(op)), args, Type::B32)
}

/// Type of a mask with one bit per lane of the wave.
const fn mask_type(wave: WaveSize) -> Type {
    match wave {
        WaveSize::W32 => Type::B32,
        WaveSize::W64 => Type::B64,
    }
}

/// The index of the current lane.
fn lane_id(b: &mut Builder<'_>, wave: WaveSize) -> Value {
    let all = b.iconst(mask_type(wave), u64::MAX);
    amd(b, LaneOp::MaskBitCount, &[all])
}

fn ballot(b: &mut Builder<'_>, v: Value, wave: WaveSize) -> Value {
    b.value(Op::Target(AmdOp::Lane(LaneOp::Ballot)), &[v], mask_type(wave))
}

fn any(b: &mut Builder<'_>, v: Value, wave: WaveSize) -> Value {
    let (mask, none) = (ballot(b, v, wave), b.iconst(mask_type(wave), 0));
    b.alu(AluOp::INe, &[mask, none])
}

fn all(b: &mut Builder<'_>, v: Value, wave: WaveSize) -> Value {
    let not = b.alu(AluOp::INot, &[v]);
    let (mask, none) = (ballot(b, not, wave), b.iconst(mask_type(wave), 0));
    b.alu(AluOp::IEq, &[mask, none])
}

fn dpp(b: &mut Builder<'_>, v: Value, ctrl: u16) -> Value {
    let op = LaneOp::Dpp { ctrl, row_mask: 15, bank_mask: 15, bound_zero: true };
    moved(b, v, |b, p| amd(b, op, &[p, p]))
}

fn operation(b: &mut Builder<'_>, op: SubgroupOp, inst: &Inst, wave: WaveSize, stage: Stage) -> Result<Value> {
    let arg = |i: usize| inst.args.get(i).copied().ok_or_else(|| Error::bug("subgroup operation without its operand"));
    Ok(match op {
        SubgroupOp::Elect => {
            let on = b.cbool(true);
            let active = ballot(b, on, wave);
            let first = b.alu(AluOp::FindILsb, &[active]);
            let own = lane_id(b, wave);
            b.alu(AluOp::IEq, &[own, first])
        }
        SubgroupOp::Ballot => {
            let mask = ballot(b, arg(0)?, wave);
            b.convert(AluOp::ZExt, mask, Type::B64)
        }
        SubgroupOp::All => all(b, arg(0)?, wave),
        SubgroupOp::Any => any(b, arg(0)?, wave),
        SubgroupOp::AllEqual => {
            let v = arg(0)?;
            let mut equal = b.cbool(true);
            for p in pieces(b, v) {
                let first = amd(b, LaneOp::ReadFirstLane, &[p]);
                let same = b.alu(AluOp::IEq, &[p, first]);
                equal = b.alu(AluOp::IAnd, &[equal, same]);
            }
            all(b, equal, wave)
        }
        SubgroupOp::Broadcast => {
            let lane = arg(1)?;
            moved(b, arg(0)?, |b, p| amd(b, LaneOp::ReadLane, &[p, lane]))
        }
        SubgroupOp::BroadcastFirst => moved(b, arg(0)?, |b, p| amd(b, LaneOp::ReadFirstLane, &[p])),
        SubgroupOp::Shuffle => shuffle(b, arg(0)?, arg(1)?, wave),
        SubgroupOp::ShuffleXor => shuffle_xor(b, arg(0)?, arg(1)?, wave),
        SubgroupOp::ShuffleUp => {
            let own = lane_id(b, wave);
            let from = b.alu(AluOp::ISub, &[own, arg(1)?]);
            shuffle(b, arg(0)?, from, wave)
        }
        SubgroupOp::ShuffleDown => {
            let own = lane_id(b, wave);
            let from = b.alu(AluOp::IAdd, &[own, arg(1)?]);
            shuffle(b, arg(0)?, from, wave)
        }
        SubgroupOp::Rotate(cluster) => {
            let size = if cluster == 0 { wave.lanes() } else { u32::from(cluster).min(wave.lanes()) };
            let own = lane_id(b, wave);
            let (inside, outside) = (b.c32(size - 1), b.c32(!(size - 1)));
            let sum = b.alu(AluOp::IAdd, &[own, arg(1)?]);
            let (low, high) = (b.alu(AluOp::IAnd, &[sum, inside]), b.alu(AluOp::IAnd, &[own, outside]));
            let from = b.alu(AluOp::IOr, &[high, low]);
            // Within a half of wave64 no loop is needed.
            if size <= 32 { permute(b, arg(0)?, from) } else { shuffle(b, arg(0)?, from, wave) }
        }
        SubgroupOp::Reduce(op, cluster) => {
            let whole = cluster == 0 || u32::from(cluster) >= wave.lanes();
            let v = arg(0)?;
            match op {
                ReduceOp::And if whole && b.ty(v) == Type::B1 => all(b, v, wave),
                ReduceOp::Or if whole && b.ty(v) == Type::B1 => any(b, v, wave),
                _ => {
                    let lanes = if whole { wave.lanes() } else { u32::from(cluster) };
                    all_lanes(b, v, op, |b, s| subgroup_scan::reduce(b, s, lanes))
                }
            }
        }
        SubgroupOp::InclusiveScan(op) => all_lanes(b, arg(0)?, op, |b, s| subgroup_scan::inclusive(b, s, wave)),
        SubgroupOp::ExclusiveScan(op) => all_lanes(b, arg(0)?, op, |b, s| subgroup_scan::exclusive(b, s, wave)),
        SubgroupOp::QuadBroadcast => {
            let v = quad_broadcast(b, arg(0)?, arg(1)?);
            in_whole_quads(b, v, stage)
        }
        SubgroupOp::QuadSwap(swap) => {
            let lanes = match swap {
                QuadSwap::Horizontal => [1, 0, 3, 2],
                QuadSwap::Vertical => [2, 3, 0, 1],
                QuadSwap::Diagonal => [3, 2, 1, 0],
            };
            let v = dpp(b, arg(0)?, quad_perm(lanes));
            in_whole_quads(b, v, stage)
        }
    })
}

/// In a fragment shader, makes helper lanes of the quads compute the operand too.
fn in_whole_quads(b: &mut Builder<'_>, v: Value, stage: Stage) -> Value {
    if stage.shades_pixels() { moved(b, v, |b, p| amd(b, LaneOp::Wqm, &[p])) } else { v }
}

fn quad_broadcast(b: &mut Builder<'_>, v: Value, lane: Value) -> Value {
    let of = |b: &mut Builder<'_>, n: u64| dpp(b, v, quad_perm([(n & 3) as u16; 4]));
    if let Some(n) = b.shader.as_const(lane) {
        return of(b, n);
    }
    let mut result = of(b, 3);
    for n in (0..3).rev() {
        let (candidate, number) = (of(b, n), b.c32(n as u32));
        let this = b.alu(AluOp::IEq, &[lane, number]);
        result = b.select(this, candidate, result);
    }
    result
}

fn shuffle_xor(b: &mut Builder<'_>, v: Value, mask: Value, wave: WaveSize) -> Value {
    match b.shader.as_const(mask) {
        Some(0) => v,
        Some(n @ 1..=3) => dpp(b, v, quad_perm([0, 1, 2, 3].map(|lane| lane ^ n as u16))),
        Some(n @ 4..=15) => dpp(b, v, 0x160 + n as u16),
        Some(n @ 16..=31) => {
            // The other row of the pair, by a 4-bit selector per lane.
            let select = |first: u32| (0..8).map(|i| ((first + i) ^ (n as u32 & 15)) << (4 * i)).sum();
            let op = LaneOp::PermlaneX16 { low: select(0), high: select(8), fetch_inactive: false };
            moved(b, v, |b, p| amd(b, op, &[p, p]))
        }
        _ => {
            let own = lane_id(b, wave);
            let from = b.alu(AluOp::IXor, &[own, mask]);
            shuffle(b, v, from, wave)
        }
    }
}

/// The value of any lane.
fn shuffle(b: &mut Builder<'_>, v: Value, lane: Value, wave: WaveSize) -> Value {
    if b.shader.as_const(lane).is_some() {
        return moved(b, v, |b, p| amd(b, LaneOp::ReadLane, &[p, lane]));
    }
    match wave {
        WaveSize::W32 => permute(b, v, lane),
        WaveSize::W64 => shuffle_loop(b, v, lane),
    }
}

/// The value of any lane of the same 32.
fn permute(b: &mut Builder<'_>, v: Value, lane: Value) -> Value {
    let two = b.c32(2);
    let address = b.alu(AluOp::Shl, &[lane, two]);
    moved(b, v, |b, p| amd(b, LaneOp::BPermute, &[address, p]))
}

/// In wave64 ds_bpermute reaches only the same half, so this is a loop over source lanes: each iteration reads the
/// source of the first lane that is left, for all lanes with the same source. Served lanes stay in the loop, because
/// the value read from a lane must be in its registers, and code in a loop moves values only for the lanes in it.
fn shuffle_loop(b: &mut Builder<'_>, v: Value, lane: Value) -> Value {
    let ty = b.ty(v);
    let parts = pieces(b, v);
    let [header, next, done] = [(); 3].map(|()| b.new_block());
    let on = b.cbool(true);
    let mut first: SmallVec<[Value; 8]> = smallvec![ballot(b, on, WaveSize::W64)];
    first.extend(parts.iter().map(|_| b.undef(Type::B32)));
    b.jump(header, &first);

    b.switch_to(header);
    let left = b.shader.add_param(header, Type::B64);
    let before: SmallVec<[Value; 8]> = parts.iter().map(|_| b.shader.add_param(header, Type::B32)).collect();
    b.set_merge(Merge::Loop { merge: done, continue_to: next });
    let first = b.alu(AluOp::FindILsb, &[left]);
    let wish = amd(b, LaneOp::ReadLane, &[lane, first]);
    let mine = b.alu(AluOp::IEq, &[wish, lane]);
    let read: SmallVec<[Value; 8]> = parts.iter().map(|&p| amd(b, LaneOp::ReadLane, &[p, wish])).collect();
    let served: SmallVec<[Value; 8]> =
        read.iter().zip(before).map(|(&read, before)| b.select(mine, read, before)).collect();
    let now = ballot(b, mine, WaveSize::W64);
    let others = b.alu(AluOp::INot, &[now]);
    let left = b.alu(AluOp::IAnd, &[left, others]);
    b.jump(next, &[]);

    b.switch_to(next);
    let none = b.iconst(Type::B64, 0);
    let more = b.alu(AluOp::INe, &[left, none]);
    let args: SmallVec<[Value; 8]> = std::iter::once(left).chain(served.iter().copied()).collect();
    let then = BlockCall { block: header, args: &args };
    b.terminate(Terminator::Branch { cond: more, then, els: BlockCall::to(done) });

    b.switch_to(done);
    joined(b, &served, ty)
}

fn builtin_value(
    b: &mut Builder<'_>,
    builtin: BuiltIn,
    component: u8,
    wave: WaveSize,
    stage: Stage,
    workgroup: u32,
) -> Option<Value> {
    Some(match builtin {
        BuiltIn::SubgroupSize => b.c32(wave.lanes()),
        BuiltIn::SubgroupLocalInvocationId => lane_id(b, wave),
        BuiltIn::NumSubgroups if stage.has_workgroups() => b.c32(workgroup.div_ceil(wave.lanes())),
        BuiltIn::SubgroupId if stage.has_workgroups() => {
            let (index, shift) = (local_id::lane_order(b), b.c32(wave.lanes().trailing_zeros()));
            let wave_number = b.alu(AluOp::LShr, &[index, shift]);
            amd(b, LaneOp::ReadFirstLane, &[wave_number])
        }
        BuiltIn::SubgroupEqMask
        | BuiltIn::SubgroupGeMask
        | BuiltIn::SubgroupGtMask
        | BuiltIn::SubgroupLeMask
        | BuiltIn::SubgroupLtMask => lane_mask(b, builtin, component, wave),
        _ => return None,
    })
}

/// A dword of the mask of lanes whose index is equal to, below or above the current lane's.
fn lane_mask(b: &mut Builder<'_>, which: BuiltIn, component: u8, wave: WaveSize) -> Value {
    let ty = mask_type(wave);
    if u32::from(component) >= ty.bytes() / 4 {
        return b.c32(0);
    }
    let own = lane_id(b, wave);
    let own = b.convert(AluOp::ZExt, own, ty);
    let shifted = |b: &mut Builder<'_>, bits: u64| {
        let bits = b.iconst(ty, bits);
        b.alu(AluOp::Shl, &[bits, own])
    };
    let mask = match which {
        BuiltIn::SubgroupEqMask => shifted(b, 1),
        BuiltIn::SubgroupGeMask => shifted(b, u64::MAX),
        BuiltIn::SubgroupGtMask => shifted(b, u64::MAX - 1),
        // 2^k - 1; for Le in the last lane the bit is shifted out, which gives all ones.
        _ => {
            let above = shifted(b, if which == BuiltIn::SubgroupLeMask { 2 } else { 1 });
            let one = b.iconst(ty, 1);
            b.alu(AluOp::ISub, &[above, one])
        }
    };
    pieces(b, mask)[usize::from(component)]
}

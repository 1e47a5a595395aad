//! Subgroup instructions: `OpGroupNonUniform*`, `OpSubgroup*KHR`, and `OpGroup*` over a subgroup.
//!
//! Vectors are processed by component. A ballot is four 32-bit words in SPIR-V and a 64-bit lane mask in the IR; a wave
//! has at most 64 lanes, so the upper two words are zero. To add an instruction, add a line to [`translate`].

use super::cx::{Cx, LeafValues, SpirvInst};
use super::operands::{condition, from_words, result_component, set_result, words};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, BuiltIn, Op as IrOp, QuadSwap, ReduceOp, SubgroupOp, Type, Value};
use rspirv::dr::Operand;
use smallvec::smallvec;
use spirv::{GroupOperation, Op};

/// Translates a subgroup instruction; false if it is not one.
///
/// # Errors
/// Malformed operands; unsupported scopes and group operations.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    if let Some(op) = reduction(inst.op()) {
        check_scope(cx, inst)?;
        reduce(cx, inst, op)?;
        return Ok(true);
    }
    let khr = matches!(
        inst.op(),
        Op::SubgroupBallotKHR
            | Op::SubgroupFirstInvocationKHR
            | Op::SubgroupAllKHR
            | Op::SubgroupAnyKHR
            | Op::SubgroupAllEqualKHR
            | Op::SubgroupReadInvocationKHR
            | Op::GroupNonUniformQuadAllKHR
            | Op::GroupNonUniformQuadAnyKHR
    );
    // First operand after the scope; the older extensions have no scope.
    let at = usize::from(!khr);
    use SubgroupOp as S;
    let results = match inst.op() {
        Op::GroupNonUniformElect => smallvec![lane_op(cx, S::Elect, &[], Type::B1)],
        Op::GroupNonUniformAll | Op::SubgroupAllKHR | Op::GroupAll => smallvec![vote(cx, inst, at, S::All)?],
        Op::GroupNonUniformAny | Op::SubgroupAnyKHR | Op::GroupAny => smallvec![vote(cx, inst, at, S::Any)?],
        Op::GroupNonUniformAllEqual | Op::SubgroupAllEqualKHR => smallvec![all_equal(cx, inst, at)?],
        Op::GroupNonUniformBroadcast | Op::SubgroupReadInvocationKHR | Op::GroupBroadcast => {
            with_lane(cx, inst, at, S::Broadcast)?
        }
        Op::GroupNonUniformBroadcastFirst | Op::SubgroupFirstInvocationKHR => {
            componentwise(cx, inst, at, S::BroadcastFirst)?
        }
        Op::GroupNonUniformBallot | Op::SubgroupBallotKHR => {
            let condition = condition(cx, inst, at)?;
            let mask = lane_op(cx, S::Ballot, &[condition], Type::B64);
            ballot(cx, mask)
        }
        Op::GroupNonUniformInverseBallot => {
            let mask = mask(cx, inst, at)?;
            let lane = built_in(cx, BuiltIn::SubgroupLocalInvocationId, 0);
            smallvec![bit(cx, mask, lane)]
        }
        Op::GroupNonUniformBallotBitExtract => {
            let mask = mask(cx, inst, at)?;
            let index = lane_number(cx, inst, at + 1)?;
            smallvec![bit(cx, mask, index)]
        }
        Op::GroupNonUniformBallotBitCount => smallvec![bit_count(cx, inst)?],
        Op::GroupNonUniformBallotFindLSB => smallvec![find(cx, inst, at, AluOp::FindILsb)?],
        Op::GroupNonUniformBallotFindMSB => smallvec![find(cx, inst, at, AluOp::FindUMsb)?],
        Op::GroupNonUniformShuffle => with_lane(cx, inst, at, S::Shuffle)?,
        Op::GroupNonUniformShuffleXor => with_lane(cx, inst, at, S::ShuffleXor)?,
        Op::GroupNonUniformShuffleUp => with_lane(cx, inst, at, S::ShuffleUp)?,
        Op::GroupNonUniformShuffleDown => with_lane(cx, inst, at, S::ShuffleDown)?,
        Op::GroupNonUniformRotateKHR => {
            let cluster = cluster_size(cx, inst, at + 2)?;
            with_lane(cx, inst, at, S::Rotate(cluster))?
        }
        Op::GroupNonUniformQuadBroadcast => with_lane(cx, inst, at, S::QuadBroadcast)?,
        Op::GroupNonUniformQuadSwap => {
            let direction = match cx.const_u32(inst.id(at + 1)?)? {
                0 => QuadSwap::Horizontal,
                1 => QuadSwap::Vertical,
                2 => QuadSwap::Diagonal,
                n => return Err(inst.malformed(format!("quad direction {n}"))),
            };
            componentwise(cx, inst, at, S::QuadSwap(direction))?
        }
        Op::GroupNonUniformQuadAllKHR => smallvec![quad_vote(cx, inst, AluOp::IAnd)?],
        Op::GroupNonUniformQuadAnyKHR => smallvec![quad_vote(cx, inst, AluOp::IOr)?],
        _ => return Ok(false),
    };
    if !khr {
        check_scope(cx, inst)?;
    }
    set_result(cx, inst, results)?;
    Ok(true)
}

/// Only subgroup scope; wider ones are for kernels.
fn check_scope(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    match cx.const_u32(inst.id(0)?)? {
        n if n == spirv::Scope::Subgroup as u32 => Ok(()),
        n => Err(inst.unsupported(format!("scope {n}"))),
    }
}

pub(super) fn lane_op(cx: &mut Cx<'_>, op: SubgroupOp, args: &[Value], ty: Type) -> Value {
    cx.b.value(IrOp::Subgroup(op), args, ty)
}

pub(super) fn built_in(cx: &mut Cx<'_>, builtin: BuiltIn, component: u8) -> Value {
    cx.b.value(IrOp::load_builtin(builtin, component), &[], Type::B32)
}

/// Applies the operation to each component of operand `at`.
fn componentwise(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize, op: SubgroupOp) -> Result<LeafValues> {
    let values = cx.values(inst.id(at)?)?;
    Ok(values
        .into_iter()
        .map(|v| {
            let ty = cx.b.ty(v);
            lane_op(cx, op, &[v], ty)
        })
        .collect())
}

/// Applies the operation to each component of operand `at`, followed by a lane number, mask or distance.
fn with_lane(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize, op: SubgroupOp) -> Result<LeafValues> {
    let values = cx.values(inst.id(at)?)?;
    let lane = lane_number(cx, inst, at + 1)?;
    Ok(values
        .into_iter()
        .map(|v| {
            let ty = cx.b.ty(v);
            lane_op(cx, op, &[v, lane], ty)
        })
        .collect())
}

fn lane_number(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<Value> {
    let lane = cx.value(inst.id(at)?)?;
    Ok(cx.b.zext_or_trunc(lane, Type::B32))
}

fn vote(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize, op: SubgroupOp) -> Result<Value> {
    let condition = condition(cx, inst, at)?;
    Ok(lane_op(cx, op, &[condition], Type::B1))
}

fn all_equal(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<Value> {
    let values = cx.values(inst.id(at)?)?;
    let mut all = None;
    for v in values {
        let equal = lane_op(cx, SubgroupOp::AllEqual, &[v], Type::B1);
        all = Some(match all {
            Some(all) => cx.b.alu(AluOp::IAnd, &[all, equal]),
            None => equal,
        });
    }
    all.ok_or_else(|| inst.malformed("a value without components"))
}

/// The lane mask of a ballot operand.
fn mask(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<Value> {
    let words = cx.values(inst.id(at)?)?;
    let low = words.get(..2).filter(|w| w.iter().all(|&w| cx.b.ty(w) == Type::B32));
    let low = low.ok_or_else(|| inst.malformed("a ballot is four words"))?;
    Ok(whole(cx, low).unwrap_or_else(|| from_words(&mut cx.b, low)))
}

/// The mask that two words are the halves of.
fn whole(cx: &Cx<'_>, low: &[Value]) -> Option<Value> {
    let half = |v: Value, lane: u8| {
        let half = cx.b.shader.def(v).filter(|half| half.op == IrOp::Extract(lane))?;
        let pair = cx.b.shader.def(*half.args.first()?).filter(|pair| pair.op == IrOp::Bitcast)?;
        pair.args.first().copied().filter(|mask| cx.b.ty(*mask) == Type::B64)
    };
    let &[first, second] = low else { return None };
    half(first, 0).filter(|mask| half(second, 1) == Some(*mask))
}

/// The four words of a lane mask.
fn ballot(cx: &mut Cx<'_>, mask: Value) -> LeafValues {
    let mut words = words(&mut cx.b, mask);
    let zero = cx.b.c32(0);
    words.extend([zero, zero]);
    words
}

pub(super) fn bit(cx: &mut Cx<'_>, mask: Value, index: Value) -> Value {
    let index = cx.b.convert(AluOp::ZExt, index, Type::B64);
    let shifted = cx.b.alu(AluOp::LShr, &[mask, index]);
    cx.b.convert(AluOp::Trunc, shifted, Type::B1)
}

/// Clears the bits of a mask that do not stand for invocations of the subgroup: they do not count.
fn within_subgroup(cx: &mut Cx<'_>, mask: Value) -> Value {
    // A ballot has no bits beyond the subgroup.
    if cx.b.shader.def(mask).is_some_and(|def| def.op == IrOp::Subgroup(SubgroupOp::Ballot)) {
        return mask;
    }
    let (size, most) = (built_in(cx, BuiltIn::SubgroupSize, 0), cx.b.c32(64));
    let beyond = cx.b.alu(AluOp::ISub, &[most, size]);
    let beyond = cx.b.convert(AluOp::ZExt, beyond, Type::B64);
    let all = cx.b.iconst(Type::B64, u64::MAX);
    let lanes = cx.b.alu(AluOp::LShr, &[all, beyond]);
    cx.b.alu(AluOp::IAnd, &[mask, lanes])
}

/// The number of the first or last set bit of a ballot. If no invocation of the subgroup has its bit set, the result is
/// undefined; so bits beyond the subgroup matter only for the last one.
fn find(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize, op: AluOp) -> Result<Value> {
    let mut mask = mask(cx, inst, at)?;
    if op == AluOp::FindUMsb {
        mask = within_subgroup(cx, mask);
    }
    let index = cx.b.alu(op, &[mask]);
    let ty = result_component(cx, inst)?;
    Ok(cx.b.zext_or_trunc(index, ty))
}

/// Number of set bits of a ballot: all, or those of lower lanes, with or without the current lane.
fn bit_count(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<Value> {
    let below = match group_operation(inst)? {
        GroupOperation::Reduce => None,
        GroupOperation::InclusiveScan => Some(BuiltIn::SubgroupLeMask),
        GroupOperation::ExclusiveScan => Some(BuiltIn::SubgroupLtMask),
        other => return Err(inst.malformed(format!("bit count of {other:?}"))),
    };
    let mut mask = mask(cx, inst, 2)?;
    if below.is_none() {
        mask = within_subgroup(cx, mask);
    }
    if let Some(builtin) = below {
        let low = built_in(cx, builtin, 0);
        let high = built_in(cx, builtin, 1);
        let lanes = from_words(&mut cx.b, &[low, high]);
        mask = cx.b.alu(AluOp::IAnd, &[mask, lanes]);
    }
    let count = cx.b.alu(AluOp::BitCount, &[mask]);
    let ty = result_component(cx, inst)?;
    Ok(cx.b.zext_or_trunc(count, ty))
}

/// The condition combined over the four lanes of the quad.
fn quad_vote(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, combine: AluOp) -> Result<Value> {
    let mut v = condition(cx, inst, 0)?;
    for direction in [QuadSwap::Horizontal, QuadSwap::Vertical] {
        let other = lane_op(cx, SubgroupOp::QuadSwap(direction), &[v], Type::B1);
        v = cx.b.alu(combine, &[v, other]);
    }
    Ok(v)
}

fn group_operation(inst: &SpirvInst<'_>) -> Result<GroupOperation> {
    match inst.operand(1)? {
        Operand::GroupOperation(op) => Ok(*op),
        _ => Err(inst.malformed("no group operation")),
    }
}

/// Operand `at` as cluster size in lanes; 0, if absent, is the subgroup.
fn cluster_size(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<u8> {
    let Some(id) = inst.opt_id(at)? else { return Ok(0) };
    match cx.const_u32(id)? {
        n if n.is_power_of_two() && n <= 64 => Ok(n as u8),
        n => Err(inst.malformed(format!("clusters of {n} lanes"))),
    }
}

fn reduce(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, op: ReduceOp) -> Result<()> {
    let ty = cx.type_id(inst.id(2)?)?;
    let float = matches!(op, ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax);
    let logic = matches!(op, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor);
    if float != cx.types.is_float(ty) || (!logic && cx.types.component(ty) == Some(Type::B1)) {
        return Err(inst.malformed("an operand that the reduction does not take"));
    }
    let op = match group_operation(inst)? {
        GroupOperation::Reduce => SubgroupOp::Reduce(op, 0),
        GroupOperation::InclusiveScan => SubgroupOp::InclusiveScan(op),
        GroupOperation::ExclusiveScan => SubgroupOp::ExclusiveScan(op),
        GroupOperation::ClusteredReduce => SubgroupOp::Reduce(op, cluster_size(cx, inst, 3)?),
        other => return Err(inst.unsupported(format!("{other:?}"))),
    };
    let results = componentwise(cx, inst, 2, op)?;
    set_result(cx, inst, results)
}

/// Operator of an arithmetic group instruction.
fn reduction(op: Op) -> Option<ReduceOp> {
    Some(match op {
        Op::GroupNonUniformIAdd | Op::GroupIAdd | Op::GroupIAddNonUniformAMD => ReduceOp::IAdd,
        Op::GroupNonUniformFAdd | Op::GroupFAdd | Op::GroupFAddNonUniformAMD => ReduceOp::FAdd,
        Op::GroupNonUniformIMul => ReduceOp::IMul,
        Op::GroupNonUniformFMul => ReduceOp::FMul,
        Op::GroupNonUniformSMin | Op::GroupSMin | Op::GroupSMinNonUniformAMD => ReduceOp::SMin,
        Op::GroupNonUniformUMin | Op::GroupUMin | Op::GroupUMinNonUniformAMD => ReduceOp::UMin,
        Op::GroupNonUniformFMin | Op::GroupFMin | Op::GroupFMinNonUniformAMD => ReduceOp::FMin,
        Op::GroupNonUniformSMax | Op::GroupSMax | Op::GroupSMaxNonUniformAMD => ReduceOp::SMax,
        Op::GroupNonUniformUMax | Op::GroupUMax | Op::GroupUMaxNonUniformAMD => ReduceOp::UMax,
        Op::GroupNonUniformFMax | Op::GroupFMax | Op::GroupFMaxNonUniformAMD => ReduceOp::FMax,
        Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformLogicalAnd => ReduceOp::And,
        Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformLogicalOr => ReduceOp::Or,
        Op::GroupNonUniformBitwiseXor | Op::GroupNonUniformLogicalXor => ReduceOp::Xor,
        _ => return None,
    })
}

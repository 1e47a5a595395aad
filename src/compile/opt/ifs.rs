//! Turns small ifs into selects.
//!
//! A side with only a few operations is run by all lanes: its instructions move before the branch, and a select chooses
//! the values that it passes to the merge block. Memory and lane operations stay in their branch.

use super::{blocks, jumps};
use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{AluOp, BlockCall, BlockId, FpFlags, InstArgs, InstId, Merge, Op, Shader, Terminator, Type, Value};
use smallvec::SmallVec;

/// Largest number of operations of a side.
const MAX_SIDE: usize = 8;
/// Largest number of selected values.
const MAX_SELECTED: usize = 8;
/// Number of rounds, which is the depth of nested ifs.
const MAX_ROUNDS: usize = 4;

/// Converts small ifs.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    for _ in 0..MAX_ROUNDS {
        if !convert_all(shader) {
            break;
        }
        jumps::run(shader, options)?;
    }
    Ok(())
}

fn convert_all(shader: &mut Shader) -> bool {
    let cfg = shader.cfg();
    let named = blocks::named(shader);
    let mut moved = List::<InstId>::default();
    let mut changed = false;
    // Inner ifs come first. Control flow around a changed block is out of date until the next round.
    let mut touched = filled(shader.blocks.len(), false);
    for &block in cfg.order.iter().rev() {
        let Some(Terminator::Branch { cond, then, els }) = shader.block(block).term() else { continue };
        let side = |to: BlockId| -> Option<BlockId> {
            let side = shader.block(to);
            let alone = cfg.preds(to).len() == 1 && !named[to.index()] && side.merge == Merge::None;
            let Some(Terminator::Jump(call)) = side.term() else { return None };
            let small = side.params.is_empty() && cost(shader, &side.insts)? <= MAX_SIDE;
            (alone && small && call.block != to).then_some(call.block)
        };
        let (then_side, els_side) = (side(then.block), side(els.block));
        let (meet, sides): (BlockId, SmallVec<[BlockId; 2]>) = match (then_side, els_side) {
            (Some(a), Some(b)) if a == b => (a, SmallVec::from_slice(&[then.block, els.block])),
            (Some(a), _) if a == els.block => (a, SmallVec::from_slice(&[then.block])),
            (_, Some(b)) if b == then.block => (b, SmallVec::from_slice(&[els.block])),
            _ if then.block == els.block => (then.block, SmallVec::new()),
            _ => continue,
        };
        let is_loop = matches!(shader.block(block).merge, Merge::Loop { .. }) || meet == block;
        if is_loop || touched[block.index()] || touched[meet.index()] || sides.iter().any(|b| touched[b.index()]) {
            continue;
        }
        // A side jumps once.
        let passed = |call: BlockCall<'_>| -> List<Value> {
            let args = if call.block == meet { call.args } else { shader.block(call.block).end.values() };
            args.iter().copied().collect()
        };
        let (a, b) = (passed(then), passed(els));
        let different = || a.iter().zip(&b).filter(|(a, b)| a != b);
        let fits = different().count() <= MAX_SELECTED && different().all(|(a, _)| shader.ty(*a).is_scalar());
        if a.len() != b.len() || !fits {
            continue;
        }
        touched[block.index()] = true;
        touched[meet.index()] = true;
        for &side in &sides {
            touched[side.index()] = true;
            moved.append(&mut shader.block_mut(side).insts);
            shader.block_mut(side).end.set(Terminator::Unreachable);
            shader.block_mut(block).insts.append(&mut moved);
        }
        let args: List<Value> = a.iter().zip(&b).map(|(a, b)| select(shader, block, cond, *a, *b)).collect();
        let end = shader.block_mut(block);
        end.end.set(Terminator::Jump(BlockCall { block: meet, args: &args }));
        end.merge = Merge::None;
        changed = true;
    }
    changed
}

fn select(shader: &mut Shader, block: BlockId, cond: Value, a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let ty: Type = shader.ty(a);
    let v = Value(shader.values.len() as u32);
    let op = Op::Alu(AluOp::Select, FpFlags::NONE);
    let id = shader.add_inst(op, InstArgs::from_slice(&[cond, a, b]), Some(ty));
    shader.block_mut(block).insts.push(id);
    v
}

/// The cost of running these instructions in all lanes; `None` if this is not allowed.
fn cost(shader: &Shader, insts: &[InstId]) -> Option<usize> {
    use AluOp as A;
    if insts.len() > 2 * MAX_SIDE {
        return None;
    }
    let mut sum = 0;
    for &id in insts {
        sum += match shader.inst(id).op {
            Op::Const(_) | Op::Undef | Op::Bitcast | Op::Extract(_) | Op::Compose => 0,
            Op::Alu(op, _) => match op {
                A::UDiv | A::SDiv | A::UMod | A::SRem | A::SMod | A::FDiv => MAX_SIDE + 1,
                A::FSqrt | A::FRsq | A::FRcp | A::FExp2 | A::FLog2 | A::FSinTurn | A::FCosTurn => 4,
                A::FPow | A::FSin | A::FCos | A::FRem | A::FMod => MAX_SIDE + 1,
                _ => 1,
            },
            _ => return None,
        };
    }
    Some(sum)
}

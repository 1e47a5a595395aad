//! Computes a uniform reciprocal that several blocks need once, before their branches.
//!
//! Division by such a number begins with the reciprocal of the divisor. Branches that follow each other each compute it
//! anew, as none of their blocks dominates another. Arithmetic on scalar registers alone may run wherever its operands are
//! known. It is moved only if more than one block has it, and only if it leads to a reciprocal, a root, a logarithm or a
//! power, or depends on one: everything else is short, and would only hold registers.

use super::names::ValueNames;
use dovetail_base::error::Result;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::wave_wide::is_of_wave;
use dovetail_ir::{AluOp, BlockId, FpFlags, InstArgs, InstId, Op, Shader, Type};
use rustc_hash::FxHashMap;

/// The key of a computation: two with equal keys give equal results.
type Key = (AluOp, FpFlags, Type, InstArgs);

/// Moves what several blocks compute from scalar registers to a block before them.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let long = |id: &InstId| matches!(shader.inst(*id).op, Op::Alu(op, _) if is_long(op));
    if !options.licm || shader.blocks.iter().flat_map(|block| &block.insts).filter(|id| long(id)).count() < 2 {
        return Ok(());
    }
    let cfg = shader.cfg();
    let wanted = wanted(shader, &cfg);
    let mut names = ValueNames::default();
    let mut home = filled(shader.values.len(), BlockId::ENTRY);
    let mut first = Kept::<FxHashMap<Key, InstId>>::default();
    // By instruction, the block to which it moves; `None` if it is removed.
    let mut moved = Kept::<FxHashMap<InstId, Option<BlockId>>>::default();
    let mut order = List::<(BlockId, InstId)>::default();
    for &block in cfg.order.iter() {
        shader.block(block).params.iter().for_each(|p| home[p.index()] = block);
        for n in 0..shader.block(block).insts.len() {
            let id = shader.block(block).insts[n];
            let Some(result) = shader.inst(id).result else { continue };
            home[result.index()] = block;
            if !wanted[result.index()] {
                continue;
            }
            let inst = shader.inst(id);
            let Op::Alu(op, flags) = inst.op else { continue };
            let args = inst.args.iter().map(|v| names.of(*v)).collect();
            let key = (op, flags, shader.ty(result), args);
            let Some(&before) = first.get(&key) else {
                first.insert(key, id);
                continue;
            };
            let Some(same) = shader.inst(before).result else { continue };
            let Some(meeting) = cfg.dom.common(home[same.index()], block, usize::MAX) else { continue };
            if meeting != home[same.index()] {
                let known = key.3.iter().all(|v| cfg.dom.dominates(home[v.index()], meeting));
                let of_both =
                    |l: &u32| [home[same.index()], block].iter().all(|block| cfg.loops().around(*block).contains(l));
                // Not into a loop that does not contain all of them.
                let known = known && cfg.loops().around(meeting).iter().all(of_both);
                if !known || moved.contains_key(&before) {
                    continue;
                }
                moved.insert(before, Some(meeting));
                order.push((meeting, before));
                home[same.index()] = meeting;
            }
            moved.insert(id, None);
            names.set(result, same);
        }
    }
    if moved.is_empty() {
        return Ok(());
    }
    for block in &mut shader.blocks {
        block.insts.retain(|id| !moved.contains_key(id));
    }
    for &(block, id) in &order {
        shader.block_mut(block).insts.push(id);
    }
    names.apply(shader);
    Ok(())
}

/// Operations that take several times as long as others, and have no scalar form.
const fn is_long(op: AluOp) -> bool {
    use AluOp as A;
    matches!(op, A::FRcp | A::FSqrt | A::FRsq | A::FRcpSeed | A::FRsqSeed | A::FExp2 | A::FLog2)
}

/// By value, whether it is arithmetic on scalar registers only, and depends on a long operation or a long operation
/// depends on it.
fn wanted(shader: &Shader, cfg: &Cfg) -> List<bool> {
    let mut scalar = filled(shader.values.len(), false);
    shader.scalar_params().for_each(|param| scalar[param.index()] = true);
    let mut wanted = filled(shader.values.len(), false);
    let insts = || cfg.order.iter().flat_map(|block| &shader.block(*block).insts).map(|id| shader.inst(*id));
    for inst in insts() {
        let Some(v) = inst.result else { continue };
        let all = inst.args.iter().all(|arg| scalar[arg.index()]);
        let known = matches!(inst.op, Op::Const(_) | Op::PushConstant { .. } | Op::Descriptor { .. });
        scalar[v.index()] = all && (known || is_of_wave(&inst.op));
        wanted[v.index()] = scalar[v.index()]
            && matches!(inst.op, Op::Alu(op, _) if is_long(op) || inst.args.iter().any(|arg| wanted[arg.index()]));
    }
    // Operands are walked first.
    let mut leads = wanted.clone();
    for &block in cfg.order.iter().rev() {
        for id in shader.block(block).insts.iter().rev() {
            let inst = shader.inst(*id);
            if inst.result.is_some_and(|v| leads[v.index()]) && matches!(inst.op, Op::Alu(..)) {
                inst.args.iter().for_each(|arg| leads[arg.index()] |= scalar[arg.index()]);
            }
        }
    }
    leads
}

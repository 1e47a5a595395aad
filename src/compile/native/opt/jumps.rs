//! Simplifies control flow: known branches, jumps to empty blocks, consecutive blocks.
//!
//! A branch to an unreachable block always takes its other edge. Headers keep their merge and continue blocks: jumps to
//! these are not shortened, and when one of them is merged into the block before it, it is renamed.

use super::blocks::{empty_unreachable, named};
use super::names::Names;
use crate::compile::request::TuningOptions;
use crate::error::Result;
use crate::ir::{AluOp, BlockCall, BlockId, Inst, Merge, Op, Shader, Terminator};

/// Simplifies the control flow.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    for block in shader.block_ids() {
        fold_end(shader, block);
    }
    empty_unreachable(shader);
    end_loops(shader);
    skip_empty(shader);
    empty_unreachable(shader);
    join_rows(shader);
    Ok(())
}

/// Simplifies the end of a block.
fn fold_end(shader: &mut Shader, block: BlockId) {
    let never = |call: &BlockCall| {
        let to = shader.block(call.block);
        to.insts.is_empty() && to.term == Some(Terminator::Unreachable)
    };
    let new = match &shader.block(block).term {
        Some(Terminator::Branch { cond, then, els }) => match shader.as_const(*cond) {
            Some(0) => Terminator::Jump(els.clone()),
            Some(_) => Terminator::Jump(then.clone()),
            None if then == els || never(els) => Terminator::Jump(then.clone()),
            None if never(then) => Terminator::Jump(els.clone()),
            None => match shader.def(*cond) {
                Some(Inst { op: Op::Alu(AluOp::INot, _), args, .. }) => {
                    Terminator::Branch { cond: args[0], then: els.clone(), els: then.clone() }
                }
                _ => return,
            },
        },
        Some(Terminator::Switch { value, cases, default }) => {
            let known = shader.as_const(*value).map(|n| cases.iter().find(|case| case.0 == n).map(|case| &case.1));
            match known {
                Some(way) => Terminator::Jump(way.unwrap_or(default).clone()),
                None if cases.iter().all(|(_, way)| way == default) => Terminator::Jump(default.clone()),
                None => return,
            }
        }
        _ => return,
    };
    let block = shader.block_mut(block);
    if let (Terminator::Jump(_), Merge::Selection(_)) = (&new, block.merge) {
        block.merge = Merge::None;
    }
    block.term = Some(new);
}

/// A loop header without a jump back is no longer a loop header.
fn end_loops(shader: &mut Shader) {
    let cfg = shader.cfg();
    for id in shader.block_ids() {
        let Merge::Loop { merge, .. } = shader.block(id).merge else { continue };
        if !cfg.preds(id).iter().any(|from| cfg.dom.dominates(id, *from)) {
            let block = shader.block_mut(id);
            let branches = !matches!(block.term, Some(Terminator::Jump(_)));
            block.merge = if branches { Merge::Selection(merge) } else { Merge::None };
        }
    }
}

/// Redirects jumps to an empty block to that block's target.
fn skip_empty(shader: &mut Shader) {
    let named = named(shader);
    let is_header = |block: BlockId| matches!(shader.block(block).merge, Merge::Loop { .. });
    // By block, the jump that replaces a jump to it. The blocks before and after a loop stay.
    let mut through: Vec<Option<BlockCall>> = (shader.block_ids())
        .map(|id| {
            let block = shader.block(id);
            match &block.term {
                Some(Terminator::Jump(call))
                    if id != Shader::ENTRY
                        && block.insts.is_empty()
                        && block.params.is_empty()
                        && !named[id.index()]
                        && !is_header(id)
                        && !is_header(call.block)
                        && call.block != id =>
                {
                    Some(call.clone())
                }
                _ => None,
            }
        })
        .collect();
    if through.iter().all(Option::is_none) {
        return;
    }
    for block in &mut shader.blocks {
        let Some(term) = &mut block.term else { continue };
        if let Terminator::Branch { then, els, .. } = &*term {
            let end = |call: &BlockCall| through[call.block.index()].as_ref().unwrap_or(call).clone();
            let (then, els) = (end(then), end(els));
            if then == els {
                block.term = Some(Terminator::Jump(then));
                if let Merge::Selection(_) = block.merge {
                    block.merge = Merge::None;
                }
                continue;
            }
        }
        let mut targets: Vec<BlockId> = term.calls().map(|call| call.block).collect();
        for (n, call) in term.calls_mut().enumerate() {
            // Each step removes its jump from the table during the walk, so that cycles end.
            let mut passed = Vec::new();
            while let Some(next) = through[call.block.index()].take() {
                let from = call.block;
                // Two edges to one block would need extra blocks for their copies.
                let doubled = targets.iter().enumerate().any(|(m, to)| m != n && *to == next.block);
                passed.push((from, next.clone()));
                if doubled {
                    break;
                }
                targets[n] = next.block;
                *call = next;
            }
            // All of them lead to the last one's target, so the next walk takes one step.
            if let Some(end) = passed.last().map(|(_, next)| next.clone()) {
                passed.into_iter().for_each(|(from, _)| through[from.index()] = Some(end.clone()));
            }
        }
    }
}

/// Merges a block into its predecessor, if that is the only one and jumps only to it.
fn join_rows(shader: &mut Shader) {
    let cfg = shader.cfg();
    let mut names = Names::default();
    let mut joined: Vec<BlockId> = shader.block_ids().collect();
    for &id in &cfg.order {
        while let Some(Terminator::Jump(call)) = &shader.block(id).term {
            let (next, merge) = (call.block, shader.block(id).merge);
            let is_row = cfg.preds(next).len() == 1 && next != id && next != Shader::ENTRY;
            if !is_row || (merge != Merge::None && shader.block(next).merge != Merge::None) {
                break;
            }
            let args = call.args.clone();
            let mut taken = std::mem::take(shader.block_mut(next));
            taken.params.iter().zip(args).for_each(|(p, a)| names.set(*p, a));
            shader.block_mut(next).term = Some(Terminator::Unreachable);
            joined[next.index()] = id;
            let block = shader.block_mut(id);
            block.insts.append(&mut taken.insts);
            block.term = taken.term;
            if merge == Merge::None {
                block.merge = taken.merge;
            }
        }
    }
    let find = |mut block: BlockId| {
        while joined[block.index()] != block {
            block = joined[block.index()];
        }
        block
    };
    shader.blocks.iter_mut().for_each(|block| block.merge = block.merge.renamed(find));
    names.apply(shader);
}

//! Brings the graph of a lowered shader into the shape that layout and selection expect.
//!
//! | before | after |
//! | --- | --- |
//! | a switch | a chain of comparisons |
//! | an early end inside a block | the end of a block |
//! | several returns, unreachable ends | one block that returns, with the results as its parameters |
//! | a loop with several back edges | one latch |
//! | an edge from a block with several successors to one with several predecessors | a block of its own |
//!
//! Blocks that cannot be reached keep their place in the list and are not laid out.

use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{AluOp, BlockCall, BlockId, Builder, End, Op, Shader, Terminator, Type, Value};

/// Reshapes the graph.
///
/// # Errors
/// Unsupported: an irreducible graph, or a body that never returns to its epilog.
pub fn run(shader: &mut Shader) -> Result<()> {
    split_switches(shader);
    split_early_ends(shader);
    one_end(shader)?;
    one_latch(shader)?;
    split_critical_edges(shader);
    Ok(())
}

/// Turns every switch into a chain of branches.
fn split_switches(shader: &mut Shader) {
    for block in shader.block_ids() {
        if matches!(shader.block(block).term(), Some(Terminator::Switch { .. })) {
            let mut end = std::mem::take(&mut shader.block_mut(block).end);
            chain(shader, block, &end);
            // The block keeps the memory.
            end.clone_from(&shader.block(block).end);
            shader.block_mut(block).end = end;
        }
    }
}

/// Ends a block with branches in place of a switch; cases with the default's target and no values are dropped.
fn chain(shader: &mut Shader, block: BlockId, switch: &End) {
    let Some(Terminator::Switch { value, cases, default }) = switch.get() else { return };
    let ty = shader.ty(value);
    let mut b = Builder::new(shader, block);
    let mut cases = cases.iter().filter(|(_, call)| *call != default).peekable();
    if cases.peek().is_none() {
        b.terminate(Terminator::Jump(default));
    }
    while let Some((literal, then)) = cases.next() {
        let bits = b.iconst(ty, literal);
        let cond = b.alu(AluOp::IEq, &[value, bits]);
        if cases.peek().is_none() {
            b.terminate(Terminator::Branch { cond, then, els: default });
            break;
        }
        let next = b.new_block();
        b.terminate(Terminator::Branch { cond, then, els: BlockCall::to(next) });
        b.switch_to(next);
    }
}

/// After an early end a new block begins.
fn split_early_ends(shader: &mut Shader) {
    if !shader.has(|op| *op == Op::EndIfDead) {
        return;
    }
    for mut block in shader.block_ids() {
        while let Some(n) = shader.block(block).insts.iter().position(|id| shader.inst(*id).op == Op::EndIfDead) {
            block = shader.split_block(block, n + 1);
        }
    }
}

/// Every return and every unreachable end jumps to one block that returns.
fn one_end(shader: &mut Shader) -> Result<()> {
    let cfg = shader.cfg();
    let ends: List<BlockId> = cfg
        .order
        .iter()
        .copied()
        .filter(|b| matches!(shader.block(*b).term(), Some(Terminator::Return(_) | Terminator::Unreachable)))
        .collect();
    let returned = |b: &BlockId| match shader.block(*b).term() {
        Some(Terminator::Return(values)) => Some(values),
        _ => None,
    };
    let types: List<Type> = match ends.iter().find_map(returned) {
        Some(values) => values.iter().map(|v| shader.ty(*v)).collect(),
        None if shader.lower.as_ref().is_some_and(|l| !l.returns.is_empty()) => {
            return Err(Error::unsupported("native: a body that never returns", ""));
        }
        None => List::default(),
    };
    if let [only] = ends[..]
        && returned(&only).is_some()
    {
        return Ok(());
    }
    let end = shader.add_block();
    let params: List<Value> = types.iter().map(|ty| shader.add_param(end, *ty)).collect();
    shader.block_mut(end).end.set(Terminator::Return(&params));
    for &block in &ends {
        let args: List<Value> = match shader.block(block).term() {
            Some(Terminator::Return(values)) => values.iter().copied().collect(),
            _ => {
                let mut b = Builder::new(shader, block);
                types.iter().map(|ty| b.undef(*ty)).collect()
            }
        };
        shader.block_mut(block).end.set(Terminator::Jump(BlockCall { block: end, args: &args }));
    }
    Ok(())
}

/// Gives every loop a single back edge, from a block that only jumps.
fn one_latch(shader: &mut Shader) -> Result<()> {
    let cfg = shader.cfg();
    let loops = cfg.loops();
    if !loops.are_all() {
        return Err(Error::unsupported("native: an irreducible graph", ""));
    }
    for l in 0..loops.len() as u32 {
        let header = loops.header(l);
        let mut back: List<BlockId> = cfg.preds(header).iter().copied().filter(|b| loops.has(l, *b)).collect();
        back.sort_unstable_by_key(|b| loops.position(*b));
        back.dedup();
        let alone =
            matches!(back[..], [one] if cfg.succs(one).len() == 1 && cfg.preds(one).len() == 1 && one != header);
        if alone {
            continue;
        }
        let types: List<Type> = shader.block(header).params.iter().map(|p| shader.ty(*p)).collect();
        let latch = shader.add_block();
        let args: List<Value> = types.iter().map(|ty| shader.add_param(latch, *ty)).collect();
        shader.block_mut(latch).end.set(Terminator::Jump(BlockCall { block: header, args: &args }));
        for &block in &back {
            let targets = shader.block_mut(block).end.targets_mut();
            targets.filter(|to| **to == header).for_each(|to| *to = latch);
        }
    }
    Ok(())
}

/// Afterwards a block with several successors is the only predecessor of each, once.
fn split_critical_edges(shader: &mut Shader) {
    let cfg = shader.cfg();
    for &block in cfg.order.iter() {
        let Some(Terminator::Branch { then, els, .. }) = shader.block(block).term() else { continue };
        let same = then.block == els.block;
        let wanted = [then, els].map(|call| {
            // A target without values needs no block for copies; two edges to one block need a block to distinguish
            // them.
            cfg.preds(call.block).len() > 1 && (!call.args.is_empty() || same)
        });
        for (n, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let edge = shader.add_block();
            shader.blocks.split_call(block, n, edge);
        }
    }
}

//! Simplifies control flow: known branches, jumps to empty blocks, consecutive blocks.
//!
//! A branch to an unreachable block always takes its other edge. Headers keep their merge and continue blocks: jumps to
//! these are not shortened, and when one of them is merged into the block before it, it is renamed.

use super::blocks::{empty_unreachable, named};
use super::names::ValueNames;
use dovetail_base::error::Result;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{AluOp, BlockCall, BlockId, Inst, Merge, Op, Shader, Terminator, Value};

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

/// A new end of a block.
enum NewEnd {
    /// The jump of this number alone.
    Jump(usize),
    /// A branch on the condition that the old one is the negation of.
    Turned(Value),
}

/// Simplifies the end of a block.
fn fold_end(shader: &mut Shader, block: BlockId) {
    let never = |call: BlockCall<'_>| {
        let to = shader.block(call.block);
        to.insts.is_empty() && to.term() == Some(Terminator::Unreachable)
    };
    let new = match shader.block(block).term() {
        Some(Terminator::Branch { cond, then, els }) => match shader.as_const(cond) {
            Some(0) => NewEnd::Jump(1),
            Some(_) => NewEnd::Jump(0),
            None if then == els || never(els) => NewEnd::Jump(0),
            None if never(then) => NewEnd::Jump(1),
            None => match shader.def(cond) {
                Some(Inst { op: Op::Alu(AluOp::INot, _), args, .. }) => NewEnd::Turned(args[0]),
                _ => return,
            },
        },
        Some(Terminator::Switch { value, cases, default }) => match shader.as_const(value) {
            Some(n) => NewEnd::Jump(cases.iter().position(|case| case.0 == n).unwrap_or(cases.len())),
            None if cases.iter().all(|(_, way)| way == default) => NewEnd::Jump(cases.len()),
            None => return,
        },
        _ => return,
    };
    let block = shader.block_mut(block);
    match new {
        NewEnd::Turned(cond) => block.end.turn(cond),
        NewEnd::Jump(n) => {
            block.end.keep_call(n);
            if let Merge::Selection(_) = block.merge {
                block.merge = Merge::None;
            }
        }
    }
}

/// A loop header without a jump back is no longer a loop header.
fn end_loops(shader: &mut Shader) {
    let cfg = shader.cfg();
    for id in shader.block_ids() {
        let Merge::Loop { merge, .. } = shader.block(id).merge else { continue };
        if !cfg.preds(id).iter().any(|from| cfg.dom.dominates(id, *from)) {
            let block = shader.block_mut(id);
            let branches = !matches!(block.term(), Some(Terminator::Jump(_)));
            block.merge = if branches { Merge::Selection(merge) } else { Merge::None };
        }
    }
}

/// The jump that replaces one to an empty block.
#[derive(Clone, Copy)]
struct Way {
    to: BlockId,
    /// The empty block that passes the arguments.
    by: BlockId,
}

/// The ways through empty blocks.
struct Ways {
    /// By block, the way that replaces a jump to it.
    through: List<Option<Way>>,
    /// By block, the arguments that it passes if it is empty: its own jump may change.
    args: Kept<Rows<Value>>,
}

impl Ways {
    /// Finds them. The blocks before and after a loop stay.
    fn new(shader: &Shader) -> Self {
        let named = named(shader);
        let is_header = |block: BlockId| matches!(shader.block(block).merge, Merge::Loop { .. });
        let mut ways = Self { through: List::default(), args: Kept::default() };
        for id in shader.block_ids() {
            let block = shader.block(id);
            let way = match block.term() {
                Some(Terminator::Jump(call))
                    if id != Shader::ENTRY
                        && block.insts.is_empty()
                        && block.params.is_empty()
                        && !named[id.index()]
                        && !is_header(id)
                        && !is_header(call.block)
                        && call.block != id =>
                {
                    Some(call)
                }
                _ => None,
            };
            ways.through.push(way.map(|call| Way { to: call.block, by: id }));
            ways.args.push(way.iter().flat_map(|call| call.args).copied());
        }
        ways
    }

    fn call(&self, way: Way) -> BlockCall<'_> {
        BlockCall { block: way.to, args: self.args.of(way.by.index()) }
    }

    /// Where a jump leads in one step.
    fn end<'a>(&'a self, call: BlockCall<'a>) -> BlockCall<'a> {
        self.through[call.block.index()].map_or(call, |way| self.call(way))
    }
}

/// Jumps to where an empty block jumps.
fn skip_empty(shader: &mut Shader) {
    let mut ways = Ways::new(shader);
    if ways.through.iter().all(Option::is_none) {
        return;
    }
    let (mut targets, mut passed) = (List::<BlockId>::default(), List::<BlockId>::default());
    for block in &mut shader.blocks {
        if let Some(Terminator::Branch { then, els, .. }) = block.term()
            && ways.end(then) == ways.end(els)
        {
            match ways.through[then.block.index()] {
                Some(way) => block.end.set(Terminator::Jump(ways.call(way))),
                None => block.end.keep_call(0),
            }
            if let Merge::Selection(_) = block.merge {
                block.merge = Merge::None;
            }
            continue;
        }
        targets.clear();
        targets.extend(block.calls().map(|call| call.block));
        for n in 0..targets.len() {
            // Each step removes its jump from the table during the walk, so that cycles end.
            let mut from = targets[n];
            let mut last = None;
            while let Some(next) = ways.through[from.index()].take() {
                // Two edges to one block would need extra blocks for their copies.
                let doubled = targets.iter().enumerate().any(|(m, to)| m != n && *to == next.to);
                passed.push(from);
                last = Some(next);
                if doubled {
                    break;
                }
                targets[n] = next.to;
                block.end.set_call(n, ways.call(next));
                from = next.to;
            }
            // All of them lead to the last one's target, so the next walk takes one step.
            passed.drain(..).for_each(|from| ways.through[from.index()] = last);
        }
    }
}

/// Whether the next block is outside of a loop that a block stays in: what they have together would be in the loop.
fn leaves_loop(shader: &Shader, cfg: &Cfg, block: BlockId, next: BlockId) -> bool {
    let loops = cfg.loops();
    shader.stays_in_loop(block) && loops.around(block) != loops.around(next)
}

/// Merges a block into its predecessor, if that is the only one and jumps only to it.
fn join_rows(shader: &mut Shader) {
    let cfg = shader.cfg();
    let mut names = ValueNames::default();
    let mut joined: List<BlockId> = shader.block_ids().collect();
    for &id in cfg.order.iter() {
        while let Some(Terminator::Jump(call)) = shader.block(id).term() {
            let (next, merge) = (call.block, shader.block(id).merge);
            let is_row = cfg.preds(next).len() == 1 && next != id && next != Shader::ENTRY;
            if !is_row
                || leaves_loop(shader, &cfg, id, next)
                || (merge != Merge::None && shader.block(next).merge != Merge::None)
            {
                break;
            }
            shader.block(next).params.iter().zip(call.args).for_each(|(p, a)| names.set(*p, *a));
            joined[next.index()] = id;
            shader.blocks.append(id, next);
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

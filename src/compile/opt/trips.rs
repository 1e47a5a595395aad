//! Counts the iterations of loops whose end follows from constants.
//!
//! The condition of one exit, which every iteration reaches, is evaluated repeatedly from the constant initial values
//! of the header's parameters, as long as these change only by arithmetic. So any form of counting works. If the condition is
//! a conjunction of which only one side is known (`i < 4 && !done`), the loop ends at the latest when that side says so.

use crate::fold;
use dovetail_base::workspace::{Kept, List};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{AluOp, BlockCall, BlockId, Inst, Op, Shader, Terminator, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Largest number of operations in a condition, or in a parameter's next value.
const MAX_OPERATIONS: u32 = 32;

/// A loop that ends after a known number of iterations.
#[derive(Debug)]
pub(super) struct Counted {
    pub header: BlockId,
    /// Its blocks, each before its successors except along the jump back; the header is first.
    pub blocks: List<BlockId>,
    /// The block that jumps back.
    pub latch: BlockId,
    /// The block that leaves the loop after the last iteration.
    pub exit: BlockId,
    /// The exit's target outside the loop.
    pub after: BlockId,
    /// How often `exit` stays in the loop before it leaves it, at most.
    pub trips: u32,
    /// `exit` may leave the loop earlier, by the side of its condition that is not known.
    pub at_most: bool,
    /// By block, its index in `blocks`.
    pub index: Kept<FxHashMap<BlockId, usize>>,
    /// The loop has other exits.
    pub many_exits: bool,
}

/// The jump of a block to another one, if there is exactly one.
pub(super) fn call_to(shader: &Shader, from: BlockId, to: BlockId) -> Option<BlockCall<'_>> {
    let mut calls = shader.block(from).calls().filter(|call| call.block == to);
    let first = calls.next()?;
    calls.next().is_none().then_some(first)
}

/// Counts the iterations of an innermost loop, up to a limit. `blocks` are its blocks in order.
pub(super) fn count(shader: &Shader, cfg: &Cfg, blocks: &[BlockId], limit: u32) -> Option<Counted> {
    let header = *blocks.first()?;
    let mut index = Kept::<FxHashMap<BlockId, usize>>::default();
    index.extend(blocks.iter().enumerate().map(|(n, b)| (*b, n)));
    let inside = |b: BlockId| index.contains_key(&b);
    let mut back = cfg.preds(header).iter().copied().filter(|b| inside(*b));
    let (Some(latch), None) = (back.next(), back.next()) else { return None };
    let entries = cfg.preds(header).iter().copied().filter(|b| !inside(*b));
    let next = call_to(shader, latch, header)?;
    // All entries must pass the same constants.
    let mut starts = List::<Option<u64>>::default();
    for (n, from) in entries.enumerate() {
        let call = call_to(shader, from, header)?;
        let consts = call.args.iter().map(|v| shader.as_const(*v));
        if n == 0 {
            starts.extend(consts);
        } else {
            starts.iter_mut().zip(consts).for_each(|(known, k)| *known = known.filter(|_| *known == k));
        }
    }
    let leaves = |b: BlockId| cfg.succs(b).iter().filter(|to| !inside(**to)).count();
    let exits: usize = blocks.iter().map(|b| leaves(*b)).sum();
    let mut candidates = blocks.iter().filter(|b| leaves(**b) == 1 && cfg.dom.dominates(**b, latch));
    let (exit, after, (trips, at_most)) = candidates.find_map(|&exit| {
        let Some(Terminator::Branch { cond, then, els }) = shader.block(exit).term() else { return None };
        let leave_if = !inside(then.block);
        let after = if leave_if { then.block } else { els.block };
        let trips = trips(shader, header, &starts, next, (cond, leave_if), limit)?;
        Some((exit, after, trips))
    })?;
    let blocks = blocks.iter().copied().collect();
    let many_exits = exits > 1 || at_most;
    Some(Counted { header, blocks, latch, exit, after, trips, at_most, index, many_exits })
}

/// How often a condition stays in the loop, and whether that is only the most.
fn trips(
    shader: &Shader,
    header: BlockId,
    starts: &[Option<u64>],
    next: BlockCall<'_>,
    (cond, leave_if): (Value, bool),
    limit: u32,
) -> Option<(u32, bool)> {
    let has_sides = matches!(shader.def(cond).map(|inst| &inst.op), Some(Op::Alu(AluOp::IAnd | AluOp::IOr, _)));
    let mut at_most = false;
    let mut now: List<Option<u64>> = starts.iter().copied().collect();
    let mut then = List::default();
    for trip in 0..=limit {
        let mut eval = Evaluation { shader, header, params: &now, left: MAX_OPERATIONS };
        match eval.value(cond) {
            Some(truth) if (truth != 0) == leave_if => return Some((trip, at_most)),
            Some(_) => {}
            None if has_sides => at_most = true,
            None => return None,
        }
        then.clear();
        then.extend(
            next.args.iter().map(|v| Evaluation { shader, header, params: &now, left: MAX_OPERATIONS }.value(*v)),
        );
        std::mem::swap(&mut now, &mut then);
    }
    None
}

struct Evaluation<'a> {
    shader: &'a Shader,
    header: BlockId,
    /// Known values of the header's parameters.
    params: &'a [Option<u64>],
    left: u32,
}

impl Evaluation<'_> {
    /// The value of integer arithmetic on known parameters. The recursion depth is bounded by the limit on operations.
    fn value(&mut self, v: Value) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        match self.shader.values[v.index()].def {
            ValueDef::Param(block, n) if block == self.header => self.params.get(n as usize).copied().flatten(),
            ValueDef::Param(..) => None,
            ValueDef::Inst(id) => match self.shader.inst(id) {
                Inst { op: Op::Const(bits), .. } => Some(*bits),
                Inst { op: Op::Alu(op, _), args, .. } => {
                    let from = self.shader.ty(*args.first()?).bits();
                    let to = self.shader.ty(v).bits();
                    let decides = match op {
                        AluOp::IAnd => Some(0),
                        AluOp::IOr => Some(to.mask()),
                        _ => None,
                    };
                    let args: SmallVec<[Option<u64>; 4]> = args.iter().map(|v| self.value(*v)).collect();
                    if decides.is_some() && args.contains(&decides) {
                        return decides;
                    }
                    let args: SmallVec<[u64; 4]> = args.into_iter().collect::<Option<_>>()?;
                    match op {
                        AluOp::Select => Some(if args[0] != 0 { args[1] } else { args[2] }),
                        _ => fold::constant(*op, &args, from, to, self.shader.modes.rounds_to_nearest()),
                    }
                }
                _ => None,
            },
        }
    }
}

//! Unrolls loops that end after a known number of iterations.
//!
//! Inner loops come first. Each iteration becomes a copy of the loop's blocks in which the counted exit's branch is
//! known, so no test of it is left. Values used after the loop are those of the last copy; if the loop has other exits,
//! they pass through scratch variables, which promotion removes. Every round ends with folding the copies, which may
//! make an outer loop's count known.

use super::demote::{self, Use};
use super::names::ValueNames;
use super::trips::{Counted, count};
use super::{blocks, jumps, number, params, promote};
use dovetail_base::error::Result;
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, End, Merge, Op, Shader, Terminator, Value, structure};

/// Largest numbers of iterations, and of instructions of all copies.
const MAX_TRIPS: u32 = 32;
const MAX_COPIED: usize = 1024;
/// The same if the loop indexes a variable: with known indices the variable needs no memory.
const MAX_TRIPS_INDEXED: u32 = 128;
const MAX_COPIED_INDEXED: usize = 8192;
/// Largest number of instructions of all copies of a loop with other exits; the same if it indexes a variable.
const MAX_COPIED_EARLY: usize = 256;
const MAX_COPIED_EARLY_INDEXED: usize = 4096;
/// Largest number of instructions added to a shader.
const MAX_ADDED: usize = 1 << 14;
/// Largest number of blocks of a loop.
const MAX_BLOCKS: usize = 256;
/// Number of rounds, which is the depth of nested loops.
const MAX_ROUNDS: usize = 8;

/// Unrolls loops, and simplifies the result.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    if !options.unroll {
        return Ok(());
    }
    let mut left = MAX_ADDED;
    for _ in 0..MAX_ROUNDS {
        let cfg = shader.cfg();
        if cfg.loops().is_empty() || !cfg.loops().are_all() {
            break;
        }
        let chosen = choose(shader, &cfg, &mut left);
        if chosen.is_empty() {
            break;
        }
        let demoted = separate(shader, &chosen);
        let mut names = ValueNames::default();
        let mut values: List<Value> = (0..shader.values.len() as u32).map(Value).collect();
        for counted in &chosen {
            let (blocks, end) = (List::default(), Kept::default());
            let copies = Copies { shader, counted, values: &mut values, blocks, next: BlockId::ENTRY, end };
            copies.run(&cfg, &mut names);
        }
        names.apply(shader);
        blocks::empty_unreachable(shader);
        // An exit of an iteration passes the merge blocks of earlier ones.
        structure::drop_untrue(shader);
        if demoted {
            promote::run(shader, options)?;
        }
        params::run(shader, options)?;
        number::run(shader, options)?;
        jumps::run(shader, options)?;
        blocks::run(shader, options)?;
        promote::run(shader, options)?;
    }
    Ok(())
}

/// The innermost loops to unroll in this round.
fn choose(shader: &Shader, cfg: &Cfg, left: &mut usize) -> List<Counted> {
    let loops = cfg.loops();
    let mut outer = filled(loops.len(), false);
    for b in cfg.order.iter() {
        let around = loops.around(*b).split_last().map_or(&[][..], |(_, around)| around);
        around.iter().for_each(|l| outer[*l as usize] = true);
    }
    // By loop, the blocks that are in no inner one.
    let mut own = Kept::<Rows<BlockId>>::default();
    own.group(loops.len(), cfg.order.iter().filter_map(|b| Some((*loops.around(*b).last()? as usize, *b))));
    let mut chosen = List::default();
    for l in 0..loops.len() {
        let blocks = own.of(l);
        let size: usize = blocks.iter().map(|b| shader.block(*b).insts.len() + 1).sum();
        if outer[l] || size > MAX_COPIED_INDEXED || blocks.len() > MAX_BLOCKS {
            continue;
        }
        let all = || blocks.iter().flat_map(|b| &shader.block(*b).insts).map(|i| shader.inst(*i));
        let dynamic = |v: Option<&Value>| v.is_some_and(|v| shader.as_const(*v).is_none());
        let indexed = all()
            .any(|inst| matches!(inst.op, Op::LocalLoad { .. } | Op::LocalStore { .. }) && dynamic(inst.args.first()));
        let trips = if indexed { MAX_TRIPS_INDEXED } else { MAX_TRIPS };
        let Some(counted) = count(shader, cfg, blocks, trips) else { continue };
        let copied = match (counted.many_exits, indexed) {
            (false, false) => MAX_COPIED,
            (false, true) => MAX_COPIED_INDEXED,
            (true, false) => MAX_COPIED_EARLY,
            (true, true) => MAX_COPIED_EARLY_INDEXED,
        };
        let added = size * (counted.trips as usize + 1);
        if added <= copied.min(*left) {
            *left -= added;
            chosen.push(counted);
        }
    }
    chosen
}

/// Moves values of loops with several exits to scratch variables if they are used outside. Returns whether there were
/// any.
fn separate(shader: &mut Shader, chosen: &[Counted]) -> bool {
    const NONE: u32 = u32::MAX;
    if chosen.iter().all(|c| !c.many_exits) {
        return false;
    }
    let mut loop_of = filled(shader.blocks.len(), NONE);
    for (n, counted) in (0..).zip(chosen).filter(|(_, c)| c.many_exits) {
        counted.blocks.iter().for_each(|b| loop_of[b.index()] = n);
    }
    let mut home = filled(shader.values.len(), NONE);
    for id in shader.block_ids().filter(|b| loop_of[b.index()] != NONE) {
        let block = shader.block(id);
        let results = block.insts.iter().filter_map(|i| shader.inst(*i).result);
        block.params.iter().copied().chain(results).for_each(|v| home[v.index()] = loop_of[id.index()]);
    }
    let mut uses = List::<Use>::default();
    for id in shader.block_ids() {
        let block = shader.block(id);
        let start = uses.len();
        let mut note = |v: &Value| {
            if home[v.index()] != NONE && home[v.index()] != loop_of[id.index()] {
                uses.push((id, *v));
            }
        };
        block.insts.iter().flat_map(|i| &shader.inst(*i).args).for_each(&mut note);
        block.end.values().iter().for_each(&mut note);
        uses[start..].sort_unstable();
    }
    uses.dedup();
    demote::run(shader, &uses);
    !uses.is_empty()
}

/// The copies of one loop.
struct Copies<'a> {
    shader: &'a mut Shader,
    counted: &'a Counted,
    /// By value, its copy in the current iteration; for values of other loops, in their last one.
    values: &'a mut List<Value>,
    /// By position in the loop's list, the copy of the block in the current iteration.
    blocks: List<BlockId>,
    /// The header's copy for the next iteration.
    next: BlockId,
    /// The end of the block that is being copied.
    end: Kept<End>,
}

impl Copies<'_> {
    fn run(mut self, cfg: &Cfg, names: &mut ValueNames) {
        let counted = self.counted;
        let first = self.shader.add_block();
        self.next = first;
        for trip in 0..=counted.trips {
            let last = trip == counted.trips;
            // In the last iteration nothing runs after the exit.
            let runs = |b: BlockId| !last || b == counted.exit || !cfg.dom.dominates(counted.exit, b);
            let header = self.next;
            self.blocks.clear();
            for b in &counted.blocks {
                self.blocks.push(match *b {
                    b if b == counted.header => header,
                    b if runs(b) => self.shader.add_block(),
                    _ => BlockId::ENTRY,
                });
            }
            if trip == 0 {
                self.copy_params(counted.header, header);
            } else {
                let call = super::trips::call_to(self.shader, counted.latch, counted.header);
                let args: List<Value> = call.iter().flat_map(|c| c.args).map(|v| self.copy(*v)).collect();
                let params = &self.shader.block(counted.header).params;
                params.iter().zip(&args).for_each(|(p, v)| self.values[p.index()] = *v);
            }
            if !last {
                self.next = self.shader.add_block();
            }
            for (n, b) in counted.blocks.iter().enumerate().filter(|(_, b)| runs(**b)) {
                self.copy_block(*b, self.blocks[n], last);
            }
        }
        self.enter(first);
        for b in &counted.blocks {
            let block = self.shader.block(*b);
            let results = block.insts.iter().filter_map(|i| self.shader.inst(*i).result);
            for v in block.params.iter().copied().chain(results) {
                let new = self.values[v.index()];
                if new != v {
                    names.set(v, new);
                }
            }
        }
    }

    fn copy(&self, v: Value) -> Value {
        self.values.get(v.index()).copied().unwrap_or(v)
    }

    /// Gives a block parameters like those of another one.
    fn copy_params(&mut self, from: BlockId, to: BlockId) {
        for n in 0..self.shader.block(from).params.len() {
            let p = self.shader.block(from).params[n];
            let ty = self.shader.ty(p);
            self.values[p.index()] = self.shader.add_param(to, ty);
        }
    }

    fn copy_block(&mut self, from: BlockId, to: BlockId, last: bool) {
        if from != self.counted.header {
            self.copy_params(from, to);
        }
        for n in 0..self.shader.block(from).insts.len() {
            let inst = self.shader.inst(self.shader.block(from).insts[n]);
            let args = inst.args.iter().map(|v| self.copy(*v)).collect();
            let (op, result) = (inst.op.clone(), inst.result);
            let ty = result.map(|v| self.shader.ty(v));
            let id = self.shader.add_inst(op, args, ty);
            if let (Some(old), Some(new)) = (result, self.shader.inst(id).result) {
                self.values[old.index()] = new;
            }
            self.shader.block_mut(to).insts.push(id);
        }
        let mut end = std::mem::take(&mut self.end);
        (*end).clone_from(&self.shader.block(from).end);
        // An exit that may leave earlier keeps its branch, of which one side is known now.
        if from == self.counted.exit
            && (last || !self.counted.at_most)
            && let Some(Terminator::Branch { then, .. }) = end.get()
        {
            let leaves = then.block == self.counted.after;
            end.keep_call(usize::from(leaves != last));
        }
        end.values_mut().iter_mut().for_each(|v| *v = self.copy(*v));
        // The next header's parameters are this call's values.
        end.drop_args(self.counted.header);
        end.targets_mut().for_each(|to| *to = self.target(*to));
        let jumps = matches!(end.get(), Some(Terminator::Jump(_)));
        let merge = match self.shader.block(from).merge {
            Merge::Selection(_) | Merge::Loop { .. } if jumps => Merge::None,
            Merge::Selection(merge) => Merge::Selection(self.block(merge)),
            Merge::None if jumps => Merge::None,
            // A branch that left the loop or continued with the next iteration is now a selection that ends after the
            // loop.
            Merge::None | Merge::Loop { .. } => Merge::Selection(self.counted.after),
        };
        let block = self.shader.block_mut(to);
        block.end.clone_from(&*end);
        block.merge = merge;
        self.end = end;
    }

    /// The copy of a block of the loop in this iteration; blocks outside the loop stay.
    fn block(&self, b: BlockId) -> BlockId {
        self.counted
            .index
            .get(&b)
            .map_or(b, |&n| if self.blocks[n] == BlockId::ENTRY { self.counted.after } else { self.blocks[n] })
    }

    /// Where a jump to a block goes in this iteration.
    fn target(&self, to: BlockId) -> BlockId {
        if to == self.counted.header { self.next } else { self.block(to) }
    }

    /// Redirects jumps to the loop to its first copy.
    fn enter(&mut self, first: BlockId) {
        let Counted { header, index, .. } = self.counted;
        for (id, block) in (0..).map(BlockId).zip(&mut self.shader.blocks) {
            if index.contains_key(&id) {
                continue;
            }
            block.end.targets_mut().filter(|to| **to == *header).for_each(|to| *to = first);
            match &mut block.merge {
                Merge::Selection(merge) if merge == header => *merge = first,
                Merge::Loop { merge, .. } if merge == header => *merge = first,
                _ => {}
            }
        }
    }
}

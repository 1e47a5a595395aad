//! Unrolls loops that end after a known number of iterations.
//!
//! Inner loops come first. Each iteration becomes a copy of the loop's blocks in which the counted exit's branch is
//! known, so no test of it is left. Values used after the loop are those of the last copy; if the loop has other exits,
//! they pass through scratch variables, which promotion removes. Every round ends with folding the copies, which may
//! make an outer loop's count known.

use super::demote::{self, Use};
use super::names::Names;
use super::trips::{Counted, count};
use super::{blocks, jumps, number, params, promote};
use crate::compile::request::TuningOptions;
use crate::error::Result;
use crate::ir::cfg::Cfg;
use crate::ir::{BasicBlock, BlockCall, BlockId, Merge, Op, Shader, Terminator, Value, structure};

/// Largest numbers of iterations, and of instructions of all copies.
const MAX_TRIPS: u32 = 32;
const MAX_COPIED: usize = 1024;
/// The same if the loop indexes a variable: with known indices the variable needs no memory.
const MAX_TRIPS_INDEXED: u32 = 128;
const MAX_COPIED_INDEXED: usize = 8192;
/// Largest number of instructions of all copies of a loop with other exits.
const MAX_COPIED_EARLY: usize = 256;
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
        let mut names = Names::default();
        let mut values: Vec<Value> = (0..shader.values.len() as u32).map(Value).collect();
        for counted in &chosen {
            let copies = Copies { shader, counted, values: &mut values, blocks: Vec::new(), next: BlockId::ENTRY };
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
fn choose(shader: &Shader, cfg: &Cfg, left: &mut usize) -> Vec<Counted> {
    let loops = cfg.loops();
    let mut outer = vec![false; loops.len()];
    let mut blocks: Vec<Vec<BlockId>> = vec![Vec::new(); loops.len()];
    for &b in &cfg.order {
        let Some((&inner, around)) = loops.around(b).split_last() else { continue };
        blocks[inner as usize].push(b);
        around.iter().for_each(|l| outer[*l as usize] = true);
    }
    let mut chosen = Vec::new();
    for (l, blocks) in blocks.into_iter().enumerate() {
        let size: usize = blocks.iter().map(|b| shader.block(*b).insts.len() + 1).sum();
        if outer[l] || size > MAX_COPIED_INDEXED || blocks.len() > MAX_BLOCKS {
            continue;
        }
        let all = || blocks.iter().flat_map(|b| &shader.block(*b).insts).map(|i| shader.inst(*i));
        let dynamic = |v: Option<&Value>| v.is_some_and(|v| shader.as_const(*v).is_none());
        let indexed = all()
            .any(|inst| matches!(inst.op, Op::LocalLoad { .. } | Op::LocalStore { .. }) && dynamic(inst.args.first()));
        let (trips, copied) = if indexed { (MAX_TRIPS_INDEXED, MAX_COPIED_INDEXED) } else { (MAX_TRIPS, MAX_COPIED) };
        let Some(counted) = count(shader, cfg, blocks, trips) else { continue };
        let copied = if counted.many_exits { copied.min(MAX_COPIED_EARLY) } else { copied };
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
    let mut loop_of = vec![NONE; shader.blocks.len()];
    for (n, counted) in (0..).zip(chosen).filter(|(_, c)| c.many_exits) {
        counted.blocks.iter().for_each(|b| loop_of[b.index()] = n);
    }
    let mut home = vec![NONE; shader.values.len()];
    for id in shader.block_ids().filter(|b| loop_of[b.index()] != NONE) {
        let block = shader.block(id);
        let results = block.insts.iter().filter_map(|i| shader.inst(*i).result);
        block.params.iter().copied().chain(results).for_each(|v| home[v.index()] = loop_of[id.index()]);
    }
    let mut uses: Vec<Use> = Vec::new();
    for id in shader.block_ids() {
        let block = shader.block(id);
        let start = uses.len();
        let mut note = |v: &Value| {
            if home[v.index()] != NONE && home[v.index()] != loop_of[id.index()] {
                uses.push((id, *v));
            }
        };
        block.insts.iter().flat_map(|i| &shader.inst(*i).args).for_each(&mut note);
        if let Some(term) = &block.term {
            match term {
                Terminator::Branch { cond: v, .. } | Terminator::Switch { value: v, .. } => note(v),
                Terminator::Return(values) => values.iter().for_each(&mut note),
                Terminator::Jump(_) | Terminator::Unreachable => {}
            }
            term.calls().flat_map(|call| &call.args).for_each(&mut note);
        }
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
    values: &'a mut Vec<Value>,
    /// By position in the loop's list, the copy of the block in the current iteration.
    blocks: Vec<BlockId>,
    /// The header's copy for the next iteration.
    next: BlockId,
}

impl Copies<'_> {
    fn run(mut self, cfg: &Cfg, names: &mut Names) {
        let counted = self.counted;
        let first = self.shader.add_block();
        self.next = first;
        for trip in 0..=counted.trips {
            let last = trip == counted.trips;
            // In the last iteration nothing runs after the exit.
            let runs = |b: BlockId| !last || b == counted.exit || !cfg.dom.dominates(counted.exit, b);
            let header = self.next;
            self.blocks = (counted.blocks.iter())
                .map(|b| match *b {
                    b if b == counted.header => header,
                    b if runs(b) => self.shader.add_block(),
                    _ => BlockId::ENTRY,
                })
                .collect();
            let params = self.shader.block(counted.header).params.clone();
            if trip == 0 {
                for p in params {
                    let ty = self.shader.ty(p);
                    self.values[p.index()] = self.shader.add_param(header, ty);
                }
            } else {
                let call = super::trips::call_to(self.shader, counted.latch, counted.header);
                let args: Vec<Value> = call.iter().flat_map(|c| &c.args).map(|v| self.copy(*v)).collect();
                params.iter().zip(args).for_each(|(p, v)| self.values[p.index()] = v);
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

    fn copy_block(&mut self, from: BlockId, to: BlockId, last: bool) {
        let is_header = from == self.counted.header;
        if !is_header {
            for p in self.shader.block(from).params.clone() {
                let ty = self.shader.ty(p);
                self.values[p.index()] = self.shader.add_param(to, ty);
            }
        }
        let list = self.shader.block(from).insts.clone();
        let mut copied = Vec::with_capacity(list.len());
        for id in list {
            let inst = self.shader.inst(id);
            let args = inst.args.iter().map(|v| self.copy(*v)).collect();
            let (op, result) = (inst.op.clone(), inst.result);
            let ty = result.map(|v| self.shader.ty(v));
            let id = self.shader.add_inst(op, args, ty);
            if let (Some(old), Some(new)) = (result, self.shader.inst(id).result) {
                self.values[old.index()] = new;
            }
            copied.push(id);
        }
        let mut term = self.shader.block(from).term.clone();
        if from == self.counted.exit
            && let Some(Terminator::Branch { then, els, .. }) = &term
        {
            let leaves = then.block == self.counted.after;
            term = Some(Terminator::Jump(if leaves == last { then.clone() } else { els.clone() }));
        }
        term.iter_mut().flat_map(Terminator::values_mut).for_each(|v| *v = self.copy(*v));
        for call in term.iter_mut().flat_map(Terminator::calls_mut) {
            self.retarget(call);
        }
        let jumps = matches!(term, Some(Terminator::Jump(_)));
        let merge = match self.shader.block(from).merge {
            Merge::Selection(_) | Merge::Loop { .. } if jumps => Merge::None,
            Merge::Selection(merge) => Merge::Selection(self.block(merge)),
            Merge::None if jumps => Merge::None,
            // A branch that left the loop or continued with the next iteration is now a selection that ends after the
            // loop.
            Merge::None | Merge::Loop { .. } => Merge::Selection(self.counted.after),
        };
        let block = self.shader.block_mut(to);
        let params = std::mem::take(&mut block.params);
        *block = BasicBlock { params, insts: copied, term, merge };
    }

    /// The copy of a block of the loop in this iteration; blocks outside the loop stay.
    fn block(&self, b: BlockId) -> BlockId {
        self.counted
            .index
            .get(&b)
            .map_or(b, |&n| if self.blocks[n] == BlockId::ENTRY { self.counted.after } else { self.blocks[n] })
    }

    fn retarget(&self, call: &mut BlockCall) {
        if call.block == self.counted.header {
            call.block = self.next;
            // The values of this jump replace the next header's parameters.
            call.args.clear();
        } else {
            call.block = self.block(call.block);
        }
    }

    /// Redirects jumps to the loop to its first copy.
    fn enter(&mut self, first: BlockId) {
        let Counted { header, index, .. } = self.counted;
        for (id, block) in (0..).map(BlockId).zip(&mut self.shader.blocks) {
            if index.contains_key(&id) {
                continue;
            }
            let calls = block.term.iter_mut().flat_map(Terminator::calls_mut);
            calls.filter(|call| call.block == *header).for_each(|call| call.block = first);
            match &mut block.merge {
                Merge::Selection(merge) if merge == header => *merge = first,
                Merge::Loop { merge, .. } if merge == header => *merge = first,
                _ => {}
            }
        }
    }
}

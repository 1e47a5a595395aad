//! Replaces instructions by other code: the framework of most passes.
//!
//! A rule is called once for each instruction, in block order, with a builder at its position. It may build anything
//! there, including new blocks; the following instructions continue at the builder's final position. Uses of a replaced
//! value are renamed in the same walk; a second walk is needed only over blocks that precede one that dominates them.
//! Constants that stay move to the entry block.

use super::alu::FpFlags;
use super::block::{End, Merge, Terminator};
use super::builder::Builder;
use super::graph::PerBlock;
use super::op::Op;
use super::shader::{BlockId, Inst, InstId, Shader, Value};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, filled, take};

/// A rule's decision about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The instruction stays.
    Keep,
    /// The instruction is removed; its result, if it had one, is replaced by this value.
    Value(Value),
    /// The instruction is removed; it had no result (or an unused one).
    Remove,
}

/// Applies a rule to every instruction. The rule sees renamed operands. It owns the instruction during the call: the
/// shader does not contain it meanwhile.
///
/// # Errors
/// Those of the rule; a bug if a replacement has another type.
pub fn rewrite(shader: &mut Shader, mut rule: impl FnMut(&mut Builder<'_>, &Inst) -> Result<Rewrite>) -> Result<()> {
    let early = early(shader);
    let mut passed = take::<Vec<BlockId>>();
    let mut insts = take::<Vec<InstId>>();
    let mut end_of_block = take::<End>();
    let mut names = Names(take());
    let blocks = shader.block_ids();
    let mut b = Builder::new(shader, Shader::ENTRY);
    for id in blocks {
        let made = b.shader.blocks.len() as u32;
        b.switch_to(id);
        b.fp = FpFlags::NONE;
        let block = b.shader.block_mut(id);
        // The selection moves with the branch; a loop stays with the block that is the target of its back edge.
        let selection = match block.merge {
            Merge::Selection(_) => std::mem::take(&mut block.merge),
            Merge::None | Merge::Loop { .. } => Merge::None,
        };
        insts.clear();
        insts.append(&mut block.insts);
        // The end follows the builder to the last block that the rule makes.
        (*end_of_block).clone_from(&block.end);
        block.end.clear();
        for &inst_id in insts.iter() {
            let mut inst = std::mem::replace(b.shader.inst_mut(inst_id), Inst::none());
            if !names.0.is_empty() {
                inst.args.iter_mut().for_each(|v| *v = names.of(*v));
            }
            let made = rule(&mut b, &inst).and_then(|made| names.note(&b, &inst, made));
            let made = made.map_err(|e| e.at(format!("`{}`", b.shader.inst_text(&inst))))?;
            if made == Rewrite::Keep {
                let mut to = b.block();
                if let (&Op::Const(bits), Some(v)) = (&inst.op, inst.result) {
                    let ty = b.ty(v);
                    if b.pool().get(ty, bits).is_none() {
                        b.pool().insert(ty, bits, v);
                    }
                    to = Shader::ENTRY;
                }
                b.shader.block_mut(to).insts.push(inst_id);
            }
            *b.shader.inst_mut(inst_id) = inst;
        }
        let end = b.block();
        let end = b.shader.block_mut(end);
        end.end.clone_from(&end_of_block);
        end.end.values_mut().iter_mut().for_each(|v| *v = names.of(*v));
        if selection != Merge::None {
            end.merge = selection;
        }
        if early.get(id.index()) == Some(&true) {
            passed.push(id);
            passed.extend((made..b.shader.blocks.len() as u32).map(BlockId));
        }
    }
    if !names.0.is_empty() {
        rename(shader, &passed, &names);
    }
    Ok(())
}

/// For each block, whether a walk in order reaches it before a block that dominates it, whose values it may use: such
/// uses are visited before their value is renamed.
fn early(shader: &Shader) -> PerBlock<bool> {
    let cfg = shader.cfg();
    // In unreachable code, a use may precede its definition.
    let idle = |b: BlockId| shader.block(b).insts.is_empty() && shader.block(b).term() == Some(Terminator::Unreachable);
    let mut out: PerBlock<bool> = shader.block_ids().map(|b| !cfg.reachable(b) && !idle(b)).collect();
    // For each block, the last number of its dominators; these come first in the order.
    let mut last = filled(shader.blocks.len(), 0);
    for &b in cfg.order.iter() {
        let Some(parent) = cfg.dom.parent(b) else { continue };
        last[b.index()] = parent.0.max(last[parent.index()]);
        out[b.index()] = last[b.index()] > b.0;
    }
    out
}

/// New names by renamed value; shorter than the list of values, or empty, if later values have none.
struct Names(Kept<Vec<Option<Value>>>);

impl Names {
    /// Follows a chain of renamings to its end.
    fn of(&self, mut v: Value) -> Value {
        while let Some(Some(new)) = self.0.get(v.index()) {
            v = *new;
        }
        v
    }

    /// Records a rule's decision about an instruction.
    fn note(&mut self, b: &Builder<'_>, inst: &Inst, made: Rewrite) -> Result<Rewrite> {
        let (Rewrite::Value(new), Some(old)) = (made, inst.result) else { return Ok(made) };
        let new = self.of(new);
        if new == old {
            // Values in unreachable code may be circular; renamings must not be.
            return Ok(Rewrite::Keep);
        }
        if b.ty(new) != b.ty(old) {
            return Err(Error::bug("replaced by another type"));
        }
        if self.0.len() <= old.index() {
            self.0.resize(b.shader.values.len(), None);
        }
        self.0[old.index()] = Some(new);
        Ok(made)
    }
}

/// Renames every use of every renamed value in some blocks. Renamings may be chained, not circular.
fn rename(shader: &mut Shader, blocks: &[BlockId], names: &Names) {
    let Shader { blocks: all, insts, .. } = shader;
    for id in blocks {
        let block = &mut all[id.index()];
        for &id in &block.insts {
            insts[id.index()].args.iter_mut().for_each(|v| *v = names.of(*v));
        }
        block.end.values_mut().iter_mut().for_each(|v| *v = names.of(*v));
    }
}

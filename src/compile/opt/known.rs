//! A table of known instructions at the current position of a walk, to find equal ones.
//!
//! The walk visits the dominator tree in preorder. An entry whose block does not dominate the current one belongs to a
//! finished subtree and is never used again, so nothing has to be removed.

use super::purity::same;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{AmdOp, BlockId, InstId, Op, Shader, Type, Value};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A version of the state on which an instruction depends; equal numbers are equal states.
pub(super) type Version = u32;

/// The operation and operands to look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    pub op: &'a Op,
    pub args: &'a [Value],
    pub ty: Type,
    pub version: Version,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    version: Version,
    inst: InstId,
    block: BlockId,
    /// The result; for a load whose value is that of a store, the stored value.
    value: Value,
}

/// Open addressing; at most half of the slots are in use.
#[derive(Debug)]
pub(super) struct Known {
    slots: List<Option<Entry>>,
    used: usize,
}

impl Known {
    /// An empty table for a shader with about this many instructions.
    pub fn new(insts: usize) -> Self {
        Self { slots: filled((2 * insts).next_power_of_two().max(64), None), used: 0 }
    }

    /// The value of an equal instruction that dominates the block; otherwise the slot for this one.
    pub fn find(&self, shader: &Shader, cfg: &Cfg, block: BlockId, key: Key<'_>) -> Result<Value, Slot> {
        let hash = hash(key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(entry) = self.slots[at] {
            if entry.hash == hash && entry.version == key.version {
                let inst = shader.inst(entry.inst);
                let equal = same(&inst.op, key.op) && inst.args[..] == *key.args && shader.ty(entry.value) == key.ty;
                if equal {
                    let reaches = entry.block == block || is_at_hand(cfg, entry.block, block);
                    return if reaches { Ok(entry.value) } else { Err(Slot { at, hash }) };
                }
            }
            at = (at + 1) & mask;
        }
        Err(Slot { at, hash })
    }

    /// Records an instruction in the slot that was found for it; nothing may have been recorded in between.
    pub fn insert(&mut self, slot: Slot, version: Version, block: BlockId, inst: InstId, value: Value) {
        let Slot { at, hash } = slot;
        if self.slots[at].replace(Entry { hash, version, inst, block, value }).is_none() {
            self.used += 1;
            if 2 * self.used > self.slots.len() {
                self.grow();
            }
        }
    }

    fn grow(&mut self) {
        let len = 2 * self.slots.len();
        let old = std::mem::replace(&mut self.slots, filled(len, None));
        for entry in old.iter().copied().flatten() {
            let mut at = entry.hash as usize & (len - 1);
            while self.slots[at].is_some() {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = Some(entry);
        }
    }
}

/// Whether a value of one block may be used in another instead of being recomputed. It must not be used outside its
/// loop: there, lanes that left the loop at different times would hold it in vector registers.
fn is_at_hand(cfg: &Cfg, made: BlockId, used: BlockId) -> bool {
    let [around, outside] = [made, used].map(|b| cfg.loops().around(b));
    let stays = around.last().is_none_or(|inner| outside.get(around.len() - 1) == Some(inner));
    stays && cfg.dom.dominates(made, used)
}

/// A place in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    at: usize,
    hash: u32,
}

fn hash(key: Key<'_>) -> u32 {
    let mut h = FxHasher::default();
    std::mem::discriminant(key.op).hash(&mut h);
    match key.op {
        Op::Alu(op, flags) => h.write_u32((*op as u32) << 8 | u32::from(flags.0)),
        Op::Extract(lane) => h.write_u8(*lane),
        Op::Reloc(symbol) => h.write_u32(symbol.0),
        Op::LocalLoad { local, .. } => h.write_u32(local.0),
        Op::Target(AmdOp::Interp { attr, channel, .. }) => h.write_u32(attr << 2 | u32::from(*channel)),
        Op::Target(op) => std::mem::discriminant(op).hash(&mut h),
        Op::LoadInput { location, component, .. } => h.write_u32(location << 2 | u32::from(*component)),
        _ => {}
    }
    h.write_u32(key.version);
    h.write_u32(key.ty.total_bits());
    key.args.iter().for_each(|v| h.write_u32(v.0));
    let h = h.finish();
    (h >> 32) as u32 ^ h as u32
}

//! The outputs of a shader before they become exports or epilog inputs: their slots, and the stores of each returning
//! block.

use crate::error::{Error, FullCompile, Result};
use crate::ir::{
    BlockId, Builder, ExportTarget, NumericKind, Op, OutputSlot, RegClass, Shader, Terminator, Type, Value,
};
use crate::metadata::interface::MAX_JOINT_VGPRS;
use crate::workspace::filled;
use std::collections::BTreeMap;

/// The outputs of a shader.
pub(super) struct Outputs {
    /// Every slot that is written on some path.
    pub(super) slots: BTreeMap<OutputSlot, (NumericKind, Type)>,
    /// The blocks that return, each with its stores.
    pub(super) ends: Vec<(BlockId, BTreeMap<OutputSlot, Value>)>,
    /// Vertex: the bits of each slot that has the same constant at every return.
    pub(super) constants: BTreeMap<OutputSlot, u64>,
}

impl Outputs {
    /// Whether a slot is written.
    pub(super) fn has(&self, slot: OutputSlot) -> bool {
        self.slots.contains_key(&slot)
    }

    /// The bits of a slot that has the same constant at every return.
    pub(super) fn constant(&self, slot: OutputSlot) -> Option<u64> {
        self.constants.get(&slot).copied()
    }
}

/// Value that a block stores to a slot.
pub(super) fn stored(b: &mut Builder<'_>, stores: &BTreeMap<OutputSlot, Value>, slot: OutputSlot, ty: Type) -> Value {
    match stores.get(&slot) {
        Some(&v) => v,
        None => b.undef(ty),
    }
}

/// Returns these values in VGPRs from every returning block, and falls through into the epilog.
pub(super) fn fall_through(shader: &mut Shader, ends: Vec<(BlockId, Vec<Value>)>, what: &str) -> Result<()> {
    let count = ends.first().map_or(0, |(_, v)| v.len());
    if count > MAX_JOINT_VGPRS as usize {
        return Err(Error::needs_full(FullCompile::TooManyValues { what: what.to_owned(), count: count as u32 }));
    }
    for (block, values) in ends {
        shader.block_mut(block).end.set(Terminator::Return(&values));
    }
    let info = shader.lower.as_mut().ok_or_else(|| Error::bug("outputs are lowered before the entry"))?;
    info.returns = filled(count, RegClass::Vgpr);
    info.epilog = true;
    Ok(())
}

/// An export of 32-bit values.
pub(super) fn push_export(b: &mut Builder<'_>, target: ExportTarget, enable: u8, values: [Value; 4], done: bool) {
    b.effect(Op::Export { target, enable, compressed: false, done, valid_mask: false }, &values);
}

//! The outputs of a shader before they become exports or epilog inputs: their slots, and the stores of each returning
//! block.

use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::{
    AmdOp, BlockId, Builder, ExportTarget, NumericKind, Op, OutputSlot, RegClass, Shader, Terminator, Type, Value,
};

/// A map with a few slots, in their order.
pub(super) struct BySlot<T: 'static>(List<(OutputSlot, T)>);

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self(List::default())
    }
}

impl<T: Copy> BySlot<T> {
    fn find(&self, slot: OutputSlot) -> Result<usize, usize> {
        self.0.binary_search_by_key(&slot, |(slot, _)| *slot)
    }

    pub(super) fn get(&self, slot: OutputSlot) -> Option<T> {
        self.find(slot).ok().map(|n| self.0[n].1)
    }

    /// Sets what a slot has, and returns what it had.
    pub(super) fn insert(&mut self, slot: OutputSlot, new: T) -> Option<T> {
        match self.find(slot) {
            Ok(n) => Some(std::mem::replace(&mut self.0[n].1, new)),
            Err(n) => {
                self.0.insert(n, (slot, new));
                None
            }
        }
    }

    pub(super) fn remove(&mut self, slot: OutputSlot) {
        if let Ok(n) = self.find(slot) {
            self.0.remove(n);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (OutputSlot, T)> {
        self.0.iter().copied()
    }
}

/// The outputs of a shader.
#[derive(Default)]
pub(super) struct Outputs {
    /// Every slot that is written on some path.
    pub(super) slots: BySlot<(NumericKind, Type)>,
    /// The blocks that return, each with its stores.
    pub(super) ends: List<(BlockId, BySlot<Value>)>,
    /// Vertex: the bits of each slot that has the same constant at every return.
    pub(super) constants: BySlot<u64>,
}

impl Outputs {
    /// Whether a slot is written.
    pub(super) fn has(&self, slot: OutputSlot) -> bool {
        self.slots.get(slot).is_some()
    }

    /// The bits of a slot that has the same constant at every return.
    pub(super) fn constant(&self, slot: OutputSlot) -> Option<u64> {
        self.constants.get(slot)
    }
}

/// Value that a block stores to a slot.
pub(super) fn stored(b: &mut Builder<'_>, stores: &BySlot<Value>, slot: OutputSlot, ty: Type) -> Value {
    stores.get(slot).unwrap_or_else(|| b.undef(ty))
}

/// Returns at most `most` values in VGPRs from every returning block, and falls through into the epilog. `values` appends
/// those of a block with these stores.
pub(super) fn fall_through(
    shader: &mut Shader,
    outputs: &Outputs,
    (what, most): (&str, u32),
    mut values: impl FnMut(&mut Builder<'_>, &BySlot<Value>, &mut List<Value>),
) -> Result<()> {
    let mut returned = List::default();
    for (block, stores) in outputs.ends.iter() {
        returned.clear();
        values(&mut Builder::new(shader, *block), stores, &mut returned);
        if returned.len() > most as usize {
            let count = returned.len() as u32;
            return Err(Error::needs_full(FullCompile::TooManyValues { what: what.to_owned(), count }));
        }
        shader.block_mut(*block).end.set(Terminator::Return(&returned));
    }
    let count = returned.len();
    let info = shader.lower.as_mut().ok_or_else(|| Error::bug("outputs are lowered before the entry"))?;
    info.returns = filled(count, RegClass::Vgpr);
    info.epilog = true;
    Ok(())
}

/// An export of 32-bit values.
pub(super) fn push_export(
    b: &mut Builder<'_>,
    target: ExportTarget,
    enable: u8,
    values: [Value; 4],
    (done, valid_mask): (bool, bool),
) {
    b.effect(Op::Target(AmdOp::Export { target, enable, compressed: false, done, valid_mask }), &values);
}

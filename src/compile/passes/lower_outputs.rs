//! Stage outputs: what the body exports itself, and what it returns to an epilog.
//!
//! Stores stand in the blocks that return. Every such block returns the same list of slots; one that a block does not
//! store is undefined there, and one that every block leaves undefined does not exist: front ends store whole built-in
//! blocks of which the shader wrote one member.

use super::entry::MAX_VGPRS;
use super::output_values::Origins;
use super::pipeline::Lowering;
use super::{fragment_outputs, vertex_outputs};
use crate::error::{Error, FullCompile, Result};
use crate::ir::{BlockId, Builder, NumericKind, Op, OutputSlot, RegClass, Shader, Terminator, Type, Value};
use crate::target::Stage;
use std::collections::BTreeMap;

/// The outputs of a shader.
pub(super) struct Outputs {
    /// Every slot that is written somewhere.
    pub(super) slots: BTreeMap<OutputSlot, (NumericKind, Type)>,
    /// The blocks that return, each with its stores.
    pub(super) ends: Vec<(BlockId, BTreeMap<OutputSlot, Value>)>,
    /// The bits of each slot that has the same constant at every end.
    constants: BTreeMap<OutputSlot, u64>,
}

/// Lowers `StoreOutput` and `Return`.
pub(super) fn run(shader: &mut Shader, cx: &mut Lowering<'_>) -> Result<()> {
    let outputs = collect(shader)?;
    match shader.stage {
        Stage::Vertex => vertex_outputs::run(shader, cx, &outputs),
        Stage::Fragment => fragment_outputs::run(shader, cx, &outputs),
        Stage::Compute => Ok(()),
    }
}

/// Takes the stores out of the shader.
fn collect(shader: &mut Shader) -> Result<Outputs> {
    let mut out = Outputs { slots: BTreeMap::new(), ends: Vec::new(), constants: BTreeMap::new() };
    let undefined = Origins::new(shader).undefined_outputs();
    for block in shader.block_ids() {
        let mut stores = BTreeMap::new();
        let mut rest = Vec::new();
        for id in std::mem::take(&mut shader.block_mut(block).insts) {
            let inst = shader.inst(id);
            let Op::StoreOutput { slot, kind } = inst.op else {
                rest.push(id);
                continue;
            };
            let &[value] = inst.args.as_slice() else { return Err(Error::bug("an output store without a value")) };
            if undefined.contains(&value) {
                stores.remove(&slot);
                continue;
            }
            let ty = shader.ty(value);
            if out.slots.insert(slot, (kind, ty)).is_some_and(|old| old != (kind, ty)) {
                return Err(Error::malformed(format!("output {slot:?} is stored with two types")));
            }
            stores.insert(slot, value);
        }
        shader.block_mut(block).insts = rest;
        match shader.block(block).term {
            Some(Terminator::Return(_)) => out.ends.push((block, stores)),
            _ if !stores.is_empty() => return Err(Error::bug(format!("{block} stores outputs and does not return"))),
            _ => {}
        }
    }
    let mut origins = Origins::new(shader);
    for &slot in out.slots.keys() {
        let mut bits = out.ends.iter().map(|(_, stores)| stores.get(&slot).and_then(|&v| origins.constant(v)));
        if let Some(first) = bits.next().flatten()
            && bits.all(|b| b == Some(first))
        {
            out.constants.insert(slot, first);
        }
    }
    Ok(out)
}

impl Outputs {
    /// Whether a slot is written.
    pub(super) fn has(&self, slot: OutputSlot) -> bool {
        self.slots.contains_key(&slot)
    }

    /// The bits of a slot that has the same constant at every end.
    pub(super) fn constant(&self, slot: OutputSlot) -> Option<u64> {
        self.constants.get(&slot).copied()
    }
}

/// What a block stores to a slot.
pub(super) fn stored(b: &mut Builder<'_>, stores: &BTreeMap<OutputSlot, Value>, slot: OutputSlot, ty: Type) -> Value {
    match stores.get(&slot) {
        Some(&v) => v,
        None => b.undef(ty),
    }
}

/// Ends every returning block with these values in VGPRs. Without any, the function still has to return something to
/// fall through into its epilog: the first user SGPR costs no instruction.
pub(super) fn fall_through(shader: &mut Shader, ends: Vec<(BlockId, Vec<Value>)>, what: &str) -> Result<()> {
    let count = ends.first().map_or(0, |(_, v)| v.len());
    if count > MAX_VGPRS as usize {
        return Err(Error::needs_full(FullCompile::TooManyValues { what: what.to_owned(), count: count as u32 }));
    }
    let first_sgpr = shader.block(Shader::ENTRY).params.first().copied();
    let first_sgpr = first_sgpr.ok_or_else(|| Error::bug("an entry block without registers"))?;
    for (block, mut values) in ends {
        if values.is_empty() {
            values.push(first_sgpr);
        }
        shader.block_mut(block).term = Some(Terminator::Return(values));
    }
    let info = shader.lower.as_mut().ok_or_else(|| Error::bug("outputs are lowered before the entry"))?;
    info.returns = if count == 0 { vec![RegClass::Sgpr] } else { vec![RegClass::Vgpr; count] };
    Ok(())
}

//! Stage outputs: those that the body exports itself, and those that it returns to an epilog.
//!
//! Stores are in the returning blocks. All such blocks return the same list of slots. A slot that a block does not
//! store is undefined there, and a slot that is undefined in all of them is dropped, because front ends store whole
//! built-in blocks of which the shader wrote one member.

use super::context::PassContext;
use super::output_values::Origins;
use super::outputs::{BySlot, Outputs};
use super::{fragment_outputs, vertex_outputs};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_ir::{Op, Shader, Terminator};
use std::collections::BTreeSet;

/// Lowers `StoreOutput` and `Return`.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let mut outputs = collect(shader)?;
    match shader.stage {
        Stage::Vertex => {
            outputs.constants = constants(shader, &outputs);
            vertex_outputs::run(shader, cx, &outputs)
        }
        Stage::Fragment => fragment_outputs::run(shader, cx, &outputs),
        Stage::Compute => Ok(()),
    }
}

/// Removes the stores from the shader and collects them.
fn collect(shader: &mut Shader) -> Result<Outputs> {
    let mut out = Outputs::default();
    let undefined = match shader.stage {
        Stage::Compute => BTreeSet::new(),
        Stage::Vertex | Stage::Fragment => Origins::new(shader).undefined_outputs(),
    };
    for block in shader.block_ids() {
        let mut stores = BySlot::default();
        let mut insts = std::mem::take(&mut shader.block_mut(block).insts);
        for inst in insts.iter().map(|id| shader.inst(*id)) {
            let Op::StoreOutput { slot, kind } = inst.op else { continue };
            let &[value] = inst.args.as_slice() else { return Err(Error::bug("an output store without a value")) };
            if undefined.contains(&value) {
                stores.remove(slot);
                continue;
            }
            let ty = shader.ty(value);
            if out.slots.insert(slot, (kind, ty)).is_some_and(|old| old != (kind, ty)) {
                return Err(Error::malformed(format!("output {slot:?} is stored with two types")));
            }
            stores.insert(slot, value);
        }
        insts.retain(|id| !matches!(shader.inst(*id).op, Op::StoreOutput { .. }));
        shader.block_mut(block).insts = insts;
        match shader.block(block).term() {
            Some(Terminator::Return(_)) => out.ends.push((block, stores)),
            _ if !stores.is_empty() => return Err(Error::bug(format!("{block} stores outputs and does not return"))),
            _ => {}
        }
    }
    Ok(out)
}

/// The bits of each slot that has the same constant at every return.
fn constants(shader: &Shader, outputs: &Outputs) -> BySlot<u64> {
    let mut origins = Origins::new(shader);
    let mut common = BySlot::default();
    for (slot, _) in outputs.slots.iter() {
        let mut bits = outputs.ends.iter().map(|(_, stores)| stores.get(slot).and_then(|v| origins.constant(v)));
        if let Some(first) = bits.next().flatten()
            && bits.all(|b| b == Some(first))
        {
            common.insert(slot, first);
        }
    }
    common
}

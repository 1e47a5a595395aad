//! Moves every constant, once, to the start of the entry block, so that later passes may use it anywhere.
//!
//! The back end puts constants into the operands of instructions, so their position costs no register. Undefined values
//! of one type become one value, which is still undefined.

use super::names::ValueNames;
use dovetail_base::error::Result;
use dovetail_base::workspace::{Kept, List};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{InstId, Op, Shader, Type, Value};
use rustc_hash::FxHashMap;

/// Gathers the constants of all blocks.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let mut first = Kept::<FxHashMap<(Type, Option<u64>), Value>>::default();
    let mut names = ValueNames::default();
    let mut gathered = List::<InstId>::default();
    let Shader { blocks, insts, values, .. } = &mut *shader;
    for block in blocks.iter_mut() {
        block.insts.retain(|&id| {
            let inst = &insts[id.index()];
            let (bits, Some(v)) = (bits(&inst.op), inst.result) else { return true };
            let Some(bits) = bits else { return true };
            match first.entry((values[v.index()].ty, bits)) {
                std::collections::hash_map::Entry::Occupied(known) => names.set(v, *known.get()),
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(v);
                    gathered.push(id);
                }
            }
            false
        });
    }
    if let Some(entry) = blocks.first_mut() {
        entry.insts.splice(0..0, gathered.drain(..));
    }
    names.apply(shader);
    Ok(())
}

/// The bits of a constant, `Some(None)` for an undefined value; `None` for other operations.
fn bits(op: &Op) -> Option<Option<u64>> {
    match op {
        Op::Const(bits) => Some(Some(*bits)),
        Op::Undef => Some(None),
        _ => None,
    }
}

//! Executes exports: collects their values for the fixed functions of the draw.

use super::fixed_function::Export;
use super::wave::{LANES, Wave};
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::ExportFields;
use dovetail_isa::{Counter, ExpTarget};

/// Executes one export.
pub fn execute(fields: &ExportFields, wave: &mut Wave) -> Result<()> {
    // Where the hardware does not wait for the attributes, fragment waves may read them from the last position on.
    let target = ExpTarget::from_number(fields.target);
    if wave.isa.facts().parameters_first && fields.done && matches!(target, Some(ExpTarget::Pos(_))) {
        let mut open = wave.waits.outstanding().filter(|(counter, _)| *counter == Counter::Store);
        if let Some((_, store)) = open.next() {
            let what = format!("exports the last position, and {} at {:#x} is outstanding", store.mnemonic, store.at);
            return Err(Error::malformed(what));
        }
    }
    let mut values = Box::new([[0; LANES]; 4]);
    for (i, (to, from)) in values.iter_mut().zip(fields.data).enumerate() {
        // A compressed export has two enable bits per register.
        let bits = if fields.compr { fields.enabled >> (2 * i) & 3 } else { fields.enabled >> i & 1 };
        if i < if fields.compr { 2 } else { 4 } && bits != 0 {
            *to = *wave.row(from, 0)?;
        }
    }
    let exec = wave.exec();
    wave.exports.push(Export {
        target: fields.target,
        enabled: fields.enabled,
        compr: fields.compr,
        done: fields.done,
        vm: fields.vm,
        exec,
        values,
    });
    Ok(())
}

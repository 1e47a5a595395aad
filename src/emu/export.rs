//! Exports: collected for whoever draws with them.

use super::wave::{LANES, Wave};
use crate::error::Result;
use crate::isa::instruction::ExportFields;

/// What one export instruction sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Target number: 0–7 colours, 8 depth, 9 null, 12–16 positions, 20 primitive, 32–63 parameters.
    pub target: u8,
    /// Components sent, a bit each.
    pub enabled: u8,
    /// Two registers of two halves.
    pub compr: bool,
    /// Last of its kind.
    pub done: bool,
    /// `exec` says which pixels are alive.
    pub vm: bool,
    /// Lanes that sent.
    pub exec: u64,
    /// The registers, lane by lane; of a compressed export the first two.
    pub values: Box<[[u32; LANES]; 4]>,
}

/// Executes one export.
pub fn execute(fields: &ExportFields, wave: &mut Wave) -> Result<()> {
    let mut values = Box::new([[0; LANES]; 4]);
    for (i, (to, from)) in values.iter_mut().zip(fields.data).enumerate() {
        // In a compressed export two bits enable each register.
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

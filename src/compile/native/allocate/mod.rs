//! Register allocation: values to registers.
//!
//! ```text
//! Function ──Liveness──> exclusive ──> walk (hints, place) ──copies──> Function in physical form
//! ```
//!
//! In physical form every operand is a register, a constant or a relocation, edges pass nothing, and blocks have no
//! parameters. [`super::check_alloc`] judges the result without knowing how it came about.

mod copies;
mod edges;
mod exclusive;
mod hints;
mod output;
mod place;
mod registers;
mod room;
mod walk;

#[cfg(test)]
mod tests;

pub use registers::{Limits, RegSet, class_of};

use super::liveness::Liveness;
use super::mir::{Function, PhysReg};
use crate::error::Result;

/// Registers of the scratch descriptor.
const SCRATCH_REGISTERS: u16 = 4;

/// A function in physical form.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// The code.
    pub function: Function,
    /// For each of its instructions the index of the original one that it stands for; `None` if it was inserted.
    pub origin: Vec<Option<u32>>,
}

/// The registers that values of a function may have: without those of its scratch descriptor.
pub fn open_registers(f: &Function, limits: Limits) -> RegSet {
    let mut all = limits.registers();
    if f.scratch_bytes > 0 {
        all.remove_run(PhysReg::SCRATCH, SCRATCH_REGISTERS);
    }
    all
}

/// Gives every value of a verified function a register.
///
/// # Errors
/// Unsupported, by name: not enough registers, or none that follow each other where a run needs them. Bugs.
pub fn allocate(f: &Function, limits: Limits) -> Result<Allocated> {
    let live = Liveness::new(f);
    let mut loc = vec![None; f.values.len()];
    let all = open_registers(f, limits);
    let exclusive = exclusive::assign(f, &live, &all, &mut loc)?;
    let mut walk = walk::Walk::new(f, &live, all.without(&exclusive), loc);
    let blocks = walk.run()?;
    let output = walk.out;
    let function = Function {
        gfx: f.gfx,
        stage: f.stage,
        wave: f.wave,
        blocks,
        insts: output.insts,
        operands: output.operands,
        params: Vec::new(),
        values: f.values.clone(),
        entry: f.entry.clone(),
        results: f.results.clone(),
        scratch_bytes: f.scratch_bytes,
        lds_bytes: f.lds_bytes,
        pixel_inputs: f.pixel_inputs,
    };
    Ok(Allocated { function, origin: output.origin })
}

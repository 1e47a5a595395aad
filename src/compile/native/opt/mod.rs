//! The middle end: optimises lowered shaders for our own code generator. (LLVM does all of this itself.)
//!
//! [`PASSES`] is the table of contents. Every pass takes and leaves a shader that `ir::verify` accepts, at either level,
//! takes time linear in its size, and recurses nowhere. To add a pass: a file, a line in the list.

mod blocks;
mod bounds;
mod cells;
mod constants;
mod demote;
mod ifs;
mod jumps;
mod known;
mod licm;
mod matching;
mod names;
mod number;
mod params;
mod promote;
mod purity;
mod rules;
#[cfg(test)]
mod rules_proof;
mod simplify;
mod trips;
mod unroll;
mod vectors;

use crate::compile::passes::dce;
use crate::compile::request::TuningOptions;
use crate::error::{Context, Result};
use crate::ir::Shader;
use crate::ir::verify::verify;
use crate::target::WaveSize;

/// A pass of the middle end.
pub type Pass = fn(&mut Shader, &TuningOptions) -> Result<()>;

/// Every pass with its name, in order.
pub const PASSES: &[(&str, Pass)] = &[
    ("constants", constants::run),
    ("promote", promote::run),
    ("number", number::run),
    ("jumps", jumps::run),
    // Before loops are copied, so that there is less to copy, and after.
    ("ifs", ifs::run),
    ("unroll", unroll::run),
    ("ifs", ifs::run),
    ("licm", licm::run),
    ("vectors", vectors::run),
    ("contract", number::contract),
    ("dce", remove_dead),
    // What died may have left empty blocks, and they conditions.
    ("jumps", jumps::run),
    ("dce", remove_dead),
    ("blocks", blocks::run),
];

/// Optimises a shader.
///
/// # Errors
/// Bugs only.
pub fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    run_some(shader, options, |_| true)
}

/// Runs the passes whose name is wanted.
///
/// # Errors
/// Bugs only.
pub fn run_some(shader: &mut Shader, options: &TuningOptions, wanted: impl Fn(&str) -> bool) -> Result<()> {
    for (name, pass) in PASSES.iter().filter(|(name, _)| wanted(name)) {
        pass(shader, options).at(|| *name)?;
        if cfg!(debug_assertions) {
            verify(shader).at(|| format!("after {name}"))?;
        }
    }
    Ok(())
}

fn remove_dead(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    // The wave size is for passes that lower.
    dce::run(shader, WaveSize::W32)
}

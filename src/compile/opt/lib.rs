//! The middle end: passes on the IR that know no hardware.
//!
//! [`fold`], [`copies`] and [`dce`] also clean up between the passes that lower. The others optimise lowered shaders for the native
//! generator; LLVM does all of this itself.
//!
//! [`PASSES`] lists the passes. Every pass accepts and produces shaders that `ir::verify` accepts, at either level,
//! takes time linear in the shader's size, and never recurses. To add a pass, add a file and a line in the list.

mod blocks;
mod cells;
mod constants;
pub mod copies;
pub mod dce;
mod demote;
mod early;
mod elements;
pub mod fold;
mod hoist;
mod ifs;
mod jumps;
mod known;
mod licm;
mod matching;
mod move_up;
pub mod names;
mod number;
mod pairs;
mod params;
mod promote;
mod purity;
mod reload;
mod rotate;
mod rules;
#[cfg(test)]
mod rules_proof;
mod simplify;
mod sink;
mod trips;
mod undefined;
mod unroll;
mod vectors;

use dovetail_base::error::{Context, Result};
use dovetail_base::target::WaveSize;
use dovetail_compile::phases::Phase;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::Shader;
use dovetail_ir::verify::verify;
use dovetail_ir::watch::{Made, Unwatched, Watch};

/// A pass of the middle end.
pub type OptPass = fn(&mut Shader, &TuningOptions) -> Result<()>;

/// Every pass with the phase that it belongs to, in order.
pub const PASSES: &[(Phase, OptPass)] = &[
    (Phase::Constants, constants::run),
    (Phase::Promote, promote::run),
    (Phase::Number, number::run),
    (Phase::Jumps, jumps::run),
    // Once before loops are copied, so that there is less to copy, and once after.
    (Phase::Ifs, ifs::run),
    (Phase::Unroll, unroll::run),
    (Phase::Ifs, ifs::run),
    (Phase::Elements, elements::run),
    (Phase::Rotate, rotate::run),
    (Phase::Hoist, hoist::run),
    (Phase::Licm, licm::run),
    (Phase::Early, early::run),
    (Phase::Vectors, vectors::run),
    (Phase::Contract, number::contract),
    (Phase::Dce, undefined::run),
    (Phase::Dce, remove_dead),
    (Phase::Sink, sink::run),
    (Phase::Pairs, pairs::run),
    (Phase::Reload, reload::run),
    (Phase::Dce, remove_dead),
    // Removed code may have left empty blocks, and these may have left branches.
    (Phase::Jumps, jumps::run),
    (Phase::Dce, remove_dead),
    (Phase::Blocks, blocks::run),
];

/// Optimises a shader; an observer gets it after each pass, under the name of its phase.
///
/// # Errors
/// Bugs, and the observer's own errors.
pub fn run(shader: &mut Shader, options: &TuningOptions, watch: &mut dyn Watch) -> Result<()> {
    run_watched(shader, options, |phase| options.native.runs(phase), watch)
}

/// Runs the passes of the wanted phases.
///
/// # Errors
/// Bugs only.
pub fn run_some(shader: &mut Shader, options: &TuningOptions, wanted: impl Fn(Phase) -> bool) -> Result<()> {
    run_watched(shader, options, wanted, &mut Unwatched)
}

fn run_watched(
    shader: &mut Shader,
    options: &TuningOptions,
    wanted: impl Fn(Phase) -> bool,
    watch: &mut dyn Watch,
) -> Result<()> {
    for (phase, pass) in PASSES.iter().filter(|(phase, _)| wanted(*phase)) {
        pass(shader, options).at(|| phase.name())?;
        if cfg!(debug_assertions) {
            verify(shader).at(|| format!("after {phase}"))?;
        }
        watch.done(phase.name(), Made::Shader(shader))?;
    }
    Ok(())
}

fn remove_dead(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    // Only lowering passes use the wave size.
    dce::run(shader, WaveSize::W32)
}

//! Runs a pipeline ELF on given inputs and collects the output.

use super::bind::Bindings;
use super::dispatch::Tables;
use super::draw::waves::MachineShaders;
use super::draw::{self, Targets, user_data};
use super::inputs::Inputs;
use super::load::LoadedPipeline;
use super::machine::{Machine, RunLimits, RunStats};
use super::trace::Trace;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Gpu, Stage};
use dovetail_state::ResourceLayout;

/// Output of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Bytes of each binding, in the order of the inputs; empty for samplers.
    pub bindings: Vec<Vec<u8>>,
    /// Attachments of a draw.
    pub targets: Option<Targets>,
    /// Execution statistics.
    pub stats: RunStats,
}

/// Loads a pipeline, binds its inputs, and dispatches or draws.
///
/// # Errors
/// Malformed: the ELF, the inputs, or a memory access of the code. Unsupported: a feature that the emulator lacks.
pub fn run(elf: &[u8], layout: &ResourceLayout, inputs: &Inputs, limits: RunLimits) -> Result<RunOutcome> {
    run_traced(elf, layout, inputs, limits, None)
}

/// [`run`] with an invocation traced.
///
/// # Errors
/// Those of [`run`].
pub fn run_traced(
    elf: &[u8],
    layout: &ResourceLayout,
    inputs: &Inputs,
    limits: RunLimits,
    trace: Option<&mut Trace>,
) -> Result<RunOutcome> {
    let mut machine = Machine::new(Gpu::of_elf(elf)?);
    let pipeline = LoadedPipeline::load(&mut machine, elf).at(|| "pipeline")?;
    let bound = Bindings::new(&mut machine, layout, inputs).at(|| "bindings")?;
    let (targets, stats) = match (&inputs.draw, pipeline.stages.contains_key(&Stage::Compute)) {
        (None, true) => (None, machine.dispatch_traced(&pipeline, &bound.root, inputs.grid, limits, trace)?),
        (Some(command), false) => {
            let mut tables = Tables::new(&mut machine, &pipeline, &bound.root)?;
            user_data::add_tables(&mut machine, command, &mut tables)?;
            let mut targets = Targets::new(command)?;
            let mut gpu = MachineShaders::new(&mut machine, &pipeline, tables, limits, trace)?;
            draw::draw(&mut gpu, command, &mut targets)?;
            (Some(targets), gpu.stats)
        }
        (None, false) => return Err(Error::malformed("a graphics pipeline, and no draw")),
        (Some(_), true) => return Err(Error::malformed("a compute pipeline, and a draw")),
    };
    Ok(RunOutcome { bindings: bound.read(&machine, inputs)?, targets, stats })
}

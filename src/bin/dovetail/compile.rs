//! `dovetail compile`: compiles one module in this process and shows any phase.

mod partner;
mod watched;

use crate::common::TuningArgs;
use crate::populate::wave;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{Module, StageRequest};
use dovetail::compile::spirv;
use dovetail::error::{Error, Result};
use dovetail::target::{GfxIp, Stage, WaveSize};
use dovetail::template;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile one shader to an unlinked ELF, without pipeline state, or show any phase of the compile.
///
/// Runs in this process, without cache or workers, so a crash here ends the command.
#[derive(clap::Args)]
#[command(
    after_help = "Phases: upper (as the front end made it), each pass by name, lower (as the code generator takes it), \
    then the code generator's own: optimise, shape, select, dead, combine, schedule, allocate, translate, finish, waits, clauses; \
    of LLVM llvm, llvm-opt, asm.\nExample:\n  dovetail compile a.frag.spv --dump lower --dump select"
)]
pub struct Args {
    /// SPIR-V file.
    #[arg(value_name = "SPIRV")]
    file: PathBuf,
    /// Entry point; required if there are several.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// GPU to compile for.
    #[arg(long, default_value = "gfx1030")]
    target: GfxIp,
    /// Wave size, 32 or 64.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// Specialization value, `id=bits`; may be repeated.
    #[arg(long, value_name = "ID=BITS", value_parser = spec)]
    spec: Vec<(u32, u64)>,
    /// Compile with the layout of `state template` and all specialization values known.
    #[arg(long)]
    laid_out: bool,
    /// Compile for this shader of the other graphics stage: a vertex shader for the inputs that this fragment shader reads, a
    /// fragment shader with the constants that this vertex shader writes.
    #[arg(long = "for", value_name = "SPIRV", conflicts_with = "laid_out")]
    partner: Option<PathBuf>,
    /// Entry point of the other shader; needed if there are several.
    #[arg(long, value_name = "NAME", requires = "partner")]
    for_entry: Option<String>,
    /// Output file for the unlinked ELF.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the shader after this phase; may be repeated. The variable DOVETAIL_DUMP does the same.
    #[arg(long, value_name = "PHASE")]
    dump: Vec<String>,
    /// Draw the blocks of the code, the edges between them and the live registers of each line, as SVG.
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
    /// Verify the IR after every pass, as debug builds always do.
    #[arg(long)]
    verify_ir: bool,
    /// Print the time of each phase.
    #[arg(long)]
    timings: bool,
    /// Print the timings as JSON.
    #[arg(long, requires = "timings")]
    json: bool,
    #[command(flatten)]
    tuning: TuningArgs,
}

fn spec(text: &str) -> Result<(u32, u64)> {
    let wrong = || Error::malformed(format!("`{text}`: id=bits, such as 0=64"));
    let (id, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((id.parse().map_err(|_| wrong())?, value.parse().map_err(|_| wrong())?))
}

pub fn run(args: &Args) -> Result<ExitCode> {
    watched::compile(args, &BuiltInCompiler::new())
}

/// The entry point of this name, or the only one.
pub fn choose(entries: &[spirv::EntryPointInfo], name: Option<&str>) -> Result<(String, Stage)> {
    let fitting: Vec<_> = entries.iter().filter(|e| name.is_none_or(|n| n == e.name)).collect();
    match fitting.as_slice() {
        [one] => match one.stage {
            Some(stage) => Ok((one.name.clone(), stage)),
            None => Err(Error::unsupported(format!("execution model {}", one.model), one.name.clone())),
        },
        [] => Err(Error::malformed("no such entry point")),
        several => {
            let names: Vec<_> = several.iter().map(|e| e.name.as_str()).collect();
            Err(Error::malformed(format!("several entry points ({}): select one with --entry", names.join(", "))))
        }
    }
}

/// The same stage with the layout of the template and all specialization values known.
pub fn laid_out(module: &Module, request: &StageRequest) -> Result<StageRequest> {
    let shader = spirv::translate(module, &request.entry_point, request.stage, &request.specialization)?;
    Ok(request.laid_out(module, template::state(&[shader])?.layout))
}

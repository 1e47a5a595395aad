//! `dovetail compile`: compiles one module in this process and shows any phase.

mod partner;
mod watched;

use crate::common::{Output, TuningArgs};
use crate::populate::wave;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{Module, StageRequest};
use dovetail::compile::spirv;
use dovetail::error::{Error, Result};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::template;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile one shader to an unlinked ELF, without pipeline state, or show any phase of the compile.
///
/// Runs in this process, without cache or workers, so a crash here ends the command.
#[derive(clap::Args)]
#[command(after_help = phases())]
pub struct Args {
    /// SPIR-V file.
    #[arg(value_name = "SPIRV")]
    file: PathBuf,
    /// Entry point; required if there are several.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Stage of the entry point: vertex, fragment or compute; required if several of one name differ only in it.
    #[arg(long)]
    stage: Option<Stage>,
    /// GPU to compile for.
    #[arg(long, default_value = "gfx1030")]
    target: Gpu,
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
    /// Output file for the unlinked ELF; `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<Output>,
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
    /// Print the result, or the timings, as JSON.
    #[arg(long, conflicts_with = "dump")]
    json: bool,
    #[command(flatten)]
    tuning: TuningArgs,
}

/// The phases that this build has, for the help.
fn phases() -> String {
    let mut phases = BuiltInCompiler::new().phases();
    phases.retain({
        let mut seen = BTreeSet::new();
        move |phase| seen.insert(*phase)
    });
    format!(
        "Phases to dump: {}.\n\n`upper` is what the front end made, `lower` what the code generator takes, `optimise` the \
         last of the steps before `select`. A phase that runs several times is dumped each time.\n\n\
         Example:\n  dovetail compile a.frag.spv --dump lower --dump select",
        phases.join(", ")
    )
}

fn spec(text: &str) -> Result<(u32, u64)> {
    let wrong = || Error::malformed(format!("`{text}`: id=bits, such as 0=64"));
    let (id, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((id.parse().map_err(|_| wrong())?, value.parse().map_err(|_| wrong())?))
}

pub fn run(args: &Args) -> Result<ExitCode> {
    watched::compile(args, &BuiltInCompiler::new())
}

/// The entry point of this name and this stage, or the only one.
pub fn choose(entries: &[spirv::EntryPointInfo], name: Option<&str>, stage: Option<Stage>) -> Result<(String, Stage)> {
    let fitting = entries.iter().filter(|e| name.is_none_or(|n| n == e.name));
    let fitting: Vec<_> = fitting.filter(|e| stage.is_none_or(|stage| e.stage == Some(stage))).collect();
    match fitting.as_slice() {
        [one] => match one.stage {
            Some(stage) => Ok((one.name.clone(), stage)),
            None => Err(Error::unsupported(format!("execution model {}", one.model), one.name.clone())),
        },
        [] => Err(Error::malformed("no such entry point")),
        several => {
            let names: Vec<_> = several.iter().map(|e| format!("{} {}", e.model, e.name)).collect();
            let what = format!("several entry points ({}): select one with --entry and --stage", names.join(", "));
            Err(Error::malformed(what))
        }
    }
}

/// The same stage with the layout of the template and all specialization values known.
pub fn laid_out(module: &Module, request: &StageRequest) -> Result<StageRequest> {
    let shader = spirv::translate(module, &request.entry_point, request.stage, &request.specialization)?;
    Ok(request.laid_out(module, template::state(&[shader])?.layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_points_of_one_name_differ_in_their_stage() {
        let entry =
            |stage: Stage| spirv::EntryPointInfo { name: "main".into(), stage: Some(stage), model: format!("{stage}") };
        let entries = [entry(Stage::Vertex), entry(Stage::Fragment)];
        let several = choose(&entries, Some("main"), None).unwrap_err().to_string();
        assert!(several.contains("vertex main, fragment main") && several.contains("--stage"), "{several}");
        let fragment = "fragment".parse().expect("a stage");
        assert_eq!(choose(&entries, None, Some(fragment)).expect("one"), ("main".into(), Stage::Fragment));
        assert!(choose(&entries, None, Some(Stage::Compute)).is_err());
        assert!("geometry".parse::<Stage>().unwrap_err().to_string().contains("vertex, fragment, compute"));
    }
}

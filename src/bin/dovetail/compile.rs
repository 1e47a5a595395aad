//! `dovetail compile`: one module in this process, with every phase open to view.

use crate::common::TuningArgs;
#[cfg(feature = "llvm")]
use crate::common::{print_json, read_module, write_file};
use crate::populate::wave;
#[cfg(feature = "llvm")]
use dovetail::compile::{
    backend::Generator,
    compiler::StageCompiler,
    request::{StageRequest, default_wave},
    spirv,
    watch::{Made, Timings, Watch, wall_clock},
};
#[cfg(feature = "llvm")]
use dovetail::error::Context;
use dovetail::error::{Error, Result};
#[cfg(feature = "llvm")]
use dovetail::ir::verify::verify_between;
use dovetail::target::{GfxIp, Stage, WaveSize};
use std::path::PathBuf;
use std::process::ExitCode;
#[cfg(feature = "llvm")]
use std::time::Duration;

/// Compile one shader early to an unlinked ELF, or show any phase of it.
///
/// Runs in this process, without cache or workers: what crashes here is what a worker would survive.
#[derive(clap::Args)]
#[command(
    after_help = "Phases: upper (as the front end made it), each pass by name, lower (as the code generator takes it), \
    then the code generator's own: llvm, llvm-opt, asm.\nExample:\n  dovetail compile a.frag.spv --dump lower --dump asm"
)]
pub struct Args {
    /// SPIR-V file.
    #[arg(value_name = "SPIRV")]
    file: PathBuf,
    /// Entry point; needed if there are several.
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
    /// Where the unlinked ELF goes.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the shader after this phase; may be repeated. The variable DOVETAIL_DUMP does the same.
    #[arg(long, value_name = "PHASE")]
    dump: Vec<String>,
    /// Verify the IR after every pass, as debug builds always do.
    #[arg(long)]
    verify_ir: bool,
    /// Print what each phase took.
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

#[cfg(not(feature = "llvm"))]
pub fn run(_: &Args) -> Result<ExitCode> {
    Err(Error::environment("this dovetail was built without a compiler (feature `llvm`)"))
}

#[cfg(feature = "llvm")]
pub fn run(args: &Args) -> Result<ExitCode> {
    compile(args, &dovetail::compile::llvm::LlvmCompiler::new())
}

#[cfg(feature = "llvm")]
fn compile<G: Generator>(args: &Args, compiler: &StageCompiler<G>) -> Result<ExitCode> {
    let place = || args.file.display().to_string();
    let module = read_module(&args.file)?;
    let info = spirv::reflect(&module).at(place)?;
    let (entry_point, stage) = choose(&info.entry_points, args.entry.as_deref()).at(place)?;
    let request = StageRequest {
        target: args.target,
        stage,
        module: module.digest(),
        specialization: info.specialization(&args.spec),
        wave: args.wave.unwrap_or_else(|| default_wave(stage, info.uses_subgroups)),
        options: args.tuning.options(),
        known: Default::default(),
        entry_point,
    };
    let mut wanted = args.dump.clone();
    wanted.extend(std::env::var("DOVETAIL_DUMP"));
    let mut watch = Timings::new(wall_clock, Show { wanted: &wanted, verify: args.verify_ir });
    let elf = compiler.compile_watched(&module, &request, &mut watch).at(place)?;
    let phases = watch.phases;
    if let Some(unknown) = wanted.iter().find(|w| !phases.iter().any(|(phase, _)| w == phase)) {
        let names: Vec<_> = phases.iter().map(|(phase, _)| *phase).collect();
        return Err(Error::malformed(format!("no phase `{unknown}`; there are {}", names.join(", "))));
    }
    if args.timings {
        print_timings(&phases, args.json)?;
    }
    match &args.out {
        Some(out) => write_file(out, &elf.0)?,
        None if wanted.is_empty() && !args.timings => {
            println!("{}: {} bytes; give -o to keep them", place(), elf.0.len());
        }
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the phases that were asked for, and verifies the IR between passes.
#[cfg(feature = "llvm")]
struct Show<'a> {
    wanted: &'a [String],
    verify: bool,
}

#[cfg(feature = "llvm")]
impl Watch for Show<'_> {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        let wanted = self.wanted.iter().any(|w| w == phase);
        match made {
            Made::Shader(shader) => {
                if wanted {
                    println!("; ---- {phase}\n{shader}");
                }
                if self.verify { verify_between(shader).at(|| phase) } else { Ok(()) }
            }
            Made::Text(text) if wanted => {
                println!("; ---- {phase}\n{}", text()?);
                Ok(())
            }
            Made::Bytes if wanted => {
                Err(Error::malformed(format!("phase `{phase}` has no text; see `dovetail inspect`")))
            }
            Made::Text(_) | Made::Bytes => Ok(()),
        }
    }
}

#[cfg(feature = "llvm")]
fn print_timings(phases: &[(&str, Duration)], json: bool) -> Result<()> {
    let total: Duration = phases.iter().map(|(_, took)| *took).sum();
    let micros = |took: Duration| took.as_secs_f64() * 1e6;
    if json {
        let rows: Vec<_> =
            phases.iter().map(|(phase, took)| serde_json::json!({ "phase": phase, "us": micros(*took) })).collect();
        return print_json(&rows);
    }
    println!("{:<22} {:>10} {:>7}", "phase", "us", "share");
    for (phase, took) in phases.iter().copied().chain([("all", total)]) {
        println!("{phase:<22} {:>10.1} {:>6.1}%", micros(took), 100.0 * micros(took) / micros(total).max(0.1));
    }
    Ok(())
}

#[cfg(feature = "llvm")]
fn choose(entries: &[dovetail::compile::spirv::EntryPointInfo], name: Option<&str>) -> Result<(String, Stage)> {
    let fitting: Vec<_> = entries.iter().filter(|e| name.is_none_or(|n| n == e.name)).collect();
    match fitting.as_slice() {
        [one] => match one.stage {
            Some(stage) => Ok((one.name.clone(), stage)),
            None => Err(Error::unsupported(format!("execution model {}", one.model), one.name.clone())),
        },
        [] => Err(Error::malformed("no such entry point")),
        several => {
            let names: Vec<_> = several.iter().map(|e| e.name.as_str()).collect();
            Err(Error::malformed(format!("several entry points ({}): choose by --entry", names.join(", "))))
        }
    }
}

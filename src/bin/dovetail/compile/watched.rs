//! Compiles one stage with an observer: dumps, checks between passes, timings.

use super::{Args, choose, laid_out, partner};
use crate::common::{print_json, read_module, write_file};
use dovetail::compile::backend::Generator;
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::request::{StageRequest, default_wave};
use dovetail::compile::spirv;
use dovetail::compile::unlinked::Remarks;
use dovetail::compile::watch::{Made, Timings, Watch, wall_clock};
use dovetail::error::{Context, Error, Result};
use dovetail::ir::verify::verify_between;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Compiles with one code generator, and shows what was requested.
pub fn compile<G: Generator>(args: &Args, compiler: &StageCompiler<G>) -> Result<ExitCode> {
    let place = || args.file.display().to_string();
    let module = read_module(&args.file)?;
    let info = spirv::reflect(&module).at(place)?;
    let (entry_point, stage) = choose(&info.entry_points, args.entry.as_deref(), args.stage).at(place)?;
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
    let request = match &args.partner {
        Some(partner) => {
            let known = partner::known(args, partner, compiler, &module, &request).at(place)?;
            StageRequest { known, ..request }
        }
        None if args.laid_out => laid_out(&module, &request).at(place)?,
        None => request,
    };
    let mut wanted = args.dump.clone();
    wanted.extend(std::env::var("DOVETAIL_DUMP"));
    let mut watch =
        Timings::new(wall_clock, Show { wanted: &wanted, graph: args.graph.as_deref(), verify: args.verify_ir });
    let elf = compiler.compile_watched(&module, &request, &mut watch).at(place)?;
    let phases = watch.phases;
    if let Some(feature) = Remarks::of(&elf)?.fallback {
        eprintln!("dovetail: LLVM made the code: the native generator does not support {feature}");
    }
    if let Some(unknown) = wanted.iter().find(|w| !phases.iter().any(|(phase, _)| w == phase)) {
        let names: Vec<_> = phases.iter().map(|(phase, _)| *phase).collect();
        return Err(Error::malformed(format!("no phase `{unknown}`; the phases are {}", names.join(", "))));
    }
    if args.graph.is_some() && !phases.iter().any(|(phase, _)| *phase == "graph") {
        return Err(Error::unsupported("a graph of code that LLVM made", place()));
    }
    if args.timings {
        print_timings(&phases, args.json)?;
    }
    match &args.out {
        Some(out) => write_file(out, &elf.0)?,
        None if wanted.is_empty() && !args.timings && args.graph.is_none() => {
            println!("{}: {} bytes; give -o to keep them", place(), elf.0.len());
        }
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the requested phases, and verifies the IR between passes.
struct Show<'a> {
    wanted: &'a [String],
    /// Output file for the code generator's drawing.
    graph: Option<&'a Path>,
    verify: bool,
}

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
            Made::Picture(svg) => self.graph.map_or(Ok(()), |path| write_file(path, svg().as_bytes())),
            Made::Check(check) if self.verify && !wanted => check().at(|| phase),
            Made::Check(_) | Made::Bytes if wanted => {
                Err(Error::malformed(format!("phase `{phase}` has no text; see `dovetail inspect`")))
            }
            Made::Text(_) | Made::Check(_) | Made::Bytes => Ok(()),
        }
    }
}

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

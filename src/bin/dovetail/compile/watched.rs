//! Compiles one stage with an observer: dumps, checks between passes, timings.

use super::{Args, choose, laid_out, partner};
use crate::common::{Output, print_json, read_module, write_file};
use dovetail::compile::backend::Generator;
use dovetail::compile::compiler::StageCompiler;
use dovetail::compile::request::{StageRequest, default_wave};
use dovetail::compile::spirv;
use dovetail::compile::unlinked::Remarks;
use dovetail::error::{Context, Error, Result};
use dovetail::ir::verify::verify_between;
use dovetail::ir::watch::{Made, Timings, Watch, wall_clock};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Compiles with one code generator, and shows what was requested.
pub fn compile<G: Generator>(args: &Args, compiler: &StageCompiler<G>) -> Result<ExitCode> {
    let place = || args.file.display().to_string();
    args.out.iter().for_each(Output::claim);
    let mut wanted = args.dump.clone();
    wanted.extend(std::env::var("DOVETAIL_DUMP"));
    let phases = compiler.phases();
    if let Some(unknown) = wanted.iter().find(|name| !phases.contains(&name.as_str())) {
        return Err(Error::malformed(format!("no phase `{unknown}`; the phases are {}", phases.join(", "))));
    }
    let module = read_module(&args.file)?;
    let info = spirv::reflect(&module).at(place)?;
    let (entry_point, stage) = choose(&info.entry_points, args.entry.as_deref(), args.stage).at(place)?;
    let request = StageRequest {
        target: args.target,
        stage,
        module: module.digest(),
        specialization: info.specialization(&args.spec),
        wave: args.wave.unwrap_or_else(|| default_wave(args.target, stage, info.uses_subgroups)),
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
    let (graph, verify) = (args.graph.as_deref(), args.verify_ir);
    let mut watch = Timings::new(wall_clock, Show { wanted: &wanted, shown: BTreeSet::new(), graph, verify });
    let elf = compiler.compile_watched(&module, &request, &mut watch).at(place)?;
    let (phases, shown) = (&watch.phases, &watch.inner().shown);
    let fallback = Remarks::of(&elf)?.fallback;
    if let Some(feature) = &fallback {
        eprintln!("dovetail: LLVM made the code: the native generator does not support {feature}");
    }
    for absent in wanted.iter().filter(|name| !shown.contains(name.as_str())) {
        eprintln!("dovetail: the phase `{absent}` did not run: it is disabled, or of another code generator");
    }
    if graph.is_some() && !phases.iter().any(|(phase, _)| *phase == "graph") {
        return Err(Error::unsupported("a graph of code that LLVM made", place()));
    }
    if let Some(out) = &args.out {
        out.write(&elf.0)?;
    }
    if args.timings {
        print_timings(phases, args.json)?;
    } else if args.json {
        print_json(&serde_json::json!({
            "file": place(), "stage": request.stage, "entry_point": request.entry_point, "wave": request.wave.lanes(),
            "bytes": elf.0.len(), "fallback": fallback,
        }))?;
    } else if args.out.is_none() && wanted.is_empty() && graph.is_none() {
        println!("{}: {} bytes; give -o to keep them", place(), elf.0.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the requested phases, and verifies the IR between passes.
struct Show<'a> {
    wanted: &'a [String],
    /// The requested phases that ran.
    shown: BTreeSet<&'static str>,
    /// Output file for the code generator's drawing.
    graph: Option<&'a Path>,
    verify: bool,
}

impl Watch for Show<'_> {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        let wanted = self.wanted.iter().any(|w| w == phase);
        if wanted {
            self.shown.insert(phase);
        }
        match made {
            Made::Shader(shader) | Made::Group(shader) => {
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
            Made::Check(check) if self.verify => check().at(|| phase),
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

//! `dovetail replay`: runs a bundle saved by a failing test again.

use crate::common::{WorkerArgs, print_json, write_file};
use dovetail::error::{Context, Error, Result};
use dovetail::proof::{Bundle, ComparedOutput, Finding, Replay, ResultPlace, Runner};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code if a bundle still fails.
const STILL_DIFFERS: u8 = 6;

/// Run a bundle again: a case saved by a failing test of the proof.
///
/// This build compiles and links its shaders, runs them on the emulator by each route, and compares with the reference
/// results. The interpreter runs too, so that the output tells in which half the fault is. Exit code 6: it still
/// differs.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail replay target/bundles/loops-1 --keep elfs")]
pub struct Args {
    /// The bundle, a folder.
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Run only this route.
    #[arg(long)]
    route: Option<Route>,
    /// Folder for the pipeline ELFs; created if missing.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    worker: WorkerArgs,
}

/// How a pipeline is built.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Route {
    /// Linked, adjacent.
    Linked,
    /// Linked, chained.
    Chained,
    /// Linked, with the vertex shader as a primitive shader.
    Ngg,
    /// From parts that were compiled for each other.
    Paired,
    /// Compiled with everything known.
    Whole,
}

/// The route for the library's name of it.
fn route(name: &str) -> (Route, &'static str) {
    match name {
        "linked" => (Route::Linked, "linked.elf"),
        "paired" => (Route::Paired, "paired.elf"),
        "whole" => (Route::Whole, "whole.elf"),
        "linked, NGG" => (Route::Ngg, "ngg.elf"),
        _ => (Route::Chained, "chained.elf"),
    }
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let bundle = Bundle::load(&args.bundle)?;
    let place = || args.bundle.display().to_string();
    let compiler = args.worker.start(1)?;
    let mut runner = Runner::new(&bundle, &compiler).at(place)?;
    runner.pipelines.elfs.retain(|(name, _)| args.route.is_none_or(|wanted| wanted == route(name).0));
    if runner.pipelines.elfs.is_empty() {
        let why = runner.pipelines.not_linked.unwrap_or_default();
        return Err(Error::malformed(format!("no pipeline by this route: {why}")).at(place()));
    }
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder).at(|| folder.display().to_string())?;
        for (name, elf) in &runner.pipelines.elfs {
            write_file(&folder.join(route(name).1), elf)?;
        }
    }
    let replay = runner.run(&bundle.inputs, &bundle.expected).at(place)?;
    if args.json {
        print_json(&replay)?;
    } else {
        print(args, &bundle, &replay, runner.pipelines.not_linked.as_deref());
    }
    Ok(if replay.agrees() { ExitCode::SUCCESS } else { ExitCode::from(STILL_DIFFERS) })
}

fn print(args: &Args, bundle: &Bundle, replay: &Replay, not_linked: Option<&str>) {
    let manifest = &bundle.manifest;
    println!("{}, seed {}, judged by {}", manifest.name, manifest.seed, manifest.judge);
    for (name, answer) in &replay.routes {
        println!("  {name:<16}{answer}");
    }
    println!("  {:<16}{}", "interpreter", replay.interpreter);
    if let Some(pixels) = &replay.pixels {
        println!("  {:<16}{pixels}", "pixels");
    }
    for place in &replay.undefined {
        println!("  {:<16}{place}: the fragment shader does not write it", "undefined");
    }
    if let Some(why) = not_linked {
        println!("  not linked: {why}");
    }
    println!("{}", replay.cause);
    let failed = replay.routes.iter().find(|(_, answer)| *answer != ComparedOutput::Agrees);
    if let Some((name, answer)) = failed {
        println!("next: {}", next(args, route(name).1, answer));
    }
}

/// The command that shows what the failing code does.
fn next(args: &Args, elf: &str, answer: &ComparedOutput) -> String {
    let bundle = args.bundle.display();
    let folder: &Path = args.keep.as_deref().unwrap_or(Path::new("elfs"));
    let keep = if args.keep.is_none() { format!("dovetail replay {bundle} --keep elfs; ") } else { String::new() };
    let run = format!(
        "{keep}dovetail run {} --state {bundle}/state.toml --bindings {bundle}/inputs.toml",
        folder.join(elf).display()
    );
    let list = |n: &[u32]| n.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match answer {
        ComparedOutput::Differs(Finding { writer: Some(writer), .. }) => {
            format!("{run} --trace local:{}:{}", list(&writer.workgroup), list(&writer.local))
        }
        ComparedOutput::Differs(Finding {
            place: ResultPlace::Target(_) | ResultPlace::Depth | ResultPlace::Stencil,
            at,
            ..
        }) => {
            let pixel = at.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            format!("{run} --trace pixel:{pixel}")
        }
        _ => format!("{run} -o out"),
    }
}

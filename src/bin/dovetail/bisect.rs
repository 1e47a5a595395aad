//! `dovetail bisect`: finds the first shader that the native generator breaks, and the phase that breaks it.

use crate::common::{WorkerArgs, print_json, read_found_module};
use crate::progress::Progress;
use dovetail::compile::Compiler;
use dovetail::compile::phases::{OPTIMISE, Phase, Phases};
use dovetail::compile::request::{GeneratorKind, Module, NativeOptions, TuningOptions};
use dovetail::compile::spirv::{EntryPointInfo, reflect};
use dovetail::error::{Context, Error, ErrorKind, Result};
use dovetail::proof::{
    Absent, Blame, Bundle, Case, Choice, ComparedOutput, Divergence, Fate, RunBudget, Runner, Tools, blame, compute,
};
use dovetail::target::{Gpu, Stage};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code if a shader is broken.
const BROKEN: u8 = 6;
/// Exit code if none could be judged.
const NOT_JUDGED: u8 = 3;
/// Subgroup size assumed without a driver.
const LANES: u32 = 64;

/// Find the phase of the native generator that breaks a shader.
///
/// Each input is compiled, linked by every route, and run on the emulator: a bundle is compared with its reference
/// results, the compute shaders of a module with the interpreter, on inputs made from their declarations. Vertex and
/// fragment shaders need a bundle. The first
/// that fails is compiled with fewer and fewer phases, until one phase makes the difference. Exit code 6: one fails.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  dovetail bisect target/bundles\n  dovetail bisect corpus/ggml --all --json")]
pub struct Args {
    /// Bundles, SPIR-V modules (`.spv`), and folders of them.
    #[arg(value_name = "PATH", required = true)]
    inputs: Vec<PathBuf>,
    /// Continue after the first that fails.
    #[arg(long)]
    all: bool,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    worker: WorkerArgs,
}

/// An input under test.
enum Subject {
    Bundle(Box<Bundle>),
    Kernel {
        module: Module,
        entry: String,
    },
    /// An entry point that does not run by itself.
    Graphics {
        model: String,
    },
}

/// The result for a shader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Agrees,
    Broken,
    /// Also without any optional phase.
    BrokenWithoutPhases,
    NotJudged,
}

impl Verdict {
    const fn is_broken(self) -> bool {
        matches!(self, Self::Broken | Self::BrokenWithoutPhases)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agrees => "agrees",
            Self::Broken => "broken",
            Self::BrokenWithoutPhases => "broken without any phase",
            Self::NotJudged => "not judged",
        })
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The report on one subject.
#[derive(Serialize)]
struct Row {
    name: String,
    verdict: Verdict,
    phase: Option<Phase>,
    mended_alone: Option<bool>,
    why: String,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let compiler = args.worker.start(1)?;
    let mut paths = Vec::new();
    args.inputs.iter().try_for_each(|path| gather(path, &mut paths))?;
    if paths.is_empty() {
        return Err(Error::malformed("no bundle and no `.spv` file found"));
    }
    let progress = Progress::new(paths.len(), "shaders");
    let mut rows = Vec::new();
    'paths: for path in &paths {
        for (name, subject) in subjects(path)? {
            let row = judged(name, &subject, &compiler);
            let stop = row.verdict.is_broken() && !args.all;
            rows.push(row);
            if stop {
                break 'paths;
            }
        }
        progress.tick();
    }
    progress.finish();
    if args.json {
        print_json(&rows)?;
    } else {
        rows.iter().for_each(print);
    }
    if rows.iter().all(|row| row.verdict == Verdict::NotJudged) {
        return Ok(ExitCode::from(NOT_JUDGED));
    }
    let broken = rows.iter().any(|row| row.verdict.is_broken());
    Ok(if broken { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

/// Bundles and modules at a path, in the order of their names.
fn gather(path: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    let place = || path.display().to_string();
    if !path.is_dir() || path.join("bundle.toml").exists() {
        out.push(path.to_owned());
        return Ok(());
    }
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(path).at(place)?.collect();
    let mut inner: Vec<PathBuf> = entries.at(place)?.into_iter().map(|entry| entry.path()).collect();
    inner.sort();
    inner.retain(|path| path.is_dir() || path.extension().is_some_and(|e| e == "spv"));
    inner.iter().try_for_each(|path| gather(path, out))
}

fn subjects(path: &Path) -> Result<Vec<(String, Subject)>> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Ok(vec![(name, Subject::Bundle(Box::new(Bundle::load(path)?)))]);
    }
    let module = read_found_module(path)?;
    let entries = reflect(&module).at(|| name.clone())?.entry_points;
    if entries.is_empty() {
        return Err(Error::unsupported("module without entry points", name));
    }
    let subject = |entry: EntryPointInfo| match entry.stage {
        Some(Stage::Compute) => Subject::Kernel { module: module.clone(), entry: entry.name },
        Some(Stage::Vertex | Stage::Fragment) | None => Subject::Graphics { model: entry.model },
    };
    Ok(entries.into_iter().map(|entry| (format!("{name} {}", entry.name), subject(entry))).collect())
}

fn judged(name: String, subject: &Subject, compiler: &dyn Compiler) -> Row {
    let row = |verdict, why| Row { name: name.clone(), verdict, phase: None, mended_alone: None, why };
    match blame(&mut |without| failure(subject, without, compiler)) {
        Ok(Blame::Nothing) => row(Verdict::Agrees, String::new()),
        Ok(Blame::NoPhase(why)) => row(Verdict::BrokenWithoutPhases, why),
        Ok(Blame::Phase { phase, mended_alone, why }) => {
            Row { phase: Some(phase), mended_alone: Some(mended_alone), ..row(Verdict::Broken, why) }
        }
        Err(e) => row(Verdict::NotJudged, e.to_string()),
    }
}

/// The failure of the code compiled without some phases, if it fails.
fn failure(subject: &Subject, without: Phases, compiler: &dyn Compiler) -> Result<Option<String>> {
    let native = NativeOptions { without, ..NativeOptions::default() };
    let options = TuningOptions { generator: GeneratorKind::Native, native, ..TuningOptions::default() };
    match subject {
        Subject::Bundle(bundle) => {
            let mut bundle = (**bundle).clone();
            bundle.manifest.options = TuningOptions { vgpr_limit: bundle.manifest.options.vgpr_limit, ..options };
            let runner = match Runner::new(&bundle, compiler) {
                Err(e) if matches!(e.kind(), ErrorKind::Bug(_)) => return Ok(Some(e.to_string())),
                runner => runner?,
            };
            let replay = runner.run(&bundle.inputs, &bundle.expected)?;
            let failed = replay.routes.iter().find(|(_, answer)| *answer != ComparedOutput::Agrees);
            Ok(failed.map(|(route, answer)| format!("{route}: {answer}")))
        }
        Subject::Graphics { model } => Err(Error::unsupported(
            format!("execution model {model} without a draw"),
            "only compute shaders run by themselves; a bundle has the state and the inputs of a draw (docs/layer.md, docs/proof.md)",
        )),
        Subject::Kernel { module, entry } => {
            let judge = Absent { why: "the interpreter judges".to_owned(), lanes: LANES };
            let on_difference = &|_: &Divergence<'_>| ();
            let tools = Tools {
                compiler,
                target: Gpu::default(),
                options: &options,
                judge: &judge,
                budget: RunBudget::default(),
                on_difference,
            };
            let report = compute(&Case { module, entry, spec: &[], choices: &[Choice::default()] }, &tools);
            match report.fate {
                Fate::Agreed | Fate::AgreedWithInterpreter | Fate::Constant => Ok(None),
                Fate::Differs | Fate::NotRun => Ok(Some(report.reason)),
                Fate::ProvesNothing | Fate::Cut | Fate::NotCompiled | Fate::JudgeFailed => {
                    Err(Error::unsupported(format!("this shader ({})", report.fate), report.reason))
                }
            }
        }
    }
}

fn print(row: &Row) {
    match (row.phase, row.mended_alone) {
        (Some(phase), mended) => {
            println!("{}: broken by the phase `{phase}`: {}", row.name, row.why);
            if mended == Some(false) {
                println!("  disabling only this phase does not fix it");
            }
            println!("  next: dovetail compile SHADER --dump {}, with and without --disable {phase}", shows(phase));
        }
        _ if row.why.is_empty() => println!("{}: {}", row.name, row.verdict),
        _ => println!("{}: {}: {}", row.name, row.verdict, row.why),
    }
}

/// The dump that shows the effect of a phase, whether it runs or not.
fn shows(phase: Phase) -> &'static str {
    if phase.is_middle() { OPTIMISE } else { "waits" }
}

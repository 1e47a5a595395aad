//! `dovetail populate`: SPIR-V files into a cache of unlinked ELFs, many at once.

use crate::common::{BuildArgs, CacheArgs, JobArgs, print_json};
use crate::progress::Progress;
use dovetail::compile::request::{Module, StageRequest, default_wave};
use dovetail::compile::spirv::{ModuleInfo, reflect};
use dovetail::compile::{StageElf, unlinked};
use dovetail::corpus::input::{Input, Others, gather};
use dovetail::corpus::spec::SpecFile;
use dovetail::error::{Context, Death, Error, ErrorKind, Result};
use dovetail::target::{GfxIp, WaveSize};
use dovetail::toolchain::{Fetched, Toolchain};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Compile SPIR-V shaders early into the cache.
///
/// Each vertex, fragment and compute entry point becomes one unlinked ELF under a key of everything that decides its code.
/// What is in the cache already is not compiled again. An interrupted run loses nothing that was finished.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail populate shaders/ --cache cache --spec spec.toml --jobs 4")]
pub struct Args {
    /// SPIR-V files, and directories that are searched for them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// GPU to compile for.
    #[arg(long, default_value = "gfx1030")]
    target: GfxIp,
    #[command(flatten)]
    jobs: JobArgs,
    /// Specialization values by module (see docs/corpus.md).
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Wave size for every shader, 32 or 64; the default depends on the stage and on subgroup operations.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// Also search files that are not SPIR-V for modules inside.
    #[arg(long)]
    search: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    build: BuildArgs,
}

pub fn wave(text: &str) -> Result<WaveSize> {
    text.parse::<u32>()
        .map_err(|_| Error::malformed(format!("wave size `{text}`: 32 or 64")))
        .and_then(WaveSize::try_from)
}

/// One entry point of one module, or a module that has none to compile.
struct Item {
    name: String,
    work: Result<Work>,
    /// Counted apart: nobody's GPU of this generation has the hardware.
    cooperative_matrix: bool,
}

struct Work {
    module: std::sync::Arc<Module>,
    request: StageRequest,
}

/// What became of an item.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Outcome {
    Compiled { bytes: usize, simplified: Option<String> },
    Cached { bytes: usize, simplified: Option<String> },
    NotCached,
    Unsupported { feature: String, detail: String },
    NeedsWholeCompile { reason: String },
    Malformed { why: String },
    TimedOut { why: String },
    Failed { why: String },
}

impl Outcome {
    fn of_error(e: &Error) -> Self {
        let why = e.to_string();
        match e.kind() {
            ErrorKind::Unsupported { feature, .. } => Self::Unsupported { feature: feature.clone(), detail: why },
            ErrorKind::NeedsFullCompile(reason) => Self::NeedsWholeCompile { reason: reason.to_string() },
            ErrorKind::Malformed(_) => Self::Malformed { why },
            ErrorKind::Quarantined { death: Death::TimedOut, .. } => Self::TimedOut { why },
            _ => Self::Failed { why },
        }
    }

    const NAMES: [&'static str; 8] = [
        "compiled",
        "already cached",
        "not cached",
        "unsupported",
        "needs whole-pipeline compile",
        "malformed",
        "timed out",
        "failed",
    ];

    fn index(&self) -> usize {
        match self {
            Self::Compiled { .. } => 0,
            Self::Cached { .. } => 1,
            Self::NotCached => 2,
            Self::Unsupported { .. } => 3,
            Self::NeedsWholeCompile { .. } => 4,
            Self::Malformed { .. } => 5,
            Self::TimedOut { .. } => 6,
            Self::Failed { .. } => 7,
        }
    }
}

#[derive(Serialize)]
struct Done {
    name: String,
    #[serde(flatten)]
    outcome: Outcome,
    milliseconds: f64,
    cooperative_matrix: bool,
}

#[derive(Serialize)]
struct Summary {
    counts: BTreeMap<&'static str, usize>,
    cooperative_matrix: BTreeMap<&'static str, usize>,
    unsupported: BTreeMap<String, usize>,
    seconds: f64,
    broken_cache_entries: u64,
    shaders: Vec<Done>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let started = Instant::now();
    let spec = match &args.spec {
        Some(path) => {
            let place = || path.display().to_string();
            SpecFile::parse(&std::fs::read_to_string(path).at(place)?).at(place)?
        }
        None => SpecFile::default(),
    };
    let inputs = gather(&args.paths, if args.search { Others::Search } else { Others::Skip })?;
    if inputs.is_empty() {
        return Err(Error::malformed("no SPIR-V module in the given paths"));
    }
    let cache = args.build.cache.open()?;
    // Before anything is compiled that could not be kept.
    cache.check_writable()?;
    let compiler = args.build.worker.start_if_built(args.jobs.count())?;
    let tools = Toolchain::new(&cache, compiler.as_deref())?;
    tools.record_compiler()?;
    let pool = args.jobs.threads()?;
    let items: Vec<Item> =
        pool.install(|| inputs.into_par_iter().flat_map_iter(|input| items(args, &spec, input)).collect());
    let progress = Progress::new(items.len(), "compiling");
    let mut done: Vec<Done> = pool.install(|| {
        items
            .into_par_iter()
            .map(|item| {
                let started = Instant::now();
                let outcome = compile(&tools, &item);
                progress.tick();
                Done {
                    name: item.name,
                    outcome,
                    milliseconds: started.elapsed().as_secs_f64() * 1e3,
                    cooperative_matrix: item.cooperative_matrix,
                }
            })
            .collect()
    });
    progress.finish();
    done.sort_by(|a, b| a.name.cmp(&b.name));
    let summary = summarize(done, started.elapsed(), cache.stats().bad);
    if args.json {
        print_json(&summary)?;
    } else {
        print(&summary);
    }
    CacheArgs::tell(&cache);
    if let Some(why) = cache.not_kept() {
        // Keeping them was what this was for.
        return Ok(ExitCode::from(why.exit_code()));
    }
    let bad = |name: &str| summary.counts.get(name).copied().unwrap_or(0);
    let failed = Outcome::NAMES[2..].iter().map(|n| bad(n)).sum::<usize>() > 0;
    Ok(ExitCode::from(u8::from(failed)))
}

/// The entry points of one module. Nothing in a module may stop the run: our own bugs are caught here too.
fn items(args: &Args, spec: &SpecFile, input: Input) -> Vec<Item> {
    let name = input.name.clone();
    let reflected = catch_unwind(AssertUnwindSafe(|| -> Result<(Module, ModuleInfo)> {
        let module = Module::new(input.bytes)?;
        let info = reflect(&module)?;
        Ok((module, info))
    }))
    .unwrap_or_else(|_| Err(Error::bug("panic while reading the module")));
    let (module, info) = match reflected {
        Ok(found) => found,
        Err(e) => return vec![Item { name, work: Err(e), cooperative_matrix: false }],
    };
    let module = std::sync::Arc::new(module);
    // Specialization files name modules, not the folders they are found in.
    let module_name = name.rsplit('/').next().unwrap_or(&name);
    let values: Vec<(u32, u64)> =
        spec.values(module_name).into_iter().map(|(id, value)| (id, u64::from(value))).collect();
    let specialization = info.specialization(&values);
    let several = info.entry_points.len() > 1;
    let mut out = Vec::new();
    for entry in &info.entry_points {
        let work = match entry.stage {
            Some(stage) => Ok(Work {
                module: module.clone(),
                request: StageRequest {
                    target: args.target,
                    stage,
                    module: module.digest(),
                    entry_point: entry.name.clone(),
                    specialization: specialization.clone(),
                    wave: args.wave.unwrap_or_else(|| default_wave(stage, info.uses_subgroups)),
                    options: args.build.tuning.options(),
                    known: Default::default(),
                },
            }),
            None => Err(Error::unsupported(format!("execution model {}", entry.model), entry.name.clone())),
        };
        let name = if several { format!("{name}:{}", entry.name) } else { name.clone() };
        out.push(Item { name, work, cooperative_matrix: info.cooperative_matrix });
    }
    if out.is_empty() {
        out.push(Item {
            name,
            work: Err(Error::unsupported("module without entry points", "nothing to compile")),
            cooperative_matrix: info.cooperative_matrix,
        });
    }
    out
}

fn compile(tools: &Toolchain<'_>, item: &Item) -> Outcome {
    let work = match &item.work {
        Ok(work) => work,
        Err(e) => return Outcome::of_error(e),
    };
    // What cannot be read here is read again by whoever links it, and refused there.
    let simplified = |elf: &StageElf| unlinked::simplified(elf, work.request.target).ok().flatten();
    match catch_unwind(AssertUnwindSafe(|| tools.stage(&work.module, &work.request))) {
        Ok(Ok(Fetched::Hit(elf))) => Outcome::Cached { bytes: elf.0.len(), simplified: simplified(&elf) },
        Ok(Ok(Fetched::Compiled(elf))) => Outcome::Compiled { bytes: elf.0.len(), simplified: simplified(&elf) },
        Ok(Ok(Fetched::NotCached)) => Outcome::NotCached,
        Ok(Err(e)) => Outcome::of_error(&e),
        Err(_) => Outcome::Failed { why: "bug in dovetail: panic".into() },
    }
}

fn summarize(shaders: Vec<Done>, elapsed: Duration, broken: u64) -> Summary {
    let mut summary = Summary {
        counts: BTreeMap::new(),
        cooperative_matrix: BTreeMap::new(),
        unsupported: BTreeMap::new(),
        seconds: elapsed.as_secs_f64(),
        broken_cache_entries: broken,
        shaders: Vec::new(),
    };
    for done in &shaders {
        let counts = if done.cooperative_matrix { &mut summary.cooperative_matrix } else { &mut summary.counts };
        *counts.entry(Outcome::NAMES[done.outcome.index()]).or_default() += 1;
        if let Outcome::Unsupported { feature, .. } = &done.outcome {
            *summary.unsupported.entry(feature.clone()).or_default() += 1;
        }
    }
    summary.shaders = shaders;
    summary
}

fn print(summary: &Summary) {
    let total: usize = summary.counts.values().sum();
    println!("{total} shaders in {:.1} s", summary.seconds);
    for name in Outcome::NAMES {
        if let Some(n) = summary.counts.get(name) {
            println!("  {n:>6}  {:>5.1} %  {name}", 100.0 * *n as f64 / total as f64);
        }
    }
    if !summary.cooperative_matrix.is_empty() {
        let parts: Vec<String> = summary.cooperative_matrix.iter().map(|(name, n)| format!("{n} {name}")).collect();
        println!("apart, with cooperative matrix: {}", parts.join(", "));
    }
    if summary.broken_cache_entries > 0 {
        println!("broken cache entries, compiled again: {}", summary.broken_cache_entries);
    }
    if !summary.unsupported.is_empty() {
        println!("unsupported:");
        let mut features: Vec<_> = summary.unsupported.iter().collect();
        features.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), (*name).clone()));
        for (feature, n) in features {
            println!("  {n:>6}  {feature}");
        }
    }
    for done in &summary.shaders {
        match &done.outcome {
            Outcome::Failed { why } | Outcome::TimedOut { why } | Outcome::Malformed { why } => {
                println!("{}: {why}", done.name);
            }
            Outcome::NeedsWholeCompile { reason } => println!("{}: {reason}", done.name),
            Outcome::Compiled { simplified: Some(why), .. } | Outcome::Cached { simplified: Some(why), .. } => {
                println!("{}: code of level 0, not of the level asked for: {why}", done.name);
            }
            _ => {}
        }
    }
    let mut slow: Vec<&Done> =
        summary.shaders.iter().filter(|d| matches!(d.outcome, Outcome::Compiled { .. })).collect();
    slow.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
    if !slow.is_empty() {
        println!("slowest:");
        for done in slow.iter().take(10) {
            println!("  {:>8.1} ms  {}", done.milliseconds, done.name);
        }
    }
}

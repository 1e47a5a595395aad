//! `dovetail populate`: compiles SPIR-V files and archives of pipelines into a cache of unlinked ELFs, in parallel.

mod archive;
mod modules;

use crate::common::{BuildArgs, CacheArgs, InputArgs, JobArgs, TargetArgs, guarded, print_json, read_text};
use crate::feed::{Fed, feed};
use crate::progress::Progress;
use crate::remote::{self, Remote};
use archive::Pipelines;
use dovetail::cache::Cache;
use dovetail::compile::request::{KnownState, Module, SpecValues, StageRequest, default_wave};
use dovetail::compile::spirv::reflect;
use dovetail::compile::unlinked::Remarks;
use dovetail::compile::{StageElf, variant_of};
use dovetail::corpus::input::{self, Input, Others, Reading};
use dovetail::corpus::spec::SpecFile;
use dovetail::error::{Context, Death, Error, ErrorKind, Result, printable};
use dovetail::target::{Gpu, Stage, WaveSize};
use dovetail::toolchain::{Fetched, Toolchain};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Most runs over the inputs, if the cache is replaced each time.
const RUNS: usize = 3;

/// Time between looks at whether results have waited for long enough to be stored.
const STORED_EVERY: Duration = Duration::from_millis(50);

/// Compile SPIR-V shaders into the cache, without pipeline state.
///
/// Each vertex, fragment and compute entry point becomes one unlinked ELF under a key of everything that decides its
/// code. A Fossilize archive (GAME.foz, as recorded by the Vulkan layer or Steam) also gives specialization and
/// pipelines: each pipeline is linked once, or compiled as a whole into the cache if it cannot be linked (see
/// docs/layer.md). Shaders that are in the cache are not compiled again, and an interrupted run loses nothing that was
/// finished. A file or folder that cannot be read is skipped: the summary names it, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  dovetail populate shaders/ --cache cache --spec spec.toml --jobs 4\n  dovetail populate GAME.foz --cache cache\n  dovetail populate shaders/ --service"
)]
pub struct Args {
    /// SPIR-V files, directories to search for them, and archives of pipelines (.foz).
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Specialization values by module (see docs/corpus.md).
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Wave size for every shader, 32 or 64; by default it depends on the stage and on subgroup operations.
    #[arg(long, value_name = "LANES", value_parser = wave)]
    wave: Option<WaveSize>,
    /// Also compile variants of stages: for sample shading (fragment) and for view masks (vertex).
    #[arg(long)]
    variants: bool,
    /// Also compile the vertex and the fragment shader of each pipeline in an archive for each other.
    #[arg(long, conflicts_with = "service")]
    pairs: bool,
    /// Also search files that are not SPIR-V for modules in them.
    #[arg(long)]
    search: bool,
    #[command(flatten)]
    input: InputArgs,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Have a running service compile, into its own cache; without a path, the one at the default socket. It compiles
    /// with its own workers, after everything that clients wait for, and reports when it holds this back.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true,
        conflicts_with_all = ["cache", "store", "deadline", "worker_memory", "fault", "jobs"])]
    service: Option<Option<PathBuf>>,
    #[command(flatten)]
    build: BuildArgs,
}

/// The compiler in use.
enum Maker<'a> {
    /// Workers of this program, into its own cache.
    Own(Toolchain<'a>),
    /// A service.
    Service(Remote),
}

impl Maker<'_> {
    /// A stage for each of these GPUs.
    fn stages(&self, module: &Arc<Module>, request: &StageRequest, targets: &[Gpu]) -> Vec<Result<Fetched>> {
        match self {
            Self::Own(tools) => tools.stages(module, request, targets),
            Self::Service(remote) => {
                targets.iter().map(|target| remote.stage(module, &request.for_gpu(*target))).collect()
            }
        }
    }
}

pub fn wave(text: &str) -> Result<WaveSize> {
    text.parse::<u32>()
        .map_err(|_| Error::malformed(format!("wave size `{text}`: 32 or 64")))
        .and_then(WaveSize::try_from)
}

/// One entry point of a module, or a module without one that can be compiled.
struct Item {
    name: String,
    work: Result<Work>,
    /// Whether it needs cooperative-matrix hardware, which no GPU of this generation has; counted separately.
    cooperative_matrix: bool,
}

struct Work {
    module: Arc<Module>,
    /// For each GPU that is asked for, in place of its own.
    request: StageRequest,
    /// Whether the shader uses subgroups, if each GPU gets the wave size that is usual for it, in place of the request's.
    usual_wave: Option<bool>,
}

impl Work {
    fn wave(&self, gpu: Gpu) -> WaveSize {
        self.usual_wave.map_or(self.request.wave, |subgroups| default_wave(gpu, self.request.stage, subgroups))
    }

    /// The stage for each of these GPUs. Those with one wave size share what is the same for them.
    fn stages(&self, maker: &Maker<'_>, targets: &[Gpu]) -> Vec<Result<Fetched>> {
        let mut made = BTreeMap::new();
        for wave in [WaveSize::W32, WaveSize::W64] {
            let some: Vec<Gpu> = targets.iter().copied().filter(|gpu| self.wave(*gpu) == wave).collect();
            let request = StageRequest { wave, ..self.request.clone() };
            made.extend(some.iter().copied().zip(maker.stages(&self.module, &request, &some)));
        }
        let missing = || Err(Error::bug("a GPU that was not compiled for"));
        targets.iter().map(|gpu| made.get(gpu).cloned().unwrap_or_else(missing)).collect()
    }
}

/// A stage's ELF.
#[derive(Clone, Debug, Serialize)]
struct Made {
    bytes: usize,
    simplified: Option<String>,
    /// The feature for which LLVM compiled it instead of the native generator.
    fallback: Option<String>,
}

impl Made {
    /// Reads an ELF. An error here is not a failure: the link reads the ELF again and reports it then.
    fn of(elf: &StageElf) -> Self {
        let Remarks { simplified, fallback } = Remarks::of(elf).unwrap_or_default();
        Self { bytes: elf.0.len(), simplified, fallback }
    }
}

/// Result of an item.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Outcome {
    Compiled(Made),
    Cached(Made),
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

    fn made(&self) -> Option<&Made> {
        match self {
            Self::Compiled(made) | Self::Cached(made) => Some(made),
            _ => None,
        }
    }

    fn index(&self) -> usize {
        match self {
            Self::Compiled(_) => 0,
            Self::Cached(_) => 1,
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

/// A file, folder or archive that could not be read completely.
#[derive(Serialize)]
struct InputError {
    path: String,
    why: String,
}

/// Result for an input.
enum Event {
    Shader(Done),
    Input(InputError),
}

#[derive(Serialize)]
struct Summary {
    counts: BTreeMap<&'static str, usize>,
    cooperative_matrix: BTreeMap<&'static str, usize>,
    unsupported: BTreeMap<String, usize>,
    /// Shaders that LLVM compiled because the native generator does not support them, by feature.
    fallbacks: BTreeMap<String, usize>,
    seconds: f64,
    broken_cache_entries: u64,
    input_errors: Vec<InputError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipelines: Option<Pipelines>,
    shaders: Vec<Done>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let started = Instant::now();
    let spec = match &args.spec {
        Some(path) => SpecFile::parse(&read_text(path)?).at(|| path.display().to_string())?,
        None => SpecFile::default(),
    };
    if let Some(socket) = &args.service {
        let maker = Maker::Service(Remote::connect(socket.as_ref())?);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(remote::ASKERS).build();
        let pool = pool.map_err(|e| Error::environment(format!("threads: {e}")))?;
        let (events, pipelines) = events(args, &spec, &maker, &pool);
        return report(args, &summarize(events, pipelines, started.elapsed(), 0));
    }
    let cache = args.build.cache.open()?.gathering();
    // Checked before compiling anything that could not be stored.
    cache.check_writable()?;
    let compiler = args.build.worker.start(args.jobs.count())?;
    let tools = Toolchain::new(&cache, Some(&compiler))?;
    // A store that was set aside is news also if its successor takes nothing.
    tools.record_compiler().inspect_err(|_| CacheArgs::tell(&cache))?;
    let maker = Maker::Own(if args.pairs { tools.making_pairs() } else { tools });
    let pool = args.jobs.threads()?;
    let (events, pipelines) = storing(&cache, || all_stored(&cache, || events(args, &spec, &maker, &pool)));
    let code = report(args, &summarize(events, pipelines, started.elapsed(), cache.stats().bad))?;
    CacheArgs::tell(&cache);
    // Storing them was the purpose.
    Ok(cache.not_kept().map_or(code, |why| ExitCode::from(why.exit_code())))
}

/// Runs `work`, and runs it again if the store was replaced meanwhile because it is damaged: what was found in the old one
/// has to be in the new one. Results keep the outcome of the run that compiled them.
fn all_stored(cache: &Cache, work: impl Fn() -> Events) -> Events {
    let mut store = cache.identity();
    let (mut events, mut pipelines) = work();
    for _ in 1..RUNS {
        cache.flush();
        if store == cache.identity() {
            break;
        }
        eprintln!("dovetail: the cache is damaged and was replaced; what it had is compiled again");
        store = cache.identity();
        let mut again = work();
        // Both are in the order of their names.
        for ((_, now), (_, before)) in again.0.iter_mut().zip(events) {
            if let (Event::Shader(now), Event::Shader(before)) = (now, before)
                && let (Outcome::Cached(_), Outcome::Compiled(_)) = (&now.outcome, &before.outcome)
                && now.name == before.name
            {
                *now = before;
            }
        }
        (events, pipelines) = again;
    }
    (events, pipelines)
}

/// Runs `work` while results that have waited for long enough are stored, whatever else is being compiled.
fn storing<T>(cache: &Cache, work: impl FnOnce() -> T) -> T {
    let done = std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(STORED_EVERY) == Err(RecvTimeoutError::Timeout) {
                cache.store_due();
            }
        });
        let done = work();
        drop(end);
        done
    });
    cache.flush();
    done
}

/// Results of the shaders, and of the pipelines if there are archives.
type Events = (Vec<(usize, Event)>, Option<Pipelines>);

/// Compiles all inputs; returns the results in the order of their names.
fn events(args: &Args, spec: &SpecFile, maker: &Maker<'_>, pool: &rayon::ThreadPool) -> Events {
    let (archives, paths) = archive::split(&args.paths);
    let progress = Progress::new(0, "compiling");
    let others = if args.search { Others::Search } else { Others::Skip };
    let reading = Reading { others, memory: args.input.bytes() };
    let (mut feeder, queue) = feed::<Result<Input>>(reading.memory);
    // Modules are compiled while the search continues, so that no more of them are in memory than allowed.
    let mut events: Vec<(usize, Event)> = std::thread::scope(|scope| {
        let progress = &progress;
        scope.spawn(move || {
            input::modules(&paths, reading, &mut |input| {
                let bytes = input.as_ref().map_or(0, |input| (input.bytes.len() + input.name.len()) as u64);
                progress.found(1);
                feeder.put(input, bytes);
            });
        });
        pool.install(|| {
            queue.into_iter().par_bridge().flat_map_iter(|fed| work(args, spec, maker, progress, fed)).collect()
        })
    });
    let mut pipelines = Pipelines::default();
    for path in &archives {
        let found = pool.install(|| archive::populate(args, path, maker, &progress, &mut pipelines));
        let failed = |e: Error| vec![Event::Input(InputError { path: path.display().to_string(), why: e.to_string() })];
        events.extend(found.unwrap_or_else(failed).into_iter().map(|event| (0, event)));
    }
    progress.finish();
    events.sort_by(|a, b| (a.1.name(), a.0).cmp(&(b.1.name(), b.0)));
    (events, (!archives.is_empty()).then_some(pipelines))
}

/// Prints the results, and returns the exit code.
fn report(args: &Args, summary: &Summary) -> Result<ExitCode> {
    if args.json {
        print_json(summary)?;
    } else {
        print(summary);
    }
    let bad = |name: &str| summary.counts.get(name).copied().unwrap_or(0);
    let failed = Outcome::NAMES[2..].iter().map(|n| bad(n)).sum::<usize>() > 0;
    let unlinked = summary.pipelines.as_ref().is_some_and(|pipelines| !pipelines.is_good());
    Ok(ExitCode::from(u8::from(failed || unlinked || !summary.input_errors.is_empty())))
}

impl Event {
    fn name(&self) -> &str {
        match self {
            Self::Shader(done) => &done.name,
            Self::Input(error) => &error.path,
        }
    }
}

/// Compiles all entry points of an input. Each event has the input's number.
fn work(
    args: &Args,
    spec: &SpecFile,
    maker: &Maker<'_>,
    progress: &Progress,
    mut fed: Fed<Result<Input>>,
) -> Vec<(usize, Event)> {
    let input = match &mut fed.item {
        Ok(input) => std::mem::replace(input, Input { name: input.name.clone(), bytes: Vec::new() }),
        Err(e) => {
            progress.tick();
            let path = printable(e.place().unwrap_or_default()).into_owned();
            return vec![(fed.number, Event::Input(InputError { path, why: e.to_string() }))];
        }
    };
    let items = items(args, spec, input);
    progress.found(items.len().saturating_sub(1));
    let one = |item: Item| {
        let done = compile(args, maker, &item);
        progress.tick();
        done.into_iter().map(|done| (fed.number, Event::Shader(done)))
    };
    items.into_par_iter().flat_map_iter(one).collect()
}

/// The entry points of one module.
fn items(args: &Args, spec: &SpecFile, input: Input) -> Vec<Item> {
    let name = printable(&input.name).into_owned();
    let reflected = guarded(|| {
        let module = Module::new(input.bytes)?;
        let info = reflect(&module)?;
        Ok((module, info))
    });
    let (module, info) = match reflected {
        Ok(found) => found,
        Err(e) => return vec![Item { name, work: Err(e), cooperative_matrix: false }],
    };
    let module = Arc::new(module);
    // Specialization files name modules, not their folders.
    let module_name = name.rsplit('/').next().unwrap_or(&name);
    let values: Vec<(u32, u64)> =
        spec.values(module_name).into_iter().map(|(id, value)| (id, u64::from(value))).collect();
    let specialization = SpecValues::new(info.specialization(&values), module.operand_ids()).shaping;
    let several = info.entry_points.len() > 1;
    let mut out = Vec::new();
    for entry in &info.entry_points {
        let name = if several { format!("{name}:{}", printable(&entry.name)) } else { name.clone() };
        let Some(stage) = entry.stage else {
            let work = Err(Error::unsupported(format!("execution model {}", entry.model), entry.name.clone()));
            out.push(Item { name, work, cooperative_matrix: info.cooperative_matrix });
            continue;
        };
        let variant = args.variants.then(|| Some((format!("{name} ({})", variant_name(stage)), variant_of(stage)?)));
        let all = [Some((name, KnownState::default())), variant.flatten()];
        for (name, known) in all.into_iter().flatten() {
            let request = StageRequest {
                target: Gpu::default(),
                stage,
                module: module.digest(),
                entry_point: entry.name.clone(),
                specialization: specialization.clone(),
                wave: args.wave.unwrap_or(WaveSize::W32),
                options: args.build.tuning.options(),
                known,
            };
            let usual_wave = args.wave.is_none().then_some(info.uses_subgroups);
            let work = Ok(Work { module: module.clone(), request, usual_wave });
            out.push(Item { name, work, cooperative_matrix: info.cooperative_matrix });
        }
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

/// The state that the variant of a stage is for.
pub fn variant_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Vertex => "view mask",
        Stage::Fragment => "sample shading",
        Stage::Compute => "none",
    }
}

/// Compiles an item for each GPU. Its time is shared evenly among them.
fn compile(args: &Args, maker: &Maker<'_>, item: &Item) -> Vec<Done> {
    let done = |name: String, outcome: Outcome, milliseconds: f64| Done {
        name,
        outcome,
        milliseconds,
        cooperative_matrix: item.cooperative_matrix,
    };
    let work = match &item.work {
        Ok(work) => work,
        Err(e) => return vec![done(item.name.clone(), Outcome::of_error(e), 0.0)],
    };
    let (started, targets) = (Instant::now(), args.target.all());
    let made = guarded(|| Ok(work.stages(maker, &targets)));
    let made = made.unwrap_or_else(|e| vec![Err(e); targets.len()]);
    let milliseconds = started.elapsed().as_secs_f64() * 1e3 / targets.len() as f64;
    let outcome = |made: Result<Fetched>| match made {
        Ok(Fetched::Hit(elf)) => Outcome::Cached(Made::of(&elf)),
        Ok(Fetched::Compiled(elf)) => Outcome::Compiled(Made::of(&elf)),
        Ok(Fetched::NotCached) => Outcome::NotCached,
        Err(e) => Outcome::of_error(&e),
    };
    let named = targets.iter().map(|target| args.target.name(&item.name, *target));
    named.zip(made).map(|(name, made)| done(name, outcome(made), milliseconds)).collect()
}

fn summarize(events: Vec<(usize, Event)>, pipelines: Option<Pipelines>, elapsed: Duration, broken: u64) -> Summary {
    let mut summary = Summary {
        counts: BTreeMap::new(),
        cooperative_matrix: BTreeMap::new(),
        unsupported: BTreeMap::new(),
        fallbacks: BTreeMap::new(),
        seconds: elapsed.as_secs_f64(),
        broken_cache_entries: broken,
        input_errors: Vec::new(),
        pipelines,
        shaders: Vec::new(),
    };
    for (_, event) in events {
        let done = match event {
            Event::Shader(done) => done,
            Event::Input(error) => {
                summary.input_errors.push(error);
                continue;
            }
        };
        let counts = if done.cooperative_matrix { &mut summary.cooperative_matrix } else { &mut summary.counts };
        *counts.entry(Outcome::NAMES[done.outcome.index()]).or_default() += 1;
        if let Outcome::Unsupported { feature, .. } = &done.outcome {
            *summary.unsupported.entry(printable(feature).into_owned()).or_default() += 1;
        }
        if let Some(feature) = done.outcome.made().and_then(|made| made.fallback.as_deref()) {
            *summary.fallbacks.entry(printable(feature).into_owned()).or_default() += 1;
        }
        summary.shaders.push(done);
    }
    summary
}

/// Features with their counts, the most frequent first; nothing if there are none.
pub fn print_counts(what: &str, counts: &BTreeMap<String, usize>) {
    if counts.is_empty() {
        return;
    }
    println!("{what}:");
    let mut features: Vec<_> = counts.iter().collect();
    features.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), (*name).clone()));
    for (feature, n) in features {
        println!("  {n:>6}  {feature}");
    }
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
    print_counts("unsupported", &summary.unsupported);
    print_counts("not supported by the native generator, compiled by LLVM", &summary.fallbacks);
    for done in &summary.shaders {
        match &done.outcome {
            Outcome::Failed { why } | Outcome::TimedOut { why } | Outcome::Malformed { why } => {
                println!("{}: {why}", done.name);
            }
            Outcome::NeedsWholeCompile { reason } => println!("{}: {reason}", done.name),
            other => {
                if let Some(why) = other.made().and_then(|made| made.simplified.as_deref()) {
                    println!("{}: unoptimized code instead of the requested level: {why}", done.name);
                }
            }
        }
    }
    summary.pipelines.iter().for_each(Pipelines::print);
    if !summary.input_errors.is_empty() {
        println!("inputs that could not be read completely: {}", summary.input_errors.len());
        for error in &summary.input_errors {
            println!("  {}", error.why);
        }
    }
    let mut slow: Vec<&Done> = summary.shaders.iter().filter(|d| matches!(d.outcome, Outcome::Compiled(_))).collect();
    slow.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
    if !slow.is_empty() {
        println!("slowest:");
        for done in slow.iter().take(10) {
            println!("  {:>8.1} ms  {}", done.milliseconds, done.name);
        }
    }
}

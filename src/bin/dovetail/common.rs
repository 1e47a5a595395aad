//! Arguments and helpers of several subcommands: the cache, the compiler, tuning options, threads.

use crate::out;
use crate::serve::{cache_dir, share};
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::generators::is_built_in;
use dovetail::compile::phases::Phases;
use dovetail::compile::request::{GeneratorKind, LlvmOptions, Module, NativeOptions, TuningOptions};
use dovetail::compile::worker::{WorkerConfig, WorkerPool};
use dovetail::error::{Context, Error, Result};
pub use dovetail::files::write as write_file;
use dovetail::files::{self, MAX_TEXT};
use dovetail::ship::install::leave_out_withdrawn;
use dovetail::state::{self, PipelineState};
use dovetail::target::Gpu;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Arguments of every command that builds.
#[derive(clap::Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub worker: WorkerArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// Where a command writes its result: a file, or standard output for the name `-`.
#[derive(Clone, Debug)]
pub struct Output(PathBuf);

impl From<&str> for Output {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<std::ffi::OsString> for Output {
    fn from(name: std::ffi::OsString) -> Self {
        Self(name.into())
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_standard() { f.write_str("standard output") } else { self.0.display().fmt(f) }
    }
}

impl Output {
    /// Its path; `-` for standard output.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether it is standard output.
    pub fn is_standard(&self) -> bool {
        self.0.as_os_str() == "-"
    }

    /// To be called before the command prints: if the result goes to standard output, everything else goes to standard
    /// error.
    pub fn claim(&self) {
        if self.is_standard() {
            out::results_only();
        }
    }

    /// Writes the result.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if self.is_standard() { out::write_result(bytes) } else { write_file(&self.0, bytes) }
    }
}

/// Parses the name of a folder for results; `-` is none.
pub fn folder(name: std::ffi::OsString) -> Result<PathBuf> {
    if name == "-" {
        return Err(Error::malformed("the results are several files: name a folder"));
    }
    Ok(name.into())
}

/// Number of parallel jobs.
#[derive(clap::Args)]
pub struct JobArgs {
    /// Number of parallel jobs, 1 to 1024; by default the number of processors.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobArgs {
    pub fn count(&self) -> usize {
        self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }

    pub fn threads(&self) -> Result<rayon::ThreadPool> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.count()).build();
        threads.map_err(|e| Error::environment(format!("threads: {e}")))
    }
}

/// Limits for reading inputs.
#[derive(clap::Args)]
pub struct InputArgs {
    /// Memory limit for an input file in MiB, 1 to 1048576, including everything unpacked from it at every level of
    /// nesting. What exceeds it is skipped and named.
    #[arg(long, default_value_t = 512, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    input_memory: u64,
}

impl InputArgs {
    pub fn bytes(&self) -> u64 {
        self.input_memory << 20
    }
}

/// GPUs to compile for.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// GPUs to compile for, separated by commas: gfx1010 to gfx1013, gfx1030 to gfx1036, gfx1100 to gfx1103,
    /// gfx1150 to gfx1153, gfx1200, gfx1201; rdna1, rdna2, rdna3, rdna4, all; or a PCI device, as `lspci -n` writes it:
    /// 1002:73bf. The front end runs once for all of them.
    #[arg(long = "target", default_value = "gfx1030", value_name = "GPU,…", value_delimiter = ',')]
    targets: Vec<Named>,
}

/// The GPUs that one word names.
#[derive(Clone)]
struct Named(Vec<Gpu>);

impl FromStr for Named {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Gpu::named(name).map(Self)
    }
}

impl TargetArgs {
    /// The GPUs, in the order in which they are named.
    fn named(&self) -> impl Iterator<Item = Gpu> {
        self.targets.iter().flat_map(|named| &named.0).copied()
    }

    /// The GPUs, each once.
    pub fn all(&self) -> Vec<Gpu> {
        self.named().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The name of a result, with its GPU if there are several.
    pub fn name(&self, name: &str, target: Gpu) -> String {
        let several = self.named().any(|other| other != target);
        if several { format!("{name} [{target}]") } else { name.to_owned() }
    }
}

/// Where results are stored.
#[derive(clap::Args)]
pub struct CacheArgs {
    /// Cache directory; by default that of `dovetail serve`: dovetail in $XDG_CACHE_HOME or ~/.cache. Created if missing.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Let every user read the cache, whatever the mask of file modes (umask) says.
    #[arg(long)]
    shared: bool,
    /// Kind of store: lmdb (several processes at once, at most 64 GiB), sled (one process), memory (lost at exit).
    #[arg(long, default_value = "lmdb")]
    store: StoreKind,
}

/// Opens the cache in a directory with its packs, without those that their signers have withdrawn.
pub fn open_cache(dir: &Path, store: StoreKind) -> Result<Cache> {
    leave_out_withdrawn(dir)?.iter().for_each(|told| eprintln!("dovetail: {told}"));
    dovetail::pack::open(dir, store)
}

impl CacheArgs {
    pub fn dir(&self) -> Result<PathBuf> {
        cache_dir(self.cache.as_ref())
    }

    pub fn open(&self) -> Result<Cache> {
        if self.store == StoreKind::Memory {
            return Cache::open(Path::new(""), self.store);
        }
        let dir = self.dir()?;
        if self.shared {
            share(&dir);
        }
        open_cache(&dir, self.store)
    }

    /// Prints a cache's notices.
    pub fn tell(cache: &Cache) {
        cache.notices().iter().for_each(|notice| eprintln!("dovetail: {notice}"));
        if let Some(why) = cache.not_kept() {
            eprintln!("dovetail: {} results were not stored: {why}", cache.stats().unkept);
        }
    }
}

/// Limits of compiler processes.
#[derive(clap::Args)]
pub struct WorkerArgs {
    /// Processor time limit for one shader, in seconds, 1 to 86400. Beyond it the worker is killed, and after a second
    /// try the shader is quarantined. Other processes do not count; a worker that waits instead of computing may take
    /// ten times as long.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline: u64,
    /// Address space that a worker process may use beyond its program and libraries, in MiB, 64 to 1048576.
    #[arg(long, default_value_t = 4096, value_name = "MIB", value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    pub worker_memory: u64,
    /// Worker fault for tests, see `dovetail worker --help`.
    #[arg(long, hide = true)]
    pub fault: Option<String>,
}

impl WorkerArgs {
    pub fn start(&self, workers: usize) -> Result<WorkerPool> {
        let mut args = vec!["worker".to_owned()];
        args.extend(self.fault.iter().map(|f| format!("--fault={f}")));
        let (program, memory_mib) = (std::env::current_exe()?, self.worker_memory);
        let deadline = Duration::from_secs(self.deadline);
        WorkerPool::start(WorkerConfig { program, args, memory_mib, deadline }, workers)
    }
}

/// Tuning options; all are part of every key.
#[derive(clap::Args)]
pub struct TuningArgs {
    /// Code generator: native, or llvm in builds that have it; those builds use LLVM for what native does not support.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = built_in)]
    backend: GeneratorKind,
    /// Do not unroll loops.
    #[arg(long)]
    no_unroll: bool,
    /// Do not hoist loop invariants.
    #[arg(long)]
    no_licm: bool,
    /// Upper limit of vector registers, at least 24; 0 for none.
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true, value_parser = vgpr_limit)]
    vgpr_limit: u32,
    /// LLVM's scheduling strategy: max-occupancy or max-ilp.
    #[arg(long, value_name = "NAME", hide = !LLVM, value_parser = scheduler)]
    scheduler: Option<String>,
    /// LLVM code generation level, 0 to 3.
    #[arg(long, value_name = "N", hide = !LLVM, value_parser = opt_level)]
    opt_level: Option<u8>,
    /// Phase of the native generator to disable, or `optimise` for all before selection; may be repeated.
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    disable: Vec<Phases>,
    /// Keep a workgroup on a single compute unit.
    #[arg(long)]
    cu_mode: bool,
}

/// Whether this build has LLVM. Without it, options that only LLVM reads are refused: they would have no effect except
/// other keys.
const LLVM: bool = is_built_in(GeneratorKind::Llvm);

/// Parses a code generator of this build.
fn built_in(text: &str) -> Result<GeneratorKind> {
    let kind: GeneratorKind = text.parse()?;
    if is_built_in(kind) { Ok(kind) } else { Err(without(kind)) }
}

fn without(kind: GeneratorKind) -> Error {
    Error::unsupported(format!("code generator {kind}"), format!("this build does not have it (feature `{kind}`)"))
}

/// Parses a scheduling strategy of LLVM 19, which ignores others.
fn scheduler(text: &str) -> Result<String> {
    match text {
        _ if !LLVM => Err(without(GeneratorKind::Llvm)),
        "max-occupancy" | "max-ilp" => Ok(text.to_owned()),
        _ => Err(Error::malformed(format!("scheduler `{text}`: max-occupancy or max-ilp"))),
    }
}

/// Parses a level of LLVM's code generator.
fn opt_level(text: &str) -> Result<u8> {
    match text.parse() {
        _ if !LLVM => Err(without(GeneratorKind::Llvm)),
        Ok(level @ 0..=3) => Ok(level),
        _ => Err(Error::malformed(format!("level `{text}`: 0 to 3"))),
    }
}

/// Parses a limit with which code can be generated.
fn vgpr_limit(text: &str) -> std::result::Result<u32, String> {
    let limit = text.parse().map_err(|_| "not a number of registers".to_owned())?;
    let options = TuningOptions { vgpr_limit: limit, ..TuningOptions::default() };
    options.check().map(|()| limit).map_err(|error| error.to_string())
}

impl TuningArgs {
    /// Whether LLVM may compile what another generator does not support.
    pub fn falls_back(&self) -> bool {
        self.backend == GeneratorKind::Native
    }

    pub fn options(&self) -> TuningOptions {
        TuningOptions {
            generator: self.backend,
            unroll: !self.no_unroll,
            licm: !self.no_licm,
            vgpr_limit: self.vgpr_limit,
            cu_mode: self.cu_mode,
            native: NativeOptions {
                without: self.disable.iter().flat_map(|phases| phases.iter()).collect(),
                ..NativeOptions::default()
            },
            llvm: LlvmOptions {
                // The default, under its name.
                scheduler: self.scheduler.clone().filter(|name| name != "max-occupancy"),
                opt_level: self.opt_level.unwrap_or(LlvmOptions::default().opt_level),
            },
        }
    }
}

/// Largest module that fits a worker's frame, and largest ELF, in bytes.
const MAX_MODULE: u64 = 256 << 20;
const MAX_ELF: u64 = 1 << 30;

/// Reads a module that the user names.
pub fn read_module(path: &Path) -> Result<Module> {
    Module::new(files::read_named(path, MAX_MODULE)?).at(|| path.display().to_string())
}

/// Reads a module found in a folder; a pipe there would be waited for.
pub fn read_found_module(path: &Path) -> Result<Module> {
    Module::new(files::read(path, MAX_MODULE)?).at(|| path.display().to_string())
}

/// Reads an ELF that the user names.
pub fn read_elf(path: &Path) -> Result<Vec<u8>> {
    files::read_named(path, MAX_ELF)
}

/// Reads a handwritten text file.
pub fn read_text(path: &Path) -> Result<String> {
    files::read_named_text(path, MAX_TEXT)
}

/// Reads a state file.
pub fn read_state(path: &Path) -> Result<PipelineState> {
    state::file::parse(&read_text(path)?).at(|| path.display().to_string())
}

/// Runs one of many items. None may stop the run, so internal errors and panics are caught too.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::bug("panic")))
}

/// Prints one JSON document.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::bug(format!("JSON: {e}")))?;
    // JSON need not escape control characters beyond ASCII, but terminals interpret them.
    let escaped = |c: char| if c.is_control() && c != '\n' { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
    println!("{}", text.chars().map(escaped).collect::<String>());
    Ok(())
}

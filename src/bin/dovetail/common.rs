//! Arguments and helpers of several subcommands: the cache, the compiler, tuning options, threads.

use crate::serve::{cache_dir, share};
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::phases::Phases;
use dovetail::compile::request::{GeneratorKind, LlvmOptions, Module, NativeOptions, TuningOptions};
use dovetail::compile::worker::{WorkerConfig, WorkerPool};
use dovetail::error::{Context, Error, Result};
pub use dovetail::files::write as write_file;
use dovetail::files::{self, MAX_TEXT};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
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

impl CacheArgs {
    pub fn open(&self) -> Result<Cache> {
        if self.store == StoreKind::Memory {
            return Cache::open(Path::new(""), self.store);
        }
        let dir = cache_dir(self.cache.as_ref())?;
        if self.shared {
            share(&dir);
        }
        Cache::open(&dir, self.store)
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

    /// Starts workers if this program has a compiler. Without one this is not an error; misses are then reported as not
    /// cached.
    pub fn start_if_built(&self, workers: usize) -> Result<Option<Box<dyn Compiler>>> {
        if cfg!(any(feature = "llvm", feature = "native")) {
            Ok(Some(Box::new(self.start(workers)?)))
        } else {
            Ok(None)
        }
    }
}

/// Tuning options; all are part of every key.
#[derive(clap::Args)]
pub struct TuningArgs {
    /// Code generator: native, or llvm in builds that have it; those builds use LLVM for what native does not support.
    #[arg(long, value_name = "NAME", default_value_t)]
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
    /// LLVM's scheduling strategy, e.g. max-ilp.
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// LLVM code generation level, 0 to 3.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// Phase of the native generator to disable, or `optimise` for all before selection; may be repeated.
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    disable: Vec<Phases>,
    /// Keep a workgroup on a single compute unit.
    #[arg(long)]
    cu_mode: bool,
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
                scheduler: self.scheduler.clone().filter(|name| !name.is_empty()),
                opt_level: self.opt_level,
            },
        }
    }
}

/// Largest module that fits a worker's frame, and largest ELF, in bytes.
const MAX_MODULE: u64 = 256 << 20;
const MAX_ELF: u64 = 1 << 30;

pub fn read_module(path: &Path) -> Result<Module> {
    Module::new(files::read(path, MAX_MODULE)?).at(|| path.display().to_string())
}

/// Reads an ELF file.
pub fn read_elf(path: &Path) -> Result<Vec<u8>> {
    files::read(path, MAX_ELF)
}

/// Reads a handwritten text file.
pub fn read_text(path: &Path) -> Result<String> {
    files::read_text(path, MAX_TEXT)
}

pub fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let place = || path.display().to_string();
    let text = read_text(path)?;
    toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place)
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

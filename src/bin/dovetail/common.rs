//! What several subcommands share: the cache, the compiler, tuning options, threads.

use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::request::{Module, TuningOptions};
use dovetail::compile::worker::{PoolConfig, WorkerPool};
use dovetail::error::{Context, Error, Result};
pub use dovetail::files::write as write_file;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every build takes.
#[derive(clap::Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub worker: WorkerArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// How many things are done at once.
#[derive(clap::Args)]
pub struct JobArgs {
    /// Shaders or pipelines at once; the default is the number of processors.
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
}

impl JobArgs {
    pub fn count(&self) -> usize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    pub fn threads(&self) -> Result<rayon::ThreadPool> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.count()).build();
        threads.map_err(|e| Error::environment(format!("threads: {e}")))
    }
}

/// Where results are kept.
#[derive(clap::Args)]
pub struct CacheArgs {
    /// Cache directory; made if absent.
    #[arg(long, value_name = "DIR", default_value = "dovetail-cache")]
    pub cache: PathBuf,
    /// Store in it: lmdb (several processes at once, at most 64 GiB), sled (one process), memory (forgotten at the end).
    #[arg(long, default_value = "lmdb")]
    pub store: StoreKind,
}

impl CacheArgs {
    pub fn open(&self) -> Result<Cache> {
        Cache::open(&self.cache, self.store)
    }

    /// Says what a cache has met that people should know of.
    pub fn tell(cache: &Cache) {
        cache.notices().iter().for_each(|notice| eprintln!("dovetail: {notice}"));
        if let Some(why) = cache.not_kept() {
            eprintln!("dovetail: {} results were not kept: {why}", cache.stats().unkept);
        }
    }
}

/// How compilation is run and guarded.
#[derive(clap::Args)]
pub struct WorkerArgs {
    /// Longest time for one shader, in seconds; then its worker is killed, and after a second try the shader is quarantined.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub deadline: u64,
    /// Address-space limit of a worker process in MiB.
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    pub worker_memory: u64,
    /// Worker fault for tests, see `dovetail worker --help`.
    #[arg(long, hide = true)]
    pub fault: Option<String>,
}

impl WorkerArgs {
    pub fn start(&self, workers: usize) -> Result<WorkerPool> {
        let mut args = vec!["worker".to_owned(), format!("--memory-mib={}", self.worker_memory)];
        args.extend(self.fault.iter().map(|f| format!("--fault={f}")));
        WorkerPool::start(PoolConfig {
            program: std::env::current_exe()?,
            args,
            workers,
            deadline: Duration::from_secs(self.deadline),
        })
    }

    /// Workers where this program has a compiler; none is no error, misses are then reported as not cached.
    pub fn start_if_built(&self, workers: usize) -> Result<Option<Box<dyn Compiler>>> {
        if cfg!(feature = "llvm") { Ok(Some(Box::new(self.start(workers)?))) } else { Ok(None) }
    }
}

/// Tuning options; all are part of every key.
#[derive(clap::Args)]
pub struct TuningArgs {
    /// Do not unroll loops.
    #[arg(long)]
    no_unroll: bool,
    /// Do not hoist loop invariants.
    #[arg(long)]
    no_licm: bool,
    /// Upper bound for vector registers.
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    vgpr_limit: u32,
    /// LLVM's scheduling strategy, e.g. max-ilp.
    #[arg(long, default_value = "", value_name = "NAME", hide_default_value = true)]
    scheduler: String,
    /// LLVM code generation level, 0 to 3.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// Keep a workgroup on a single compute unit.
    #[arg(long)]
    cu_mode: bool,
}

impl TuningArgs {
    pub fn options(&self) -> TuningOptions {
        TuningOptions {
            unroll: !self.no_unroll,
            licm: !self.no_licm,
            vgpr_limit: self.vgpr_limit,
            scheduler: self.scheduler.clone(),
            opt_level: self.opt_level,
            cu_mode: self.cu_mode,
        }
    }
}

pub fn read_module(path: &Path) -> Result<Module> {
    let place = || path.display().to_string();
    Module::new(std::fs::read(path).at(place)?).at(place)
}

pub fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).at(place)?;
    toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place)
}

/// Prints one JSON document.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::bug(format!("JSON: {e}")))?;
    println!("{text}");
    Ok(())
}

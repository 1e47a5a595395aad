//! `dovetail serve`: runs the service until it is asked to stop.

use dovetail::compile::worker::WorkerConfig;
use dovetail::error::{Error, Result};
use dovetail::pack::packs_dir;
use dovetail::service::{self, Config};
use dovetail::wire::default_socket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Compile for many programs, in the background, into one cache.
///
/// Programs that use the library (see docs/capi.md) request what their cache lacks over a Unix socket. What several
/// request is compiled once. Requests that a thread waits for come first, then those needed on screen soon, then
/// possible improvements, then those not needed yet. Compiles run in sandboxed worker processes, so a crash costs one
/// shader.
///
/// Unless the machine is dedicated to this (--dedicated), background work is held back while the machine is busy or on
/// battery; `dovetail service status` says why. SIGTERM stops the service cleanly: clients are notified, running jobs
/// are finished.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  dovetail serve\n  dovetail serve --socket /tmp/d.sock --cache cache --workers 4 --dedicated\n  \
    systemctl --user enable --now dovetail.socket   (with the units of dist/)\n  dovetail service status --watch"
)]
pub struct Args {
    /// Socket to listen on; by default dovetail/serve.sock in $XDG_RUNTIME_DIR. A socket passed by systemd takes
    /// precedence.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Cache directory; by default dovetail in $XDG_CACHE_HOME or ~/.cache. Created if missing.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Let every user read the cache, whatever the mask of file modes (umask) says.
    #[arg(long)]
    shared: bool,
    /// Number of worker processes, 1 to 1024; by default one less than the processors. Fewer if their memory would
    /// exceed half of what is available.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// The machine is dedicated to this: background work is not held back for a busy processor or disk, nor on battery.
    #[arg(long)]
    dedicated: bool,
    /// Write metrics to this file every 15 seconds, in Prometheus' text format.
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Address space that a worker may use beyond its program, in MiB, 64 to 1048576. A shader that needs more is
    /// retried once with four times as much.
    #[arg(long, default_value_t = 512, value_name = "MIB", value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    worker_memory: u64,
    /// Processor time limit for a shader that no client waits for, in seconds, 1 to 86400; at most 10 for others.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    deadline: u64,
    /// Exit after this many seconds without a client and without a job.
    #[arg(long, value_name = "SECONDS")]
    idle_exit: Option<u64>,
    /// Time that running jobs get when the service is asked to stop, in seconds.
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    grace: u64,
    /// Worker fault for tests, see `dovetail worker --help`.
    #[arg(long, hide = true)]
    fault: Option<String>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut worker_args = vec!["worker".to_owned()];
    worker_args.extend(args.fault.iter().map(|fault| format!("--fault={fault}")));
    let cache = cache_dir(args.cache.as_ref())?;
    if args.shared {
        share(&cache);
    }
    let config = Config {
        socket: args.socket.clone().or_else(default_socket),
        cache,
        worker: WorkerConfig {
            program: std::env::current_exe()?,
            args: worker_args,
            memory_mib: args.worker_memory,
            deadline: Duration::from_secs(args.deadline),
        },
        workers: args.workers.map_or_else(|| processors.saturating_sub(1).max(1), usize::from),
        dedicated: args.dedicated,
        metrics_file: args.metrics_file.clone(),
        idle_exit: args.idle_exit.map(Duration::from_secs),
        grace: Duration::from_secs(args.grace),
    };
    service::serve(config, &|line| eprintln!("dovetail: {line}"))?;
    Ok(ExitCode::SUCCESS)
}

/// The given cache directory, or the user's default.
pub fn cache_dir(named: Option<&PathBuf>) -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("dovetail"));
    named.cloned().or_else(own).ok_or_else(|| Error::environment("no home folder for a cache: name one with --cache"))
}

/// Lets every user read what this process stores, and what the cache in this directory has.
pub fn share(cache: &Path) {
    const OTHERS_READ: u32 = 0o044;
    const OTHERS_ENTER: u32 = 0o055;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let named = [("", OTHERS_ENTER), ("lmdb", OTHERS_ENTER), ("lmdb/data.mdb", OTHERS_READ), ("packs", OTHERS_ENTER)];
    let packs = std::fs::read_dir(packs_dir(cache)).into_iter().flatten().flatten();
    let packs =
        packs.map(|found| (found.path(), OTHERS_READ)).filter(|(path, _)| path.extension() != Some("lock".as_ref()));
    for (path, rights) in named.map(|(path, rights)| (cache.join(path), rights)).into_iter().chain(packs) {
        if let Ok(there) = std::fs::metadata(&path) {
            let mode = there.permissions().mode() | rights;
            // Fails if it belongs to another user, who has decided.
            let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
        }
    }
}

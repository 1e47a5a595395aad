//! `dovetail service`: shows the state and the records of a service.

use crate::common::{open_cache, print_json};
use crate::serve::cache_dir;
use dovetail::cache::StoreKind;
use dovetail::error::{Error, Result};
use dovetail::service::journal::Row;
use dovetail::service::records::{self, Records};
use dovetail::service::{journal_dir, poison, poison_dir};
use dovetail::toolchain::recorded_compiler;
use dovetail::wire::{
    Ask, Connection, Hello, PROTOCOLS, REQUEST_SCHEMA, ServiceStatus, Tell, Times, Verdict, default_socket,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Inspect a running service, and the records of services.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  dovetail service status --watch\n  dovetail service why 3f21\n  dovetail service poison list\n  dovetail service poison clear --all"
)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show the state of the service, and why it holds work back if it does.
    Status {
        /// Its socket; by default that of `dovetail serve`.
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Repeat every second, until the service ends.
        #[arg(long)]
        watch: bool,
    },
    /// Show statistics of linked pipelines: use counts, and whether compiling them as a whole is better, and why.
    Why {
        /// Prefix of a pipeline's key (`dvt_pipeline_key`, or as printed by this command); by default all pipelines.
        #[arg(value_name = "PIPELINE")]
        pipeline: Option<String>,
        /// Cache directory of the service; by default that of `dovetail serve`.
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Shaders that kill workers, which the same compiler does not try again.
    Poison {
        /// Cache directory of the service; by default that of `dovetail serve`.
        #[arg(long, value_name = "DIR", global = true)]
        cache: Option<PathBuf>,
        #[command(subcommand)]
        command: PoisonCommand,
    },
}

#[derive(clap::Subcommand)]
enum PoisonCommand {
    /// List them, with how each killed its worker, and the worker's last message.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove shaders from the list, so that they are tried again.
    Clear {
        /// Keys, as printed by `list`.
        #[arg(required_unless_present = "all", value_name = "KEY")]
        keys: Vec<String>,
        /// Remove all of them.
        #[arg(long)]
        all: bool,
        /// Print the count as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Timeout for an answer of the service.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Status { socket, json, watch } => status(socket.as_ref(), *json, *watch),
        Command::Why { pipeline, cache, json } => why(pipeline.as_deref(), &cache_dir(cache.as_ref())?, *json),
        Command::Poison { cache, command } => {
            let dir = poison_dir(&cache_dir(cache.as_ref())?);
            match command {
                PoisonCommand::List { json } => list_poison(&dir, *json),
                PoisonCommand::Clear { keys, all, json } => clear_poison(&dir, keys, *all, *json),
            }
        }
    }
}

/// Connects to the service at this path, or at the default one.
pub fn connect(socket: Option<&PathBuf>, app: &str, cache: Option<dovetail::wire::Cached>) -> Result<Connection> {
    let path = socket.cloned().or_else(default_socket);
    let path = path.ok_or_else(|| Error::environment("no $XDG_RUNTIME_DIR: name the socket with --socket"))?;
    let hello = Hello { protocols: PROTOCOLS, schema: REQUEST_SCHEMA.into(), app: app.into(), cache };
    Connection::open(&path, &hello, PATIENCE)
}

fn status(socket: Option<&PathBuf>, json: bool, watch: bool) -> Result<ExitCode> {
    let Connection { mut sender, mut receiver, .. } = connect(socket, "dovetail service status", None)?;
    receiver.stream().set_read_timeout(Some(PATIENCE))?;
    loop {
        sender.send(&Ask::Status)?;
        let status = loop {
            match receiver.receive()? {
                Some(Tell::Status(status)) => break status,
                Some(_) => {}
                None if watch => return Ok(ExitCode::SUCCESS),
                None => return Err(Error::environment("the service has ended")),
            }
        };
        if json {
            print_json(&*status)?;
        } else {
            crate::out::try_say(&text(&status))?;
        }
        if !watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn text(status: &ServiceStatus) -> String {
    let compiler = status.compiler.as_ref().map_or("", |id| &id.backend);
    let mut lines = vec![
        format!("process {}, up {} s, {compiler}, cache {}", status.pid, status.uptime_s, status.cache),
        format!(
            "{} clients; {} requests: {} from the cache, {} joined another's job, {} stages compiled",
            status.clients, status.requests, status.hits, status.coalesced, status.compiled
        ),
        format!("{} failed, {} cancelled, {} rejected at a limit", status.failed, status.cancelled, status.refused),
        format!(
            "workers: {} of {} busy, {} MiB; {}; {} died; {} shaders are poison ({} requests refused for it)",
            status.busy,
            status.workers,
            status.worker_memory >> 20,
            status.sandbox,
            status.worker_deaths,
            status.poisoned,
            status.poison_hits
        ),
        format!("pipelines compiled whole: {} are better, {} are not", status.optimized, status.kept_linked),
        format!("{:36}{}", "processor time of compiles, ms", percentiles(&status.compile)),
        format!("{:36}{:>27}  {:>27}", "", "from request to answer, ms", "in the queue, ms"),
        format!("class      queued  running  answered{0}  {0}", "      p50      p95      p99"),
    ];
    for of in &status.classes {
        let (answer, queue) = (percentiles(&of.answer), percentiles(&of.queue));
        let answered = of.answer.count;
        lines.push(format!("{:<9} {:>7} {:>8} {answered:>9}{answer}  {queue}", of.class, of.queued, of.running));
    }
    lines.extend(status.paused_because.iter().map(|why| format!("background work is held back: {why}")));
    lines.extend(
        status
            .not_kept_because
            .iter()
            .map(|why| format!("nothing is stored ({} results were not): {why}", status.unkept)),
    );
    lines.extend(status.not_read_because.iter().map(|why| format!("the cache is not read: {why}")));
    lines.extend(status.draining.then(|| "it is shutting down".to_owned()));
    lines.join("\n") + "\n"
}

/// Median, 95th and 99th percentile, in milliseconds.
fn percentiles(times: &Times) -> String {
    [times.p50_us, times.p95_us, times.p99_us].map(|us| format!(" {:>8.1}", us as f64 / 1e3)).concat()
}

/// A pipeline in the output of `why`.
#[derive(serde::Serialize)]
struct Why {
    key: String,
    stages: Vec<String>,
    uses: u64,
    verdict: String,
    compiler: Option<String>,
}

fn why(pipeline: Option<&str>, cache: &Path, json: bool) -> Result<ExitCode> {
    let current = recorded_compiler(&open_cache(cache, StoreKind::Lmdb)?)?;
    let mut found = Vec::new();
    for (_, bytes) in Records::read(&journal_dir(cache)).all() {
        let Some(row) = Row::parse(&bytes) else { continue };
        let Some(compiler) = row.decided.as_ref().map(|decided| &decided.compiler).or(current.as_ref()) else {
            continue;
        };
        let key = row.pipeline_key(compiler)?.to_string();
        if !pipeline.is_none_or(|begins| key.starts_with(begins)) {
            continue;
        }
        let old = row.decided.is_some() && row.decided.as_ref().map(|decided| &decided.compiler) != current.as_ref();
        let verdict = match row.decided.as_ref().map(|decided| &decided.verdict) {
            None => "not compiled whole yet".to_owned(),
            Some(Ok(Verdict::Take(why))) => format!("compiled whole, which is better: {why}"),
            Some(Ok(Verdict::Keep(why))) => format!("the linked pipeline is as good: {why}"),
            Some(Err(error)) => format!("cannot be compiled whole: {error}"),
        };
        let verdict =
            if old { format!("{verdict} (by an older compiler: done again when it is used)") } else { verdict };
        let compiler = row.decided.as_ref().map(|decided| decided.compiler.backend.clone());
        let stages = row.stages.iter().map(poison::describe).collect();
        found.push(Why { key, stages, uses: row.uses, verdict, compiler });
    }
    found.sort_by_key(|why| (std::cmp::Reverse(why.uses), why.key.clone()));
    if json {
        print_json(&found)?;
    } else {
        for Why { key, stages, uses, verdict, compiler } in &found {
            let compiler = compiler.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            println!("{key}  {uses} draws\n  {verdict}{compiler}");
            stages.iter().for_each(|stage| println!("  {stage}"));
        }
    }
    if found.is_empty() {
        let which = pipeline.map_or("No pipeline is".to_owned(), |begins| format!("No pipeline with key {begins}… is"));
        eprintln!("{which} recorded in {}: a service records the pipelines that its clients link.", cache.display());
    }
    Ok(ExitCode::from(u8::from(found.is_empty() && pipeline.is_some())))
}

fn list_poison(dir: &Path, json: bool) -> Result<ExitCode> {
    let listed = poison::records(dir);
    let listed: Vec<_> = poison::list(&listed).collect();
    if json {
        let by_key: Vec<_> = listed.iter().map(|(key, sentence)| (key.to_string(), sentence)).collect();
        print_json(&by_key)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (key, sentence) in listed {
        println!("{key}\n  {}, {}", sentence.shader, sentence.compiler.backend);
        println!("  {} ({} workers): {}", sentence.death, sentence.tries, sentence.last_words);
    }
    Ok(ExitCode::SUCCESS)
}

fn clear_poison(dir: &Path, keys: &[String], all: bool, json: bool) -> Result<ExitCode> {
    let mut listed = poison::records(dir);
    let named: Result<Vec<_>> = keys
        .iter()
        .map(|text| records::parse_key(text).ok_or_else(|| Error::malformed(format!("`{text}` is not a key"))))
        .collect();
    let named = if all { poison::list(&listed).map(|(key, _)| key).collect() } else { named? };
    let cleared = named.iter().filter(|key| listed.remove(key)).count();
    if json {
        print_json(&serde_json::json!({ "cleared": cleared, "not_listed": named.len() - cleared }))?;
    } else {
        println!("{cleared} cleared");
    }
    Ok(ExitCode::from(u8::from(cleared < named.len())))
}

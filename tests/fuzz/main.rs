//! Fuzzer: feeds broken input to all parsers of foreign data, and random shaders to the native code generator
//! (`native`). `./dev fuzz` runs it.
//!
//! Input `n` of a target is a function of its seeds, the run number and `n`, so when a child process dies the parent
//! knows which input killed it. A finding is a panic, an error that calls itself an internal bug, more than 2 s of CPU
//! time, more than 512 MiB, or the end of the process. It is written to `target/fuzz-findings/TARGET`. Once fixed, it
//! moves to `testdata/fuzz/TARGET`, which `tests/ir/fuzz_findings.rs` runs with all other tests.
//!
//! ```text
//! main ── for each target ──> child process (limited address space) ──> for each n: make, run, judge
//!   └ when it dies: record the input in `progress`, continue after it      └ a second thread detects hangs
//! ```

mod export;
#[path = "../support/link_support.rs"]
mod link_support;
mod mutate;
mod native;
mod random;
mod reconvergence;
mod recording;
mod seeds;
mod service;
#[path = "../support/shapes.rs"]
mod shapes;
mod spirv;
mod store;
mod targets;

use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Limit of CPU time per input.
const HANG: Duration = Duration::from_secs(2);
/// Limit of memory per input, in bytes.
const MEMORY: u64 = 512 << 20;
/// Findings after which a target stops until they are fixed.
const MOST_FINDINGS: usize = 50;

const USAGE: &str = "usage: fuzz [TARGET…] [--minutes N | --runs N] [--run NUMBER] [--from N] [--input FILE]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&args) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("fuzz: {what}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(name) = &options.child {
        return child(find(name).expect("the parent names targets that there are"), &options);
    }
    let mut findings = 0;
    if let Some(file) = &options.input {
        let input = fs::read(file).expect("an input");
        for target in options.targets() {
            println!("{}: {}", target.name, target.answer(&input));
            if target.judge(&input).is_err() {
                findings += 1;
                fs::write(file.with_extension("smaller"), target.smaller(&input)).expect("a smaller input");
            }
        }
        return ExitCode::from(u8::from(findings > 0));
    }
    for target in options.targets() {
        findings += parent(target, &options);
    }
    ExitCode::from(u8::from(findings > 0))
}

struct Options {
    targets: Vec<String>,
    time: Duration,
    runs: u64,
    run: u64,
    from: u64,
    /// Runs only this file, in this process.
    input: Option<PathBuf>,
    child: Option<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut out = Self {
            targets: Vec::new(),
            time: Duration::from_secs(60),
            runs: u64::MAX,
            run: 1,
            from: 0,
            input: None,
            child: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
            let number = |text: &String| text.parse::<f64>().map_err(|_| format!("{arg} {text}: not a number"));
            match arg.as_str() {
                "--minutes" => out.time = Duration::from_secs_f64(number(value()?)?.clamp(0.0, 1e6) * 60.0),
                "--runs" => {
                    out.runs = number(value()?)? as u64;
                    out.time = Duration::from_secs(1 << 30);
                }
                "--run" => out.run = number(value()?)? as u64,
                "--from" => out.from = number(value()?)? as u64,
                "--input" => out.input = Some(value()?.into()),
                "--child" => out.child = Some(value()?.clone()),
                name if find(name).is_some() => out.targets.push(name.to_owned()),
                other => {
                    let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
                    return Err(format!("{other}: not one of {}", names.join(", ")));
                }
            }
        }
        Ok(out)
    }

    fn targets(&self) -> impl Iterator<Item = &'static Target> {
        TARGETS.iter().filter(|t| self.targets.is_empty() || self.targets.iter().any(|n| n == t.name))
    }
}

fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// `target/fuzz`, in the target directory of this program.
fn folder(target: &Target) -> PathBuf {
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    built.join("fuzz-findings").join(target.name)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs child processes until the time is up; returns the number of findings.
fn parent(target: &Target, options: &Options) -> usize {
    let folder = folder(target);
    fs::create_dir_all(&folder).expect("a folder for findings");
    let (start, mut from, mut died) = (Instant::now(), options.from, 0);
    let before = files(&folder);
    let end = options.from.saturating_add(options.runs);
    while from < end && start.elapsed() < options.time && died < MOST_FINDINGS {
        let left = options.time.saturating_sub(start.elapsed()).as_secs_f64() / 60.0;
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--child", target.name, "--run", &options.run.to_string(), "--from", &from.to_string()])
            .args(["--runs", &(end - from).to_string(), "--minutes", &left.to_string()])
            .env("RUST_BACKTRACE", "0")
            .status()
            .expect("a child");
        let reached = fs::read(folder.join("progress")).unwrap_or_default();
        let reached = reached.first_chunk::<8>().map_or(from, |b| u64::from_le_bytes(*b));
        if status.success() {
            from = reached;
            break;
        }
        let how = match (status.signal(), status.code()) {
            (Some(signal), _) => format!("signal-{signal}"),
            (_, Some(code)) if code == i32::from(HUNG) => "hang".to_owned(),
            (_, code) => format!("exit-{}", code.unwrap_or(-1)),
        };
        keep(&folder, &how, &target.input(options.run, reached));
        died += 1;
        from = reached + 1;
    }
    let findings = files(&folder).into_iter().filter(|f| !before.contains(f)).collect::<Vec<_>>();
    std::panic::set_hook(Box::new(|_| {}));
    for finding in findings.iter().filter(|f| f.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"wrong")))
    {
        let smaller = target.smaller(&fs::read(finding).expect("a finding"));
        fs::write(finding, smaller).expect("a finding");
    }
    let (runs, seconds) = (from - options.from, start.elapsed().as_secs_f64());
    println!(
        "{:<8} {runs:>10} inputs in {seconds:.0} s ({:.0} a second)",
        target.name,
        runs as f64 / seconds.max(1e-3)
    );
    findings.iter().for_each(|f| println!("    {}", f.display()));
    findings.len()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of findings").map(|e| e.expect("its entry").path());
    let mut files: Vec<_> = entries.filter(|path| !path.ends_with("progress")).collect();
    files.sort();
    files
}

/// Writes a finding, named by its failure and its bytes.
fn keep(folder: &Path, how: &str, input: &[u8]) {
    let name = format!("{how}-{}", &blake3::hash(input).to_hex()[..12]);
    let mut file = fs::File::create(folder.join(name)).expect("a file for the finding");
    file.write_all(input).expect("the finding");
}

const HUNG: u8 = 9;

fn child(target: &'static Target, options: &Options) -> ExitCode {
    // Suppresses messages of caught panics; running the finding alone prints them again.
    std::panic::set_hook(Box::new(|_| {}));
    // The stack is as small as the smallest of a thread that runs this code in the product.
    let (run, from, runs, time) = (options.run, options.from, options.runs, options.time);
    let work = move || inputs(target, run, from..from.saturating_add(runs), time);
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread");
    thread.join().expect("findings are caught");
    ExitCode::SUCCESS
}

fn inputs(target: &'static Target, run: u64, numbers: std::ops::Range<u64>, time: Duration) {
    let folder = folder(target);
    let progress = fs::File::create(folder.join("progress")).expect("a file for the progress");
    // Make the seeds before memory is limited, so that they do not count.
    target.seeds();
    let held = fs::read_to_string("/proc/self/statm").expect("this process's size");
    let held: u64 = held.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let most = Some(held * 4096 + MEMORY);
    setrlimit(Resource::As, Rlimit { current: most, maximum: most }).expect("a limit on memory");
    let none = Some(0);
    setrlimit(Resource::Core, Rlimit { current: none, maximum: none }).expect("no core files");
    static NOW: AtomicU64 = AtomicU64::new(u64::MAX);
    watch(&NOW);
    let start = Instant::now();
    let mut told = std::collections::BTreeSet::new();
    for n in numbers.clone() {
        NOW.store(n, Ordering::Relaxed);
        progress.write_all_at(&n.to_le_bytes(), 0).expect("the progress");
        let input = target.input(run, n);
        let began = thread_time();
        let judged = target.judge(&input);
        let took = thread_time() - began;
        if took > HANG {
            keep(&folder, "slow", &input);
        }
        if let Err(what) = judged {
            // Keep the first finding of each kind; messages that differ only in numbers are the same kind.
            let kind: String = what.chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
            if told.len() < MOST_FINDINGS && told.insert(kind) {
                println!("{}: input {n}: {what}", target.name);
                keep(&folder, "wrong", &input);
            }
        }
        if n % 64 == 0 && start.elapsed() > time {
            progress.write_all_at(&(n + 1).to_le_bytes(), 0).expect("the progress");
            return;
        }
    }
    progress.write_all_at(&numbers.end.to_le_bytes(), 0).expect("the progress");
}

fn thread_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Ends the process if one input has used twice the hang limit. It measures CPU time, because the machine may be busy.
fn watch(now: &'static AtomicU64) {
    let spent = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    std::thread::spawn(move || {
        let (mut last, mut since) = (u64::MAX, spent());
        loop {
            std::thread::sleep(Duration::from_millis(250));
            let n = now.load(Ordering::Relaxed);
            if n != last {
                (last, since) = (n, spent());
            } else if spent() - since > 2 * HANG {
                std::process::exit(i32::from(HUNG));
            }
        }
    });
}

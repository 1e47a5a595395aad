//! The corpus on the emulator: every compute shader and every pair of the extracted corpora, on inputs made from
//! reflection, compared with lavapipe. `./dev proof` runs it; it is not part of `cargo test`, because it takes most of
//! an hour.
//!
//! The parent sends items to workers, processes of this program, one line each way; a worker that crashes or hangs
//! costs only its item. Every item gets a [`Report`]; `table` counts them, and the exit code says whether the required
//! shares are reached.

mod executed;
mod items;
mod table;
#[path = "../support/vulkan.rs"]
mod vulkan;
mod worker;

use dovetail::proof::{Fate, Report};
use dovetail_testing as support;
use items::Item;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use worker::Made;

/// Arguments of the program.
#[derive(Debug)]
struct Args {
    corpus: PathBuf,
    sample: Option<usize>,
    case: String,
    made: Made,
    source: String,
    jobs: usize,
    deadline: Duration,
    json: Option<PathBuf>,
    write: bool,
    from: Vec<PathBuf>,
    against: Option<PathBuf>,
}

const USAGE: &str =
    "proof [--corpus DIR] [--sample N] [--case SUBSTRING] [--source NAME] [--jobs N] [--deadline SECONDS] [--json FILE]
      [--backend llvm|native] [--target GPU] [--from FILE]... [--against FILE] [--write]
  --corpus DIR  folders that `corpus extract` wrote, instead of those below corpus/
  --sample N    about so many items, spread evenly over sources and kinds
  --target GPU  the GPU whose code is executed, gfx1030 by default
  --backend B   the code generator, native or llvm; what the native one does not support goes to LLVM
  --json FILE   one line an item: what became of it
  --from FILE   takes the lines of an earlier --json as they are and runs what they do not have
  --against FILE  compares the executed instructions with those of an earlier --json, as of the other generator
  --write       rewrites the tables of docs/proof.md";

/// An item and its result: a line of `--json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    item: Item,
    report: Report,
}

fn args() -> Result<Args, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out = Args {
        corpus: support::root().join("corpus"),
        sample: None,
        case: String::new(),
        made: Made::default(),
        source: String::new(),
        jobs: cores,
        deadline: Duration::from_secs(180),
        json: None,
        write: false,
        from: Vec::new(),
        against: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|_| format!("`{text}` is no number"));
        match word.as_str() {
            "--corpus" => out.corpus = value()?.into(),
            "--sample" => out.sample = Some(number(value()?)?),
            "--case" => out.case = value()?,
            "--target" => out.made.target = value()?.parse().map_err(|e: dovetail::error::Error| e.to_string())?,
            "--backend" => out.made.backend = value()?.parse().map_err(|e: dovetail::error::Error| e.to_string())?,
            "--source" => out.source = value()?,
            "--jobs" => out.jobs = number(value()?)?.max(1),
            "--deadline" => out.deadline = Duration::from_secs(number(value()?)? as u64),
            "--json" => out.json = Some(value()?.into()),
            "--from" => out.from.push(value()?.into()),
            "--against" => out.against = Some(value()?.into()),
            "--write" => out.write = true,
            other => return Err(format!("`{other}` is no option\n{USAGE}")),
        }
    }
    Ok(out)
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(worker::FLAG) {
        return worker::serve();
    }
    match args().and_then(|args| run(&args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("proof: {e}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let mut items = items::all(&args.corpus).map_err(|e| e.to_string())?;
    items.retain(|i| i.name.contains(&args.case) && i.source.contains(&args.source));
    if let Some(n) = args.sample {
        items = items::sample(items, n);
    }
    if items.is_empty() {
        return Err("nothing to run: `./dev corpus --small` fetches the corpus".into());
    }
    let mut done: Vec<Line> = Vec::new();
    for path in &args.from {
        for line in read(path)? {
            // Later files and later lines override earlier ones.
            done.retain(|l| l.item.key() != line.item.key());
            if items.iter().any(|i| i.key() == line.item.key()) {
                done.push(line);
            }
        }
    }
    items.retain(|i| !done.iter().any(|l| l.item.key() == i.key()));
    let json = args.json.as_ref().map(File::create).transpose().map_err(|e| format!("--json: {e}"))?;
    let mut lines = judged(args, items, json);
    lines.extend(done);
    lines.sort_by_key(|line| line.item.key());
    let summary = table::Summary::new(&lines, &support::root().join("testdata/proof/known.toml"))?;
    eprintln!("{}", summary.text());
    let earlier = args.against.as_deref().map_or(Ok(Vec::new()), read)?;
    eprintln!("{}", executed::text(&lines, &earlier));
    slowest(&lines);
    if args.write {
        summary.write(&support::root().join("docs/proof.md"))?;
    }
    Ok(summary.is_met())
}

/// Lines of an earlier `--json` file.
fn read(path: &Path) -> Result<Vec<Line>, String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| named(&e))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|e| named(&e))).collect()
}

/// Runs all items on workers.
fn judged(args: &Args, items: Vec<Item>, json: Option<File>) -> Vec<Line> {
    let total = items.len();
    let start = Instant::now();
    let queue = Mutex::new(VecDeque::from(items));
    let done = Mutex::new((Vec::with_capacity(total), json));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                let mut worker = None;
                loop {
                    let next = queue.lock().expect("the queue").pop_front();
                    let Some(item) = next else { return };
                    let began = Instant::now();
                    let mut report = worker::ask(&mut worker, &item, args.made, args.deadline);
                    report.milliseconds = began.elapsed().as_millis() as u64;
                    let line = Line { item, report };
                    let mut done = done.lock().expect("what is done");
                    let (lines, json) = &mut *done;
                    if let Some(file) = json {
                        let text = serde_json::to_string(&line).expect("a line");
                        writeln!(file, "{text}").expect("the lines can be written");
                    }
                    lines.push(line);
                    tell(&lines[lines.len() - 1], lines.len(), total, start);
                }
            });
        }
    });
    done.into_inner().expect("what is done").0
}

fn tell(Line { item, report }: &Line, count: usize, total: usize, start: Instant) {
    let passed = start.elapsed().as_secs_f64();
    let left = passed / count as f64 * (total - count) as f64;
    let reason: String = report.reason.chars().take(if report.fate == Fate::Differs { 600 } else { 160 }).collect();
    eprintln!(
        "[{count}/{total}, {:.0} min left] {}/{}: {}{}{reason} ({:.1} s)",
        left / 60.0,
        item.source,
        item.name,
        report.fate,
        if reason.is_empty() { "" } else { ": " },
        report.milliseconds as f64 / 1e3
    );
}

fn slowest(lines: &[Line]) {
    let mut all: Vec<&Line> = lines.iter().collect();
    all.sort_by_key(|l| std::cmp::Reverse(l.report.milliseconds));
    let sum: u64 = all.iter().map(|l| l.report.milliseconds).sum();
    let spent = [0, 1, 2, 3].map(|n| all.iter().map(|l| l.report.spent[n]).sum::<u64>() / 1000);
    eprintln!(
        "{:.0} s of work (compiler, emulator, interpreter, driver: {}); the slowest:",
        sum as f64 / 1e3,
        spent.map(|s| s.to_string()).join(" ")
    );
    for Line { item, report } in all.iter().take(8) {
        let spent = report.spent.map(|ms| format!("{:.1}", ms as f64 / 1e3)).join(" ");
        let total = report.milliseconds as f64 / 1e3;
        eprintln!("  {total:>6.1} s ({spent})  {}/{} ({})", item.source, item.name, report.fate);
    }
}

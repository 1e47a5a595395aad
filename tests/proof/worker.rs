//! A worker: a process that runs items, one per line, and may crash on one.

use crate::items::Item;
use crate::support;
use crate::vulkan::Lavapipe;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{GeneratorKind, Module, TuningOptions, default_wave};
use dovetail::compile::spirv::reflect;
use dovetail::corpus::spec::matches;
use dovetail::emu::inputs::Inputs;
use dovetail::proof::{
    Absent, Bundle, Case, Choice, Divergence, FLOOR, Fate, Judge, Report, RunBudget, Spirv, StageEntry, Tools, compute,
    pair,
};
use dovetail::target::{Gpu, Stage};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The first argument of a worker.
pub const FLAG: &str = "--worker";
/// Large shaders nest deeply.
const STACK: usize = 256 << 20;

/// What makes the code that is executed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Made {
    /// The GPU.
    pub target: Gpu,
    /// The code generator.
    pub backend: GeneratorKind,
}

/// A request to a worker, one line.
#[derive(Serialize, Deserialize)]
struct Question {
    item: Item,
    made: Made,
    /// The reason if the driver is not to be used.
    without_driver: Option<String>,
}

/// Reason for a missing answer.
enum Silence {
    /// The worker ended: by a signal, or by LLVM's own exit.
    Killed(String),
    Other(String),
}

/// A running worker, in its parent.
pub struct Worker {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    fn start() -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(FLAG)
            // Mesa compiles each shader for one run only, and its optimizer is quadratic in what it inlines, up to
            // minutes.
            .env("GALLIVM_PERF", "nopt")
            .env("LP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { unreachable!("pipes") };
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, stdin, answers })
    }

    /// Kills it, unless it has already exited.
    fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ask(&mut self, question: &Question, deadline: Duration) -> Result<Report, Silence> {
        let other = |why: String| Silence::Other(why);
        let line = serde_json::to_string(question).map_err(|e| other(e.to_string()))?;
        writeln!(self.stdin, "{line}").map_err(|e| other(e.to_string()))?;
        match self.answers.recv_timeout(deadline) {
            Ok(answer) => serde_json::from_str(&answer).map_err(|e| other(format!("{e}: {answer}"))),
            Err(RecvTimeoutError::Timeout) => Err(other(format!("no answer after {} s", deadline.as_secs()))),
            Err(RecvTimeoutError::Disconnected) => Err(match self.child.wait() {
                Ok(status) => Silence::Killed(status.to_string()),
                Err(e) => other(e.to_string()),
            }),
        }
    }
}

/// Asks a worker, starting one if needed. A worker that ends may have crashed in the driver, which proves nothing about
/// our code, so another one is asked to run the item without it. If that one ends too, our code crashed.
pub fn ask(worker: &mut Option<Worker>, item: &Item, made: Made, deadline: Duration) -> Report {
    let mut question = Question { item: item.clone(), made, without_driver: None };
    let why = match answer(worker, &question, deadline) {
        Ok(report) => return report,
        Err(Silence::Killed(why)) => why,
        Err(Silence::Other(why)) => return Report::new(Fate::JudgeFailed, why),
    };
    question.without_driver = Some(format!("the driver died: {why}"));
    answer(worker, &question, deadline).unwrap_or_else(|again| {
        let (Silence::Killed(again) | Silence::Other(again)) = again;
        Report::new(Fate::JudgeFailed, format!("the worker died: {why}; without the driver: {again}"))
    })
}

fn answer(worker: &mut Option<Worker>, question: &Question, deadline: Duration) -> Result<Report, Silence> {
    let started = worker.take().map_or_else(Worker::start, Ok);
    let mut running = started.map_err(|e| Silence::Other(format!("no worker: {e}")))?;
    let answer = running.ask(question, deadline);
    // A timed-out dispatch keeps running in the driver's thread.
    if answer.as_ref().is_ok_and(|report| !report.reason.contains("vkWaitForFences")) {
        *worker = Some(running);
    } else {
        running.end();
    }
    answer
}

/// Answers requests until there are no more.
pub fn serve() -> ExitCode {
    let work = || {
        let shapes = Shapes::read().expect("testdata/proof/shapes.toml");
        let vulkan = Lavapipe::get().expect("lavapipe");
        let mut answers = std::io::stdout();
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let Question { item, made, without_driver } = serde_json::from_str(&line).expect("a question");
            let absent = without_driver.map(|why| Absent { why, lanes: vulkan.subgroup_size });
            let report = judged(&item, made, &shapes, absent.as_ref().map_or(vulkan, |absent| absent));
            let answer = serde_json::to_string(&report).expect("a report");
            writeln!(answers, "{answer}").and_then(|()| answers.flush()).expect("the parent listens");
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    let ended = thread.map(std::thread::JoinHandle::join);
    if matches!(ended, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn judged(item: &Item, made: Made, shapes: &Shapes, judge: &dyn Judge) -> Report {
    let read = |path| std::fs::read(path).map_err(Into::into).and_then(Module::new);
    let modules: Result<Vec<Module>, _> = item.files.iter().map(read).collect();
    let modules = match modules {
        Ok(modules) => modules,
        Err(e) => return Report::new(Fate::NotCompiled, e.to_string()),
    };
    let entries = entries(item, &modules);
    let options = TuningOptions { generator: made.backend, ..TuningOptions::default() };
    let saved = RefCell::new(None);
    let on_difference = |difference: &Divergence<'_>| {
        saved
            .borrow_mut()
            .get_or_insert_with(|| save(item, made.target, &options, &modules, &entries, difference, judge));
    };
    let (compiler, budget) = (BuiltInCompiler::new(), RunBudget::default());
    let tools = Tools {
        compiler: &compiler,
        target: made.target,
        options: &options,
        judge,
        budget,
        on_difference: &on_difference,
    };
    let mut report = match (modules.as_slice(), entries.as_slice()) {
        ([module], [entry]) => {
            let choices = shapes.choices(&item.name);
            compute(&Case { module, entry, spec: &item.spec, choices: &choices }, &tools)
        }
        ([vertex, fragment], [of_vertex, of_fragment]) => {
            let vertex = Spirv { module: vertex.bytes(), entry: of_vertex, spec: &[] };
            let fragment = Spirv { module: fragment.bytes(), entry: of_fragment, spec: &[] };
            pair(&vertex, &fragment, &tools)
        }
        _ => Report::new(Fate::NotCompiled, "neither one module nor two"),
    };
    if let Some(text) = saved.into_inner() {
        report.reason = format!("{}; {text}", report.reason);
    }
    report
}

fn stages(item: &Item) -> &'static [Stage] {
    if item.is_pair() { &[Stage::Vertex, Stage::Fragment] } else { &[Stage::Compute] }
}

/// The entry point of each module: the first one of its stage.
fn entries(item: &Item, modules: &[Module]) -> Vec<String> {
    let first = |(stage, module): (&Stage, &Module)| {
        let points = reflect(module).map_or_else(|_| Vec::new(), |info| info.entry_points);
        points
            .into_iter()
            .find(|point| point.stage == Some(*stage))
            .map_or_else(|| "main".to_owned(), |point| point.name)
    };
    stages(item).iter().zip(modules).map(first).collect()
}

/// Saves a failure as a bundle; returns its path.
fn save(
    item: &Item,
    target: Gpu,
    options: &TuningOptions,
    modules: &[Module],
    entries: &[String],
    difference: &Divergence<'_>,
    judge: &dyn Judge,
) -> String {
    let entry = |((stage, module), entry_point): ((&Stage, &Module), &String)| {
        let subgroups = reflect(module).is_ok_and(|info| info.uses_subgroups);
        let wave = default_wave(Gpu::default(), *stage, subgroups);
        (StageEntry { stage: *stage, entry_point: entry_point.clone(), wave }, module.clone())
    };
    let stages = stages(item).iter().zip(modules).zip(entries).map(entry).collect();
    let mut bundle = Bundle::new(&item.name, difference.seed, "lavapipe", stages);
    bundle.manifest.floor = FLOOR;
    bundle.manifest.target = target;
    bundle.manifest.options = options.clone();
    (bundle.state, bundle.inputs) = (difference.state.clone(), difference.inputs.clone());
    let spec: Vec<(u32, u64, usize)> =
        difference.state.specialization.iter().map(|entry| (entry.id, entry.value, 4)).collect();
    let ask = &mut |inputs: &Inputs| {
        let named = modules.iter().zip(entries);
        let spirv: Vec<Spirv<'_>> =
            named.map(|(module, entry)| Spirv { module: module.bytes(), entry, spec: &spec }).collect();
        match spirv.as_slice() {
            [vertex, fragment] => judge.draw(vertex, Some(fragment), &difference.state.vertex, inputs),
            [one, ..] => judge.compute(one, inputs),
            [] => Err("no module".into()),
        }
    };
    bundle.report_failure(&support::root().join("target/bundles"), &BuiltInCompiler::new(), ask)
}

/// Candidate inputs by the names of shaders.
#[derive(Deserialize)]
struct Shapes {
    /// Matching shapes come before the general ones, the last first.
    shape: Vec<Shape>,
    /// Meaning of integers in buffers, for all candidates.
    data: Vec<Data>,
}

#[derive(Deserialize)]
struct Shape {
    name: String,
    choice: Vec<Choice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    name: String,
    bytes: [u8; 2],
}

impl Shapes {
    fn read() -> Result<Self, String> {
        let text = std::fs::read_to_string(support::root().join("testdata/proof/shapes.toml"));
        toml::from_str(&text.map_err(|e| e.to_string())?).map_err(|e| e.to_string())
    }

    fn choices(&self, name: &str) -> Vec<Choice> {
        let fits = |pattern: &str| matches(pattern.as_bytes(), name.as_bytes());
        let fitting = self.shape.iter().rev().filter(|shape| fits(&shape.name));
        let mut choices: Vec<Choice> = fitting.flat_map(|shape| shape.choice.iter().cloned()).collect();
        for data in self.data.iter().filter(|data| fits(&data.name)) {
            choices.iter_mut().for_each(|choice| choice.bytes = data.bytes);
        }
        choices
    }
}

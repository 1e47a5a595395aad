//! A worker: a process that judges items, one a line, and may die of one.

use crate::items::Item;
use crate::support;
use crate::vulkan::Lavapipe;
use dovetail::compile::llvm::LlvmCompiler;
use dovetail::compile::request::Module;
use dovetail::corpus::spec::matches;
use dovetail::proof::{Budget, Case, Choice, Difference, Fate, Report, Spirv, Tools, compute, pair};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The first argument of a worker.
pub const FLAG: &str = "--worker";
/// Big shaders nest deep.
const STACK: usize = 256 << 20;

/// A running worker, as its parent has it.
pub struct Worker {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    fn start() -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(FLAG)
            // Mesa compiles every shader for one run; its optimizer is quadratic in what it inlines, and takes minutes for some.
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

    /// Kills it, unless it is dead already.
    fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ask(&mut self, item: &Item, deadline: Duration) -> Result<Report, String> {
        let question = serde_json::to_string(item).map_err(|e| e.to_string())?;
        writeln!(self.stdin, "{question}").map_err(|e| e.to_string())?;
        match self.answers.recv_timeout(deadline) {
            Ok(answer) => serde_json::from_str(&answer).map_err(|e| format!("{e}: {answer}")),
            Err(RecvTimeoutError::Timeout) => Err(format!("no answer after {} s", deadline.as_secs())),
            Err(RecvTimeoutError::Disconnected) => match self.child.wait() {
                Ok(status) => Err(format!("the worker died: {status}")),
                Err(e) => Err(e.to_string()),
            },
        }
    }
}

/// Asks a worker, and starts one if there is none.
pub fn ask(worker: &mut Option<Worker>, item: &Item, deadline: Duration) -> Report {
    let mut running = match worker.take().map_or_else(Worker::start, Ok) {
        Ok(running) => running,
        Err(e) => return Report::new(Fate::JudgeFailed, format!("no worker: {e}")),
    };
    match running.ask(item, deadline) {
        // What was given up on runs on in the driver's thread.
        Ok(report) if !report.reason.contains("vkWaitForFences") => {
            *worker = Some(running);
            report
        }
        Ok(report) => {
            running.end();
            report
        }
        Err(why) => {
            running.end();
            Report::new(Fate::JudgeFailed, why)
        }
    }
}

/// Answers until there are no more questions.
pub fn serve() -> ExitCode {
    let work = || {
        let shapes = Shapes::read().expect("testdata/proof/shapes.toml");
        let vulkan = Lavapipe::get().expect("lavapipe");
        let mut answers = std::io::stdout();
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let item: Item = serde_json::from_str(&line).expect("an item");
            let report = judge(&item, &shapes, vulkan);
            let answer = serde_json::to_string(&report).expect("a report");
            writeln!(answers, "{answer}").and_then(|()| answers.flush()).expect("the parent listens");
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    let ended = thread.map(std::thread::JoinHandle::join);
    if matches!(ended, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn judge(item: &Item, shapes: &Shapes, vulkan: &Lavapipe) -> Report {
    let read = |path| std::fs::read(path).map_err(Into::into).and_then(Module::new);
    let modules: Result<Vec<Module>, _> = item.files.iter().map(read).collect();
    let modules = match modules {
        Ok(modules) => modules,
        Err(e) => return Report::new(Fate::NotCompiled, e.to_string()),
    };
    let tools = Tools {
        compiler: &LlvmCompiler::new(),
        judge: vulkan,
        budget: Budget::default(),
        on_difference: &|_: &Difference<'_>| (),
    };
    match modules.as_slice() {
        [module] => {
            let choices = shapes.choices(&item.name);
            compute(&Case { module, entry: "main", spec: &item.spec, choices: &choices }, &tools)
        }
        [vertex, fragment] => {
            let [vertex, fragment] = [vertex, fragment].map(|m| Spirv { module: m.bytes(), entry: "main", spec: &[] });
            pair(&vertex, &fragment, &tools)
        }
        _ => Report::new(Fate::NotCompiled, "neither one module nor two"),
    }
}

/// Candidates of inputs by the names of shaders.
#[derive(Deserialize)]
struct Shapes {
    /// Those that match come before the general ones, the last first.
    shape: Vec<Shape>,
    /// What integers in buffers are, for all candidates.
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

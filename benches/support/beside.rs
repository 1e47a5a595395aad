//! RADV's fast links of the same pairs, as pipeline libraries.

use crate::support::Input;
use crate::support::radv::{ENDED, Keeps, Radv, layout};
use dovetail::state::{PipelineState, VertexRate};
use dovetail::target::Gpu;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Sweeps over all pairs; the first one links each for the first time.
pub const SWEEPS: usize = 4;
/// Pairs that one program links before the other one does: few, so that a change of the machine's speed meets both, and enough
/// that a program's first links, with cold caches, are a small part.
pub const TURN: usize = 100;
/// The most pairs that RADV is asked for: it compiles both shaders of each pair twice in each process.
pub const MOST: usize = 1000;
/// Between two lines that say how far it is.
const EVERY: Duration = Duration::from_secs(5);

/// RADV, with libraries of pairs.
pub struct Beside {
    radv: Radv,
    kept: Vec<(usize, Value)>,
}

/// Modules of pairs on disk, for another process to read.
pub struct Files {
    dir: tempfile::TempDir,
    written: usize,
}

impl Files {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder"), written: 0 }
    }

    /// The request for a pair; `None` if its layout cannot be expressed.
    pub fn request(&mut self, stages: [&Input; 2], state: &PipelineState) -> Option<Value> {
        let [vertex, fragment] = stages.map(|input| code(input, &self.write(input)));
        let instance = |rate| rate == VertexRate::Instance;
        let bindings: Vec<Value> =
            state.vertex.bindings.iter().map(|b| json!([b.binding, b.stride, instance(b.rate)])).collect();
        let attributes: Vec<Value> =
            state.vertex.attributes.iter().map(|a| json!([a.location, a.binding, a.format.0, a.offset])).collect();
        let count = state.color.attachments.iter().map(|a| a.location + 1).max().unwrap_or(0);
        let mut colors = vec![0; count as usize];
        state.color.attachments.iter().for_each(|a| colors[a.location as usize] = a.format.0);
        Some(json!({ "Pair": {
            "vertex": vertex, "fragment": fragment, "layout": layout(&state.layout).ok()?, "bindings": bindings,
            "attributes": attributes, "colors": colors,
        } }))
    }

    fn write(&mut self, input: &Input) -> PathBuf {
        self.written += 1;
        let path = self.dir.path().join(format!("{}.spv", self.written));
        std::fs::write(&path, input.module.bytes()).expect("a file");
        path
    }
}

fn code(input: &Input, path: &Path) -> Value {
    json!({ "spirv": path, "entry": input.request.entry_point, "specialization": input.sized_values() })
}

impl Beside {
    /// Starts RADV and makes the libraries of the pairs, each with its number. `None` if RADV is not available.
    pub fn start(keeps: Keeps, requests: &[(usize, Value)]) -> Option<Self> {
        let mut out = Self { radv: Radv::start(keeps, Gpu::default())?, kept: Vec::new() };
        let started = Instant::now();
        let mut next = EVERY;
        for (done, request) in requests.iter().enumerate() {
            match out.radv.ask(&request.1) {
                Ok(_) => out.kept.push(request.clone()),
                // The process crashed and lost its libraries.
                Err(e) if e == ENDED => {
                    let again = out.kept.iter().try_for_each(|(_, kept)| out.radv.ask(kept).map(drop));
                    again.expect("what RADV has taken once");
                }
                Err(_) => {}
            }
            if started.elapsed() > next {
                let (done, all) = (done + 1, requests.len());
                let left = started.elapsed().as_secs_f64() / done as f64 * (all - done) as f64;
                eprintln!("RADV's libraries: {done} of {all} pairs, about {left:.0} s left");
                next = started.elapsed() + EVERY;
            }
        }
        Some(out)
    }

    /// The pairs that RADV accepts.
    pub fn kept(&self) -> &[(usize, Value)] {
        &self.kept
    }

    /// The driver's name and version.
    pub fn driver(&self) -> &str {
        &self.radv.driver
    }

    /// One link of each of these pairs.
    pub fn links(&mut self, pairs: Range<usize>) -> Vec<u64> {
        self.times(&json!({ "Links": pairs }))
    }

    /// Makes the libraries of these pairs from a pipeline cache and links them.
    pub fn cached_links(&mut self, pairs: Range<usize>) -> Vec<u64> {
        self.times(&json!({ "CachedLinks": pairs }))
    }

    fn times(&mut self, request: &Value) -> Vec<u64> {
        let mut answer = self.radv.ask(request).expect("links of what was linked before");
        serde_json::from_value(answer["Times"].take()).expect("times")
    }
}

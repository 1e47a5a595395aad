//! Shared by the benchmarks: their shaders, and this thread's CPU time.
//!
//! Shaders are those of `testdata/shaders`, of `corpus/` if it has been fetched, and of the list in
//! `DOVETAIL_BENCH_LIST`: lines of tab-separated fields, a name and one (compute) or two (vertex, fragment) SPIR-V
//! files.

#![allow(dead_code, reason = "each benchmark uses its part")]

pub mod beside;
pub mod radv;
pub mod times;

use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::spirv;
use dovetail::corpus::spec::SpecFile;
use dovetail::ir::Shader;
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{Gpu, Stage};
use dovetail::template;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// One stage, ready to be compiled.
pub struct Input {
    pub name: String,
    pub module: Module,
    pub request: StageRequest,
}

impl Input {
    /// A stage of a module, with its values from `spec.toml`.
    pub fn new(name: &str, bytes: Vec<u8>, stage: Stage, spec: &SpecFile) -> Option<Self> {
        let module = Module::new(bytes).ok()?;
        let info = spirv::reflect(&module).ok()?;
        if info.cooperative_matrix {
            return None;
        }
        let entry_point = info.entry_points.iter().find(|e| e.stage == Some(stage))?.name.clone();
        let values: Vec<(u32, u64)> = spec.values(name).into_iter().map(|(id, v)| (id, v.into())).collect();
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage,
            module: module.digest(),
            entry_point,
            specialization: info.specialization(&values),
            wave: default_wave(Gpu::default(), stage, info.uses_subgroups),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        Some(Self { name: name.to_owned(), module, request })
    }

    fn read(path: &Path, stage: Stage, spec: &SpecFile) -> Option<Self> {
        Self::new(&path.file_stem()?.to_string_lossy(), std::fs::read(path).ok()?, stage, spec)
    }

    /// The specialization values with their sizes in bytes.
    pub fn sized_values(&self) -> Vec<(u32, u64, u8)> {
        let constants = spirv::reflect(&self.module).expect("it has been read before").spec_constants;
        let bytes = |id: u32| {
            let constant = constants.iter().find(|constant| constant.id == id);
            constant.map_or(4, |constant| if constant.bits == 1 { 4 } else { constant.bits.div_ceil(8) as u8 })
        };
        self.request.specialization.iter().map(|&(id, value)| (id, value, bytes(id))).collect()
    }

    /// The upper-level IR.
    pub fn translate(&self) -> dovetail::error::Result<Shader> {
        let r = &self.request;
        spirv::translate(&self.module, &r.entry_point, r.stage, &r.specialization)
    }
}

/// The template state for a pipeline of these stages.
pub fn state(inputs: &[&Input]) -> Option<PipelineState> {
    let shaders: Option<Vec<Shader>> = inputs.iter().map(|i| i.translate().ok()).collect();
    let mut state = template::state(&shaders?).ok()?;
    for input in inputs {
        let stage = Some(input.request.stage);
        let entries = input.request.specialization.iter().map(|&(id, value)| SpecializationEntry { stage, id, value });
        state.specialization.extend(entries);
    }
    Some(state)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shaders of `testdata/shaders`, compiled by glslangValidator. Empty, with a message, if that is missing.
pub fn testdata() -> Vec<Input> {
    let folder = root().join("testdata/shaders");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("testdata").map(|e| e.expect("testdata").path()).collect();
    files.sort();
    let mut inputs = Vec::new();
    for file in files {
        let stage = match file.extension().and_then(|e| e.to_str()) {
            Some("vert") => Stage::Vertex,
            Some("frag") => Stage::Fragment,
            Some("comp") => Stage::Compute,
            _ => continue,
        };
        let Some(bytes) = glsl(&file) else { return Vec::new() };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        inputs.extend(Input::new(&name, bytes, stage, &SpecFile::default()));
    }
    inputs
}

/// Compiles a shader with glslangValidator. `None`, with a message, if that is missing.
pub fn glsl(file: &Path) -> Option<Vec<u8>> {
    let out = tempfile::tempdir().expect("a temporary folder");
    let spv = out.path().join("out.spv");
    let ran = Command::new("glslangValidator")
        .args(["-V", "--target-env", "vulkan1.3", "--quiet", "-o"])
        .args([spv.as_path(), file])
        .stdout(Stdio::null())
        .status();
    match ran {
        Ok(status) => assert!(status.success(), "glslangValidator refuses {}", file.display()),
        Err(e) => {
            eprintln!("NO TESTDATA: glslangValidator cannot be run ({e}); Debian has it in glslang-tools");
            return None;
        }
    }
    Some(std::fs::read(&spv).expect("glslangValidator wrote it"))
}

fn corpus_folders() -> Vec<(PathBuf, SpecFile)> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root().join("corpus")).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
    folders.retain(|f| f.is_dir() && !f.ends_with(".archives"));
    folders.sort();
    let spec = |f: &PathBuf| {
        let text = std::fs::read_to_string(f.join("spec.toml")).unwrap_or_default();
        SpecFile::parse(&text).expect("a spec.toml that `corpus extract` wrote")
    };
    folders.into_iter().map(|f| (f.clone(), spec(&f))).collect()
}

/// Every `step`-th module of `corpus/`, ordered by path.
pub fn corpus(step: usize) -> Vec<Input> {
    let folders = corpus_folders();
    let files = folders.iter().flat_map(|(folder, spec)| {
        let files = dovetail::corpus::input::files(folder).unwrap_or_default();
        files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "spv")).map(move |f| (f, spec))
    });
    let sample = files.step_by(step);
    let stages = [Stage::Vertex, Stage::Fragment, Stage::Compute];
    sample.filter_map(|(file, spec)| stages.iter().find_map(|stage| Input::read(&file, *stage, spec))).collect()
}

/// Names of the sets of `corpus/`.
pub fn corpus_sets() -> Vec<String> {
    let name = |(folder, _): (PathBuf, SpecFile)| Some(folder.file_name()?.to_str()?.to_owned());
    corpus_folders().into_iter().filter_map(name).collect()
}

/// At most `most` modules of a set, evenly spread in path order.
pub fn corpus_set(set: &str, most: usize) -> Vec<Input> {
    let folders = corpus_folders();
    let Some((folder, spec)) = folders.iter().find(|(folder, _)| folder.ends_with(set)) else { return Vec::new() };
    let mut files = dovetail::corpus::input::files(folder).unwrap_or_default();
    files.retain(|f| f.extension().is_some_and(|e| e == "spv"));
    let step = files.len().div_ceil(most.max(1)).max(1);
    let stages = [Stage::Vertex, Stage::Fragment, Stage::Compute];
    let read = |file: &PathBuf| stages.iter().find_map(|stage| Input::read(file, *stage, spec));
    files.iter().step_by(step).filter_map(read).collect()
}

/// Every `step`-th pair of `corpus/`.
pub fn corpus_pairs(step: usize) -> Vec<(Input, Input)> {
    let mut pairs = Vec::new();
    for (folder, spec) in corpus_folders() {
        let text = std::fs::read_to_string(folder.join("pairs.tsv")).unwrap_or_default();
        for line in text.lines().skip(1).step_by(step) {
            if let [_, vs, fs] = line.split('\t').collect::<Vec<_>>()[..] {
                let vertex = Input::read(&folder.join(vs), Stage::Vertex, &spec);
                pairs.extend(vertex.zip(Input::read(&folder.join(fs), Stage::Fragment, &spec)));
            }
        }
    }
    pairs
}

/// A pipeline of the list in `DOVETAIL_BENCH_LIST`.
pub struct Listed {
    pub name: String,
    pub stages: Vec<Input>,
}

/// The list in `DOVETAIL_BENCH_LIST`, if there is one.
pub fn listed() -> Option<Vec<Listed>> {
    let list = std::env::var_os("DOVETAIL_BENCH_LIST")?;
    let text = std::fs::read_to_string(&list).expect("the file of DOVETAIL_BENCH_LIST");
    let spec = SpecFile::default();
    let pipeline = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, files) = fields.split_first()?;
        let wanted: &[Stage] = if files.len() == 1 { &[Stage::Compute] } else { &[Stage::Vertex, Stage::Fragment] };
        let stages: Option<Vec<Input>> =
            files.iter().zip(wanted).map(|(file, stage)| Input::read(Path::new(file), *stage, &spec)).collect();
        Some(Listed { name: (*name).to_owned(), stages: stages? })
    };
    Some(text.lines().filter_map(pipeline).collect())
}

/// CPU time of this thread so far, which does not depend on other processes as wall-clock time does.
pub fn cpu() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), u32::try_from(t.tv_nsec).unwrap_or(0))
}

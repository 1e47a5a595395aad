//! Measures one shader: the compilers take turns, so that other load on the machine affects all of them.

use crate::Args;
use crate::alloc::allocations;
use crate::code::{self, Code};
use crate::radv::{self, Keeps, Radv};
use crate::shaders::Shader;
use crate::support::cpu;
use dovetail::check::estimate;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{GeneratorKind, Module, StageRequest};
use dovetail::compile::unlinked::Remarks;
use dovetail::compile::{Compiler, StageElf};
use dovetail::ir::watch::{Timings, Unwatched};
use dovetail::target::Gpu;
use serde::Serialize;
use std::collections::BTreeMap;
use std::hint::black_box;

/// Runs of LLVM, which takes long enough that few suffice.
const LLVM_RUNS: usize = 3;

/// Figures of one shader with one compiler.
#[derive(Debug, Default, Serialize)]
pub struct Side {
    /// Minimum CPU time from the bytes of the module to the part, in nanoseconds.
    pub nanoseconds: Option<u64>,
    /// The code compiled with known layout.
    pub code: Option<Code>,
    /// The code of the part compiled in advance, which reads descriptors and push constants by relocations.
    pub early: Option<Code>,
    /// How often each operation occurs in `code`.
    pub operations: BTreeMap<&'static str, usize>,
    /// Reason for missing figures.
    pub error: Option<String>,
}

/// Figures of one shader.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub set: String,
    pub name: String,
    pub stage: String,
    pub native: Side,
    pub llvm: Side,
    pub radv: Side,
    /// Minimum CPU time of each native phase, in nanoseconds, in order.
    pub phases: Vec<(&'static str, u64)>,
    /// Heap allocations of a native compile after everything has been compiled once.
    pub allocations: u64,
    /// Size of the part in bytes.
    pub elf_bytes: usize,
    /// BLAKE3 of the native part and of the one with known layout, which work on speed alone must not change.
    pub digests: Vec<String>,
}

/// The compilers.
pub struct Bench {
    compiler: BuiltInCompiler,
    radv: Option<Radv>,
    file: tempfile::NamedTempFile,
}

fn with(request: &StageRequest, generator: GeneratorKind) -> StageRequest {
    let mut request = request.clone();
    request.options.generator = generator;
    request
}

impl Side {
    fn note(&mut self, error: impl ToString) {
        self.error.get_or_insert_with(|| error.to_string());
    }

    fn least(&mut self, nanoseconds: u64) {
        self.nanoseconds = Some(self.nanoseconds.map_or(nanoseconds, |least| least.min(nanoseconds)));
    }
}

impl Bench {
    /// Starts RADV if it is there, and makes code for the GPU.
    pub fn new(target: Gpu) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        Self { compiler: BuiltInCompiler::new(), radv: Radv::start(Keeps::Nothing, target), file }
    }

    /// The driver, if any.
    pub fn radv_name(&self) -> Option<&str> {
        self.radv.as_ref().map(|radv| radv.driver.as_str())
    }

    /// Measures all figures of a shader.
    pub fn measure(&mut self, shader: &Shader, args: &Args) -> Measured {
        let [native, llvm] = [GeneratorKind::Native, GeneratorKind::Llvm].map(|kind| with(&shader.early, kind));
        let mut out = Measured {
            set: shader.set.clone(),
            name: shader.name.clone(),
            stage: shader.early.stage.to_string(),
            native: Side::default(),
            llvm: Side::default(),
            radv: Side::default(),
            phases: Vec::new(),
            allocations: 0,
            elf_bytes: 0,
            digests: Vec::new(),
        };
        let wave = shader.early.wave;
        out.digests = self.codes(shader, GeneratorKind::Native, &mut out.native);
        if out.native.error.is_some() {
            return out;
        }
        if args.llvm {
            self.codes(shader, GeneratorKind::Llvm, &mut out.llvm);
        }
        let mut request = std::fs::write(self.file.path(), &shader.spirv)
            .map_err(|e| e.to_string())
            .and_then(|()| radv::request(shader, self.file.path()));
        match (&mut self.radv, &mut request) {
            (Some(radv), Ok(request)) => {
                let decoded = radv.code(request).and_then(|words| {
                    out.radv.operations = code::operations(&words, args.target);
                    code::read(&words, args.target, wave)
                });
                match decoded {
                    Ok(code) => out.radv.code = Some(code),
                    Err(e) => out.radv.note(e),
                }
            }
            (Some(_), Err(e)) => out.radv.note(e),
            _ => {}
        }
        for run in 0..args.runs {
            self.time(shader, &native, &mut out.native);
            if args.llvm && run < LLVM_RUNS && out.llvm.error.is_none() {
                self.time(shader, &llvm, &mut out.llvm);
            }
            if let (Some(radv), Ok(request), None) = (&mut self.radv, &mut request, &out.radv.error) {
                match radv.time(request) {
                    Ok(took) => out.radv.least(took),
                    Err(e) => out.radv.note(e),
                }
            }
        }
        let module = Module::new(shader.spirv.clone()).expect("it has been compiled");
        for _ in 0..args.runs {
            self.phases(&module, &native, &mut out.phases);
        }
        let (asked, elf) = allocations(|| self.compiler.compile(&module, &native));
        (out.allocations, out.elf_bytes) = (asked, elf.map_or(0, |elf| elf.0.len()));
        if args.each {
            let us = |side: &Side| side.nanoseconds.unwrap_or(0) / 1000;
            println!("{}/{}: {} {} {} µs", out.set, out.name, us(&out.native), us(&out.llvm), us(&out.radv));
        }
        out
    }

    /// Measures one compile, from bytes.
    fn time(&self, shader: &Shader, request: &StageRequest, side: &mut Side) {
        let bytes = shader.spirv.clone();
        let start = cpu();
        let elf = Module::new(bytes).and_then(|module| black_box(self.compiler.compile(&module, request)));
        let took = cpu() - start;
        match elf {
            Ok(_) => side.least(took.as_nanos() as u64),
            Err(e) => side.note(e),
        }
    }

    /// Measures each phase of one compile. Phases with the same name, such as a pass that runs twice, are added.
    fn phases(&self, module: &Module, request: &StageRequest, least: &mut Vec<(&'static str, u64)>) {
        let mut watch = Timings::new(cpu, Unwatched);
        if self.compiler.compile_watched(module, request, &mut watch).is_err() {
            return;
        }
        let mut sums: Vec<(&'static str, u64)> = Vec::new();
        for (phase, took) in watch.phases {
            match sums.iter_mut().find(|(name, _)| *name == phase) {
                Some((_, sum)) => *sum += took.as_nanos() as u64,
                None => sums.push((phase, took.as_nanos() as u64)),
            }
        }
        if least.is_empty() {
            *least = sums;
            return;
        }
        for ((_, least), (_, now)) in least.iter_mut().zip(sums) {
            *least = now.min(*least);
        }
    }

    /// Decodes both codes and returns the digests of both files.
    fn codes(&self, shader: &Shader, generator: GeneratorKind, side: &mut Side) -> Vec<String> {
        let mut digests = Vec::new();
        for (request, early) in [(&shader.early, true), (&shader.laid_out, false)] {
            let request = with(request, generator);
            let elf = Module::new(shader.spirv.clone()).and_then(|module| self.compiler.compile(&module, &request));
            let code = elf.map_err(|e| e.to_string()).and_then(|elf| {
                if let Some(feature) = Remarks::of(&elf).map_err(|e| e.to_string())?.fallback {
                    return Err(format!("left to LLVM: {feature}"));
                }
                let StageElf(elf) = &elf;
                digests.push(blake3::hash(elf).to_string());
                let words = estimate::text(elf).map_err(|e| e.to_string())?;
                if !early {
                    side.operations = code::operations(&words, request.target);
                }
                code::read(&words, request.target, request.wave)
            });
            match code {
                Ok(code) if early => side.early = Some(code),
                Ok(code) => side.code = Some(code),
                Err(e) => side.note(e),
            }
        }
        digests
    }
}

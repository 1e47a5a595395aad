//! The fuzz targets: how inputs are made, and which results are findings.
//!
//! To add a target: a line in [`TARGETS`], seeds in `seeds.rs`.
#![allow(dead_code, reason = "each test binary uses its part")]

use super::link_support::{buffers, compute, fragment, state, vertex};
use super::native;
use super::random::Random;
use super::reconvergence;
use super::{export, mutate, recording, seeds, service, spirv, store};
use dovetail::abi::layout::ResolvedLayout;
use dovetail::cache::{Key, entry};
use dovetail::compile::Compiler;
#[cfg(feature = "llvm")]
use dovetail::compile::generators::LlvmCompiler;
use dovetail::compile::passes;
use dovetail::compile::request::{CompilerId, KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::compile::worker::protocol;
use dovetail::compile::{compiler::StageCompiler, native::Native};
use dovetail::corpus::budget::DEFAULT_MEMORY;
use dovetail::corpus::describe::describe;
use dovetail::corpus::extract::Extractor;
use dovetail::error::{Error, ErrorKind, Result};
use dovetail::frame;
use dovetail::glue::GluePiece;
use dovetail::link::{EmitGlue, Object, Placement, link, verify};
use dovetail::metadata::document::Document;
use dovetail::metadata::{note, read_unlinked};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex};

/// A parser or generator under test.
pub struct Target {
    /// Its name, also that of its folder of past findings.
    pub name: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    change: fn(&mut Random, &[Vec<u8>]) -> Vec<u8>,
    run: fn(&[u8]) -> Result<()>,
    /// Shrinks a finding, given a function that describes an input's failure.
    smaller: Option<Smaller>,
}

type Smaller = fn(&[u8], &dyn Fn(&[u8]) -> Option<String>) -> Vec<u8>;

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "spirv", seeds: seeds::spirv, change: spirv::change, run: compile, smaller: None },
    Target { name: "elf", seeds: seeds::elf, change: mutate::bytes, run: link_parts, smaller: None },
    Target { name: "note", seeds: seeds::note, change: mutate::bytes, run: read_note, smaller: None },
    Target { name: "state", seeds: seeds::state, change: mutate::bytes, run: read_state, smaller: None },
    Target { name: "entry", seeds: seeds::entry, change: mutate::bytes, run: read_entry, smaller: None },
    Target { name: "export", seeds: export::seeds, change: mutate::bytes, run: export::read, smaller: None },
    Target { name: "store", seeds: store::seeds, change: mutate::bytes, run: store::read, smaller: None },
    Target { name: "frame", seeds: seeds::frame, change: mutate::bytes, run: read_frame, smaller: None },
    Target { name: "service", seeds: service::seeds, change: mutate::bytes, run: service::converse, smaller: None },
    Target { name: "archive", seeds: seeds::archive, change: mutate::bytes, run: extract, smaller: None },
    Target { name: "recording", seeds: recording::seeds, change: mutate::bytes, run: recording::read, smaller: None },
    Target {
        name: "native",
        seeds: native::seeds,
        change: native::change,
        run: native::run,
        smaller: Some(native::shrink),
    },
    Target {
        name: "reconvergence",
        seeds: reconvergence::seeds,
        change: reconvergence::change,
        run: reconvergence::run,
        smaller: Some(reconvergence::shrink),
    },
];

impl Target {
    /// Its valid inputs, made once.
    pub fn seeds(&self) -> &'static [Vec<u8>] {
        static MADE: Mutex<BTreeMap<&str, &[Vec<u8>]>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().expect("seeds");
        made.entry(self.name).or_insert_with(|| (self.seeds)().leak())
    }

    /// Input `n` of a run. The first inputs are the seeds.
    pub fn input(&self, run: u64, n: u64) -> Vec<u8> {
        let seeds = self.seeds();
        match usize::try_from(n).ok().and_then(|n| seeds.get(n)) {
            Some(seed) => seed.clone(),
            None => (self.change)(&mut Random::new(run, n), seeds),
        }
    }

    /// Result of an input, as text.
    pub fn answer(&self, input: &[u8]) -> String {
        match catch_unwind(AssertUnwindSafe(|| (self.run)(input))) {
            Err(panic) => format!("panic: {}", message(&*panic)),
            Ok(result) => result.err().map_or_else(|| "as it should be".to_owned(), |e| e.to_string()),
        }
    }

    /// A smaller input that fails in the same way, or the same one.
    pub fn smaller(&self, input: &[u8]) -> Vec<u8> {
        self.smaller.map_or_else(|| input.to_vec(), |smaller| smaller(input, &|input| self.judge(input).err()))
    }

    /// Runs an input.
    ///
    /// # Errors
    /// The input is a finding: it panicked, or returned an internal bug.
    pub fn judge(&self, input: &[u8]) -> std::result::Result<(), String> {
        match catch_unwind(AssertUnwindSafe(|| (self.run)(input))) {
            Err(panic) => Err(format!("panic: {}", message(&*panic))),
            Ok(Err(e)) if matches!(e.kind(), ErrorKind::Bug(_)) => Err(e.to_string()),
            Ok(_) => Ok(()),
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Returns an internal bug as an error; other errors are valid results.
fn no_bug<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), ErrorKind::Bug(_)) => Err(e),
        Err(_) => Ok(None),
    }
}

/// Generates code and the unlinked ELF for some modules: one in four by the native generator, and one in 1,024 by LLVM,
/// which takes a thousand times as long.
fn generate(module: &Module, request: &StageRequest) -> Result<()> {
    let number = u16::from_le_bytes([request.module.0[0], request.module.0[1]]);
    if number.is_multiple_of(4) {
        no_bug(Compiler::compile(&StageCompiler::with(Native), module, request))?;
    }
    #[cfg(feature = "llvm")]
    if number.is_multiple_of(1024) {
        no_bug(LlvmCompiler::new().compile(module, request))?;
    }
    let _ = (module, number);
    Ok(())
}

/// Compiles a module up to the code generators, and some modules to the end.
fn compile(bytes: &[u8]) -> Result<()> {
    describe(bytes);
    let module = Module::new(bytes.to_vec())?;
    let info = reflect(&module)?;
    for entry in info.entry_points.iter().take(4) {
        let Some(stage) = entry.stage else { continue };
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage,
            module: module.digest(),
            entry_point: entry.name.clone(),
            specialization: info.specialization(&[(0, 1), (1, 2), (3, 64)]),
            wave: default_wave(Gpu::default(), stage, info.uses_subgroups),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        if let Some(shader) = no_bug(translate(&module, &entry.name, stage, &request.specialization))?
            && no_bug(passes::lower(shader, &request))?.is_some()
        {
            generate(&module, &request)?;
        }
    }
    Ok(())
}

/// Links a part with good parts for the other stages, in both layouts, and reads it as a final ELF.
fn link_parts(bytes: &[u8]) -> Result<()> {
    static GOOD: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [vertex().build(), fragment().build()]);
    no_bug(verify(bytes))?;
    let stage = Object::parse(bytes)?.stage();
    let parts: Vec<&[u8]> = match stage {
        Stage::Vertex => vec![bytes, &GOOD[1]],
        Stage::Fragment => vec![&GOOD[0], bytes],
        Stage::Compute => vec![bytes],
    };
    linked(&parts, &state())?;
    if stage == Stage::Compute {
        // Neighbours, and a buffer in the root table.
        linked(&parts, &buffers([Some(0), Some(16), Some(32), Some(48)]))?;
        linked(&parts, &buffers([None, Some(16), Some(32), Some(64)]))?;
    }
    Ok(())
}

/// A linked ELF must pass `verify`.
fn linked(parts: &[&[u8]], state: &PipelineState) -> Result<()> {
    for placement in [Placement::Adjacent, Placement::Chained] {
        if let Some(elf) = no_bug(link(parts, state, placement, &EmitGlue))? {
            let report = verify(&elf)?;
            if !report.is_ok() {
                return Err(Error::bug(format!("a linked ELF breaks rules: {:?}", report.violations)));
            }
        }
    }
    Ok(())
}

fn read_note(bytes: &[u8]) -> Result<()> {
    no_bug(note::read_notes(bytes))?;
    let document = Document::parse(note::metadata(bytes)?)?;
    // A document must survive writing and reading.
    Document::parse(&document.to_bytes()).map_err(|e| Error::bug(format!("written again: {e}")))?;
    for stage in [Stage::Vertex, Stage::Fragment, Stage::Compute] {
        no_bug(read_unlinked::notes_of(&document, Gpu::default(), stage))?;
    }
    no_bug(read_unlinked::interface_of(&document, Gpu::default()))?;
    Ok(())
}

fn read_state(bytes: &[u8]) -> Result<()> {
    static GOOD: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| [vertex().build(), fragment().build(), compute().build()]);
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let Ok(state) = toml::from_str::<PipelineState>(text) else { return Ok(()) };
    no_bug(ResolvedLayout::new(&state.layout))?;
    linked(&[&GOOD[0], &GOOD[1]], &state)?;
    linked(&[&GOOD[2]], &state)
}

/// Key of every fuzzed entry.
pub const KEY: Key = Key([7; 32]);

/// Reads an entry, and its contents as if the digest were right.
fn read_entry(bytes: &[u8]) -> Result<()> {
    if let Ok(payload) = entry::decode(&KEY, bytes.to_vec()) {
        drop(rmp_serde::from_slice::<GluePiece>(&payload));
        no_bug(Object::parse(&payload))?;
    }
    drop(rmp_serde::from_slice::<GluePiece>(bytes));
    drop(rmp_serde::from_slice::<CompilerId>(bytes));
    Ok(())
}

fn read_frame(bytes: &[u8]) -> Result<()> {
    let Some((head, body)) = bytes.split_first_chunk::<4>() else { return Ok(()) };
    let length = frame::body_length(*head, protocol::MAX_FRAME)?;
    let body = body.get(..length.min(body.len())).unwrap_or(&[]);
    no_bug(frame::parse::<protocol::WorkerHello>(body))?;
    no_bug(frame::parse::<protocol::Request>(body))?;
    no_bug(frame::parse::<protocol::Response>(body))?;
    Ok(())
}

fn extract(bytes: &[u8]) -> Result<()> {
    let mut taken = |_: &_, _: Vec<u8>| {};
    let mut extractor = Extractor::new(&mut taken);
    extractor.add("fuzzed", bytes, DEFAULT_MEMORY);
    extractor.finish();
    Ok(())
}

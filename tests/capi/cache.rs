//! Builds a cache like that of `populate`, without a compiler: handmade parts under the keys of modules that consist
//! only of a header.
#![allow(dead_code, reason = "the benchmark uses a part of it")]

use crate::link_support::{self, Unlinked};
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::request::{CompilerId, KnownState, Module, StageRequest, TuningOptions};
use dovetail::compile::{Compiler, StageElf};
use dovetail::error::Result;
use dovetail::keys;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::metadata::interface::StageKind;
use dovetail::runtime::{ModuleRef, ShaderInfo};
use dovetail::state::{Known, PipelineState};
use dovetail::target::{Gpu, HardwareStage, Stage, WaveSize};
use dovetail::toolchain::Toolchain;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A compiler identity that compiles nothing.
struct Nobody(CompilerId);

impl Compiler for Nobody {
    fn id(&self) -> &CompilerId {
        &self.0
    }

    fn compile(&self, _: &Module, _: &StageRequest) -> Result<StageElf> {
        unreachable!("no test compiles")
    }
}

pub fn compiler() -> CompilerId {
    CompilerId { sources: "tests".into(), backend: "by hand".into() }
}

/// A distinct module for each number: a header, and a decoration that makes 7 a `SpecId`.
pub fn module(number: u32) -> Vec<u8> {
    let words = [0x0723_0203, 0x0001_0300, number, 10, 0, 4 << 16 | 71, 5, 1, 7];
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

/// A module whose `SpecId` 7 is an operand of an addition.
pub fn adding_module() -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0300, 4, 10, 0, 4 << 16 | 71, 5, 1, 7, 4 << 16 | 21, 2, 32, 0];
    words.extend([4 << 16 | 50, 2, 5, 1, 5 << 16 | 54, 1, 6, 0, 3, 5 << 16 | 128, 2, 7, 5, 5]);
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

pub fn request(stage: Stage, module: Vec<u8>) -> StageRequest {
    StageRequest {
        target: Gpu::Gfx1030,
        stage,
        module: Module::new(module).expect("a module").digest(),
        entry_point: "main".into(),
        specialization: Vec::new(),
        wave: if stage == Stage::Fragment { WaveSize::W64 } else { WaveSize::W32 },
        options: TuningOptions::default(),
        known: KnownState::default(),
    }
}

/// A cache under construction.
pub struct Made(pub Cache);

impl Made {
    /// Creates a cache with only a manifest.
    pub fn new(dir: &Path) -> Self {
        let cache = Cache::open(dir, StoreKind::Lmdb).expect("a cache");
        let nobody = Nobody(compiler());
        Toolchain::new(&cache, Some(&nobody)).expect("tools").record_compiler().expect("a manifest");
        Self(cache)
    }

    pub fn put(&self, request: &StageRequest, part: &Unlinked) {
        self.put_bytes(request, &part.build());
    }

    pub fn put_bytes(&self, request: &StageRequest, elf: &[u8]) {
        self.0.put(&keys::stage(request, &compiler()).expect("a key"), elf).expect("a put");
    }
}

/// Creates a cache with modules 1 (vertex), 2 (fragment) and 3 (compute).
pub fn full(dir: &Path) -> Made {
    let made = Made::new(dir);
    made.put(&request(Stage::Vertex, module(1)), &link_support::vertex());
    made.put(&request(Stage::Fragment, module(2)), &link_support::fragment());
    made.put(&request(Stage::Compute, module(3)), &link_support::compute().load_symbol(20, "descset_0"));
    made
}

/// The parts that `pipeline::build_whole` compiles from modules 1 and 2 in a state, with everything known: vertex
/// before fragment.
pub fn whole(state: &PipelineState) -> ((StageRequest, Unlinked), (StageRequest, Unlinked)) {
    let mut fragment = link_support::fragment();
    (fragment.interface.epilog, fragment.joint) = (false, false);
    let mut of_fragment = request(Stage::Fragment, module(2));
    let layout = Known::Known(state.layout.clone());
    of_fragment.known = KnownState {
        operands: Known::Known(Vec::new()),
        layout,
        colors: Known::Known(state.color.clone()),
        ..Default::default()
    };
    let StageKind::Fragment(interface) = &fragment.interface.kind else { panic!("a fragment shader") };
    let mut vertex = link_support::vertex();
    (vertex.interface.prolog, vertex.interface.epilog, vertex.joint) = (false, false, false);
    vertex.symbol = HardwareStage::Vs.entry_symbol().to_owned();
    let mut of_vertex = request(Stage::Vertex, module(1));
    of_vertex.known = KnownState {
        operands: Known::Known(Vec::new()),
        layout: Known::Known(state.layout.clone()),
        vertex: Known::Known(state.vertex.clone()),
        reads: Known::Known(interface.reads()),
        constants: Known::Unknown,
        multiview: Known::Known(false),
        sample_shading: Known::Unknown,
        colors: Known::Unknown,
    };
    ((of_vertex, vertex), (of_fragment, fragment))
}

/// Stores these parts in a cache.
pub fn put_whole(made: &Made) {
    let (vertex, fragment) = whole(&state());
    made.put(&vertex.0, &vertex.1);
    made.put(&fragment.0, &fragment.1);
}

/// Stores a vertex part that was compiled for another specialization value than the state's, and so cannot be linked.
pub fn put_unlinkable(made: &Made) {
    let mut part = link_support::vertex();
    part.interface.specialization = vec![dovetail::kinds::SpecValue { id: 7, value: 2, default: 1 }];
    made.put(&request(Stage::Vertex, module(1)), &part);
}

pub fn state() -> PipelineState {
    link_support::state()
}

/// The folder that the C programs run in: a cache, modules, and the ELF of the Rust link.
pub fn folder() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let made = full(&dir.path().join("cache"));
    let mut unlinkable = link_support::vertex();
    unlinkable.interface.specialization = vec![dovetail::kinds::SpecValue { id: 7, value: 2, default: 1 }];
    made.put(&request(Stage::Vertex, module(6)), &unlinkable);
    for (name, number) in [("vertex", 1), ("fragment", 2), ("unlinkable", 6)] {
        fs::write(dir.path().join(name).with_extension("spv"), module(number)).expect("a module");
    }
    let parts = [link_support::vertex().build(), link_support::fragment().build()];
    let elf = link(&[&parts[0], &parts[1]], &state(), Placement::Adjacent, &EmitGlue).expect("a pipeline");
    fs::write(dir.path().join("expected.elf"), elf).expect("an ELF");
    dir
}

/// Info of a shader: entry point `main` of the module, everything else default.
pub fn shader_info(stage: Stage, module: &[u8]) -> ShaderInfo<'_> {
    ShaderInfo {
        module: ModuleRef::Code(module),
        entry_point: "main",
        stage,
        wave: None,
        specialization: &[],
        no_disk: false,
        fail_on_compile: false,
        priority: 0,
        user: 5,
    }
}

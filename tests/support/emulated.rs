//! A compute shader through the compiler, the linker and the emulator.

use dovetail::cache::{Cache, MemoryStore};
use dovetail::compile::llvm::LlvmCompiler;
use dovetail::compile::request::Module;
use dovetail::emu::bind::Bindings;
use dovetail::emu::inputs::Inputs;
use dovetail::emu::{Limits, Machine, Pipeline};
use dovetail::link::Placement;
use dovetail::pipeline::{Built, Outcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail::state::{PipelineState, SpecializationEntry};
use dovetail::target::{GfxIp, Stage, WaveSize};
use dovetail::toolchain::Toolchain;

/// Pipelines of one shader and one wave size.
pub struct Pipelines {
    /// Its state.
    pub state: PipelineState,
    /// How each came to be, and its ELF.
    pub elfs: Vec<(&'static str, Vec<u8>)>,
}

impl Pipelines {
    /// Compiles early and links both ways, and compiles whole.
    pub fn new(module: &Module, mut state: PipelineState, spec: &[(u32, u64)], wave: WaveSize) -> Result<Self, String> {
        let entry = |&(id, value)| SpecializationEntry { stage: None, id, value };
        state.specialization = spec.iter().map(entry).collect();
        let (cache, compiler) = (Cache::new(Box::new(MemoryStore::default())), LlvmCompiler::new());
        let tools = Toolchain::new(&cache, Some(&compiler)).map_err(|e| e.to_string())?;
        let shader = ShaderRef {
            module,
            entry_point: "main".into(),
            stage: Stage::Compute,
            wave,
            spec_ids: spec.iter().map(|s| s.0).collect(),
        };
        let request = |placement| PipelineRequest {
            shaders: vec![shader.clone()],
            state: &state,
            target: GfxIp::Gfx1030,
            options: Default::default(),
            placement,
        };
        let built = |name: &'static str, outcome: dovetail::error::Result<Outcome>| match outcome {
            Ok(Outcome::Built(Built { elf, route, .. })) => Ok((name, elf, route)),
            Ok(Outcome::NotCached(_)) => Err(format!("{name}: not cached")),
            Err(e) => Err(format!("{name}: {e}")),
        };
        let mut elfs = Vec::new();
        for (name, placement) in [("linked", Placement::Adjacent), ("linked, chained", Placement::Chained)] {
            let (name, elf, route) = built(name, build(&request(placement), &tools))?;
            if route != Route::Linked {
                return Err(format!("{name}: {route:?}"));
            }
            elfs.push((name, elf));
        }
        let (name, elf, _) = built("whole", build_whole(&request(Placement::Adjacent), &tools, None))?;
        elfs.push((name, elf));
        Ok(Self { state, elfs })
    }

    /// Runs one of them: the bytes of each binding afterwards, and how many instructions that took.
    pub fn run(&self, elf: &[u8], inputs: &Inputs, limits: Limits) -> dovetail::error::Result<(Vec<Vec<u8>>, u64)> {
        let mut machine = Machine::new(GfxIp::Gfx1030);
        let bindings = Bindings::new(&mut machine, &self.state.layout, inputs)?;
        let pipeline = Pipeline::load(&mut machine, elf)?;
        let stats = machine.dispatch(&pipeline, &bindings.root, inputs.grid, limits)?;
        Ok((bindings.read(&machine)?, stats.total()))
    }
}

//! Makes a pipeline by every route: linked from separately compiled parts in both layouts, and with the vertex shader as a
//! primitive shader, linked from parts that were compiled
//! for each other, and compiled as a whole.

use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::Gpu;
use dovetail_cache::{Cache, MemoryStore};
use dovetail_compile::Compiler;
use dovetail_compile::request::TuningOptions;
use dovetail_emu as emu;
use dovetail_emu::RunLimits;
use dovetail_emu::inputs::Inputs;
use dovetail_link::Placement;
use dovetail_pipeline::toolchain::Toolchain;
use dovetail_pipeline::{PipelineOutcome, PipelineRequest, Route, ShaderRef, build, build_whole};
use dovetail_state::PipelineState;

/// The route of a pipeline whose vertex shader runs as a primitive shader.
const NGG: &str = "linked, NGG";

/// Pipelines of the same shaders and state.
#[derive(Clone, Debug)]
pub struct Pipelines {
    /// Their state.
    pub state: PipelineState,
    /// Route and ELF of each; the pipeline compiled as a whole is last.
    pub elfs: Vec<(&'static str, Vec<u8>)>,
    /// Why the parts cannot be linked, so that there is only the whole-pipeline compile.
    pub not_linked: Option<String>,
}

impl Pipelines {
    /// Compiles parts and links them in both layouts, compiles parts for each other and links them, and compiles the pipeline
    /// as a whole.
    ///
    /// # Errors
    /// Errors of the compiler or the linker.
    pub fn new(shaders: Vec<ShaderRef<'_>>, state: PipelineState, compiler: &dyn Compiler) -> Result<Self> {
        Self::tuned(shaders, state, Gpu::default(), TuningOptions::default(), compiler)
    }

    /// [`Self::new`] for a GPU, with other tuning.
    ///
    /// # Errors
    /// As [`Pipelines::new`].
    pub fn tuned(
        shaders: Vec<ShaderRef<'_>>,
        state: PipelineState,
        target: Gpu,
        options: TuningOptions,
        compiler: &dyn Compiler,
    ) -> Result<Self> {
        let cache = Cache::new(Box::new(MemoryStore::default()));
        let tools = Toolchain::new(&cache, Some(compiler))?;
        let ngg = PipelineState { ngg: true, ..state.clone() };
        let mut request = PipelineRequest {
            shaders: shaders.into(),
            state: &state,
            layout: None,
            target,
            options,
            placement: Placement::Adjacent,
        };
        let (mut elfs, mut not_linked) = (Vec::new(), None);
        for (name, placement) in [("linked", Placement::Adjacent), ("linked, chained", Placement::Chained)] {
            request.placement = placement;
            let (elf, route) = built(build(&request, &tools)).at(|| name)?;
            match route {
                Route::Linked => elfs.push((name, elf)),
                Route::Whole(why) => not_linked = why,
            }
        }
        request.placement = Placement::Adjacent;
        if not_linked.is_none() && request.shaders.iter().any(|shader| shader.stage().feeds_the_rasterizer()) {
            let request = PipelineRequest { state: &ngg, ..request.clone() };
            let (elf, _) = built(build(&request, &tools)).at(|| NGG)?;
            // A vertex shader that reads the primitive id is no primitive shader.
            if elfs.iter().all(|(_, other)| *other != elf) {
                elfs.push((NGG, elf));
            }
        }
        if not_linked.is_none() && request.shaders.len() == 2 {
            let tools = Toolchain::new(&cache, Some(compiler))?.making_pairs();
            elfs.push(("paired", built(build(&request, &tools)).at(|| "paired")?.0));
        }
        elfs.push(("whole", built(build_whole(&request, &tools, None)).at(|| "whole")?.0));
        // It borrows the state until its list of shaders is dropped.
        drop(request);
        Ok(Self { state, elfs, not_linked })
    }

    /// Routes and ELFs that can run with these inputs: a primitive shader is for one kind of primitives.
    pub fn elfs_for(&self, inputs: &Inputs) -> impl Iterator<Item = &(&'static str, Vec<u8>)> {
        let kind = inputs.draw.as_ref().map(|draw| draw.topology.kind());
        let other_kind = kind.is_some_and(|kind| kind != self.state.raster.primitive);
        self.elfs.iter().filter(move |(route, _)| *route != NGG || !other_kind)
    }

    /// Runs one of the ELFs on the emulator.
    ///
    /// # Errors
    /// As [`emu::run`].
    pub fn run(&self, elf: &[u8], inputs: &Inputs, limits: RunLimits) -> Result<emu::RunOutcome> {
        emu::run(elf, &self.state.layout, inputs, limits)
    }
}

fn built(outcome: Result<PipelineOutcome>) -> Result<(Vec<u8>, Route)> {
    match outcome? {
        PipelineOutcome::Built(built) => Ok((built.elf, built.route)),
        PipelineOutcome::NotCached(stage) => {
            Err(Error::bug(format!("{stage:?} was not compiled, and there is a compiler")))
        }
    }
}

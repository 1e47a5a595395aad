//! Builds a pipeline from its shaders: linked from parts where it can be, compiled whole where it cannot.
//!
//! The parts come from a [`Toolchain`]; the link itself never sees it. A whole compile is the same way with every item
//! known: the fragment stage first, then the vertex stage knowing what it reads, then the same link with empty glue.

use crate::compile::request::{KnownState, Module, SpecValues, StageRequest, TuningOptions};
use crate::compile::variant;
use crate::error::{Context, Error, FullCompile, Result};
use crate::link::{Job, Linked, Object, Placement};
use crate::metadata::interface::StageKind;
use crate::state::{Known, PipelineState, ResourceLayout};
use crate::target::{GfxIp, Stage, WaveSize};
use crate::toolchain::{ReadyPart, Toolchain};
use serde::Serialize;
use smallvec::SmallVec;

/// One stage of a pipeline.
#[derive(Clone, Debug)]
pub struct ShaderRef<'a> {
    /// Its SPIR-V.
    pub module: &'a Module,
    /// Entry point.
    pub entry_point: String,
    /// Stage.
    pub stage: Stage,
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// `SpecId`s that the module declares: values for others are not part of its request.
    pub spec_ids: Vec<u32>,
}

/// A pipeline to build.
#[derive(Clone, Debug)]
pub struct PipelineRequest<'a> {
    /// Vertex, or vertex and fragment, or compute.
    pub shaders: Vec<ShaderRef<'a>>,
    /// State.
    pub state: &'a PipelineState,
    /// GPU.
    pub target: GfxIp,
    /// Tuning.
    pub options: TuningOptions,
    /// Placement of the parts' code.
    pub placement: Placement,
}

impl PipelineRequest<'_> {
    /// The request for one of its shaders, with this known of the pipeline.
    pub fn stage(&self, shader: &ShaderRef<'_>, known: KnownState) -> StageRequest {
        let values = specialization(self.state, shader);
        StageRequest {
            target: self.target,
            stage: shader.stage,
            module: shader.module.digest(),
            entry_point: shader.entry_point.clone(),
            specialization: values.shaping,
            wave: shader.wave,
            options: self.options.clone(),
            known: only_for(shader.stage, known, values.operands),
        }
    }
}

/// The way in which a pipeline was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Linked from parts that were compiled without state.
    Linked,
    /// Compiled whole, because it had to be (or was asked to be: no reason).
    Whole(Option<String>),
}

/// Where a part came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartOrigin {
    /// Stage.
    pub stage: Stage,
    /// It was in the cache.
    pub hit: bool,
    /// Its bytes.
    pub bytes: usize,
}

/// A pipeline ELF and how it came to be.
#[derive(Clone, Debug)]
pub struct Built {
    /// The pipeline ELF.
    pub elf: Vec<u8>,
    /// Linked or compiled whole.
    pub route: Route,
    /// Placement of its parts: as asked, or adjacent where a branch from part to part would not have reached.
    pub placement: Placement,
    /// Its stages.
    pub parts: Vec<PartOrigin>,
}

/// The answer to a [`PipelineRequest`].
#[derive(Clone, Debug)]
pub enum PipelineOutcome {
    /// Done.
    Built(Built),
    /// There is no compiler, and this stage is not in the cache.
    NotCached(Stage),
}

type Parts = SmallVec<[ReadyPart; 2]>;

/// Links a pipeline, or compiles it whole where the link asks for it.
///
/// # Errors
/// Whatever the compiler or the linker says of the shaders or the state; `NeedsFullCompile` never.
pub fn build(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Result<PipelineOutcome> {
    let linked = stages(request, tools, |_| KnownState::default()).and_then(|parts| match parts {
        Ok(parts) => finish(request, tools, &variants(request, tools, parts)?, Route::Linked),
        Err(missing) => Ok(PipelineOutcome::NotCached(missing)),
    });
    match linked {
        Err(e) => match e.full_compile().cloned() {
            Some(reason) => build_whole(request, tools, Some(&reason)),
            None => Err(e),
        },
        done => done,
    }
}

/// Compiles a pipeline whole, whether it could be linked or not: better code, for later.
///
/// # Errors
/// Whatever the compiler or the linker says of the shaders or the state; `NeedsFullCompile` never.
pub fn build_whole(
    request: &PipelineRequest<'_>,
    tools: &Toolchain<'_>,
    reason: Option<&FullCompile>,
) -> Result<PipelineOutcome> {
    whole(request, tools, reason).map_err(Error::of_whole_compile)
}

fn whole(
    request: &PipelineRequest<'_>,
    tools: &Toolchain<'_>,
    reason: Option<&FullCompile>,
) -> Result<PipelineOutcome> {
    let state = request.state;
    let parts = stages(request, tools, |before| everything_known(state, &state.layout, before))?;
    match parts {
        Ok(parts) => finish(request, tools, &parts, Route::Whole(reason.map(ToString::to_string))),
        Err(missing) => Ok(PipelineOutcome::NotCached(missing)),
    }
}

/// Every stage, fragment before vertex; `known` says what is known of the pipeline once the stages so far are there.
fn stages(
    request: &PipelineRequest<'_>,
    tools: &Toolchain<'_>,
    mut known: impl FnMut(Option<&Object>) -> KnownState,
) -> Result<std::result::Result<Parts, Stage>> {
    let mut shaders: SmallVec<[&ShaderRef<'_>; 2]> = request.shaders.iter().collect();
    shaders.sort_by_key(|s| std::cmp::Reverse(s.stage));
    let mut parts = Parts::new();
    for shader in shaders {
        let stage_request = request.stage(shader, known(parts.last().map(|part| &*part.object)));
        match tools.part(shader.module, stage_request).at(|| format!("{} shader", shader.stage))? {
            Some(part) => parts.push(part),
            None => return Ok(Err(shader.stage)),
        }
    }
    parts.sort_by_key(|part| part.object.stage());
    Ok(Ok(parts))
}

/// Early parts, with their variants where the state asks for one. Of a variant that is not to be had the part stays: the link
/// then says why it needs the whole pipeline.
fn variants(request: &PipelineRequest<'_>, tools: &Toolchain<'_>, mut parts: Parts) -> Result<Parts> {
    for part in &mut parts {
        let interface = part.object.interface();
        let Some(known) = variant(request.state, interface) else { continue };
        let Some(shader) = request.shaders.iter().find(|shader| shader.stage == interface.stage) else { continue };
        let found = tools.part(shader.module, request.stage(shader, known));
        if let Some(found) = found.at(|| format!("{} shader", shader.stage))? {
            *part = found;
        }
    }
    Ok(parts)
}

/// The known state for a whole compile of a stage. `before` is the part that was made last: the fragment shader comes
/// first, and the vertex shader knows what it reads.
pub(crate) fn everything_known(state: &PipelineState, layout: &ResourceLayout, before: Option<&Object>) -> KnownState {
    let read = match before.map(|part| &part.interface().kind) {
        Some(StageKind::Fragment(fragment)) => fragment.inputs.clone(),
        _ => Vec::new(),
    };
    KnownState {
        operands: Known::Known(Vec::new()),
        layout: Known::Known(layout.clone()),
        vertex: Known::Known(state.vertex.clone()),
        params: Known::Known(read),
        multiview: Known::Known(state.view_mask != 0),
        // The attachments say it.
        sample_shading: Known::Unknown,
        colors: Known::Known(state.color.clone()),
    }
}

/// Reduces the known state to what can change a stage's code, so that pipelines share it. `operands` are the stage's values
/// of
/// constants that are only operands, if those are known at all.
pub(crate) fn only_for(stage: Stage, known: KnownState, operands: Vec<(u32, u64)>) -> KnownState {
    let KnownState { operands: any, layout, vertex, params, multiview, sample_shading, colors } = known;
    let vertex_stage = stage == Stage::Vertex;
    KnownState {
        operands: if any == Known::Unknown { any } else { Known::Known(operands) },
        layout,
        vertex: if vertex_stage { vertex } else { Known::Unknown },
        params: if vertex_stage { params } else { Known::Unknown },
        multiview: if vertex_stage { multiview } else { Known::Unknown },
        sample_shading: if stage == Stage::Fragment { sample_shading } else { Known::Unknown },
        colors: if stage == Stage::Fragment { colors } else { Known::Unknown },
    }
}

fn specialization(state: &PipelineState, shader: &ShaderRef<'_>) -> SpecValues {
    let values = shader.spec_ids.iter().filter_map(|id| Some((*id, state.specialized(shader.stage, *id)?)));
    SpecValues::new(values, shader.module.operand_ids())
}

fn finish(
    request: &PipelineRequest<'_>,
    tools: &Toolchain<'_>,
    parts: &[ReadyPart],
    route: Route,
) -> Result<PipelineOutcome> {
    if parts.is_empty() {
        return Err(Error::malformed("a pipeline without shaders"));
    }
    let objects: SmallVec<[&Object; 2]> = parts.iter().map(|part| &*part.object).collect();
    let job = Job {
        objects: &objects,
        state: request.state,
        layout: &*tools.layout(&request.state.layout)?,
        placement: request.placement,
        glue: tools,
        metadata: tools.metadata(),
        plans: Some(tools.plans()),
    };
    let Linked { elf, placement } = job.link()?;
    let origin = |part: &ReadyPart| PartOrigin { stage: part.object.stage(), hit: part.hit, bytes: part.bytes };
    Ok(PipelineOutcome::Built(Built { elf, route, placement, parts: parts.iter().map(origin).collect() }))
}

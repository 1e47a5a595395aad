//! Builds a pipeline from its shaders: linked from parts where possible, compiled as a whole otherwise.
//!
//! The parts come from a [`Toolchain`]; the linker does not use it. A whole-pipeline compile takes the same path with
//! every item known: the fragment stage first, then the vertex stage, which then knows what the fragment stage reads,
//! then the same link with empty glue.

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
    /// Lanes per wave.
    pub wave: WaveSize,
    /// `SpecId`s that the module declares; values for others are not part of the request.
    pub spec_ids: Vec<u32>,
}

/// A pipeline to build.
#[derive(Clone, Debug)]
pub struct PipelineRequest<'a> {
    /// A vertex shader, a vertex and a fragment shader, or a compute shader.
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
    /// The compile request for one of its shaders, given this known state.
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

/// How a pipeline was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Linked from parts that were compiled without state.
    Linked,
    /// Compiled as a whole; the reason, unless that was requested.
    Whole(Option<String>),
}

/// Source of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartOrigin {
    /// Stage.
    pub stage: Stage,
    /// Whether it was in the cache.
    pub hit: bool,
    /// Size of its ELF in bytes.
    pub bytes: usize,
}

/// A pipeline ELF, and how it was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The pipeline ELF.
    pub elf: Vec<u8>,
    /// Linked or compiled whole.
    pub route: Route,
    /// Placement of its parts: as requested, or adjacent if a branch between parts would have exceeded its range.
    pub placement: Placement,
    /// Its stages.
    pub parts: Vec<PartOrigin>,
}

/// Result of a [`PipelineRequest`].
#[derive(Clone, Debug)]
pub enum PipelineOutcome {
    /// The pipeline was built.
    Built(Built),
    /// There is no compiler, and this stage is not in the cache.
    NotCached(Stage),
}

type Parts = SmallVec<[ReadyPart; 2]>;

/// Links a pipeline, or compiles it as a whole if the link requires it.
///
/// # Errors
/// Those of the compiler and the linker for the shaders or the state; never `NeedsFullCompile`.
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

/// Compiles a pipeline as a whole even if it could be linked, for better code later.
///
/// # Errors
/// Those of the compiler and the linker for the shaders or the state; never `NeedsFullCompile`.
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

/// Compiles every stage, fragment before vertex; `known` gives the known state after the stages so far.
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

/// Replaces parts by variants where the state asks for one. If a variant is not available the part stays, and the link
/// reports why it needs a whole-pipeline compile.
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

/// The known state for the whole-pipeline compile of a stage. `before` is the part compiled last: the fragment shader
/// comes first, and the vertex shader knows what it reads.
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
        // Given by the attachments.
        sample_shading: Known::Unknown,
        colors: Known::Known(state.color.clone()),
    }
}

/// Reduces the known state to what can change a stage's code, so that pipelines can share it. `operands` are the
/// stage's values of constants that are only operands, if it is known which those are.
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

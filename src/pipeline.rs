//! Builds a pipeline from its shaders: linked from parts where possible, compiled as a whole otherwise.
//!
//! The parts come from a [`Toolchain`]; the linker does not use it. Parts that were compiled for each other are used if the
//! toolchain has them or makes them. A whole-pipeline compile takes the same path with every item known. It compiles
//! the fragment stage first, with the constants that the vertex part lists, then the vertex stage, which then knows
//! what the fragment stage reads. The same link, with empty glue, joins them.

mod shader;

pub use shader::ShaderRef;

use crate::abi::layout::PreparedLayout;
use crate::cache::Key;
use crate::compile::request::{KnownState, StageRequest, TuningOptions};
use crate::compile::{constants_read, for_fragment, for_vertex, needs_variant, variant};
use crate::error::{Context, Error, FullCompile, Result};
use crate::link::{Job, Linked, Object, Placement};
use crate::metadata::interface::{FragmentInterface, ParamConstant};
use crate::state::{Known, PipelineState, ResourceLayout};
use crate::target::{Gpu, Stage};
use crate::toolchain::{Pair, PairNote, PartRef, ReadyPart, Toolchain};
use serde::Serialize;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// A pipeline to build.
#[derive(Clone, Debug)]
pub struct PipelineRequest<'a> {
    /// A vertex shader, a vertex and a fragment shader, or a compute shader.
    pub shaders: SmallVec<[ShaderRef<'a>; 2]>,
    /// State.
    pub state: &'a PipelineState,
    /// A layout that the caller has prepared, in place of the state's; the state's own is resolved by the toolchain and found
    /// by its contents.
    pub layout: Option<&'a PreparedLayout>,
    /// GPU.
    pub target: Gpu,
    /// Tuning.
    pub options: TuningOptions,
    /// Placement of the parts' code.
    pub placement: Placement,
}

impl<'a> PipelineRequest<'a> {
    /// The compile request for one of its shaders, given this known state.
    pub fn stage(&self, shader: &ShaderRef<'_>, known: KnownState) -> StageRequest {
        shader.request(self, known)
    }

    fn given_layout(&self) -> &'a ResourceLayout {
        self.layout.map_or(&self.state.layout, PreparedLayout::given)
    }

    fn shader(&self, stage: Stage) -> Option<&ShaderRef<'a>> {
        self.shaders.iter().find(|shader| shader.stage() == stage)
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
    /// Whether it was compiled for the other part.
    pub paired: bool,
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
    pub parts: SmallVec<[PartOrigin; 2]>,
}

/// Result of a [`PipelineRequest`].
#[derive(Clone, Debug)]
pub enum PipelineOutcome {
    /// The pipeline was built.
    Built(Built),
    /// There is no compiler, and this stage is not in the cache.
    NotCached(Stage),
}

type Parts<'t> = SmallVec<[PartRef<'t>; 2]>;

fn refs<'p>(parts: &'p Parts<'_>) -> SmallVec<[&'p ReadyPart; 2]> {
    parts.iter().map(|part| &**part).collect()
}

/// Links a pipeline, or compiles it as a whole if the link requires it.
///
/// # Errors
/// Those of the compiler and the linker for the shaders or the state; `NeedsFullCompile` only if there is no compiler, and
/// the pipeline compiled as a whole is not in the cache.
pub fn build(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Result<PipelineOutcome> {
    let near = near_parts(request, tools);
    debug_assert!(near.is_none_or(|near| is_chosen(request, tools, near)), "other parts are near than are chosen");
    let linked = match near {
        Some(parts) => finish(request, tools, &parts, Route::Linked),
        None => linked(request, tools),
    };
    match linked {
        Err(e) => whole_instead(request, tools, e),
        done => done,
    }
}

/// The parts that [`chosen`] would select for a vertex and a fragment shader, if all are near their shaders: what most builds
/// of a process link.
fn near_parts<'t>(request: &'t PipelineRequest<'_>, tools: &Toolchain<'_>) -> Option<[&'t ReadyPart; 2]> {
    let [vertex, fragment] = &request.shaders[..] else { return None };
    if !vertex.stage().feeds_the_rasterizer() || !fragment.stage().reads_parameters() {
        return None;
    }
    let (vertex, fragment) = (vertex.near_part(request, tools)?, fragment.near_part(request, tools)?);
    vertex.object.read_ahead();
    fragment.object.read_ahead();
    if [vertex, fragment].iter().any(|part| needs_variant(request.state, part.object.interface())) {
        return None;
    }
    Some(tools.near_pair(vertex, fragment)?.map_or([vertex, fragment], Pair::each_ref))
}

/// Whether these are the parts that the general search selects.
fn is_chosen(request: &PipelineRequest<'_>, tools: &Toolchain<'_>, near: [&ReadyPart; 2]) -> bool {
    let found = stages(request, |shader, _| shader.part(request, None, tools));
    let Ok(Ok(parts)) = found else { return false };
    let chosen = chosen(request, tools, parts);
    chosen.is_ok_and(|parts| parts.iter().zip(near).all(|(part, near)| Arc::ptr_eq(&part.object, &near.object)))
}

fn linked(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Result<PipelineOutcome> {
    match stages(request, |shader, _| shader.part(request, None, tools))? {
        Ok(parts) => finish(request, tools, &refs(&chosen(request, tools, parts)?), Route::Linked),
        Err(missing) => Ok(PipelineOutcome::NotCached(missing)),
    }
}

/// The pipeline compiled as a whole, if that is what the link's error asks for.
#[cold]
fn whole_instead(request: &PipelineRequest<'_>, tools: &Toolchain<'_>, e: Error) -> Result<PipelineOutcome> {
    let Some(reason) = e.full_compile().cloned() else { return Err(e) };
    match build_whole(request, tools, Some(&reason))? {
        PipelineOutcome::NotCached(_) => Err(e),
        built => Ok(built),
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
    let constants = early_constants(request, tools);
    let parts = stages(request, |shader, before| {
        let known = everything_known(state, request.given_layout(), constants.clone(), before);
        tools.part(shader.module(), &request.stage(shader, known)).at(|| format!("{} shader", shader.stage()))
    })?;
    match parts {
        Ok(parts) => finish(request, tools, &refs(&parts), Route::Whole(reason.map(ToString::to_string))),
        Err(missing) => Ok(PipelineOutcome::NotCached(missing)),
    }
}

/// Every stage, fragment before vertex; `part` returns one, given the previous one.
fn stages<'t>(
    request: &'t PipelineRequest<'_>,
    part: impl Fn(&'t ShaderRef<'_>, Option<&Object>) -> Result<Option<PartRef<'t>>>,
) -> Result<std::result::Result<Parts<'t>, Stage>> {
    let mut parts = Parts::new();
    for stage in [Stage::Compute, Stage::Fragment, Stage::Vertex] {
        for shader in request.shaders.iter().filter(|shader| shader.stage() == stage) {
            match part(shader, parts.last().map(|part| &*part.object))? {
                Some(part) => parts.push(part),
                None => return Ok(Err(stage)),
            }
        }
    }
    parts.reverse();
    Ok(Ok(parts))
}

/// Selects the parts for a link: variants where the state asks for one, else a pair if there is one, else the parts as they
/// are. If a variant is not available the part stays, and the link reports why it needs a whole-pipeline compile.
fn chosen<'t>(request: &'t PipelineRequest<'_>, tools: &'t Toolchain<'_>, mut parts: Parts<'t>) -> Result<Parts<'t>> {
    let mut varied = false;
    for part in &mut parts {
        let interface = part.object.interface();
        let Some(known) = variant(request.state, interface) else { continue };
        varied = true;
        let Some(shader) = request.shader(interface.stage) else { continue };
        if let Some(found) = shader.part(request, Some(&known), tools)? {
            *part = found;
        }
    }
    let [vertex, fragment] = &parts[..] else { return Ok(parts) };
    if varied {
        return Ok(parts);
    }
    match tools.pair(vertex, fragment)? {
        Some(Cow::Borrowed(pair)) => Ok(pair.iter().map(PartRef::Kept).collect()),
        Some(Cow::Owned(pair)) => Ok(pair.map(|part| PartRef::Own(Box::new(part))).into_iter().collect()),
        None if tools.makes_pairs() => make_pair(request, tools, [vertex, fragment]),
        None => Ok(parts),
    }
}

/// Compiles two stages for each other: the fragment stage with the vertex shader's constants, if it reads any, then the vertex
/// stage for the remaining reads.
fn make_pair<'t>(
    request: &PipelineRequest<'_>,
    tools: &'t Toolchain<'_>,
    early: [&PartRef<'t>; 2],
) -> Result<Parts<'t>> {
    let [vertex, fragment] = early.map(|part| part.object.interface());
    let make = |stage, known: KnownState| -> Result<(PartRef<'t>, Key)> {
        let shader = request.shader(stage).ok_or_else(|| Error::bug(format!("no {stage} shader")))?;
        tools.part_of_pair(shader.module(), &request.stage(shader, known)).at(|| format!("{stage} shader"))
    };
    let made = for_vertex(vertex, fragment).map(|known| make(Stage::Fragment, known)).transpose()?;
    let (fragment, fragment_key) = match made {
        Some((part, key)) => (part, Some(key)),
        None => (early[1].clone(), None),
    };
    let known =
        for_fragment(fragment.object.interface()).ok_or_else(|| Error::bug("a pair without a fragment part"))?;
    let (vertex, vertex_key) = make(Stage::Vertex, known)?;
    tools.keep_pair(
        early.map(|part| &**part),
        [&vertex, &fragment],
        PairNote { vertex: vertex_key, fragment: fragment_key },
    )?;
    Ok(Parts::from([vertex, fragment]))
}

/// The constants that the fragment stage reads of the vertex stage, from the parts compiled in advance. Unknown if there are
/// none or if a part is not available. A process that only has the cache applies the same rule, so that it finds the same
/// keys.
fn early_constants(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Known<Vec<ParamConstant>> {
    let shaders = request.shader(Stage::Vertex).zip(request.shader(Stage::Fragment));
    let parts = shaders.and_then(|(vertex, fragment)| {
        let [vertex, fragment] = [vertex, fragment].map(|shader| || shader.part(request, None, tools).ok().flatten());
        let vertex = vertex().filter(|vertex| vertex.object.has_constants())?;
        Some((vertex, fragment()?))
    });
    parts.map_or(Known::Unknown, |(vertex, fragment)| taken_constants([&vertex.object, &fragment.object]))
}

/// The constants that a fragment part reads of a vertex part, as known to a whole-pipeline compile.
pub(crate) fn taken_constants([vertex, fragment]: [&Object; 2]) -> Known<Vec<ParamConstant>> {
    let constants = constants_read(vertex.interface(), fragment.interface());
    if constants.is_empty() { Known::Unknown } else { Known::Known(constants) }
}

/// The known state for the whole-pipeline compile of a stage. `constants` are those that the fragment shader reads of the
/// vertex shader. `before` is the part compiled last: the fragment shader comes first, and the vertex shader knows what it
/// reads.
pub(crate) fn everything_known(
    state: &PipelineState,
    layout: &ResourceLayout,
    constants: Known<Vec<ParamConstant>>,
    before: Option<&Object>,
) -> KnownState {
    let fragment = before.and_then(|part| part.interface().kind.fragment());
    let reads = fragment.map(FragmentInterface::reads).unwrap_or_default();
    KnownState {
        operands: Known::Known(Vec::new()),
        layout: Known::Known(layout.clone()),
        vertex: Known::Known(state.vertex.clone()),
        reads: Known::Known(reads),
        constants,
        multiview: Known::Known(state.view_mask != 0),
        // Given by the attachments.
        sample_shading: Known::Unknown,
        colors: Known::Known(state.color.clone()),
    }
}

/// Reduces the known state to what can change a stage's code, so that pipelines can share it. `operands` are the
/// stage's values of constants that are only operands, if it is known which those are.
pub(crate) fn only_for(stage: Stage, known: KnownState, operands: Vec<(u32, u64)>) -> KnownState {
    let KnownState { operands: any, layout, vertex, reads, constants, multiview, sample_shading, colors } = known;
    KnownState {
        operands: if any == Known::Unknown { any } else { Known::Known(operands) },
        layout,
        vertex: if stage.fetches_attributes() { vertex } else { Known::Unknown },
        reads: if stage.feeds_the_rasterizer() { reads } else { Known::Unknown },
        constants: if stage.reads_parameters() { constants } else { Known::Unknown },
        multiview: if stage.feeds_the_rasterizer() { multiview } else { Known::Unknown },
        sample_shading: if stage.shades_pixels() { sample_shading } else { Known::Unknown },
        colors: if stage.shades_pixels() { colors } else { Known::Unknown },
    }
}

fn finish(
    request: &PipelineRequest<'_>,
    tools: &Toolchain<'_>,
    parts: &[&ReadyPart],
    route: Route,
) -> Result<PipelineOutcome> {
    if parts.is_empty() {
        return Err(Error::malformed("a pipeline without shaders"));
    }
    let made;
    let layout = match request.layout {
        Some(prepared) => prepared.resolved(),
        None => {
            made = tools.layout(&request.state.layout)?;
            &made
        }
    };
    let mut objects: SmallVec<[&Object; 2]> = SmallVec::new();
    parts.iter().for_each(|part| objects.push(&part.object));
    let job = Job {
        objects: &objects,
        state: request.state,
        layout,
        placement: request.placement,
        glue: tools,
        metadata: tools.metadata(),
        plans: Some(tools.plans()),
    };
    let Linked { elf, placement } = job.link()?;
    let mut origins = SmallVec::new();
    for part in parts {
        // A vertex shader compiled whole without a fragment shader is compiled for none.
        let (stage, paired) = (part.object.stage(), parts.len() > 1 && part.object.interface().is_paired());
        origins.push(PartOrigin { stage, hit: part.hit, paired, bytes: part.bytes });
    }
    Ok(PipelineOutcome::Built(Built { elf, route, placement, parts: origins }))
}

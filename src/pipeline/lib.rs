//! Builds a pipeline from its shaders: linked from parts where possible, compiled as a whole otherwise.
//!
//! The parts come from a [`Toolchain`]; the linker does not use it. Parts that were compiled for each other are used if the
//! toolchain has them or makes them. A whole-pipeline compile takes the same path with every item known; the same link, with
//! empty glue, joins its parts. [`recipe`] is the order of these steps, which the runtime and the service follow too.

pub mod keys;
mod known;
pub mod recipe;
mod shader;
pub mod toolchain;

pub use shader::ShaderRef;

use crate::toolchain::{Pair, PairNote, PartRef, ReadyPart, Toolchain};
use dovetail_abi::layout::PreparedLayout;
use dovetail_base::error::{Context, Error, FullCompile, Result};
use dovetail_base::target::{Gpu, Stage};
use dovetail_cache::Key;
use dovetail_compile::request::{KnownState, StageRequest, TuningOptions};
use dovetail_compile::{for_fragment, for_vertex, needs_variant};
use dovetail_link::{Job, Linked, Object, Placement};
use dovetail_metadata::interface::StageInterface;
use dovetail_state::{PipelineState, ResourceLayout};
use recipe::{Need, Recipe, VariantOrder, compile_order};
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

    fn given_layout(&self) -> Option<&'a ResourceLayout> {
        self.layout.map(PreparedLayout::given)
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

type PartsRecipe<'t, 's> = Recipe<'t, &'t ShaderRef<'s>, PartRef<'t>>;

impl AsRef<StageInterface> for PartRef<'_> {
    fn as_ref(&self) -> &StageInterface {
        self.object.interface()
    }
}

/// Links a pipeline, or compiles it as a whole if the link requires it.
///
/// # Errors
/// Those of the compiler and the linker for the shaders or the state; `NeedsFullCompile` only if there is no compiler, and
/// the pipeline compiled as a whole is not in the cache.
pub fn build(request: &PipelineRequest<'_>, tools: &Toolchain<'_>) -> Result<PipelineOutcome> {
    let Some(near) = near_parts(request, tools) else { return built(request, tools, None) };
    debug_assert!(is_chosen(request, tools, near), "other parts are near than are chosen");
    match finish(request, tools, &near, Route::Linked) {
        Err(refused) => built(request, tools, Some(refused)),
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
    let mut recipe = Recipe::whole(shaders(request), Cow::Borrowed(request.state), request.given_layout());
    let route = Route::Whole(reason.map(ToString::to_string));
    drive(request, tools, &mut recipe, |parts, _| finish(request, tools, parts, route.clone()))
}

/// The parts that the recipe selects for a vertex and a fragment shader, if all are near their shaders: what most builds of a
/// process link. A link takes about a microsecond, so the recipe's own work and its search for each part would be a noticeable
/// share of it. This takes the steps from *Part* to *Pair* with a few comparisons; a state that asks for a variant, and anything
/// that is not near, it leaves to the recipe.
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

/// Whether these are the parts that the recipe selects.
fn is_chosen(request: &PipelineRequest<'_>, tools: &Toolchain<'_>, near: [&ReadyPart; 2]) -> bool {
    let mut same = false;
    let linked = drive(request, tools, &mut linked_recipe(request), |parts, route| {
        let each = parts.iter().zip(near).all(|(part, near)| Arc::ptr_eq(&part.object, &near.object));
        same = each && route == Route::Linked;
        Err(Error::bug("only compared"))
    });
    same && linked.is_err()
}

/// The shaders in the order in which they are compiled.
fn shaders<'t, 's>(request: &'t PipelineRequest<'s>) -> SmallVec<[(Stage, &'t ShaderRef<'s>); 2]> {
    let mut shaders: SmallVec<_> = request.shaders.iter().map(|shader| (shader.stage(), shader)).collect();
    shaders.sort_by_key(|(stage, _)| compile_order(*stage));
    shaders
}

fn linked_recipe<'t, 's>(request: &'t PipelineRequest<'s>) -> PartsRecipe<'t, 's> {
    let (state, layout) = (Cow::Borrowed(request.state), request.given_layout());
    Recipe::linked(shaders(request), state, layout, VariantOrder::AfterParts)
}

/// Builds a pipeline by its recipe; `refused` is the error of a link that was tried before.
fn built(request: &PipelineRequest<'_>, tools: &Toolchain<'_>, refused: Option<Error>) -> Result<PipelineOutcome> {
    let mut recipe = linked_recipe(request);
    refused.map_or(Ok(()), |refused| recipe.refuse(refused))?;
    let outcome = drive(request, tools, &mut recipe, |parts, route| finish(request, tools, parts, route))?;
    match (outcome, recipe.into_refusal()) {
        (PipelineOutcome::NotCached(_), Some(refusal)) => Err(refusal),
        (outcome, _) => Ok(outcome),
    }
}

/// Obtains what a recipe needs from the cache or the compiler; `link` links the parts.
fn drive<'t, 's>(
    request: &'t PipelineRequest<'s>,
    tools: &'t Toolchain<'_>,
    recipe: &mut PartsRecipe<'t, 's>,
    mut link: impl FnMut(&[&ReadyPart], Route) -> Result<PipelineOutcome>,
) -> Result<PipelineOutcome> {
    let give = |recipe: &mut PartsRecipe<'t, 's>, shader: &ShaderRef<'_>, part| {
        if recipe.give(part) { None } else { Some(PipelineOutcome::NotCached(shader.stage())) }
    };
    loop {
        let outcome = match recipe.next() {
            Need::Part(&shader) => shader.part(request, None, tools).map(|part| give(recipe, shader, part)),
            Need::Variant(&shader, known) => {
                shader.part(request, Some(&known), tools).map(|part| give(recipe, shader, part))
            }
            // An error only means that no constants are known.
            Need::Constants(&shader) => Ok(give(recipe, shader, shader.part(request, None, tools).ok().flatten())),
            Need::Whole(&shader, known) => {
                let part = tools.part(shader.module(), &request.stage(shader, known));
                part.at(|| format!("{} shader", shader.stage())).map(|part| give(recipe, shader, part))
            }
            Need::Pair { shaders, parts } => pair(request, tools, shaders.map(|shader| *shader), parts).map(|pair| {
                recipe.give_pair(pair);
                None
            }),
            Need::Link(parts) => link(&vertex_first(parts), Route::Linked).map(Some),
            Need::LinkWhole(parts) => {
                let reason = recipe.refusal().and_then(Error::full_compile).map(ToString::to_string);
                link(&vertex_first(parts), Route::Whole(reason)).map(Some)
            }
        };
        match outcome {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(e) => recipe.refuse(e)?,
        }
    }
}

/// The parts in the order in which a [`Built`] lists them, opposite to that in which they are compiled.
fn vertex_first<'p>(parts: &'p [PartRef<'_>]) -> SmallVec<[&'p ReadyPart; 2]> {
    parts.iter().rev().map(|part| &**part).collect()
}

/// The pair for two parts: from the cache, or compiled if the toolchain makes pairs.
fn pair<'t>(
    request: &PipelineRequest<'_>,
    tools: &'t Toolchain<'_>,
    shaders: [&ShaderRef<'_>; 2],
    [vertex, fragment]: [&PartRef<'t>; 2],
) -> Result<Option<[PartRef<'t>; 2]>> {
    Ok(match tools.pair(vertex, fragment)? {
        Some(Cow::Borrowed(pair)) => Some(pair.each_ref().map(PartRef::Kept)),
        Some(Cow::Owned(pair)) => Some(pair.map(|part| PartRef::Own(Box::new(part)))),
        None if tools.makes_pairs() => Some(make_pair(request, tools, shaders, [vertex, fragment])?),
        None => None,
    })
}

/// Compiles two stages for each other: the fragment stage with the vertex shader's constants, if it reads any, then the vertex
/// stage for the remaining reads.
fn make_pair<'t>(
    request: &PipelineRequest<'_>,
    tools: &'t Toolchain<'_>,
    [vertex_shader, fragment_shader]: [&ShaderRef<'_>; 2],
    early: [&PartRef<'t>; 2],
) -> Result<[PartRef<'t>; 2]> {
    let [vertex, fragment] = early.map(|part| part.object.interface());
    let make = |shader: &ShaderRef<'_>, known: KnownState| -> Result<(PartRef<'t>, Key)> {
        let part = tools.part_of_pair(shader.module(), &request.stage(shader, known));
        part.at(|| format!("{} shader", shader.stage()))
    };
    let made = for_vertex(vertex, fragment).map(|known| make(fragment_shader, known)).transpose()?;
    let (fragment, fragment_key) = match made {
        Some((part, key)) => (part, Some(key)),
        None => (early[1].clone(), None),
    };
    let known =
        for_fragment(fragment.object.interface()).ok_or_else(|| Error::bug("a pair without a fragment part"))?;
    let (vertex, vertex_key) = make(vertex_shader, known)?;
    tools.keep_pair(
        early.map(|part| &**part),
        [&vertex, &fragment],
        PairNote { vertex: vertex_key, fragment: fragment_key },
    )?;
    Ok([vertex, fragment])
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

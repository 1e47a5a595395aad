//! Turns parts into a pipeline: linked, or taken from the cache as a whole-pipeline compile if linking is impossible or
//! not wanted.
//!
//! The cache holds a whole-pipeline compile as two parts that were compiled with everything known, under the keys of
//! the requests that `pipeline::build_whole` makes. They are linked with empty glue.

use super::answer::{Answer, PipelineRoute};
use super::context::{Context, Shared, count};
use super::flags::PipelineFlags;
use super::layout::Layout;
use super::search::Search;
use super::shader::{Shader, ShaderPart};
use dovetail_abi::layout::PreparedLayout;
use dovetail_base::error::{Error, Result};
use dovetail_compile::needs_variant;
use dovetail_link::{Job, Object, Placement, SharedGlue, Size};
use dovetail_pipeline::recipe::{Recipe, VariantOrder};
use dovetail_state::PipelineState;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Highest number of shaders in a pipeline.
pub(super) const MAX_STAGES: usize = 8;

/// Shaders in the order given.
pub(super) type Stages<'a> = SmallVec<[&'a ShaderPart; MAX_STAGES]>;

/// Parameters of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct PipelineInfo<'a> {
    /// A vertex shader, a vertex and a fragment shader, or a compute shader; all of one context.
    pub shaders: &'a [&'a Shader],
    /// Offsets of descriptors and push constants; the state's own layout is ignored.
    pub layout: &'a Layout,
    /// State. Its specialization values are ignored too: the shaders have them.
    pub state: &'a PipelineState,
    /// Placement of the parts' code.
    pub placement: Placement,
    /// Permissions and preferences.
    pub flags: PipelineFlags,
    /// Priority with which a service compiles missing parts, as in shaders.
    pub priority: u32,
    /// User data, returned in events.
    pub user: u64,
}

impl std::fmt::Debug for Shader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shader").field(self.0.request()).finish()
    }
}

impl Context {
    /// Links into the caller's memory, without a handle.
    ///
    /// # Errors
    /// Malformed: not a valid pipeline, or the state lacks what the shaders use. Needs a full compile: the parts cannot
    /// be linked with this state, and the cache does not have the pipeline compiled as a whole. Environment: after a
    /// fork.
    pub fn link_into(&self, info: &PipelineInfo<'_>, out: &mut [u8]) -> Result<Answer<(Size, PipelineRoute)>> {
        let shared = self.shared()?;
        if let Some(size) = link_as_usual(shared, info, out) {
            return Ok(Answer::Ready((size, PipelineRoute::Linked)));
        }
        let stages = self.stages(info.shaders)?;
        link(shared, &stages, &info.layout.0, info.state, info.placement, info.flags, |job| job.link_into(out))
    }

    /// The parts of shaders, which must belong to this context.
    pub(super) fn stages<'a>(&self, shaders: &[&'a Shader]) -> Result<Stages<'a>> {
        let shared = self.shared()?;
        if shaders.len() > MAX_STAGES {
            return Err(Error::malformed(format!("{} shaders in one pipeline", shaders.len())));
        }
        if shaders.iter().any(|shader| !Arc::ptr_eq(&shader.0.shared, shared)) {
            return Err(Error::malformed("a shader of another context"));
        }
        Ok(shaders.iter().map(|shader| &*shader.0).collect())
    }
}

/// A link job without parts yet, with the context's plans.
fn job<'a>(
    shared: &'a Shared,
    layout: &'a PreparedLayout,
    state: &'a PipelineState,
    placement: Placement,
    flags: PipelineFlags,
) -> Job<'a> {
    Job {
        objects: &[],
        state,
        layout: layout.resolved(),
        placement,
        glue: &SharedGlue,
        metadata: flags.metadata(),
        plans: Some(&shared.plans),
    }
}

/// Links what nearly every call has: one or two parts in memory that serve the state as they are, without specialization
/// values and without other parts compiled for each other. [`link()`] considers everything; that takes a twentieth of a link.
/// This is a shortcut past the steps of the recipe that have nothing to do here: with each part in memory there is no *Part* to
/// look for, no *Variant* is needed, and a cache without pairs has no *Pair*.
///
/// `None` if any of this is not so, and after an error, which the long way finds again.
fn link_as_usual(shared: &Arc<Shared>, info: &PipelineInfo<'_>, out: &mut [u8]) -> Option<Size> {
    let PipelineInfo { layout, state, placement, flags, .. } = *info;
    let whole = flags.has(PipelineFlags::LINK_TIME_OPTIMIZATION) || flags.has(PipelineFlags::PREFER_OPTIMIZED);
    if whole || !state.specialization.is_empty() || shared.has_pairs() {
        return None;
    }
    let (one, two);
    let objects: &[&Object] = match *info.shaders {
        [only] => {
            one = [as_it_is(shared, only, state)?];
            &one
        }
        [a, b] => {
            two = [as_it_is(shared, a, state)?, as_it_is(shared, b, state)?];
            &two
        }
        _ => return None,
    };
    let size = Job { objects, ..job(shared, &layout.0, state, placement, flags) }.link_into(out).ok()?;
    count(&shared.counters.links);
    Some(size)
}

/// The part in memory of a shader of this context, if it serves the state and has no specialization values.
fn as_it_is<'a>(shared: &Arc<Shared>, shader: &'a Shader, state: &PipelineState) -> Option<&'a Object> {
    let part = &*shader.0;
    let object = part.in_memory().filter(|_| Arc::ptr_eq(&part.shared, shared) && part.has_no_values())?;
    (!needs_variant(state, object.interface())).then_some(object)
}

/// Links according to the flags; `finish` writes the ELF.
///
/// # Errors
/// As [`Context::link_into`].
pub(super) fn link<T, F: FnMut(&Job<'_>) -> Result<T>>(
    shared: &Shared,
    stages: &[&ShaderPart],
    layout: &PreparedLayout,
    state: &PipelineState,
    placement: Placement,
    flags: PipelineFlags,
    mut finish: F,
) -> Result<Answer<(T, PipelineRoute)>> {
    let state = &*specialized(state, stages);
    let disk = !flags.has(PipelineFlags::NO_DISK);
    let search = Search { shared, job: job(shared, layout, state, placement, flags), disk };
    let shaders = || stages.iter().map(|part| (part.stage(), *part));
    let (state, layout) = (Cow::Borrowed(state), Some(layout.given()));
    let only_whole = flags.has(PipelineFlags::LINK_TIME_OPTIMIZATION);
    if only_whole || flags.has(PipelineFlags::PREFER_OPTIMIZED) {
        // Every use of a shader looks for its part, although a whole-pipeline compile may do without.
        stages.iter().for_each(|part| _ = part.available(disk));
        match search.run(Recipe::whole(shaders(), state.clone(), layout), &mut finish) {
            answer if only_whole => return answer,
            Ok(Answer::Ready(found)) => return Ok(Answer::Ready(found)),
            _ => {}
        }
    }
    search.run(Recipe::linked(shaders(), state, layout, VariantOrder::WithParts), finish)
}

/// The state with the shaders' specialization values, which the link compares with those that the parts were compiled
/// for. Copied only if they differ.
pub(super) fn specialized<'s>(state: &'s PipelineState, stages: &[&ShaderPart]) -> Cow<'s, PipelineState> {
    // Most have none, and comparing chains of empty lists takes a twentieth of a link.
    if state.specialization.is_empty() && stages.iter().all(|part| part.has_no_values()) {
        return Cow::Borrowed(state);
    }
    let values = || stages.iter().flat_map(|part| part.specialization());
    if values().eq(state.specialization.iter().cloned()) {
        return Cow::Borrowed(state);
    }
    Cow::Owned(PipelineState { specialization: values().collect(), ..state.clone() })
}

/// Links parts compiled with everything known, which adds only empty glue.
///
/// # Errors
/// Those of the parts or the state; never that a whole-pipeline compile is needed.
pub(super) fn link_whole(
    shared: &Shared,
    parts: &[Arc<Object>],
    layout: &PreparedLayout,
    state: &PipelineState,
    placement: Placement,
    flags: PipelineFlags,
) -> Result<Vec<u8>> {
    let objects: SmallVec<[&Object; MAX_STAGES]> = parts.iter().map(|part| &**part).collect();
    let job = Job { objects: &objects, ..job(shared, layout, state, placement, flags) };
    Ok(job.link().map_err(Error::of_whole_compile)?.elf)
}

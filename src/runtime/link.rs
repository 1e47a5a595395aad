//! Turns parts into a pipeline: linked, or taken from the cache as a whole-pipeline compile if linking is impossible or
//! not wanted.
//!
//! The cache holds a whole-pipeline compile as two parts that were compiled with everything known, under the keys of
//! the requests that `pipeline::build_whole` makes. They are linked with empty glue.

use super::context::{Context, Shared, count};
use super::flags::PipelineFlags;
use super::layout::Layout;
use super::shader::{Shader, ShaderPart};
use crate::abi::layout::PreparedLayout;
use crate::compile::needs_variant;
use crate::compile::request::StageRequest;
use crate::error::{Context as _, Error, FullCompile, Result};
use crate::keys;
use crate::link::{Job, Object, Placement, SharedGlue, Size};
use crate::pipeline::{everything_known, only_for, taken_constants};
use crate::state::{Known, PipelineState};
use crate::target::Stage;
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

/// How a pipeline was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineRoute {
    /// Linked from parts that were compiled without state.
    Linked,
    /// Compiled as a whole, by the program that filled the cache or by a service; the reason, if linking was tried.
    Whole(Option<FullCompile>),
    /// Linked first, then replaced by a whole-pipeline compile of the service; the text says why that is better.
    Optimized(String),
}

/// Result of a request for something that may not be available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// Available.
    Ready(T),
    /// The part of this stage is not in memory and the disk was not checked, or it was requested from a service.
    Pending(Stage),
    /// The part of this stage is not in the cache.
    NotCached(Stage),
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
    let job = job(shared, layout, state, placement, flags);
    let whole = |reason: Option<&FullCompile>, finish: &mut F| {
        let parts = match whole(shared, stages, layout, state, !flags.has(PipelineFlags::NO_DISK))? {
            Answer::Ready(parts) => parts,
            Answer::Pending(stage) => return Ok(Answer::Pending(stage)),
            Answer::NotCached(stage) => return Ok(Answer::NotCached(stage)),
        };
        let objects: SmallVec<[&Object; MAX_STAGES]> = parts.iter().map(|part| &**part).collect();
        let linked = finish(&Job { objects: &objects, ..job }).map_err(Error::of_whole_compile)?;
        count(&shared.counters.wholes);
        Ok::<_, Error>(Answer::Ready((linked, PipelineRoute::Whole(reason.cloned()))))
    };
    if flags.has(PipelineFlags::LINK_TIME_OPTIMIZATION) {
        return whole(None, &mut finish);
    }
    if flags.has(PipelineFlags::PREFER_OPTIMIZED)
        && let Ok(Answer::Ready(found)) = whole(None, &mut finish)
    {
        return Ok(Answer::Ready(found));
    }
    let disk = !flags.has(PipelineFlags::NO_DISK);
    let mut early: SmallVec<[&Object; MAX_STAGES]> = SmallVec::new();
    let mut varied = false;
    for part in stages {
        match part.object(disk)? {
            Answer::Ready(object) => {
                let variant = part.variant_for(state);
                varied |= variant.is_some();
                // Without its variant, the link reports why it needs a whole-pipeline compile.
                early.push(variant.and_then(|variant| variant.available(disk)).unwrap_or(object));
            }
            Answer::Pending(stage) => return Ok(Answer::Pending(stage)),
            Answer::NotCached(stage) => return Ok(Answer::NotCached(stage)),
        }
    }
    let pair = match vertex_and_fragment(&early).filter(|_| !varied) {
        Some(early) => shared.pair(early, disk)?,
        None => None,
    };
    // A new variable, because it borrows from the pair and so must be dropped before it.
    let mut objects = early;
    if let Some(pair) = &pair {
        objects.iter_mut().for_each(|object| *object = pair.instead_of(object));
    }
    match finish(&Job { objects: &objects, ..job }) {
        Ok(linked) => {
            count(&shared.counters.links);
            Ok(Answer::Ready((linked, PipelineRoute::Linked)))
        }
        Err(e) => {
            let Some(reason) = e.full_compile() else { return Err(e) };
            match whole(Some(reason), &mut finish) {
                Ok(Answer::Ready(found)) => return Ok(Answer::Ready(found)),
                // The disk may have it, or the variant without which it cannot be linked.
                Ok(Answer::Pending(stage)) => return Ok(Answer::Pending(stage)),
                // The whole-pipeline compile is not cached either, so report the link's reason.
                Ok(Answer::NotCached(_)) | Err(_) => {}
            }
            count(&shared.counters.needs_whole);
            Err(e)
        }
    }
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

/// The vertex and the fragment part, if there are no others.
fn vertex_and_fragment<'o>(objects: &[&'o Object]) -> Option<[&'o Object; 2]> {
    match *objects {
        [a, b] if a.stage().feeds_the_rasterizer() && b.stage().reads_parameters() => Some([a, b]),
        [a, b] if b.stage().feeds_the_rasterizer() && a.stage().reads_parameters() => Some([b, a]),
        _ => None,
    }
}

type WholeParts = SmallVec<[Arc<Object>; MAX_STAGES]>;

/// The parts of the whole-pipeline compile, if the cache has them: the fragment stage first, because the vertex stage
/// depends on what it reads. The fragment stage knows the constants that the vertex part lists, if that part is available.
fn whole(
    shared: &Shared,
    stages: &[&ShaderPart],
    layout: &PreparedLayout,
    state: &PipelineState,
    disk: bool,
) -> Result<Answer<WholeParts>> {
    let mut order: Stages<'_> = stages.into();
    order.sort_by_key(|part| std::cmp::Reverse(part.stage()));
    let compiler = shared.compiler(disk)?;
    // The same rule as in the compile.
    let mut early: SmallVec<[&Object; MAX_STAGES]> = SmallVec::new();
    for part in stages {
        early.extend(part.available(disk));
    }
    let constants = vertex_and_fragment(&early).map_or(Known::Unknown, taken_constants);
    let mut parts = WholeParts::new();
    for part in order {
        let stage = part.stage();
        let before = parts.last().map(|part| &**part);
        let known = everything_known(state, layout.given(), constants.clone(), before);
        let known = only_for(stage, known, part.operands().to_vec());
        let request = StageRequest { known, ..part.request().clone() };
        let found = match compiler {
            Some(compiler) => shared.part(&keys::stage(&request, compiler)?, disk).at(|| format!("{stage} shader"))?,
            None => None,
        };
        match found {
            Some(part) => parts.push(part),
            None if disk => return Ok(Answer::NotCached(stage)),
            None => return Ok(Answer::Pending(stage)),
        }
    }
    Ok(Answer::Ready(parts))
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

//! Statuses of the runtime in the numbers of the header.

use super::guard::code;
use super::types::*;
use crate::error::{Error, FullCompile};
use crate::runtime::{self, EventKind, Phase, Route};

pub(super) fn reason(reason: Option<&FullCompile>) -> u32 {
    match reason {
        None => DVT_REASON_NONE,
        Some(FullCompile::Specialization { .. }) => DVT_REASON_SPECIALIZATION,
        Some(FullCompile::TooManyValues { .. }) => DVT_REASON_TOO_MANY_VALUES,
        Some(FullCompile::ResourceLayout { .. }) => DVT_REASON_RESOURCE_LAYOUT,
        Some(FullCompile::State { .. }) => DVT_REASON_STATE,
        Some(FullCompile::Mismatch { .. }) => DVT_REASON_MISMATCH,
    }
}

/// The result code and the error of a shader.
pub(super) fn shader(status: &runtime::ShaderStatus) -> (i32, Option<&Error>) {
    match status {
        runtime::ShaderStatus::Ready => (DVT_OK, None),
        runtime::ShaderStatus::Pending => (DVT_PENDING, None),
        runtime::ShaderStatus::NotCached => (DVT_NOT_CACHED, None),
        runtime::ShaderStatus::Failed(e) => (code(e), Some(e)),
    }
}

/// The result code and the error of a pipeline.
pub(super) fn pipeline(phase: &Phase) -> (i32, Option<&Error>) {
    match phase {
        Phase::Pending(_) => (DVT_PENDING, None),
        Phase::NotCached(_) => (DVT_NOT_CACHED, None),
        Phase::NeedsWhole(e) => (DVT_NEEDS_FULL_COMPILE, Some(e)),
        Phase::Done(_) => (DVT_OK, None),
        Phase::Failed(e) => (code(e), Some(e)),
    }
}

/// What people should read about a pipeline.
pub(super) fn text(phase: &Phase) -> String {
    match phase {
        Phase::Pending(stage) => format!("the {stage} shader is not in memory, and the disk was not asked"),
        Phase::NotCached(stage) => format!("the {stage} shader is not in the cache"),
        Phase::Done(Route::Linked) => "linked".into(),
        Phase::Done(Route::Whole(None)) => "compiled whole, as was asked".into(),
        Phase::Done(Route::Whole(Some(why))) => format!("compiled whole: {why}"),
        Phase::NeedsWhole(e) | Phase::Failed(e) => e.to_string(),
    }
}

fn state(result: i32) -> u32 {
    match result {
        DVT_OK => DVT_STATE_READY,
        DVT_PENDING => DVT_STATE_PENDING,
        DVT_NOT_CACHED => DVT_STATE_NOT_CACHED,
        DVT_NEEDS_FULL_COMPILE => DVT_STATE_NEEDS_FULL_COMPILE,
        _ => DVT_STATE_FAILED,
    }
}

impl ShaderStatus {
    pub(super) fn of(status: &runtime::ShaderStatus) -> Self {
        let (result, _) = shader(status);
        Self { size: 0, state: state(result), error: result.min(DVT_OK), reserved: 0 }
    }
}

impl PipelineStatus {
    pub(super) fn of(status: &runtime::PipelineStatus) -> Self {
        let (result, error) = pipeline(&status.phase);
        let (route, taken) = match &status.phase {
            Phase::Done(Route::Linked) => (DVT_ROUTE_LINKED, None),
            Phase::Done(Route::Whole(why)) => (DVT_ROUTE_WHOLE, why.as_ref()),
            _ => (DVT_ROUTE_NONE, None),
        };
        Self {
            size: 0,
            state: state(result),
            generation: status.generation,
            route,
            reason: reason(taken.or(error.and_then(Error::full_compile))),
            error: result.min(DVT_OK),
            bytes: status.bytes as u64,
            used: status.used,
        }
    }
}

impl Event {
    pub(super) fn of(event: &runtime::Event) -> Self {
        let kind = match event.kind {
            EventKind::Shader => DVT_EVENT_SHADER,
            EventKind::Pipeline => DVT_EVENT_PIPELINE,
        };
        let result = event.failure.as_ref().map_or(DVT_OK, code);
        Self { size: 0, kind, user: event.user, generation: event.generation, result }
    }
}

impl Stats {
    pub(super) fn of(stats: &runtime::Stats) -> Self {
        let runtime::Stats { links, wholes, needs_whole, memory_hits, disk_hits, misses, bad, memory_bytes } = *stats;
        Self {
            size: 0,
            flags: 0,
            links,
            wholes,
            needs_full_compile: needs_whole,
            memory_hits,
            disk_hits,
            misses,
            bad,
            memory_bytes,
        }
    }
}

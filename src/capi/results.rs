//! Conversion of the runtime's statuses to the numbers of the header.

use super::guard::code;
use super::types::*;
use dovetail_base::error::{Error, FullCompile};
use dovetail_runtime as runtime;
use dovetail_runtime::{EventKind, Optimization, Phase, PipelineRoute, Reach};

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

/// Result code and error of a shader.
pub(super) fn shader(status: &runtime::ShaderStatus) -> (i32, Option<&Error>) {
    match status {
        runtime::ShaderStatus::Ready => (DVT_OK, None),
        runtime::ShaderStatus::Pending => (DVT_PENDING, None),
        runtime::ShaderStatus::NotCached => (DVT_NOT_CACHED, None),
        runtime::ShaderStatus::Failed(e) => (code(e), Some(e)),
    }
}

/// Result code and error of a pipeline.
pub(super) fn pipeline(phase: &Phase) -> (i32, Option<&Error>) {
    match phase {
        Phase::Pending(_) | Phase::CompilingWhole(_) => (DVT_PENDING, None),
        Phase::NotCached(_) => (DVT_NOT_CACHED, None),
        Phase::NeedsWhole(e) => (DVT_NEEDS_FULL_COMPILE, Some(e)),
        Phase::Done(_) => (DVT_OK, None),
        Phase::Failed(e) => (code(e), Some(e)),
    }
}

/// Result code of a wait for a generation, given the `result` of the pipeline's phase.
pub(super) fn waited(status: &runtime::PipelineStatus, generation: u32, result: i32) -> i32 {
    match result {
        _ if status.generation >= generation => DVT_OK,
        DVT_PENDING | DVT_OK if status.coming >= generation => DVT_TIMEOUT,
        DVT_PENDING | DVT_OK => DVT_NOT_CACHED,
        result => result,
    }
}

/// Status of a pipeline as text.
pub(super) fn text(status: &runtime::PipelineStatus) -> String {
    let phase = match &status.phase {
        Phase::Pending(stage) => format!("the {stage} shader is pending"),
        Phase::NotCached(stage) => format!("the {stage} shader is not in the cache"),
        Phase::CompilingWhole(e) => format!("being compiled as a whole: {e}"),
        Phase::Done(PipelineRoute::Linked) => "linked".into(),
        Phase::Done(PipelineRoute::Whole(None)) => "compiled as a whole, as requested".into(),
        Phase::Done(PipelineRoute::Whole(Some(why))) => format!("compiled as a whole: {why}"),
        Phase::Done(PipelineRoute::Optimized(why)) => format!("linked, then compiled as a whole: {why}"),
        Phase::NeedsWhole(e) | Phase::Failed(e) => e.to_string(),
    };
    match &status.optimization {
        Optimization::None | Optimization::Offered | Optimization::Taken => phase,
        Optimization::Kept(why) => format!("{phase}; compiling it as a whole is no better: {why}"),
        Optimization::Failed(e) => format!("{phase}; it could not be compiled as a whole: {e}"),
    }
}

/// State of the service, as `DVT_SERVICE_…` and as text.
pub(super) fn service(reach: &Reach) -> (u32, String) {
    match reach {
        Reach::None => (DVT_SERVICE_NONE, "none".into()),
        Reach::Idle => (DVT_SERVICE_IDLE, "nothing was requested yet".into()),
        Reach::Connecting => (DVT_SERVICE_CONNECTING, "connecting".into()),
        Reach::Connected(None) => (DVT_SERVICE_CONNECTED, "connected".into()),
        Reach::Connected(Some(why)) => {
            (DVT_SERVICE_CONNECTED, format!("connected; all results are sent over the socket, because {why}"))
        }
        Reach::Away(why) => (DVT_SERVICE_AWAY, why.to_string()),
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
        let why = match &status.phase {
            Phase::CompilingWhole(why) => Some(why),
            _ => error,
        };
        let (route, taken) = match &status.phase {
            Phase::Done(PipelineRoute::Linked) => (DVT_ROUTE_LINKED, None),
            Phase::Done(PipelineRoute::Whole(why)) => (DVT_ROUTE_WHOLE, why.as_ref()),
            Phase::Done(PipelineRoute::Optimized(_)) => (DVT_ROUTE_OPTIMIZED, None),
            _ => (DVT_ROUTE_NONE, None),
        };
        Self {
            size: 0,
            state: state(result),
            generation: status.generation,
            route,
            reason: reason(taken.or(why.and_then(Error::full_compile))),
            error: result.min(DVT_OK),
            bytes: status.bytes as u64,
            used: status.used,
            optimization: match status.optimization {
                Optimization::None => DVT_OPTIMIZATION_NONE,
                Optimization::Offered => DVT_OPTIMIZATION_OFFERED,
                Optimization::Taken => DVT_OPTIMIZATION_TAKEN,
                Optimization::Kept(_) => DVT_OPTIMIZATION_KEPT,
                Optimization::Failed(_) => DVT_OPTIMIZATION_FAILED,
            },
            reserved: 0,
        }
    }
}

impl Event {
    pub(super) fn of(event: &runtime::Event) -> Self {
        let kind = match event.kind {
            EventKind::Shader => DVT_EVENT_SHADER,
            EventKind::Pipeline => DVT_EVENT_PIPELINE,
            EventKind::Service => DVT_EVENT_SERVICE,
        };
        let result = match &event.failure {
            Some(e) => code(e),
            None if event.not_cached => DVT_NOT_CACHED,
            None => DVT_OK,
        };
        Self { size: 0, kind, user: event.user, generation: event.generation, result }
    }
}

impl Stats {
    pub(super) fn of(stats: &runtime::Stats, reach: &Reach) -> Self {
        let runtime::Stats {
            links,
            wholes,
            needs_whole,
            memory_hits,
            disk_hits,
            misses,
            bad,
            memory_bytes,
            asked,
            answered,
            failed,
            optimized,
            imported,
            left_out,
            imports_refused,
            events_dropped,
        } = *stats;
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
            asked,
            answered,
            failed,
            optimized,
            service: service(reach).0,
            reserved: 0,
            imported,
            left_out,
            imports_refused,
            events_dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_times_out_only_for_what_is_coming() {
        let waited = |generation, coming, wanted, result| {
            let (phase, optimization) = (Phase::Done(PipelineRoute::Linked), Optimization::None);
            let status = runtime::PipelineStatus { phase, generation, coming, optimization, bytes: 0, used: 0 };
            super::waited(&status, wanted, result)
        };
        assert_eq!([waited(0, 2, 0, DVT_PENDING), waited(1, 1, 1, DVT_OK), waited(2, 2, 1, DVT_OK)], [DVT_OK; 3]);
        assert_eq!([waited(0, 2, 1, DVT_PENDING), waited(1, 2, 2, DVT_OK)], [DVT_TIMEOUT; 2]);
        assert_eq!([waited(0, 2, 3, DVT_PENDING), waited(1, 1, 2, DVT_OK)], [DVT_NOT_CACHED; 2]);
        assert_eq!(waited(0, 0, 1, DVT_E_MALFORMED), DVT_E_MALFORMED);
    }
}

//! Entry points of the C header for pipelines.

use super::super::guard::{Answer, Failure, guard, guard_or, remember};
use super::super::results;
use super::super::state::{fill, flags, placement};
use super::super::types::*;
use super::{
    MAX_ITEMS, check, fill_memory, give, handle, input, key, list, outcome, output, patience, take, terminated,
};
use dovetail_base::error::Error;
use dovetail_runtime as runtime;
use dovetail_runtime::{Answer as Found, Size};
use dovetail_state::{PipelineState, ResourceLayout};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// Layout of pipelines that have none.
static EMPTY: OnceLock<runtime::Layout> = OnceLock::new();

thread_local! {
    /// State of this thread's last link; the next link reuses its memory.
    static STATE: RefCell<PipelineState> = RefCell::default();
}

/// Calls `run` with a pipeline's parameters, after copying and checking their lists.
///
/// # Safety
/// C's promise.
unsafe fn with_pipeline(
    info: *const PipelineInfo,
    run: impl FnOnce(&runtime::PipelineInfo<'_>) -> Answer<i32>,
) -> Answer<i32> {
    // SAFETY: C's promise.
    let info = unsafe { input("info", info) }?;
    // SAFETY: C's promise.
    let (shaders, buffers, attributes, attachments) = unsafe {
        (
            list("shaders", info.shaders, info.shader_count as usize, MAX_ITEMS)?,
            list("vertex_bindings", info.vertex_bindings, info.vertex_binding_count as usize, MAX_ITEMS)?,
            list("vertex_attributes", info.vertex_attributes, info.vertex_attribute_count as usize, MAX_ITEMS)?,
            list("attachments", info.attachments, info.attachment_count as usize, MAX_ITEMS)?,
        )
    };
    let mut given: SmallVec<[&runtime::Shader; 8]> = SmallVec::new();
    for shader in shaders {
        // SAFETY: C's promise.
        given.push(&unsafe { handle("shaders[n]", *shader) }?.0);
    }
    let layout = match info.layout.is_null() {
        // SAFETY: C's promise.
        false => &unsafe { handle("layout", info.layout) }?.0,
        true => match EMPTY.get() {
            Some(empty) => empty,
            None => {
                let empty = runtime::Layout::new(&ResourceLayout::default())?;
                EMPTY.get_or_init(|| empty)
            }
        },
    };
    // The thread-local is gone while the thread exits; then the state is allocated.
    let mut state = STATE.try_with(|state| state.take()).unwrap_or_default();
    fill(&mut state, &info, buffers, attributes, attachments)?;
    // Lets the link use these values without a copy of the state.
    given.iter().for_each(|shader| state.specialization.extend(shader.specialization()));
    let info = runtime::PipelineInfo {
        shaders: &given,
        layout,
        state: &state,
        placement: placement(info.placement)?,
        flags: flags(info.flags)?,
        priority: info.priority,
        user: info.user,
    };
    let result = run(&info);
    let _ = STATE.try_with(|kept| kept.replace(state));
    result
}

/// Links into the caller's memory without creating a handle. On input `*size` is the size of `out`, on return that of the ELF. On
/// `DVT_INCOMPLETE` nothing is written. The link's temporary memory is freed before the call returns.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_link_into(
    context: *const ContextHandle,
    info: *const PipelineInfo,
    out: *mut c_void,
    size: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let context = unsafe { handle("context", context) }?;
        let mut missing = None;
        let link = |info: &runtime::PipelineInfo<'_>| {
            // SAFETY: C's promise.
            let filled = unsafe {
                fill_memory(out, size, |out| match context.0.link_into(info, out)? {
                    Found::Ready((size, _)) => Ok(size),
                    Found::Pending(_) => {
                        missing = Some(DVT_PENDING);
                        Ok(Size::Written(0))
                    }
                    Found::NotCached(_) => {
                        missing = Some(DVT_NOT_CACHED);
                        Ok(Size::Written(0))
                    }
                })
            };
            Ok(outcome((missing.unwrap_or(filled?), None), &context.0))
        };
        // SAFETY: C's promise.
        unsafe { with_pipeline(info, link) }
    })
}

/// Creates a pipeline and links it if its parts are in memory or the cache; otherwise the context's thread links it when the
/// service has compiled them. Creates a handle on `DVT_OK`, `DVT_PENDING`, `DVT_NOT_CACHED`, `DVT_NEEDS_FULL_COMPILE`, and on the
/// error of a failed link. Without a handle `*out` is NULL.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_create(
    context: *const ContextHandle,
    info: *const PipelineInfo,
    out: *mut *mut PipelineHandle,
) -> i32 {
    let make = || {
        // SAFETY: C's promise.
        let context = unsafe { handle("context", context) }?;
        let mut made = None;
        let make = |info: &runtime::PipelineInfo<'_>| {
            let pipeline = runtime::Pipeline::new(&context.0, info)?;
            let result = outcome(results::pipeline(&pipeline.status()?.phase), &context.0);
            made = Some(PipelineHandle(pipeline));
            Ok(result)
        };
        // SAFETY: C's promise.
        let result = unsafe { with_pipeline(info, make) }?;
        Ok((made.ok_or_else(|| Failure::Of(Error::bug("no pipeline was made")))?, result))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

/// Returns the generation: 0: no ELF; 1: linked, or compiled as a whole; 2: replaced by better code. One relaxed load, cheap
/// enough for each bind. NULL: 0.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_generation(pipeline: *const PipelineHandle) -> u32 {
    // A load cannot panic, so this needs no guard.
    if pipeline.is_null() || !pipeline.is_aligned() {
        return 0;
    }
    // SAFETY: C's promise; it is not null, and aligned.
    unsafe { &*pipeline }.0.generation()
}

/// Returns the address of the generation, valid as long as the pipeline. A relaxed atomic load from it is equivalent to
/// `dvt_pipeline_generation`. Do not write it. NULL for a NULL pipeline.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_generation_at(pipeline: *const PipelineHandle) -> *const u32 {
    if pipeline.is_null() || !pipeline.is_aligned() {
        return std::ptr::null();
    }
    // SAFETY: C's promise; it is not null, and aligned. The handle does not move.
    unsafe { &*pipeline }.0.generation_place().as_ptr().cast_const()
}

/// Returns the status of a pipeline.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_status(pipeline: *const PipelineHandle, out: *mut PipelineStatus) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let status = unsafe { handle("pipeline", pipeline) }?.0.status()?;
        // SAFETY: C's promise.
        unsafe { output("out", out, &PipelineStatus::of(&status)) }?;
        Ok(DVT_OK)
    })
}

/// Copies a text about the status to `buf`: route, missing part, or error. As `dvt_last_error`; returns 0 without a pipeline.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_reason(pipeline: *const PipelineHandle, buf: *mut c_char, size: usize) -> usize {
    // SAFETY: C's promise.
    let text = || Ok(results::text(&unsafe { handle("pipeline", pipeline) }?.0.status()?));
    let text = guard_or(text, |_| String::new());
    // SAFETY: C's promise.
    unsafe { terminated(&text, buf, size) }
}

/// Copies the ELF. On input `*size` is the size of `out`, on return that of the ELF. On `DVT_INCOMPLETE` nothing is written.
/// `generation` may be NULL. `DVT_PENDING` if there is no ELF.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_read(
    pipeline: *const PipelineHandle,
    generation: *mut u32,
    out: *mut c_void,
    size: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let pipeline = unsafe { handle("pipeline", pipeline) }?;
        if !generation.is_null() {
            check("generation", generation)?;
        }
        let mut of = 0;
        let read = |out: &mut [u8]| {
            let Some((size, found)) = pipeline.0.read(out)? else { return Ok(Size::Written(0)) };
            of = found;
            Ok(size)
        };
        // SAFETY: C's promise.
        let result = unsafe { fill_memory(out, size, read) }?;
        if !generation.is_null() {
            // SAFETY: C's promise; it is not null, and aligned.
            unsafe { generation.write(of) };
        }
        Ok(if of == 0 { DVT_PENDING } else { result })
    })
}

/// Waits until the pipeline has reached `generation`, can no longer reach it, or the service is unreachable, for `timeout_ns`
/// nanoseconds at most; `UINT64_MAX` waits without limit. Returns `DVT_OK` if it has that generation, as every pipeline has
/// generation 0; `DVT_TIMEOUT`; `DVT_NOT_CACHED` if nothing will produce that generation, or nothing can while the service is
/// unreachable; else as `dvt_pipeline_create`. Without a service it looks on the disk and returns at once.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_wait(pipeline: *const PipelineHandle, generation: u32, timeout_ns: u64) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let pipeline = &unsafe { handle("pipeline", pipeline) }?.0;
        let status = pipeline.wait(generation, patience(timeout_ns))?;
        let result = outcome(results::pipeline(&status.phase), &pipeline.context());
        let waited = results::waited(&status, generation, result);
        if waited == DVT_NOT_CACHED && result != waited {
            remember(format!("generation {generation} is not coming"));
        }
        Ok(waited)
    })
}

/// Returns a 256-bit key of what the pipeline was made of: shaders, state, placement, compiler. Its linked and its whole ELF, and
/// all generations, have the same key. It fits `VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR`.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_key(pipeline: *const PipelineHandle, out: *mut Key) -> i32 {
    // SAFETY: C's promise.
    guard(|| unsafe { key(out, handle("pipeline", pipeline)?.0.key()) })
}

/// Reports draws. One relaxed addition. NULL is ignored.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_used(pipeline: *const PipelineHandle, draws: u32) {
    if !pipeline.is_null() && pipeline.is_aligned() {
        // SAFETY: C's promise; it is not null, and aligned.
        unsafe { &*pipeline }.0.used(draws);
    }
}

/// Changes the compile priority. NULL is ignored, and so is a handle from before a fork.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_set_priority(pipeline: *const PipelineHandle, priority: u32) {
    if !pipeline.is_null() && pipeline.is_aligned() {
        // SAFETY: C's promise; it is not null, and aligned.
        unsafe { &*pipeline }.0.set_priority(priority);
    }
}

/// Destroys a pipeline. The GPU must execute the driver's own copy of the ELF, not the library's.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_pipeline_destroy(pipeline: *mut PipelineHandle) {
    // SAFETY: C's promise.
    unsafe { take("pipeline", pipeline) }
}

//! The header's functions of contexts, layouts and shaders, and of errors.

use super::super::guard::{argument, guard, guard_or, last};
use super::super::results;
use super::super::samplers::add_samplers;
use super::super::state::{binding, bits, place, stage, target, wave};
use super::super::types::*;
use super::{
    MAX_ITEMS, fill_memory, give, handle, input, key, list, outcome, output, patience, said_size, take, terminated,
};
use crate::compile::request::ModuleDigest;
use crate::runtime::{self, ModuleRef};
use crate::state::{ResourceLayout, SetLayout};
use smallvec::SmallVec;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Once;

/// Bytes of a name or path.
const MAX_NAME: usize = 1 << 16;
/// Bytes of an application's name.
const MAX_APP: usize = 1 << 10;
/// Bytes of a module.
const MAX_CODE: usize = 1 << 28;
/// MiB of parts where 0 is given.
const DEFAULT_MEMORY_MIB: u32 = 64;

/// `DVT_ABI_VERSION` of the library.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_abi_version() -> u32 {
    DVT_ABI_VERSION
}

/// What the last call of this thread that failed says: UTF-8, ended by 0, cut where `size` is too small. Gives its whole length
/// without the 0; `buf` may be NULL where `size` is 0.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_last_error(buf: *mut c_char, size: usize) -> usize {
    let text = last();
    // SAFETY: C's promise.
    unsafe { terminated(&text, buf, size) }
}

/// Makes a context. The cache is opened for reading: nothing is written, locked or mapped. A service is not asked yet: a thread of
/// the context's own does so, which is started when something is missing.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_create(info: *const ContextInfo, out: *mut *mut ContextHandle) -> i32 {
    let make = || {
        // SAFETY: C's promise.
        let info = unsafe { input("info", info) }?;
        bits("flags", info.flags, DVT_CONTEXT_SOCKET_FD | DVT_CONTEXT_EXPORT)?;
        bits("`reserved`", info.reserved, 0)?;
        let connection = match (info.flags & DVT_CONTEXT_SOCKET_FD != 0, info.socket_fd) {
            (false, 0) => None,
            (false, fd) => return argument(format!("`socket_fd` is {fd} without its flag")),
            (true, ..0) => return argument("`socket_fd` is below 0"),
            // SAFETY: C's promise is that it is open as long as the call lasts; it is only duplicated, which fails if it is not.
            (true, fd) => Some(unsafe { BorrowedFd::borrow_raw(fd) }),
        };
        // SAFETY: C's promise.
        let dir = unsafe { list("cache_dir", info.cache_dir, info.cache_dir_bytes, MAX_NAME) }?;
        // SAFETY: C's promise.
        let socket = unsafe { list("socket", info.socket, info.socket_bytes, MAX_NAME) }?;
        if dir.contains(&0) || socket.contains(&0) {
            return argument("a 0 in `cache_dir` or `socket`");
        }
        // SAFETY: C's promise.
        let app = unsafe { list("app", info.app, info.app_bytes, MAX_APP) }?;
        let Ok(app) = std::str::from_utf8(app) else { return argument("`app` is not UTF-8") };
        let mib = if info.max_memory_mib == 0 { DEFAULT_MEMORY_MIB } else { info.max_memory_mib };
        watch_forks();
        let context = runtime::Context::new(&runtime::ContextInfo {
            cache_dir: (!dir.is_empty()).then(|| OsStr::from_bytes(dir).as_ref()),
            target: target(info.target)?,
            max_memory: (mib as usize).saturating_mul(1 << 20),
            exports: info.flags & DVT_CONTEXT_EXPORT != 0,
            socket: (!socket.is_empty()).then(|| OsStr::from_bytes(socket).as_ref()),
            connection,
            app,
        })?;
        Ok((ContextHandle(context), DVT_OK))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

extern "C" fn in_child() {
    runtime::note_fork();
}

/// Has every child of a fork told of it, from the first context on.
fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handler adds to an atomic. When the library is unloaded, the system takes the handler away; and it is
        // linked so that it never is. Without memory for the handler a child is not told: then it must not use a context.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Ends a context. Handles that were made with it stay good; it is gone with the last of them, and its thread, if it has one, has
/// ended before that call returns.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_destroy(context: *mut ContextHandle) {
    // SAFETY: C's promise.
    unsafe { take("context", context) }
}

/// Key of everything that decides code besides shaders and state: `VK_KHR_pipeline_binary`'s global key.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_key(context: *const ContextHandle, out: *mut Key) -> i32 {
    // SAFETY: C's promise.
    guard(|| unsafe { key(out, handle("context", context)?.0.key()) })
}

/// Counters so far.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_stats(context: *const ContextHandle, out: *mut Stats) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let context = &unsafe { handle("context", context) }?.0;
        let stats = Stats::of(&context.stats()?, &context.reach()?);
        // SAFETY: C's promise.
        unsafe { output("out", out, &stats) }?;
        Ok(DVT_OK)
    })
}

/// Whether there is a service, in words, and if not, why. As `dvt_last_error`; 0 where there is no context.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_service(context: *const ContextHandle, buf: *mut c_char, size: usize) -> usize {
    // SAFETY: C's promise.
    let text = || Ok(results::service(&unsafe { handle("context", context) }?.0.reach()?).1);
    let text = guard_or(text, |_| String::new());
    // SAFETY: C's promise.
    unsafe { terminated(&text, buf, size) }
}

/// Writes the parts that are in memory, for `dvt_context_import`: the answer of `vkGetPipelineCacheData`. `*size` is the memory's
/// size, and becomes what is needed; with `DVT_INCOMPLETE` nothing is written. `DVT_E_UNSUPPORTED` without `DVT_CONTEXT_EXPORT`.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_export(context: *const ContextHandle, out: *mut c_void, size: *mut usize) -> i32 {
    // SAFETY: C's promise.
    guard(|| unsafe {
        let context = &handle("context", context)?.0;
        fill_memory(out, size, |out| Ok(context.export(out)?))
    })
}

/// Takes the parts that `dvt_context_export` has written, in whatever process: `pInitialData`, `vkMergePipelineCaches`. They are
/// copied. Damaged bytes are `DVT_E_MALFORMED`, those of another version, GPU or compiler `DVT_E_UNSUPPORTED`; nothing is taken
/// then, and everything goes on without.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_import(context: *const ContextHandle, data: *const c_void, size: usize) -> i32 {
    guard(|| {
        // SAFETY: C's promise; bytes need no alignment.
        let (context, data) =
            unsafe { (&handle("context", context)?.0, list("data", data.cast::<u8>(), size, isize::MAX as usize)?) };
        context.import(data)?;
        Ok(DVT_OK)
    })
}

/// A descriptor for `poll` that is readable while there are events. It is the context's: do not close or read it. Or a result
/// code below 0.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_event_fd(context: *const ContextHandle) -> c_int {
    // SAFETY: C's promise.
    guard(|| Ok(unsafe { handle("context", context) }?.0.event_fd()?.as_raw_fd()))
}

/// The next event, or `DVT_EMPTY`. Never blocks.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_next_event(context: *const ContextHandle, out: *mut Event) -> i32 {
    guard(|| {
        // Before an event is taken that would then be lost.
        // SAFETY: C's promise.
        unsafe { said_size("out", out) }?;
        // SAFETY: C's promise.
        let Some(event) = unsafe { handle("context", context) }?.0.next_event()? else { return Ok(DVT_EMPTY) };
        // SAFETY: C's promise.
        unsafe { output("out", out, &Event::of(&event)) }?;
        Ok(DVT_OK)
    })
}

/// Resolves a layout.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_layout_create(info: *const LayoutInfo, out: *mut *mut LayoutHandle) -> i32 {
    let make = || {
        // SAFETY: C's promise.
        let info = unsafe { input("info", info) }?;
        bits("flags", info.flags, 0)?;
        bits("`reserved`", info.reserved, 0)?;
        // SAFETY: C's promise.
        let given = unsafe { list("sets", info.sets, info.set_count as usize, MAX_ITEMS) }?;
        let mut layout = ResourceLayout {
            sets: Vec::with_capacity(given.len()),
            push_constant_bytes: info.push_constant_bytes,
            push_constant_root: place(info.push_constant_root),
        };
        for set in given {
            bits("`reserved` of a set", set.reserved, 0)?;
            // SAFETY: C's promise.
            let given = unsafe { list("bindings", set.bindings, set.binding_count as usize, MAX_ITEMS) }?;
            let mut bindings = Vec::with_capacity(given.len());
            for given in given {
                let count = given.mutable_count as usize;
                // SAFETY: C's promise.
                let types = unsafe { list("mutable_types", given.mutable_types, count, MAX_ITEMS) }?;
                bindings.push(binding(given, types)?);
            }
            layout.sets.push(SetLayout { set: set.set, root: place(set.root), bindings });
        }
        bits("`samplers_reserved`", info.samplers_reserved, 0)?;
        // SAFETY: C's promise.
        let samplers = unsafe { list("samplers", info.samplers, info.sampler_count as usize, MAX_ITEMS) }?;
        add_samplers(&mut layout, samplers)?;
        Ok((LayoutHandle(runtime::Layout::new(&layout)?), DVT_OK))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

/// Ends a layout. Pipelines that were made with it go on.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_layout_destroy(layout: *mut LayoutHandle) {
    // SAFETY: C's promise.
    unsafe { take("layout", layout) }
}

/// Makes a shader and looks for its part; a service is asked for one that is missing, and not waited for. `DVT_OK`, `DVT_PENDING`
/// and `DVT_NOT_CACHED` give a handle; so does a part that is in the cache and of no use, with the result code of why. Every later
/// use of a shader that is not cached looks again.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_create(
    context: *const ContextHandle,
    info: *const ShaderInfo,
    out: *mut *mut ShaderHandle,
) -> i32 {
    let make = || {
        // SAFETY: C's promise.
        let (context, info) = unsafe { (handle("context", context)?, input("info", info)?) };
        bits("flags", info.flags, DVT_SHADER_NO_DISK | DVT_SHADER_FAIL_ON_COMPILE)?;
        if info.code_bytes % 4 != 0 {
            return argument(format!("`code_bytes` is {}", info.code_bytes));
        }
        // SAFETY: C's promise.
        let code = match info.code.is_null() {
            true => None,
            false => Some(unsafe { list("code", info.code, info.code_bytes / 4, MAX_CODE / 4) }?),
        };
        // SAFETY: words are bytes, four times as many, and need less alignment.
        let code =
            code.map(|words| unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), 4 * words.len()) });
        // SAFETY: C's promise.
        let entry = match info.entry.is_null() {
            true => &b"main"[..],
            false => unsafe { list("entry", info.entry, info.entry_bytes, MAX_NAME) }?,
        };
        let Ok(entry) = std::str::from_utf8(entry) else { return argument("`entry` is not UTF-8") };
        // SAFETY: C's promise.
        let spec = unsafe { list("spec", info.spec, info.spec_count as usize, MAX_ITEMS) }?;
        for spec in spec {
            bits("`reserved` of a specialization value", spec.reserved, 0)?;
        }
        let spec: SmallVec<[(u32, u64); 16]> = spec.iter().map(|spec| (spec.id, spec.value)).collect();
        let shader = runtime::Shader::new(
            &context.0,
            &runtime::ShaderInfo {
                module: code.map_or(ModuleRef::Digest(ModuleDigest(info.digest.b)), ModuleRef::Code),
                entry_point: entry,
                stage: stage(info.stage)?,
                wave: wave(info.wave)?,
                specialization: &spec,
                no_disk: info.flags & DVT_SHADER_NO_DISK != 0,
                fail_on_compile: info.flags & DVT_SHADER_FAIL_ON_COMPILE != 0,
                priority: info.priority,
                user: info.user,
            },
        )?;
        let result = outcome(results::shader(&shader.status()?));
        Ok((ShaderHandle(shader), result))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

/// Where a shader stands, without looking for its part.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_status(shader: *const ShaderHandle, out: *mut ShaderStatus) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let status = unsafe { handle("shader", shader) }?.0.status()?;
        // SAFETY: C's promise.
        unsafe { output("out", out, &ShaderStatus::of(&status)) }?;
        Ok(DVT_OK)
    })
}

/// Waits for a shader's part, until it is there, has failed, the service cannot be reached, or the time is over: `DVT_TIMEOUT`.
/// Answers as `dvt_shader_create`. Where there is no service, it looks on the disk, and returns at once. `UINT64_MAX` is for ever.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_wait(shader: *const ShaderHandle, timeout_ns: u64) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let status = unsafe { handle("shader", shader) }?.0.wait(patience(timeout_ns))?;
        Ok(match outcome(results::shader(&status)) {
            DVT_PENDING => DVT_TIMEOUT,
            result => result,
        })
    })
}

/// Ends a shader. Pipelines that were made with it go on.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_destroy(shader: *mut ShaderHandle) {
    // SAFETY: C's promise.
    unsafe { take("shader", shader) }
}

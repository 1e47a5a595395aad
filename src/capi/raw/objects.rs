//! Entry points of the C header for contexts, layouts, shaders and error texts.

use super::super::guard::{argument, guard, guard_or, last, remember};
use super::super::results;
use super::super::samplers::add_samplers;
use super::super::state::{binding, bits, place, room, stage, target, wave};
use super::super::types::*;
use super::{
    MAX_ITEMS, fill_memory, give, handle, input, key, list, list_if_any, outcome, output, patience, said_size, take,
    terminated,
};
use dovetail_base::target::Gpu;
use dovetail_compile::request::ModuleDigest;
use dovetail_runtime as runtime;
use dovetail_runtime::ModuleRef;
use dovetail_state::{ResourceLayout, SetLayout};
use smallvec::SmallVec;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Once;

/// Most bytes of a name or path.
const MAX_NAME: usize = 1 << 16;
/// Most bytes of an application name.
const MAX_APP: usize = 1 << 10;
/// Most bytes of a module.
const MAX_CODE: usize = 1 << 28;
/// MiB that `max_memory_mib` 0 means.
const DEFAULT_MEMORY_MIB: u32 = 64;

/// Returns the `DVT_ABI_VERSION` that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_abi_version() -> u32 {
    DVT_ABI_VERSION
}

/// The `target` of a GPU, by the version of its graphics core as the kernel reports it: 10, 3, 0 is gfx1030. 0 if Dovetail has
/// no code for it.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_target(major: u32, minor: u32, stepping: u32) -> u32 {
    guard_or(|| Ok(Gpu::of_graphics_core(major, minor, stepping).map_or(0, Gpu::elf_flags)), |_| 0)
}

/// The `target` of a GPU by its PCI device, if the kernel does not say the version of its graphics core: 0x1002 and 0x73bf are
/// a gfx1030. 0 if Dovetail has no code for it, or does not know the device.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_target_of_pci(vendor: u32, device: u32) -> u32 {
    guard_or(|| Ok(Gpu::of_pci(vendor, device).map_or(0, Gpu::elf_flags)), |_| 0)
}

/// Copies the text of the calling thread's last failure to `buf`: UTF-8, NUL-terminated, truncated to `size`. Returns the full
/// length without the NUL. `buf` may be NULL if `size` is 0.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_last_error(buf: *mut c_char, size: usize) -> usize {
    let text = last();
    // SAFETY: C's promise.
    unsafe { terminated(&text, buf, size) }
}

/// Creates a context. The cache is opened for reading; it is not written, locked or mapped. If it cannot be read, the context
/// works without it, and `dvt_last_error` says why; otherwise that text is empty. The service is not contacted here:
/// the context starts a thread for that when a part is missing.
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
        // Not an error, because the parts may come from elsewhere; and an empty text if there is nothing to say.
        remember(context.cache_error()?.map_or_else(String::new, |why| why.to_string()));
        Ok((ContextHandle(context), DVT_OK))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

extern "C" fn in_child() {
    runtime::note_fork();
}

/// Registers a fork handler when the first context is created, so that a child knows its contexts are the parent's.
fn watch_forks() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handler only increments an atomic. The system removes it if the library is unloaded, and the library is
        // linked with `-z nodelete` so that it never is. If there is no memory for the handler, a child is not detected as one
        // and must not use a context.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Destroys a context. Other handles created from it stay valid and keep it alive; the call that destroys the last of them also
/// joins the context's thread, if it has one.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_destroy(context: *mut ContextHandle) {
    // SAFETY: C's promise.
    unsafe { take("context", context) }
}

/// Returns the key of everything besides shaders and state that affects code: the global key of `VK_KHR_pipeline_binary`.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_key(context: *const ContextHandle, out: *mut Key) -> i32 {
    // SAFETY: C's promise.
    guard(|| unsafe { key(out, handle("context", context)?.0.key()) })
}

/// Returns the counters.
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

/// Copies a text about the service to `buf`: its state, and why it cannot be reached. As `dvt_last_error`; returns 0 without a
/// context.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_service(context: *const ContextHandle, buf: *mut c_char, size: usize) -> usize {
    // SAFETY: C's promise.
    let text = || Ok(results::service(&unsafe { handle("context", context) }?.0.reach()?).1);
    let text = guard_or(text, |_| String::new());
    // SAFETY: C's promise.
    unsafe { terminated(&text, buf, size) }
}

/// Writes the parts that are in memory, for `vkGetPipelineCacheData`. On input `*size` is the size of `out`, on return the size
/// required. On `DVT_INCOMPLETE` nothing is written. `DVT_E_UNSUPPORTED` without `DVT_CONTEXT_EXPORT`.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_export(context: *const ContextHandle, out: *mut c_void, size: *mut usize) -> i32 {
    // SAFETY: C's promise.
    guard(|| unsafe {
        let context = &handle("context", context)?.0;
        fill_memory(out, size, |out| Ok(context.export(out)?))
    })
}

/// Copies the parts of a `dvt_context_export` from any process into the context, for `pInitialData` and `vkMergePipelineCaches`.
/// Damaged data is `DVT_E_MALFORMED`; data of another version, GPU or compiler is `DVT_E_UNSUPPORTED`. In both cases nothing is
/// imported and the context keeps working.
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

/// Returns a file descriptor that is readable while events are queued, for `poll`; or a negative result code. The context owns
/// the descriptor: do not read or close it.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_event_fd(context: *const ContextHandle) -> c_int {
    // SAFETY: C's promise.
    guard(|| Ok(unsafe { handle("context", context) }?.0.event_fd()?.as_raw_fd()))
}

/// Takes the next event. Returns `DVT_EMPTY` if there is none. Never blocks.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_context_next_event(context: *const ContextHandle, out: *mut Event) -> i32 {
    guard(|| {
        // Check the caller's struct first: an event taken after that would be lost.
        // SAFETY: C's promise.
        unsafe { said_size("out", out) }?;
        // SAFETY: C's promise.
        let Some(event) = unsafe { handle("context", context) }?.0.next_event()? else { return Ok(DVT_EMPTY) };
        // SAFETY: C's promise.
        unsafe { output("out", out, &Event::of(&event)) }?;
        Ok(DVT_OK)
    })
}

/// Creates a layout.
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
            sets: room(given.len())?,
            push_constant_bytes: info.push_constant_bytes,
            push_constant_root: place(info.push_constant_root),
        };
        for set in given {
            bits("`reserved` of a set", set.reserved, 0)?;
            // SAFETY: C's promise.
            let given = unsafe { list("bindings", set.bindings, set.binding_count as usize, MAX_ITEMS) }?;
            let mut bindings = room(given.len())?;
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

/// Destroys a layout. Pipelines created with it stay valid.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_layout_destroy(layout: *mut LayoutHandle) {
    // SAFETY: C's promise.
    unsafe { take("layout", layout) }
}

/// Creates a shader and looks up its part. If the part is missing, it is requested from the service without waiting. Creates a
/// handle on `DVT_OK`, `DVT_PENDING`, `DVT_NOT_CACHED`, and on the error of a part that is in the cache but unusable. While the
/// shader is not cached, each later use repeats the lookup.
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
            return argument(format!("`code_bytes` is {}, not a multiple of 4", info.code_bytes));
        }
        // SAFETY: C's promise.
        let code = unsafe { list_if_any("code", info.code, info.code_bytes / 4, MAX_CODE / 4) }?;
        // SAFETY: words are bytes, four times as many, and need less alignment.
        let code =
            code.map(|words| unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), 4 * words.len()) });
        // SAFETY: C's promise.
        let entry = unsafe { list_if_any("entry", info.entry, info.entry_bytes, MAX_NAME) }?.unwrap_or(b"main");
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
        let result = outcome(results::shader(&shader.status()?), &context.0);
        Ok((ShaderHandle(shader), result))
    };
    // SAFETY: C's promise.
    guard(|| unsafe { give(out, make) })
}

/// Returns the status of a shader without a lookup.
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

/// Waits until the shader's part is available, has failed, or the service is unreachable, for `timeout_ns` nanoseconds at most;
/// `UINT64_MAX` waits without limit. Returns as `dvt_shader_create`, or `DVT_TIMEOUT`. Without a service it looks on the disk and
/// returns at once.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_wait(shader: *const ShaderHandle, timeout_ns: u64) -> i32 {
    guard(|| {
        // SAFETY: C's promise.
        let shader = &unsafe { handle("shader", shader) }?.0;
        let status = shader.wait(patience(timeout_ns))?;
        Ok(match outcome(results::shader(&status), &shader.context()) {
            DVT_PENDING => DVT_TIMEOUT,
            result => result,
        })
    })
}

/// Destroys a shader. Pipelines created with it stay valid.
// SAFETY: C's promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_shader_destroy(shader: *mut ShaderHandle) {
    // SAFETY: C's promise.
    unsafe { take("shader", shader) }
}

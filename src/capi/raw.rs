//! Reads and writes the memory that C's pointers point to. Everything is checked and copied here; the entry points are in the
//! files of `raw/`.
//!
//! The caller guarantees, for each function: a pointer that is not null points to what its type says for as long as the call
//! lasts, and no other thread writes there; a handle was created by this library and is not used during or after its destruction.
//! Null pointers, alignment, sizes and counts are *not* guaranteed: they are checked. Comments call the guarantee `C's promise`.

mod objects;
mod pipelines;

use super::guard::{Answer, argument, guard, remember};
use super::types::*;
use dovetail_base::error::{Error, Result};
use dovetail_runtime::{Context, Size};
use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::time::Duration;

/// Most items of a list: more than any device supports.
const MAX_ITEMS: usize = 4096;
/// Most bytes of a struct, which may be that of a later version.
const MAX_STRUCT: usize = 4096;

/// A struct that begins with `uint32_t size`.
///
/// # Safety
/// The type is `repr(C)`, begins with a `u32`, and is valid for any bytes: it consists of numbers and raw pointers.
unsafe trait Sized32: Copy {
    /// Sizes of earlier versions, before fields were added at the end. A size listed here stays valid.
    const EARLIER: &'static [usize] = &[];
}

// SAFETY: numbers and raw pointers, the first a `u32`.
unsafe impl Sized32 for ContextInfo {
    const EARLIER: &'static [usize] = &[offset_of!(Self, socket), offset_of!(Self, socket_fd)];
}
// SAFETY: as above.
unsafe impl Sized32 for LayoutInfo {
    const EARLIER: &'static [usize] = &[offset_of!(Self, samplers)];
}
// SAFETY: as above.
unsafe impl Sized32 for ShaderInfo {}
// SAFETY: as above.
unsafe impl Sized32 for PipelineInfo {}
// SAFETY: as above.
unsafe impl Sized32 for ShaderStatus {}
// SAFETY: as above.
unsafe impl Sized32 for PipelineStatus {
    const EARLIER: &'static [usize] = &[offset_of!(Self, optimization)];
}
// SAFETY: as above.
unsafe impl Sized32 for Event {}
// SAFETY: as above.
unsafe impl Sized32 for Stats {
    const EARLIER: &'static [usize] =
        &[offset_of!(Self, asked), offset_of!(Self, imported), offset_of!(Self, events_dropped)];
}

fn check<T>(what: &str, at: *const T) -> Answer<()> {
    match at {
        at if at.is_null() => argument(format!("`{what}` is NULL")),
        at if !at.is_aligned() => argument(format!("`{what}` is not aligned to {} bytes", align_of::<T>())),
        _ => Ok(()),
    }
}

fn struct_size<T: Sized32>(what: &str, size: u32) -> Answer<usize> {
    match size as usize {
        // A size between two versions would cut a field in two.
        size if T::EARLIER.contains(&size) || (size_of::<T>()..=MAX_STRUCT).contains(&size) => Ok(size),
        size => argument(format!("`{what}->size` is {size}, not {}", size_of::<T>())),
    }
}

/// Reads and checks the `size` of a struct that the caller passes for input or output.
///
/// # Safety
/// C's promise.
unsafe fn said_size<T: Sized32>(what: &str, at: *const T) -> Answer<usize> {
    check(what, at)?;
    // SAFETY: C's promise; it is not null, and aligned.
    struct_size::<T>(what, unsafe { at.cast::<u32>().read() })
}

/// Copies a struct of any version. Fields of later versions must be zero.
///
/// # Safety
/// C's promise.
unsafe fn input<T: Sized32>(what: &str, from: *const T) -> Answer<T> {
    // SAFETY: C's promise.
    let size = unsafe { said_size(what, from) }?;
    let known = size.min(size_of::<T>());
    let mut to = MaybeUninit::<T>::zeroed();
    // SAFETY: C's promise, for the `size` bytes that the struct says it has; `to` has room for `known`.
    let rest = unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr().cast::<u8>(), known);
        std::slice::from_raw_parts(from.cast::<u8>().add(known), size - known)
    };
    if rest.iter().any(|byte| *byte != 0) {
        return argument(format!("`{what}` has nonzero fields of a later version"));
    }
    // SAFETY: any bytes are a value, by the trait's promise.
    Ok(unsafe { to.assume_init() })
}

/// Writes as many bytes of a struct as the caller has room for; leaves its `size` unchanged.
///
/// # Safety
/// C's promise.
unsafe fn output<T: Sized32>(what: &str, to: *mut T, value: &T) -> Answer<()> {
    // SAFETY: C's promise.
    let size = unsafe { said_size(what, to) }?;
    let head = size_of::<u32>();
    let known = size.min(size_of::<T>()) - head;
    // SAFETY: C's promise for `size` bytes from `to` on; `value` has at least as many as are copied. `value` is the library's
    // own, so it cannot overlap `to`.
    unsafe {
        let from = std::ptr::from_ref(value).cast::<u8>().add(head);
        std::ptr::copy_nonoverlapping(from, to.cast::<u8>().add(head), known);
    }
    Ok(())
}

/// Borrows a list of at most `max` items. NULL is allowed only if it is empty.
///
/// # Safety
/// C's promise, and the items are numbers and raw pointers.
unsafe fn list<'a, T>(what: &str, from: *const T, count: usize, max: usize) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(what, from)?;
    if count > max {
        return argument(format!("{count} items in `{what}`, {max} at most"));
    }
    // SAFETY: C's promise; not null, aligned, and at most `max` items, which is no more than `isize::MAX` bytes.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}

/// As [`list`], but NULL means that there is no list, which is another thing than an empty one. Then the count must be 0.
///
/// # Safety
/// As [`list`].
unsafe fn list_if_any<'a, T>(what: &str, from: *const T, count: usize, max: usize) -> Answer<Option<&'a [T]>> {
    if from.is_null() && count == 0 {
        return Ok(None);
    }
    // SAFETY: C's promise.
    unsafe { list(what, from, count, max) }.map(Some)
}

/// Borrows a handle.
///
/// # Safety
/// C's promise.
unsafe fn handle<'a, T>(what: &str, from: *const T) -> Answer<&'a T> {
    check(what, from)?;
    // SAFETY: C's promise; it is not null, and aligned.
    Ok(unsafe { &*from })
}

/// Creates a handle and writes it to `*to`; NULL if that fails.
///
/// # Safety
/// C's promise.
unsafe fn give<T>(to: *mut *mut T, make: impl FnOnce() -> Answer<(T, i32)>) -> Answer {
    check("out", to)?;
    // SAFETY: C's promise; it is not null, and aligned.
    unsafe { to.write(std::ptr::null_mut()) };
    let (made, result) = make()?;
    // SAFETY: as above.
    unsafe { to.write(Box::into_raw(Box::new(made))) };
    Ok(result)
}

/// Destroys a handle. NULL is ignored.
///
/// # Safety
/// C's promise.
unsafe fn take<T>(what: &str, given: *mut T) {
    guard(|| {
        if !given.is_null() {
            check(what, given)?;
            // SAFETY: C's promise: it is of `give`, and this is its destruction.
            drop(unsafe { Box::from_raw(given) });
        }
        Ok(DVT_OK)
    });
}

/// Lets `write` fill the caller's `*size` bytes of memory (none if NULL), then sets `*size` to the size written or required.
///
/// # Safety
/// C's promise.
unsafe fn fill_memory(to: *mut c_void, size: *mut usize, write: impl FnOnce(&mut [u8]) -> Answer<Size>) -> Answer {
    check("size", size)?;
    let out = match to.is_null() {
        // Only a question: as in Vulkan, the size need not be set.
        true => &mut [][..],
        false => {
            // SAFETY: C's promise; it is not null, and aligned.
            let room = unsafe { size.read() };
            if room > isize::MAX as usize {
                return argument(format!("`*size` is {room}, more than any memory has"));
            }
            // SAFETY: C's promise; not null, bytes need no alignment, and no more than `isize::MAX`. It is written only.
            unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), room) }
        }
    };
    let (bytes, result) = match write(out)? {
        Size::Written(bytes) => (bytes, DVT_OK),
        Size::Incomplete(bytes) => (bytes, DVT_INCOMPLETE),
    };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    Ok(result)
}

/// A caller's timeout; `u64::MAX` means no limit.
fn patience(timeout_ns: u64) -> Duration {
    if timeout_ns == u64::MAX { Duration::MAX } else { Duration::from_nanos(timeout_ns) }
}

/// Remembers an outcome's text for this thread and returns its result code.
fn outcome((result, error): (i32, Option<&Error>), context: &Context) -> i32 {
    match error {
        Some(error) => remember(error.to_string()),
        None if result == DVT_NOT_CACHED => remember(match context.cache_error() {
            Ok(Some(why)) => format!("not in the cache: {why}"),
            _ => "not in the cache".into(),
        }),
        None => {}
    }
    result
}

/// Writes a NUL-terminated string, truncated to `size`; returns its full length.
///
/// # Safety
/// C's promise.
unsafe fn terminated(text: &str, buf: *mut c_char, size: usize) -> usize {
    if let Some(room) = size.checked_sub(1).filter(|_| !buf.is_null()) {
        // Truncate at a character boundary.
        let kept = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        // SAFETY: C's promise for `size` bytes; `kept` is less.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast::<u8>(), kept);
            buf.add(kept).write(0);
        }
    }
    text.len()
}

/// Writes a key unless it is an error.
///
/// # Safety
/// C's promise.
unsafe fn key(out: *mut Key, key: Result<dovetail_cache::Key>) -> Answer {
    check("out", out)?;
    // SAFETY: C's promise; it is not null.
    unsafe { out.write(Key { b: key?.0 }) };
    Ok(DVT_OK)
}

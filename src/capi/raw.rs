//! All that trusts a pointer of C: what it leads to is checked and copied here, and the functions of the header, which are in the
//! files below this one, go on with that.
//!
//! What the caller promises, for every function: a pointer that is not null leads to what its type says, as long as the call
//! lasts, and nobody else writes there; handles come from this library, and are not used during or after their destruction.
//! Null, alignment, sizes and counts are *not* promised: they are checked. `SAFETY: C's promise` means these two sentences.

mod objects;
mod pipelines;

use super::guard::{Answer, argument, guard, remember};
use super::types::*;
use crate::error::{Error, Result};
use crate::runtime::Size;
use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::time::Duration;

/// Items of any list: more than any device has room for.
const MAX_ITEMS: usize = 4096;
/// Bytes of a struct of a later version.
const MAX_STRUCT: usize = 4096;

/// A struct that begins with `uint32_t size`.
///
/// # Safety
/// It is `repr(C)`, begins with a `u32`, and any bytes are a value of it: numbers and raw pointers.
unsafe trait Sized32: Copy {
    /// Its sizes before fields were added at its end; what was one of them once stays one.
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
    const EARLIER: &'static [usize] = &[offset_of!(Self, asked), offset_of!(Self, imported)];
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
        // A size between two versions would cut a field.
        size if T::EARLIER.contains(&size) || (size_of::<T>()..=MAX_STRUCT).contains(&size) => Ok(size),
        size => argument(format!("`{what}->size` is {size}, and not {}", size_of::<T>())),
    }
}

/// The bytes that a struct says it has, whether it is to be read or to be filled.
///
/// # Safety
/// C's promise.
unsafe fn said_size<T: Sized32>(what: &str, at: *const T) -> Answer<usize> {
    check(what, at)?;
    // SAFETY: C's promise; it is not null, and aligned.
    struct_size::<T>(what, unsafe { at.cast::<u32>().read() })
}

/// A copy of a struct of any version. What a later version has besides may be zeros only.
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
        return argument(format!("`{what}` asks for something of a later version"));
    }
    // SAFETY: any bytes are a value, by the trait's promise.
    Ok(unsafe { to.assume_init() })
}

/// Writes as much of a struct as the caller has; its `size` stays.
///
/// # Safety
/// C's promise.
unsafe fn output<T: Sized32>(what: &str, to: *mut T, value: &T) -> Answer<()> {
    // SAFETY: C's promise.
    let size = unsafe { said_size(what, to) }?;
    let head = size_of::<u32>();
    let known = size.min(size_of::<T>()) - head;
    // SAFETY: C's promise for `size` bytes from `to` on; `value` has at least as many as are copied. It is a value of ours, which
    // no pointer of C leads to.
    unsafe {
        let from = std::ptr::from_ref(value).cast::<u8>().add(head);
        std::ptr::copy_nonoverlapping(from, to.cast::<u8>().add(head), known);
    }
    Ok(())
}

/// A list, of any length up to `max`; NULL only if it is empty.
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

/// Borrows a handle.
///
/// # Safety
/// C's promise.
unsafe fn handle<'a, T>(what: &str, from: *const T) -> Answer<&'a T> {
    check(what, from)?;
    // SAFETY: C's promise; it is not null, and aligned.
    Ok(unsafe { &*from })
}

/// Makes a handle and writes it to where the caller wants it; NULL there if it cannot be made.
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

/// Takes a handle back. NULL is nothing to do.
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

/// Lets `write` fill the caller's memory, of `*size` bytes, or none where it is NULL; `*size` becomes what it wrote or would.
///
/// # Safety
/// C's promise.
unsafe fn fill_memory(to: *mut c_void, size: *mut usize, write: impl FnOnce(&mut [u8]) -> Answer<Size>) -> Answer {
    check("size", size)?;
    // SAFETY: C's promise; it is not null, and aligned.
    let room = unsafe { size.read() };
    if room > isize::MAX as usize {
        return argument(format!("`*size` is {room}"));
    }
    let out = match to.is_null() {
        true => &mut [][..],
        // SAFETY: C's promise; not null, bytes need no alignment, and no more than `isize::MAX`. It is written only.
        false => unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), room) },
    };
    let (bytes, result) = match write(out)? {
        Size::Written(bytes) => (bytes, DVT_OK),
        Size::Incomplete(bytes) => (bytes, DVT_INCOMPLETE),
    };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    Ok(result)
}

/// A time that a caller waits; the greatest number is for ever.
fn patience(timeout_ns: u64) -> Duration {
    if timeout_ns == u64::MAX { Duration::MAX } else { Duration::from_nanos(timeout_ns) }
}

/// Sets the text of the thread for an outcome that has one, and gives its result code.
fn outcome((result, error): (i32, Option<&Error>)) -> i32 {
    if let Some(error) = error {
        remember(error.to_string());
    }
    result
}

/// Writes a text as C has them, cut where `size` is too small; gives its whole length.
///
/// # Safety
/// C's promise.
unsafe fn terminated(text: &str, buf: *mut c_char, size: usize) -> usize {
    if let Some(room) = size.checked_sub(1).filter(|_| !buf.is_null()) {
        // Cut between characters.
        let kept = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        // SAFETY: C's promise for `size` bytes; `kept` is less.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast::<u8>(), kept);
            buf.add(kept).write(0);
        }
    }
    text.len()
}

/// Writes a key, if there is one.
///
/// # Safety
/// C's promise.
unsafe fn key(out: *mut Key, key: Result<crate::cache::Key>) -> Answer {
    check("out", out)?;
    // SAFETY: C's promise; it is not null.
    unsafe { out.write(Key { b: key?.0 }) };
    Ok(DVT_OK)
}

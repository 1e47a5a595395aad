//! Blocks signals on the library's thread: it runs in a foreign process, and must not receive that process's signals.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Starts a thread by `spawn` with every signal blocked: a thread inherits the mask of its creator, whose mask is
/// restored afterwards.
pub(super) fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    let [mut all, mut before] = [MaybeUninit::<libc::sigset_t>::uninit(); 2];
    // SAFETY: both sets are local; the first is filled before it is read. The calls fail only for an invalid `how`, and
    // then `before` is not read.
    let changed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let spawned = spawn();
    if changed {
        // SAFETY: `before` was written by the call above, which succeeded.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    }
    spawned
}

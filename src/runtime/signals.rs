//! A thread in somebody else's process must not be the one that takes its signals.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Starts a thread by `spawn` with every signal blocked in it: a thread inherits the mask of the one that starts it, which is
/// as it was again afterwards.
pub(super) fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    let [mut all, mut before] = [MaybeUninit::<libc::sigset_t>::uninit(); 2];
    // SAFETY: both sets are ours; the first is filled before it is read. The calls fail only for a number that is no way to
    // change a mask, and then `before` is not read as it is not used.
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

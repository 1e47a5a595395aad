//! Finishes the session at the end of the process.

use crate::guard::aside;
use crate::session;
use std::sync::Once;

/// Sees to it that the session is finished at the process's end: many applications never destroy their device.
pub fn at_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a function without arguments that does not unwind; the library is never unloaded (`build.rs`).
        unsafe { libc::atexit(finish) };
    });
}

extern "C" fn finish() {
    aside(session::finish);
}

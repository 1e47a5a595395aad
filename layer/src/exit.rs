//! Finishes the session at the end of the process.

use crate::guard::aside;
use crate::session;
use std::sync::Once;

/// Registers the session to be finished when the process exits: many applications never destroy their device.
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

//! Wrapper of each entry point: turns an error or a panic into a result code and a text kept for the thread.

use super::types::{
    DVT_E_ARGUMENT, DVT_E_BUG, DVT_E_ENVIRONMENT, DVT_E_MALFORMED, DVT_E_MEMORY, DVT_E_QUARANTINED, DVT_E_UNSUPPORTED,
    DVT_NEEDS_FULL_COMPILE,
};
use dovetail_base::error::{Error, ErrorKind};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Text of this thread's last failed call.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The cause of an entry point's failure.
#[derive(Debug)]
pub(super) enum Failure {
    /// An invalid argument: null, misaligned, of an impossible size, or with unknown flags.
    Argument(String),
    /// Allocating this many items failed.
    Memory(usize),
    /// Any other error.
    Of(Error),
}

/// Result of an entry point.
pub(super) type Answer<T = i32> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Self::Of(e)
    }
}

/// Makes the error of an invalid argument.
pub(super) fn argument<T>(what: impl Into<String>) -> Answer<T> {
    Err(Failure::Argument(what.into()))
}

impl Failure {
    /// Result code of the failure.
    fn code(&self) -> i32 {
        match self {
            Self::Argument(_) => DVT_E_ARGUMENT,
            Self::Memory(_) => DVT_E_MEMORY,
            Self::Of(e) => code(e),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Argument(what) => format!("argument: {what}"),
            Self::Memory(items) => format!("out of memory for {items} items"),
            Self::Of(e) => e.to_string(),
        }
    }
}

/// Result code of an error: the negated exit code of `docs/errors.md`, except that NeedsFullCompile is positive.
pub(super) fn code(e: &Error) -> i32 {
    match e.kind() {
        ErrorKind::Malformed(_) => DVT_E_MALFORMED,
        ErrorKind::Unsupported { .. } => DVT_E_UNSUPPORTED,
        ErrorKind::NeedsFullCompile(_) => DVT_NEEDS_FULL_COMPILE,
        ErrorKind::Environment(_) => DVT_E_ENVIRONMENT,
        ErrorKind::Bug(_) => DVT_E_BUG,
        ErrorKind::Quarantined { .. } => DVT_E_QUARANTINED,
        ErrorKind::Memory(_) => DVT_E_MEMORY,
    }
}

/// Runs an entry point that returns a result code.
pub(super) fn guard(entry: impl FnOnce() -> Answer) -> i32 {
    guard_or(entry, |code| code)
}

/// Runs an entry point that returns another type; `failed` converts a result code to it.
pub(super) fn guard_or<T>(entry: impl FnOnce() -> Answer<T>, failed: impl FnOnce(i32) -> T) -> T {
    // A panic leaves no broken state: see the locks of `runtime`.
    match catch_unwind(AssertUnwindSafe(entry)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => {
            remember(failure.text());
            failed(failure.code())
        }
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            remember(format!("bug in dovetail: {}", said.unwrap_or("a panic")));
            // Dropping the payload could panic again; leaking a few words is cheaper.
            std::mem::forget(panic);
            failed(DVT_E_BUG)
        }
    }
}

/// Sets this thread's error text. It is lost while the thread exits, when its thread-locals are gone.
pub(super) fn remember(text: String) {
    let _ = LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = text));
}

/// This thread's error text; empty if nothing failed.
pub(super) fn last() -> String {
    LAST.try_with(|last| last.borrow().clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_panics_are_codes_and_texts() {
        assert_eq!(guard(|| Ok(7)), 7);
        assert_eq!(guard(|| argument("null `info`")), DVT_E_ARGUMENT);
        assert_eq!(last(), "argument: null `info`");
        assert_eq!(guard(|| Err(Error::unsupported("x", "y").into())), DVT_E_UNSUPPORTED);
        assert_eq!(last(), "unsupported: x: y");
        for panic in [|| panic!("plain"), || panic!("of {}", 1)] as [fn() -> Answer; 2] {
            assert_eq!(guard(panic), DVT_E_BUG);
        }
        assert_eq!(last(), "bug in dovetail: of 1");
        assert_eq!(guard(|| std::panic::panic_any(5)), DVT_E_BUG);
        assert_eq!(last(), "bug in dovetail: a panic");
        assert!(std::thread::spawn(last).join().unwrap().is_empty(), "another thread has its own");
    }
}

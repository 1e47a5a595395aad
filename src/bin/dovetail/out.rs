//! Output of the program, on standard output and standard error.
//!
//! The standard library's macros panic if the other end is closed or the disk is full; those of this file, which
//! replace them in the whole program, do not. The first failure of standard output is remembered and becomes the exit
//! code; failures of standard error cannot be reported. Printed names come from foreign files, so control characters
//! are escaped here, for the whole program.

use dovetail::error::{Error, Result, printable_lines};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

macro_rules! println {
    () => { $crate::out::say(format_args!(""), "\n") };
    ($($arg:tt)*) => { $crate::out::say(format_args!($($arg)*), "\n") };
}

macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::out::complain(format_args!($($arg)*)) };
}

static FAILED: Mutex<Option<Error>> = Mutex::new(None);

/// Whether standard output is for the command's result alone.
static RESULTS_ONLY: AtomicBool = AtomicBool::new(false);

/// Sends everything that is printed from here on to standard error, because the result goes to standard output.
pub fn results_only() {
    RESULTS_ONLY.store(true, Ordering::Relaxed);
}

/// Writes a result to standard output, as it is.
pub fn write_result(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| failed(&e))
}

fn failed(e: &io::Error) -> Error {
    Error::environment(format!("standard output: {e}"))
}

/// Prints, unless printing has failed before.
pub fn say(text: fmt::Arguments<'_>, end: &str) {
    if RESULTS_ONLY.load(Ordering::Relaxed) {
        let _ = write!(io::stderr(), "{}{end}", printable_lines(&text.to_string()));
        return;
    }
    let mut first = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if first.is_none() {
        let mut out = io::stdout().lock();
        let text = text.to_string();
        let said = out.write_all(printable_lines(&text).as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
        *first = said.err().map(|e| failed(&e));
    }
}

/// Prints, for callers that must stop when nobody reads.
///
/// # Errors
/// Environment: standard output is closed or full.
pub fn try_say(text: &str) -> Result<()> {
    say(format_args!("{text}"), "");
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
}

/// Prints a line on standard error.
pub fn complain(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(&text.to_string()));
}

/// Exit code of the program: that of the command, or that of its output if only that failed.
pub fn finish(result: Result<ExitCode>) -> ExitCode {
    let flushed = io::stdout().flush().map_err(|e| failed(&e));
    let said = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(flushed, Err);
    result.and_then(|code| said.map(|()| code)).unwrap_or_else(|e| {
        eprintln!("dovetail: {e}");
        ExitCode::from(e.exit_code())
    })
}

//! Messages on standard error.

use dovetail_base::error::printable;
use std::io::Write;

/// Writes a line to standard error, if it is open.
pub fn complain(what: &str) {
    // A failure cannot be reported anywhere else.
    let _ = writeln!(std::io::stderr(), "VK_LAYER_DOVETAIL_capture: {}", printable(what));
}

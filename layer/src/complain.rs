//! Messages on standard error.

use dovetail::error::printable;
use std::io::Write;

/// Says something on standard error, if there is one.
pub fn complain(what: &str) {
    // There is nowhere else to say that it failed.
    let _ = writeln!(std::io::stderr(), "VK_LAYER_DOVETAIL_capture: {}", printable(what));
}

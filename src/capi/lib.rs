//! The C interface, `include/dovetail.h`: argument checks and conversion to the types of `runtime`.
//!
//! ```text
//! C ── raw ──> copies of structs and checked slices ── state ──> runtime's types ──> runtime
//!        <── guard ── result code, text of the error for this thread
//! ```
//!
//! `raw` holds every function of the header and every `unsafe` block; what it passes on has been checked for null, alignment and
//! size. No panic leaves a function. `types` holds the rest of the header: structs, constants, result codes. `cbindgen` generates
//! the header from these files, and `tests/capi/header.rs` checks that it is up to date.
//!
//! To add a function: write the entry point in `raw`, its tests in `tests/capi` and a paragraph in `docs/capi.md`, and regenerate
//! the header by `DOVETAIL_BLESS=1`.

mod guard;
mod raw;
mod results;
mod samplers;
mod state;
mod types;

pub use types::*;

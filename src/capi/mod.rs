//! The C interface: `include/dovetail.h`, and what C may do wrong.
//!
//! ```text
//! C ── raw ──> copies of structs and checked slices ── state ──> runtime's types ──> runtime
//!        <── guard ── result code, text of the error for this thread
//! ```
//!
//! `raw` has every function of the header and every `unsafe` block; whatever it hands on is checked for null, alignment and
//! size. No panic leaves a function. `types` is the header's other half: structs, constants, result codes. The header is made of
//! these files by `cbindgen`, and `tests/capi/header.rs` holds it equal. To add a function: an entry in `raw`, its tests in
//! `tests/capi`, `DOVETAIL_BLESS=1` for the header, a paragraph in `docs/capi.md`.

mod guard;
mod raw;
mod results;
mod samplers;
mod state;
mod types;

pub use types::*;

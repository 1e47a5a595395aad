//! Recordings of what applications pass to Vulkan: archives in Fossilize's format, and their translation to pipeline
//! states.
//!
//! ```text
//! Vulkan structs ── layer/ ─────┐                    ┌── foz::Writer ──> GAME.foz
//!                               ├──> model ──────────┤
//! GAME.foz ── load::Recording ──┘  (plain numbers)   └── translate ──> PipelineState, stages, or what is not supported
//! ```
//!
//! The model is the JSON of an archive as Rust structs, so both readers share one translation. Handles are
//! [`struct@Hash`]es of what they were made from. Files are untrusted: sizes are checked, unpacking is bounded, and
//! recursion depth does not depend on the input.
//!
//! To support a structure that extends another (`pNext`), add its members to `model::Next` and a row to
//! `translate::tables`, and fill in the state that follows from it in `translate`.

pub mod foz;
mod load;
mod model;
mod source;
mod translate;

pub use load::{Recording, Skipped};
pub use model::*;
pub use source::DefinitionSource;
pub use translate::{
    FixedState, LateState, StageUse, Translated, complete, compute, fixed, graphics, names, requested_wave, stage_use,
    waits,
};

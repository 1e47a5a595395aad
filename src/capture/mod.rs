//! Recordings of what applications give to Vulkan: archives in Fossilize's format, and their translation to pipeline
//! states.
//!
//! ```text
//! Vulkan structs ── layer/ ─────┐                    ┌── foz::Writer ──> GAME.foz
//!                               ├──> model ──────────┤
//! GAME.foz ── load::Recording ──┘  (plain numbers)   └── translate ──> PipelineState, stages, or what is not supported
//! ```
//!
//! The model is the JSON of an archive as Rust structs, so that there are two readers and one translation. Handles are [`struct@Hash`]es
//! of what they were made from. Files are untrusted: sizes are checked, unpacking is bounded, no recursion follows the input.
//!
//! A structure that extends another one (`pNext`) gets its members in `model::Next` and a row in `translate::tables`; a field of the
//! state that follows from it is filled in `translate`.

pub mod foz;
mod load;
mod model;
mod source;
mod translate;

pub use load::{Recording, Skipped};
pub use model::*;
pub use source::DefinitionSource;
pub use translate::{FixedState, StageUse, Translated, compute, fixed, graphics, names, stage_use};

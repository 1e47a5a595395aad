//! The proof: runs one shader on several implementations with the same inputs, and compares their outputs.
//!
//! ```text
//! SPIR-V ─ contents ─> Inputs ─┬─ pipelines ─> linked (two layouts), whole ─> emulator ─┐
//!                              ├─ world ─> interpreter, with bounds ────────────────────┼─ judge ─> Verdict
//!                              └─ a Vulkan driver (of the tests) ───────────────────────┘
//! ```
//!
//! The comparison never guesses: the allowed difference of two results follows from the interpreter's [`Shadow`]s, and
//! a comparison that could not have failed ([`proves_nothing`]) does not count. A failing case is shrunk, saved as a
//! bundle, and run again by `replay`. To add a kind of resource, add an arm in `world` and one in `contents`.
//!
//! [`Shadow`]: crate::ir::interp::Shadow

#[cfg(feature = "bundles")]
mod answer;
mod bisect;
mod blended;
#[cfg(feature = "bundles")]
mod bundle;
mod comparisons;
mod compute;
mod constant;
mod contents;
mod corners;
mod crossing;
mod declared;
mod depth;
mod draw;
mod drawn;
mod driver;
#[cfg(feature = "bundles")]
mod failure;
mod float_words;
mod framing;
mod images;
mod indices;
#[cfg(feature = "bundles")]
mod inputs_file;
mod judge;
mod kinds;
mod leaves;
mod logic;
mod multisample;
mod patience;
mod pipelines;
mod plain;
mod quads;
mod random;
mod reads;
mod references;
#[cfg(feature = "bundles")]
mod replay;
mod report;
mod scene;
mod shaded;
mod shrink;
mod stencil;
mod textures;
mod world;

#[cfg(feature = "bundles")]
pub use answer::{Cause, ComparedOutput, Finding, Pixels, Replay, ResultPlace};
pub use bisect::{Blame, blame};
#[cfg(feature = "bundles")]
pub use bundle::{Bundle, FORMAT, Manifest, StageEntry};
pub use compute::{Case, Divergence, FLOOR, RunBudget, SEEDS, Tools, compute};
pub use contents::{Choice, Dword};
pub use declared::Declared;
pub use draw::pair;
pub use drawn::{Drawn, interpreted_draw};
pub use driver::{Absent, Judge, Outputs, Spirv};
#[cfg(feature = "bundles")]
pub use failure::{RunReference, Saved};
#[cfg(feature = "bundles")]
pub use inputs_file::{read as read_inputs, write as write_inputs};
pub use judge::{Disagreement, bytes_of, interpreted, judge, proves_nothing};
pub use pipelines::Pipelines;
pub use plain::{Apart, texels_apart, words_apart};
pub use random::Random;
#[cfg(feature = "bundles")]
pub use replay::Runner;
pub use report::{Fate, Report};
pub use shrink::{Effort, Shrunk, shrink};
pub use world::{KnownContents, world};

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
//! [`Shadow`]: dovetail_interp::Shadow

mod answer;
mod bisect;
mod blended;
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
mod failure;
mod float_words;
mod framing;
mod images;
mod indices;
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
mod replay;
mod report;
mod scene;
mod shaded;
mod shrink;
mod stencil;
pub mod template;
mod textures;
mod world;

pub use answer::{Cause, ComparedOutput, Finding, Pixels, Replay, ResultPlace};
pub use bisect::{Blame, blame};
pub use bundle::{Bundle, FORMAT, Manifest, StageEntry};
pub use compute::{Case, Divergence, FLOOR, RunBudget, SEEDS, Tools, compute};
pub use contents::{Choice, Dword};
pub use declared::Declared;
pub use draw::pair;
pub use drawn::{Drawn, interpreted_draw};
pub use driver::{Absent, Judge, Outputs, Spirv};
pub use failure::{RunReference, Saved};
pub use inputs_file::{read as read_inputs, write as write_inputs};
pub use judge::{Disagreement, bytes_of, interpreted, judge, proves_nothing};
pub use pipelines::Pipelines;
pub use plain::{Apart, texels_apart, words_apart};
pub use random::Random;
pub use replay::Runner;
pub use report::{Fate, Report};
pub use shrink::{Effort, Shrunk, shrink};
pub use world::{KnownContents, world};

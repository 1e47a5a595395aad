//! The proof: one shader run by several implementations on the same inputs, and the judgement on what they left.
//!
//! ```text
//! SPIR-V ─ contents ─> Inputs ─┬─ pipelines ─> linked (two layouts), whole ─> emulator ─┐
//!                              ├─ world ─> interpreter, with bounds ────────────────────┼─ judge ─> Verdict
//!                              └─ a Vulkan driver (of the tests) ───────────────────────┘
//! ```
//!
//! The judgement never guesses: how far two results may be apart follows from the interpreter's [`Shadow`]s, and a
//! comparison that could not have failed ([`proves_nothing`]) is none. To add a kind of resource: an arm in `world`, and
//! one in `contents`.
//!
//! [`Shadow`]: crate::ir::interp::Shadow

mod contents;
mod driver;
mod judge;
mod pipelines;
mod random;
mod report;
mod shrink;
mod world;

pub use contents::Declared;
pub use driver::{Judge, Outputs, Spirv};
pub use judge::{Disagreement, interpreted, judge, proves_nothing};
pub use pipelines::Pipelines;
pub use random::Random;
pub use report::{Fate, Report};
pub use shrink::{Budget, Shrunk, shrink};
pub use world::{Known, world};

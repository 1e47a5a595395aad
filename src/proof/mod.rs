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

mod compute;
mod contents;
mod corners;
mod declared;
mod draw;
mod drawn;
mod driver;
mod images;
mod judge;
mod leaves;
mod pipelines;
mod random;
mod report;
mod scene;
mod textures;
mod world;

pub use compute::{Budget, Case, Difference, FLOOR, SEEDS, Tools, compute};
pub use contents::{Choice, Dword};
pub use declared::Declared;
pub use draw::pair;
pub use drawn::{Drawn, interpreted_draw};
pub use driver::{Judge, Outputs, Spirv};
pub use judge::{Disagreement, interpreted, judge, proves_nothing};
pub use pipelines::Pipelines;
pub use random::Random;
pub use report::{Fate, Report};
pub use world::{Known, world};

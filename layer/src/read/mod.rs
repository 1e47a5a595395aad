//! Vulkan's structs to the model of `dovetail::capture`.
//!
//! Pointers are followed exactly where Vulkan says that they are valid: it allows anything in those that it ignores, and real
//! applications make use of that. Chains end after `MAX_CHAIN` structures. Every function here trusts what it is given as a driver does.

mod next;
mod objects;
mod pass;
mod pipeline;
mod reader;
mod stage;

pub use objects::{pipeline_layout, sampler, set_layout};
pub use pass::{render_pass, render_pass2};
pub use pipeline::{compute, graphics};
pub use reader::{Reader, list};
pub use stage::words;

//! Reads Vulkan's structs into the model of `dovetail_capture`.
//!
//! A pointer is followed only if Vulkan says that it is valid: pointers that Vulkan ignores may hold anything, and in
//! real applications they do. Chains are followed for `MAX_CHAIN` structures. Every function here trusts its arguments
//! as a driver does.

mod next;
mod objects;
mod pass;
mod pipeline;
mod reader;
mod stage;

pub use objects::{conversion, pipeline_layout, sampler, set_layout};
pub use pass::{render_pass, render_pass2};
pub use pipeline::{blend_equation, compute, graphics, vertex_input_set};
pub use reader::{Reader, list};
pub use stage::words;

//! Lowers upper-level IR to lower-level IR: one pass per file, each with a decision table for known and unknown state.
//!
//! The order of all passes is in `pipeline`.

mod address;
pub mod backend;
mod context;
mod cube;
pub mod early_exit;
mod entry;
pub mod entry_facts;
mod entry_values;
mod fetch;
mod fragment_exports;
mod fragment_outputs;
mod hardware;
mod interpolate;
pub mod keep_iterations;
pub mod legalize_memory;
pub mod limits;
mod local_id;
pub mod lower_arithmetic;
pub mod lower_atomics;
pub mod lower_barriers;
mod lower_builtins;
pub mod lower_derivatives;
mod lower_descriptors;
mod lower_dot;
pub mod lower_helpers;
pub mod lower_images;
mod lower_inputs;
mod lower_outputs;
mod lower_push_constants;
pub mod lower_subgroup;
pub mod lower_waterfalls;
mod lower_ycbcr;
mod multiview;
mod output_values;
mod outputs;
mod partner;
mod pipeline;
mod prelude;
mod sample_shading;
pub mod share_locals;
mod subgroup_scan;
mod summarize;
mod vertex_outputs;
mod vertex_positions;
mod ycbcr_matrix;

#[cfg(test)]
mod tests;

pub use context::PassContext;
pub use pipeline::{Lowered, LoweredShader, PASSES, Pass, lower, lower_watched};

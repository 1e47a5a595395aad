//! Upper-level IR to lower-level IR: one pass a file, each a decision table of what is known and what is not.
//!
//! The order of all passes is in `pipeline`.

use crate::error::Result;
use crate::ir::Shader;
use crate::target::WaveSize;

mod address;
mod cube;
pub mod dce;
mod entry;
mod fetch;
pub mod fold;
mod fragment_exports;
mod fragment_outputs;
mod interpolate;
pub mod legalize_memory;
mod lower_builtins;
pub mod lower_derivatives;
mod lower_descriptors;
pub mod lower_images;
mod lower_inputs;
mod lower_outputs;
mod lower_push_constants;
pub mod lower_subgroup;
mod pipeline;
mod prelude;
mod subgroup_scan;
mod summarize;
mod vertex_outputs;
mod vertex_positions;

#[cfg(test)]
mod tests;

pub use pipeline::{Lowered, lower, lower_with};

/// A pass that needs to know nothing but the wave size.
pub type Pass = fn(&mut Shader, WaveSize) -> Result<()>;

/// Those passes by name, for file tests and tools.
pub const PASSES: &[(&str, Pass)] = &[
    ("dce", dce::run),
    ("fold", fold::run),
    ("legalize_memory", legalize_memory::run),
    ("lower_derivatives", lower_derivatives::run),
    ("lower_images", lower_images::run),
    ("lower_subgroup", lower_subgroup::run),
];

//! Upper-level IR to lower-level IR: one pass a file, each a decision table of what is known and what is not.

use crate::error::Result;
use crate::ir::Shader;
use crate::target::WaveSize;

mod cube;
pub mod dce;
pub mod fold;
pub mod legalize_memory;
pub mod lower_derivatives;
pub mod lower_images;
pub mod lower_subgroup;
mod subgroup_scan;

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

//! From SPIR-V to IR: the output of the front end and the passes, run by the interpreter and compared with lavapipe,
//! with plain Rust or with a file case; and the inputs that they reject. Without LLVM.

mod amd;
mod assembly;
mod bfloat;
mod broken_text;
#[path = "../support/cases.rs"]
mod cases;
mod convergence;
mod converted_constants;
mod cube_gradients;
mod fallback;
mod filetests;
mod fuzz_findings;
mod glsl;
mod instructions;
mod interpreted_compute;
mod interpreted_draws;
mod invocation;
mod lavapipe;
mod limits;
#[path = "../support/link_support.rs"]
mod link_support;
mod middle_end;
mod pointer_values;
#[path = "../support/shapes.rs"]
mod shapes;
mod subgroup_lanes;
mod variables;
#[path = "../support/vulkan.rs"]
mod vulkan;

use dovetail_testing as support;

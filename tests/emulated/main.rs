//! Runs pipelines, linked in both layouts and compiled as a whole, on the emulator, and compares them with lavapipe or
//! plain Rust on the same inputs.

mod ballots;
mod bindings;
#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/chosen.rs"]
mod chosen;
mod compute_cases;
mod compute_kernels;
mod coverage;
mod draw_cases;
mod draws;
mod everywhere;
#[path = "../support/features.rs"]
mod features;
mod formats;
mod iterations;
#[path = "../support/mask_shapes.rs"]
mod mask_shapes;
mod masks;
mod matrix;
mod matrix_parts;
mod moved;
mod narrow;
mod non_uniform;
mod other_gpus;
mod pairs;
mod picture;
#[path = "../support/probe.rs"]
mod probe;
mod reflected_modules;
mod reflected_pairs;
mod refusals;
mod replay;
mod rewritten;
mod sample_shading;
mod sampled_pairs;
#[path = "../support/scene.rs"]
mod scene;
#[path = "../support/shaders.rs"]
mod shaders;
#[path = "../support/shape_module.rs"]
mod shape_module;
mod specialized;
mod uninitialised;
#[path = "../support/vulkan.rs"]
mod vulkan;
mod widths;
mod ycbcr;
mod ycbcr_reference;

use dovetail_testing as support;

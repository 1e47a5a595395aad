//! The program as users run it, on valid and invalid input, and with failures of the environment.

mod cli;
mod command;
mod corpus;
mod first_slice;
mod inspecting;
mod missing;
mod orphans;
mod outputs;
mod packs;
mod recordings;
mod results;
#[path = "../support/shaders.rs"]
mod shaders;
#[path = "../support/smallest.rs"]
mod smallest;
mod states;
mod targets;
mod workers;

use dovetail_testing as support;

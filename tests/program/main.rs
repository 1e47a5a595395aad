//! The program as users run it, on valid and invalid input, and with failures of the environment.

mod cli;
mod corpus;
mod first_slice;
mod orphans;
mod outputs;
mod recordings;
#[path = "../support/shaders.rs"]
mod shaders;
#[path = "../support/smallest.rs"]
mod smallest;
#[path = "../support/mod.rs"]
mod support;
mod workers;

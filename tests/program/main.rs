//! The program as its users run it, on good input and bad, and where the world outside gives way.

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

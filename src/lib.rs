//! Dovetail: a shader cache creator and pipeline linker for AMD GPUs.

pub mod corpus;
pub mod error;
pub mod isa;
pub mod target;

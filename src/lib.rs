//! Dovetail: a shader cache creator and pipeline linker for AMD GPUs.

pub mod abi;
pub mod cache;
pub mod compile;
#[cfg(feature = "cli")]
pub mod corpus;
pub mod emu;
pub mod error;
pub mod glue;
pub mod ir;
pub mod isa;
pub mod keys;
pub mod link;
pub mod metadata;
pub mod reloc;
pub mod state;
pub mod target;
pub mod template;
pub mod toolchain;

//! SPIR-V to unlinked ELF, one stage at a time, and whole pipelines by the same way with every item known.
//!
//! `compiler` is the way: `spirv` translates one entry point to upper-level IR, `passes` lower it to what the hardware has,
//! a `backend::Generator` makes machine code of it (`llvm` is one), and `unlinked` writes the ELF with the pre-link metadata
//! and the joint.

pub mod backend;
pub mod compiler;
pub mod passes;
pub mod request;
pub mod spirv;
pub mod unlinked;
pub mod watch;

#[cfg(feature = "llvm")]
pub mod llvm;
#[cfg(feature = "cli")]
pub mod worker;

pub use compiler::{Compiler, StageElf};

//! Compiles lower-level IR to an AMDGPU object with LLVM 19.
//!
//! `generator` is the interface, `emit` runs LLVM, `object` reads its output; `function` and `blocks` make the module,
//! `ops` dispatches each operation to its class (`alu*`, `buffer`, `memory`, `atomic`, `image`, `lanes`, `sync`),
//! `values` holds what they share, `ffi` what inkwell lacks, `out_of_memory` handles failed allocations.
//! `iterations` refuses what LLVM would get wrong. No LLVM type leaves this folder. To add an operation, add its arm in
//! `ops`, its translation in its class, and a case in `tests`.

mod alu;
mod alu_float;
mod alu_int;
mod atomic;
mod blocks;
mod buffer;
mod chains;
mod effort;
mod emit;
mod ffi;
mod function;
mod generator;
mod image;
mod iterations;
mod lanes;
mod memory;
mod object;
mod ops;
mod out_of_memory;
mod sync;
mod values;
mod written;

pub use generator::Llvm;
pub use out_of_memory::{abort_out_of_memory, hoard};

#[cfg(test)]
mod tests;

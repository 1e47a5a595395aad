//! Lower-level IR to an AMDGPU object through LLVM 19.
//!
//! `emit` is the way through; `function` and `blocks` make the module, `ops` sends each operation to its class (`alu*`,
//! `buffer`, `memory`, `atomic`, `image`, `lanes`, `sync`), `values` holds what they share, `ffi` what inkwell lacks.
//! No LLVM type leaves this folder. To add an operation: its arm in `ops`, its translation in the class it belongs to,
//! a case in `tests`.

mod alu;
mod alu_float;
mod alu_int;
mod atomic;
mod blocks;
mod buffer;
mod compiler;
mod effort;
mod emit;
mod ffi;
mod function;
mod image;
mod lanes;
mod memory;
mod ops;
mod sync;
mod values;

pub use compiler::LlvmCompiler;
pub use emit::{DumpStage, Object, Timings, dump_ir, emit_object};

#[cfg(test)]
mod tests;

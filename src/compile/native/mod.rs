//! A code generator of our own, without LLVM.

pub mod mir;
pub mod opt;

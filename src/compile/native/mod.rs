//! A code generator of our own, without LLVM.

pub mod allocate;
pub mod check_alloc;
pub mod liveness;
pub mod mir;

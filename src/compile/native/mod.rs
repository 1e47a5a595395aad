//! A code generator of our own, without LLVM.
//!
//! ```text
//! Lowered ── entry ──> registers at the start
//!   └─ select, control ──> mir::Function ── allocate ──> physical Function
//!        └─ emit::translate ──> code::Code ── waits ──> ── emit::assemble ──> MachineCode
//! ```

pub mod code;
pub mod emit;
pub mod entry;
mod generator;
pub mod mir;
pub mod waits;

pub use generator::Native;

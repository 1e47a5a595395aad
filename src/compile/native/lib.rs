//! A code generator of our own, without LLVM.
//!
//! ```text
//! Lowered ── opt ── shape ──> Shader in a plain graph
//!   └─ layout, plan ──> where the wave goes, and with which lanes
//!        └─ select ── combine ── schedule ──> mir::Function ── liveness, allocate ──> physical Function
//!             └─ emit::translate ──> code::Code ── finish, waits, hazards ──> emit::assemble ──> MachineCode
//! ```

pub mod allocate;
pub mod check_alloc;
pub mod clauses;
pub mod code;
mod combine;
mod crowded;
pub mod dead;
mod delays;
pub mod emit;
pub mod entry;
mod exports;
mod finish;
mod generator;
pub mod graph;
mod hazards;
mod layout;
pub mod liveness;
pub mod mir;
mod plan;
pub mod schedule;
mod select;
mod shape;
#[cfg(test)]
mod tests;
pub mod waits;
mod widths;

pub use generator::Native;

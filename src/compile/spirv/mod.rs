//! SPIR-V words to upper-level IR: parse, check, translate one entry point with every call inlined.

mod atomic;
mod capabilities;
mod constants;
pub mod cx;
mod dot;
mod float;
mod glsl;
mod image;
mod interface;
mod memory;
mod operands;
mod parse;
mod subgroup;
mod sync;
mod types;

#[cfg(test)]
mod evaluate;

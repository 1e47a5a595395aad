//! SPIR-V words to upper-level IR: parse, check, translate one entry point with every call inlined.

mod atomic;
mod capabilities;
mod constants;
pub mod cx;
mod dot;
mod float;
mod glsl;
mod glsl_math;
mod glsl_pack;
mod glsl_vector;
mod image;
mod image_operands;
mod interface;
mod memory;
mod operands;
mod parse;
mod subgroup;
mod sync;
mod types;

#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod glsl_tests;

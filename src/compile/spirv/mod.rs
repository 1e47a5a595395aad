//! SPIR-V words to upper-level IR: parse, check, translate one entry point with every call inlined.

mod float;
mod glsl_math;
mod glsl_pack;
mod glsl_vector;

#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod glsl_tests;

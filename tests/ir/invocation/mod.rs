//! Shared by the tests of the SPIR-V front end.

pub mod run;

use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::ir::{Shader, verify::verify};
use dovetail::target::Stage;

/// Upper-level IR of entry point `main`, verified.
pub fn shader(module: &Module, stage: Stage, spec: &[(u32, u64)]) -> Shader {
    let shader = translate(module, "main", stage, spec).unwrap_or_else(|e| panic!("{e}"));
    verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

/// Little-endian bytes.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

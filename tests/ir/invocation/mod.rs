//! Shared by the tests of the SPIR-V front end.

pub mod run;

use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{BindingElement, Bound, InputBytes, Inputs};
use dovetail::ir::interp::Options;
use dovetail::ir::{Shader, verify::verify};
use dovetail::proof::{bytes_of, interpreted};
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

/// Runs one workgroup in subgroups of some size, with buffers of words at these bindings; returns the last buffer, and how
/// many of its values may be any.
pub fn run_lanes(ir: &Shader, buffers: &[(u32, Vec<u32>)], size: u32) -> (Vec<u32>, usize) {
    let bound = |(binding, contents): &(u32, Vec<u32>)| {
        let bound = Bound::StorageBuffer(InputBytes(words(contents)));
        BindingElement { set: 0, binding: *binding, element: 0, bound }
    };
    let inputs = Inputs { grid: [1; 3], bindings: buffers.iter().map(bound).collect(), ..Default::default() };
    let options = Options { subgroup_size: size, shadow: true, ..Options::default() };
    let known = interpreted(ir, &inputs, options).expect("a run");
    let bytes = bytes_of(&known).expect("bytes").pop().expect("a buffer");
    let verdict = known.last().and_then(Option::as_ref).expect("its contents").judge_between(&bytes, &bytes, 0.0);
    (bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect(), verdict.uncertain)
}

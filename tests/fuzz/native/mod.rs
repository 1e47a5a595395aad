//! Finds wrong code of the native generator: runs random shaders on the interpreter and on the emulator.
//!
//! ```text
//! random ── generate ──> upper IR ── text ──> the input; its first line says how it is compiled and run
//!    text ── parse ──> upper IR ─┬─ interpreter ───────────────────────────────┐
//!                                └─ lower, generate, link, check ── emulator ──┴─ equal bytes, or a finding
//! ```
//!
//! It uses upper IR instead of SPIR-V because the interpreter runs upper IR, the front end has other tests, and a text
//! of forty lines can be shrunk and read. All results are exact in every implementation: floats are small integers,
//! indices are in range, shuffles read active lanes, nothing depends on the order of lanes.
//!
//! Half of the shaders are fragment shaders, drawn (`scene`) with a simple vertex shader.
//!
//! To add an operation: a line in `values` (arithmetic), `memory`, `lanes` or `quads` (of fragment shaders only).
#![allow(dead_code, reason = "each test binary uses its part")]

mod control;
pub mod drawn;
mod fragment;
mod generate;
mod inputs;
pub mod judge;
mod lanes;
mod memory;
mod quads;
pub mod scene;
pub mod setup;
mod shrink;
mod values;

pub use judge::run;
pub use shrink::shrink;

use super::random::Random;
use setup::Setup;

/// Sample shaders. Inputs are generated, not mutated, so these seeds only test the path.
pub fn seeds() -> Vec<Vec<u8>> {
    (0..4).map(|n| change(&mut Random::new(0, n), &[])).collect()
}

/// Generates another shader.
pub fn change(random: &mut Random, _seeds: &[Vec<u8>]) -> Vec<u8> {
    let setup = Setup::new(random);
    let shader = generate::shader(random, &setup);
    format!("{}\n{shader}", setup.line()).into_bytes()
}

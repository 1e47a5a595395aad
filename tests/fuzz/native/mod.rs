//! Wrong code of the native generator: random shaders, by the interpreter and by the emulator.
//!
//! ```text
//! random ── generate ──> upper IR ── text ──> the input, its first line says how it is compiled and run
//!    text ── parse ──> upper IR ─┬─ interpreter ───────────────────────────────┐
//!                                └─ lower, generate, link, check ── emulator ──┴─ the same bytes, or a finding
//! ```
//!
//! Upper IR rather than SPIR-V: it is what the interpreter runs, the front end has its own judges, and a shader that is a
//! text of forty lines can be shrunk and read. Values are such that every implementation has the same bits: floats are small
//! integers, indices are in range, shuffles take from active lanes, nothing depends on the order of lanes.
//!
//! Half of them are fragment shaders, drawn (`scene`) with a plain vertex shader.
//!
//! To add an operation: a line in `values` (arithmetic), `memory`, `lanes` or `quads` (of fragment shaders only).
#![allow(dead_code, reason = "each test binary uses its part")]

mod control;
mod drawn;
mod fragment;
mod generate;
mod inputs;
mod judge;
mod lanes;
mod memory;
mod quads;
mod scene;
mod setup;
mod shrink;
mod values;

pub use judge::run;
pub use shrink::shrink;

use super::random::Random;
use setup::Setup;

/// A shader that is made, not changed: seeds only show that the way is open.
pub fn seeds() -> Vec<Vec<u8>> {
    (0..4).map(|n| change(&mut Random::new(0, n), &[])).collect()
}

/// Another shader.
pub fn change(random: &mut Random, _seeds: &[Vec<u8>]) -> Vec<u8> {
    let setup = Setup::new(random);
    let shader = generate::shader(random, &setup);
    format!("{}\n{shader}", setup.line()).into_bytes()
}

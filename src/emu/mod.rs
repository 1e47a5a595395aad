//! The emulator's side of the proof: what a run is given.

pub mod inputs;

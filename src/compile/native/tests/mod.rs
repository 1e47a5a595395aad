//! The generator as a whole.

mod survey;
pub mod writer;

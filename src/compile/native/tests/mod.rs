//! The generator as a whole.

mod root_table;
mod survey;
pub mod writer;

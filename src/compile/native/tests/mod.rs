//! The generator as a whole.

mod survey;

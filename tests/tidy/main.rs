//! Tests of the source tree that the compiler and clippy cannot do.
//!
//! Each rule lists its violations; the tables at the head of each file are the only exceptions. A new module gets a
//! line in [`order::USES`], which is the project's map: a module may use those listed, never the reverse.

mod circles;
mod code;
mod dependencies;
mod documents;
mod imports;
mod keys;
mod order;
mod resolve;
#[path = "../../build/sources.rs"]
mod sources;
mod stages;
#[path = "../support/mod.rs"]
mod support;
mod tree;
mod types;

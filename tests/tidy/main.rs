//! Tests of the source tree that the compiler and clippy cannot do.
//!
//! Each rule lists its violations; the tables at the head of each file are the only exceptions. That crates use each
//! other in one direction only is Cargo's rule: `[dependencies]` of each folder of `src` are the project's map.

mod circles;
mod code;
mod dependencies;
mod documents;
mod imports;
mod keys;
mod resolve;
mod stages;
mod tree;
mod types;

use dovetail_build::sources;
use dovetail_testing as support;

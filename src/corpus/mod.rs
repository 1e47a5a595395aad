//! Inputs: SPIR-V files, directories, and the containers that shaders are shipped in.
//!
//! ```text
//! any bytes      ── scan ──────> modules, each with its range
//! a module       ── describe ──> stages, interface, specialization constants
//! a file         ── extract ───> modules with names and origins: unpack, rcc, smolv and symbols open what it contains
//! paths          ── input ─────> (name, bytes) for `populate`, or what is wrong with a path
//! a module       ── spec ──────> real specialization values, and the file that holds them
//! ```
//!
//! A new container gets a function in `unpack` that yields its members; `extract` calls it. Everything here reads files
//! that others made: nothing in them can make it panic, loop or fill the memory ([`budget`]).

pub mod budget;
pub mod describe;
pub mod extract;
pub mod input;
mod names;
mod rcc;
pub mod scan;
mod smolv;
pub mod spec;
mod symbols;
mod unpack;

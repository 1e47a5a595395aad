//! Inputs: SPIR-V files, directories, and the containers that shaders are shipped in.
//!
//! ```text
//! any bytes      ── scan ──────> modules, each with its range
//! a module       ── describe ──> stages, interface, specialization constants
//! a file         ── extract ───> modules with names and origins: unpack, rcc, smolv and symbols open what it contains
//! paths          ── input ─────> (name, bytes) for `populate`, or an error for a path
//! a module       ── spec ──────> real specialization values, and their file
//! ```
//!
//! A new container gets a function in `unpack` that yields its members; `extract` calls it. All files here are
//! untrusted: none can cause a panic, an endless loop or memory exhaustion ([`budget`]).

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

//! Compilation in other processes, so that an abort, a crash, a hang or a hunger of LLVM costs one shader.
//!
//! [`protocol`] is what the two sides say, [`serve`] the worker's side, [`WorkerPool`] the parent's: it is a
//! [`super::Compiler`] like any other. A worker announces itself with a hello; each request carries an id and has a
//! deadline; a worker that fails is replaced and the request tried once more on a fresh one; then it is quarantined.
//! A pool that is dropped has waited for every process that it started.

mod clock;
mod pool;
pub mod protocol;
mod serve;

pub use pool::{PoolConfig, WorkerPool};
pub use serve::{Fault, serve};

//! Compilation in other processes, so that an abort, a crash, a hang or a hunger of LLVM costs one shader.
//!
//! [`protocol`] is what the two sides say, [`serve()`] the worker's side, [`attempt`] the parent's of one process. [`WorkerPool`]
//! has several and is a [`super::Compiler`] like any other. A worker announces itself with a hello; each request carries an id and has a
//! deadline; a worker that fails is replaced and the request tried once more on a fresh one; then it is quarantined.
//! A pool that is dropped has waited for every process that it started.

mod clock;
mod pool;
mod process;
pub mod protocol;
pub mod sandbox;
mod serve;

pub use clock::processor_time;
pub use pool::WorkerPool;
pub use process::{Attempt, Worker, WorkerConfig, attempt};
pub use serve::{Fault, serve};
